"""What a method trains on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zskl.arrays import Array, NumPyArray


@dataclass(frozen=True)
class Training:
    """What a method trains on: scaled, float32, on the device that computes."""

    X: Any  # (n, d) an array, or `ScaledRows`
    codes: Array  # (n,) index of each row's class in `classes_`
    Y: Array  # (rows, p) signatures of the seen classes, class by class
    rows: NumPyArray  # (C, m) rows of Y for each class, padded with its first
    counts: NumPyArray  # (C,) how many of them are its own
    sizes: NumPyArray  # (C,) training rows of each class, or the sum of their weights
    weights: NumPyArray | None = None  # (n,) > 0, float64; None: all rows count the same
