"""Class means on classes that they were not shown, in closed form: one fit stands for many fits on folds.

Some rows of every training class are kept out, to validate on; sums of all others make one whitened space. A draw
holds some classes out. With B = (K + νI)⁻¹ over the signatures of all training classes and U those of the held-out
ones, what the others predict for U needs no further fit:

    M̂_U − (B_UU)⁻¹ (B M̂)_U = k(U, R) (K_RR + νI)⁻¹ M̂_R

Two small leaks are left: the held-out classes take part in the scatter within classes (by other rows than those that
are scored) and in the centre and the median distance. docs/selection.md says what they amount to.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import is_sparse_rows, make_generator, stack_rows, to_numpy
from zskl.estimators import _class_means_fit as fitting
from zskl.estimators._blocks import Gram, scale_block_combinations, scale_combinations
from zskl.estimators._class_means_fit import FitCache, Floats, Whitening
from zskl.metrics import harmonic_mean, row_margins

if TYPE_CHECKING:
    from zskl.estimators.class_means import ClassMeansClassifier

Codes = NDArray[np.int64]
LEAST_DRAWN = 4  # training classes
SHARED_DRAWS = 8  # that judge plain cosine
TRIAL_KEPT_ROWS = 1024  # kept rows that are enough to try things on
HELD_SHARE = 4  # a draw holds out one class of so many
MOST_HELD_OUT_ROWS = 12000  # training rows of all classes that are validated on too, by draws that hold their class out
LEAST_HELD = 2
_DRAWS = 11  # stream of the seed


def draw_classes(classes: int, draws: int, seed: int = 0) -> list[Codes]:
    """The classes that each draw holds out: a quarter, and each class once before one comes again."""
    held = max(LEAST_HELD, round(classes / HELD_SHARE))
    found: list[Codes] = []
    number = 0
    while len(found) < draws:
        order = make_generator(seed, _DRAWS, number).permutation(classes)
        found += [np.sort(order[start : start + held]) for start in range(0, classes - held + 1, held)]
        number += 1
    return found[:draws]


@dataclass(frozen=True, eq=False)
class _Basis:
    """Unit means M̂ of the classes and, with another prior than zero, whitened signatures Y°: all that is combined."""

    at: Whitening
    vectors: Floats  # (B, d)
    grams: list[Gram]  # of each block
    rows: NDArray[np.float32]  # (n, b·B) of the validation rows x̂
    kept: NDArray[np.float32]  # (m, b·B) of the kept rows
    sums: Floats  # (C, b) length of what training rows add to a direction, by block
    fit: tuple[Floats, Floats]  # (C,) M̂·Y° and ‖Y°‖² of each class: what the slope is made of


class ClassDraws:
    """Validation rows `scaled` (n, d) of all training classes of a model, `codes` (n,), and draws of classes that are
    held out. The model has sums of other rows and a `FitCache`."""

    def __init__(self, model: ClassMeansClassifier, scaled: Any, codes: Codes, held: Sequence[Codes]) -> None:
        self.model, self.codes, self.held = model, codes, list(held)
        self._scaled = scaled
        self._rotated: dict[bool, Any] = {}
        self._basis: tuple[object, _Basis] | None = None
        cache: FitCache = model._fit_cache
        self.owners, self.C = cache.owners, len(cache.sums.rows)
        self._starts = np.searchsorted(self.owners, np.arange(self.C))  # of the signatures of each class
        # Some kept rows are enough to try things on.
        self._some = np.arange(0, len(cache.sums.kept.codes), max(1, len(cache.sums.kept.codes) // TRIAL_KEPT_ROWS))
        kept = cache.sums.kept.codes[self._some]
        self._shown = [~np.isin(kept, one) for one in self.held]
        self._across: dict[tuple[Any, ...], Floats] = {}
        self._mine = [np.flatnonzero(np.isin(codes, one)) for one in self.held]

    def apart(self, held: Codes, X: Any, codes: Codes) -> ClassDraws:
        """One draw with a space of its own: `held` classes, whose training rows are X (n, d), had no part in it. Their
        rows are validation rows too."""
        cache: FitCache = self.model._fit_cache
        sums = cache.sums
        theirs = self.model._sum_rows(X, codes, sums.classes, False, None)
        known = np.setdiff1d(np.arange(self.C), held)
        products = sums.products - theirs.products
        rest = replace(
            sums, classes=sums.classes[known], rows=sums.rows[known], totals=sums.totals[known], products=products
        )
        model = copy.copy(self.model)
        model._fit_cache = cache.with_space_of(rest)
        some = np.flatnonzero(rank_within_class(codes) < max(1, MOST_HELD_OUT_ROWS // self.C))
        scaled = self.model._scale_rows(X[some])
        scaled = scaled if is_sparse_rows(scaled) else to_numpy(scaled)
        return ClassDraws(model, stack_rows(self._scaled, scaled), np.concatenate([self.codes, codes[some]]), [held])

    # The parts of a score

    def _find_basis(self, model: ClassMeansClassifier) -> _Basis:
        plain, shared = model.prior_ == "cosine", model.prior_ != "zero"
        key = plain, float(model.shrinkage), shared
        if self._basis is not None and self._basis[0] == key:
            return self._basis[1]
        # Models of one search differ in their kernels, not in their rows: all take the space of the first.
        at = self.model._fit_cache.whitening(float(model.shrinkage), plain=plain)
        if plain not in self._rotated:
            self._rotated[plain] = at.space.center_and_rotate(self._scaled)
        vectors = np.concatenate([at.unit_means, at.own_signatures]) if shared else at.unit_means
        rows = to_numpy(at.cosines(self._rotated[plain], vectors)).astype(np.float32)
        kept = np.empty((0, len(at.blocks) * len(vectors)), np.float32)
        if len(self._some):
            kept = to_numpy(at.cosines(at.cache.rotated_kept_rows(at.space)[self._some], vectors)).astype(np.float32)
        fit = np.zeros(self.C), np.zeros(self.C)
        if shared:
            np.add.at(fit[0], self.owners, (at.targets * at.own_signatures).sum(axis=1))
            np.add.at(fit[1], self.owners, (at.own_signatures**2).sum(axis=1))
        shares = at.blocks.shares
        lengths = at.blocks.block_lengths(at.sums) / np.where(shares > 0, shares, 1.0)
        self._basis = key, _Basis(at, vectors, at.blocks.grams(vectors, small=True), rows, kept, lengths, fit)
        return self._basis[1]

    def _combinations(
        self, model: ClassMeansClassifier, basis: _Basis, held: Codes, everyone: bool
    ) -> tuple[Floats, Codes]:
        """What descriptions say of the held-out classes, or of `everyone`: (r, B) of unit length, and the rows (r,)."""
        out = np.isin(self.owners, held)
        lost, rest = np.flatnonzero(out), np.flatnonzero(~out)
        rows = np.arange(len(self.owners)) if everyone else lost
        found = np.zeros((len(rows), len(basis.vectors)))
        if model.prior_ != "cosine":
            noise, cache = float(model.noise), model._fit_cache
            inverse = cache.inverse(cache.kernel(model.kernel, float(model.bandwidth), model._tables()), noise)
            tables = model._tables().weights
            key = model.signature_scaling, model.kernel, float(model.bandwidth), tables, noise, held.tobytes()
            if key not in self._across:
                self._across[key] = np.asarray(np.linalg.solve(inverse[np.ix_(lost, lost)], inverse[lost]))  # (U, R)
            across = self._across[key]
            weights = -across
            if everyone:
                weights = np.zeros((len(rows), len(rows)))
                weights[lost] = -across
                weights[rest] = -noise * (inverse[rest] - inverse[np.ix_(rest, lost)] @ across)
                weights[rest, rest] += 1
            weights[:, lost] = 0.0
            if len(self.owners) == self.C:
                found[:, : self.C] = weights
            else:
                np.add.at(found.T, self.owners, weights.T)
        if model.prior_ != "zero":
            slope = 1.0
            if model.prior_ == "identity":
                slope = self._slope(basis, held)
                found[:, self.C :] -= slope * weights
            found[np.arange(len(rows)), self.C + rows] += slope
        blocks = basis.at.blocks
        return scale_block_combinations(blocks.repeat(found), basis.grams, blocks.shares), rows

    def _slope(self, basis: _Basis, held: Codes) -> float:
        """s of least squares over the classes that are not held out."""
        known = np.setdiff1d(np.arange(self.C), held)
        size = float(basis.fit[1][known].sum())
        return max(float(basis.fit[0][known].sum()) / size, 0.0) if size > 0 else 0.0

    def _best_of_classes(self, scores: NDArray[np.float32], rows: Codes) -> NDArray[np.float32]:
        """(n, c) of the scores (n, r) of signature rows: of a class with several the best."""
        if len(self.owners) == self.C:
            return scores
        classes = np.unique(self.owners[rows])
        return np.maximum.reduceat(scores, np.searchsorted(self.owners[rows], classes), axis=1)

    # What is asked of it

    def held_out_accuracies(self, models: Sequence[ClassMeansClassifier]) -> tuple[Floats, Floats]:
        """For each model the accuracy of each class (K, C) among those held out with it, and of each draw (K, F); NaN
        for a class without validation rows."""
        by_class, by_draw = np.zeros((len(models), self.C)), np.zeros((len(models), len(self.held)))
        tries = np.zeros(self.C)
        for mine in self._mine:
            tries += np.bincount(self.codes[mine], minlength=self.C) if len(mine) else 0
        order = sorted(range(len(models)), key=lambda k: _work(models[k]))
        # Models that differ in crowding alone share everything but a subtraction.
        for _, some in groupby(order, key=lambda k: _work(models[k])[:-1]):
            places = list(some)
            basis = self._find_basis(models[places[0]])
            for number, held in enumerate(self.held):
                found = self._answers_of_draw([models[k] for k in places], basis, number)
                own = self.codes[self._mine[number]]
                counts = np.bincount(own, minlength=self.C)
                for k, answers in zip(places, found, strict=True):
                    hits = np.bincount(own, weights=answers == own, minlength=self.C)
                    by_class[k] += hits
                    by_draw[k, number] = np.mean(hits[held][counts[held] > 0] / counts[held][counts[held] > 0])
        with np.errstate(invalid="ignore"):
            return by_class / tries, by_draw

    def _answers_of_draw(
        self, models: Sequence[ClassMeansClassifier], basis: _Basis, number: int
    ) -> list[NDArray[np.int64]]:
        held, mine = self.held[number], self._mine[number]
        combined, rows = self._combinations(models[0], basis, held, everyone=False)
        directions = combined.T.astype(np.float32)
        scores = basis.rows[mine] @ directions
        found, crowded = [], None
        for model in models:
            lowered = scores
            if model.crowding and self._shown[number].any():
                if crowded is None:
                    close = basis.kept[self._shown[number]] @ directions
                    crowded = fitting.mean_of_largest(close, float(model.crowding_share))
                lowered = np.asarray(scores - np.float32(model.crowding) * crowded)
            found.append(held[self._best_of_classes(lowered, rows).argmax(axis=1)])
        return found

    def scores(self, model: ClassMeansClassifier, number: int) -> tuple[NDArray[np.float32], Codes, NDArray[np.bool_]]:
        """Scores (n, C) of all validation rows in one draw, the column (n,) of each one's class, who is seen (C,)."""
        held, basis = self.held[number], self._find_basis(model)
        described, rows = self._combinations(model, basis, held, everyone=True)
        whole = float(model.description_weight_) * described
        seen = np.ones(self.C, dtype=bool)
        seen[held] = False
        known = np.flatnonzero(seen[self.owners])
        for k in range(basis.sums.shape[1]):
            own = k * len(basis.vectors) + self.owners[known]
            whole[known, own] += basis.sums[self.owners[known], k]
        directions = scale_combinations(whole, basis.grams).T.astype(np.float32)
        scores = basis.rows @ directions
        if model.crowding and self._shown[number].any():
            close = basis.kept[self._shown[number]] @ directions
            crowded = fitting.mean_of_largest(close, float(model.crowding_share))
            scores = np.asarray(scores - np.float32(model.crowding) * crowded)
        return self._best_of_classes(scores, rows), self.codes, seen


