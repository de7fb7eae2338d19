"""Many units of work: what is left to do, where it runs, and a record appended for each that finishes."""

import os
import uuid
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Generic, Protocol, TypeAlias, TypeVar

from zskl import datasets, engines, methods
from zskl._arrays import runs_on_gpu
from zskl._validation import suggest
from zskl.datasets import Dataset, xlsa17
from zskl.datasets.fetch import benchmark_folders
from zskl.datasets.tables.source import TextFile
from zskl.engines import Engine
from zskl.experiments.run_folder import RunFolder, StoredRecord
from zskl.experiments.unit import Report, Unit, useful_seeds


@dataclass(frozen=True)
class DatasetSource:
    """Where a dataset comes from, so that a worker can load it: the arguments of `datasets.load`."""

    name: str
    root: str | tuple[str, ...] | None = None
    features: str | None = None
    signatures: str | TextFile | None = None
    folds: str | None = None

    def load(self) -> Dataset:
        return datasets.load(self.name, self.root, self.features, self.signatures, self.folds)

    def absolute(self, data: Dataset) -> "DatasetSource":
        """The same, independent of the working folder, environment and defaults of this process."""
        name, root = self.name, self.root
        if name.upper() in xlsa17.BENCHMARKS:
            folders = tuple(str(folder.resolve().parent) for folder in benchmark_folders(name.upper(), root))
            root = folders if len(folders) > 1 else folders[0]
        elif os.path.exists(name) and name.lower() not in datasets.BUNDLED:
            name = os.path.abspath(name)
        signatures = self.signatures
        if signatures and any(Path(file).is_file() for file in (signatures, str(signatures).rpartition(":")[0])):
            whole = os.path.abspath(signatures)
            signatures = replace(signatures, path=whole) if isinstance(signatures, TextFile) else whole
        return DatasetSource(name, root, data.features or None, signatures, self.folds)


@dataclass(frozen=True)
class RunOptions:
    """What one command asks for all methods; see `Unit`."""

    settings: Mapping[str, object]
    device: str | None = None
    tune: bool = False
    calibrate: bool = False
    scoring: str | None = None
    shots: Sequence[int] = ()
    unlabelled: Sequence[str] = ()
    none_of_these: str | None = None


def plan_units(
    options: RunOptions, names: Sequence[str], seeds: int, defaults: Sequence[str] = ()
) -> tuple[list[Unit], list[str]]:
    """A unit for each method and useful seed, and a sentence on whatever is not as asked for all of them."""
    untuned = {name.lower() for name in defaults}
    for name in sorted(untuned - set(names)):
        raise ValueError(
            f"--defaults {name}{suggest(name, names)}: expected one of the methods that are run, "
            f"{', '.join(names)}; add --method {name}"
        )
    if untuned and not options.tune:
        raise ValueError(f"--defaults {next(iter(defaults))} was given without --tune: leave it out, or add --tune")
    taught = _able_methods(names, "add_examples", "learn from examples", bool(options.shots))
    adapted = _able_methods(names, "adapt", "adapt to unlabelled rows", bool(options.unlabelled))
    found, once = [], []
    for name in names:
        shots = options.shots if name in taught else ()
        unlabelled = options.unlabelled if name in adapted else ()
        tune = options.tune and name not in untuned
        scoring = options.scoring if tune or not untuned else None
        calibrate = options.calibrate or (options.tune and not tune and options.scoring not in (None, "zsl"))
        mine = useful_seeds(name, seeds, shots)
        found += [
            Unit(
                *(name, seed, options.settings, options.device, tune, calibrate, scoring, shots, unlabelled),
                none_of_these=options.none_of_these,
            )
            for seed in mine
        ]
        once += [name] if len(mine) < seeds else []
    remarks = [f"{', '.join(once)}: run once, since every seed gives the same model"] if once else []
    if untuned:
        one = ", with one seed" if seeds == 1 else ""
        how = "" if options.settings else ", at default settings"
        remarks.append(f"{', '.join(name for name in names if name in untuned)}: not tuned{how}{one}")
    without: dict[str, list[str]] = {}
    for asked, able, words in ((options.shots, taught, "examples"), (options.unlabelled, adapted, "unlabelled rows")):
        unable = [name for name in names if name not in able]
        if asked and unable:
            without.setdefault(", ".join(unable), []).append(words)
    for who, what in without.items():
        they = "they" if "," in who else "it"
        remarks.append(f"{who}: scored without {' and '.join(what)}, from which {they} cannot learn")
    return found, remarks


def _able_methods(names: Sequence[str], ability: str, words: str, asked: bool) -> set[str]:
    found = {name for name in names if hasattr(methods.find(name).estimator, ability)}
    if asked and not found:
        methods.check_ability(names[0], ability, words)
    return found


