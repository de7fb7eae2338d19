"""The parts of a record: results of both protocols, what validation tried and chose, times.

Every part is frozen. What a line does not hold is None or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from zskl.experiments.answers import Answers
from zskl.selection.against_default import AgainstDefault

Setting: TypeAlias = Mapping[str, object]  # name of a parameter → its value, as JSON has it
Shares: TypeAlias = Mapping[str, tuple[tuple[str, float], ...]]  # name of a class → (name, share), largest first


@dataclass(frozen=True)
class SeenUnseenCurve:
    """Accuracy of seen and of unseen classes at each calibration constant; at most 200 points."""

    calibration: tuple[float, ...]
    seen: tuple[float, ...]
    unseen: tuple[float, ...]

    def __post_init__(self) -> None:
        _same_length("curve", calibration=self.calibration, seen=self.seen, unseen=self.unseen)


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
    answers: Answers | None = None

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
    """The generalised protocol: seen and unseen classes together.

    `harmonic` is H and `ausuc` the area under the curve. `calibration` is the constant that was subtracted from the
    scores of seen classes. `declined`, `adaptation` and `answers` are as in `ZeroShot`.
    """

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
    answers: Answers | None = None


@dataclass(frozen=True)
class Taught:
    """Results of a model that was taught `shots` examples of each unseen class, which are not scored.

    Classes in `short` have so few rows that they got fewer examples: one row at least is scored.
    """

    shots: int
    zsl: ZeroShot
    gzsl: Generalised
    gzsl_calibrated: Generalised | None = None
    short: tuple[str, ...] = ()


@dataclass(frozen=True)
class Adapted:
    """Results of a model that adapted to test rows without their labels: `unlabelled` is "unseen" or "all".

    There are generalised results only with "all".
    """

    unlabelled: str
    zsl: ZeroShot
    gzsl: Generalised | None = None
    gzsl_calibrated: Generalised | None = None


@dataclass(frozen=True)
class Confidence:
    """How far probabilities can be trusted. `ece` is the expected calibration error.

    `coverage` holds (threshold, share of rows answered, accuracy of these, or None where no row is answered).
    """

    protocol: str = ""
    ece: float | None = None
    accuracy: float | None = None
    mean_confidence: float | None = None
    coverage: tuple[tuple[float, float, float | None], ...] = ()


@dataclass(frozen=True)
class Probabilities:
    """The confidence of both protocols; None where the model has no temperatures."""

    zsl: Confidence | None = None
    gzsl: Confidence | None = None


@dataclass(frozen=True)
class Edge:
    """A number of a chosen setting that is the "lowest" or "highest" that was tried.

    `bound` is the bound that kept the search from going on; None where the grid was not extended.
    """

    name: str
    value: float
    side: str
    bound: float | None = None

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
    """By zero-shot accuracy and by H at the best constant, as far as these were asked for."""

    zsl: Choice | None = None
    gzsl: Choice | None = None

    def items(self) -> tuple[tuple[str, Choice], ...]:
        """(scoring, choice) of those that were made."""
        pairs = (("zsl", self.zsl), ("gzsl", self.gzsl))
        return tuple((scoring, choice) for scoring, choice in pairs if choice is not None)


@dataclass(frozen=True)
class Tried:
    """Every setting of the grid: a row has the values of `names`, then its mean zsl and gzsl score over folds.

    A score is None where training diverged.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def __post_init__(self) -> None:
        wrong = next((row for row in self.rows if len(row) != len(self.names) + 2), None)
        if wrong is not None:
            raise ValueError(
                f"a row of `tune.table` has {len(wrong)} values: expected {len(self.names)} settings and 2 scores"
            )


@dataclass(frozen=True)
class Diverged:
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
    table: Tried | None = None
    diverged: tuple[Diverged, ...] = ()
    choices: Choices = field(default_factory=Choices)


@dataclass(frozen=True)
class Course:
    """The objective of mini-batches during training: means of at most 200 blocks, each at its last step."""

    step: tuple[int, ...]
    objective: tuple[float, ...]

    def __post_init__(self) -> None:
        _same_length("convergence", step=self.step, objective=self.objective)


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
        if self == Seconds():
            return None
        return sum(stage for stage in (self.search, self.calibrate, self.fit) if stage is not None)


def _same_length(name: str, **lists: tuple[object, ...]) -> None:
    lengths = {part: len(values) for part, values in lists.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length} {part}" for part, length in lengths.items())
        raise ValueError(f"`{name}` has {counts}: expected lists of one length")
