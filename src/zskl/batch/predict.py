"""A fitted model on features files of any length, read in blocks: the best classes of each row, or why, or vectors to
search in. A folder of files, or shards, gets a file of predictions for each, and what is finished is not done again."""

import codecs
import csv
import math
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl import engines, export, methods
from zskl._arrays import stack_rows, to_numpy
from zskl._files import file_digest, find_leftovers, replace_file
from zskl.datasets import tables
from zskl.datasets.tables import parquet
from zskl.datasets.tables.features import Block, FeatureFile, Wanted
from zskl.datasets.tables.labels import to_label_type
from zskl.datasets.tables.source import DECIMAL, ENCODING, STANDARD_INPUT, TextFile
from zskl.decisions import UNKNOWN, Decider, check_unknown_label
from zskl.engines import Engine, is_user_error
from zskl.estimators import _inputs
from zskl.estimators._candidates import CandidateScorer, get_temperatures, to_probabilities, top_columns
from zskl.estimators.base import ZeroShotClassifier, read_old_reject
from zskl.estimators.explanation import Explanation
from zskl.experiments import record, run_folder
from zskl.experiments.sweep import Failure
from zskl.signatures import table
from zskl.signatures.cells import Preparation
from zskl.signatures.table import SignatureTable, label_kind
from zskl.signatures.words import read_names

if TYPE_CHECKING:
    from zskl.texts import TextClassifier, TextExplanation

PathLike = str | os.PathLike[str]
Labels: TypeAlias = NDArray[Any]  # names of classes, strings or integers
Scores: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Options:
    """What is asked about each row of a features file.

    The answer is class and score, or class and probability, of the `top` best candidates. `coverage`, `reject`, `risk`
    and `min_probability` are those of the model's `predict_set` and `predict`: the best class of a row may be "unknown"
    or a parent, and with `coverage` the last column holds the set.

    Candidates are the classes of the model. A `signatures` file replaces them by its own classes, which need not have
    been trained on; `with_known` keeps both. `candidates` names those of them to choose from.
    """

    signatures: str | None = None
    with_known: bool = False
    candidates: tuple[str, ...] | None = None
    top: int = 5
    probabilities: bool = False
    reject: float | None = None
    coverage: float | None = None
    risk: float | None = None
    min_probability: float | None = None
    encoding: str = ENCODING  # of the table of signatures, if that is text, as is the next
    decimal: str = DECIMAL

    def predictor(self, model: ZeroShotClassifier) -> "Predictor":
        return Predictor(model, **asdict(self))

    def drop_defaults(self, given: Mapping[str, object]) -> dict[str, object]:
        """Only what is left is compared with an earlier run, so that a new option leaves finished shards finished."""

        def as_json(options: Mapping[str, object]) -> dict[str, object]:
            return {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}

        defaults = as_json(asdict(type(self)()))
        return {name: value for name, value in as_json(given).items() if (name, value) not in defaults.items()}


