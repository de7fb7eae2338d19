"""The search of class means: draws of held-out classes in closed form, and a rule that keeps the default.

There are two kinds of draws. Many share one space, which costs one decomposition; the held-out classes took part in it.
And four have a space of their own, which never saw their held-out classes, and validate on all rows of these. The
accuracy of a class is the mean of both. With few classes validation hardly ranks settings, and the best of hundreds is
mostly lucky. So a setting is judged together with its neighbours in the grid, class by class against the default
setting, and it must lead by more than what may be luck: z standard errors over classes, with z = 1 + (20 / classes)².
docs/selection.md says why.
"""

import copy
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl._arrays import is_sparse_rows, to_numpy
from zskl.estimators._class_draws import HELD_SHARE, ClassDraws, draw_classes
from zskl.estimators._inputs import check_features
from zskl.estimators.class_means import AUTO, ClassMeansClassifier
from zskl.metrics import best_constant, row_margins
from zskl.selection.class_folds import FoldData, find_shared_validation, take_fold_rows
from zskl.selection.grid_search import Report, SearchPlan, copy_with_setting, is_grid_number
from zskl.selection.search_results import Search
from zskl.training.rows import StreamedRows

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]
LEADERS = 5  # settings whose harmonic means are worked out, beside the default
# Held-out classes take part in the scatter, and so little shrinkage looks better than it is, unless rows are many.
LEAST_SHRINKAGE, ROWS_PER_FEATURE = 0.5, 10
DOUBT, FEW_CLASSES = 1.0, 20.0  # z = DOUBT + (FEW_CLASSES / classes)²


class DrawnModels:
    """Models of one search, each with its setting, on the sums of the rows outside validation."""

    def __init__(self, shared: FoldData) -> None:
        found = find_shared_validation(shared.folds)
        assert found is not None  # the caller has asked
        self.shared, (self.rows, self._validation) = shared, found
        self._bases: dict[str, tuple[ClassMeansClassifier, ClassDraws]] = {}
        self._described: dict[tuple[str, str], ClassMeansClassifier] = {}
        self._apart: dict[str, list[ClassDraws]] = {}

    def make(self, setting: Mapping[str, Any]) -> tuple[ClassMeansClassifier, ClassDraws]:
        wanted = copy_with_setting(self.shared.estimator, setting)
        base, draws = self._base(wanted.feature_scaling)
        key = wanted.feature_scaling, wanted.signature_scaling
        if key not in self._described:
            self._described[key] = base
            if wanted.signature_scaling != base.signature_scaling:
                other = copy.copy(base)
                other.signature_scaling = wanted.signature_scaling
                self._described[key] = other._redescribed(self.shared.table)
        model = copy_with_setting(self._described[key], setting)
        model._weigh_tables()
        if model.prior != AUTO:
            model.prior_ = model.prior
        if model.description_weight != AUTO:
            model.description_weight_ = float(model.description_weight)
        return model, draws

    def _base(self, scaling: str) -> tuple[ClassMeansClassifier, ClassDraws]:
        """What all settings with the same scaling of features share."""
        if scaling not in self._bases:
            shared = self.shared
            base = clone(shared.estimator).set_params(feature_scaling=scaling)
            X, y = take_fold_rows(shared.X, self.rows), shared.y[self.rows]
            training = base._prepare(X, y, shared.table, StreamedRows, values=False)
            base._sums = base._sum_training(training, keep=True)
            base._reset_teaching()
            base._fit_cache = base._make_fit_cache()
            base._settle_prior(base._fit_cache)
            scaled = base._scale_rows(check_features(base, take_fold_rows(shared.X, self._validation), dense_for=None))
            codes = np.searchsorted(base.seen_classes_, shared.y[self._validation])
            held = [
                np.unique(np.searchsorted(base.seen_classes_, shared.y[fold.val_unseen])).astype(np.int64)
                for fold in shared.folds
            ]
            rows = scaled if is_sparse_rows(scaled) else to_numpy(scaled)
            self._bases[scaling] = base, ClassDraws(base, rows, codes, held)
        return self._bases[scaling]

    def apart(self, scaling: str) -> list[ClassDraws]:
        """Draws that hold each class out once, each with a space that its held-out classes had no part in. Besides the
        validation rows they have all training rows of these classes."""
        if scaling not in self._apart:
            base, together = self._base(scaling)
            labels = self.shared.y[self.rows]
            found = []
            for held in draw_classes(together.C, HELD_SHARE):
                theirs = self.rows[np.isin(labels, base.seen_classes_[held])]
                X, codes = (
                    take_fold_rows(self.shared.X, theirs),
                    np.searchsorted(base.seen_classes_, self.shared.y[theirs]),
                )
                found.append(together.apart(held, check_features(base, X, dense_for=None), codes))
            self._apart[scaling] = found
        return self._apart[scaling]


