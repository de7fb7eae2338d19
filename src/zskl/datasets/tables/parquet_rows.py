"""Rows of a Parquet file as float32, in bounded memory however the file was written.

A row group lies in its file column by column. To read all columns side by side, pyarrow holds a page of each and its
dictionary: 1 GB for 512 columns, at worst. So a *slab* of rows is read a few columns after the other, each value goes
to its place at once, and blocks of whole rows are cut from the slab. That is also the quickest way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.tables.feature_file import rows_per_block
from zskl.datasets.tables.source import Source
from zskl.parameters import listed

SLAB_VALUES = 1 << 26  # held together: 256 MB
SIDE_BY_SIDE = 16  # columns read together
BUFFER = 1 << 16  # bytes of a column read together
APART = 16  # values between two columns, so that a row's values do not compete for one place of the cache


class ParquetRows:
    """The rows of a `ParquetFile`, which was opened without `pre_buffer`."""

    def __init__(self, path: Source, file: Any) -> None:
        self._path, self._file = path, file
        about = file.metadata
        self._ends = list(accumulate(about.row_group(k).num_rows for k in range(about.num_row_groups)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def blocks(self, features: Sequence[str], others: Sequence[str]) -> Iterator[tuple[NDArray[np.float32], Any]]:
        """Blocks X (k, d) of features, NaN where a value is missing, and a batch of the other columns, if any."""
        height, d = rows_per_block(len(features) + len(others)), len(features)
        room = np.empty((d, 0), np.float32)
        for start, stop in self._slabs(max(height, SLAB_VALUES // d)):
            if room.shape[1] < stop - start:
                room = np.empty((d, stop - start + APART), np.float32)
            for first in range(0, d, SIDE_BY_SIDE):
                for at, batch in self.batches(features[first : first + SIDE_BY_SIDE], start, stop):
                    here = at - start
                    _fill(room[first : first + SIDE_BY_SIDE, here : here + batch.num_rows], batch.columns)
            for at, end, beside in self._beside(others, start, stop, height):
                yield np.ascontiguousarray(room[:, at - start : end - start].T), beside

    def batches(
        self, names: Sequence[str], start: int, stop: int, height: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Batches of these columns of the rows from `start` to `stop`, each with the number of its first row."""
        firsts = [0, *self._ends]
        groups = [k for k, end in enumerate(self._ends) if end > start and firsts[k] < stop]
        at = firsts[groups[0]]
        for batch in self._read(names, groups, height or rows_per_block(len(names))):
            low, high = max(start, at), min(stop, at + batch.num_rows)
            if high > low:
                yield low, batch.slice(low - at, high - low).select(list(names))
            at += batch.num_rows
            if at >= stop:
                return

    def _read(self, names: Sequence[str], groups: list[int], height: int) -> Iterator[Any]:
        """Batches of these row groups. Without threads: to hand out small pieces takes longer than to read them."""
        from pyarrow import ArrowException

        try:
            yield from self._file.iter_batches(height, row_groups=groups, columns=list(names), use_threads=False)
        except (ArrowException, OSError) as error:
            said = " ".join(str(error).split())
            raise ValueError(f"{self._path}, column {listed(names)} cannot be read ({said}): write it again") from None

    def _slabs(self, most: int) -> Iterator[tuple[int, int]]:
        """First row and end of each slab: whole row groups if they fit, so that none is read twice."""
        start = 0
        while start < len(self):
            stop = max((end for end in self._ends if start < end <= start + most), default=start + most)
            yield start, stop
            start = stop

    def _beside(self, names: Sequence[str], start: int, stop: int, height: int) -> Iterator[tuple[int, int, Any]]:
        """First row and end of each block, and its batch of these columns; None if there are none."""
        if names:
            yield from ((at, at + one.num_rows, one) for at, one in self.batches(names, start, stop, height))
        else:
            yield from ((at, min(at + height, stop), None) for at in range(start, stop, height))


def _fill(room: NDArray[np.float32], columns: Sequence[Any]) -> None:
    """Let the rows of `room` be these columns. Too large numbers become infinite, which the caller reports."""
    from pyarrow import types

    with np.errstate(over="ignore", invalid="ignore"):
        for place, column in zip(room, columns, strict=True):
            numbers = column.cast("int8") if types.is_boolean(column.type) else column  # NumPy has no missing truth
            place[:] = numbers.to_numpy(zero_copy_only=False)
