"""Published methods to compare with, one per file, by the names of the command line and of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zskl.estimator import ZeroShotClassifier

__all__ = ["BASELINES", "Baseline"]


@dataclass(frozen=True)
class Baseline:
    """A published method: the estimator, a sentence, what it sets other than the defaults, and the grid that selection
    searches by default: for each setting its values."""

    estimator: type[ZeroShotClassifier]
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


BASELINES: Mapping[str, Baseline] = {}
