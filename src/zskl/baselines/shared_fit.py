"""Methods whose one fit serves many settings: the work that the settings share is done once.

Also the sums and means over classes that closed forms need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from zskl.arrays import Array, NumPyArray, like, namespace, to_numpy
from zskl.baselines.linear import blocks, spectrum
from zskl.estimators.estimator import Training, ZeroShotClassifier
from zskl.estimators.row_weights import NONE, Given, without_weights
from zskl.scaling import Scaling
from zskl.sparse_rows import are_sparse
from zskl.training.scaled_rows import ScaledRows
from zskl.training.solver import DivergenceError

unit = Scaling(("l2",)).apply  # rows of unit length; a row of zeros stays zero


class SharedClassifier(ZeroShotClassifier):
    """A method without steps. A subclass writes `_learn`, `_check_parameters` and `_scores`."""

    READS: ClassVar[type[ScaledRows]] = ScaledRows

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _learn(self, training: Training) -> Callable[[Self], None]:
        """Do the work that all settings in `FREE` share; the function that it returns finishes one model."""
        raise NotImplementedError

    @without_weights
    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Any = None) -> Self:
        """Learn from training rows, their classes and the signatures of the classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class: a data frame with a row per class, a mapping from class to vector, or an
            array with a row per class of sorted(set(y)). None stands for one-hot rows. Classes that are not in y become
            further candidates.
        callback : callable, default=None
            Never called, because the method has no steps.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, signatures, NONE)

    def _fit(self, X: Array, y: Any, signatures: Any, weights: Given) -> Self:
        with self._all_or_nothing():
            self._check_parameters()
            self._learn(self._prepare(X, y, signatures, self.READS, weights=weights))(self)
        return self

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        models = [clone(self).set_params(**setting) for setting in settings]
        for model in models:
            model._check_parameters()
        training = models[0]._prepare(X, y, signatures, self.READS)
        prepared = {name: value for name, value in vars(models[0]).items() if name.endswith("_")}
        finish = models[0]._learn(training)
        for place, model in enumerate(models):
            vars(model).update(prepared)
            finish(model)
            visit(place, model)


class WeightedClassifier(SharedClassifier):
    """Such a method whose sums over rows take weights."""

    def fit(
        self,
        X: Array,
        y: Any,
        signatures: Any = None,
        *,
        sample_weight: Any = None,
        class_weight: Any = None,
        callback: Any = None,
    ) -> Self:
        """Learn from training rows, their classes and the signatures of the classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class: a data frame with a row per class, a mapping from class to vector, or an
            array with a row per class of sorted(set(y)). None stands for one-hot rows. Classes that are not in y become
            further candidates.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts: 2 is as if it were there twice, 0 as if it were not there. None counts all once.
        class_weight : {"balanced"}, mapping or None, default=None
            A factor of the weights of all rows of a class, by class; one that is not named has 1. "balanced" lets the
            rows of each class weigh the same together.
        callback : callable, default=None
            Never called, because the method has no steps.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, signatures, (sample_weight, class_weight))


def class_signatures(training: Training) -> Array:
    """(C, p) the mean of the signatures of each seen class."""
    return averaged(training.Y, training.rows, training.counts)


def averaged(Y: Array, rows: NumPyArray, counts: NumPyArray) -> Array:
    """(C, p) the mean of the signatures of each class: `rows` (C, m) of Y, of which `counts` (C,) are its own."""
    if rows.shape[1] == 1:
        return Y[like(rows[:, 0], Y, "int64")]
    own = np.arange(rows.shape[1]) < counts[:, None]  # (C, m): not padding
    weights = np.zeros((len(counts), Y.shape[0]))
    np.add.at(weights, (np.arange(len(own))[:, None], rows), own / counts[:, None])
    return Y.combined(weights) if are_sparse(Y) else like(weights, Y) @ Y


def members(training: Training) -> Array:
    """(n, C) 1 where a row is of a class, else 0."""
    classes = like(np.arange(len(training.sizes)), training.Y, "int64")
    return namespace(training.Y).astype(training.codes[:, None] == classes[None, :], training.Y.dtype)


def class_sums(training: Training, of: Callable[[Array, Array], Array] | None = None) -> Array:
    """(C, d) the sum of the training rows of each class, each times its weight.

    Or that of what `of` makes of rows (m, d) and their classes (m,).
    """
    X = training.X
    if are_sparse(X):
        assert of is None  # methods that take sparse rows add these up as they are
        added: Array = X.sums_by(to_numpy(training.codes), len(training.sizes), training.weights)
        return added
    sums = ClassSums(training, of)
    for rows, block in blocks(X):
        sums.add(rows, block)
    return sums.found


def sums_and_spectrum(training: Training) -> tuple[NumPyArray, NumPyArray, NumPyArray]:
    """`class_sums` (C, d), and basis and energy of `spectrum`, from one pass over the training rows."""
    sums = ClassSums(training)
    basis, energy = spectrum(training.X, training.weights, see=sums.add)
    return to_numpy(sums.found), basis, energy


class ClassSums:
    """`class_sums`, to which dense rows are added block by block."""

    def __init__(self, training: Training, of: Callable[[Array, Array], Array] | None = None) -> None:
        self._training, self._of = training, of
        self._sums: Array | None = None

    def add(self, rows: slice, block: Array) -> None:
        weights, codes = self._training.weights, self._training.codes[rows]
        classes = like(np.arange(len(self._training.sizes)), block, "int64")
        own = namespace(block).astype(classes[:, None] == codes[None, :], block.dtype)
        own = own if weights is None else own * like(weights[None, rows], block)
        part = own @ (block if self._of is None else self._of(block, codes))
        self._sums = part if self._sums is None else self._sums + part

    @property
    def found(self) -> Array:
        assert self._sums is not None  # there is at least one row
        return self._sums
