"""The calibration of a fitted model on validation rows: its constant, its temperatures, and its few-shot settings."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from zskl import engines
from zskl._arrays import make_generator, to_numpy
from zskl._display import ProgressBar
from zskl._validation import check_flag
from zskl.decisions import fit_decisions, take_parents
from zskl.engines import Engine
from zskl.estimators._blocks import scale_to_unit_length
from zskl.estimators._candidates import calibrate_scores
from zskl.estimators._class_means_adapt import (
    SHARPER,
    AdaptationSettings,
    FewShotTrial,
    Rows,
    RowsAtHand,
    TaughtScores,
    logits_of_rows,
    match_constant,
    score_gaps,
    sum_by_class,
)
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.metrics import best_constant, harmonic_mean, row_margins
from zskl.selection.class_folds import (
    Fold,
    FoldData,
    check_seen,
    find_shared_validation,
    last_step,
    prepare_fold_data,
    transform_folds,
)
from zskl.selection.draw_search import score_draws
from zskl.selection.grid_search import FoldScorer, choose_engine

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

log = logging.getLogger(__name__)
Model = TypeVar("Model", ZeroShotClassifier, "Pipeline")
Answered = tuple[NDArray[Any], NDArray[np.int64]]  # scores (n, c) of rows, and the column of each row's class
Scored = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]  # scores (n, c), own columns (n,), seen ones (c,)
FLAT = 0.5  # in log T; a minimum this near to the end of the range lies beyond it
FEW_CANDIDATES = 5  # with fewer, a fold says little
FEW_ANSWERS = 10.0  # rows by one side that count as much as all others do to its temperature
RANGE = (1e-4, 1e4)  # of T, in units of the spread of the scores
Floats = NDArray[np.float64]

SHOTS, MIDDLE = (1, 2, 5, 10, 20), 5
DRAWS = 3
FACTORS = (1.0, 0.5, 2.0, 4.0, 8.0, 16.0, 32.0)  # of what a description is worth; 1 is what training classes say
ENOUGH = 60  # rows of a class to judge examples by
WRONG = (0.0, 0.2, 0.35, 0.5)  # what the mean of rows marked as wrong counts against a class
MARKED = 2  # rows of other classes that are marked as wrong for each class

# n₀, how far the shares of the classes count, a part of the model's shrinkage, the balance, and the say of neighbours.
# Where rows are plenty, they say more in a space that is whitened more. The first is the boldest, for rows of all
# classes in about equal numbers.
ADAPTATIONS = (
    *((3.0, 0.0, 0.3, 0.5, 0.0), (6.0, 0.0, 0.3, 0.0, 0.0), (15.0, 0.0, 0.3, 0.0, 0.0)),
    *((6.0, 0.0, 1.0, 0.0, 0.7), (6.0, 0.25, 0.3, 0.0, 0.7), (15.0, 0.25, 1.0, 0.0, 0.7)),
)
FEW_ROWS = 5  # of a class, to calibrate by
VALUES = 1 << 22  # features of the rows of one batch, at most
BATCH_KEPT_ROWS = 256  # are enough to say how crowded a place is
SIZES = (64, 1000, None)  # of the batches that are tried; None is all rows
PRESENCES = (0, 0.25, 0.5, 1.0)  # of the held-out classes; 0 is a few of them
FEW_CLASSES = 4
UNEVEN = 0.5  # of a Dirichlet distribution: the smaller, the less even
INDUCTIVE = 2.0  # n₀ of held-out classes without rows: any number above 0 is the same
_EXAMPLES, _KINDS = 7, 8  # streams of the seed


def calibrate(
    model: Model,
    X: Any,
    y: Any,
    signatures: Any,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | str | None = None,
    constant: float | None = None,
    progress: bool = False,
    few_shot: bool = True,
    hierarchy: Any = None,
    none_of_these: Any = None,
) -> Model:
    """Set `calibration_`, `temperatures_` and `decisions_` of a fitted model, from clones of it fitted on folds.

    A model that learns from examples and unlabelled rows also gets its `practice_`: what the folds say about both.

    Temperatures are fitted to the validation rows of the folds: held-out classes among themselves ("unseen"), trained
    classes among themselves ("seen"), and all classes, with the constant subtracted ("mixed"): also for the rows that
    a trained class answers ("mixed_seen") and for the others ("mixed_unseen"), because one side is often too sure.

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
        See `selection.folds`. A number or None (three) makes seeded folds. With None the constant and temperatures of
        class means come from `selection.draws`, where there are rows enough.
    engine : Engine, str or None, default=None
        Where the fits happen. "auto" takes all cores on the CPU, and this process on a GPU. None is this process.
    constant : float, default=None
        The calibration constant. None chooses the one with the highest mean harmonic mean over the folds.
    progress : bool, default=False
        Show a bar of the fits on folds, in a terminal or a notebook.
    few_shot : bool, default=True
        Whether to try examples and unlabelled rows too, which takes most of the time. Without it `practice_` stays as
        it is.
    hierarchy : DataFrame, mapping or list of str, default=None
        Parents of classes, for answers of a given risk: see `zskl.decisions.Hierarchy.read`. None takes those that the
        model was fitted with.
    none_of_these : array-like of shape (m, d), default=None
        Rows that you know to be of no class of the table. They decide how `predict(reject=...)` tells such rows; the
        threshold itself is that of validation rows. None lets half of the held-out classes play them.

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
    ['mixed', 'mixed_seen', 'mixed_unseen', 'seen', 'unseen']
    """
    check_flag("progress", progress)
    check_flag("few_shot", few_shot)
    ranker = last_step(model)
    check_is_fitted(ranker)
    if hierarchy is None and ranker.hierarchy_ is not None and isinstance(signatures, pd.DataFrame):
        attributes = set(ranker.attribute_names_ or ())
        above = [one for one in ranker.hierarchy_.levels if one not in attributes]
        signatures = signatures.drop(columns=above, errors="ignore")
    signatures, tree = take_parents(signatures, hierarchy)
    tree = tree or ranker.hierarchy_
    drawn: list[Scored] = []
    if folds is None and isinstance(model, ClassMeansClassifier):
        shared = prepare_fold_data(clone(model), X, y, signatures)
        drawn = score_draws(shared) if find_shared_validation(shared.folds) is not None else []
    shared = prepare_fold_data(clone(model), X, y, signatures, 3 if folds is None else folds)
    if constant is None:
        check_seen(shared.folds)
    shared, runner = transform_folds(shared), choose_engine(engine, ranker, X)
    found: dict[int, tuple[Scored, FewShotTrial | None]] = {}
    if drawn and not few_shot:
        shared = replace(shared, folds=())  # nothing is left to fit
    with closing(ProgressBar("calibration")) as bar:
        score = partial(score_fold, few_shot=few_shot)
        for place, part in engines.each(score, range(len(shared.folds)), shared, runner):
            found[place] = part
            if progress:
                bar(len(found), len(shared.folds))
    parts = [found[place] for place in sorted(found)]
    scored = drawn or [one for one, _ in parts]
    fitted = fit_calibration(scored, constant)
    ranker.calibration_, ranker.temperatures_ = fitted["calibration"], fitted["temperatures"]
    none = None
    if none_of_these is not None:
        known = np.isin(ranker.candidates_, ranker.seen_classes_)
        none = calibrate_scores(to_numpy(model.compatibility(none_of_these)), known, ranker.calibration_)
    classes = shared.table.classes.tolist()
    ranker.decisions_ = fit_decisions(scored, ranker.calibration_, ranker.temperatures_, classes, tree, none)
    ranker.hierarchy_ = tree
    trials = [trial for _, trial in parts if trial is not None]
    if trials:
        choose = getattr(ranker, "_choose_few_shot", choose_few_shot_settings)
        ranker._store_few_shot(choose(trials))
    ranker._accept_calibration()
    return model


def score_fold(shared: FoldData, fold: int, few_shot: bool = True) -> tuple[Scored, FewShotTrial | None]:
    """Scores (n, c) of a fold's validation rows; and these rows, where the method learns from examples (`few_shot`)."""
    rows = shared.folds[fold].train
    model = clone(shared.estimator).fit(shared.training(fold), shared.y[rows], shared.table)
    scorer = FoldScorer(shared, fold)
    scored = scorer.scores(model), scorer.own, scorer.is_seen
    return scored, scorer.few_shot_trial(model) if few_shot else None


