"""Records of the evaluation, sorted into what its tables and figures ask for; and the methods that these are about."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from zskl import methods
from zskl.datasets import Dataset, xlsa17
from zskl.estimators.base import STANDARDIZED
from zskl.experiments import compare, record, run_folder, uncertainty
from zskl.experiments.compare import Comparison
from zskl.experiments.record import Generalised, Probabilities, Record, Setting
from zskl.experiments.run_folder import RunFolder
from zskl.experiments.uncertainty import Difference, Figure
from zskl.experiments.unit import CHOSEN_BY
from zskl.methods import split_grid, use_default_batches
from zskl.plots._base import Drawing
from zskl.selection.search_results import RAW

NOT_OWN = "‡"  # marks figures of a setting that was not chosen for them
PUBLISHED_FEATURES = "res101"  # what all published figures were measured on
DATASETS = ("AWA1", "AWA2", "SUN", "CUB", "APY")
BASELINES = ("dap", "iap", "conse", "cmt", "cmt-star", "sse", "latem", "ale", "devise", "sje", "eszsl", "sync", "sae")
CHOSEN_FOR = {"zero-shot": "zsl", "H": RAW, "calibrated H": "gzsl"}  # figure → what its setting is chosen by
KERNELS = ("polynomial-2", "polynomial-4", "polynomial-6", "cauchy", "cauchy-ort", "gaussian", "gaussian-ort")

# Methods: which of them each part of the evaluation is about, in the order of the tables


AFTER_ESZSL = BASELINES.index("eszsl") + 1  # the place of ESZSL with targets as published
PAPER_BASELINES = (*BASELINES[:AFTER_ESZSL], "eszsl-signs", *BASELINES[AFTER_ESZSL:])
LATER_BASELINES = ("exem", "gfzsl", "cnzsl")
ALL_BASELINES = (*PAPER_BASELINES, *LATER_BASELINES)
PRINTED = (*(f"{name}-printed" for name in KERNELS), "gaussian-ort-eq8")  # the paper's algorithm as its text has it
OURS = ("gaussian-softmax", "cauchy-softmax", "class-means", "means-softmax")
ALL = (*ALL_BASELINES, *PRINTED, *KERNELS, *OURS)
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "the paper's baselines": PAPER_BASELINES,
    "later baselines": LATER_BASELINES,
    "the paper's kernels, as printed": PRINTED,
    "the paper's kernels, improved": KERNELS,
    "ours": OURS,
}
GROUPS = {"baselines": ALL_BASELINES, "printed": PRINTED, "kernels": KERNELS, "ours": OURS}
LARGE = {"sse", "sync", "conse", "dap", "iap"}  # baselines whose steps are large enough to gain from a GPU
ON_CPU = {*PAPER_BASELINES, "exem", "gfzsl", "class-means"} - LARGE  # whatever the device
PAIRS = (  # without and with incoherence
    *((f"{kernel}-printed", f"{kernel}-ort-printed") for kernel in ("gaussian", "cauchy")),
    *((kernel, f"{kernel}-ort") for kernel in ("gaussian", "cauchy")),
)
SLOWEST = (  # first, so that no process is left alone with a long one at the end
    *(f"polynomial-{degree}-printed" for degree in (6, 4, 2)),
    *PRINTED[3:],
    *("means-softmax", "polynomial-6", "polynomial-4", "polynomial-2", "gaussian-softmax", "cauchy-softmax"),
    *("gaussian-ort", "cauchy-ort", "gaussian", "cauchy", "sse", "dap", "cmt", "cmt-star", "latem", "iap", "sync"),
    *("cnzsl", "ale", "sje", "devise", "conse"),
)
PARTS: Mapping[str, tuple[str, ...]] = {
    "zsl": ALL,
    "gzsl": ALL,
    **dict.fromkeys(("incoherence", "gram"), tuple(name for pair in PAIRS for name in pair)),
    "sensitivity": ("gaussian-ort", "cauchy-ort", "polynomial-4"),
    "convergence": ("gaussian-ort",),
}


def published_grid(method: str) -> dict[str, tuple[Any, ...]]:
    """The grid of the published table, which does not follow the default one.

    Features that one network made have one unit, and on them standardised features are behind (docs/baselines.md); so
    only SAE, which gains by them in H on AWA1, tries them here. Nor is the default setting compared with the grid: the
    highest validation mean wins, as in all records there are. Kernels have the paper's batches of 10. Class means are
    fitted again on each fold there, on the grid that they have in a committee.
    """
    grid = methods.MEMBER_MEANS if method == "class-means" else methods.find(method).grid
    tried = use_default_batches(split_grid(grid)[0])
    return {
        name: tuple(
            one for one in values if one != STANDARDIZED or not name.endswith("feature_scaling") or method == "sae"
        )
        for name, values in tried.items()
    }


def family_of(method: str) -> str:
    return next(name for name, mine in FAMILIES.items() if method in mine)


def sort_slowest_first(names: Iterable[str]) -> list[str]:
    """By how long a unit takes, as far as it is known."""
    return sorted(names, key=lambda name: SLOWEST.index(name) if name in SLOWEST else len(SLOWEST))


def choose_methods(names: Iterable[str] | None) -> tuple[str, ...]:
    """Methods by name or by group, in the order of the tables; by default all. An unknown name is refused."""
    wanted: set[str] = set()
    for name in names or GROUPS:
        wanted |= set(GROUPS.get(name.lower(), ())) or {name.lower()}
    for name in wanted:
        if name not in ALL:
            methods.find(name)  # says what there is
            raise ValueError(
                f"method {name!r} is not part of the paper's evaluation: expected one of {', '.join(ALL)}; zskl run "
                f"takes every method"
            )
    return tuple(name for name in ALL if name in wanted)


def needed_methods(wanted: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
    about = {name for part in wanted for name in PARTS[part]}
    return tuple(name for name in asked if name in about)


# Curves: what `zskl paper` measures beside evaluations, accuracy against a setting and the course of training


@dataclass(frozen=True, kw_only=True)
class _Curves:
    """What both kinds of records hold. `setting` is what validation chose; `part` tells the kinds apart."""

    version: int = record.VERSION
    key: str
    dataset: str
    features: str = ""
    fingerprint: str = ""
    features_digest: str = ""
    published_features: bool | None = None
    method: str
    seed: int
    random_state: int | None = None
    device: str | None = None
    setting: Setting
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    finished: str = ""

    def to_json(self) -> dict[str, Any]:
        return record.to_json(self)


@dataclass(frozen=True)
class SettingCurve:
    values: tuple[float, ...]
    validation: tuple[tuple[float, ...] | None, ...]  # on every fold; None where training diverged
    test: tuple[float | None, ...]
    answers: tuple[str | None, ...] | None = None  # which test rows are right, packed; records of 0.2 have none

    def __post_init__(self) -> None:
        if not len(self.values) == len(self.validation) == len(self.test):
            raise ValueError(
                f"a curve has {len(self.values)} values, {len(self.validation)} validation and {len(self.test)} test "
                "accuracies: expected as many of each"
            )


@dataclass(frozen=True, kw_only=True)
class SensitivityRecord(_Curves):
    """A method from one seed, each of some settings varied in turn around the one that was chosen."""

    part: str = "sensitivity"
    curves: Mapping[str, SettingCurve]
    class_rows: record.ClassRows | None = None

    def evaluation_at(self, name: str, value: float) -> Record | None:
        """The test accuracy at a value of a curve as a record, for intervals; None where training diverged."""
        curve = self.curves[name]
        place = curve.values.index(value)
        accuracy, answers = curve.test[place], None if curve.answers is None else curve.answers[place]
        if accuracy is None:
            return None
        about = {one: getattr(self, one) for one in ("dataset", "features", "fingerprint", "method", "seed")}
        kept = None if answers is None else record.Answers(answers)
        zsl = record.ZeroShot(accuracy=accuracy, answers=kept)
        rows = None if kept is None else self.class_rows
        return Record(**about, zsl=zsl, gzsl=Generalised(), class_rows=rows)

    def evaluations(self) -> Iterator[Record]:
        """All of these."""
        for name, curve in self.curves.items():
            yield from (one for value in curve.values if (one := self.evaluation_at(name, value)) is not None)

    def chosen(self, name: str) -> float:
        value = self.setting[name]
        assert isinstance(value, int | float)
        return float(value)


@dataclass(frozen=True)
class Phase:
    """Objective and accuracy of the rows of each side ("training", "held out") after each of some steps."""

    step: tuple[int, ...]
    rows: int
    objective: Mapping[str, tuple[float, ...]]
    accuracy: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class ConvergenceRecord(_Curves):
    """A method from one seed, watched while it trains on a fold ("validation") and on all training rows ("test")."""

    part: str = "convergence"
    epochs: int
    phases: Mapping[str, Phase]


CurveRecord: TypeAlias = SensitivityRecord | ConvergenceRecord
AnyRecord: TypeAlias = Record | CurveRecord
R = TypeVar("R", bound=AnyRecord)
KINDS: Mapping[str, type[CurveRecord]] = {"sensitivity": SensitivityRecord, "convergence": ConvergenceRecord}


def curve_record_from_json(line: object) -> CurveRecord:
    found = record.upgrade_record_line(line)
    kind = KINDS.get(str(found.get("part")))
    if kind is None:
        raise ValueError(f"`part` is {found.get('part')!r}: expected {' or '.join(KINDS)}")
    return record.from_json(kind, found)


NEAR = ("resnet50",)  # features of a network like that of the published figures
SAME = ("cmt-star", "zero-shot")  # is that of cmt, where only unseen classes are candidates


@dataclass(frozen=True)
class Problem:
    """A dataset with its features, and the fingerprints of both; `missing` where there is nothing of it. `published`,
    which is no part of its key: features named as the published ones have their shape and norms."""

    dataset: str
    features: str = ""
    fingerprint: str = ""
    features_digest: str = ""
    missing: bool = False
    published: bool | None = field(default=None, compare=False)

    @property
    def comparable(self) -> bool:
        return self.features == PUBLISHED_FEATURES and bool(self.published)

    @property
    def near(self) -> bool:
        """Whether they are of a network so like that one that published figures give an orientation."""
        return self.comparable or self.features in NEAR

    @property
    def name(self) -> str:
        return f"{self.dataset} ({self.features})" if self.features else self.dataset

    @property
    def stem(self) -> str:
        words = [self.dataset] if self.features in ("", PUBLISHED_FEATURES) else [self.dataset, self.features]
        return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


def problem_of(source: AnyRecord | Dataset) -> Problem:
    if isinstance(source, Dataset):
        name, published = source.name, xlsa17.has_published_features(source)
    else:
        name, published = source.dataset, source.published_features
    return Problem(name, source.features, source.fingerprint, source.features_digest, published=published)


@dataclass(frozen=True)
class Output:
    part: str
    name: str
    title: str
    table: Comparison
    figures: Mapping[str, Drawing] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """For each problem and method its records, by seed: evaluations, sensitivity curves, courses of training."""

    problems: tuple[Problem, ...]
    methods: tuple[str, ...]
    runs: Mapping[tuple[Problem, str], Sequence[Record]]
    curves: Mapping[tuple[Problem, str], Sequence[SensitivityRecord]] = field(default_factory=dict)
    courses: Mapping[tuple[Problem, str], Sequence[ConvergenceRecord]] = field(default_factory=dict)
    times: Sequence[Mapping[str, Any]] = ()

    @property
    def measured(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.missing)

    def names(self, problem: Problem) -> list[str]:
        """The methods that were run on a problem."""
        return [name for name in self.methods if (problem, name) in self.runs]

    @cached_property
    def _figures(self) -> Mapping[tuple[Problem, str], Mapping[str, Figure]]:
        uncertainty.prepare_draws([record for mine in self.runs.values() for record in mine])
        return {place: _mark_figures(uncertainty.figures(mine), mine) for place, mine in self.runs.items()}

    def figure(self, problem: Problem, method: str, column: str) -> Figure | None:
        """A column of `compare.FIGURES` in per cent, with its interval; None where it was not measured."""
        found = self._figures.get((problem, method), {})
        return None if (method, column) == SAME else found.get(column)

    def groups(self, problem: Problem, column: str) -> dict[str, Sequence[Record]]:
        names = [name for name in self.methods if self.figure(problem, name, column) is not None]
        return {name: self.runs[problem, name] for name in names}

    def difference(self, problem: Problem, method: str, other: str, column: str) -> Difference | None:
        """How far the first is above the other one, in points, paired; None where records have no answers."""
        return uncertainty.difference(self.runs[problem, method], self.runs[problem, other], column)

    def ranked(self, problem: Problem, methods: Iterable[str], column: str) -> list[tuple[str, Figure]]:
        found = [(name, figure) for name in methods if (figure := self.figure(problem, name, column)) is not None]
        return sorted(found, key=lambda pair: -pair[1].mean)

    def validation_score(self, problem: Problem, column: str, method: str) -> float:
        """The mean score on validation classes of the settings chosen for a figure; −∞ where none is known."""
        scores = []
        for one in self.runs[problem, method]:
            choices = dict(one.tune.choices.items())
            choice = choices.get(CHOSEN_FOR[column]) or choices.get("zsl")
            known = ((choice and choice.figures) or {}).get(CHOSEN_FOR[column], ())
            scores += [sum(known) / len(known)] if known else []
        return sum(scores) / len(scores) if scores else float("-inf")

    def incoherence(self, problem: Problem, method: str) -> Figure | None:
        found = self.runs.get((problem, method), ())
        return mean_over_runs(record.incoherence for record in found if record.incoherence is not None)

    def seeds(self, problem: Problem, method: str) -> int | None:
        """0 where nothing was run, and None where seeds make no difference."""
        found = self.runs.get((problem, method), ())
        return None if found and not uncertainty.is_random(method) else len(found)


def mean_over_runs(values: Iterable[float], digits: int = 1) -> Figure | None:
    seen = list(values)
    return compare.mean_over_seeds(seen, digits) if seen else None


def _mark_figures(found: dict[str, Figure], mine: Sequence[Record]) -> dict[str, Figure]:
    """Mark the figures without calibration of records that chose no setting for them."""
    if all(one.gzsl_own is not None for one in mine):
        return found
    marked = {name: replace(found[name], mark=NOT_OWN) for name in ("unseen", "seen", "H", "area") if name in found}
    return found | marked


CURVES = "curves"  # the folder of what is not an evaluation, so that `zskl compare` and `zskl report` read the rest


def read_paper_records(path: Path) -> Iterator[AnyRecord]:
    """Records of both kinds, of a folder that this command or `zskl run --out` wrote, or of a .jsonl file."""
    files = [path] if not path.is_dir() else [path / run_folder.FILE, path / CURVES / run_folder.FILE]
    there = [file for file in files if file.is_file()]
    if not there:
        raise FileNotFoundError(
            f"no records at {path}: expected a folder that zskl paper --out or zskl run --out wrote, or a .jsonl file"
        )
    for file in there:
        yield from run_folder.read_records(file, _parse_record)


def _parse_record(line: object) -> AnyRecord:
    curve = isinstance(line, Mapping) and "part" in line
    record = curve_record_from_json(line) if curve else Record.from_json(line)
    if not record.key:
        raise ValueError("`key` is missing: expected what zskl paper or zskl run writes")
    return record


def merge_records(
    paths: Iterable[Path], runs: RunFolder[Record], curves: RunFolder[CurveRecord], compact: bool = False
) -> int:
    """Append what the folders do not hold, or hold otherwise; how many records that were."""
    count = 0
    for one in (one for path in paths for one in read_paper_records(path)):
        folder: RunFolder[Any] = runs if isinstance(one, Record) else curves
        new = slim_record(one) if compact and isinstance(one, Record) else one
        if folder.done.get(new.key) != new:
            folder.append(new)
            count += 1
    return count


def slim_record(record: Record) -> Record:
    """Without what no table or figure of the evaluation shows. Of the answers remains which are right."""

    def slim(part: Generalised) -> Generalised:
        answers = None if part.answers is None else part.answers.compact()
        return replace(part, per_class={}, left_out=(), curve=None, answers=answers)

    answers = None if record.zsl.answers is None else record.zsl.answers.compact()
    return replace(
        record,
        zsl=replace(record.zsl, per_class={}, left_out=(), mistaken={}, answers=answers),
        gzsl=slim(record.gzsl),
        gzsl_calibrated=None if record.gzsl_calibrated is None else slim(record.gzsl_calibrated),
        gzsl_own=None if record.gzsl_own is None else slim(record.gzsl_own),
        tune=replace(record.tune, table=None),
        probabilities=Probabilities(),
        attributes=None,
        convergence=None,
    )


def recorded_problems(found: Iterable[AnyRecord], dataset: str, features: str | None = None) -> list[Problem]:
    wanted = None if features is None else features.lower().removesuffix(".mat")
    problems = dict.fromkeys(sorted(map(problem_of, found), key=lambda one: one.published is None))
    mine = [one for one in problems if one.dataset.lower() == dataset.lower()]
    return [one for one in mine if wanted is None or one.features.lower() == wanted]


def select_records(
    problems: Sequence[Problem],
    methods: Sequence[str],
    seeds: int,
    runs: Iterable[Record],
    curves: Iterable[CurveRecord],
    times: Sequence[Mapping[str, Any]] = (),
) -> Results:
    """Of the runs those tuned for all figures. Others than the last of a seed, grid and setting are left out."""
    tuned = [record for record in runs if record.tune.scoring in CHOSEN_BY and not record.settings]
    # Settings that had to be better than the default by more than the spread of folds are of another protocol.
    plain = [one for one in tuned if all(choice.against_default is None for _, choice in one.tune.choices.items())]
    others = list(curves)
    varied = [record for record in others if isinstance(record, SensitivityRecord)]
    watched = [record for record in others if isinstance(record, ConvergenceRecord)]
    about = {part: [method for method in mine if method in methods] for part, mine in PARTS.items()}
    return Results(
        tuple(problems),
        tuple(methods),
        _sort_records(
            plain, problems, methods, seeds, lambda record: (record.tune.scoring, record.tune.grid, record.tune.bounds)
        ),
        _sort_records(varied, problems, about["sensitivity"], seeds, lambda record: record.setting),
        _sort_records(watched, problems, about["convergence"], seeds, lambda record: record.setting),
        tuple(times),
    )


def _sort_records(
    found: Sequence[R], problems: Sequence[Problem], methods: Sequence[str], seeds: int, trait: Callable[[R], object]
) -> dict[tuple[Problem, str], list[R]]:
    """By problem and method, then by seed; a record with another `trait` than the last one of its group is left out."""
    groups: dict[tuple[Problem, str], dict[int, R]] = {}
    wanted = set(problems)
    for one in found:
        problem = problem_of(one)
        if problem in wanted and one.method in methods and one.seed < seeds:
            group = groups.setdefault((problem, one.method), {})
            for other in [seed for seed, kept in group.items() if trait(kept) != trait(one)]:
                del group[other]
            group[one.seed] = one
    order = [(problem, method) for problem in problems for method in methods]
    return {place: [groups[place][seed] for seed in sorted(groups[place])] for place in order if place in groups}
