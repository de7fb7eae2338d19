"""The figures that the paper printed, by our names of methods and datasets; per cent, on ResNet-101 features."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from zskl.metrics import harmonic_mean

FEATURES = "res101"  # what all of them were measured on
NEAR = ("resnet50",)  # features of another network of that kind
ROUNDING = 0.05  # of a printed accuracy, at most
LAST = 0.1  # the last digit of a printed H: it may have been cut off instead of rounded, as IAP's on SUN must have been
BASELINES = ("dap", "iap", "conse", "cmt", "cmt-star", "sse", "latem", "ale", "devise", "sje", "eszsl", "sync", "sae")
KERNELS = ("polynomial-2", "polynomial-4", "polynomial-6", "cauchy", "cauchy-ort", "gaussian", "gaussian-ort")
_NAMES = {"cmt-star": "CMT*", "eszsl-signs": "ESZSL", "cauchy-ort": "Cauchy-Ort", "gaussian-ort": "Gaussian-Ort"}
_DATASETS = {"APY": "aPY"}


@dataclass(frozen=True)
class General:
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
        return not low - LAST < self.printed < high + LAST


def zero_shot(method: str, dataset: str) -> float | None:
    """Table 2."""
    found: float | None = _found("zsl", method, dataset)
    return found


def general(method: str, dataset: str) -> General | None:
    """Table 3."""
    found = _found("gzsl", method, dataset)
    return None if found is None else General(found["unseen"], found["seen"], found["H"])


def incoherence(method: str, dataset: str) -> float | None:
    """Table 4."""
    found: float | None = _found("incoherence", method, dataset)
    return found


def misprints() -> list[tuple[str, str]]:
    """(method, dataset) whose printed H does not follow from its seen and unseen accuracy."""
    found = []
    for method in (*BASELINES, *KERNELS):
        for dataset in ("AWA1", "AWA2", "SUN", "CUB", "APY"):
            figures = general(method, dataset)
            if figures is not None and figures.misprint:
                found.append((method, dataset))
    return found


@cache
def tables() -> dict[str, Any]:
    """The data file as it is."""
    text = resources.files(__package__).joinpath("published.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _found(table: str, method: str, dataset: str) -> Any:
    row = tables()[table].get(_printed(method), {})
    return row.get(_DATASETS.get(dataset, dataset))


def _printed(method: str) -> str:
    """The row of the paper: "polynomial-4" is "Polynomial r=4"."""
    if method.startswith("polynomial-"):
        return f"Polynomial r={method.rpartition('-')[2]}"
    return _NAMES.get(method) or (method.upper() if method in BASELINES else method.capitalize())
