"""Training rows that come in pieces: sums are added, and the model is worked out from them when it is used."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from zskl import scaling
from zskl.arrays import Array, NumPyArray, check_device, on_device, on_gpu, to_numpy
from zskl.estimators import inputs
from zskl.estimators.class_means.sums import Sums, add_up
from zskl.estimators.class_means.teaching import Teaching
from zskl.estimators.estimator import SIGNATURE_MEANS
from zskl.estimators.row_weights import counted, row_weights
from zskl.parameters import listed, one_of
from zskl.signatures import doubts
from zskl.signatures import table as tables
from zskl.signatures.labels import one_spelling
from zskl.signatures.table import label_kind


class Pieces(Teaching):
    """Methods of `ClassMeansClassifier` that learn from sums of rows."""

    _sums: Sums  # of all training rows
    _given: Any  # the signatures: a table that has been read, or as they were handed over

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _finish(self) -> None:
        raise NotImplementedError

    def _added_up(
        self, X: Array, codes: NumPyArray, classes: NumPyArray, keep: bool, weights: NumPyArray | None
    ) -> Sums:
        gpu = on_gpu(X, self.device)

        def scaled(rows: slice) -> tuple[Array, Array]:
            raw = inputs.taken(self, X, rows)
            placed = on_device(raw, self.device)  # of a tensor on a CPU NumPy needs less time and memory
            return raw, self.feature_scaling_.apply(placed if gpu else to_numpy(placed))

        return add_up(X, codes, classes, scaled, keep, self.feature_scaling, weights, gpu)

    def partial_fit(
        self, X: Array, y: Any, signatures: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """
        Learn from one more piece of the training rows. Pieces in any order give the model that `fit` gives at once.

        The model is worked out from the sums of all pieces when you first use it. What it learned from examples and
        unlabelled rows is dropped, and so is its calibration, as by `fit`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            A piece of the training rows.
        y : array-like of shape (n,)
            Their classes. New classes may come with any piece.
        signatures : DataFrame, mapping or array-like, default=None
            The descriptions, as for `fit`. None keeps those of the pieces before; a table replaces them.
        classes : list of class names, default=None
            The classes that may come, as in scikit-learn: a class in y that is not among them is refused.
        sample_weight : array-like of shape (n,), default=None
            How often each row of this piece counts, as for `fit`.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ClassMeansClassifier().partial_fit([[0, 1]], ["ant"], table)
        >>> model.partial_fit([[1, 1]], ["bee"]).predict([[1, 1]], candidates=["ant", "bee"]).tolist()
        ['bee']
        """
        with self._all_or_nothing():
            self._check_parameters()
            piece = self.sums(X, y, sample_weight)
            before = vars(self).get("_sums")
            if before is None and "classes_" in vars(self):
                raise ValueError(
                    "this model was loaded from a file, which does not hold the sums of its training rows: "
                    "partial_fit goes on only with a model that this process has fitted; fit a new one"
                )
            if before is not None and label_kind(before.classes, "y") != label_kind(piece.classes, "y"):
                raise ValueError(
                    f"this piece names classes by {label_kind(piece.classes, 'y')}s such as {listed(piece.classes)}, "
                    f"the pieces before by {label_kind(before.classes, 'y')}s: use one type for all"
                )
            given = vars(self).get("_given") if signatures is None else signatures
            self._take_sums(piece if before is None else before + piece, given)
            if classes is not None:
                self._check_announced(classes)
        return self

    def sums(self, X: Array, y: Any, sample_weight: Any = None) -> Sums:
        """
        Add up a piece of the training rows, elsewhere if you like: what workers send back, to be merged by `+`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            A piece of the training rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts, as for `fit`.

        Returns
        -------
        Sums
            Its size depends on the number of features and classes, not on n. Hand the sum of all pieces to `fit_sums`.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> model = ClassMeansClassifier()
        >>> both = model.sums([[0, 1]], ["ant"]) + model.sums([[1, 1]], ["bee"])
        >>> model.fit_sums(both, {"ant": [6, 0], "bee": [6, 2]}).classes_.tolist()
        ['ant', 'bee']
        """
        self._check_parameters()
        fitted = [step for step in scaling.parse(self.feature_scaling, "feature_scaling") if step in scaling.FITTED]
        if fitted:
            raise ValueError(
                f"feature_scaling is {self.feature_scaling!r}: its step {fitted[0]!r} needs all training rows at "
                "once, so they cannot come in pieces; use 'sqrt-l2', 'l2' or 'none', or call fit"
            )
        check_device(self.device)
        first = "n_features_in_" not in vars(self)
        checker = self if vars(self).get("_sums") is not None or first else clone(self)
        X, y = inputs.check_training(checker, X, y, values=False, reset=first or checker is not self)
        self.feature_scaling_ = scaling.Scaling(scaling.parse(self.feature_scaling, "feature_scaling"))
        before = vars(self).get("_sums")
        y = one_spelling(y, () if before is None else before.classes.tolist())
        X, y, weights = counted(X, y, row_weights(y, sample_weight))
        classes, codes = np.unique(y, return_inverse=True)
        return self._added_up(X, codes, classes, self.crowding > 0, weights)

    def fit_sums(self, sums: Sums, signatures: Any = None) -> Self:
        """
        Fit from sums of the training rows, such as those that workers have computed.

        Parameters
        ----------
        sums : Sums
            Those of all training rows: what `sums` returns for pieces, added.
        signatures : DataFrame, mapping or array-like, default=None
            The descriptions, as for `fit`.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> model = ClassMeansClassifier()
        >>> both = model.sums([[0, 1]], ["ant"]) + model.sums([[1, 1]], ["bee"])
        >>> model.fit_sums(both).predict([[1, 1]]).tolist()
        ['bee']
        """
        with self._all_or_nothing():
            self._check_parameters()
            if not isinstance(sums, Sums) or sums.scaling != self.feature_scaling:
                found = f"of rows scaled by {sums.scaling!r}" if isinstance(sums, Sums) else f"{sums!r:.60}"
                raise ValueError(
                    f"sums is {found}: expected what `sums` of a model with "
                    f"feature_scaling={self.feature_scaling!r} returns"
                )
            self.n_features_in_ = len(sums.products)
            self.feature_scaling_ = scaling.Scaling(scaling.parse(self.feature_scaling, "feature_scaling"))
            self._take_sums(sums, signatures)
            if len(sums.classes) < 2:
                raise ValueError(
                    f"the sums hold 1 class only ({listed(sums.classes)}): training needs rows of at least 2 classes"
                )
        return self

    def _take_sums(self, sums: Sums, given: Any) -> None:
        """Let these be the sums of all training rows; the rest is worked out when it is used."""
        one_of("signature_mean", self.signature_mean, SIGNATURE_MEANS)
        described = tables.read_once(given)
        self._forget()
        self._sums, self._given = sums, described
        for name in (*self.LEARNED, "candidates_"):
            self.__dict__.pop(name, None)
        if len(sums.classes) > 1:
            self.classes_ = sums.classes
            self._describe(described)
            doubts.warn_of(self.signature_table_, given)
            self._start_teaching()

    def _check_announced(self, classes: Any) -> None:
        unknown = [
            label
            for label in self._sums.classes.tolist()
            if label not in set(tables.as_labels(classes, "classes", self._sums.classes.tolist()).tolist())
        ]
        if unknown:
            raise ValueError(
                f"y holds {listed(unknown)}, which `classes` does not name: name every class that may come"
            )

    def __sklearn_is_fitted__(self) -> bool:
        if "candidates_" not in vars(self) and "_sums" in vars(self):
            raise NotFittedError(
                "this model is not fitted yet, since all pieces so far hold 1 class only "
                f"({listed(self._sums.classes)}): training needs rows of at least 2 classes; "
                "call partial_fit with rows of another"
            )
        return "candidates_" in vars(self)

    def __getattr__(self, name: str) -> Any:
        """What is learned from sums is worked out when it is first asked for."""
        if name in type(self).LEARNED and "_sums" in vars(self) and "candidates_" in vars(self):
            self._finish()
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
