"""What rows say about the directions of candidate classes: training rows, examples, unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import NumPyArray
from zskl.estimators.candidates import Question


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of each signature row: `sums` (rows, d) of x̂, and `weights` (rows,): what its description is worth, in rows."""

    sums: NDArray[np.float64]
    weights: NDArray[np.float64]
    seen: NDArray[np.bool_]  # (rows,) whether the class has training rows

    @staticmethod
    def places(labels: NumPyArray, question: Question) -> NDArray[np.int64]:
        """(rows,) of each signature the place of its class among these labels; −1 for another class."""
        codes = Evidence.codes(labels, question.labels)
        found = np.full(question.Y.shape[0], -1, dtype=np.int64)
        for code, rows in zip(codes.tolist(), question.rows, strict=True):
            found[rows] = code
        return found

    @staticmethod
    def codes(labels: NumPyArray, some: NumPyArray) -> NDArray[np.int64]:
        """(n,) the place of each of some labels (n,) among these; −1 for another one."""
        known = {label: place for place, label in enumerate(labels.tolist())}
        return np.array([known.get(label, -1) for label in some.tolist()], dtype=np.int64)
