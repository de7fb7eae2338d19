"""Figures of records with intervals, and paired differences between methods, from the answers in records. Every draw
takes the same classes and rows for all records of the same data, and as many of several seeds, with replacement; its
figure is their mean. Methods with as many seeds get the same draws of seeds."""

import statistics
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl import methods
from zskl._arrays import make_generator
from zskl._display import count_noun
from zskl.experiments.record import LEVELS, Answers, ClassRows, Generalised, Record, ZeroShot, unpack_answers
from zskl.metrics import Floats, harmonic_means
from zskl.protocols import UNLABELLED

Read: TypeAlias = Callable[[Record], float | None]
OTHER_H = "H, zero-shot setting"  # of the setting that was chosen by zero-shot accuracy
FIGURES: Mapping[str, Read] = {  # column → a fraction, shown in per cent
    "zero-shot": lambda record: record.zsl.accuracy,
    "unseen": lambda record: record.plain_gzsl.unseen,
    "seen": lambda record: record.plain_gzsl.seen,
    "H": lambda record: record.plain_gzsl.harmonic,
    OTHER_H: lambda record: record.gzsl.harmonic if record.gzsl_own else None,
    "calibrated H": lambda record: record.gzsl_calibrated.harmonic if record.gzsl_calibrated else None,
    "area": lambda record: record.plain_gzsl.ausuc,
}
EVIDENCE_FIGURES = ("zero-shot", "H", "calibrated H")  # of models that were given examples or unlabelled rows
DECLINED = "†"  # marks a figure of a model that did not adapt
ROUNDING = 1e-3  # points: draws are in single precision
FEW = 20  # classes: with fewer, an interval over classes is markedly too narrow
SIDES = ("unseen", "seen")
ENOUGH = 5  # seeds: with fewer, how far seeds differ is hardly known
KEPT = 256  # records whose draws are remembered
AT_ONCE = 2**24  # entries of the outcomes that are drawn together
DRAWS, FEWEST = 10_000, 1_000
LEVEL = 0.95  # of an interval
BLOCK, ALL = 2**22, 2**28  # entries of a block of draws; of all draws, before there are fewer than DRAWS
_AFTER = ", "  # between a figure and what the model was given: "H, 5 shots"

