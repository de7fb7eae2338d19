"""A fitted model on a folder of features files, or shards: a file of predictions for each, written whole or not at all.

Beside the predictions lies `predictions.jsonl`. It has a line for each finished shard, which names the model, the
options and the shard. So a run that was interrupted continues where it stopped, and what has changed since is done
again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from zskl import engines, methods
from zskl.batch import predict_file
from zskl.batch.predict_file import Predictor
from zskl.datasets.tables import STANDARD_INPUT, parquet_files
from zskl.engines import Engine
from zskl.engines.engine import can_be_mended
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.experiments import jsonl_log, typed_json
from zskl.files import leftovers

FILE = "predictions.jsonl"
SUFFIXES = (".npy", *parquet_files.SUFFIXES)
TOLD_EVERY = 5000  # rows between two words on how far a shard is

PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class Options:
    """What is asked of every shard; see `predict_file.Predictor`."""

    signatures: str | None = None
    with_known: bool = False
    candidates: tuple[str, ...] | None = None
    top: int = 5
    probabilities: bool = False
    reject: float | None = None

    def predictor(self, model: ZeroShotClassifier) -> Predictor:
        """The model, asked that."""
        return Predictor(
            model,
            signatures=self.signatures,
            with_known=self.with_known,
            candidates=self.candidates,
            top=self.top,
            probabilities=self.probabilities,
            reject=self.reject,
        )


@dataclass(frozen=True)
class Job:
    """What all shards share. Paths are absolute, so that every worker finds the same files."""

    model: str
    fingerprint: str  # of the model file
    out: str
    options: Options
    of_signatures: str | None  # fingerprint of the file that options.signatures names
    device: str | None = None

    @property
    def asked(self) -> dict[str, object]:
        """The options that answers depend on."""
        names = self.options.candidates
        as_read_back = None if names is None else list(names)  # JSON has no tuples
        return {**asdict(self.options), "signatures": self.of_signatures, "candidates": as_read_back}

    @lru_cache(maxsize=1)  # noqa: B019 (one for a process)
    def predictor(self) -> Predictor:
        """Loaded once in each process, which must see the same files."""
        for path, expected in ((self.model, self.fingerprint), (self.options.signatures, self.of_signatures)):
            if path is not None and fingerprint(path) != expected:
                raise ValueError(
                    f"{path} is not what it was when this run began: expected the same file; copy it to all machines"
                )
        return self.options.predictor(methods.load(self.model, self.device))


@dataclass(frozen=True)
class Shard:
    """A features file, known by its name, its size in bytes and the time of its last change."""

    path: str
    size: int
    changed: int

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


@dataclass(frozen=True)
class Line:
    """A finished shard in `predictions.jsonl`: what its predictions depend on, and the file of them."""

    key: str
    shard: str
    size: int
    changed: int
    rows: int
    model: str
    options: Mapping[str, object]
    bytes: int
    written: int


@dataclass(frozen=True)
class Failure:
    """A shard without predictions, and why; others go on."""

    sentence: str


Outcome: TypeAlias = int | Failure  # rows
Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]
Told: TypeAlias = Callable[[int, str], object]


def job(model: PathLike, out: PathLike, options: Options, device: str | None = None) -> Job:
    """What to do for every shard. A model or options that cannot work are refused before any shard is read."""
    table = options.signatures
    if table == STANDARD_INPUT:
        raise ValueError(
            "signatures is standard input, and every shard needs it: expected a file, which can be read again; save it"
        )
    absolute = Options(**{**asdict(options), "signatures": None if table is None else os.path.abspath(table)})
    made = Job(
        os.path.abspath(model),
        fingerprint(model),
        os.path.abspath(out),
        absolute,
        None if table is None else fingerprint(table),
        None if device is None else str(device),
    )
    made.predictor()
    return made


def find(folder: PathLike) -> list[Shard]:
    """The shards of a folder by name; files that begin with a dot or an underscore are not among them."""
    files = sorted(
        path
        for path in Path(folder).iterdir()
        if path.suffix.lower() in SUFFIXES and path.is_file() and path.name[0] not in "._"
    )
    if not files:
        raise ValueError(f"{folder} holds no features: expected files that end in {', '.join(SUFFIXES)}")
    return [_shard(os.path.abspath(path)) for path in files]


def key(job: Job, shard: Shard) -> str:
    """What a file of predictions depends on."""
    state = {"size": shard.size, "changed": shard.changed}
    return jsonl_log.key_of({"model": job.fingerprint, "options": job.asked, "shard": shard.name, **state})


def output(job: Job, shard: Shard) -> Path:
    """The file of predictions."""
    return Path(job.out) / f"{shard.name}.csv"


def _lines(file: Path) -> Iterator[Line]:
    """Those of finished shards; others are passed over, and their shards done again."""
    for line in jsonl_log.read(file):
        with suppress(ValueError):
            yield typed_json.from_json(Line, line)


def reasons(job: Job, shards: Sequence[Shard], folder: jsonl_log.Folder) -> dict[int, str]:
    """place → "" for a shard that was never done, or why it is done again; those that are done have no entry.

    The last line on a shard counts, and only for the file that it describes.
    """
    last = {line.shard: line for line in _lines(folder.path)}
    found = {}
    for place, shard in enumerate(shards):
        line = last.get(shard.name)
        if line is None:
            found[place] = ""
        elif line.model != job.fingerprint:
            found[place] = "predicted by another model"
        elif line.options != job.asked:
            found[place] = "predicted with other options"
        elif line.key != key(job, shard):
            found[place] = "changed since they were predicted"
        elif _written(output(job, shard)) != (line.bytes, line.written):
            found[place] = "without their file of predictions, or with one that was changed"
    return found


def run(
    job: Job,
    shards: Mapping[int, Shard],
    engine: Engine | None,
    folder: jsonl_log.Folder,
    started: Callable[[int], object],
    told: Told,
) -> Outcomes:
    """(place, rows or failure) of each of these shards as it finishes; its line is in `folder` by then.

    If you stop before the end, close the generator (`contextlib.closing`), so that the workers end.
    """
    for part in leftovers(Path(job.out), "*.csv"):  # left by a run that was killed; no other run has the folder now
        part.unlink(missing_ok=True)
    places = list(shards)
    with closing(_outcomes(job, shards, engine, started, told)) as outcomes:
        for number, outcome in outcomes:
            shard = shards[places[number]]
            if not isinstance(outcome, Failure):
                size, written = _written(output(job, shard)) or (0, 0)
                line = Line(
                    key(job, shard),
                    shard.name,
                    shard.size,
                    shard.changed,
                    outcome,
                    job.fingerprint,
                    job.asked,
                    size,
                    written,
                )
                folder.append(typed_json.to_json(line))
            yield places[number], outcome


def _outcomes(
    job: Job, shards: Mapping[int, Shard], engine: Engine | None, started: Callable[[int], object], told: Told
) -> Outcomes:
    places = list(shards)
    if engine is None:
        for number, (place, shard) in enumerate(shards.items()):
            started(place)
            yield number, _predict(job, shard, partial(told, place))
        return
    with closing(
        engines.each(_predict, list(shards.values()), job, engine, lambda number: started(places[number]))
    ) as results:
        yield from results


def _predict(job: Job, shard: Shard, told: Callable[[str], object] | None = None) -> Outcome:
    """On a worker, or here."""
    try:
        rows = predict_file.write(output(job, shard), _counted(job.predictor().lines(shard.path), told))
        if _shard(shard.path) != shard:
            raise ValueError("the file changed while it was read: run again when it is complete")
        return rows
    except Exception as error:  # whatever is wrong with one shard, others go on; a mistake of ours ends the run
        if not can_be_mended(error):
            raise
        return Failure(f"{shard.name}: {error or type(error).__name__}")


def _counted(lines: Iterator[list[object]], told: Callable[[str], object] | None) -> Iterator[list[object]]:
    for number, line in enumerate(lines):
        if told is not None and number % TOLD_EVERY == 0:
            told(f"{number:,} rows")
        yield line


def fingerprint(path: PathLike) -> str:
    """SHA-256 of a file in hex."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file at {path}: check the path")
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shard(path: str) -> Shard:
    found = os.stat(path)
    return Shard(path, found.st_size, found.st_mtime_ns)


def _written(path: Path) -> tuple[int, int] | None:
    """(size, time of the last change) of a file, or None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns
