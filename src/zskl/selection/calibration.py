"""What validation rows say about unlabelled rows: which settings help the held-out classes, and by how much.

Rows that come later may be few, may be of some classes more than of others, and of some not at all. So settings are
judged by the mean gain over three kinds of validation rows: as they are, uneven, and without half of the held-out
classes; and again with few rows of each class. More than a few rounds, and balance, bring more where everything is
even, and do harm where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from zskl import engines
from zskl._arrays import make_generator, runs_on_gpu
from zskl._display import ProgressBar
from zskl._validation import check_flag
from zskl.engines import Engine
from zskl.estimators._class_means_adapt import AdaptationSettings, Rows, Trial, ValidationBench
from zskl.estimators.base import ZeroShotClassifier
from zskl.metrics.seen_unseen import row_margins
from zskl.selection.class_folds import Fold, Material, check_seen, is_pipeline, last_step, prepare_material
from zskl.selection.grid_search import Examiner
from zskl.selection.method_search import transform_folds
from zskl.selection.search_results import Scored, best_constant, fit_calibration

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


# Unlabelled -----------------------------------------------------------------------------------------------------------

Figures = NDArray[np.float64]  # one per fold
ADAPTATION_WEIGHTS, KAPPAS, ROUNDS = (2.0, 5.0, 10.0, 25.0), (20.0, 40.0, 80.0), (3, 5)
FEW = 5  # rows of a class
VALUES = 1 << 23  # features of validation rows that are tried together, at most
UNEVEN = 3.0  # the rarest class keeps exp(−3) of its rows
FRONT = 3  # settings that are tried further
INDUCTIVE = 2.0  # n₀ of held-out classes without rows: any number above 0 is the same
_KINDS = 8  # stream of the seed


def try_unseen_rows(benches: Sequence[ValidationBench]) -> list[dict[str, Any]]:
    """Rows of the held-out classes alone, for few rows of a class and for all there are."""
    found = []
    for few in _row_densities(benches):
        thin = [thin_rows(bench, few) for bench in benches]
        found.append({"per_class": _per_class(thin, new=True), **_best_zero_shot(thin)})
    return found


def try_all_rows(benches: Sequence[ValidationBench]) -> list[dict[str, Any]]:
    """Rows of all classes together, for few rows of a class and for all there are."""
    found = []
    for few in _row_densities(benches):
        thin = [thin_rows(bench, few) for bench in benches]
        found.append({"per_class": _per_class(thin, new=False), **_best_generalised(thin)})
    return found


def shrinkage_values(benches: Sequence[ValidationBench]) -> tuple[float, ...]:
    """The model's own, and less: rows say more in a space that is whitened more."""
    own = benches[0].shrinkage
    plain = float(np.ptp(benches[0].eigenvalues)) == 0.0
    return (own,) if plain else (own, own / 2, own / 4)


def _best_zero_shot(benches: Sequence[ValidationBench]) -> dict[str, Any]:
    """The settings with the best mean gain in zero-shot accuracy over the kinds of rows."""
    parts = [bench.held_out() for bench in benches]
    kinds = [_row_kinds(part, fold) for fold, part in enumerate(parts)]
    before = [{name: _accuracy_with(kind, INDUCTIVE, kind.crowding) for name, kind in fold.items()} for fold in kinds]

    @cache
    def gains(how: AdaptationSettings, names: tuple[str, ...]) -> Figures:
        pairs = zip(kinds, before, strict=True)
        return np.array(
            [np.mean([_accuracy_after(fold[name], how) - old[name] for name in names]) for fold, old in pairs]
        )

    options = [
        AdaptationSettings(weight=weight, kappa=kappa, rounds=min(ROUNDS))
        for weight, kappa in product(ADAPTATION_WEIGHTS, KAPPAS)
    ]
    front = _try_front(options, shrinkage_values(parts), lambda how: gains(how, ("even",)))
    how, found = _best_option(
        [replace(one, rounds=rounds) for one in front for rounds in ROUNDS], lambda how: gains(how, tuple(kinds[0]))
    )
    scored = []
    for bench, part in zip(benches, parts, strict=True):
        turned, sums = bench.at(_shrinkage_of(how, bench)), np.zeros((len(bench.seen), bench.x.shape[1]), np.float32)
        sums[bench.new] = part.at(_shrinkage_of(how, part)).adapted(how).sums
        scored.append((turned.scores(how.weight, how.crowding, sums), bench.own, bench.seen))
    return {**asdict(how), **_summarise_gains(found), **fit_calibration(scored, rough=True)}


