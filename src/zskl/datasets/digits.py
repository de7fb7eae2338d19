"""Hand-written digits described by the segments of a seven-segment display: small, and always at hand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from zskl.arrays import generator
from zskl.datasets.dataset import Dataset

SEGMENTS = (
    "top",
    "upper right",
    "lower right",
    "bottom",
    "lower left",
    "upper left",
    "middle",
)  # a b c d e f g
LIT = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")  # of 0 to 9


def load(unseen: Iterable[int] = (3, 4, 6), seed: int = 0) -> Dataset:
    """The 1797 digits of scikit-learn, 8 × 8 pixels each, as a zero-shot dataset.

    X (1797, 64) pixel values 0 to 16; y the digits 0 to 9; signatures (10, 7), 1 where a segment is lit.
    Rows of `unseen` digits are test_unseen. Of every seen digit a fifth of the rows, drawn with `seed`, is
    test_seen and the rest trainval; a digit's rows are divided in the same way whatever `unseen` is.
    """
    from sklearn.datasets import load_digits  # takes seconds to import

    digits = list(unseen)
    if not 1 <= len(set(digits)) == len(digits) <= 8 or not set(digits) <= set(range(10)):
        raise ValueError(f"unseen is {digits}; expected 1 to 8 different digits between 0 and 9")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed is {seed!r}; expected a whole number of at least 0")
    X, y = load_digits(return_X_y=True)
    parts: dict[str, list[int]] = {"trainval": [], "test_seen": [], "test_unseen": []}
    for digit in range(10):
        rows = np.flatnonzero(y == digit)
        if digit in digits:
            parts["test_unseen"] += rows.tolist()
            continue
        drawn = generator(seed, digit).permutation(rows)
        fifth = round(len(rows) / 5)
        parts["test_seen"] += drawn[:fifth].tolist()
        parts["trainval"] += drawn[fifth:].tolist()
    table = np.array([[segment in lit for segment in "abcdefg"] for lit in LIT], dtype=np.float32)
    signatures = pd.DataFrame(table, index=pd.RangeIndex(10, name="digit"), columns=list(SEGMENTS))
    ordered = {part: np.sort(np.array(rows, dtype=np.int64)) for part, rows in parts.items()}
    return Dataset("digits", X, y, signatures, ordered, source="scikit-learn's load_digits")