R = TypeVar("R", bound=StoredRecord)
R_co = TypeVar("R_co", bound=StoredRecord, covariant=True)


class SweepUnit(Protocol[R_co]):
    """What a sweep runs, such as `unit.Unit`: made of plain values, so that it can travel to a worker."""

    @property
    def name(self) -> str: ...

    @property
    def device(self) -> str | None: ...

    @property
    def divisible(self) -> bool: ...

    def key(self, data: Dataset) -> str: ...

    def run(self, data: Dataset, report: Report | None, engine: Engine | None) -> R_co: ...


@dataclass(frozen=True, eq=False)
class SweepTask(Generic[R_co]):
    """A unit and its dataset."""

    source: DatasetSource
    data: Dataset
    unit: SweepUnit[R_co]

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


class SweepDisplay(Protocol):
    """A display. May be called from other threads."""

    def started(self, place: int) -> None: ...

    def moved(self, place: int, stage: str, done: int, steps: int) -> None: ...


Outcome: TypeAlias = R | Failure
Outcomes: TypeAlias = Generator[tuple[int, R | Failure], None, None]


def run_sweep(
    pieces: Sequence[SweepTask[R]],
    engine: Engine | None = None,
    folder: RunFolder[R] | None = None,
    watch: SweepDisplay | None = None,
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
    with closing(_run_pieces(pieces, left, engine, watch)) as outcomes:
        for place, outcome in outcomes:
            if folder is not None and not isinstance(outcome, Failure):
                folder.append(outcome)
            yield place, outcome


def _run_pieces(
    pieces: Sequence[SweepTask[R]], left: list[int], engine: Engine | None, watch: SweepDisplay | None
) -> Outcomes[R]:
    on_gpu = any(runs_on_gpu(pieces[place].data.X, pieces[place].unit.device) for place in left)
    if not left or engine is None or on_gpu:
        yield from _run_sweep_here(pieces, left, None, watch)
        return
    with engines.opened(engine) as ready:
        inside = any(pieces[place].unit.divisible for place in left)
        if inside and len(left) < engines.slots(ready):
            yield from _run_sweep_here(pieces, left, ready, watch)
            return
        sources = {id(piece.data): piece.source.absolute(piece.data) for piece in pieces}
        waiting = [pieces[place] for place in left]
        tasks = [(sources[id(piece.data)], _data_identity(piece.data), piece.unit) for piece in waiting]

        def started(number: int) -> None:
            if watch is not None:
                watch.started(left[number])

        with closing(engines.each(_run_sweep_on_worker, tasks, uuid.uuid4().hex, ready, started)) as results:
            for number, outcome in results:
                yield left[number], outcome


def _run_sweep_here(
    pieces: Sequence[SweepTask[R]], left: list[int], engine: Engine | None, watch: SweepDisplay | None
) -> Iterator[tuple[int, Outcome[R]]]:
    for place in left:
        if watch is not None:
            watch.started(place)
        report = None if watch is None else partial(_report_sweep_progress, watch, place)
        yield place, _run_unit(pieces[place].unit, pieces[place].data, report, engine)


def _report_sweep_progress(watch: SweepDisplay, place: int, stage: str, done: int, steps: int) -> None:
    if done % max(1, steps // 100) == 0 or done == steps:
        watch.moved(place, stage, done, steps)


def _run_unit(unit: SweepUnit[R], data: Dataset, report: Report | None, engine: Engine | None) -> Outcome[R]:
    try:
        return unit.run(data, report, engine)
    except (ArithmeticError, ValueError, MemoryError, RuntimeError) as error:
        # It diverged, cannot work with these data, or is too large for the memory or the GPU.
        if isinstance(error, RuntimeError) and type(error).__name__ != "OutOfMemoryError":
            raise
        return Failure(f"{data.name} {unit.name}: {error or type(error).__name__}")


def _run_sweep_on_worker(sweep: str, task: tuple[DatasetSource, str, SweepUnit[R]]) -> Outcome[R]:
    """Run on a worker, which loads a dataset once per sweep; features of a benchmark are mapped from their file."""
    source, expected, unit = task
    data = _load_once_per_sweep(source, sweep)
    if _data_identity(data) != expected:
        raise ValueError(
            f"dataset {data.name!r} differs on a worker ({data.source}): its fingerprint is {_data_identity(data)}, "
            f"expected {expected}; give all machines the same files"
        )
    return _run_unit(unit, data, None, None)


def _data_identity(data: Dataset) -> str:
    return f"{data.fingerprint[:12]} with features {data.features_digest[:12]}"


@lru_cache(maxsize=4)
def _load_once_per_sweep(source: DatasetSource, sweep: str) -> Dataset:
    with warnings.catch_warnings():
        # These were shown where the sweep began.
        warnings.simplefilter("ignore")
        return source.load()
