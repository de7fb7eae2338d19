"""What the pages of a Parquet file unpack to, by their own headers: the footer may say anything, and a page of some
bytes may unpack to gigabytes.

Footer and headers are structs in Thrift's compact protocol, of which this reads the few fields it needs: asked for the
columns of a crafted footer, pyarrow ends the process. What another reader might understand differently is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FOOTER = 8 << 20  # bytes; pyarrow takes some hundred times that
HEADER, HEADERS = 1 << 16, 16 << 20  # bytes of the header of a page, and of all together
_CHUNK = {7: int, 9: int, 11: int}  # of a column: packed bytes, where pages begin, where a dictionary before them
_ABOUT: dict[int, Any] = {4: [{1: [{3: _CHUNK}]}]}  # row groups, their columns
_PAGE = {2: int, 3: int}  # bytes unpacked, and packed
_BYTES = {1: 0, 2: 0, 3: 1, 7: 8}  # of a value, by its type: true, false, byte, double
_INTEGERS, _BINARY, _LISTS, _STRUCT = (4, 5, 6), 8, (9, 10), 12
_DEEP = 12  # structs and lists in each other


def unpacked(body: bytes | bytearray, columns: set[int], most: int) -> int:
    """Bytes of all pages of these columns, counted until they are more than `most`; a ValueError where the file is
    damaged."""
    size = int.from_bytes(body[-8:-4], "little")
    if body[-4:] != b"PAR1" or size > min(FOOTER, len(body) - 12):
        raise ValueError("no footer")
    about = _Reader(body, len(body) - 8 - size, len(body) - 8).struct(_ABOUT)
    total: int = 0
    looked_at = 0
    for chunk in (group[1][k][3] for group in about.get(4, []) for k in sorted(columns)):
        at = min(chunk[9], chunk.get(11) or chunk[9])
        end = at + chunk[7]
        if not 0 < at <= end <= len(body):
            raise ValueError("a column outside of the file")
        while at < end:
            header = _Reader(body, at, min(at + HEADER, len(body)))
            page = header.struct(_PAGE)
            if not 0 <= page[2] < 1 << 31 or not 0 <= page[3] < 1 << 31:
                raise ValueError("a page of no size")
            total, looked_at, at = total + page[2], looked_at + header.at - at, header.at + page[3]
            if looked_at > HEADERS:
                raise ValueError("too many pages")
            if total > most:
                return total
    return total


class _Reader:
    """A struct from a place on; `at` is where it ends once it is read."""

    def __init__(self, body: bytes | bytearray, at: int, end: int) -> None:
        self._body, self.at, self._end = body, at, end

    def struct(self, wanted: dict[int, Any], depth: int = 0) -> dict[int, Any]:
        """The wanted fields, number → value: an `int`, a list of structs, or a struct, whose fields are named alike."""
        if depth > _DEEP:
            raise ValueError("too deep")
        found, field = {}, 0
        while head := self._byte():
            if not head >> 4:  # a number far from the last one, which no struct of a Parquet file has
                raise ValueError("an unknown field")
            field += head >> 4
            if field in wanted:
                found[field] = self._value(head & 15, wanted[field], depth + 1)
            else:
                self._skip(head & 15, depth + 1)
        return found

    def _value(self, kind: int, wanted: Any, depth: int) -> Any:
        if wanted is int and kind in _INTEGERS:
            number = self._number()
            return number >> 1 ^ -(number & 1)
        if isinstance(wanted, list) and kind in _LISTS:
            return [self._value(inner, wanted[0], depth) for inner in self._items()]
        if isinstance(wanted, dict) and kind == _STRUCT:
            return self.struct(wanted, depth)
        raise ValueError("a field of another type")

    def _skip(self, kind: int, depth: int) -> None:
        if kind in _BYTES:
            self._pass(_BYTES[kind])
        elif kind in _INTEGERS:
            self._number()
        elif kind == _BINARY:
            self._pass(self._number())
        elif kind in _LISTS and depth <= _DEEP:
            for inner in self._items():
                self._skip(3 if inner in (1, 2) else inner, depth + 1)  # true and false take a byte in a list
        elif kind == _STRUCT:
            self.struct({}, depth)
        else:
            raise ValueError("an unknown type")

    def _items(self) -> Iterator[int]:
        """The type of each item of a list."""
        head = self._byte()
        for _ in range(head >> 4 if head >> 4 < 15 else self._number()):
            yield head & 15

    def _byte(self) -> int:
        self._pass(1)
        return self._body[self.at - 1]

    def _pass(self, count: int) -> None:
        self.at += count
        if self.at > self._end:
            raise ValueError("cut off, or far too long")

    def _number(self) -> int:
        found = 0
        for k in range(10):
            byte = self._byte()
            found |= (byte & 127) << 7 * k
            if byte < 128:
                return found
        raise ValueError("a number without end")