def fit_calibration(scored: Sequence[Scored], constant: float | None = None, rough: bool = False) -> dict[str, Any]:
    """`calibration` (the best constant, unless you give one), mean H `gzsl` there, `temperatures`, maybe `rough`."""
    harmonic = np.zeros(0)
    if constant is None:
        constant, harmonic = best_constant([row_margins(scores, own, seen) for scores, own, seen in scored])
    mixed = [(calibrate_scores(scores.astype(np.float64), seen, constant), own) for scores, own, seen in scored]
    weights = [_balance_sides(own, seen) for _, own, seen in scored]
    answered = [seen[scores.argmax(axis=1)] for (scores, _), (*_, seen) in zip(mixed, scored, strict=True)]
    return {
        "calibration": float(constant),
        "gzsl": float(harmonic.mean()) if len(harmonic) else None,
        "temperatures": {
            "seen": fit_temperature([_select_calibrated_side(one, True) for one in scored], "seen", rough),
            "unseen": fit_temperature([_select_calibrated_side(one, False) for one in scored], "unseen", rough),
            "mixed": fit_temperature(mixed, "mixed", rough, weights),
            "mixed_seen": fit_temperature(mixed, "mixed", True, _prefer_rows(weights, answered)),
            "mixed_unseen": fit_temperature(mixed, "mixed", True, _prefer_rows(weights, [~one for one in answered])),
        },
    }


