"""Training rows that stay in their file: read in contiguous chunks, scaled, mixed in a buffer, served as batches.

An epoch takes the chunks in random order, as many at a time as the buffer holds, and shuffles the rows in it. So a
batch mixes rows from as many places of the file as there are chunks in the buffer, and no row is read alone. The order
depends only on the number of rows, their width, the batch size, the seed and the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zskl.arrays import Array, NumPyArray, generator, like, namespace, to_numpy
from zskl.mapped_rows import is_mapped
from zskl.training import initialisation
from zskl.training.scaled_rows import ScaledRows

HELD = 1 << 30  # bytes, as float32, up to which even memory-mapped training rows are held in memory
CHUNK_BYTES = 1 << 18  # read at once, as float32
BUFFER_BYTES = 1 << 26  # of scaled rows in memory, as float32


def check(setting: Any) -> None:
    """Refuse anything but True, False and "auto"."""
    if not isinstance(setting, bool | np.bool_) and setting != "auto":
        raise ValueError(f"streaming is {setting!r}: expected True, False or 'auto'")


def wanted(setting: Any, X: Any) -> bool:
    """Whether training rows X stay in their file; with "auto", if X is memory-mapped and larger than `HELD`."""
    if isinstance(setting, bool | np.bool_):
        return bool(setting)
    return bool(is_mapped(X) and X.ndim == 2 and 4 * X.size > HELD)


def reader(setting: Any, X: Any) -> type[ScaledRows] | None:
    """What reads the rows: from their file, or as they lie in memory; None copies them, which False asks for."""
    if wanted(setting, X):
        return StreamedRows
    return ScaledRows if isinstance(setting, str) else None


class StreamedRows(ScaledRows):
    """The scaled rows (n, d), float32, of an array X that is read in pieces; takes the place of `Training.X`.

    Rows in the buffer are served from there, others are read when they are asked for.
    """

    def __init__(self, X: Array, device: str | None) -> None:
        super().__init__(X, device)
        self.copied = False
        self._chunk = max(1, CHUNK_BYTES // (4 * self.shape[1]))  # rows
        self._mixed = max(1, BUFFER_BYTES // (4 * self.shape[1] * self._chunk))  # chunks
        self._buffer: Array | None = None
        self._rows = np.empty(0, dtype=np.int64)  # those in the buffer
        self._sorted = self._rows  # places of them in the order of their numbers

    def __getitem__(self, rows: Any) -> Array:
        """Scaled rows by a slice, or by their numbers (k,)."""
        if isinstance(rows, slice):
            return self._read(rows)
        numbers = to_numpy(rows)
        if len(self._rows):
            at = np.searchsorted(self._rows, numbers, sorter=self._sorted)
            places = self._sorted[np.minimum(at, len(self._rows) - 1)]
            if (self._rows[places] == numbers).all():
                assert self._buffer is not None
                return self._buffer[like(places, self._buffer, "int64")]
        return self._read(numbers)

    def take(self, rows: Any, axis: int, out: NumPyArray, mode: str) -> None:
        """Rows by their numbers into `out` (k, d), as NumPy's arrays do it; `mode` is ignored."""
        out[:] = self[rows]

    def batches(self, batch_size: int, seed: int, epoch: int) -> Iterator[NumPyArray]:
        """Numbers of the rows of each batch of an epoch; its rows are in the buffer when you get it.

        Every row comes once, except those of a short last batch.
        """
        n = self.shape[0]
        size = min(batch_size, n)
        draw = generator(seed, 0, epoch)
        chunks = draw.permutation(-(-n // self._chunk))
        left = np.empty(0, dtype=np.int64)
        for first in range(0, len(chunks), self._mixed):
            fresh = self._fill(np.sort(chunks[first : first + self._mixed]), left, size)
            order = np.concatenate([left, draw.permutation(fresh)])
            whole = len(order) - len(order) % size
            yield from order[:whole].reshape(-1, size)
            left = order[whole:]

    def _fill(self, chunks: NumPyArray, left: NumPyArray, size: int) -> NumPyArray:
        """Read these chunks into the buffer, behind the fewer than `size` rows that are left of it; their numbers."""
        kept = self[left] if len(left) else None
        spans = [slice(int(c) * self._chunk, min((int(c) + 1) * self._chunk, self.shape[0])) for c in chunks]
        fresh = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        self._rows = np.concatenate([left, fresh])
        self._sorted = np.argsort(self._rows)
        at = len(left)
        for span in spans:
            block = self._read(span)
            if self._buffer is None or self._buffer.shape[0] < len(self._rows):
                xp = namespace(block)
                height = min(self._chunk * self._mixed, self.shape[0]) + size
                self._buffer = xp.empty((height, self.shape[1]), dtype=block.dtype, device=block.device)
            self._buffer[at : at + len(block)] = block
            at += len(block)
        if kept is not None and self._buffer is not None:
            self._buffer[: len(left)] = kept
        return fresh


def projection(init: str, X: ScaledRows, signature_of: Callable[[Array], Array], codes: Array, seed: int) -> Array:
    """Where W starts, see `initialisation`, from rows in blocks. `signature_of` codes (k,) is (k, p)."""
    if init != "polarised":
        return initialisation.INITIALISATIONS[init](X[:1], signature_of(codes[:1]), seed)
    return initialisation.polarised_in_blocks(
        lambda: ((block, signature_of(codes[rows])) for rows, block in X.blocks()), X.shape[0]
    )