def _best_generalised(benches: Sequence[ValidationBench]) -> dict[str, Any]:
    """The settings with the best harmonic mean. While rows are shared out, seen classes are calibrated."""
    plain = [(bench.scores(INDUCTIVE, bench.crowding), bench.own, bench.seen) for bench in benches]
    constant, before = best_constant([row_margins(*one) for one in plain])
    options = [
        AdaptationSettings(
            weight=weight,
            kappa=kappa,
            balance=balance,
            rounds=min(ROUNDS),
            shift=constant,
            crowding=benches[0].crowding,
        )
        for weight, kappa, balance in product(ADAPTATION_WEIGHTS[:3], KAPPAS[1:], (0.0, 0.5))
    ]

    def scored(how: AdaptationSettings) -> list[Scored]:
        turned = [bench.at(_shrinkage_of(how, bench)) for bench in benches]
        return [(b.scores(how.weight, how.crowding, b.adapted(how).sums), b.own, b.seen) for b in turned]

    @cache
    def gains(how: AdaptationSettings) -> Figures:
        return best_constant([row_margins(*one) for one in scored(how)])[1] - before

    how, found = _best_option(_try_front(options, shrinkage_values(benches), gains), gains)
    return {**asdict(how), **_summarise_gains(found), **fit_calibration(scored(how), rough=True)}


def _accuracy_with(
    part: ValidationBench, weight: float, crowding: float, added: NDArray[np.float32] | None = None
) -> float:
    return part.accuracy(part.scores(weight, crowding, added), np.arange(len(part.own)))


def _accuracy_after(part: ValidationBench, how: AdaptationSettings) -> float:
    """Accuracy of these rows after adapting to them."""
    turned = part.at(_shrinkage_of(how, part))
    return _accuracy_with(turned, how.weight, how.crowding, turned.adapted(how).sums)


def _row_kinds(part: ValidationBench, fold: int) -> dict[str, ValidationBench]:
    """Rows of a fold's held-out classes: as they are, unevenly many of each class, and of half of the classes."""
    draw, c = make_generator(0, _KINDS, fold), len(part.seen)
    rank = draw.permutation(c)
    uneven = draw.random(len(part.own)) < np.exp(-UNEVEN * rank / c)[part.own]
    half = (rank < c / 2)[part.own]
    found = {"even": part}
    found |= {
        name: part.some(np.flatnonzero(rows)) for name, rows in (("uneven", uneven), ("half", half)) if rows.any()
    }
    return found


def _row_densities(benches: Sequence[ValidationBench]) -> tuple[int, ...]:
    """How many rows of a class to try at most."""
    most = min(int(np.bincount(bench.own).max()) for bench in benches)
    many = min(_rows_within(bench) for bench in benches)
    return (FEW, many) if min(most, many) > 2 * FEW else (many,)


def _rows_within(bench: ValidationBench) -> int:
    """Rows of each class, so that together they do not hold too many values."""
    counts = np.sort(np.bincount(bench.own, minlength=len(bench.seen)))
    rows = VALUES // bench.x.shape[1]
    return max([few for few in (*counts.tolist(), 1) if np.minimum(counts, few).sum() <= rows], default=1)


def thin_rows(bench: ValidationBench, few: int) -> ValidationBench:
    """At most so many rows of each class."""
    if np.bincount(bench.own).max() <= few:
        return bench
    order = make_generator(0, _KINDS, few).permutation(len(bench.own))
    rank = np.empty(len(order), dtype=np.int64)
    for column in range(len(bench.seen)):
        mine = order[bench.own[order] == column]
        rank[mine] = np.arange(len(mine))
    return bench.some(np.flatnonzero(rank < few))