def search_draws(plan: SearchPlan, report: Report | None = None) -> Search:
    """Judge all settings of a plan whose folds validate on the same rows."""
    began, shared, settings = time.perf_counter(), plan.shared, plan.settings
    drawn = DrawnModels(shared)
    made = [drawn.make(setting) for setting in settings]
    if plan.keeps_default and plan.default is not None:
        # The fit has looked at the prior itself, on other draws: here a few lucky classes would replace it.
        own = made[plan.default][0].prior_
        shares = own != "zero"
        few = len(drawn.rows) < ROWS_PER_FEATURE * np.shape(shared.X)[1]
        places = [
            k
            for k, (model, _) in enumerate(made)
            if k == plan.default
            or (model.prior_ == "cosine" and shares)  # which whitens nothing
            or (model.prior_ == own and not (few and model.shrinkage < LEAST_SHRINKAGE))
        ]
        settings, made = tuple(settings[k] for k in places), [made[k] for k in places]
        plan = replace(plan, settings=settings, default=places.index(plan.default))
    models = [model for model, _ in made]
    # Settings that differ in the description's weight alone are the same for held-out classes.
    alike: dict[str, list[int]] = {}
    for place, model in enumerate(models):
        effect = {**model._effective_settings(), "prior": model.prior_, "description_weight": None}
        alike.setdefault(repr(effect), []).append(place)
    groups = list(alike.values())
    by_class = np.full((len(settings), len(shared.table.classes)), np.nan)
    zsl = np.zeros((len(settings), len(shared.folds)))
    for number, (_, draws) in enumerate(drawn._bases.values()):
        mine = [group for group in groups if made[group[0]][1] is draws]
        tried = [models[group[0]] for group in mine]
        accuracies, figures = draws.held_out_accuracies(tried)
        if plan.keeps_default:
            apart = [one.held_out_accuracies(tried)[0] for one in drawn.apart(tried[0].feature_scaling)]
            accuracies = _mean_of_known([accuracies, _mean_of_known(apart)])
        for group, row, line in zip(mine, accuracies, figures, strict=True):
            by_class[group], zsl[group] = row, line
        if report is not None:
            report(number + 1, len(drawn._bases) + 1)
    default = plan.default
    gains, doubts = _compare_classes(settings, by_class, groups[0][0] if default is None else default)
    sure = gains - doubts if plan.keeps_default else zsl.mean(axis=1)
    by_merit = sorted(groups, key=lambda group: -sure[group[0]])
    chosen = by_merit[:LEADERS] + [group for group in by_merit[LEADERS:] if default in group]
    shape = zsl.shape
    gzsl, seen, unseen = (np.full(shape, -np.inf) for _ in range(3))
    constants = np.zeros(len(settings))
    for group in chosen:
        for place in group:
            draws = made[place][1]
            parts = [row_margins(*draws.scores(models[place], number)) for number in range(shape[1])]
            constants[place], gzsl[place] = best_constant(parts)
            seen[place], unseen[place] = np.transpose([part.at(0.0) for part in parts])
    if report is not None:
        report(len(drawn._bases) + 1, len(drawn._bases) + 1)
    log.info("searched %d settings on %d draws in %.1f s", len(settings), shape[1], time.perf_counter() - began)
    return Search(
        tuple(settings),
        tuple(shared.folds),
        zsl,
        gzsl,
        seen,
        unseen,
        constants,
        {},
        edges=plan.reach.edges(settings),
        default=default,
        keeps_default=plan.keeps_default,
        gains=gains if plan.keeps_default and default is not None else None,
        doubts=doubts if plan.keeps_default and default is not None else None,
    )


def _compare_classes(settings: Sequence[Mapping[str, Any]], by_class: Floats, default: int) -> tuple[Floats, Floats]:
    """Mean gain (S,) of each setting and its neighbours over the default, and how much of that may be luck (S,)."""
    known = np.isfinite(by_class[default])
    difference = by_class[:, known] - by_class[default, known]
    smooth = np.array([difference[near].mean(axis=0) for near in list_neighbours(settings)])
    smooth[default] = 0.0
    classes = difference.shape[1]
    error = smooth.std(axis=1, ddof=1) / np.sqrt(classes) if classes > 1 else np.full(len(settings), np.inf)
    return smooth.mean(axis=1), (DOUBT + (FEW_CLASSES / classes) ** 2) * error


def _mean_of_known(parts: Sequence[Floats]) -> Floats:
    """The mean of arrays, each without its NaN; NaN where all are."""
    values = np.array(parts)
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(counts > 0, np.where(known, values, 0.0).sum(axis=0) / counts, np.nan))


def list_neighbours(settings: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """For each place itself and those that differ from it in one number, by one step of the grid."""
    names = sorted({name for setting in settings for name in setting})
    levels: dict[str, list[Any]] = {}
    for name in names:
        values = {setting.get(name) for setting in settings}
        if name != "description_weight" and all(map(is_grid_number, values)):
            levels[name] = sorted(values)
    places = {tuple(setting.get(name) for name in names): place for place, setting in enumerate(settings)}
    found = []
    for place, setting in enumerate(settings):
        own, near = [setting.get(name) for name in names], [place]
        for k, name in enumerate(names):
            if name not in levels:
                continue
            step = levels[name].index(own[k])
            for other in levels[name][max(0, step - 1) : step] + levels[name][step + 1 : step + 2]:
                beside = places.get((*own[:k], other, *own[k + 1 :]))
                if beside is not None:
                    near.append(beside)
        found.append(near)
    return found


def score_draws(shared: FoldData) -> list[Any]:
    """Scores of the validation rows with the estimator's own settings, in draws that hold each class out once."""
    model, draws = DrawnModels(shared).make({})
    return [draws.scores(model, number) for number in range(min(HELD_SHARE, len(shared.folds)))]
