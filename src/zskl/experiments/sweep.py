"""Many units of work: what is left to do, where it runs, and a record appended for each that finishes."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Generic, Protocol, TypeAlias, TypeVar

from zskl import engines
from zskl.arrays import on_gpu
from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.experiments.run_folder import RunFolder, Stored
from zskl.experiments.source import Source
from zskl.experiments.unit import Report

R = TypeVar("R", bound=Stored)
R_co = TypeVar("R_co", bound=Stored, covariant=True)


class Work(Protocol[R_co]):
    """What a sweep runs, such as `unit.Unit`: made of plain values, so that it can travel to a worker.

    `key` is what the finished unit is known by; `divisible` says that `run` has fits inside that go through the engine
    it is handed. The record that `run` returns holds the key.
    """

    @property
    def name(self) -> str: ...

    @property
    def device(self) -> str | None: ...

    @property
    def divisible(self) -> bool: ...

    def key(self, data: Dataset) -> str: ...

    def run(self, data: Dataset, report: Report | None, engine: Engine | None) -> R_co: ...


@dataclass(frozen=True, eq=False)
class Piece(Generic[R_co]):
    """A unit and its dataset."""

    source: Source
    data: Dataset
    unit: Work[R_co]

    @cached_property
    def key(self) -> str:
        return self.unit.key(self.data)

    @property
    def name(self) -> str:
        return f"{self.data.name} {self.unit.name}"


@dataclass(frozen=True)
class Failure:
    """A unit that could not be finished, and why: it has no record, and others go on."""

    sentence: str


class Watch(Protocol):
    """A display. May be called from other threads."""

    def started(self, place: int) -> None: ...

    def moved(self, place: int, stage: str, done: int, steps: int) -> None: ...


Outcome: TypeAlias = R | Failure
Outcomes: TypeAlias = Generator[tuple[int, R | Failure], None, None]


def run(
    pieces: Sequence[Piece[R]],
    engine: Engine | None = None,
    folder: RunFolder[R] | None = None,
    watch: Watch | None = None,
) -> Outcomes[R]:
    """(place, record or failure) of each piece as it finishes; those that `folder` holds come first and are not run.

    Each new record is appended to `folder` before you get it. Units go through the engine if there are as many as it
    runs at once, or if they have no search. Otherwise each search goes through the engine, and units run here, one
    after the other. On a GPU everything runs in this process.

    If you stop before the end, close the generator (`contextlib.closing`), so that the workers end.
    """
    done = folder.done if folder is not None else {}
    before = [place for place, piece in enumerate(pieces) if piece.key in done]
    yield from ((place, done[pieces[place].key]) for place in before)
    left = [place for place, piece in enumerate(pieces) if piece.key not in done]
    with closing(_outcomes(pieces, left, engine, watch)) as outcomes:
        for place, outcome in outcomes:
            if folder is not None and not isinstance(outcome, Failure):
                folder.append(outcome)
            yield place, outcome


def _outcomes(pieces: Sequence[Piece[R]], left: list[int], engine: Engine | None, watch: Watch | None) -> Outcomes[R]:
    if not left or engine is None or any(on_gpu(pieces[place].data.X, pieces[place].unit.device) for place in left):
        yield from _here(pieces, left, None, watch)
        return
    with engines.opened(engine) as ready:
        inside = any(pieces[place].unit.divisible for place in left)
        if inside and len(left) < engines.slots(ready):
            yield from _here(pieces, left, ready, watch)
            return
        sources = {id(piece.data): piece.source.absolute(piece.data) for piece in pieces}
        tasks = [(sources[id(pieces[place].data)], _identity(pieces[place].data), pieces[place].unit) for place in left]

        def started(number: int) -> None:
            if watch is not None:
                watch.started(left[number])

        with closing(engines.each(_work, tasks, uuid.uuid4().hex, ready, started)) as results:
            for number, outcome in results:
                yield left[number], outcome


def _here(
    pieces: Sequence[Piece[R]], left: list[int], engine: Engine | None, watch: Watch | None
) -> Iterator[tuple[int, Outcome[R]]]:
    for place in left:
        if watch is not None:
            watch.started(place)
        yield place, _one(pieces[place].unit, pieces[place].data, _reporter(watch, place), engine)


def _reporter(watch: Watch | None, place: int) -> Report | None:
    if watch is None:
        return None

    def report(stage: str, done: int, steps: int) -> None:
        if done % max(1, steps // 100) == 0 or done == steps:
            watch.moved(place, stage, done, steps)

    return report


def _one(unit: Work[R], data: Dataset, report: Report | None, engine: Engine | None) -> Outcome[R]:
    try:
        return unit.run(data, report, engine)
    except (ArithmeticError, ValueError, MemoryError, RuntimeError) as error:
        # it diverged, cannot work with these data, or is too large for the memory or the GPU
        if isinstance(error, RuntimeError) and type(error).__name__ != "OutOfMemoryError":
            raise
        return Failure(f"{data.name} {unit.name}: {error or type(error).__name__}")


def _work(sweep: str, task: tuple[Source, str, Work[R]]) -> Outcome[R]:
    """Run on a worker, which loads a dataset once per sweep; features of a benchmark are mapped from their file."""
    source, expected, unit = task
    data = _loaded(source, sweep)
    if _identity(data) != expected:
        raise ValueError(
            f"dataset {data.name!r} differs on a worker ({data.source}): its fingerprint is {_identity(data)}, "
            f"expected {expected}; give all machines the same files"
        )
    return _one(unit, data, None, None)


def _identity(data: Dataset) -> str:
    return f"{data.fingerprint[:12]} with features {data.features_digest[:12]}"


@lru_cache(maxsize=4)
def _loaded(source: Source, sweep: str) -> Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these were shown where the sweep began
        return source.load()
