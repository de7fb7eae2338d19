"""What a fitted estimator answers: scores and classes of candidate classes for rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from zskl.arrays import Array, NumPyArray, namespace, to_numpy
from zskl.estimators import inputs
from zskl.estimators.candidates import softmax
from zskl.estimators.panel import Panel, best_first, check_out, filled
from zskl.estimators.temperature import temperature_of
from zskl.parameters import count

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier

Labels: TypeAlias = Sequence[Any] | NumPyArray
UNKNOWN = "unknown"  # what `predict` answers for a row that it rejects


def check_unknown(candidates: NumPyArray) -> None:
    """Refuse to reject rows where a class has the name that a rejected row gets."""
    if UNKNOWN in candidates.tolist():
        raise ValueError(
            f"reject was given, and a candidate class is called {UNKNOWN!r}, which is also the answer for a rejected "
            "row: expected classes with other names; rename it, leave it out of the candidates, or do not reject"
        )


class Ranking:
    """What a fitted estimator answers. It has `_scaled`, `_question` and `_answerer`, and the attributes of `fit`."""

    classes_: NumPyArray
    temperatures_: dict[str, float] | None

    def compatibility(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, out: Array | None = None
    ) -> Array:
        """
        Score each row against each candidate class, without calibration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`. A class with several scores the best of
            them. An array needs `candidates`, a name for each row.
        candidates : list of class names, default=None
            Which of these classes to rank; None takes all of them.
        out : array of shape (n_samples, n_candidates), default=None
            Where to write the scores, such as a writable np.memmap. Memory then holds one block of them at a time.

        Returns
        -------
        array of shape (n_samples, n_candidates)
            Scores, larger is better, in the library and on the device of X.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.compatibility([[1, 0]]).shape
        (1, 3)
        """
        panel, X = self._opened(X, signatures, candidates)
        if out is not None:
            check_out(out, (X.shape[0], len(panel.labels)), X)
        return filled(panel, X, lambda scores: scores, out)

    def iter_compatibility(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, block_rows: int | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """
        Score the rows block by block, so that memory holds one block at a time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to rank; None takes all of them.
        block_rows : int, default=None
            Rows in a block. None keeps features and scores of a block at some megabytes.

        Returns
        -------
        iterator of (slice, array)
            Rows, in order, and their scores as `compatibility` gives them.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> [scores.shape for _, scores in model.iter_compatibility([[1, 0], [0, 1], [1, 1]], block_rows=2)]
        [(2, 3), (1, 3)]
        """
        panel, X = self._opened(X, signatures, candidates)
        return panel.blocks(X, None if block_rows is None else count("block_rows", block_rows))

    def predict(
        self,
        X: Array,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        reject: float | None = None,
    ) -> NumPyArray:
        """
        Name the best candidate class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to rank; None takes all of them.
        calibrated : bool, default=True
            Whether to subtract `calibration_` from the scores of seen classes where seen and unseen ones compete.
        reject : float, default=None
            Answer "unknown" for a row whose best probability is below this number.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class names; with `reject` their type is object.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.predict([[0, 1], [1, 1]], candidates=["ant", "bee"]).tolist()
        ['ant', 'bee']
        >>> model.predict([[1, 0]], {"cow": [4, 0], "owl": [2, 2]}).tolist()  # classes it has never seen
        ['owl']
        """
        panel, X = self._opened(X, signatures, candidates, calibrated)
        if reject is not None and (
            isinstance(reject, bool) or not isinstance(reject, int | float | np.number) or not 0 <= reject <= 1
        ):
            raise ValueError(f"reject is {reject!r}: expected a probability between 0 and 1")
        if reject is not None:
            check_unknown(panel.labels)
        temperature = None if reject is None else temperature_of(self.temperatures_, panel.situation)
        answers = np.empty(X.shape[0], dtype=panel.labels.dtype if reject is None else object)
        for rows, scores in panel.blocks(X):
            answers[rows] = panel.labels[to_numpy(namespace(scores).argmax(scores, axis=1))]
            if temperature is not None:
                unsure = to_numpy(softmax(scores / temperature)).max(axis=1) < reject
                answers[rows][unsure] = UNKNOWN
        return answers

    def top_k(
        self,
        X: Array,
        k: int = 5,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        return_scores: bool = False,
    ) -> Any:
        """
        Name the k best candidate classes of each row, best first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        k : int, default=5
            How many classes to name.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to rank; None takes all of them.
        calibrated : bool, default=True
            Whether to subtract `calibration_` from the scores of seen classes where seen and unseen ones compete.
        return_scores : bool, default=False
            Whether to return the scores too.

        Returns
        -------
        ndarray of shape (n_samples, k), or a pair of such arrays
            Class names; with `return_scores` also their scores.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.top_k([[0, 1]], k=2).shape
        (1, 2)
        """
        panel, X = self._opened(X, signatures, candidates, calibrated)
        labels = panel.labels
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(labels):
            raise ValueError(f"k is {k!r}: expected an integer from 1 to {len(labels)}, the number of candidates")
        best = np.empty((X.shape[0], k), dtype=labels.dtype)
        values: NumPyArray | None = None
        for rows, scores in panel.blocks(X):
            order, of_block = best_first(to_numpy(scores), int(k))
            best[rows] = labels[order]
            if return_scores:
                values = np.empty(best.shape, dtype=of_block.dtype) if values is None else values
                values[rows] = of_block
        return (best, values) if return_scores else best

    def _opened(self, X: Array, given: Any, candidates: Any, calibrated: bool = False) -> tuple[Panel, Array]:
        model = cast("ZeroShotClassifier", self)  # the only class that inherits this one
        X = inputs.sliceable(model, X, dense_for=None)
        return Panel(model, given, candidates, calibrated), X
