"""The contract of every zero-shot classifier: input checks, scaling, candidates, saving.

`Ranking` and `ClassColumns` have the answers, `Inspection` what lies behind them, `Labelling` the rows to label next. A
method subclasses `ZeroShotClassifier`. It writes `_scores` on scaled arrays, and a `fit` that calls `_prepare`.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from zskl import scaling
from zskl.arrays import Array, NumPyArray, check_device, like, on_device
from zskl.estimators import inputs, model_file, no_signatures, sparse_inputs
from zskl.estimators.candidates import Question, as_in, best_of_rows, check_directions
from zskl.estimators.class_columns import ClassColumns
from zskl.estimators.default_grid import DefaultGrid
from zskl.estimators.inspection import Inspection
from zskl.estimators.labelling import Labelling
from zskl.estimators.ranking import UNKNOWN, Labels
from zskl.estimators.row_weights import NONE, Given, counted, row_weights
from zskl.estimators.selectable import Selectable
from zskl.estimators.temperature import UncalibratedWarning
from zskl.estimators.training_set import Training
from zskl.parameters import listed, one_of
from zskl.signatures import doubts
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, label_kind
from zskl.training.scaled_rows import ScaledRows

__all__ = ["SIGNATURE_MEANS", "UNKNOWN", "Labels", "Training", "UncalibratedWarning", "ZeroShotClassifier"]

log = logging.getLogger(__name__)

SIGNATURE_MEANS = ("seen", "all")


class ZeroShotClassifier(ClassColumns, Inspection, Labelling, Selectable, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """
    The contract of every zero-shot classifier of this library; subclass it to add a method.

    A zero-shot classifier ranks candidate classes, seen in training or not, by how well their signatures (the vectors
    that describe them) fit a sample. A subclass writes `fit`, which calls `_prepare`, and `_scores` on scaled arrays.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The seen classes, sorted: those with training rows.
    candidates_ : ndarray of shape (n_candidates,)
        The seen classes, then the further classes of the table, in its order.
    attribute_names_ : tuple of str or None
        Names of the columns of the signatures, if they have any.
    calibration_ : float
        What `predict` and `top_k` subtract from the scores of seen classes; 0 unless selection chose it.
    temperatures_ : dict or None
        What turns scores into probabilities, for "seen", "unseen" and "mixed" candidates.
    described_ : bool
        Whether classes have descriptions. Without signatures in `fit` they have none: the model is then an ordinary
        classifier, says so where you print it, and warns you where you ask it for other classes.

    See Also
    --------
    ZeroShotKernelClassifier : The method of the paper.

    Examples
    --------
    >>> from zskl import ZeroShotClassifier, baselines
    >>> issubclass(baselines.ESZSL, ZeroShotClassifier)
    True
    """

    kind: ClassVar[str]  # what a model file calls this estimator
    RANDOM: ClassVar[bool] = True  # whether another `random_state` gives another model
    LEARNED: ClassVar[Mapping[str, tuple[str, ...] | None]]  # what it scores with: see `model_file`
    LABELLED: ClassVar[tuple[str, ...]] = ()  # lists of class names among what it learns
    feature_scaling: str
    signature_scaling: str
    signature_mean: str
    device: str | None
    preparation_: str | None  # what a dataset with holes and words did to them: rows of a table need it, arrays do not
    backbone_: str | None  # the network that made the features, of a model that `zskl fit` has written
    described_: bool
    _warned: bool  # that it has no descriptions
    SUMMARY: ClassVar[str]  # of a published method: one sentence
    GRID: ClassVar[DefaultGrid]  # of a published method: the values that selection tries by default

    # What a method provides ------------------------------------------------------------------------------------------

    def _scores(self, X: Array, Y: Array) -> Array:
        """Scores (n, rows) of scaled samples X (n, d) for scaled signatures Y (rows, p); larger is better."""
        raise AttributeError(f"{type(self).__name__} defines no scores")

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        """`_scores` for these signatures and any X. Methods with much work for Y alone override this instead."""
        return lambda X: self._scores(X, Y)

    def _nameless_scorer(self, Y: Array) -> Callable[[Array], Array]:
        """The same for raw signatures Y (rows, p) of classes without names. Methods that need names override this."""
        return self._scorer(self.signature_scaling_.apply(Y))

    # Fitting ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the estimator as it was."""
        before, began = dict(self.__dict__), time.perf_counter()
        try:
            yield
            if "candidates_" in vars(self):
                seen, every = len(self.classes_), len(self.candidates_)
                sizes = f"{self.n_features_in_} features, {seen} classes seen of {every}"
                log.info("%s fitted: %s, %.2f s", type(self).__name__, sizes, time.perf_counter() - began)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _prepare(
        self,
        X: Array,
        y: Any,
        table: Any,
        read: type[ScaledRows] | None = None,
        values: bool = True,
        weights: Given = NONE,
    ) -> Training:
        """Check the input, set what every fitted estimator has, and return the scaled training set.

        Its X is an array, or `read`, which reads the rows: one that makes a copy of them (`copied`) is not needed then.
        Without `values` the numbers in X are left to whoever reads them. Rows of weight 0 are left out.
        """
        one_of("signature_mean", self.signature_mean, SIGNATURE_MEANS)
        check_device(self.device)
        for name in ("feature_scaling", "signature_scaling"):
            scaling.parse(getattr(self, name), name)
        X, y = inputs.check_training(self, X, y, values=values)
        X, y, weighed = counted(X, y, row_weights(y, *weights))
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds 1 class only ({listed(self.classes_)}): training needs rows of at least 2 classes"
            )
        seen = self._describe(table)
        doubts.warn_of(self.signature_table_, table)
        rows = (read or ScaledRows)(X, self.device)
        self.feature_scaling_ = rows.fit_scaling(self.feature_scaling, weighed)
        place = rows[:0]  # whose values nobody has checked yet
        return Training(
            X=rows.whole() if read is None or rows.copied else rows,
            codes=like(codes, place, "int64"),
            Y=like(self.signature_scaling_.apply(seen.matrix), place),
            rows=seen.padded_rows(),
            counts=seen.counts,
            sizes=np.bincount(codes, weighed, minlength=len(self.classes_)),
            weights=weighed,
        )

    def _describe(self, given: Any) -> SignatureTable:
        """Set all that `fit` learns from signatures and from the seen classes alone; the table of these."""
        table = tables.one_hot(self.classes_) if given is None else tables.read(given, self.classes_)
        sparse_inputs.check_signatures(self, table)
        if given is not None:
            check_directions(self, table)
        known = set(table.labels.tolist())
        missing = [label for label in self.classes_.tolist() if label not in known]
        if self.classes_.dtype.kind in "iu" and table.labels.dtype.kind == "f":
            table = tables.with_whole_labels(table)
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
        more = as_in(self.classes_, tables.as_labels(further, "signatures")) if further else self.classes_[:0]
        self.candidates_ = np.concatenate([self.classes_, more])
        self.signature_table_ = table.select(self.candidates_)
        self.attribute_names_ = table.names
        self.described_ = given is not None
        self.__dict__.pop("_warned", None)
        described = self.signature_table_.select(self.classes_)
        mean_over = described.matrix if self.signature_mean == "seen" else self.signature_table_.matrix
        self.signature_scaling_ = scaling.fit(self.signature_scaling, mean_over, "signature_scaling")
        self.calibration_ = 0.0
        self.temperatures_: dict[str, float] | None = None
        return described

    # Prediction: the methods of `Ranking` and `ClassColumns` call these -----------------------------------------------

    def _scaled(self, X: Array) -> Array:
        """Checked rows, scaled, on the device that computes."""
        return self.feature_scaling_.apply(on_device(X, self.device))

    def _question(self, scaled: Array, table: SignatureTable) -> Question:
        """The candidates of a table, where rows `scaled` are: several models of one scaling can be asked the same."""
        Y = like(self.signature_scaling_.apply(table.matrix), scaled)
        return Question(Y, table.padded_rows(), as_in(self.classes_, table.classes))

    def _answerer(self, question: Question) -> Callable[[Array], Array]:
        """Scaled samples (n, d) → scores (n, c)."""
        scores = self._scorer(question.Y)
        return lambda X: best_of_rows(scores(X), question.rows)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = str(super().__repr__(N_CHAR_MAX))
        return shown if vars(self).get("described_", True) else shown + no_signatures.SHOWN

    # Model files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """
        Write the fitted model to one file, whole or not at all.

        The file is in the safetensors format with a JSON header. It holds numbers and names, never code.

        Parameters
        ----------
        path : str or path-like
            Where to write it. A file that is there is replaced.

        See Also
        --------
        zskl.load : Reads the file.

        Examples
        --------
        >>> import os, tempfile, zskl
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = zskl.ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> path = os.path.join(tempfile.mkdtemp(), "insects.zskl")
        >>> model.save(path)
        >>> zskl.load(path).candidates_.tolist()
        ['ant', 'bee', 'emu']
        """
        check_is_fitted(self)
        model_file.write(path, *self._packed())

    def _packed(self) -> tuple[dict[str, Any], dict[str, NumPyArray]]:
        return model_file.pack(self, self._stored)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, NumPyArray], known: Any = None) -> Self:
        """The estimator that `save` wrote; `known` are possible members, by kind."""
        parameters = {name: cls._unstored(name, value) for name, value in header["parameters"].items()}
        return model_file.unpack(cls(**parameters), header, arrays, cls._unstored)

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


no_signatures.wrapped_as_usual(ZeroShotClassifier)