def _balance_sides(own: NDArray[np.int64], seen: NDArray[np.bool_]) -> Floats:
    """Weights (n,) of rows that let both sides weigh the same, as the harmonic mean does.

    How many rows of either side there are says how folds were made, not what will be asked: with three times as many
    rows of seen classes, an answer that is an unseen one would look wrong far too often.
    """
    mine = seen[own]
    counts = np.array([max(1, np.count_nonzero(~mine)), max(1, np.count_nonzero(mine))])
    return np.asarray(0.5 / counts[mine.astype(int)])


def _prefer_rows(weights: Sequence[Floats], chosen: Sequence[NDArray[np.bool_]]) -> list[Floats]:
    """Weights for the chosen rows; the others count together as a few of these, for where hardly any are chosen.

    The constant serves H, so one side may be answered too often: its answers are less sure than the others'.
    """
    share = FEW_ANSWERS / (FEW_ANSWERS + sum(map(np.count_nonzero, chosen)))
    return [own * np.where(mine, 1.0, share) for own, mine in zip(weights, chosen, strict=True)]


def _select_calibrated_side(scored: Scored, wanted: bool) -> Answered:
    """Rows and columns of the seen classes alone, or of the others."""
    scores, own, seen = scored
    columns, rows = np.flatnonzero(seen == wanted), np.flatnonzero(seen[own] == wanted)
    return scores[np.ix_(rows, columns)], np.searchsorted(columns, own[rows])


def fit_temperature(
    answered: Sequence[Answered],
    candidates: str = "these",
    rough: bool = False,
    weights: Sequence[Floats] | None = None,
) -> float:
    """argmin over T of the mean over folds of −log softmax(scores / T)[own class], with a weight for each row or none.

    The loss is convex in 1/T. If all scores are equal, T is 1. If no finite T is best, because the scores mislead more
    than they help, T is the highest in the range, and the log says so. A `rough` T is within 2 % and says nothing.
    """
    weighed = [np.ones(len(own)) for _, own in answered] if weights is None else weights
    parts = [
        (scores.astype(np.float64), own, weight / weight.sum())
        for (scores, own), weight in zip(answered, weighed, strict=True)
        if len(own)
    ]
    spread = float(np.mean([np.std(scores, axis=1).mean() for scores, _, _ in parts])) if parts else 0.0
    if spread <= 0:
        return 1.0

    def loss(log_t: float) -> float:
        losses = []
        for scores, own, weight in parts:
            logits = scores / (spread * np.exp(log_t))
            logits -= logits.max(axis=1, keepdims=True)
            mine = np.take_along_axis(logits, own[:, None], axis=1)[:, 0]
            losses.append(float(weight @ (np.log(np.exp(logits).sum(axis=1)) - mine)))
        return float(np.mean(losses))

    within = {"xatol": 0.02 if rough else 1e-4}
    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded", options=within)
    if not rough and found.x > np.log(RANGE[1]) - FLAT:
        classes = max(scores.shape[1] for scores, _, _ in parts)
        few = f"a validation fold has only {classes} of them, too few to tell how sure to be"
        log.warning(
            "probabilities among %s classes will be nearly equal, though their order is right: %s",
            "seen and unseen" if candidates == "mixed" else candidates,
            few if classes < FEW_CANDIDATES else "on validation rows the scores mislead as often as they help",
        )
    return float(spread * np.exp(found.x))


# What validation rows say about learning from a few examples and from unlabelled rows. The held-out classes of a fold
# play the unseen ones. Examples are drawn from their rows and then never scored.


