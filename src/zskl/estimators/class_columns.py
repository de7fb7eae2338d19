"""What scikit-learn's scorers read: a column for each of `classes_`, unless the caller chooses the candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array
from zskl.estimators import inputs, no_signatures
from zskl.estimators.candidates import softmax
from zskl.estimators.panel import filled
from zskl.estimators.ranking import Labels, Ranking
from zskl.estimators.temperature import temperature_of

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier


class ClassColumns(Ranking):
    """Probabilities, decisions and accuracy of a fitted estimator."""

    def predict_proba(
        self,
        X: Array,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
    ) -> Array:
        """
        Give the probability of each class for each row: softmax(scores / T).

        Without `signatures` and `candidates` there is one column for each of `classes_`, as scikit-learn's scorers
        expect. The softmax is over these alone: how likely a class is if the row is of one of them. Pass
        `candidates=model.candidates_` to let all classes compete that `predict` chooses from.

        The temperature T is one of `temperatures_`, which `zskl.selection` fits on validation classes: one for
        candidates that are all seen, one for all unseen, one for both. If nobody has fitted them, T is 1 and an
        `UncalibratedWarning` says so.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which classes to rank; None takes all of `signatures`, or, without these, `classes_`.
        calibrated : bool, default=True
            Whether to subtract `calibration_` from the scores of seen classes where seen and unseen ones compete.

        Returns
        -------
        array of shape (n_samples, n_candidates), or (n_samples, n_classes) without a choice
            Probabilities, which sum to 1 in each row.

        Examples
        --------
        >>> import warnings
        >>> from zskl import UncalibratedWarning
        >>> warnings.simplefilter("ignore", UncalibratedWarning)
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.predict_proba([[1, 0]]).shape, model.predict_proba([[1, 0]], candidates=model.candidates_).shape
        ((1, 2), (1, 3))
        """
        panel, X = self._opened(X, signatures, self._columns(signatures, candidates), calibrated)
        temperature = temperature_of(self.temperatures_, panel.situation)
        return filled(panel, X, lambda scores: softmax(scores / temperature))

    def decision_function(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, calibrated: bool = True
    ) -> Array:
        """
        Score each row against the seen classes, in scikit-learn's shape, or against candidates that you choose.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which classes to rank; None takes all of `signatures`, or, without these, `classes_`.
        calibrated : bool, default=True
            Whether to subtract `calibration_` from the scores of seen classes where seen and unseen ones compete.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores over `classes_`. With `signatures` or `candidates` one column for each candidate.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.decision_function([[1, 0], [0, 1]]).shape  # of two classes, the second against the first
        (2,)
        """
        panel, X = self._opened(X, signatures, self._columns(signatures, candidates), calibrated)
        scores = filled(panel, X, lambda scores: scores)
        chosen = signatures is not None or candidates is not None
        return scores if chosen or scores.shape[1] != 2 else scores[:, 1] - scores[:, 0]

    def score(
        self, X: Array, y: Any, sample_weight: Any = None, signatures: Any = None, candidates: Labels | None = None
    ) -> float:
        """
        Give the share of rows that `predict` answers right, as scikit-learn's `score` does.

        `zskl.protocols` and `zskl.metrics` average over classes instead.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to rank; None takes all of them.

        Returns
        -------
        float
            Accuracy over rows, between 0 and 1.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.score([[0, 1], [1, 1]], ["ant", "bee"])
        1.0
        """
        from sklearn.metrics import accuracy_score  # takes long to import, and only this needs it

        answers = self.predict(X, signatures, candidates)
        true = inputs.labels(y, answers.tolist())
        if signatures is None:
            no_signatures.warn_once(
                cast("ZeroShotClassifier", self), np.unique(np.asarray(true)).tolist(), stacklevel=2
            )
        return float(accuracy_score(true, answers, sample_weight=sample_weight))

    def _columns(self, signatures: Any, candidates: Labels | None) -> Labels | None:
        """The candidates of what scikit-learn's scorers read: `classes_`, unless the caller chooses."""
        check_is_fitted(self)
        return self.classes_ if signatures is None and candidates is None else candidates