# What a fit asks of its own training classes, where "auto" leaves a choice in a shared space


def choose_in_shared_space(
    model: ClassMeansClassifier, cache: FitCache, priors: Sequence[str], weights: Sequence[float]
) -> tuple[str, float]:
    """The prior and the description weight for a shared space, from rows that the model keeps anyway. "cosine" stays
    unless another prior is better on held-out classes by more than the standard error over classes. Of the description
    weights the one with the best harmonic mean of seen and held-out classes wins."""
    places = cache.sums.validation_places()
    part = copy.copy(model)
    part._sums = cache.sums.without(places)
    C = len(part._sums.rows)
    if C < LEAST_DRAWN or len(np.unique(part._sums.kept.codes)) < C:
        return priors[0], weights[0]
    part._fit_cache = FitCache(part._sums, cache.Y, cache.owners, cache.shared, np.empty(0), cache.blocks, cache.tables)
    kept = cache.sums.kept
    draws = ClassDraws(
        part, kept.rows[places], kept.codes[places], draw_classes(C, SHARED_DRAWS if C < 300 else HELD_SHARE)
    )
    tried = [copy.copy(part) for _ in priors]
    for one, prior in zip(tried, priors, strict=True):
        one.prior_ = prior
    chosen = tried[0]
    if len(tried) > 1:
        accuracy = draws.held_out_accuracies(tried)[0]
        gains = (accuracy[0] - accuracy[1])[np.isfinite(accuracy[0])]
        clear = gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains))
        chosen = tried[0] if clear else tried[1]
    figures = []
    for weight in weights if len(weights) > 1 else ():
        chosen.description_weight_ = weight
        parts = [row_margins(*draws.scores(chosen, number)).at(0.0) for number in range(HELD_SHARE)]
        figures.append(float(np.mean([harmonic_mean(*one) for one in parts])))
    return chosen.prior_, weights[int(np.argmax(figures)) if figures else 0]


def rank_within_class(codes: Codes) -> Codes:
    """(n,) how many rows of the same class come before each row."""
    order = np.argsort(codes, kind="stable")
    found = np.empty(len(codes), dtype=np.int64)
    found[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
    return found


def _work(model: ClassMeansClassifier) -> tuple[Any, ...]:
    """Settings that share the most work come after each other; crowding is the last."""
    space = model.prior_ == "cosine", float(model.shrinkage), model.prior_
    kernel = model.signature_scaling, model.kernel, float(model.bandwidth), model._tables().weights, float(model.noise)
    return *space, *kernel, float(model.crowding_share), float(model.crowding)