def choose_few_shot_settings(trials: Sequence[FewShotTrial]) -> dict[str, Any]:
    """Everything that a model stores as `practice_`, from the validation rows of each fold."""
    some = [thin_rows(trial, ENOUGH) for trial in trials]
    own, flat = some[0].shrinkage, float(np.ptp(some[0].spectrum.values)) == 0.0
    # The model's own, and less: rows say more in a space that is whitened more.
    tried = (own,) if flat else (own, own / 2, own / 4)
    first = _try_examples(some, MIDDLE, tried)
    # One shrinkage serves all numbers of examples, because the space must not depend on them.
    shrinkage = tried if first is None else (float(first["shrinkage"]),)
    others = {k: first if k == MIDDLE else _try_examples(some, k, shrinkage) for k in SHOTS}
    examples = {str(k): found for k, found in others.items() if found is not None}
    return {
        "examples": examples,
        "wrong_weight": _choose_wrong_weight(some),
        "unlabelled": {mode: _try_batches(some, mode) for mode in ("unseen", "all")},
    }


def _try_examples(trials: Sequence[FewShotTrial], k: int, tried: Sequence[float]) -> dict[str, Any] | None:
    """Settings for k examples of each held-out class, with the constant and temperatures for them.

    What a description is worth follows from the training classes of each fold; only a clear gain changes it.
    """
    parts = [trial.select_held_out() for trial in trials]
    drawn = [[draw_examples(trial, k, draw) for draw in range(DRAWS)] for trial in parts]
    if any(rows is None for fold in drawn for rows in fold):
        return None

    def measure(shrinkage: float, factor: float, crowdings: Sequence[float], refine: bool = False) -> Floats:
        """(draws, crowdings) accuracies."""
        found = []
        for trial, fold in zip(parts, drawn, strict=True):
            turned = trial.with_shrinkage(shrinkage)
            weights = turned.example_weights(factor)
            for rows in fold:
                assert rows is not None
                left = np.setdiff1d(np.arange(len(trial.own)), rows)
                taught = TaughtScores(turned, weights, turned.learn_examples(rows, factor, refine), left)
                found.append([turned.accuracy(taught.scores(crowding), left) for crowding in crowdings])
        return np.array(found)

    # The model's own crowding, and less: rows make up for a crowded place.
    own = trials[0].crowding
    crowdings = (own, 0.5 * own, 0.0) if own else (0.0,)
    options: dict[tuple[float, float, float], Floats] = {}
    # To tell examples apart takes longer than all else, and hardly changes which of these settings is best.
    for factors in (FACTORS[:1], FACTORS[1:]):
        for shrinkage, factor in product(tried, factors):
            accuracies = measure(shrinkage, factor, crowdings)
            options |= {(shrinkage, factor, one): accuracies[:, place] for place, one in enumerate(crowdings)}
        tried = [_best_beyond_chance(options)[0]]
    best = shrinkage, factor, crowding = _best_beyond_chance(options)
    told_apart = measure(shrinkage, factor, (crowding,), refine=True)[:, 0]
    gains = told_apart - options[best]
    refined = bool(gains.mean() >= -gains.std(ddof=1) / np.sqrt(len(gains)))
    scored = []
    for trial, fold in zip(trials, drawn, strict=True):
        turned, given = trial.with_shrinkage(shrinkage), trial.new_rows[fold[0]]
        rows = np.setdiff1d(np.arange(len(trial.own)), given)
        taught = TaughtScores(
            turned, turned.example_weights(factor), turned.learn_examples(given, factor, refined), rows
        )
        scored.append((taught.scores(crowding), trial.own[rows], trial.seen))
    zero_shot = float((told_apart if refined else options[best]).mean())
    figures = {"zsl": zero_shot, **fit_calibration(scored, rough=True)}
    return {"factor": factor, "shrinkage": shrinkage, "crowding": crowding, "refined": refined, **figures}


def _best_beyond_chance(options: dict[tuple[float, float, float], Floats]) -> tuple[float, float, float]:
    """The option with the best mean; the first, the model's own, unless the gain is above its standard error."""
    own, *_ = options
    best = max(options, key=lambda option: float(np.mean(options[option])))
    gains = np.subtract(options[best], options[own])
    return best if gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains)) else own


def draw_examples(trial: FewShotTrial, k: int, draw: int) -> NDArray[np.int64] | None:
    """k rows of each held-out class that has more; None if fewer than half of the classes do."""
    rows = []
    for column in trial.new:
        mine = np.flatnonzero(trial.own == column)
        if len(mine) > k:
            rows.append(make_generator(draw, _EXAMPLES, k, int(column)).permutation(mine)[:k])
    return np.sort(np.concatenate(rows)) if len(rows) >= max(2, len(trial.new) / 2) else None