class Predictor:
    """A fitted model, and what you ask it about each row of a features file: the `Options` by their names."""

    def __init__(self, model: ZeroShotClassifier, **options: Any) -> None:
        asked = Options(**options)
        top, probabilities, coverage, risk = asked.top, asked.probabilities, asked.coverage, asked.risk
        if top < 1:
            raise ValueError(f"top is {top}: expected at least 1")
        reject, min_probability = read_old_reject(model, asked.reject, asked.min_probability)
        likely = probabilities or min_probability is not None
        decides = reject is not None or risk is not None
        if (likely and model.temperatures_ is None) or ((decides or coverage is not None) and model.decisions_ is None):
            raise ValueError(
                "the probabilities of this model are not calibrated: expected a calibrated model; fit it with "
                "zskl fit --calibrate"
            )
        file = None if asked.signatures is None else TextFile(asked.signatures, asked.encoding, asked.decimal)
        table, names = choose_candidates(model, file, asked.with_known, asked.candidates)
        self.model, self.probabilities, self.least = model, probabilities, min_probability
        self.panel = CandidateScorer(model, table, names, calibrated=True)
        self.width = min(top, len(self.panel.labels))
        if min_probability is not None:
            check_unknown_label(self.panel.labels)
        self.coverage, self.decides = coverage, decides
        self.decider = None
        if self.decides or coverage is not None:
            self.decider = Decider(model, self.panel.labels, self.panel.seen, coverage, reject, risk)
        self.temperatures = get_temperatures(model, self.panel.seen) if likely else None

    def lines(self, features: PathLike) -> Iterator[list[object]]:
        """The lines of a table, column names first: the id or number of each row of the file, then the answer."""
        done, value = 0, "probability" if self.probabilities else "score"
        for block in open_for_model(self.model, features).blocks():
            labels, values, sets = self._best(block_features(self.model, block))
            if not done:
                further = [name for k in range(2, self.width + 1) for name in (f"class_{k}", f"{value}_{k}")]
                some = [] if self.coverage is None else ["set"]
                yield ["row" if block.ids is None else "id", "class", value, *further, *some]
            rows = block.ids or range(done, done + len(block.X))
            for row, classes, numbers, one in zip(rows, labels.tolist(), values.tolist(), sets.tolist(), strict=True):
                pairs = zip(classes, numbers, strict=True)
                yield [row, *(cell for label, number in pairs for cell in (label, f"{number:.6g}")), *one]
            done += len(block.X)

    def _best(self, X: NDArray[Any] | pd.DataFrame) -> tuple[Labels, Scores, Labels]:
        """Labels and values (n, width) of rows from a file, and their sets (n, 0 or 1), scored in blocks of rows."""
        blocks = self.panel.blocks(_inputs.as_sliceable(self.model, X))
        found = [self._best_of(to_numpy(scores)) for _, scores in blocks]
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[return-value]

    def _best_of(self, scores: Scores) -> tuple[Labels, Scores, Labels]:
        order, values = top_columns(scores, self.width)
        labels = self.panel.labels[order]
        if self.temperatures is not None:
            likely = np.take_along_axis(to_numpy(to_probabilities(scores, self.temperatures)), order, axis=1)
            values = likely if self.probabilities else values
            if self.least is not None:
                labels = labels.astype(object)
                labels[likely[:, 0] < self.least, 0] = UNKNOWN
        sets = np.empty((len(scores), 0 if self.coverage is None else 1), dtype=object)
        if self.decider is not None and self.decides:
            labels = labels.astype(object)
            self.decider.apply(scores, labels[:, 0])
        if self.decider is not None and self.coverage is not None:
            sets[:, 0] = [" | ".join(map(str, one)) for one in self.decider.sets(scores)]
        return labels, values, sets


def write_predictions(path: PathLike, lines: Iterator[list[object]]) -> int:
    count = -1
    with replace_file(path) as file:
        writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
        for line in lines:
            writer.writerow(line)
            count += 1
    return count


def open_for_model(
    model: ZeroShotClassifier, path: PathLike, labels: str | None = None, rows: int | None = None, encode: bool = True
) -> FeatureFile:
    """A features file; columns are matched by name where model and file have names, else by their number."""
    names, prepared = getattr(model, "feature_names_in_", None), getattr(model, "preparation_", None)
    columns = None if names is None else list(names)
    encoded = open_encoded(model)
    if encoded is not None and not str(path).lower().endswith(tables.ARRAYS):
        head = tables.read_header(path)
        wanted = encoded.column_ if encoded.column_ in head.fields else None
        column = tables.find_text_column(path, head, wanted, labels)
        head = tables.encode_texts_of(head, column, encoded._encode if encode else None, int(model.n_features_in_))
        source = head.open(Wanted(labels, rows=rows))
    elif prepared is not None:  # the dataset had holes or words
        source = tables.open_prepared(path, Preparation.from_text(prepared), labels, rows)
    else:
        source = tables.open_features(path, labels, columns, rows, int(model.n_features_in_))
    blocks = getattr(model, "blocks_", None)
    own = dict(zip(blocks.names, np.diff((0, *blocks.ends)), strict=True)) if blocks is not None else {}
    expected = ", as one file or A+B: " + ", ".join(f"{name} ({width} columns)" for name, width in own.items())
    if source.width != model.n_features_in_:
        raise ValueError(
            f"{path} has {source.width} feature columns, and the model does not know their names: expected just the "
            f"{model.n_features_in_} that it was fitted on, in the same order{expected if len(own) > 1 else ''}"
        )
    parts = tables.find_networks(path, source.parts)[1] if len(own) > 1 else own
    ends, whole = ({int(end) for end in accumulate(one.values())} for one in (parts, own))
    if parts and ((own.keys() == parts.keys() and list(own) != list(parts)) or not (ends <= whole or ends >= whole)):
        raise ValueError(f"{path} has its columns in another order than the model: expected them{expected}")
    return source


def open_encoded(model: ZeroShotClassifier) -> "TextClassifier | None":
    """A model from a file as a classifier of texts; None if its rows are none."""
    if (getattr(model, "encoder_", None) or {}).get("kind") != "texts":
        return None
    from zskl.texts import TextClassifier  # which imports what few models need

    return TextClassifier._from_model(model)