def _per_class(benches: Sequence[ValidationBench], new: bool) -> float:
    """Rows for each candidate, on average."""
    pairs = [(len(b.new_rows), len(b.new)) if new else (len(b.own), len(b.seen)) for b in benches]
    return float(np.mean([rows / classes for rows, classes in pairs]))


def _shrinkage_of(how: AdaptationSettings, bench: ValidationBench) -> float:
    return bench.shrinkage if how.shrinkage is None else how.shrinkage


def _try_front(
    options: Sequence[AdaptationSettings], shrinkages: Sequence[float], gains: Callable[[AdaptationSettings], Figures]
) -> list[AdaptationSettings]:
    """The options that are best at the middle shrinkage, tried at the others too: the best of these."""
    middle, *others = sorted(shrinkages, key=lambda one: abs(one - shrinkages[len(shrinkages) // 2]))
    tried = _sort_options([replace(one, shrinkage=middle) for one in options], gains)[:FRONT]
    return _sort_options([*tried, *(replace(one, shrinkage=other) for one in tried for other in others)], gains)[:FRONT]


def _sort_options(
    options: Sequence[AdaptationSettings], gains: Callable[[AdaptationSettings], Figures]
) -> list[AdaptationSettings]:
    """Best first."""
    means = np.array([gains(option).mean() for option in options])
    return [options[place] for place in np.argsort(-means, kind="stable")]


def _best_option(
    options: Sequence[AdaptationSettings], gains: Callable[[AdaptationSettings], Figures]
) -> tuple[AdaptationSettings, Figures]:
    found = [gains(option) for option in options]
    place = int(np.argmax([one.mean() for one in found]))
    return options[place], found[place]


def _summarise_gains(gains: Figures) -> dict[str, float]:
    spread = float(gains.std(ddof=1)) if len(gains) > 1 else 0.0
    return {"gain": float(gains.mean()), "spread": spread, "least": float(gains.min())}


# Practice -------------------------------------------------------------------------------------------------------------
# What validation classes say about learning from examples and from unlabelled rows.
#
# Held-out classes play the unseen ones. Examples are drawn from their rows and then never scored.

SHOTS, MIDDLE = (1, 2, 5, 10), 5
DRAWS = 2
ENOUGH = 60  # rows of a class to judge examples by
EXAMPLE_WEIGHTS = (1.0, 2.0, 4.0, 8.0)  # n₀
WRONG = (0.0, 0.2, 0.35, 0.5)  # what the mean of rows marked as wrong counts against a class
SHOWN = 2  # rows of other classes that are marked as wrong for each class
_EXAMPLES = 7  # stream of the seed


def validate_teaching(benches: Sequence[ValidationBench]) -> dict[str, Any]:
    """Everything that a model stores as `practice_`, from the validation rows of each fold."""
    some = [thin_rows(bench, ENOUGH) for bench in benches]
    tried = shrinkage_values(some)
    first = _try_examples(some, MIDDLE, tried)
    shrinkage = tried if first is None else (float(first["shrinkage"]),)  # one serves all numbers of examples
    others = {k: first if k == MIDDLE else _try_examples(some, k, shrinkage) for k in SHOTS}
    examples = {str(k): found for k, found in others.items() if found is not None}
    return {
        "examples": examples,
        "wrong_weight": _choose_wrong_weight(some, examples),
        "unlabelled": {"unseen": try_unseen_rows(benches), "all": try_all_rows(benches)},
    }


def _try_examples(benches: Sequence[ValidationBench], k: int, tried: Sequence[float]) -> dict[str, Any] | None:
    """n₀, shrinkage and crowding for k examples of each held-out class, with the constant and temperatures for them."""
    parts = [bench.held_out() for bench in benches]
    drawn = [[draw_examples(bench, k, draw) for draw in range(DRAWS)] for bench in parts]
    if any(rows is None for fold in drawn for rows in fold):
        return None
    options: dict[tuple[float, float, float], list[float]] = {}
    for shrinkage, (bench, fold) in product(tried, list(zip(parts, drawn, strict=True))):
        turned = bench.at(shrinkage)
        for rows in fold:
            assert rows is not None
            left = np.setdiff1d(np.arange(len(bench.own)), rows)
            trial = Trial(turned, sum_example_rows(turned, rows), left)
            for weight, crowding in product(EXAMPLE_WEIGHTS, _crowding_values(bench)):
                scores = trial.scores(weight, crowding, firm=True)
                options.setdefault((shrinkage, weight, crowding), []).append(turned.accuracy(scores, left))
    best = max(options, key=lambda option: float(np.mean(options[option])))
    shrinkage, weight, crowding = best
    scored = []
    for bench, fold in zip(benches, drawn, strict=True):
        turned, given = bench.at(shrinkage), bench.new_rows[fold[0]]
        rows = np.setdiff1d(np.arange(len(bench.own)), given)
        scores = Trial(turned, sum_example_rows(turned, given), rows).scores(weight, crowding, firm=True)
        scored.append((scores, bench.own[rows], bench.seen))
    figures = {"zsl": float(np.mean(options[best])), **fit_calibration(scored, rough=True)}
    return {"weight": weight, "shrinkage": shrinkage, "crowding": crowding, **figures}


def draw_examples(bench: ValidationBench, k: int, draw: int) -> NDArray[np.int64] | None:
    """k rows of each held-out class that has more; None if fewer than half of the classes do."""
    rows = []
    for column in bench.new:
        mine = np.flatnonzero(bench.own == column)
        if len(mine) > k:
            rows.append(make_generator(draw, _EXAMPLES, k, int(column)).permutation(mine)[:k])
    return np.sort(np.concatenate(rows)) if len(rows) >= max(2, len(bench.new) / 2) else None


def sum_example_rows(bench: ValidationBench, rows: NDArray[np.int64]) -> Rows:
    """(c, d) the sums of these rows by their classes."""
    member = np.zeros((len(bench.seen), len(rows)), np.float32)
    member[bench.own[rows], np.arange(len(rows))] = 1
    return member @ bench.x[rows]


def _crowding_values(bench: ValidationBench) -> tuple[float, ...]:
    """The model's own, and less: rows make up for a crowded place."""
    return (bench.crowding, 0.5 * bench.crowding, 0.0) if bench.crowding else (0.0,)


def _choose_wrong_weight(benches: Sequence[ValidationBench], examples: dict[str, Any]) -> float:
    """What wrong rows count against a class: tried on the rows of other classes that score highest for each class."""
    weight = examples["1"]["weight"] if "1" in examples else 2.0
    accuracies: dict[float, list[float]] = {against: [] for against in WRONG}
    for bench in benches:
        scores = Trial(bench, None, bench.new_rows).scores(weight, bench.crowding)
        shown, columns = [], []
        for column in bench.new:
            others = np.flatnonzero(bench.own[bench.new_rows] != column)
            best = others[np.argsort(-scores[others, column], kind="stable")[:SHOWN]]
            shown.append(bench.new_rows[best])
            columns.append(np.full(len(best), column))
        rows, marked = np.concatenate(shown), np.concatenate(columns)
        left = np.setdiff1d(bench.new_rows, rows)
        if not len(left):
            continue
        member = np.zeros((len(bench.seen), len(rows)), np.float32)
        member[marked, np.arange(len(rows))] = 1
        sums = (member @ bench.x[rows]) / np.maximum(member.sum(axis=1, keepdims=True), 1)
        for against, found in accuracies.items():
            scores = Trial(bench, -np.float32(against) * sums, left).scores(weight, bench.crowding)
            found.append(bench.accuracy(scores, left))
    if not accuracies[0.0]:
        return 0.0
    return float(max(WRONG, key=lambda against: float(np.mean(accuracies[against]))))


# Calibration ----------------------------------------------------------------------------------------------------------
# The constant and the temperatures of a fitted model, and what it learns from examples and unlabelled rows.

Model = TypeVar("Model", ZeroShotClassifier, "Pipeline")


def calibrate(
    model: Model,
    X: Any,
    y: Any,
    signatures: Any,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | str | None = None,
    constant: float | None = None,
    progress: bool = False,
) -> Model:
    """Set `calibration_` and `temperatures_` of a fitted model, from clones of it fitted on folds.

    A model that learns from examples and unlabelled rows also gets its `practice_`: what the folds say about both.

    Temperatures are fitted to the validation rows of the folds: held-out classes among themselves ("unseen"), trained
    classes among themselves ("seen"), and all classes, with the constant subtracted ("mixed").

    Parameters
    ----------
    model : ZeroShotClassifier or Pipeline
        The fitted model, or a pipeline that ends in one. It gets the constant and the temperatures.
    X : array-like of shape (n, d)
        The training rows of the model.
    y : array-like of shape (n,)
        Their classes.
    signatures : DataFrame, mapping or array-like
        The signatures, as for `fit`.
    folds : list of Fold, Dataset, int or None, default=None
        See `selection.folds`. A number or None (three) makes seeded folds.
    engine : Engine, str or None, default=None
        Where the fits happen. "auto" takes all cores on the CPU, and this process on a GPU. None is this process.
    constant : float, default=None
        The calibration constant. None chooses the one with the highest mean harmonic mean over the folds.
    progress : bool, default=False
        Show a bar of the fits on folds, in a terminal or a notebook.

    Returns
    -------
    ZeroShotClassifier or Pipeline
        The same model.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> model = baselines.ESZSL().fit(X, y, data.signatures)
    >>> sorted(selection.calibrate(model, X, y, data.signatures).temperatures_)
    ['mixed', 'seen', 'unseen']
    """
    check_flag("progress", progress)
    ranker = last_step(model)
    check_is_fitted(ranker)
    shared = prepare_material(clone(model), X, y, signatures, folds)
    if constant is None:
        check_seen(shared.folds)
    if is_pipeline(model):
        shared = transform_folds(shared)
    runner = choose_engine(engine, ranker, X)
    tasks = range(len(shared.folds))
    bar, judged = ProgressBar("calibration") if progress else None, {}
    try:
        for place, part in engines.each(_judge_fold, tasks, shared, runner):
            judged[place] = part
            if bar is not None:
                bar(len(judged), len(tasks))
    finally:
        if bar is not None:
            bar.close()
    parts = [judged[place] for place in tasks]
    found = fit_calibration([part.scored for part in parts], constant)
    ranker.calibration_, ranker.temperatures_ = found["calibration"], found["temperatures"]
    benches = [part.bench for part in parts if part.bench is not None]
    if benches:
        ranker._store_few_shot(validate_teaching(benches))
    ranker._accept_calibration()
    return model


@dataclass(frozen=True)
class Judged:
    """What the clone that was fitted on a fold says about its validation rows."""

    scored: Scored
    bench: ValidationBench | None  # where the method learns from examples and unlabelled rows too


def _judge_fold(shared: Material, fold: int) -> Judged:
    """Scores (n, c) of a fold's validation rows by the estimator fitted on its training rows."""
    rows = shared.folds[fold].train
    model = clone(shared.estimator).fit(shared.training(fold), shared.y[rows], shared.table)
    examiner = Examiner(shared, fold)
    scores = examiner.scores(model)
    return Judged((scores, examiner.own, examiner.is_seen), examiner.bench(model))


def choose_engine(engine: Engine | str | None, estimator: ZeroShotClassifier, X: Any) -> Engine | None:
    """Where runs happen: "auto" is all cores for the CPU and this process for a GPU."""
    if isinstance(engine, str):
        if engine != "auto":
            return Engine(engine)
        return None if runs_on_gpu(X, getattr(estimator, "device", None)) else Engine()
    return engine
