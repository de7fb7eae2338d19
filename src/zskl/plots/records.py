"""What all displays ask of a record: the name of its method, and whether it says anything at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from zskl.experiments.record import Record

T = TypeVar("T")


def named(records: Sequence[Record], names: Sequence[str] | None) -> list[str]:
    """The names given, or those of the methods, with the seed where a method comes more than once."""
    if names is not None:
        return list(names)
    methods = [record.method for record in records]
    return [
        f"{method}, seed {record.seed}" if methods.count(method) > 1 else method
        for method, record in zip(methods, records, strict=True)
    ]


def ranked(ranks: Sequence[int] | None, count: int) -> list[int]:
    """The ranks given, or the order of the lines."""
    return list(range(count)) if ranks is None else list(ranks)


def required(records: Sequence[Record], read: Callable[[Record], T | None], what: str, remedy: str) -> list[T]:
    """What `read` finds in each record; a record without it is refused."""
    found = []
    for record in records:
        one = read(record)
        if one is None:
            who = f"{record.dataset} {record.method} seed {record.seed}"
            raise ValueError(f"the record {who} has no {what}: expected one that holds it; {remedy}")
        found.append(one)
    if not found:
        raise ValueError(f"records is empty: expected at least one with {what}; {remedy}")
    return found