Draws: TypeAlias = NDArray[np.float32]  # (draws,) a figure in each draw, as a fraction
_Case: TypeAlias = tuple[ClassRows, tuple[tuple[str, Answers], ...]]  # all that the draws of a record follow from
_FOUND: OrderedDict[_Case, Mapping[str, Draws]] = OrderedDict()


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, and how far it can be trusted.

    `low` and `high` are the ends of its 95 % bootstrap interval, None without answers of rows. `deviation` is the
    standard deviation over seeds, None where there is one seed or nothing random. `best`: no other figure of its
    dataset is clearly better. Shown with that many `digits` after the point; a `mark` points to a note.
    """

    mean: float
    deviation: float | None = None
    best: bool = False
    mark: str = ""
    digits: int = 1
    low: float | None = None
    high: float | None = None


def mean_over_seeds(values: Sequence[float], digits: int = 1) -> Figure:
    return Figure(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None, digits=digits)


@dataclass(frozen=True)
class Difference:
    """Of two methods, in points, with the ends of its 95 % interval; `decided` if that excludes 0. `p` is its two-sided
    p-value: how often a difference would be as far from 0 by chance."""

    mean: float
    low: float
    high: float
    p: float = 1.0

    @property
    def decided(self) -> bool:
        return self.low > ROUNDING or self.high < -ROUNDING


@dataclass(frozen=True)
class Leaders:
    """Who is first in a column, and who is `best`: the first and all whose paired interval with it includes 0; nobody
    where that is all, or fewer than two have the figure, or any are `unknown`, without answers of rows."""

    first: str | None = None
    best: frozenset[str] = frozenset()
    rivals: int = 0
    unknown: tuple[str, ...] = ()


def figures(records: Sequence[Record]) -> dict[str, Figure]:
    """The figures of all seeds of a method, in per cent, by column; those that every seed has."""
    found = {}
    readers: dict[str, Read] = {**FIGURES, **evidence_columns(records)}
    for column, read in readers.items():
        mine = _counted_records(records, column, read)
        if mine:
            figure = mean_over_seeds([100 * value for _, value in mine])
            draws = mean_draws([record for record, _ in mine], column)
            low, high = (None, None) if draws is None else bootstrap_interval(100 * draws)
            results = (evidence_results(record).get(column) for record in records)
            declined = any(result.declined for result in results if result is not None)
            found[column] = replace(figure, low=low, high=high, mark=DECLINED if declined else "")
    return found


def difference(ours: Sequence[Record], theirs: Sequence[Record], column: str) -> Difference | None:
    """Ours minus theirs, paired; None where a column or the answers are missing on one side."""
    _check_same_data([*ours, *theirs])
    read = {**FIGURES, **evidence_columns([*ours, *theirs])}.get(column)
    if read is None:
        return None
    mine, yours = _counted_records(ours, column, read), _counted_records(theirs, column, read)
    one, other = (mean_draws([record for record, _ in found], column) for found in (mine, yours))
    if one is None or other is None:
        return None
    mean = np.mean([value for _, value in mine]) - np.mean([value for _, value in yours])
    apart = 100 * (one - other)
    return Difference(100 * float(mean), *bootstrap_interval(apart), two_sided_p(apart))


def leaders(groups: Mapping[str, Sequence[Record]], column: str, most: bool = True) -> Leaders:
    """Who is best among methods by name; `most`: the largest figure is the best."""
    readers = {**FIGURES, **evidence_columns([record for group in groups.values() for record in group])}
    read = readers.get(column)
    found = {} if read is None else {name: _counted_records(group, column, read) for name, group in groups.items()}
    means = {name: float(np.mean([value for _, value in mine])) for name, mine in found.items() if mine}
    if len(means) < 2:
        return Leaders(next(iter(means), None), rivals=len(means))
    first = (max if most else min)(means, key=lambda name: means[name])
    apart = {name: difference(groups[first], groups[name], column) for name in means}
    unknown = tuple(name for name in means if mean_draws([record for record, _ in found[name]], column) is None)
    if unknown:
        return Leaders(first, rivals=len(means), unknown=unknown)
    best = frozenset(name for name, one in apart.items() if one is not None and not one.decided)
    return Leaders(first, best if len(best) < len(means) else frozenset(), len(means))


def few_classes_note(records: Iterable[Record]) -> str:
    """A sentence where figures with intervals are of few unseen classes; otherwise empty."""
    known = {record.class_rows for record in records if record.class_rows is not None}
    least = min((len(unpack_answers(rows.unseen)) for rows in known), default=FEW)
    if least >= FEW:
        return ""
    unseen = count_noun(least, "unseen class")
    return f"of {unseen} a 95 % interval is too narrow, so that differences look clear too often"


def is_random(method: str, column: str = "") -> bool:
    """Whether another seed gives another figure: of a random method, or after examples that the seed drew."""
    known = methods.METHODS.get(method)
    return known is None or known.random or "shot" in column.partition(_AFTER)[2]


def _counted_records(records: Sequence[Record], column: str, read: Read) -> list[tuple[Record, float]]:
    """For each seed the last record that has the figure, and the figure; nothing if a seed has none."""
    have = [(record, value) for record in records if (value := read(record)) is not None]
    found = {one[0].seed: one for one in have}
    if found.keys() != {record.seed for record in records}:
        return []
    if is_random(records[0].method, column):
        return list(found.values())
    # Seeds are one run many times over: the last record counts, of those that keep answers.
    return sorted(have, key=lambda one: one[0].class_rows is not None)[-1:]


def _check_same_data(records: Sequence[Record]) -> None:
    first = records[0]
    for other in records[1:]:
        if (other.dataset, other.fingerprint) != (first.dataset, first.fingerprint):
            raise ValueError(
                f"{first.method} on {first.dataset} and {other.method} on {other.dataset} are of different data "
                f"(fingerprints {first.fingerprint[:8]!r} and {other.fingerprint[:8]!r}): expected the same classes "
                "and rows, since a difference is taken row by row; compare records of one dataset"
            )


# Columns of models that were given examples or unlabelled rows


def evidence_results(record: Record) -> dict[str, ZeroShot | Generalised]:
    """Column → result, of all that the model of a record was given."""
    given: dict[str, tuple[ZeroShot | Generalised | None, ...]] = {}
    for one in record.taught or ():
        given[count_noun(one.shots, "shot")] = one.zsl, one.gzsl, one.gzsl_calibrated
    for other in record.adapted or ():
        given[f"unlabelled {other.unlabelled}"] = other.zsl, other.gzsl, other.gzsl_calibrated
    named = {words: zip(EVIDENCE_FIGURES, results, strict=True) for words, results in given.items()}
    return {name + _AFTER + words: one for words, pairs in named.items() for name, one in pairs if one is not None}


def evidence_columns(records: Sequence[Record]) -> dict[str, Read]:
    """Column → a fraction of a record, in order, for all that some record was given."""
    shots = sorted({one.shots for record in records for one in record.taught or ()})
    order = [*(count_noun(number, "shot") for number in shots), *(f"unlabelled {rows}" for rows in UNLABELLED)]
    there = {column for record in records for column in evidence_results(record)}
    columns = [name + _AFTER + words for words in order for name in EVIDENCE_FIGURES]
    return {column: partial(_read_column, column) for column in columns if column in there}


def _read_column(column: str, record: Record) -> float | None:
    result = evidence_results(record).get(column)
    if result is None:
        return None
    return result.accuracy if isinstance(result, ZeroShot) else result.harmonic


def split_column(column: str) -> tuple[str, str]:
    """The figure of a column and what was given before it, in a person's words.

    >>> split_column("H, 5 shots")
    ('H', '5 examples of each class')
    """
    name, _, words = column.partition(_AFTER)
    first, last = words.split()
    if first == "unlabelled":
        return name, f"unlabelled rows of {last} classes"
    return name, f"{first} example{'' if first == '1' else 's'} of each class"


def is_evidence_column(column: str) -> bool:
    return _AFTER in column


def evidence_notes(groups: Iterable[Sequence[Record]]) -> list[str]:
    """Sentences about models that did not adapt, and about columns that not every seed of a row has."""
    found: dict[str, None] = {}
    for group in groups:
        reasons: dict[str, None] = {}
        who, seeds = f"{group[0].dataset}, {group[0].method}", {record.seed for record in group}
        for column in evidence_columns(group):
            have = [record for record in group if column in evidence_results(record)]
            for record in have:
                why = evidence_results(record)[column].declined
                if why:
                    why = why.partition(": expected")[0]  # the rest is advice to one who adapts by hand
                    reasons[why.removeprefix("validation classes promise ") if reasons else why] = None
            number = len({record.seed for record in have})
            if number < len(seeds):
                found[f"{who}: {column!r} is left out, since {number} of {len(seeds)} seeds have it"] = None
        if reasons:
            found[f"{DECLINED} {who}: the model did not adapt and was scored as it was; {'; '.join(reasons)}"] = None
    return list(found)


# Figures in every draw of classes and rows


def prepare_draws(records: Iterable[Record]) -> None:
    """Compute the draws of many records together, which is quicker than one by one, and remember them."""
    groups: dict[ClassRows, dict[_Case, None]] = {}
    wanted = dict.fromkeys(case for record in records if (case := _record_case(record)) is not None)
    for case in wanted:
        if case in _FOUND:
            # What was asked for last is forgotten last.
            _FOUND.move_to_end(case)
        else:
            groups.setdefault(case[0], {})[case] = None
    for rows, cases in groups.items():
        sizes = {side: unpack_answers(getattr(rows, side)) for side in SIDES}
        most = max(int(size.sum()) for size in sizes.values())
        step = max(1, AT_ONCE // (most * (LEVELS + 3)))
        waiting = list(cases)
        for start in range(0, len(waiting), step):
            _FOUND.update(_draw_cases(waiting[start : start + step], sizes, default_draws(most)))
    # Only after new draws: otherwise a comparison of more than KEPT would forget what it prepared, and draw it again.
    if groups:
        while len(_FOUND) > max(KEPT, len(wanted)):
            _FOUND.popitem(last=False)


def mean_draws(records: Sequence[Record], column: str) -> NDArray[np.float64] | None:
    """The mean over the seeds of each draw; None where a record has no answers, or nothing is given."""
    prepare_draws(records)
    cases = [_record_case(record) for record in records]
    found = [_FOUND[case].get(column) for case in cases if case is not None]
    if not found or len(found) < len(records) or any(one is None for one in found):
        return None
    draws = np.stack([one for one in found if one is not None], axis=1).astype(np.float64)  # (draws, seeds)
    return np.einsum("bs,bs->b", seed_counts(*draws.shape), draws) / draws.shape[1]


def _record_case(record: Record) -> _Case | None:
    if record.class_rows is None:
        return None
    parts: dict[str, ZeroShot | Generalised] = {"zero-shot": record.zsl, "H": record.plain_gzsl}
    if record.gzsl_own is not None:
        parts[OTHER_H] = record.gzsl
    if record.gzsl_calibrated is not None:
        parts["calibrated H"] = record.gzsl_calibrated
    parts |= evidence_results(record)
    have = ((name, part.answers) for name, part in parts.items())
    return record.class_rows, tuple((name, answers) for name, answers in have if answers is not None)


def _draw_cases(
    cases: Sequence[_Case], sizes: Mapping[str, NDArray[np.int64]], draws: int
) -> Iterable[tuple[_Case, Mapping[str, Draws]]]:
    means: dict[tuple[_Case, str, str], NDArray[np.float32]] = {}
    levels: dict[tuple[_Case, str], NDArray[np.float32]] = {}
    for seed, side in enumerate(SIDES):
        right = {
            (case, column, side): _right_rows(answers, side, sizes[side])
            for case in cases
            for column, answers in case[1]
            if side == "unseen" or answers.seen is not None
        }
        if not right:  # such as seen classes without test rows
            continue
        # Seen, unseen and area are those of the plain model.
        packed = {
            (case, side): getattr(answers, f"{side}_levels")
            for case in cases
            for column, answers in case[1]
            if column == "H" and answers.unseen_levels is not None
        }
        marks = _mark_levels(list(packed.values()), int(sizes[side].sum()))
        found = draw_means(np.stack(list(right.values()), axis=1), sizes[side], seed=seed, draws=draws, marks=marks)
        means |= dict(zip(right, found.T, strict=False))
        ends = range(len(right), found.shape[1], LEVELS)
        levels |= {place: found[:, start : start + LEVELS] for place, start in zip(packed, ends, strict=True)}
    for case in cases:
        columns: dict[str, NDArray[np.float64]] = {}
        for column, answers in case[1]:
            unseen = means[case, column, "unseen"].astype(np.float64)
            if answers.seen is None:
                columns[column] = unseen
                continue
            seen = means[case, column, "seen"].astype(np.float64)
            columns[column] = harmonic_means(seen, unseen)
            if column == "H":
                columns |= {"seen": seen, "unseen": unseen}
                if answers.unseen_levels is not None:
                    columns["area"] = area_from_levels(levels[case, "seen"], levels[case, "unseen"])
        yield case, {column: values.astype(np.float32) for column, values in columns.items()}


def _right_rows(answers: Answers, side: str, sizes: NDArray[np.int64]) -> NDArray[np.float32]:
    """(n,) whether each row is right."""
    rows = int(sizes.sum())
    right = (unpack_answers(getattr(answers, side), rows) == 0).astype(np.float32)
    if side == "unseen" and answers.examples is not None:
        # A row that was an example counts as its class does on average, so that it moves nothing.
        scored = unpack_answers(answers.examples, rows) == 0
        of_class = np.repeat(np.arange(len(sizes)), sizes)
        mean = np.bincount(of_class, right * scored) / np.maximum(1, np.bincount(of_class, scored))
        right = np.where(scored, right, mean[of_class]).astype(np.float32)
    return np.asarray(right, np.float32)


def _mark_levels(packed: Sequence[str], rows: int) -> Any:
    """(LEVELS of each, n) 1 at the level of a row, as a sparse matrix: it has one level or, where it is wrong, none."""
    from scipy.sparse import csr_array  # only here: this module is imported for its names too

    levels = np.array([unpack_answers(one, rows) for one in packed], np.int64).reshape(len(packed), rows)
    which, row = np.nonzero((levels > 0) & (levels <= LEVELS))
    line = LEVELS * which + levels[which, row] - 1
    return csr_array((np.ones(len(line), np.float32), (line, row)), shape=(LEVELS * len(packed), rows))


# The bootstrap. A draw takes as many classes as there are, with replacement, and as many rows of each class drawn as it
# has, again with replacement. A class drawn twice gets its rows twice, each time others. So classes are the sample, and
# rows within them. The draws follow from the sizes of the classes and a seed alone: all figures of the same rows have
# the same draws, and their differences are paired.


def draw_means(
    outcomes: ArrayLike, sizes: ArrayLike, *, seed: int = 0, draws: int | None = None, marks: Any = None
) -> NDArray[np.float32]:
    """(draws, k) means of outcomes (n, k), which lie class by class, over the rows and then the classes of each draw.
    `sizes` (C,) are the rows of each class, at least 1; `default_draws` says how many draws there are. `marks` are more
    outcomes, which are 0 in most rows: a sparse matrix (m, n), whose means follow the others as (draws, k + m)."""
    rows = np.asarray(sizes, dtype=np.int64)
    values = np.asarray(outcomes, dtype=np.float32)
    if values.ndim != 2 or rows.ndim != 1 or not len(rows) or rows.min() < 1 or rows.sum() != len(values):
        raise ValueError(
            f"outcomes have shape {values.shape} for classes of {rows.sum()} rows: expected a row of numbers for each, "
            "and at least one row of each class"
        )
    weights = 1 / np.repeat(rows * len(rows), rows).astype(np.float32)
    shared = values * weights[:, None]
    number = default_draws(len(values)) if draws is None else draws
    more = 0 if marks is None else marks.shape[0]
    found = np.empty((number, values.shape[1] + more), np.float32)
    done = 0
    for block in draw_counts(rows, seed, number):
        here = found[done : done + len(block)]
        here[:, : values.shape[1]] = block @ shared
        if more:
            here[:, values.shape[1] :] = (marks @ np.ascontiguousarray((block * weights).T)).T
        done += len(block)
    return found


def default_draws(rows: int) -> int:
    return min(DRAWS, max(FEWEST, ALL // rows))


def draw_counts(sizes: NDArray[np.int64], seed: int, draws: int) -> Iterator[NDArray[np.float32]]:
    """How often each draw takes each row (b, n), in blocks of draws."""
    step = max(1, BLOCK // int(sizes.sum()))
    for number, first in enumerate(range(0, draws, step)):
        yield _draw_bootstrap_block(sizes, min(step, draws - first), make_generator(seed, number))


def _draw_bootstrap_block(sizes: NDArray[np.int64], draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    classes = len(sizes)
    drawn = rng.integers(classes, size=(draws, classes)) + classes * np.arange(draws)[:, None]
    times = np.bincount(drawn.ravel(), minlength=draws * classes).reshape(draws, classes)  # each class in each draw
    found = np.empty((draws, int(sizes.sum())), np.float32)
    last = np.cumsum(sizes)
    for c, size in enumerate(sizes.tolist()):
        begins = np.repeat(np.arange(draws, dtype=np.int64) * size, times[:, c] * size)  # of the draw of each row taken
        begins += rng.integers(size, size=len(begins), dtype=np.int32)
        mine = np.bincount(begins, minlength=draws * size).reshape(draws, size)
        found[:, last[c] - size : last[c]] = mine
    return found


@cache
def seed_counts(draws: int, seeds: int) -> NDArray[np.int64]:
    """How often each draw takes each of the seeds (draws, seeds): as many as there are, with replacement."""
    drawn = make_generator(len(SIDES), seeds).integers(seeds, size=(draws, seeds))
    return (drawn[:, :, None] == np.arange(seeds)).sum(axis=1)


def two_sided_p(figures: ArrayLike) -> float:
    """Twice the share of draws at 0 or beyond it, on the side with fewer; never 0, since draws are a sample."""
    values = np.asarray(figures, np.float64)
    beyond = min(int((values <= ROUNDING).sum()), int((values >= -ROUNDING).sum()))
    return min(1.0, 2 * (1 + beyond) / (1 + len(values)))


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: p-values that may be held against 0.05 although there are so many of them."""
    found = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda one: p_values[one])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        found[place] = largest
    return found


def bootstrap_interval(figures: ArrayLike) -> tuple[float, float]:
    """Both ends of the interval that holds the middle 95 % of the draws of a figure."""
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(np.asarray(figures, np.float64), [tail, 100 - tail])
    return round(float(low), 9), round(float(high), 9)


def area_from_levels(seen: ArrayLike, unseen: ArrayLike) -> Floats:
    """The area by trapezoids, where (..., m) leaves the seen accuracy and joins the unseen one at m rising levels."""
    lost, gained = np.asarray(seen, np.float64), np.asarray(unseen, np.float64)
    after = lost.sum(axis=-1, keepdims=True) - np.cumsum(lost, axis=-1)  # seen accuracy once a level has been passed
    return np.sum(gained * (after + lost / 2), axis=-1)