def _choose_wrong_weight(trials: Sequence[FewShotTrial]) -> float:
    """What wrong rows count against a class: tried on the rows of other classes that score highest for each class."""
    accuracies: dict[float, list[float]] = {against: [] for against in WRONG}
    for trial in trials:
        weights = trial.description_weights(INDUCTIVE)
        scores = TaughtScores(trial, weights, None, trial.new_rows).scores(trial.crowding)
        shown, columns = [], []
        for column in trial.new:
            others = np.flatnonzero(trial.own[trial.new_rows] != column)
            best = others[np.argsort(-scores[others, column], kind="stable")[:MARKED]]
            shown.append(trial.new_rows[best])
            columns.append(np.full(len(best), column))
        rows, marked = np.concatenate(shown), np.concatenate(columns)
        left = np.setdiff1d(trial.new_rows, rows)
        if not len(left):
            continue
        counts = np.bincount(marked, minlength=len(trial.seen)).astype(np.float32)
        sums = sum_by_class(trial.x[rows], marked, len(trial.seen))
        means = np.asarray(sums / np.maximum(counts, 1)[:, None], np.float32)
        for against, found in accuracies.items():
            scores = TaughtScores(trial, weights, -np.float32(against) * means, left).scores(trial.crowding)
            found.append(trial.accuracy(scores, left))
    return float(max(WRONG, key=lambda against: float(np.mean(accuracies[against])))) if accuracies[0.0] else 0.0


# Unlabelled rows that come later may be few, of some classes more than of others, and of many classes not at all. So
# each setting is tried on many simulated batches, drawn from validation rows: few and many rows, of few, some and all
# of the held-out classes, evenly and unevenly. All are stored: those that are like the rows at hand then decide.