def block_features(model: ZeroShotClassifier, block: Block) -> NDArray[Any] | pd.DataFrame:
    names = getattr(model, "feature_names_in_", None)
    return block.X if names is None else pd.DataFrame(block.X, columns=names, copy=False)


def read_candidates(model: ZeroShotClassifier, path: PathLike | None, with_known: bool) -> SignatureTable:
    """The classes of the model, or those of a file, or (`with_known`) both."""
    known = model.signature_table_
    if path is None:
        return known
    encoded = open_encoded(model)
    if encoded is None:
        frame = tables.read_signatures(path, known=model.attribute_names_, preparation=known.preparation)
    else:
        frame = encoded._read_descriptions(read_names(path, getattr(path, "encoding", ENCODING)))
        frame = frame.set_axis(model.attribute_names_ or frame.columns, axis=1)
    frame.index = pd.Index(to_model_labels(model, frame.index.tolist()), name=frame.index.name)
    try:
        new = table.read_table(frame, names=model.attribute_names_, known=known.classes.tolist())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not with_known:
        return new
    mine, theirs = label_kind(known.labels, "the model"), label_kind(new.labels, str(path))
    if mine != theirs:
        raise ValueError(
            f"{path} names classes by {theirs}s: expected {mine}s, as in the model; rename them to rank both together"
        )
    described = set(new.classes.tolist())
    kept = known.select([label for label in known.classes.tolist() if label not in described])
    labels = np.concatenate([kept.labels.astype(object), new.labels.astype(object)])
    labels = labels if mine == "string" else labels.astype(np.int64)
    return SignatureTable(labels, stack_rows(kept.matrix, new.matrix), new.names)


def choose_candidates(
    model: ZeroShotClassifier, path: PathLike | None, with_known: bool, candidates: Sequence[str] | None
) -> tuple[SignatureTable, Labels | None]:
    """What `read_candidates` finds, and the names of those to choose from; None for all of them."""
    names = None if candidates is None else to_model_labels(model, candidates)
    return read_candidates(model, path, with_known), names


def to_model_labels(model: ZeroShotClassifier, names: Sequence[str]) -> Labels:
    """Integers if the labels of the model are integers and all these names are whole numbers."""
    if label_kind(model.seen_classes_, "the model") == "integer":
        return to_label_type(names)
    return np.array(names, dtype=object)


# Explanations: which attributes support the class of each row

EXPLANATION_COLUMNS = (
    *("class", "against", "difference", "calibration", "rest"),
    *("rank", "attribute", "contribution", "value", "value_against"),
)


@dataclass(frozen=True)
class Explained:
    """A row of a file by its "id", or its number, the "row"; and the explanation."""

    named_by: str
    row: object
    explanation: "Explanation | TextExplanation"

    def lines(self) -> Iterator[list[object]]:
        """A line for each attribute that is shown; without a rank what else counts, and the blocks, another sum."""
        one = self.explanation
        if not isinstance(one, Explanation):
            told = [self.row, one.label, one.against, _format_number(one.difference), "", ""]
            for rank, (word, fall) in enumerate(one.words, start=1):
                yield [*told, rank, word, _format_number(fall), "", ""]
            for text, label, near in one.examples:
                yield [*told, "", f"like {text!r} ({label})", _format_number(near), "", ""]
            return
        head = [self.row, one.label, one.against, *map(_format_number, (one.difference, one.calibration, one.rest))]
        for rank, (m, (_, contribution)) in enumerate(zip(one.order, one.top, strict=True), start=1):
            values = [_format_number(value) for value in (contribution, one.values[m], one.values_against[m])]
            yield [*head, rank, one.told(m), *values]
        further = [(str(part), part.adds) for part in one.evidence]
        further += [term for term in one.terms.items() if term[0] not in {part.source for part in one.evidence}]
        for name, value in [*further, *((f"by features: {name}", adds) for name, adds in one.blocks.items())]:
            yield [*head, "", name, _format_number(value), "", ""]

    def record(self) -> dict[str, object]:
        return {self.named_by: self.row, **self.explanation.record()}


