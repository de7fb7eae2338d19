"""What a fitted model learns later: from labelled examples and from unlabelled rows. The model itself never changes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, like, to_numpy
from zskl.estimators import inputs
from zskl.estimators.candidates import best_of_rows
from zskl.estimators.class_means.adapting import Adapting
from zskl.estimators.class_means.moves import moves
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.ranking import Labels
from zskl.parameters import listed
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, label_kind

log = logging.getLogger(__name__)


class Teaching(Adapting):
    """Methods of `ClassMeansClassifier` that give a new fitted model with more evidence."""

    def add_examples(self, X: Array, y: Any, signatures: Any = None, *, wrong: Any = False) -> Self:
        """
        Give a new model that has also learned from labelled rows. This one stays as it is.

        The classes may be seen, unseen or new, with or without a description. `classes_` stays what `fit` saw.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The examples.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            Descriptions of new classes, as for `fit`. A new class without one is known by its examples alone.
        wrong : bool or array-like of shape (n,), default=False
            True for rows that are marked as not of their class in y: their mean counts against it.

        Returns
        -------
        ClassMeansClassifier
            The new model. Classes with examples are among its `candidates_`, and stay unseen for calibration.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> taught = model.add_examples([[5, 0], [4, 0]], ["cow", "cow"])
        >>> taught.predict([[3, 0]]).tolist(), "cow" in model.candidates_
        (['cow'], False)
        """
        check_is_fitted(self)
        X = inputs.check_features(self, X, "add_examples")
        labels = _labels(self, y, X.shape[0])
        marked = _marked(wrong, X.shape[0])
        new = self._copy()
        new._describe_more(signatures, labels, marked)
        hat = to_numpy(self._hat(self._scaled(X))).astype(np.float32)
        new.examples_ = np.concatenate([self.examples_, hat])
        new.example_weights_ = np.concatenate([self.example_weights_, np.where(marked, -1.0, 1.0)])
        new.example_classes_ = [*self.example_classes_, *labels.tolist()]
        new._settle()
        return new

    def remove_examples(self, X: Array | None = None, y: Any = None) -> Self:
        """
        Give a new model without some of the examples. This one stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d), default=None
            The examples to remove, as they were added. None removes all examples of the classes in y.
        y : array-like, default=None
            The class of each row in X, or, without X, the classes. None and no X removes all examples.

        Returns
        -------
        ClassMeansClassifier
            The new model. A class that had nothing but these examples is no longer a candidate.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> taught = model.add_examples([[5, 0], [4, 0]], ["cow", "cow"])
        >>> taught.remove_examples(y=["cow"]).candidates_.tolist()
        ['ant', 'bee', 'emu']
        """
        check_is_fitted(self)
        keep = np.ones(len(self.example_classes_), dtype=bool)
        if X is None:
            known = self.example_classes_
            wanted = set(known if y is None else tables.as_labels(y, "y", known).tolist())
            unknown = sorted(map(str, wanted - set(self.example_classes_)))
            if unknown or not len(keep):
                have = listed(dict.fromkeys(self.example_classes_)) if len(keep) else "none"
                raise ValueError(
                    f"there are no examples of {listed(unknown) if unknown else 'any class'} to remove: the model has "
                    f"examples of {have}"
                )
            keep = np.array([label not in wanted for label in self.example_classes_])
        else:
            X = inputs.check_features(self, X, "remove_examples")
            labels = _labels(self, y, X.shape[0])
            hat = to_numpy(self._hat(self._scaled(X))).astype(np.float32)
            places = {
                label: np.array(rows) for label, rows in tables.rows_of(np.array(self.example_classes_, object)).items()
            }
            for number, (row, label) in enumerate(zip(hat, labels.tolist(), strict=True)):
                mine = places.get(label, np.empty(0, dtype=int))
                mine = mine[keep[mine]]
                mine = mine[np.abs(self.examples_[mine] - row).max(axis=1, initial=0.0) < 1e-4]
                if not len(mine):
                    raise ValueError(
                        f"row {number} of X is not among the examples of {label!r}: hand over rows as they were added, "
                        "or leave X out to remove all examples of the classes in y"
                    )
                keep[mine[0]] = False
        new = self._copy()
        new.examples_, new.example_weights_ = self.examples_[keep], self.example_weights_[keep]
        new.example_classes_ = [label for label, kept in zip(self.example_classes_, keep, strict=True) if kept]
        new._drop_undescribed()
        new._settle()
        return new

    def adapt(
        self,
        X: Array,
        candidates: Labels | str | None = None,
        *,
        force: bool = False,
        balance: float | None = None,
    ) -> Self:
        """
        Give a new model that has also learned from unlabelled rows. This one stays as it is.

        Each row counts for a class as far as the model believes that it is of that class. How much, and whether this
        helps at all, is what `zskl.selection` found on validation classes (`practice_`).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows whose classes nobody knows.
        candidates : {"unseen", "all"}, list of class names or None, default=None
            The classes that the rows may be of. None and "unseen" stand for the candidates without training rows,
            "all" for all candidates. Only classes without training rows take rows up.
        force : bool, default=False
            Whether to adapt even if nothing says that it helps.
        balance : float between 0 and 1, default=None
            How far to draw the masses of the classes together. Use 1 if you know that each candidate has about as many
            of the rows: this helps then, and harms otherwise. None leaves it to what validation classes said.

        Returns
        -------
        ClassMeansClassifier
            The new model. Its `adaptation_` says what changed, and whether the rounds came to rest.

        Raises
        ------
        NoClearGain
            A ValueError: validation classes, or these rows, do not promise a gain.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier, datasets, protocols
        >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
        >>> model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
        >>> adapted = model.adapt(data.samples("test_unseen")[0], force=True)
        >>> adapted.adaptation_["rows"] == len(data.parts["test_unseen"])
        True
        """
        check_is_fitted(self)
        return self._adapt(inputs.check_features(self, X, "adapt"), candidates, force, balance)

    def _mover(self, scaled: Array, table: SignatureTable) -> Callable[[Array], Array]:
        """Of a class with several signatures the direction that moves most counts."""
        question = self._question(scaled, table)
        now, described = self._directions(question), self._described(question)
        evidence = self._evidence(question, more=1)
        then = like(evidence.weights[:, None], described) * described + like(evidence.sums, described)
        return lambda X: best_of_rows(moves(self._hat(X), now, then), question.rows)

    def _row_directions(self, scaled: Array) -> Array:
        return self._hat(scaled)


def _labels(model: ZeroShotClassifier, y: Any, n: int) -> NumPyArray:
    if y is None:
        raise ValueError("y is None: expected a class name for each row of X")
    labels: NumPyArray = tables.as_labels(y, "y", model.candidates_.tolist())
    if len(labels) != n:
        raise ValueError(f"X has {n} rows but y has {len(labels)} labels: expected one label for each row")
    mine, theirs = label_kind(model.classes_, "y"), label_kind(labels, "y")
    if mine != theirs:
        raise ValueError(f"y names classes by {theirs}s such as {listed(labels)}, the model by {mine}s: use its type")
    return labels


def _marked(wrong: Any, n: int) -> NDArray[np.bool_]:
    marked = np.asarray(wrong)
    if marked.dtype != np.bool_ or marked.shape not in ((), (n,)):
        raise ValueError(f"wrong is {str(wrong)[:60]}: expected True, False, or one of them for each of the {n} rows")
    return np.broadcast_to(marked, (n,))
