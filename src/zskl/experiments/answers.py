"""What each test row was answered, packed into a few kilobytes of text, so that uncertainty is computed from records.

The rows of a part lie class by class, in the order of `class_names` of the dataset, and within a class as the part has
them. Whole numbers are packed into text: a byte with the bits of a number (1, 8, 16 or 32), then the numbers, all
compressed by zlib and written in base64.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
LEVELS = 31  # of gaps: the area is then within 0.1 points of the exact one
_LARGEST = 2**28  # bytes


@dataclass(frozen=True)
class ClassRows:
    """How many rows of each class are in "test_unseen" and in "test_seen"; classes without rows are left out."""

    unseen: str
    seen: str


@dataclass(frozen=True)
class Answers:
    """The answers of one result, packed, for the rows of "test_unseen" and, in the generalised protocol, "test_seen".

    A code is 0 for a right answer. Otherwise it is 1 + k where the answer is entry k of `[*per_class, *left_out]` of
    the same result, or just 1 in a compact record.

    `unseen_levels` and `seen_levels` give the area under the seen–unseen curve: 0 for a row that is wrong among the
    classes of its own side, otherwise a number from 1 to 31 that rises with the constant at which the row changes
    sides; each number has about as many rows. `examples` has 1 for each row of "test_unseen" that the model was
    taught, which is not scored.
    """

    unseen: str
    seen: str | None = None
    unseen_levels: str | None = None
    seen_levels: str | None = None
    examples: str | None = None

    def compact(self) -> Answers:
        """Right or wrong alone."""
        seen = None if self.seen is None else pack(np.minimum(unpack(self.seen), 1))
        return replace(self, unseen=pack(np.minimum(unpack(self.unseen), 1)), seen=seen)


def pack(numbers: NDArray[np.integer] | NDArray[np.bool_]) -> str:
    """Whole numbers from 0 to 2³² − 1 as text."""
    found = np.asarray(numbers, dtype=np.int64)
    largest = int(found.max(initial=0))
    if largest > 1:
        bits = 8 if largest < 2**8 else 16 if largest < 2**16 else 32
        written = bytes([bits]) + found.astype(f"<u{bits // 8}").tobytes()
    else:  # the bits that fill the last byte are counted in the first one
        written = bytes([1, -len(found) % 8]) + np.packbits(found.astype(np.uint8)).tobytes()
    return base64.b64encode(zlib.compress(written, 9)).decode()


def unpack(text: str, length: int | None = None) -> Integers:
    """What `pack` made text of; `length` is how many numbers there must be."""
    try:
        engine = zlib.decompressobj()
        raw = engine.decompress(base64.b64decode(text, validate=True), _LARGEST)
        found = _read(raw)
    except (ValueError, IndexError, zlib.error):
        raise ValueError(f"answers of a record cannot be read ({text[:20]!r}): restore or remove that record") from None
    if length is not None and len(found) != length:
        raise ValueError(
            f"a record has answers of {len(found)} rows for classes of {length}: restore or remove that record"
        )
    return found


def _read(raw: bytes) -> Integers:
    if raw[0] == 1:
        bits = np.unpackbits(np.frombuffer(raw, np.uint8, offset=2)).astype(np.int64)
        return bits[: len(bits) - raw[1]]
    return np.frombuffer(raw, {8: "<u1", 16: "<u2"}.get(raw[0], "<u4"), offset=1).astype(np.int64)


def levels(gap: NDArray[np.float64], right: NDArray[np.bool_]) -> Integers:
    """0 where a row is not right on its own side, otherwise 1 to LEVELS, rising with its gap; equal for equal gaps."""
    ordered = np.sort(gap[right])
    place = np.searchsorted(ordered, gap, side="left")  # how many gaps are lower
    return np.where(right, 1 + LEVELS * place // max(1, len(ordered)), 0)
