"""Published methods to compare with, one per file, by the names of the command line and of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zskl.baselines.ale import ALE
from zskl.baselines.cmt import CMT
from zskl.baselines.cmt_star import CMTStar
from zskl.baselines.devise import DeViSE
from zskl.baselines.latem import LatEm
from zskl.baselines.sje import SJE
from zskl.estimator import ZeroShotClassifier

__all__ = ["ALE", "BASELINES", "CMT", "SJE", "Baseline", "CMTStar", "DeViSE", "LatEm"]


@dataclass(frozen=True)
class Baseline:
    """A published method: the estimator, a sentence, what it sets other than the defaults, and the grid that selection
    searches by default: for each setting its values."""

    estimator: type[ZeroShotClassifier]
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


SCALINGS = ("l2-center-l2", "center-l2", "sqrt-center-l2")
BILINEAR = {"feature_scaling": SCALINGS, "learning_rate": (0.03, 0.1, 0.3), "epochs": (5, 10, 20, 40)}

BASELINES: Mapping[str, Baseline] = {
    "cmt": Baseline(
        CMT,
        "Cross-modal transfer: a two-layer network into signature space",
        grid={
            "feature_scaling": SCALINGS,
            "hidden": (128, 256),
            "learning_rate": (0.3, 1.0),
            "epochs": (5, 10, 20, 30),
        },
    ),
    "cmt-star": Baseline(
        CMTStar,
        "Cross-modal transfer with novelty detection",
        grid={
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "learning_rate": (0.3, 1.0),
            "epochs": (5, 10, 20, 30),
        },
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
}
