"""The contract of every zero-shot classifier: input checks, scaling, candidates, prediction, saving.

A method subclasses `ZeroShotClassifier` and writes `_scores` on scaled arrays plus a `fit` that calls `_prepare`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from zskl import inputs, packing, persistence, preprocessing, signatures
from zskl.arrays import Array, check_device, like, namespace, on_device, to_numpy
from zskl.candidates import Question, as_in, best_of_rows, choose, softmax
from zskl.parameters import one_of
from zskl.signatures import label_kind, listed
from zskl.solver import DivergenceError

Labels: TypeAlias = Sequence[Any] | np.ndarray[Any, Any]
SIGNATURE_MEANS = ("seen", "all")
UNKNOWN = "unknown"  # what `predict` answers for a row that it rejects


class UncalibratedWarning(UserWarning):
    """Probabilities of a model whose temperature nobody has fitted."""


@dataclass(frozen=True)
class Training:
    """What a method trains on, scaled, float32, where it is to be computed."""

    X: Array  # (n, d)
    codes: Array  # (n,) index of each row's class in `classes_`
    Y: Array  # (rows, p) signatures of the seen classes, class by class
    rows: np.ndarray[Any, Any]  # (C, m) rows of Y for each class, padded with its first
    counts: np.ndarray[Any, Any]  # (C,) how many of them are its own
    sizes: np.ndarray[Any, Any]  # (C,) training rows of each class


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Ranks candidate classes, trained on or not, by the compatibility of their signatures with a sample."""

    kind: ClassVar[str]  # what a model file calls this estimator
    LEARNED: ClassVar[
        Mapping[str, tuple[str, ...] | None]
    ]  # what it scores with: array shapes as of `packing`, or None
    FREE: ClassVar[tuple[str, ...]] = ()  # settings of which one fit serves all values, such as the number of epochs
    feature_scaling: str
    signature_scaling: str
    signature_mean: str
    device: str | None

    # What a method provides ------------------------------------------------------------------------------------------

    def _scores(self, X: Array, Y: Array) -> Array:
        """Scores (n, rows) of scaled samples X (n, d) for scaled signatures Y (rows, p); larger is better."""
        raise AttributeError(f"{type(self).__name__} defines no scores")

    def _free(self, X: Array) -> tuple[str, ...]:
        """Settings in which those handed to `_fit_together` for training rows X may differ."""
        return self.FREE

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        """Fit a clone for each setting, in any order, and hand it to `visit` with the setting's place.

        The settings differ in `_free(X)` alone. A model may change after the visit; a place that is visited anew
        with a `DivergenceError` takes back what was seen there. Methods that can share work write this anew.
        """
        for place, setting in enumerate(settings):
            try:
                visit(place, clone(self).set_params(**setting).fit(X, y, signatures))
            except DivergenceError as error:
                visit(place, error)

    # Fitting ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the estimator as it was."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _prepare(self, X: Array, y: Any, table: Any) -> Training:
        """Check the input, set what every fitted estimator has, and return the scaled training set."""
        one_of("signature_mean", self.signature_mean, SIGNATURE_MEANS)
        check_device(self.device)
        for name in ("feature_scaling", "signature_scaling"):
            preprocessing.parse(getattr(self, name), name)
        X, y = inputs.check_training(self, X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds 1 class only ({listed(self.classes_)}): training needs rows of at least 2 classes"
            )
        self._describe(table)
        seen = self.signature_table_.select(self.classes_)
        mean_over = seen.matrix if self.signature_mean == "seen" else self.signature_table_.matrix
        self.signature_scaling_ = preprocessing.fit(self.signature_scaling, mean_over, "signature_scaling")
        X = on_device(X, self.device)
        self.feature_scaling_ = preprocessing.fit(self.feature_scaling, X, "feature_scaling")
        self.calibration_ = 0.0
        self.temperatures_: dict[str, float] | None = None
        scaled = self.feature_scaling_.apply(X)
        scaled = like(scaled, scaled, "float32")
        return Training(
            X=scaled,
            codes=like(codes, scaled, "int64"),
            Y=like(self.signature_scaling_.apply(seen.matrix), scaled),
            rows=seen.padded_rows(),
            counts=np.array([len(group) for group in signatures.rows_of(seen.labels).values()]),
            sizes=np.bincount(codes, minlength=len(self.classes_)),
        )

    def _describe(self, given: Any) -> None:
        """Set `signature_table_`, `candidates_` and `attribute_names_` from what `fit` was handed."""
        table = signatures.one_hot(self.classes_) if given is None else signatures.read(given, self.classes_)
        known = set(table.labels.tolist())
        missing = [label for label in self.classes_.tolist() if label not in known]
        if self.classes_.dtype.kind in "iu" and table.labels.dtype.kind == "f":
            table = signatures.with_whole_labels(table)
        mine, theirs = label_kind(self.classes_, "y"), label_kind(table.labels, "signatures")
        if mine != theirs and "boolean" in (mine, theirs):
            raise ValueError(f"labels in y are {mine}s, in signatures {theirs}s: use the same type for both")
        if missing:
            types = f" (labels in y are {mine}s, in signatures {theirs}s)" if mine != theirs else ""
            raise ValueError(
                f"no signature for class {listed(missing)}{types}: every label in y needs a row in signatures; "
                f"those there are {listed(table.classes)}"
            )
        seen = set(self.classes_.tolist())
        further = [label for label in table.classes.tolist() if label not in seen]
        more = as_in(self.classes_, signatures.as_labels(further, "signatures")) if further else self.classes_[:0]
        self.candidates_ = np.concatenate([self.classes_, more])
        self.signature_table_ = table.select(self.candidates_)
        self.attribute_names_ = table.names

    # Prediction ------------------------------------------------------------------------------------------------------

    def compatibility(self, X: Array, signatures: Any = None, candidates: Labels | None = None) -> Array:
        """Raw scores (n, c) of the candidate classes, larger is better, in the library and on the device of X.

        Candidates are the classes of `signatures` (default: `candidates_`), or those of them named in `candidates`. A
        class with several signatures scores the best of them. An array of signatures needs `candidates`, a name a row.
        """
        return self._rank(X, signatures, candidates)[0]

    def predict(
        self,
        X: Array,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        reject: float | None = None,
    ) -> np.ndarray[Any, Any]:
        """The best candidate class of each row (n,). `calibrated` takes `calibration_` off the seen classes where
        candidates mix seen and unseen ones. With `reject`, a row whose best probability is below it is answered
        "unknown", and labels are objects."""
        scores, labels, situation = self._calibrated(X, signatures, candidates, calibrated)
        best: np.ndarray[Any, Any] = labels[to_numpy(namespace(scores).argmax(scores, axis=1))]
        if reject is None:
            return best
        if isinstance(reject, bool) or not isinstance(reject, int | float | np.number) or not 0 <= reject <= 1:
            raise ValueError(f"reject={reject!r}: expected a probability between 0 and 1")
        answers = best.astype(object)
        answers[to_numpy(self._probabilities(scores, situation)).max(axis=1) < reject] = UNKNOWN
        return answers

    def predict_proba(
        self,
        X: Array,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
    ) -> Array:
        """Probabilities (n, c) of the candidate classes, in the order of `compatibility`.

        softmax(scores / T), with `calibration_` taken off as in `predict`. T is one of `temperatures_`, fitted on
        validation classes by `zskl.selection`: for candidates that are all "seen", all "unseen", or "mixed". Of a model
        that was only fitted, T is 1 and a warning says so.
        """
        scores, _, situation = self._calibrated(X, signatures, candidates, calibrated)
        return self._probabilities(scores, situation)

    def top_k(
        self,
        X: Array,
        k: int = 5,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        return_scores: bool = False,
    ) -> Any:
        """The k best candidate classes of each row (n, k), best first; with `return_scores` a pair (labels, scores)."""
        scores, labels, _ = self._calibrated(X, signatures, candidates, calibrated)
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(labels):
            raise ValueError(f"k={k!r}: expected an integer from 1 to {len(labels)}, the number of candidates")
        values = to_numpy(scores)
        order = np.argsort(-values, axis=1, kind="stable")[:, :k]
        return (labels[order], np.take_along_axis(values, order, axis=1)) if return_scores else labels[order]

    def score(
        self, X: Array, y: Any, sample_weight: Any = None, signatures: Any = None, candidates: Labels | None = None
    ) -> float:
        """Accuracy of `predict` over rows, scikit-learn's score; `protocols` and `metrics` average over classes."""
        return float(accuracy_score(y, self.predict(X, signatures, candidates), sample_weight=sample_weight))

    def decision_function(self, X: Array) -> Array:
        """Raw scores over `classes_`, in scikit-learn's shape: (n, C), or (n,) for two classes."""
        scores = self.compatibility(X, candidates=self._fitted_classes())
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _fitted_classes(self) -> np.ndarray[Any, Any]:
        check_is_fitted(self)
        return self.classes_

    def _calibrated(self, X: Array, table: Any, candidates: Any, calibrated: bool) -> tuple[Array, Any, str]:
        """Scores as `predict` compares them, the candidates' labels, and whether these are seen, unseen or mixed."""
        scores, labels = self._rank(X, table, candidates)
        known = set(self.classes_.tolist())
        seen = np.array([label in known for label in labels.tolist()])
        situation = "seen" if seen.all() else "mixed" if seen.any() else "unseen"
        if calibrated and self.calibration_ and situation == "mixed":
            scores = scores - like(self.calibration_ * seen, scores)
        return scores, labels, situation

    def _probabilities(self, scores: Array, situation: str) -> Array:
        if self.temperatures_ is None:
            warnings.warn(
                "the probabilities of this model are not calibrated: their order is right, their size is not; "
                "fit it by selection.tune, or call selection.calibrate on it",
                UncalibratedWarning,
                stacklevel=3,
            )
        temperature = 1.0 if self.temperatures_ is None else self.temperatures_[situation]
        return softmax(scores / temperature)

    def _rank(self, X: Array, given: Any, candidates: Any) -> tuple[Array, np.ndarray[Any, Any]]:
        question = self._question(X, given, candidates)
        return like(self._answer(question), question.X), question.labels

    def _question(self, X: Array, given: Any, candidates: Any) -> Question:
        """Checked and scaled, so that several models of one scaling can be asked the same."""
        X = inputs.check_features(self, X)
        table = choose(self, given, candidates)
        scaled = self.feature_scaling_.apply(on_device(X, self.device))
        Y = like(self.signature_scaling_.apply(table.matrix), scaled)
        return Question(X, scaled, Y, table.padded_rows(), as_in(self.classes_, table.classes))

    def _answer(self, question: Question) -> Array:
        return best_of_rows(self._scores(question.scaled, question.Y), question.rows)

    # Model files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file (safetensors with a JSON header), whole or not at all."""
        check_is_fitted(self)
        persistence.write(path, *packing.pack(self, self._stored))

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> Self:
        """The estimator that `save` wrote."""
        parameters = {name: cls._unstored(name, value) for name, value in header["parameters"].items()}
        return packing.unpack(cls(**parameters), header, arrays, cls._unstored)

    def _stored(self, name: str, value: Any) -> Any:
        """A parameter, or something learned, as JSON; a generator as random_state is not kept."""
        if name == "random_state" and not isinstance(value, int | np.integer):
            return None
        if name == "device":
            return None if value is None else str(value)
        return value.item() if isinstance(value, np.generic) else value

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        return value
