"""Published methods to compare with, one per file, by the names of the command line and of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zskl.baselines.ale import ALE
from zskl.baselines.cmt import CMT
from zskl.baselines.cmt_star import CMTStar
from zskl.baselines.conse import ConSE
from zskl.baselines.dap import DAP
from zskl.baselines.devise import DeViSE
from zskl.baselines.eszsl import ESZSL
from zskl.baselines.iap import IAP
from zskl.baselines.latem import LatEm
from zskl.baselines.sae import SAE
from zskl.baselines.sje import SJE
from zskl.baselines.sse import SSE
from zskl.baselines.sync import SynC
from zskl.estimators.estimator import ZeroShotClassifier

__all__ = [
    "ALE",
    "BASELINES",
    "CMT",
    "DAP",
    "ESZSL",
    "IAP",
    "SAE",
    "SJE",
    "SSE",
    "Baseline",
    "CMTStar",
    "ConSE",
    "DeViSE",
    "LatEm",
    "SynC",
]


@dataclass(frozen=True)
class Baseline:
    """A published method: the estimator, a sentence, what it sets other than the defaults, and the grid that selection
    searches by default: for each setting its values."""

    estimator: type[ZeroShotClassifier]
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


SCALINGS = ("l2-center-l2", "sqrt-center-l2")
ALL_SCALINGS = (*SCALINGS, "center-l2")
BILINEAR = {"feature_scaling": ALL_SCALINGS, "learning_rate": (0.03, 0.1, 0.3), "epochs": (5, 10, 20, 40)}

BASELINES: Mapping[str, Baseline] = {
    "dap": Baseline(
        DAP,
        "Direct attribute prediction: a classifier for each attribute",
        grid={"C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "feature_scaling": SCALINGS},
    ),
    "iap": Baseline(
        IAP,
        "Indirect attribute prediction: attributes recalled from seen classes",
        grid={"C": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0), "feature_scaling": SCALINGS},
    ),
    "conse": Baseline(
        ConSE,
        "Convex combination of the signatures of the most probable seen classes",
        grid={"T": (1, 5, 10, 20, 50, 100), "C": (0.3, 1.0, 3.0, 10.0), "feature_scaling": SCALINGS},
    ),
    "cmt": Baseline(
        CMT,
        "Cross-modal transfer: a two-layer network into signature space",
        grid={
            "feature_scaling": ALL_SCALINGS,
            "hidden": (128, 256),
            "learning_rate": (0.3, 1.0),
            "epochs": (5, 10, 20, 30),
        },
    ),
    "cmt-star": Baseline(
        CMTStar,
        "Cross-modal transfer with novelty detection",
        grid={
            "feature_scaling": SCALINGS,
            "learning_rate": (0.3, 1.0),
            "epochs": (5, 10, 20, 30),
        },
    ),
    "sse": Baseline(
        SSE,
        "Semantic similarity embedding: classes and samples as mixtures of seen classes",
        grid={"gamma": (0.3, 1.0, 3.0), "epochs": (3, 6), "feature_scaling": ("l2", "sqrt-l2")},
    ),
    "latem": Baseline(
        LatEm,
        "Latent embeddings: several bilinear maps, the best one scores",
        grid={
            "feature_scaling": ("sqrt-center-l2",),
            "n_maps": (2, 4, 6),
            "learning_rate": (0.1, 0.3),
            "epochs": (10, 20, 40),
        },
    ),
    "ale": Baseline(ALE, "Bilinear map, violations weighed by rank", grid=BILINEAR),
    "devise": Baseline(DeViSE, "Bilinear map, pairwise hinge over all wrong classes", grid=BILINEAR),
    "sje": Baseline(SJE, "Bilinear map, structured hinge on the most violating class", grid=BILINEAR),
    "eszsl": Baseline(
        ESZSL,
        "Bilinear map in closed form, ridges on both sides",
        grid={
            "gamma": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
            "lam": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
            "feature_scaling": SCALINGS,
        },
    ),
    "sync": Baseline(
        SynC,
        "Classifiers synthesised from those of phantom classes",
        grid={
            "lam": (1e-4, 1e-3, 3e-3, 1e-2),
            "sigma": (1.0, 1.4, 2.0, 3.0, 4.0),
            "loss": ("one-vs-other", "structured"),
            "feature_scaling": SCALINGS,
        },
    ),
    "sae": Baseline(
        SAE,
        "Semantic auto-encoder: one map there and back",
        grid={
            "lam": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0),
            "direction": ("to-features", "to-signatures"),
            "feature_scaling": SCALINGS,
        },
    ),
}
