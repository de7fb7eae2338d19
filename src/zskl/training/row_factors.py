"""`Scaling.apply` of rows that are picked one by one, in place: what each row is divided by is measured only once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import NumPyArray, like, to_numpy
from zskl.scaling import BLOCK_VALUES, FITTED, Scaling, differs, lengths


class RowFactors:
    """What the steps of a scaling need of each of n rows. The result is that of `Scaling.apply`, bit for bit."""

    def __init__(self, scaling: Scaling, rows: int, blocks: Iterator[NumPyArray]) -> None:
        """`blocks` are all rows in order, before any step."""
        self.scaling = scaling
        self._columns: list[tuple[NumPyArray, ...]] = []  # for each step; (n, 1) each
        start = 0
        for block in (part for whole in blocks for part in _in_cache(whole)):
            found = self._measured(block)
            if not self._columns:
                self._columns = [tuple(np.empty((rows, 1), one.dtype) for one in step) for step in found]
            for kept, step in zip(self._columns, found, strict=True):
                for column, one in zip(kept, step, strict=True):
                    column[start : start + len(block)] = one
            start += len(block)
        for k, name in enumerate(scaling.steps):
            if name in FITTED and self._columns[k][0].all():  # as usual: no row vanishes
                self._columns[k] = ()

    def _measured(self, rows: NumPyArray) -> list[tuple[NumPyArray, ...]]:
        """Of a block, for each step: largest entries and lengths, or whether rows differ from the mean."""
        found: list[tuple[NumPyArray, ...]] = []
        last = len(self.scaling.steps) - 1
        for k, step in enumerate(self.scaling.steps):
            columns: list[Any] = []
            if step == "l2":
                divided, *columns = lengths(rows)
                rows = rows if k == last else to_numpy(divided / columns[1])
            elif step in FITTED:
                assert self.scaling.mean is not None
                mean = like(self.scaling.mean, rows)
                centred = rows - mean
                columns = [differs(rows, centred, mean)]
                rows = np.where(columns[0], centred, 0)
                if step == "standardize":
                    assert self.scaling.deviation is not None
                    rows = rows / like(self.scaling.deviation, rows)
            else:
                rows = Scaling((step,)).apply(rows)
            found.append(tuple(columns))
        return found

    def apply(self, rows: NDArray[np.int64], values: NumPyArray) -> None:
        """Scale `values` (k, d), which are the rows of these numbers (k,), in place."""
        for step, columns in zip(self.scaling.steps, self._columns, strict=True):
            if step == "sqrt":
                signs = np.sign(values) if values.min() < 0 else None  # features of networks are seldom below 0
                np.sqrt(np.abs(values, out=values), out=values)
                if signs is not None:
                    values *= signs
            elif step == "l2":
                for column in columns:
                    values /= column[rows]
            else:
                assert self.scaling.mean is not None
                values -= like(self.scaling.mean, values)
                for column in columns:
                    values[~column[rows, 0]] = 0
                if step == "standardize":
                    assert self.scaling.deviation is not None
                    values /= like(self.scaling.deviation, values)


def _in_cache(rows: NumPyArray) -> Iterator[NumPyArray]:
    """The same rows, so many at a time that what is made of them stays in a cache."""
    height = max(1, BLOCK_VALUES // rows.shape[1])
    return (rows[start : start + height] for start in range(0, len(rows), height))