def _try_batches(trials: Sequence[FewShotTrial], mode: str) -> list[dict[str, Any]]:
    """An entry for each setting: the gain in each batch, and what calibrates the model afterwards."""
    generalised = mode == "all"
    parts = trials if generalised else [trial.select_held_out() for trial in trials]
    parts = [replace(part, kept=part.kept[:: max(1, len(part.kept) // BATCH_KEPT_ROWS)]) for part in parts]
    thin = [thin_rows(trial, FEW_ROWS) for trial in trials]
    first_fit = fit_calibration(
        [(trial.scores(INDUCTIVE, trial.crowding), trial.own, trial.seen) for trial in thin], rough=True
    )
    sharpness = 1 / first_fit["temperatures"]["mixed" if generalised else "unseen"]
    shift = float(first_fit["calibration"]) if generalised else 0.0
    first = AdaptationSettings(kappa=SHARPER * sharpness, shift=shift, crowding=trials[0].crowding)
    batches = [(fold, batch) for fold, part in enumerate(parts) for batch in _draw_batches(part, fold)]
    if not batches:
        return []
    hands = [_measure_hand(batch, replace(first, kappa=sharpness)) for _, batch in batches]
    plain_scores = [batch.scores(INDUCTIVE, batch.crowding) for _, batch in batches]
    measure = _measure_harmonic if generalised else _measure_row_accuracy
    before = np.array([measure(batch, scores, shift) for (_, batch), scores in zip(batches, plain_scores, strict=True)])
    entries = []
    for weight, proportion, part, balance, smoothing in ADAPTATIONS:
        shrinkage = part * trials[0].shrinkage
        how = replace(first, weight=weight, proportion=proportion, shrinkage=shrinkage)
        how = replace(how, balance=balance, smoothing=smoothing)
        turned = [(fold, batch.with_shrinkage(shrinkage)) for fold, batch in batches]
        found = [batch.adapt(how) for _, batch in turned]
        # Of each fold the last batch, with many rows of all classes, calibrates the model.
        last = {fold: one for (fold, _), one in zip(batches, found, strict=True)}
        scored = []
        for fold, one in last.items():
            trial, sums = thin[fold].with_shrinkage(shrinkage), one.sums
            if not generalised:
                sums = np.zeros((len(trial.seen), one.sums.shape[1]), np.float32)
                sums[trial.new] = one.sums
            scored.append((trial.scores(how.weight, how.crowding, sums), trial.own, trial.seen))
        fitted = fit_calibration(scored, rough=True)
        share = float(np.mean([one.share(how, ~parts[fold].seen) for fold, one in last.items()]))
        gains = []
        for (_, batch), one, old, plain in zip(turned, found, before, plain_scores, strict=True):
            scores, constant = batch.scores(how.weight, how.crowding, one.sums), 0.0
            if generalised:
                constant = match_constant(score_gaps(plain, batch.seen), shift, score_gaps(scores, batch.seen))
            gains.append(measure(batch, scores, constant) - old)
        tried = [[hand.rows, hand.present, hand.classes, float(gain)] for hand, gain in zip(hands, gains, strict=True)]
        figures = {"gain": float(np.mean(gains)), "spread": float(np.std(gains)), "least": float(min(gains))}
        most = max(hand.per_class for hand in hands)
        entries.append({**asdict(how), "batches": tried, "share": share, "per_class": most, **figures, **fitted})
    return entries


def _draw_batches(part: FewShotTrial, fold: int) -> list[FewShotTrial]:
    """Batches of a fold's validation rows, the last with many rows of all classes.

    Where seen classes are among the candidates, all of them are there, and half of the rows are theirs.
    """
    draw, new = make_generator(0, _KINDS, fold), part.new
    there = [column for column in new if np.any(part.own == column)]
    most = max(1, VALUES // part.x.shape[1])
    found = []
    for size, presence, uneven in product(SIZES, PRESENCES, (True, False)):
        few = int(draw.integers(1, FEW_CLASSES + 1)) if presence == 0 else max(2, round(presence * len(there)))
        columns = draw.permutation(there)[:few]
        shares = draw.dirichlet(np.full(len(columns), UNEVEN)) if uneven else np.full(len(columns), 1 / len(columns))
        if size is None:
            wanted = np.bincount(part.own, minlength=len(part.seen))[columns] * shares / shares.max()
            counts = np.ceil(wanted * min(1.0, most / wanted.sum())).astype(np.int64)
        else:
            counts = draw.multinomial(min(size, most), shares)
        rows = [_draw_rows(part, draw, columns, counts)]
        seen = np.flatnonzero(part.seen)
        if len(seen):
            rows.append(_draw_rows(part, draw, seen, draw.multinomial(len(rows[0]), np.full(len(seen), 1 / len(seen)))))
        chosen = np.sort(np.concatenate(rows))
        if len(chosen) and (not len(seen) or len(rows[1])):
            found.append(part.select_rows(chosen))
    return found


def _draw_rows(
    part: FewShotTrial, draw: np.random.Generator, columns: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """So many rows of each class, or all that there are."""
    pairs = zip(columns, counts, strict=True)
    return np.concatenate([draw.permutation(np.flatnonzero(part.own == column))[:count] for column, count in pairs])


def _measure_hand(batch: FewShotTrial, how: AdaptationSettings) -> RowsAtHand:
    u = scale_to_unit_length(batch.description_weights(INDUCTIVE)[:, None] * batch.described + batch.known)
    other = None if batch.other is None else np.float32(how.kappa) * batch.other
    moving = ~batch.seen
    return RowsAtHand.from_logits(logits_of_rows(batch.x, u, batch.rows, moving, how, other, batch.crowded), moving)


def _measure_row_accuracy(batch: FewShotTrial, scores: Rows, constant: float) -> float:
    return float(np.mean(scores.argmax(axis=1) == batch.own))


def _measure_harmonic(batch: FewShotTrial, scores: Rows, constant: float) -> float:
    """H of a batch, with the constant subtracted from the scores of seen classes."""
    right = (scores - np.float32(constant) * batch.seen).argmax(axis=1) == batch.own
    rows_of = np.bincount(batch.own, minlength=len(batch.seen))
    accuracies = np.bincount(batch.own, weights=right, minlength=len(batch.seen)) / np.maximum(rows_of, 1)
    seen, new = (float(accuracies[side & (rows_of > 0)].mean()) for side in (batch.seen, ~batch.seen))
    return float(harmonic_mean(seen, new))


def thin_rows(trial: FewShotTrial, few: int) -> FewShotTrial:
    """At most so many rows of each class."""
    if np.bincount(trial.own).max() <= few:
        return trial
    order = make_generator(0, _KINDS, few).permutation(len(trial.own))
    rank = np.empty(len(order), dtype=np.int64)
    for column in range(len(trial.seen)):
        mine = order[trial.own[order] == column]
        rank[mine] = np.arange(len(mine))
    return trial.select_rows(np.flatnonzero(rank < few))
