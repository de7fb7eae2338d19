"""The base class of every zero-shot classifier: input checks, scaling, candidates, answers, explanations, saving. A
method writes `_scores` on scaled arrays, and a `fit` that calls `_prepare`."""

import copy
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from zskl import scaling
from zskl._arrays import Array, NumPyArray, check_device, convert_like, move_to_device, namespace, to_numpy
from zskl._validation import check_count, check_option, find_caller_level, list_values
from zskl.decisions import UNKNOWN, Decider, Decisions, Hierarchy, check_unknown_label
from zskl.estimators import _candidates, _inputs, explanation, model_file
from zskl.estimators._candidates import (
    CandidateScorer,
    Question,
    UncalibratedWarning,
    match_label_dtype,
    to_probabilities,
)
from zskl.estimators._inputs import NO_WEIGHTS, Training, WeightArguments, combine_weights, drop_weightless_rows
from zskl.estimators.explanation import Explainer, Explanation, ScoreParts, explain_rows, get_score_parts
from zskl.estimators.search_vectors import ProjectedRows, project_rows
from zskl.scaling import Scaling
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, label_kind
from zskl.training.rows import ScaledRows
from zskl.training.solver import DivergenceError

__all__ = ["SIGNATURE_MEANS", "UNKNOWN", "Labels", "Training", "UncalibratedWarning", "ZeroShotClassifier"]


log = logging.getLogger(__name__)

Labels: TypeAlias = Sequence[Any] | NumPyArray
GridPart: TypeAlias = Mapping[str, Sequence[Any]]  # all combinations of its values are tried
DefaultGrid: TypeAlias = GridPart | tuple[GridPart, ...]
Visit: TypeAlias = Callable[[int, Any], object]  # is handed a place, and the model or the `DivergenceError` there
STANDARDIZED = "standardize-l2"  # for columns in different units
SIGNATURE_MEANS = ("seen", "all")
COSINE_TEMPERATURE = 0.05  # of a model without training rows, until somebody fits one


def add_standardized(grid: GridPart, few: GridPart) -> tuple[GridPart, GridPart]:
    """The grid, and beside it standardised features with a `few` values of the settings that cost a fit."""
    return grid, {**grid, **few, "feature_scaling": (STANDARDIZED,)}


@cache  # scikit-learn looks them up each time
def _setting_names(estimator: Any) -> tuple[str, ...]:
    return tuple(estimator._get_param_names())