def explain_file(
    model: ZeroShotClassifier,
    features: PathLike,
    *,
    signatures: PathLike | None = None,
    with_known: bool = False,
    candidates: Sequence[str] | None = None,
    top: int = 5,
    label: str | None = None,
    against: str | None = None,
    rows: Sequence[range] | None = None,
    by: str | None = None,
) -> Iterator[Explained]:
    """Explanations of all rows of a file, or of those numbered in `rows` from 0 on; candidates as for `Predictor`."""
    table, names = choose_candidates(model, signatures, with_known, candidates)
    mine, theirs = (None if name is None else to_model_labels(model, [name])[0] for name in (label, against))
    end = None if rows is None else max(some.stop for some in rows)
    done, encoded = 0, open_encoded(model)
    for block in open_for_model(model, features, encode=False).blocks():
        numbers = np.arange(done, done + len(block.X))
        asked = np.flatnonzero([rows is None or any(number in some for some in rows) for number in numbers.tolist()])
        if len(asked):
            found: Any
            if encoded is not None and block.texts is not None:
                some = [block.texts[place] for place in asked.tolist()]
                found = encoded._explain(some, encoded._encode(some), top, table, names, mine, theirs)
            else:
                X = block_features(model, block)
                X = X.iloc[asked] if hasattr(X, "iloc") else X[asked]
                found = model.explain(X, top, table, names, label=mine, against=theirs, by=by)
            for place, explanation in zip(asked.tolist(), found, strict=True):
                row = done + place if block.ids is None else block.ids[place]
                yield Explained("row" if block.ids is None else "id", row, explanation)
        done += len(block.X)
        if end is not None and done >= end:
            return
    if end is not None:
        raise ValueError(
            f"row {end - 1} was asked for: expected a number below {done}, since {features} has {done} rows"
        )


def explanation_lines(found: Iterator[Explained]) -> Iterator[list[object]]:
    for count, one in enumerate(found):
        if not count:
            yield [one.named_by, *EXPLANATION_COLUMNS]
        yield from one.lines()


def parse_row_numbers(given: Sequence[str]) -> list[range]:
    """["3", "10-19"] → the rows that they name, both ends included."""
    found = []
    for text in given:
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise ValueError(f"rows {text!r}: expected the number of a row, counted from 0, or a range such as 0-9")
        found.append(range(first, last + 1))
    return found


def _format_number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def write_row_index(model: ZeroShotClassifier, features: PathLike, path: PathLike, kind: str) -> int:
    """Write the rows of a file as a search index, and count them. Only their vectors and names are held in memory."""
    maps = export.search_maps_of(model, rows=True)
    vectors: list[Any] = []
    names: list[str | int] = []
    for block in open_for_model(model, features).blocks():
        X: Any = block_features(model, block)
        vectors.append(to_numpy(maps.samples(X)).astype(np.float32))
        names += block.ids or range(len(names), len(names) + len(block.X))
    export.write_index(path, kind, np.concatenate(vectors), names, "rows")
    return len(names)


# Beside the predictions lies this file. It has a line for each finished shard, which names the model, the options and
# the shard: a run that was interrupted continues where it stopped, and what has changed since is done again.
FILE = "predictions.jsonl"
SUFFIXES = (".npy", *parquet.SUFFIXES)
REPORT_EVERY = 5000  # rows between two words on how far a shard is


@dataclass(frozen=True)
class Job:
    """What all shards share. Paths are absolute, so that every worker finds the same files."""

    model: str
    fingerprint: str  # of the model file
    out: str
    options: Options
    signatures_fingerprint: str | None  # of the file that options.signatures names
    device: str | None = None

    @property
    def changed_options(self) -> dict[str, object]:
        """The options that answers depend on, without defaults. A table counts by its content, not its path."""
        return self.options.drop_defaults({**asdict(self.options), "signatures": self.signatures_fingerprint})

    @lru_cache(maxsize=1)  # noqa: B019 (one for a process)
    def predictor(self) -> Predictor:
        """Loaded once in each process, which must see the same files."""
        files = ((self.model, self.fingerprint), (self.options.signatures, self.signatures_fingerprint))
        for path, expected in files:
            if path is not None and file_fingerprint(path) != expected:
                raise ValueError(
                    f"{path} is not what it was when this run began: expected the same file; copy it to all machines"
                )
        return self.options.predictor(methods.load(self.model, self.device))

    def output(self, shard: "Shard") -> Path:
        return Path(self.out) / f"{shard.name}.csv"


@dataclass(frozen=True)
class Shard:
    """A features file, known by its name, its size in bytes and the time of its last change."""

    path: str
    size: int
    changed: int

    @classmethod
    def from_path(cls, path: PathLike) -> "Shard":
        found = os.stat(path)
        return cls(os.path.abspath(path), found.st_size, found.st_mtime_ns)

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


@dataclass(frozen=True)
class Line:
    """A finished shard in `predictions.jsonl`: what its predictions depend on, and size and time of their file."""

    shard: str
    size: int
    changed: int
    rows: int
    model: str
    options: Mapping[str, object]
    bytes: int
    written: int


