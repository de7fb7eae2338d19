"""Columns that number or name the rows of a table. As attributes or features they say nothing, and drown what does."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FEWEST = 5  # rows: of fewer, whole numbers in order may well be an attribute
EXACT = float(1 << 24)  # float32 holds all whole numbers below it
_NAMES = re.compile(
    r"#|(ids?|nr|no|idx|index|code|key|number|uid|uuid|guid|row)\.?|.+[_\-. ](id|nr|uuid)|class[_\-. ]code",
    re.IGNORECASE,
)
_CAMEL = re.compile(r".*[a-z]I[dD]")  # classId


def is_named_so(name: str) -> bool:
    """Whether a column of that name is usually an identifier: id, nr, index, code, class_id."""
    return (_NAMES.fullmatch(name.strip()) or _CAMEL.fullmatch(name.strip())) is not None


class Numbering:
    """Watches the columns of a matrix, block by block: which of them identify its rows.

    Such a column counts: each value is one more than the last. Or it is named like one, and has another whole number in
    each row.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._rows = 0
        self._named = np.array([is_named_so(name) for name in names], dtype=bool)
        self._seen: dict[int, set[float]] = {int(k): set() for k in np.flatnonzero(self._named)}
        self.whole, self.counts = np.ones((2, len(names)), dtype=bool)
        self._last = np.full(len(names), np.nan)

    def see(self, X: NDArray[np.floating]) -> None:
        """Take in further rows (n, columns). NaN is not a whole number."""
        at = np.flatnonzero(self.whole & (self.counts | self._named))  # soon few, or none
        part = X[:, at]
        self.whole[at] = (part == np.round(part)).all(axis=0)
        self.counts[at] &= self.whole[at] & (np.diff(part, axis=0) == 1).all(axis=0)
        if self._rows:
            self.counts[at] &= part[0] == self._last[at] + 1
        self._last[at] = part[-1]
        self._rows += len(X)
        for k, seen in list(self._seen.items()):
            values = [value for value in X[:, k].tolist() if abs(value) < EXACT]
            before = len(seen)
            seen.update(values)
            if len(seen) < before + len(values):  # one comes twice
                del self._seen[k]

    def found(self) -> list[int]:
        """The places of the columns that identify rows."""
        distinct = np.isin(np.arange(len(self.whole)), list(self._seen))
        found = (self.counts & (self._rows >= FEWEST)) | (distinct & self.whole & (self._rows > 1))
        return [int(k) for k in np.flatnonzero(found)]


def among(names: Sequence[str], matrix: NDArray[np.floating], labels: NDArray[np.generic]) -> list[str]:
    """The columns of a class table, with one row or several per class, that identify its rows or its classes."""
    first: dict[object, int] = {}
    own = np.array([first.setdefault(label, row) for row, label in enumerate(labels.tolist())])
    rows = Numbering(names)
    rows.see(matrix)
    found = set(rows.found())
    if len(first) < len(own):
        classes = Numbering(names)
        classes.see(matrix[list(first.values())])
        found |= {k for k in classes.found() if (matrix[:, k] == matrix[own, k]).all()}
    return [name for k, name in enumerate(names) if k in found]
