"""What one finished run left behind: its configuration, choices, results, times, seed, versions and data. A record is
one line of JSON in `records.jsonl`. Lines of zskl 0.1 have no `version`; they are read too, and so are those of
versions 2 and 3. A field that this version does not know is ignored; a line of a newer version is refused."""

import base64
import types
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from zskl._display import Shown, count_noun, format_percent
from zskl.selection import search_results
from zskl.selection.search_results import AgainstDefault

VERSION = 4  # since 3 there are `taught` and `adapted`, since 4 the answers of rows
LEVELS = 31  # of gaps: the area is then within 0.1 points of the exact one
_LARGEST = 2**28  # bytes that packed answers may have: a forged record must not fill the memory

T = TypeVar("T")
Integers = NDArray[np.int64]
Setting: TypeAlias = Mapping[str, object]  # name of a parameter → its value, as JSON has it
Shares: TypeAlias = Mapping[str, tuple[tuple[str, float], ...]]  # name of a class → (name, share), largest first


# The parts of a record: results of both protocols, what validation tried and chose, times. What a line does not hold is
# None or empty.


@dataclass(frozen=True)
class SeenUnseenCurve:
    """Accuracy of seen and of unseen classes at each calibration constant; at most 200 points."""

    calibration: tuple[float, ...]
    seen: tuple[float, ...]
    unseen: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_record_lengths("curve", calibration=self.calibration, seen=self.seen, unseen=self.unseen)


@dataclass(frozen=True)
class ZeroShot:
    """The zero-shot protocol: unseen classes alone. Accuracies are fractions.

    `left_out` names candidates without a test row. `mistaken` lists the most frequent wrong answers for each class.
    Of a single unseen class there is no figure, also where an earlier version wrote one: every answer would be right.
    `declined` says why a model did not adapt to unlabelled rows, `adaptation` what it says about it if it did.
    `answers` has what each row was answered.
    """

    protocol: str = "zsl"
    accuracy: float | None = None
    per_class: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    mistaken: Shares = field(default_factory=dict)
    declined: str | None = None
    adaptation: Setting | None = None
    answers: "Answers | None" = None

    def __post_init__(self) -> None:
        if self.alone is not None:
            nothing: dict[str, object] = {"accuracy": None, "per_class": {}, "mistaken": {}, "left_out": (self.alone,)}
            for name, value in nothing.items():
                object.__setattr__(self, name, value)

    @property
    def alone(self) -> str | None:
        """The only unseen class, where there is only one."""
        names = [*self.per_class, *self.left_out]
        return names[0] if len(names) == 1 else None


@dataclass(frozen=True)
class Generalised:
    """The generalised protocol: seen and unseen classes together. `harmonic` is H, `ausuc` the area under the
    curve, and `calibration` the constant that was subtracted from the scores of seen classes; the others are as in
    `ZeroShot`."""

    protocol: str = "gzsl"
    unseen: float | None = None
    seen: float | None = None
    harmonic: float | None = None
    ausuc: float | None = None
    calibration: float | None = None
    per_class: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    curve: SeenUnseenCurve | None = None
    declined: str | None = None
    adaptation: Setting | None = None
    answers: "Answers | None" = None


@dataclass(frozen=True)
class TaughtResults:
    """Results of a model that was taught `shots` examples of each unseen class, which are not scored. Classes in
    `short` have so few rows that they got fewer examples: one row at least is scored."""

    shots: int
    zsl: ZeroShot
    gzsl: Generalised
    gzsl_calibrated: Generalised | None = None
    short: tuple[str, ...] = ()


@dataclass(frozen=True)
class AdaptedResults:
    """Results of a model adapted to test rows without their labels: "unseen", or "all", which alone has generalised
    ones."""

    unlabelled: str
    zsl: ZeroShot
    gzsl: Generalised | None = None
    gzsl_calibrated: Generalised | None = None


@dataclass(frozen=True)
class Confidence:
    """How far probabilities can be trusted. `ece` is the expected calibration error, also by the side of the answer.
    `coverage` holds (threshold, share of rows answered, accuracy of these, or None where no row is answered)."""

    protocol: str = ""
    ece: float | None = None
    ece_seen: float | None = None
    ece_unseen: float | None = None
    accuracy: float | None = None
    mean_confidence: float | None = None
    coverage: tuple[tuple[float, float, float | None], ...] = ()


@dataclass(frozen=True)
class Probabilities:
    """The confidence of both protocols; None where the model has no temperatures."""

    zsl: Confidence | None = None
    gzsl: Confidence | None = None