def plan_job(model: PathLike, out: PathLike, options: Options, device: str | None = None) -> Job:
    """What to do for every shard. A model or options that cannot work are refused before any shard is read."""
    table = options.signatures
    if table == STANDARD_INPUT:
        raise ValueError(
            "signatures is standard input, and every shard needs it: expected a file, which can be read again; save it"
        )
    made = Job(
        os.path.abspath(model),
        file_fingerprint(model),
        os.path.abspath(out),
        replace(options, signatures=None if table is None else os.path.abspath(table)),
        None if table is None else file_fingerprint(table),
        None if device is None else str(device),
    )
    made.predictor()
    return made


def find_shards(folder: PathLike) -> list[Shard]:
    """The shards of a folder by name; files that begin with a dot or an underscore are not among them."""
    files = sorted(
        path
        for path in Path(folder).iterdir()
        if path.suffix.lower() in SUFFIXES and path.is_file() and path.name[0] not in "._"
    )
    if not files:
        raise ValueError(f"{folder} holds no features: expected files that end in {', '.join(SUFFIXES)}")
    return [Shard.from_path(path) for path in files]


def reasons_to_run(job: Job, shards: Sequence[Shard], folder: run_folder.LogFile) -> dict[int, str]:
    """place → "" for a shard that was never done, or why it is done again. The last readable line on a shard counts."""
    last: dict[str, Line] = {}
    for one in run_folder.read_log(folder.path):
        with suppress(ValueError):
            line = record.from_json(Line, one)
            last[line.shard] = line
    found = {}
    for place, shard in enumerate(shards):
        before = last.get(shard.name)
        if before is None:
            found[place] = ""
        elif before.model != job.fingerprint:
            found[place] = "predicted by another model"
        elif job.options.drop_defaults(before.options) != job.changed_options:  # version 0.2 wrote defaults, too
            found[place] = "predicted with other options"
        elif (before.size, before.changed) != (shard.size, shard.changed):
            found[place] = "changed since they were predicted"
        elif _file_state(job.output(shard)) != (before.bytes, before.written):
            found[place] = "without their file of predictions, or with one that was changed"
    return found


def predict_folder(
    job: Job,
    shards: Mapping[int, Shard],
    engine: Engine | None,
    folder: run_folder.LogFile,
    started: Callable[[int], object],
    on_progress: Callable[[int, str], object],
) -> Generator[tuple[int, int | Failure], None, None]:
    """(place, rows or failure) of each shard as it finishes. Close the generator, so that the workers end."""
    # A run that was killed left these; no other run has the folder now.
    for part in find_leftovers(Path(job.out), "*.csv"):
        part.unlink(missing_ok=True)
    places, todo = list(shards), list(shards.values())
    place_of = {shard: place for place, shard in shards.items()}

    def predict_here(job: Job, shard: Shard) -> int | Failure:
        return _predict_shard(job, shard, partial(on_progress, place_of[shard]))

    function = predict_here if engine is None else _predict_shard
    with closing(engines.each(function, todo, job, engine, lambda number: started(places[number]))) as outcomes:
        for number, outcome in outcomes:
            shard = todo[number]
            if not isinstance(outcome, Failure):
                state = _file_state(job.output(shard)) or (0, 0)
                made_by = (job.fingerprint, job.changed_options)
                line = record.to_json(Line(shard.name, shard.size, shard.changed, outcome, *made_by, *state))
                folder.append({"key": run_folder.unit_key(line), **line})
            yield places[number], outcome


def _predict_shard(job: Job, shard: Shard, report: Callable[[str], object] | None = None) -> int | Failure:
    try:
        rows = write_predictions(job.output(shard), _report_rows(job.predictor().lines(shard.path), report))
        if Shard.from_path(shard.path) != shard:
            raise ValueError("the file changed while it was read: run again when it is complete")
        return rows
    except Exception as error:  # whatever is wrong with one shard, others go on; a mistake of ours ends the run
        if not is_user_error(error):
            raise
        return Failure(f"{shard.name}: {error or type(error).__name__}")


def _report_rows(lines: Iterator[list[object]], report: Callable[[str], object] | None) -> Iterator[list[object]]:
    for number, line in enumerate(lines):
        if report is not None and number % REPORT_EVERY == 0:
            report(f"{number:,} rows")
        yield line


def file_fingerprint(path: PathLike) -> str:
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file at {path}: check the path")
    return file_digest(path)


def _file_state(path: Path) -> tuple[int, int] | None:
    """(size, time of the last change) of a file, or None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns
