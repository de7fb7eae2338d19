"""The figures that the paper printed, by our names of methods and datasets; per cent, on ResNet-101 features."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from zskl.metrics import harmonic_mean

PUBLISHED_FEATURES = "res101"  # what all of them were measured on
ROUNDING = 0.05  # of a printed accuracy, at most
LAST_DIGIT = 0.1  # of a printed H, which may have been cut off instead of rounded, as IAP's on SUN must have been
DATASETS = ("AWA1", "AWA2", "SUN", "CUB", "APY")
BASELINES = ("dap", "iap", "conse", "cmt", "cmt-star", "sse", "latem", "ale", "devise", "sje", "eszsl", "sync", "sae")
KERNELS = ("polynomial-2", "polynomial-4", "polynomial-6", "cauchy", "cauchy-ort", "gaussian", "gaussian-ort")
_NAMES = {"cmt-star": "CMT*", "eszsl-signs": "ESZSL", "cauchy-ort": "Cauchy-Ort", "gaussian-ort": "Gaussian-Ort"}


@dataclass(frozen=True)
class PublishedAccuracies:
    """Of the generalised protocol. `harmonic` is computed from the other two; `printed` is what the paper has."""

    unseen: float
    seen: float
    printed: float

    @property
    def harmonic(self) -> float:
        return harmonic_mean(self.seen, self.unseen)

    @property
    def misprint(self) -> bool:
        """Whether no figures that are printed as these have a harmonic mean within a last digit of that one."""
        low, high = (
            harmonic_mean(max(0.0, self.seen + by), max(0.0, self.unseen + by)) for by in (-ROUNDING, ROUNDING)
        )
        return not low - LAST_DIGIT < self.printed < high + LAST_DIGIT


def published_zero_shot(method: str, dataset: str) -> float | None:
    """Table 2."""
    found: float | None = _find_printed("zsl", method, dataset)
    return found


def published_generalised(method: str, dataset: str) -> PublishedAccuracies | None:
    """Table 3."""
    found = _find_printed("gzsl", method, dataset)
    return None if found is None else PublishedAccuracies(found["unseen"], found["seen"], found["H"])


def published_incoherence(method: str, dataset: str) -> float | None:
    """Table 4."""
    found: float | None = _find_printed("incoherence", method, dataset)
    return found


def find_misprints() -> list[tuple[str, str]]:
    places = [(method, dataset) for method in (*BASELINES, *KERNELS) for dataset in DATASETS]
    return [place for place in places if (found := published_generalised(*place)) is not None and found.misprint]


@cache
def read_published() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("published.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _find_printed(table: str, method: str, dataset: str) -> Any:
    """What is in the row of a method: "polynomial-4" is "Polynomial r=4" there."""
    if method.startswith("polynomial-"):
        name = f"Polynomial r={method.rpartition('-')[2]}"
    else:
        name = _NAMES.get(method) or (method.upper() if method in BASELINES else method.capitalize())
    return read_published()[table].get(name, {}).get("aPY" if dataset == "APY" else dataset)