def read_old_reject(
    model: "ZeroShotClassifier", reject: float | None, least: float | None
) -> tuple[float | None, float | None]:
    """`reject` and `min_probability`; until 0.3 the first one was called as the second one was meant."""
    old = reject is not None and model.decisions_ is None and model.temperatures_ is not None
    if old or (isinstance(reject, float) and 0.5 <= reject < 1):
        taken = ", as which it was taken, because an earlier version calibrated this model" if old else ""
        warnings.warn(
            f"reject is {reject}: from 0.3 it is the share of rows of known classes that may be called unknown; the "
            f"least probability of an answer is min_probability now{taken}",
            FutureWarning,
            stacklevel=find_caller_level(),
        )
    if old:
        reject, least = None, reject
    if least is not None:
        number = isinstance(least, int | float | np.number) and not isinstance(least, bool)
        if not number or not 0 <= least <= 1:
            raise ValueError(f"min_probability is {least!r}: expected a probability between 0 and 1")
    return reject, least


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The contract of every zero-shot classifier of this library; subclass it to add a method.

    A zero-shot classifier ranks candidate classes, seen in training or not, by how well their signatures (the vectors
    that describe them) fit a sample. A subclass writes `fit`, which calls `_prepare`, and `_scores` on scaled arrays.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All classes that the model knows, sorted: the seen ones and the further classes of the table. It names the
        columns of scores and probabilities, so `classes_[predict_proba(X).argmax(axis=1)]` equals `predict(X)`.
    seen_classes_ : ndarray of shape (n_seen_classes,)
        The classes with training rows, sorted.
    candidates_ : ndarray of shape (n_classes,)
        The same as `classes_`: what `predict` chooses from.
    attribute_names_ : tuple of str or None
        Names of the columns of the signatures, if they have any.
    calibration_ : float
        What `predict` and `top_k` subtract from the scores of seen classes; 0 unless selection chose it.
    temperatures_ : dict or None
        What turns scores into probabilities, for "seen", "unseen" and "mixed" candidates, and of these for rows that a
        seen ("mixed_seen") or an unseen class answers ("mixed_unseen").
    decisions_ : Decisions or None
        Thresholds of `predict_set`, `reject` and `risk`, from validation classes; None before calibration.
    hierarchy_ : Hierarchy or None
        The parents of classes, if `fit` or calibration were told them.
    described_ : bool
        Whether classes have descriptions. Without signatures in `fit` they have none: the model is then an ordinary
        classifier, says so where you print it, and warns you where you ask it for other classes.

    See Also
    --------
    ZeroShotKernelClassifier : The method of the paper.

    Examples
    --------
    >>> import os, tempfile, zskl
    >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
    >>> model = zskl.ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
    >>> model.predict([[0, 1], [1, 1]], candidates=["ant", "bee"]).tolist()
    ['ant', 'bee']
    >>> model.predict([[1, 0]], {"cow": [4, 0], "owl": [2, 2]}).tolist()  # classes it has never seen
    ['owl']
    >>> model.compatibility([[1, 0]]).shape, model.top_k([[0, 1]], k=2).shape, model.attribute_space([[1, 0]]).shape
    ((1, 3), (1, 2), (1, 2))
    >>> [scores.shape for _, scores in model.iter_compatibility([[1, 0], [0, 1], [1, 1]], block_rows=2)]
    [(2, 3), (1, 3)]
    >>> model.gallery([[1, 0], [0, 1]]).scores({"owl": [2, 2]}).shape
    (2, 1)
    >>> explanation = model.explain([[1, 1]], label="bee", against="ant")[0]
    >>> explanation.label, explanation.against, explanation.top[0][0]
    ('bee', 'ant', 'attribute 1')
    >>> model.nearest_classes(top=1)["nearest"].tolist()
    ['emu', 'emu', 'bee']
    >>> path = os.path.join(tempfile.mkdtemp(), "insects.zskl")
    >>> model.save(path)
    >>> zskl.load(path).candidates_.tolist()
    ['ant', 'bee', 'emu']
    """

    kind: ClassVar[str]  # what a model file calls this estimator
    SUMMARY: ClassVar[str]  # of a published method: one sentence
    GRID: ClassVar[DefaultGrid]  # of a published method: the values that selection tries by default
    FREE: ClassVar[tuple[str, ...]] = ()  # settings whose values one fit serves all, such as the number of epochs
    RANDOM: ClassVar[bool] = True  # whether another `random_state` gives another model
    SEES_NONE: ClassVar[bool] = False  # whether it can be fitted on descriptions alone
    SPARSE: ClassVar[bool] = False  # whether the method takes sparse rows and signatures
    LEARNED: ClassVar[Mapping[str, tuple[str, ...] | None]]  # what it scores with: see `model_file`
    LABELLED: ClassVar[tuple[str, ...]] = ()  # lists of class names among what it learns
    feature_scaling: str
    signature_scaling: str
    signature_mean: str
    device: str | None
    classes_: NumPyArray
    seen_classes_: NumPyArray
    temperatures_: dict[str, float] | None
    decisions_: Decisions | None = None
    hierarchy_: Hierarchy | None = None
    described_: bool
    preparation_: str | None  # what a dataset with holes and words did to them: rows of a table need it, arrays do not
    backbone_: str | None  # the network that made the features, of a model that `zskl fit` has written
    encoder_: dict[str, Any] | None  # of a model whose rows are texts or pictures: what encodes them, as JSON
    encoded_examples_: NumPyArray  # (m, d) some of its training rows as they were encoded
    _warned: bool  # that it has no descriptions
    _calibration_advice = "fit it by selection.tune, or call selection.calibrate on it"

    # What a method may provide

    def _scores(self, X: Array, Y: Array) -> Array:
        """Scores (n, rows) of scaled samples X (n, d) for scaled signatures Y (rows, p); larger is better."""
        raise AttributeError(f"{type(self).__name__} defines no scores")

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        """`_scores` for these signatures and any X. Methods with much work for Y alone override this instead."""
        return lambda X: self._scores(X, Y)

    def _nameless_scorer(self, Y: Array) -> Callable[[Array], Array]:
        """The same for raw signatures Y (rows, p) of classes without names. Methods that need names override this."""
        return self._scorer(self.signature_scaling_.apply(Y))

    def _score_parts(self) -> ScoreParts | None:
        """How the score is made of a projection and attributes; None where it is not."""
        return None

    def _check_explainable(self) -> None:
        get_score_parts(self)

    @property
    def _compares_with_classes(self) -> bool:
        """Whether a class is described by how similar it is to seen classes, so that these can explain a score."""
        return False

    def _explainer(self, table: SignatureTable, by: str) -> Explainer:
        """What splits differences of scores between the classes of a table, by attributes in one of two forms."""
        kind = explanation.AttributeExplainer if by == explanation.ATTRIBUTES else explanation.ScaledExplainer
        return kind(self, table)

    def _gallery_rows(self, X: Array) -> Array | None:
        """What a gallery keeps of scaled rows (n, d), for methods without a projection; None: the rows themselves."""
        return None

    def _gallery_update(self, before: Any) -> Callable[[Array], Array] | None:
        """What the model `before` it was taught keeps of rows → what this one does; None if that is the same."""
        return None

    def _gallery_scorer(self, question: Question) -> Callable[[Array], Array]:
        """What it keeps → scores (n, c)."""
        raise NotImplementedError

    def _mover(self, scaled: Array, table: SignatureTable) -> Callable[[Array], Array] | None:
        """Scaled rows (n, d) → how far each candidate would move if a row were of it (n, c); None if it never moves."""
        return None

    def _row_directions(self, scaled: Array) -> Array:
        """Scaled rows as unit vectors whose products say how near rows are."""
        return Scaling(("l2",)).apply(scaled)

    # What a search asks of a method

    def _free_settings(self, X: Array) -> tuple[str, ...]:
        """Names of the settings in which those of one `_fit_together` on training rows X may differ."""
        return self.FREE

    def _applies(self, d: int, p: int) -> bool:
        """Whether these settings make sense for d features and p attributes; a search leaves others out."""
        return True

    def _effective_settings(self) -> dict[str, Any]:
        """The settings that count: of several that differ in others alone, a search tries the first."""
        return self._settings()

    def _settings(self) -> dict[str, Any]:
        """All settings as a record lists them: those of members, where there are any, under nested names."""
        own: Any = type(self)
        return {name: getattr(self, name) for name in _setting_names(own)}

    def _few_shot_trial(self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray) -> Any:
        """Validation rows to try examples and unlabelled rows on, for a method that learns from these; else None."""
        return None

    def _store_few_shot(self, found: dict[str, Any]) -> None:
        """Store what validation rows said about them."""

    def _accept_calibration(self) -> None:
        """Take constant and temperatures, just set, as those of the untaught model; what it was taught comes on top."""

    def _fit_together(
        self, settings: Sequence[Mapping[str, Any]], X: Array, y: Any, signatures: Any, visit: Visit
    ) -> None:
        """Fit a clone for each setting, in any order, and hand it to `visit` with its place. Settings differ in
        `_free_settings(X)` alone. A model may change after the visit; a `DivergenceError` in a place revokes its
        visit."""
        for place, setting in enumerate(settings):
            try:
                visit(place, clone(self).set_params(**setting).fit(X, y, signatures))
            except DivergenceError as error:
                visit(place, error)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the estimator as it was."""
        before, began = dict(self.__dict__), time.perf_counter()
        try:
            yield
            if "classes_" in vars(self):
                seen, every = len(self.seen_classes_), len(self.classes_)
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
        weights: WeightArguments = NO_WEIGHTS,
    ) -> Training:
        """Check the input, set what every fitted estimator has, and return the scaled training set. Its X is an array,
        or a `read` that makes no copy. Without `values` whoever reads X checks its numbers."""
        check_option("signature_mean", self.signature_mean, SIGNATURE_MEANS)
        check_device(self.device)
        for name in ("feature_scaling", "signature_scaling"):
            if getattr(self, name) != scaling.AUTO:
                scaling.parse_scaling(getattr(self, name), name)
        X, y = _inputs.check_training(self, X, y, values=values)
        X, y, weighed = drop_weightless_rows(X, y, combine_weights(y, *weights))
        self.seen_classes_, codes = np.unique(y, return_inverse=True)
        if len(self.seen_classes_) < 2:
            raise ValueError(
                f"y holds 1 class only ({list_values(self.seen_classes_)}): training needs rows of at least 2 classes"
            )
        seen = self._describe(table)
        tables.warn_about_signatures(self.signature_table_, table)
        rows = (read or ScaledRows)(X, self.device)
        self.feature_scaling_ = self._fit_feature_scaling(rows, weighed)
        # No values, only where rows lie: nobody has checked them yet.
        place = rows[:0]
        return Training(
            X=rows.read_all() if read is None or rows.copied else rows,
            codes=convert_like(codes, place, "int64"),
            Y=convert_like(self.signature_scaling_.apply(seen.matrix), place),
            rows=seen.padded_rows(),
            counts=seen.counts,
            sizes=np.bincount(codes, weighed, minlength=len(self.seen_classes_)),
            weights=weighed,
        )

    def _fit_feature_scaling(self, rows: ScaledRows, weights: NumPyArray | None) -> Any:
        return rows.fit_scaling(self.feature_scaling, weights)

    def _fit_signature_scaling(self, matrix: Any) -> Any:
        made, whole = self.signature_table_.preparation, matrix.shape[1] == self.signature_table_.matrix.shape[1]
        if self.signature_scaling == scaling.AUTO and made is not None and made.is_mixed and whole:
            # Words are 0 and 1, and would drown beside centimetres.
            found = scaling.fit_scaling("unit-center-l2", matrix, "signature_scaling")
            return replace(found, reason="words stand beside numbers")
        return scaling.fit_scaling(self.signature_scaling, matrix, "signature_scaling")

    def _describe(self, given: Any) -> SignatureTable:
        """Set all that `fit` learns from signatures and from the seen classes alone; the table of these."""
        table = tables.one_hot(self.seen_classes_) if given is None else tables.read_table(given, self.seen_classes_)
        _inputs.check_sparse_signatures(self, table)
        if given is not None:
            _candidates.check_directions(self, table)
        known = set(table.labels.tolist())
        missing = [label for label in self.seen_classes_.tolist() if label not in known]
        if self.seen_classes_.dtype.kind in "iu" and table.labels.dtype.kind == "f":
            table = tables.with_integer_labels(table)
        mine, theirs = label_kind(self.seen_classes_, "y"), label_kind(table.labels, "signatures")
        if mine != theirs and "boolean" in (mine, theirs):
            raise ValueError(f"labels in y are {mine}s, in signatures {theirs}s: use the same type for both")
        if missing:
            types = f" (labels in y are {mine}s, in signatures {theirs}s)" if mine != theirs else ""
            raise ValueError(
                f"no signature for class {list_values(missing)}{types}: every label in y needs a row in signatures; "
                f"those there are {list_values(table.classes)}"
            )
        self._set_table(table)
        self.attribute_names_ = table.names
        self.described_ = given is not None
        self.__dict__.pop("_warned", None)
        described = self.signature_table_.select(self.seen_classes_)
        mean_over = described.matrix if self.signature_mean == "seen" else self.signature_table_.matrix
        self.signature_scaling_ = self._fit_signature_scaling(mean_over)
        self.calibration_ = 0.0
        self.temperatures_: dict[str, float] | None = None
        self.decisions_ = None
        return described

    def _set_table(self, table: SignatureTable) -> None:
        """Set the classes and their signatures: the seen ones and those of the table, sorted."""
        seen = set(self.seen_classes_.tolist())
        further = [label for label in table.classes.tolist() if label not in seen]
        more = [match_label_dtype(self.seen_classes_, tables.to_labels(further, "signatures"))] if further else []
        self.classes_ = np.unique(np.concatenate([self.seen_classes_, *more]))
        self.signature_table_ = table.select(self.classes_)

    @property
    def candidates_(self) -> NumPyArray:
        """What `predict` chooses from: `classes_`."""
        return self.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.SPARSE
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # What `explain` has prepared is large, and quickly made again.
        return {name: value for name, value in super().__getstate__().items() if name != "_explainers"}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        chosen = "; ".join(self._tell_automatic())
        shown = str(super().__repr__(N_CHAR_MAX)) + (f"  # {chosen}" if chosen else "")
        return shown if vars(self).get("described_", True) else shown + _candidates.REPR_NOTE

    def _tell_automatic(self) -> list[str]:
        """What "auto" stands for in the fitted model, and why."""
        names = [name for name in ("feature_scaling", "signature_scaling") if getattr(self, name) == scaling.AUTO]
        found = [(name, vars(self)[f"{name}_"]) for name in names if f"{name}_" in vars(self)]
        reasons = [f", because {one.reason}" if one.reason else "" for _, one in found]
        return [f"{name}: auto ({one.name}{why})" for (name, one), why in zip(found, reasons, strict=True)]

    def compatibility(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, out: Array | None = None
    ) -> Array:
        """Score each row against each candidate class, without calibration.

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
        """
        scorer, X = self._open_scorer(X, signatures, candidates)
        if out is not None:
            _candidates.check_score_output(out, (X.shape[0], len(scorer.labels)), X)
        return scorer.fill(X, lambda scores: scores, out)

    def iter_compatibility(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, block_rows: int | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """Score the rows block by block, so that memory holds one block at a time.

        Parameters
        ----------
        X, signatures, candidates : as for `compatibility`
            Rows, and which classes to rank.
        block_rows : int, default=None
            Rows in a block. None keeps features and scores of a block at some megabytes.

        Returns
        -------
        iterator of (slice, array)
            Rows, in order, and their scores as `compatibility` gives them.
        """
        scorer, X = self._open_scorer(X, signatures, candidates)
        return scorer.blocks(X, None if block_rows is None else check_count("block_rows", block_rows))

    def predict(
        self,
        X: Array,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        reject: float | None = None,
        *,
        risk: float | None = None,
        hierarchy: Any = None,
        min_probability: float | None = None,
    ) -> NumPyArray:
        """Name the best candidate class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        signatures, candidates : as for `compatibility`
            Which classes to rank.
        calibrated : bool, default=True
            Whether to subtract `calibration_` from the scores of seen classes where seen and unseen ones compete.
        reject : float, default=None
            Answer "unknown" for rows of none of the candidates. The number is the share of rows of the candidates that
            you accept to be called so, such as 0.05. It needs a calibrated model, as `risk` does.
        risk : float, default=None
            Answer the deepest node of the tree of classes that is wrong for at most this share of the rows answered on
            its level, and "unknown" where none is. Without a tree that is the class or nothing.
        hierarchy : DataFrame, mapping or None, default=None
            Parents of candidates that the model does not know, for `risk`; see `zskl.decisions.Hierarchy.read`.
        min_probability : float, default=None
            Answer "unknown" for a row whose best probability is below this number. It was called `reject` in 0.2.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class names; with the last four options their type is object.
        """
        scorer, X = self._open_scorer(X, signatures, candidates, calibrated)
        reject, least = read_old_reject(self, reject, min_probability)
        plain = reject is None and risk is None and least is None
        decider = None
        if reject is not None or risk is not None:
            decider = self._decider(scorer, calibrated, reject=reject, risk=risk, hierarchy=hierarchy)
        elif hierarchy is not None:
            raise ValueError("hierarchy is given without risk: expected both; the tree serves answers of a given risk")
        if least is not None:
            check_unknown_label(scorer.labels)
        temperatures = None if least is None else self._temperatures(scorer.seen)
        answers = np.empty(X.shape[0], dtype=scorer.labels.dtype if plain else object)
        for rows, scores in scorer.blocks(X):
            answers[rows] = scorer.labels[to_numpy(namespace(scores).argmax(scores, axis=1))]
            if decider is not None:
                decider.apply(to_numpy(scores), answers[rows])
            if temperatures is not None:
                unsure = to_numpy(to_probabilities(scores, temperatures)).max(axis=1) < least
                answers[rows][unsure] = UNKNOWN
        return answers

    def _decider(self, scorer: CandidateScorer, calibrated: bool = True, **asked: Any) -> Decider:
        if not calibrated and scorer.situation == "mixed":
            raise ValueError(
                "reject and risk need calibrated scores, and raw ones were asked for: leave out `calibrated`, or both"
            )
        return Decider(self, scorer.labels, scorer.seen, **asked)

    def predict_set(
        self, X: Array, coverage: float = 0.9, signatures: Any = None, candidates: Labels | None = None
    ) -> list[tuple[Any, ...]]:
        """Name the classes among which the true one is, with a frequency that you ask for.

        Of rows of seen classes and of rows of unseen ones each, about this share has its class in the set. Thresholds
        are those of `selection.calibrate`, where held-out training classes play the unseen ones. They hold where new
        classes are to the model as those were: docs/decisions.md says where not. With few training classes a high
        coverage may need all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        coverage : float, default=0.9
            How often the set holds the true class.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to choose from; None takes all of them.

        Returns
        -------
        list of tuple
            For each row the names of classes, best first. The first one is the answer of `predict`.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier, datasets, selection
        >>> data = datasets.make_synthetic(noise=0.6)
        >>> X, y = data.samples("trainval")
        >>> model = selection.calibrate(ClassMeansClassifier().fit(X, y, data.signatures), X, y, data.signatures)
        >>> rows, truth = data.samples("test_seen")
        >>> sets = model.predict_set(rows, coverage=0.8)
        >>> len(sets) == len(rows)
        True
        """
        X = _inputs.as_sliceable(self, X, dense_for=None)
        # Of many candidates preparing takes longer than all else: one more row then costs little.
        key, kept = explanation.find_prepared(self, X, signatures, candidates, True, "sets")
        if key not in kept:
            kept[key] = CandidateScorer(copy.copy(self), signatures, candidates, calibrated=True)
        scorer = kept[key]
        decider = self._decider(scorer, coverage=coverage)
        return [one for _, scores in scorer.blocks(X) for one in decider.sets(to_numpy(scores))]

    def top_k(
        self,
        X: Array,
        k: int = 5,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        return_scores: bool = False,
    ) -> Any:
        """Name the k best candidate classes of each row, best first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        k : int, default=5
            How many classes to name.
        signatures, candidates, calibrated : as for `predict`
            Which classes to rank, and whether scores of seen ones are lowered.
        return_scores : bool, default=False
            Whether to return the scores too.

        Returns
        -------
        ndarray of shape (n_samples, k), or a pair of such arrays
            Class names; with `return_scores` also their scores.
        """
        scorer, X = self._open_scorer(X, signatures, candidates, calibrated)
        labels = scorer.labels
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(labels):
            raise ValueError(f"k is {k!r}: expected an integer from 1 to {len(labels)}, the number of candidates")
        best = np.empty((X.shape[0], k), dtype=labels.dtype)
        values: NumPyArray | None = None
        for rows, scores in scorer.blocks(X):
            order, of_block = _candidates.top_columns(to_numpy(scores), int(k))
            best[rows] = labels[order]
            if return_scores:
                values = np.empty(best.shape, dtype=of_block.dtype) if values is None else values
                values[rows] = of_block
        return (best, values) if return_scores else best

    def predict_proba(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, calibrated: bool = True
    ) -> Array:
        """Give the probability of each class for each row: softmax(scores / T).

        Without `signatures` and `candidates` there is one column for each of `classes_`, as scikit-learn expects. The
        largest probability of a row is that of its answer: `classes_[predict_proba(X).argmax(axis=1)]` equals
        `predict(X)`. Pass `candidates=model.seen_classes_` to ask how likely each seen class is if the row is of one.

        The temperature T is one of `temperatures_`, which `zskl.selection` fits on validation classes: one for
        candidates that are all seen, one for all unseen, and where both compete one for the rows that a seen class
        answers and one for the others. If nobody has fitted them, T is 1 and an `UncalibratedWarning` says so.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        signatures, candidates, calibrated : as for `predict`
            Which classes to rank, and whether scores of seen ones are lowered.

        Returns
        -------
        array of shape (n_samples, n_candidates)
            Probabilities, which sum to 1 in each row.
        """
        scorer, X = self._open_scorer(X, signatures, candidates, calibrated)
        temperatures = self._temperatures(scorer.seen)
        return scorer.fill(X, lambda scores: to_probabilities(scores, temperatures))

    def decision_function(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, calibrated: bool = True
    ) -> Array:
        """Score each row against all classes, in scikit-learn's shape, or against candidates that you choose.

        Parameters
        ----------
        X, signatures, candidates, calibrated : as for `predict`
            Rows, which classes to rank, and whether scores of seen ones are lowered.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores over `classes_`. With `signatures` or `candidates` one column for each candidate.
        """
        scorer, X = self._open_scorer(X, signatures, candidates, calibrated)
        scores = scorer.fill(X, lambda scores: scores)
        chosen = signatures is not None or candidates is not None
        return scores if chosen or scores.shape[1] != 2 else scores[:, 1] - scores[:, 0]

    def score(
        self, X: Array, y: Any, sample_weight: Any = None, signatures: Any = None, candidates: Labels | None = None
    ) -> float:
        """Give the share of rows that `predict` answers right, as scikit-learn's `score` does.

        `zskl.protocols` and `zskl.metrics` average over classes instead.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row.
        signatures, candidates : as for `compatibility`
            Which classes to rank.

        Returns
        -------
        float
            Accuracy over rows, between 0 and 1.
        """
        # It takes long to import, and only this method needs it.
        from sklearn.metrics import accuracy_score

        answers = self.predict(X, signatures, candidates)
        true = _inputs.as_label_array(y, answers.tolist())
        if signatures is None:
            _candidates.warn_no_signatures(self, np.unique(np.asarray(true)).tolist(), stacklevel=2)
        return float(accuracy_score(true, answers, sample_weight=sample_weight))

    def _open_scorer(
        self, X: Array, given: Any, candidates: Any, calibrated: bool = False
    ) -> tuple[CandidateScorer, Array]:
        X = _inputs.as_sliceable(self, X, dense_for=None)
        return CandidateScorer(self, given, candidates, calibrated), X

    def _temperatures(self, seen: NumPyArray) -> NumPyArray:
        usual = 1.0 if len(self.seen_classes_) else COSINE_TEMPERATURE
        return _candidates.get_temperatures(self, seen, usual)

    def _scale_rows(self, X: Array) -> Array:
        """Checked rows, scaled, on the device that computes."""
        return self.feature_scaling_.apply(move_to_device(X, self.device))

    def _question(self, scaled: Array, table: SignatureTable) -> Question:
        """The candidates of a table, where rows `scaled` are: several models of one scaling can be asked the same."""
        Y = convert_like(self.signature_scaling_.apply(table.matrix), scaled)
        return Question(Y, table.padded_rows(), match_label_dtype(self.seen_classes_, table.classes))

    def _candidate_scorer(self, question: Question) -> Callable[[Array], Array]:
        """Scaled samples (n, d) → scores (n, c)."""
        scores = self._scorer(question.Y)
        return lambda X: _candidates.best_row_scores(scores(X), question.rows)

    def explain(
        self,
        X: _inputs.Rows,
        top: int = 5,
        signatures: Any = None,
        candidates: Labels | None = None,
        *,
        label: Any = None,
        against: Any = None,
        calibrated: bool = True,
        by: str | None = None,
        raw: bool | None = None,
    ) -> list[Explanation]:
        """Say which attributes speak for the class of each row and against another class, and how much.

        The contributions of all attributes add up to the difference of the two raw scores. Class means also name what
        training rows, examples, unlabelled rows and crowding add (`terms`). Methods whose scores do not split raise a
        ValueError. A model prepares its candidates with the first row, so further calls are quick.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        top : int, default=5
            How many attributes an explanation shows.
        signatures, candidates : as for `compatibility`
            Which classes to rank.
        label : class name, default=None
            The class to explain; None takes the answer of `predict`.
        against : class name, default=None
            The class to compare it with; None takes the best of the others.
        calibrated : bool, default=True
            Whether the answer is calibrated, as in `predict`.
        by : {"attributes", "classes", "scaled"}, default=None
            What contributions are of. "attributes" are those that you wrote: one in which the two classes agree adds
            nothing. "scaled" are the same as the model scales them. "classes" are seen classes, for class means. None
            takes "attributes"; of class means whose columns have no names, as those of vectors of sentences, "classes".
        raw : bool, default=None
            Deprecated, goes with 0.4: True is by="attributes".

        Returns
        -------
        list of Explanation
            One for each row. Print it, or read its `contributions` and `top`.
        """
        return explain_rows(self, X, top, signatures, candidates, label, against, calibrated, by, raw)

    def attribute_space(self, X: Array) -> Array:
        """Project rows into the space of attributes: P = Wᵀx of scaled rows.

        Scaled signatures lie in the same space, so a class is near its samples. SAE compares directions: its rows, or
        their projections, have unit length.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.

        Returns
        -------
        array of shape (n_samples, n_attributes)
            The projections, in the library and precision and on the device of X.
        """
        parts = get_score_parts(self, "has no attribute space")
        X = _inputs.as_sliceable(self, X, "attribute_space")
        return convert_like(project_rows(self, parts, X)[0], _inputs.take_input_rows(self, X, slice(0, 1)))

    def gallery(self, X: Array) -> ProjectedRows:
        """Keep the projections of rows, to score them against ever new descriptions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.

        Returns
        -------
        ProjectedRows
            Its `scores(signatures)` equals `compatibility(X, signatures)` without another pass over X.
        """
        return ProjectedRows(self, X)

    def nearest_classes(self, top: int = 5, signatures: Any = None, candidates: Labels | None = None) -> pd.DataFrame:
        """List the classes that are described most alike.

        Parameters
        ----------
        top : int, default=5
            How many classes to list for each one.
        signatures : data frame, mapping or array, default=None
            Descriptions of the classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to compare; None takes all of them.

        Returns
        -------
        DataFrame
            Columns class, nearest and similarity, most similar first. Similarity is the cosine of the signatures as
            the model scales them; of classes with several signatures, that of the best pair.
        """
        top = check_count("top", top)
        check_is_fitted(self)
        table = _candidates.choose_candidates(self, signatures, candidates)
        labels = match_label_dtype(self.seen_classes_, table.classes)
        if len(labels) < 2:
            raise ValueError(f"the only candidate is {list_values(labels)}: expected two or more; name another class")
        order, similarity = _candidates.nearest_classes(self.signature_scaling_, table, np.arange(len(labels)), top)
        first, nearest = np.repeat(labels, order.shape[1]), labels[order.ravel()]
        return pd.DataFrame({"class": first, "nearest": nearest, "similarity": similarity.ravel()})

    def label_next(
        self,
        X: _inputs.Rows,
        n: int = 10,
        strategy: str = "margin",
        signatures: Any = None,
        candidates: Labels | None = None,
        *,
        diversity: float = 1.0,
        return_scores: bool = False,
    ) -> Any:
        """Name the unlabelled rows whose labels would help the model most.

        Label these rows, hand them to `add_examples`, and ask again. "margin" takes the rows that the model is least
        sure of: the gap between its best two scores is small. "change" takes those that it would learn most from: how
        far the label would move the direction of a class, for each class it may be, times the model's own probability
        of that class, summed. So "change" is only for models that learn from examples: `ClassMeansClassifier`, and
        `Committee` with one. It needs a calibrated model; otherwise an `UncalibratedWarning` says so.

        The n rows are not n copies of one: they are taken one by one, and after each, every other row loses worth as
        far as it is near. (1 − cosine)^diversity remains, or all where the cosine of the two rows, as the model scales
        them, is below 0. Of many rows the 20·n most worthwhile are compared, or 1000 if that is more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows whose classes nobody knows, as an array, a tensor or a data frame.
        n : int, default=10
            How many rows to name.
        strategy : {"margin", "change"}, default="margin"
            What makes a row worth a label: a small gap between the best two scores, or an expected change of the model.
        signatures : data frame, mapping or array, default=None
            Descriptions of the classes that the rows may be of; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes the rows may be of; None takes all of them.
        diversity : float, default=1.0
            How much the nearness of rows counts; 0 takes the most worthwhile rows, however alike.
        return_scores : bool, default=False
            Whether to return what each row is worth, too.

        Returns
        -------
        ndarray of shape (n,), or a pair of such arrays
            Numbers of rows in X, in the order in which to ask. With `return_scores` also what each is worth by itself:
            exp(−gap / mean gap of all rows) for "margin", the expected change for "change".
        """
        found = _candidates.pick_rows(self, X, n, strategy, signatures, candidates, diversity)
        return (found.rows, found.worth) if return_scores else found.rows

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, whole or not at all.

        The file is in the safetensors format with a JSON header. It holds numbers and names, never code.

        Parameters
        ----------
        path : str or path-like
            Where to write it. A file that is there is replaced.

        See Also
        --------
        zskl.load : Reads the file.
        """
        check_is_fitted(self)
        header, arrays = self._pack()
        model_file.write_model(path, header, arrays | self._class_vectors())

    def _pack(self) -> tuple[dict[str, Any], dict[str, NumPyArray]]:
        return model_file.pack_model(self)

    def _class_vectors(self) -> dict[str, NumPyArray]:
        """What a `zskl.Scorer` needs beside it, of methods that have one."""
        return {}

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, NumPyArray], known: Any = None) -> Self:
        """The estimator that `save` wrote; `known` are possible members, by kind."""
        parameters = {name: cls._from_json(name, value) for name, value in header["parameters"].items()}
        return model_file.unpack_model(cls(**parameters), header, arrays)

    def _to_json(self, name: str, value: Any) -> Any:
        """A parameter, or something learned, as JSON; a generator as random_state is not kept."""
        if name == "random_state" and not isinstance(value, int | np.integer):
            return None
        if name == "device":
            return None if value is None else str(value)
        return value.item() if isinstance(value, np.generic) else value

    @classmethod
    def _from_json(cls, name: str, value: Any) -> Any:
        return value


_candidates.wrap_repr_lines(ZeroShotClassifier)
