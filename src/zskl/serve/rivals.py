"""Which classes a description rules out. Their rows may fit what is described, but they fit their own class better. So
part of what the best of these classes scores is subtracted.

A description rules a class out if they differ in a given attribute by more than half of the attribute's range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.signatures.table import SignatureTable

SHARE = 0.5  # 0 finds fewer new letters, 1 fewer letters with a given mark: python benchmarks/rank_rivals.py
Floats = NDArray[np.floating[Any]]


def ruled_out(
    table: SignatureTable, classes: NDArray[Any], described: Floats, given: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(C,) whether each of `classes` differs from `described` (p,) in what is `given` (p,). If a class has several
    signatures, all have to."""
    low, high = table.matrix.min(axis=0), table.matrix.max(axis=0)
    apart = (np.abs(table.matrix - np.clip(described, low, high)) > (high - low) / 2)[:, given].any(axis=1)
    alike = set(table.labels[~apart].tolist())
    return np.array([label not in alike for label in classes.tolist()])


def lessened(scores: Floats, known: Floats, rivals: NDArray[np.bool_]) -> Floats:
    """(n,) `scores` (n,) of a description, less a share of the best of the `rivals` (C,) among the `known` (n, C)."""
    if not rivals.any():
        return scores
    best: Floats = np.max(known, axis=1, where=rivals, initial=-np.inf)
    return scores - SHARE * best
