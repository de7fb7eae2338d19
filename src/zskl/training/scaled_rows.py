"""Training rows that stay as the caller has them, and are scaled when they are read: no scaled copy of all of them.

A copy is made where it is small, because it is a little quicker, unless a method reads the rows once; of rows in a
file (see `streaming`), which are slow to pick one by one; and for a GPU, which holds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from zskl import scaling as scalings
from zskl.arrays import Array, NumPyArray, is_torch, like, namespace, on_device, on_gpu, to_numpy
from zskl.mapped_rows import give_back, is_mapped
from zskl.scaling import computed
from zskl.sparse_rows import are_sparse
from zskl.training.row_factors import RowFactors

SMALL = 1 << 25  # bytes of scaled rows, as float32, up to which they are copied
BLOCK_BYTES = 1 << 20  # of the passes in the order of the rows, as float32
GPU_BLOCK_BYTES = 1 << 22


class ScaledRows:
    """The scaled rows (n, d), float32, of an array X; takes the place of `Training.X`."""

    def __init__(self, X: Array, device: str | None) -> None:
        self.source, self._device = X, device
        self._scaling: scalings.Scaling | None = None
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        gpu = on_gpu(X, device)
        self._block = max(1, (GPU_BLOCK_BYTES if gpu else BLOCK_BYTES) // (4 * self.shape[1]))  # rows
        self.copied = self._small() or gpu or are_sparse(X) or is_mapped(X)

    def _small(self) -> bool:
        """Whether a copy is worth what it takes."""
        return 4 * self.shape[0] * self.shape[1] <= SMALL

    def fit_scaling(self, scaling: str, weights: NumPyArray | None = None) -> scalings.Scaling:
        """The scaling of that name, fitted in blocks to rows of these weights (n,); from now on it is applied."""
        if are_sparse(self.source):
            self._scaling = scalings.fit(scaling, self.source, "feature_scaling", weights)
        else:
            self._scaling = scalings.fit_in_blocks(scaling, self._raw_blocks, "feature_scaling", weights)
        return self._scaling

    def _raw_blocks(self) -> Iterator[Array]:
        return (self._raw(rows) for rows in self._spans())

    def _spans(self) -> Iterator[slice]:
        for first in range(0, self.shape[0], self._block):
            yield slice(first, min(first + self._block, self.shape[0]))
            give_back(self.source)

    def _raw(self, rows: Any) -> Array:
        block = self.source[rows]
        return on_device(block if are_sparse(block) else computed(block), self._device)

    def _read(self, rows: Any) -> Array:
        assert self._scaling is not None
        block = self._scaling.apply(self._raw(rows))
        return like(block, block, "float32")

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """(rows, scaled) in the order of the rows."""
        return ((rows, self[rows]) for rows in self._spans())

    def whole(self) -> Array:
        """All scaled rows, scaled block by block; sparse ones at once."""
        if are_sparse(self.source):
            assert self._scaling is not None
            found: Array = self._scaling.apply(self.source)
            return found
        scaled: Array | None = None
        for rows in self._spans():
            block = self._read(rows)
            if scaled is None:
                scaled = namespace(block).empty(self.shape, dtype=block.dtype, device=block.device)
            scaled[rows] = block
        assert scaled is not None  # there is at least one row
        return scaled

    def __getitem__(self, rows: Any) -> Array:
        """Scaled rows by a slice, or by their numbers (k,). What they are divided by is measured only once."""
        if is_torch(self.source) or self.copied:
            return self._read(rows)
        numbers = np.arange(*rows.indices(self.shape[0])) if isinstance(rows, slice) else rows
        found = np.empty((len(numbers), self.shape[1]), np.float32)
        if len(numbers):
            self.take(numbers, 0, found, "clip")
        return found

    def take(self, rows: Any, axis: int, out: NumPyArray, mode: str) -> None:
        """Rows by their numbers into `out` (k, d), as NumPy's arrays do it; `mode` is ignored."""
        numbers = to_numpy(rows)
        source: Any = self.source
        if source.dtype == out.dtype:
            source.take(numbers, axis=0, out=out, mode="clip")
            self._factors.apply(numbers, out)
            return
        values = to_numpy(self._raw(numbers))  # picked by numbers, so they are a copy
        self._factors.apply(numbers, values)
        out[:] = values

    @cached_property
    def _factors(self) -> RowFactors:
        assert self._scaling is not None
        return RowFactors(self._scaling, self.shape[0], map(to_numpy, self._raw_blocks()))


class RowsReadOnce(ScaledRows):
    """The same for a method that reads them once, in their order: a copy would save no time.

    Fewer rows than features are copied, because such a method then works with all of them at once.
    """

    def _small(self) -> bool:
        return self.shape[0] < self.shape[1]

    def __getitem__(self, rows: Any) -> Array:
        return self._read(rows)