@dataclass(frozen=True)
class Decided:
    """What thresholds of a calibrated model do on test rows, among all classes; shares of rows.

    `coverage` is how often a set of asked 90 % holds the class, of rows of "seen" and of "unseen" classes, and `size`
    the median of classes in a set. `false_alarms` are rows called unknown with reject=0.05. With rows that are none of
    the classes, `caught` is how many of them are, and `auroc` how well scores tell them apart. `levels` has, for risk
    0.1, what `Hierarchy.report` says, and the plain answer's accuracy on each level.
    """

    coverage: Mapping[str, float] = field(default_factory=dict)
    size: Mapping[str, float] = field(default_factory=dict)
    false_alarms: Mapping[str, float] = field(default_factory=dict)
    caught: float | None = None
    auroc: float | None = None
    levels: Mapping[str, Mapping[str, float | None]] | None = None


class Edge(search_results.Edge):
    """A number of a chosen setting beyond which nothing was tried, with the reason in the words of tables."""

    @property
    def why(self) -> str:
        return "not extended" if self.bound is None else "at its bound"


@dataclass(frozen=True)
class Choice:
    """The setting that validation chose by one scoring, and its scores on the folds.

    `figures` are its other figures on each fold: "zsl", "seen", "unseen" and "harmonic" without a constant, "gzsl" with
    it. `edges` are its numbers beyond which nothing was tried, `against_default` whether the default setting was kept.
    These are None in records that do not know.
    """

    setting: Setting = field(default_factory=dict)
    score: float | None = None
    fold_scores: tuple[float, ...] = ()
    spread: float | None = None
    calibration: float | None = None
    figures: Mapping[str, tuple[float, ...]] | None = None
    edges: tuple[Edge, ...] | None = None
    against_default: AgainstDefault | None = None


@dataclass(frozen=True)
class Choices:
    """By zero-shot accuracy, by H at the best constant, and by H without one, as far as these were asked for."""

    zsl: Choice | None = None
    gzsl: Choice | None = None
    harmonic: Choice | None = None

    def items(self) -> tuple[tuple[str, Choice], ...]:
        return tuple((scoring, choice) for scoring, choice in vars(self).items() if choice is not None)


@dataclass(frozen=True)
class TriedSettings:
    """Every setting of the grid: the values of `names`, then its mean zsl and gzsl score over folds, None where it
    diverged."""

    names: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def __post_init__(self) -> None:
        wrong = next((row for row in self.rows if len(row) != len(self.names) + 2), None)
        if wrong is not None:
            raise ValueError(
                f"a row of `tune.table` has {len(wrong)} values: expected {len(self.names)} settings and 2 scores"
            )


@dataclass(frozen=True)
class DivergedSetting:
    """A setting whose training diverged on a fold, and at which step."""

    setting: Setting
    step: int


@dataclass(frozen=True)
class Tuning:
    """What was tried on the folds and what was chosen; all None or empty without tuning."""

    scoring: str | None = None
    grid: Mapping[str, tuple[object, ...]] | None = None
    also: tuple[Mapping[str, tuple[object, ...]], ...] | None = None  # smaller grids that were tried beside it
    bounds: Mapping[str, tuple[float, float]] | None = None  # to which the grid may be extended
    folds: int | None = None
    settings: int | None = None  # how many were tried
    extended: int | None = None  # how many of these, the last ones, are beyond the grid
    table: TriedSettings | None = None
    diverged: tuple[DivergedSetting, ...] = ()
    choices: Choices = field(default_factory=Choices)
    seed: int | None = None  # whose search it was, where another seed was only trained with what it chose


@dataclass(frozen=True)
class ObjectiveCurve:
    """The objective of mini-batches during training: means of at most 200 blocks, each at its last step."""

    step: tuple[int, ...]
    objective: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_record_lengths("convergence", step=self.step, objective=self.objective)


@dataclass(frozen=True)
class Seconds:
    """Wall time of each stage."""

    search: float | None = None
    calibrate: float | None = None
    fit: float | None = None
    evaluate: float | None = None

    @property
    def training(self) -> float | None:
        """What choosing and fitting took together; None where no time is recorded."""
        stages = (self.search, self.calibrate, self.fit)
        return None if self == Seconds() else sum(stage for stage in stages if stage is not None)


def _check_record_lengths(name: str, **lists: tuple[object, ...]) -> None:
    lengths = {part: len(values) for part, values in lists.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length} {part}" for part, length in lengths.items())
        raise ValueError(f"`{name}` has {counts}: expected lists of one length")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One finished run: a method with its settings, on one dataset, from one seed.

    Parameters
    ----------
    version : int, default=4
        The version of the format. A line of an earlier version is converted when it is read.
    key : str, default=""
        What the run is known by: a hash of all that decides its figures.
    dataset : str
        The name of the dataset, as `zskl run` takes it.
    features, fingerprint, features_digest : str, default=""
        Name of the feature file, and what tells versions of the data apart.
    published_features : bool, optional
        Of features that are named as the published ones: whether their shape and norms are those of the package.
    method : str
        The name of the method.
    seed : int
        The seed that was asked for.
    random_state : int, optional
        The random state of the estimator, which follows from dataset, method and seed.
    config : mapping
        All parameters of the fitted estimator.
    settings : mapping
        The parameters that the user set.
    tune : Tuning
        What tuning tried and chose.
    zsl : ZeroShot
        The result of the zero-shot protocol.
    gzsl : Generalised
        The result of the generalised protocol without calibration.
    calibration : float, optional
        The constant that was chosen on the folds.
    gzsl_calibrated : Generalised, optional
        The result of the generalised protocol with that constant.
    gzsl_own : Generalised, optional
        The result without calibration of the setting that was chosen by H itself. `gzsl` is that of the setting which
        was chosen by zero-shot accuracy.
    taught : tuple of TaughtResults, optional
        Results after examples of the unseen classes, for each number of them.
    adapted : tuple of AdaptedResults, optional
        Results after adaptation to unlabelled test rows.
    probabilities : Probabilities
        How far probabilities can be trusted.
    decided : Decided, optional
        Sets, rows of none of the classes, and levels of a tree, of a calibrated model.
    incoherence : float, optional
        How far the columns of the projection W are from orthogonal.
    gram : tuple of tuples of float, optional
        Cosines between the first columns of W.
    gram_names : tuple of str, optional
        The attributes of these columns.
    attributes : mapping, optional
        For each unseen class the attributes that its test rows show most.
    convergence : ObjectiveCurve, optional
        The objective during training.
    seconds : Seconds
        Wall times.
    rows : mapping
        Number of rows in each part of the dataset.
    class_rows : ClassRows, optional
        Number of test rows of each class, for the answers of the results.
    versions : mapping
        Versions of zskl, Python and packages.
    finished : str, default=""
        When the run ended, in UTC.

    Examples
    --------
    >>> from zskl.experiments.record import Record
    >>> line = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {}}
    >>> record = Record.from_json(line)
    >>> record.zsl.accuracy
    0.5
    >>> record.to_json()["version"]
    4
    """

    version: int = VERSION
    key: str = ""
    dataset: str
    features: str = ""
    fingerprint: str = ""
    features_digest: str = ""
    published_features: bool | None = None
    method: str
    seed: int
    random_state: int | None = None
    config: Setting = field(default_factory=dict)
    settings: Setting = field(default_factory=dict)
    tune: Tuning = field(default_factory=Tuning)
    zsl: ZeroShot
    gzsl: Generalised
    calibration: float | None = None
    gzsl_calibrated: Generalised | None = None
    gzsl_own: Generalised | None = None
    taught: tuple[TaughtResults, ...] | None = None
    adapted: tuple[AdaptedResults, ...] | None = None
    probabilities: Probabilities = field(default_factory=Probabilities)
    decided: Decided | None = None
    incoherence: float | None = None
    gram: tuple[tuple[float, ...], ...] | None = None
    gram_names: tuple[str, ...] | None = None
    attributes: Shares | None = None
    convergence: ObjectiveCurve | None = None
    seconds: Seconds = field(default_factory=Seconds)
    rows: Mapping[str, int] = field(default_factory=dict)
    class_rows: "ClassRows | None" = None
    versions: Mapping[str, str] = field(default_factory=dict)
    finished: str = ""

    @property
    def plain_gzsl(self) -> Generalised:
        """The result without calibration: of the setting that was chosen by H itself, where one was."""
        return self.gzsl_own or self.gzsl

    @property
    def device(self) -> str:
        """Where the model was trained."""
        return str(self.config.get("device") or "cpu")

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in plain_figures(self))
        return f"Record({self.dataset!r}, {self.method!r}, seed {self.seed}{f': {figures}' if figures else ''})"

    def __str__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> Shown:
        given = [(count_noun(one.shots, "shot"), one.zsl) for one in self.taught or ()]
        given += [(f"unlabelled {one.unlabelled}", one.zsl) for one in self.adapted or ()]
        rows = [(f"zero-shot, {words}", format_percent(zsl.accuracy)) for words, zsl in given]
        rows = [*plain_figures(self), *(row for row in rows if row[1]), ("settings", describe_choice(self))]
        seconds = self.seconds.training
        rows += [] if seconds is None else [("training", f"{seconds:.1f} s")]
        features = f" ({self.features})" if self.features else ""
        return Shown(f"{self.method} on {self.dataset}{features}, seed {self.seed}", ("", ""), rows)

    def to_json(self) -> dict[str, Any]:
        """The record as an object for `json.dumps`; what was not measured has no entry.

        Returns
        -------
        dict
            The fields by name, as they stand in a line of `records.jsonl`.
        """
        return to_json(self)

    @classmethod
    def from_json(cls, line: object) -> "Record":
        """The record that `json.loads` read from a line.

        Parameters
        ----------
        line : mapping
            Written by this version or by an earlier one.

        Returns
        -------
        Record
            In the present version.

        Raises
        ------
        ValueError
            If the line is not a record, a field has the wrong type, or the line is of a newer version.
        """
        return from_json(cls, upgrade_record_line(line))


def upgrade_record_line(line: object) -> Mapping[str, Any]:
    """The line in the present version; those of earlier ones only lack fields."""
    if not isinstance(line, Mapping):
        raise ValueError(f"found {str(line)[:40]!r}: expected an object with named fields, as zskl run writes")
    found = line.get("version", 1)
    if not isinstance(found, int) or not 1 <= found <= VERSION:
        raise ValueError(f"`version` is {found!r}: expected a number from 1 to {VERSION}; read it with a newer zskl")
    return {**line, "version": VERSION}


def plain_figures(record: Record) -> list[tuple[str, str]]:
    plain, calibrated = record.plain_gzsl, record.gzsl_calibrated
    found = [("zero-shot", record.zsl.accuracy), ("unseen", plain.unseen), ("seen", plain.seen), ("H", plain.harmonic)]
    found += [] if calibrated is None else [("calibrated H", calibrated.harmonic)]
    return [(name, format_percent(value)) for name, value in found if value is not None]


def describe_choice(record: Record, counted: bool = True) -> str:
    """Whether settings are tuned (and of how many, if `counted`) or default, and which were set by hand."""
    tuned = bool(record.tune.scoring)
    of = f" (best of {record.tune.settings})" if counted and tuned and record.tune.settings else ""
    own = ", ".join(f"{name}={value}" for name, value in record.settings.items())
    return f"{'tuned' if tuned else 'default'}{of}{f', with {own}' if own else ''}"


# What each test row was answered, in a few kilobytes of text, so that uncertainty is computed from records. The rows of
# a part lie class by class, in the order of `class_names` of the dataset, and within a class as the part has them.


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

    def compact(self) -> "Answers":
        """Right or wrong alone."""
        seen = None if self.seen is None else pack_answers(np.minimum(unpack_answers(self.seen), 1))
        return replace(self, unseen=pack_answers(np.minimum(unpack_answers(self.unseen), 1)), seen=seen)


def pack_answers(numbers: NDArray[np.integer] | NDArray[np.bool_]) -> str:
    """Numbers below 2³² as text: a byte with the bits of each (1, 8, 16 or 32), then the numbers; zlib, then base64."""
    found = np.asarray(numbers, dtype=np.int64)
    largest = int(found.max(initial=0))
    if largest > 1:
        bits = 8 if largest < 2**8 else 16 if largest < 2**16 else 32
        written = bytes([bits]) + found.astype(f"<u{bits // 8}").tobytes()
    else:  # the second byte counts the bits that fill the last one
        written = bytes([1, -len(found) % 8]) + np.packbits(found.astype(np.uint8)).tobytes()
    return base64.b64encode(zlib.compress(written, 9)).decode()


def unpack_answers(text: str, length: int | None = None) -> Integers:
    """What `pack_answers` made text of; `length` is how many numbers there must be."""
    try:
        engine = zlib.decompressobj()
        raw = engine.decompress(base64.b64decode(text, validate=True), _LARGEST)
        if raw[0] == 1:
            bits = np.unpackbits(np.frombuffer(raw, np.uint8, offset=2)).astype(np.int64)
            found = bits[: len(bits) - raw[1]]
        else:
            found = np.frombuffer(raw, {8: "<u1", 16: "<u2"}.get(raw[0], "<u4"), offset=1).astype(np.int64)
    except (ValueError, IndexError, zlib.error):
        raise ValueError(f"answers of a record cannot be read ({text[:20]!r}): restore or remove that record") from None
    if length is not None and len(found) != length:
        raise ValueError(
            f"a record has answers of {len(found)} rows for classes of {length}: restore or remove that record"
        )
    return found


def gap_levels(gap: NDArray[np.float64], right: NDArray[np.bool_]) -> Integers:
    """0 where a row is not right on its own side, otherwise 1 to LEVELS, rising with its gap; equal for equal gaps."""
    ordered = np.sort(gap[right])
    place = np.searchsorted(ordered, gap, side="left")  # how many gaps are lower
    return np.where(right, 1 + LEVELS * place // max(1, len(ordered)), 0)


# Frozen dataclasses ↔ JSON, by the types of their fields.


def to_json(value: object) -> Any:
    """Dataclasses as objects, tuples as lists. A field is left out where it is None, or a part that holds nothing."""
    if is_dataclass(value) and not isinstance(value, type):
        pairs = [(one, getattr(value, one.name)) for one in fields(value)]
        there = [(one, own) for one, own in pairs if not is_dataclass(own) or own != _field_default(one)]
        return {one.name: to_json(own) for one, own in there if own is not None}
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(one) for one in value]
    return value


def from_json(kind: type[T], value: object, place: str = "") -> T:
    """A dataclass from what `json.loads` gave; `place` names the value in error messages. What is missing or null
    becomes the default of its field; a field that the dataclass does not know is ignored."""
    if not isinstance(value, Mapping):
        raise ValueError(_type_error(place, value, "an object with named fields"))
    hints = _type_hints(kind)  # type: ignore[arg-type]  # a class is hashable
    found = {}
    for one in fields(kind):  # type: ignore[arg-type]  # every `kind` is a dataclass
        inside = f"{place}.{one.name}" if place else one.name
        given = value.get(one.name)
        if given is not None:
            found[one.name] = _read_record_value(hints[one.name], given, inside)
        elif _field_default(one) is MISSING:
            raise MissingField(f"`{inside}` is missing: expected {_type_name(hints[one.name])}")
    return kind(**found)


class MissingField(ValueError):
    """A field that has no default is not there."""


def _read_record_value(hint: Any, value: object, place: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (kind,) = [one for one in inner if one is not types.NoneType]
        try:
            return _read_record_value(kind, value, place)
        except MissingField:
            # A part that may be absent lacks something it needs.
            return None
    if hint is object:
        return value
    if is_dataclass(hint):
        return from_json(hint, value, place)  # type: ignore[arg-type]
    if hint is bool and isinstance(value, bool):
        return value
    if hint in (float, int, str):
        allowed = (int, float) if hint is float else hint
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise ValueError(_type_error(place, value, _type_name(hint)))
        return hint(value)
    if origin is Mapping and isinstance(value, Mapping):
        # A null entry of a mapping says no more than a missing one, except where any value may stand.
        kept = {name: one for name, one in value.items() if one is not None or _may_be_null(inner[1])}
        return {name: _from_nullable(inner[1], one, f"{place}.{name}") for name, one in kept.items()}
    if origin is tuple and isinstance(value, list | tuple):
        kinds = (inner[0],) * len(value) if inner[-1] is Ellipsis else inner
        if len(kinds) == len(value):
            return tuple(_from_nullable(kinds[k], one, f"{place}[{k}]") for k, one in enumerate(value))
    raise ValueError(_type_error(place, value, _type_name(hint)))


def _from_nullable(kind: Any, value: object, place: str) -> Any:
    if value is None and not _may_be_null(kind):
        raise ValueError(_type_error(place, value, _type_name(kind)))
    return None if value is None else _read_record_value(kind, value, place)


def _may_be_null(kind: Any) -> bool:
    return kind is object or types.NoneType in get_args(kind)


def _field_default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


_type_hints = lru_cache(maxsize=64)(get_type_hints)


def _type_error(place: str, value: object, expected: str) -> str:
    text = repr(value)
    return f"`{place or 'the line'}` is {text if len(text) < 60 else text[:57] + '...'}: expected {expected}"


def _type_name(hint: Any) -> str:
    plain = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
    if hint in plain:
        return plain[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _type_name(next(one for one in inner if one is not types.NoneType))
    if origin is tuple:
        return "a list" if inner[-1] is Ellipsis else f"a list of {len(inner)} values"
    return "an object with named fields"
