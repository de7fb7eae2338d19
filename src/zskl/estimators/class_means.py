"""Class means: a class is a direction in feature space; its description and its rows are evidence about it."""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from zskl import scaling
from zskl._arrays import (
    Array,
    NumPyArray,
    check_device,
    convert_like,
    is_sparse_rows,
    move_to_device,
    namespace,
    runs_on_gpu,
    stack_rows,
    to_dense,
    to_numpy,
)
from zskl._validation import check_option, check_positive, list_values
from zskl.estimators import _inputs
from zskl.estimators._candidates import (
    Question,
    best_row_scores,
    choose_candidates,
    match_label_dtype,
    warn_no_signatures,
)
from zskl.estimators._class_means_adapt import (
    AdaptationSettings,
    Adapted,
    KeptAdaptation,
    NoClearGain,
    OtherModels,
    ValidationBench,
    direction_changes,
    run_adaptation,
)
from zskl.estimators._class_means_fit import (
    KERNELS,
    PRIORS,
    Floats,
    Foundation,
    SignatureKernel,
    Sums,
    Whitened,
    mean_of_largest,
    posterior_variance,
    regularised_inverse,
    scale_to_unit_length,
    squared_distances,
    sum_directions,
    sum_rows,
    to_half_precision,
    typical_variance,
    whiten,
    whitening_weights,
)
from zskl.estimators._class_means_scores import (
    CrowdingScores,
    DirectionMap,
    Evidence,
    ExplainedScores,
    Products,
    QuickScores,
    explain_raw_attributes,
)
from zskl.estimators._inputs import NO_WEIGHTS, WeightArguments, combine_weights, drop_weightless_rows
from zskl.estimators.base import SIGNATURE_MEANS, Labels, ZeroShotClassifier
from zskl.estimators.explanation import RawAttributeExplainer
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, label_kind, unify_spelling
from zskl.training.rows import StreamedRows
from zskl.training.solver import DivergenceError

# Taught ---------------------------------------------------------------------------------------------------------------
# What a model was taught after `fit`, how it is stored, and what it adds up to for candidate classes.

log = logging.getLogger(__name__)
WEIGHT = 2.0  # n₀ of a class with examples, until validation classes say better
WRONG = 0.35  # what rows marked as wrong for a class count against it together, until validation classes say better
EMPTY = np.empty(0, dtype=np.float64)
TRAINING, EXAMPLES, UNLABELLED = "training rows", "examples", "unlabelled rows"  # what rows a direction is made of


class Taught(ZeroShotClassifier):
    """Examples, what unlabelled rows added, and what validation classes said about both."""

    LEARNED: ClassVar = {
        "examples_": ("?", "d"),
        "example_weights_": ("?",),
        "example_classes_": None,
        "undescribed_": None,
        "adapted_sums_": ("?", "d"),
        "adapted_classes_": None,
        "adaptation_": None,
        "crowding_": None,
        "practice_": None,
        "untaught_": None,
    }
    LABELLED: ClassVar = ("example_classes_", "undescribed_", "adapted_classes_")

    description_weight: float
    crowding: float
    shrinkage: float
    whitening_: NDArray[np.float32]
    regression_: NDArray[np.float32]
    class_means_: NDArray[np.float32]
    class_rows_: NDArray[np.float64]
    eigenvalues_: NDArray[np.float64]
    kept_rows_: Any  # NDArray[np.float16], or SparseRows
    shrinkage_: float
    examples_: NDArray[np.float32]
    example_weights_: NDArray[np.float64]
    example_classes_: list[Any]
    undescribed_: list[Any]
    adapted_sums_: NDArray[np.float32]
    adapted_classes_: list[Any]
    adaptation_: dict[str, Any] | None
    crowding_: float
    practice_: dict[str, Any] | None
    untaught_: dict[str, Any] | None

    def _forget(self) -> None:
        for name in Taught.LEARNED:
            self.__dict__.pop(name, None)

    def _start_teaching(self) -> None:
        """Set what a freshly fitted model has: no examples, nothing adapted."""
        d = int(self.n_features_in_)
        self.examples_, self.example_weights_ = np.empty((0, d), np.float32), EMPTY
        self.example_classes_, self.undescribed_, self.adapted_classes_ = [], [], []
        self.adapted_sums_ = np.empty((0, d), np.float32)
        self.adaptation_ = self.practice_ = self.untaught_ = None
        self.crowding_ = float(self.crowding)

    def _store_few_shot(self, found: dict[str, Any]) -> None:
        self.practice_ = found

    def _copy(self) -> Self:
        new = copy.copy(self)
        if self.untaught_ is None:
            new.untaught_ = {
                "calibration": float(self.calibration_),
                "temperatures": self.temperatures_,
                "crowding": self.crowding_,
                "shrinkage": self.shrinkage_,
            }
        return new

    def _describe_more(self, given: Any, labels: NumPyArray, marked: NDArray[np.bool_]) -> None:
        """Take up new classes: those that `given` describes, and those of examples without a description."""
        table = self.signature_table_
        known = set(table.classes.tolist()) - set(self.undescribed_)
        if given is not None:
            more = choose_candidates(self, given, None)
            warn_no_signatures(self, more.classes.tolist(), stacklevel=3)
            again = [label for label in more.classes.tolist() if label in known]
            if again:
                raise ValueError(
                    f"signatures describes {list_values(again)}, which the model knows already: describe only new classes"
                )
            kept = [label for label in table.classes.tolist() if label not in set(more.classes.tolist())]
            table = _join_examples(table.select(kept), more)
            self.undescribed_ = [label for label in self.undescribed_ if label not in set(more.classes.tolist())]
        have = set(table.classes.tolist())
        fresh = [label for label in dict.fromkeys(labels.tolist()) if label not in have]
        only_wrong = [label for label in fresh if marked[[one == label for one in labels.tolist()]].all()]
        if only_wrong:
            raise ValueError(
                f"class {list_values(only_wrong)} has no description, no training rows and only examples marked as wrong: "
                "give it a description or a right example"
            )
        if fresh:
            log.info("no description of %s: known by examples alone", list_values(fresh))
            rows = np.repeat(self._placeholder()[None], len(fresh), axis=0)
            named = match_label_dtype(self.classes_, tables.to_labels(fresh, "y"))
            table = _join_examples(table, SignatureTable(named, rows, table.names))
            self.undescribed_ = [*self.undescribed_, *fresh]
        self.signature_table_, self.candidates_ = table, match_label_dtype(self.classes_, table.classes)

    def _drop_undescribed(self) -> None:
        gone = [label for label in self.undescribed_ if label not in set(self.example_classes_)]
        if gone:
            kept = [label for label in self.candidates_.tolist() if label not in set(gone)]
            self.signature_table_ = self.signature_table_.select(kept)
            self.candidates_ = match_label_dtype(self.classes_, self.signature_table_.classes)
            self.undescribed_ = [label for label in self.undescribed_ if label not in set(gone)]

    def _placeholder(self) -> NDArray[np.float64]:
        """(p,) what stands for the signature of a class that has none: the mean of the seen classes."""
        found: NDArray[np.float64] = self.signature_table_.select(self.classes_).matrix.mean(axis=0)
        return found

    def _lacking(self, table: SignatureTable) -> set[Any]:
        """Candidates of a table that are known by their examples alone."""
        if not self.undescribed_:
            return set()
        placeholder, unknown = self._placeholder(), set(self.undescribed_)
        places = [place for place, label in enumerate(table.labels.tolist()) if label in unknown]
        pairs = zip(table.labels[places].tolist(), to_dense(table.matrix[places]), strict=True)
        return {label for label, row in pairs if np.array_equal(row, placeholder)}

    @property
    def class_sums_(self) -> NDArray[np.float32]:
        """What the training rows of each seen class say about its direction (C, d)."""
        return sum_directions(self.class_means_, self.class_rows_, self.eigenvalues_, self.shrinkage_).astype(
            np.float32
        )

    def _turn_to(self, shrinkage: float) -> None:
        """Use another shrinkage: in the basis of the scatter it only weighs coordinates."""
        if shrinkage == self.shrinkage_:
            return
        before, after = (whitening_weights(self.eigenvalues_, one) for one in (self.shrinkage_, shrinkage))
        ratio = (after / before).astype(np.float32)
        diagonal = self.whitening_.shape[1] == 1 < len(ratio)
        self.whitening_ = self.whitening_ * (ratio[:, None] if diagonal else ratio)
        self.regression_, self.class_means_ = self.regression_ * ratio, self.class_means_ * ratio
        self.kept_rows_ = to_half_precision(scale_to_unit_length(self.kept_rows_.astype(np.float32) * ratio))
        self.examples_ = scale_to_unit_length(self.examples_ * ratio)
        self.shrinkage_ = shrinkage

    # What it adds up to ----------------------------------------------------------------------------------------------

    def _evidence(self, question: Question, unlabelled: bool = True, more: int = 0) -> Evidence:
        """What rows say about the candidates; without `unlabelled` ones if you say so.

        With `more`, descriptions weigh as if each candidate had so many more examples.
        """
        seen = Evidence.places(self.classes_, question) >= 0
        weights = np.where(seen, float(self.description_weight), WEIGHT)
        columns = dict(zip(question.labels.tolist(), question.rows, strict=True))
        right = self._right()
        taught = [label for label, rows in columns.items() if right[label] + more and not seen[rows[0]]]
        firmness = self._firmness(question) if taught else EMPTY
        for label in taught:
            weights[columns[label]] = self._worth(right[label] + more) * firmness[columns[label]]
        if unlabelled:
            for label in self.adapted_classes_:
                if label in columns:
                    weights[columns[label]] = float((self.adaptation_ or {})["weight"])
        for label in getattr(question, "lacking", ()):
            if label in columns:
                weights[columns[label]] = 0.0
        parts = self._sums_by_source(question)
        if not unlabelled:
            parts.pop(UNLABELLED, None)
        none = np.zeros((question.Y.shape[0], self.class_sums_.shape[1]))
        return Evidence(sum(parts.values(), start=none), weights, seen)

    def _sums_by_source(self, question: Question) -> dict[str, Floats]:
        """Of each signature row the sum (rows, d) of x̂ over training rows, examples and unlabelled rows, by name.

        Only sources that say something of one of the candidates are there.
        """
        places = Evidence.places(self.classes_, question)
        columns = {label: np.unique(rows) for label, rows in zip(question.labels.tolist(), question.rows, strict=True)}
        found: dict[str, Floats] = {}
        if (places >= 0).any():
            found[TRAINING] = np.where((places >= 0)[:, None], self.class_sums_[places], 0.0).astype(np.float64)
        examples = zip(self.examples_, self._counted(), self.example_classes_, strict=True)
        unlabelled = zip(self.adapted_sums_, np.ones(len(self.adapted_sums_)), self.adapted_classes_, strict=True)
        for name, rows in ((EXAMPLES, examples), (UNLABELLED, unlabelled)):
            for row, weight, label in rows:
                if label in columns:
                    sums = found.setdefault(name, np.zeros((len(places), len(row))))
                    sums[columns[label]] += weight * row.astype(np.float64)
        return found

    def _right(self) -> Counter[Any]:
        """How many examples each class has, those marked as wrong left out."""
        pairs = zip(self.example_classes_, self.example_weights_.tolist(), strict=True)
        return Counter(label for label, weight in pairs if weight > 0)

    def _counted(self) -> list[float]:
        """What each example adds: 1; those marked as wrong for a class share a weight against it."""
        against = float((self.practice_ or {}).get("wrong_weight", WRONG))
        wrong = (self.example_weights_ < 0).tolist()
        marked = Counter(label for label, is_wrong in zip(self.example_classes_, wrong, strict=True) if is_wrong)
        pairs = zip(self.example_classes_, wrong, strict=True)
        return [-against / marked[label] if is_wrong else 1.0 for label, is_wrong in pairs]

    def _firmness(self, question: Question) -> NDArray[np.float64]:
        raise NotImplementedError

    def _worth(self, count: int) -> float:
        """n₀ of an unseen class with so many examples."""
        entry = self._practised(count)
        return WEIGHT if entry is None else float(entry["weight"])

    def _practised(self, count: float) -> dict[str, Any] | None:
        """What validation classes say about that many examples of a class: about the nearest number that was tried."""
        tried = (self.practice_ or {}).get("examples") or {}
        if not tried:
            return None
        nearest = min(tried, key=lambda k: abs(np.log(float(k)) - np.log(max(count, 1.0))))
        entry: dict[str, Any] = tried[nearest]
        return entry

    def _settle(self) -> None:
        """Set shrinkage, calibration, temperatures and crowding for what the model knows now."""
        before = self.untaught_
        assert before is not None  # `_copy` has set it
        entry, share = self._standing()
        entry = entry or before
        shrinkage, self.crowding_ = (
            float(before[name]) + share * (float(entry[name]) - float(before[name]))
            for name in ("shrinkage", "crowding")
        )
        self._turn_to(shrinkage)
        self.calibration_, self.temperatures_ = interpolate_calibration(before, entry, share)

    def _accept_calibration(self) -> None:
        if self.untaught_ is None:
            return
        found = {"calibration": float(self.calibration_), "temperatures": self.temperatures_}
        self.untaught_ = {**self.untaught_, **found}
        if self.adaptation_ is not None and self.adaptation_["expected_gain"] is None:  # nobody has tried another
            self.adaptation_ = {**self.adaptation_, **found}
        self._settle()

    def _standing(self) -> tuple[dict[str, Any] | None, float]:
        """What validation classes say about a model that was taught like this, and the share of it that applies."""
        if self.adaptation_ is not None:
            return self.adaptation_, 1.0
        seen = set(self.classes_.tolist())
        counts = {label: count for label, count in self._right().items() if label not in seen}
        unseen = [label for label in self.candidates_.tolist() if label not in seen]
        if not counts:
            return None, 1.0
        return self._practised(float(np.median(list(counts.values())))), len(counts) / len(unseen)


def interpolate_calibration(
    before: dict[str, Any], entry: dict[str, Any], share: float, factor: float = 1.0
) -> tuple[float, dict[str, float] | None]:
    """Calibration constant and temperatures between those of `before` and, as far as `share` says, those of `entry`.

    The latter are times `factor`: what class means' scores count in those of a committee.
    """
    constant = float(before["calibration"])
    constant += share * (factor * float(entry["calibration"]) - constant)
    old, new = before["temperatures"], entry["temperatures"]
    if old is None or new is None:
        return constant, old
    return constant, {name: float(old[name] ** (1 - share) * (factor * new[name]) ** share) for name in old}


def _join_examples(first: SignatureTable, second: SignatureTable) -> SignatureTable:
    labels = np.array([*first.labels.tolist(), *second.labels.tolist()], dtype=object)
    if first.labels.dtype.kind != "O":
        labels = tables.to_labels(labels.tolist(), "signatures")
    return SignatureTable(labels, stack_rows(first.matrix, second.matrix), first.names)


# Nameless classes -----------------------------------------------------------------------------------------------------
# Scores of classes that come as signatures without names, as in an ONNX graph: seen ones are told by signatures.
#
# A row that equals the signature of a seen class, up to rounding, is that class. So its training rows count.

SAME = 1e-11  # ‖y − y′‖² / ‖y′‖² up to which two signatures are the same: far above rounding of sums in float64


def make_nameless_scorer(model: Scoring, Y: Array) -> Callable[[Array], Array]:
    """Scaled rows (n, d) → scores (n, c) for raw signatures Y (c, p)."""
    _check_names(model)
    seen = model.signature_table_.select(model.classes_)
    sums = model.class_sums_[Evidence.codes(model.classes_, seen.labels)]
    xp = namespace(Y)
    match = xp.astype(_match_signatures(Y, seen.matrix.astype(np.float32)), Y.dtype)  # (c, R)
    found = xp.sum(match, axis=1, keepdims=True)
    known = xp.minimum(found, xp.ones_like(found))  # (c, 1)
    weights = WEIGHT + (float(model.description_weight) - WEIGHT) * known
    rows = (match / xp.maximum(found, xp.ones_like(found))) @ convert_like(sums, Y)
    U = scale_to_unit_length(
        weights * scale_to_unit_length(model._means(model.signature_scaling_.apply(Y), model._shared(Y))) + rows
    )
    crowded = model._crowded(U)

    def answer(X: Array) -> Array:
        scores = model._hat(X) @ U.T
        return scores if crowded is None else scores - crowded

    return answer


def _match_signatures(Y: Array, signatures: NumPyArray) -> Array:
    """(c, R) which rows of Y are the same as one of the signatures (R, p)."""
    exact = signatures.astype(np.float64)
    found: Array = squared_distances(convert_like(Y, Y, "float64"), exact) <= SAME * (exact * exact).sum(axis=1)
    return found


def _check_names(model: Scoring) -> None:
    """Refuse models that need the names of classes."""
    advice = "fix the classes, by signatures=False or --fixed"
    if len(model.example_classes_) or model.adaptation_ is not None:
        raise ValueError(
            "a model that was taught by examples or adapted to unlabelled rows cannot be exported with signatures as "
            f"an input, because it tells classes by their names (fixed classes only): {advice}"
        )
    table, seen = model.signature_table_, model.signature_table_.select(model.classes_)
    same = to_numpy(_match_signatures(table.matrix.astype(np.float32), seen.matrix.astype(np.float32)))
    clash = same & (table.labels[:, None] != seen.labels[None, :])
    if clash.any():
        row, other = np.argwhere(clash)[0]
        raise ValueError(
            f"the classes {list_values([seen.labels[other], table.labels[row]])} have the same signature, so the model "
            f"cannot be exported with signatures as an input, which tells seen classes by their signatures: {advice}"
        )


# Scoring --------------------------------------------------------------------------------------------------------------
# How class means score: directions of candidate classes from descriptions and rows, and cosines with them.

ENOUGH = 1024  # kept rows, to try things on a fold
FIRM = 5.0  # one description counts at most so many times as much as a usual one, or as little


@dataclass(frozen=True)
class SharedQuestion(Question):
    """Candidates, with their signatures scaled as features where both have the same columns."""

    shared: Array | None = None  # (rows, d)
    lacking: frozenset[Any] = frozenset()  # classes without a description


class Scoring(Taught):
    """The formulas of `ClassMeansClassifier`, on scaled arrays."""

    kernel: str
    bandwidth: float
    noise: float
    prior: str
    crowding_share: float
    center_: Floats
    signature_center_: Floats
    width_: float
    slope_: float
    _foundation: Foundation  # what the models of one search share
    _quick: QuickScores
    _inverse: Floats  # (K + νI)⁻¹, worked out when it is first needed

    def _question(self, scaled: Array, table: SignatureTable) -> Question:
        asked = super()._question(scaled, table)
        shared = self._shared(table.matrix)
        shared = None if shared is None else convert_like(shared, scaled)
        return SharedQuestion(asked.Y, asked.rows, asked.labels, shared, frozenset(self._lacking(table)))

    def _shared(self, signatures: Array) -> Array | None:
        """Signatures (rows, d) as rows of the shared space, where the prior needs them."""
        return None if self.prior == "zero" else self.feature_scaling_.apply(signatures)

    def _hat(self, X: Array) -> Array:
        """x̂ (n, d) of scaled rows."""
        return scale_to_unit_length(whiten(X - convert_like(self.center_, X), convert_like(self.whitening_, X)))

    def _described(self, question: Question) -> Array:
        """m̂ (rows, d) of the candidates' signatures."""
        return scale_to_unit_length(self._means_of(question))

    def _means_of(self, question: Question) -> Array:
        """m(y) (rows, d) of the candidates."""
        return self._means(question.Y, question.shared if isinstance(question, SharedQuestion) else None)

    def _means(self, Y: Array, shared: Array | None) -> Array:
        """m(y) (rows, d) of scaled signatures (rows, p), which may lie in the shared space too."""
        seen = convert_like(self.signature_scaling_.apply(self.signature_table_.select(self.classes_).matrix), Y)
        means = SignatureKernel(self.kernel, self.width_)(Y, seen) @ convert_like(self.regression_, Y)
        if self.prior == "zero":
            return means
        assert shared is not None  # with another prior than zero there is one
        own: Array = to_dense(
            whiten(shared - convert_like(self.signature_center_, Y), convert_like(self.whitening_, Y))
        )
        return means + self.slope_ * own

    def _firmness(self, question: Question) -> Floats:
        """(rows,) how much surer than usual the process is of each signature's direction: a factor of n₀."""
        if self.prior == "cosine":
            return np.ones(question.Y.shape[0])
        kernel = SignatureKernel(self.kernel, self.width_)
        seen = self.signature_scaling_.apply(self.signature_table_.select(self.classes_).matrix)
        if "_inverse" not in vars(self):
            self._inverse = regularised_inverse(to_numpy(kernel(seen, seen)), float(self.noise))
        Y = to_numpy(question.Y).astype(np.float64)
        found = posterior_variance(to_numpy(kernel.own(Y)), to_numpy(kernel(Y, seen)), self._inverse)
        return (typical_variance(self._inverse, float(self.noise)) / found).clip(1 / FIRM, FIRM)

    def _directions(self, question: Question) -> Array:
        """u (rows, d) of every signature row of the candidates."""
        evidence = self._evidence(question)
        described = self._described(question)
        return scale_to_unit_length(
            convert_like(evidence.weights[:, None], described) * described + convert_like(evidence.sums, described)
        )

    def _crowded(self, U: Array) -> Array | None:
        """a·r (rows,) of directions."""
        if not self.crowding_ or not len(self.kept_rows_):
            return None
        return self.crowding_ * mean_of_largest(convert_like(self.kept_rows_, U) @ U.T, float(self.crowding_share))

    def _few_shot_trial(
        self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray
    ) -> ValidationBench | None:
        if is_sparse_rows(scaled):  # trying things needs every x̂ as it is
            return None
        places = Evidence.places(self.classes_, question)
        trained = places >= 0
        return ValidationBench(
            x=to_numpy(self._hat(scaled)).astype(np.float32),
            own=own,
            seen=seen,
            described=to_numpy(self._described(question)).astype(np.float32),
            firmness=self._firmness(question),
            means=np.where(trained[:, None], self.class_means_[places], np.float32(0)),
            counts=np.where(trained, self.class_rows_[places], 0.0),
            weight=float(self.description_weight),
            rows=question.rows,
            kept=self.kept_rows_[:: max(1, len(self.kept_rows_) // ENOUGH)].astype(np.float32),
            eigenvalues=self.eigenvalues_,
            shrinkage=self.shrinkage_,
            crowding=float(self.crowding),
            share=float(self.crowding_share),
        )

    def _whitened(self, foundation: Foundation) -> Whitened:
        return foundation.whitened(float(self.shrinkage), plain=self.prior == "cosine")

    def _candidate_scorer(self, question: Question) -> Callable[[Array], Array]:
        if "_quick" in vars(self):
            return lambda X: best_row_scores(self._quickly(X, question), question.rows)
        answer = self._gallery_scorer(question)
        return lambda X: answer(self._hat(X))

    def _gallery_rows(self, X: Array) -> Array:
        return self._hat(X)

    def _gallery_update(self, before: Any) -> Callable[[Array], Array] | None:
        """In the basis of the scatter another shrinkage only weighs coordinates."""
        if before.shrinkage_ == self.shrinkage_:
            return None
        ratio = whitening_weights(self.eigenvalues_, self.shrinkage_)
        ratio = ratio / whitening_weights(self.eigenvalues_, before.shrinkage_)
        return lambda hat: scale_to_unit_length(hat * convert_like(ratio, hat))

    def _gallery_scorer(self, question: Question) -> Callable[[Array], Array]:
        """x̂ (n, d) → scores (n, c)."""
        U = self._directions(question)
        crowded = self._crowded(U)

        def answer(hat: Array) -> Array:
            scores = hat @ U.T
            return best_row_scores(scores if crowded is None else scores - crowded, question.rows)

        return answer

    def _nameless_scorer(self, Y: Array) -> Callable[[Array], Array]:
        return make_nameless_scorer(self, Y)

    def ranking_map(self) -> DirectionMap:
        """
        Map samples and classes so that inner products are scores: any dot-product index can search them.

        Returns
        -------
        DirectionMap
            Maps into as many dimensions as there are features, plus one. Its `samples` are rows x̂ and a 1, its
            `classes` directions and what crowding adds.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> maps = model.ranking_map()
        >>> scores = maps.samples([[1, 0]]) @ maps.classes().T
        >>> bool(abs(scores - model.compatibility([[1, 0]])).max() < 1e-6)
        True
        """
        check_is_fitted(self)
        return DirectionMap(copy.copy(self))

    def _check_explainable(self) -> None:
        """Class means always are."""

    def _explainer(self, table: SignatureTable) -> ExplainedScores:
        return ExplainedScores(self, table)

    def _raw_explainer(self, table: SignatureTable) -> RawAttributeExplainer:
        return explain_raw_attributes(self, table)

    def _quickly(self, X: Array, question: Question) -> Array:
        """Scores (n, rows) through what the models of one search share."""
        crowding = float(self.crowding)
        plain, crowded = self._quick_parts(X, question, crowding != 0)
        return plain if crowded is None else plain - crowding * crowded

    def _quick_parts(self, X: Array, question: Question, crowded: bool) -> tuple[Array, Array | None]:
        """Cosines (n, rows) and, where it is wanted, how crowded each direction is (rows,)."""
        foundation: Foundation = self._foundation
        at = self._whitened(foundation)
        shared = question.shared if isinstance(question, SharedQuestion) else None
        products = self._quick.products(at, X, None if shared is None else to_numpy(shared))
        width = foundation.width(self.kernel, float(self.bandwidth))
        key = self.prior, self.kernel, width, float(self.noise), float(self.description_weight)
        coefficients = None
        if not self._quick.knows(key):
            coefficients = self._coefficients(question, at, SignatureKernel(self.kernel, width), products)
        return self._quick.parts(key, products, coefficients, float(self.crowding_share) if crowded else None)

    def _coefficients(self, question: Question, at: Whitened, kernel: SignatureKernel, products: Products) -> Floats:
        """(rows, B) the candidates' directions as combinations of M̃, Y° and y°."""
        owners, C = at.foundation.owners, len(at.means)
        found = np.zeros((question.Y.shape[0], len(products.basis)))
        if self.prior != "cosine":
            weights = self._quick.weights(question.Y, at.foundation, kernel, float(self.noise))  # (rows, R)
            weighted = weights / at.lengths[owners]
            if len(owners) == C:  # a signature for each class, in the order of classes
                found[:, owners] = weighted
            else:
                np.add.at(found.T, owners, weighted.T)
        if self.prior != "zero":
            s = at.slope if self.prior == "identity" else 1.0
            if self.prior == "identity":
                found[:, C : C + len(owners)] -= s * weights
            found[np.arange(len(found)), C + len(owners) + np.arange(len(found))] += s
        found = self.description_weight * products.unit(found)
        places = Evidence.places(self.classes_, question)
        seen = np.flatnonzero(places >= 0)
        scale = np.linalg.norm(at.sums, axis=1) / at.lengths
        found[seen, places[seen]] += scale[places[seen]]
        return products.unit(found)


# Adapting -------------------------------------------------------------------------------------------------------------
# How a fitted model adapts to unlabelled rows: what validation classes promise, the rounds, and what is kept.

LEAST_GAIN = 0.02  # that validation classes must promise
FEWER = 1.5  # what was tried with at most so many times as many rows per class still counts
AT_REST = 0.01  # 1 − cosine that no direction turned by in the last round


class Adapting(Scoring):
    """What `ClassMeansClassifier.adapt` does."""

    def _adapt(
        self,
        X: Array,
        candidates: Labels | str | None,
        force: bool,
        balance: float | None,
        others: OtherModels | None = None,
    ) -> Self:
        """`adapt` on checked rows, where other models may have a say in what a row is."""
        if balance is not None and check_positive("balance", balance, zero_allowed=True) > 1:
            raise ValueError(f"balance is {balance!r}: expected a number from 0 to 1, or None")
        table, mode = self._adaptation_table(candidates)
        if X.shape[0] < len(table.classes):
            raise ValueError(
                f"X has {X.shape[0]} row(s) for {len(table.classes)} candidate classes: expected at least as many "
                "unlabelled rows as classes; collect more rows, or name fewer candidates"
            )
        per_class = X.shape[0] / len(table.classes)
        entry = self._promised(mode, per_class)
        if not force:
            _check_gain(entry, per_class, self.practice_ is not None)
        how = AdaptationSettings() if entry is None else AdaptationSettings.of(entry)
        if entry is not None:
            how = replace(how, count=min(1.0, entry["per_class"] / per_class))
        how = how if balance is None else replace(how, balance=float(balance))
        how = how if others is None or entry is not None else replace(how, kappa=others.kappa)
        new = self._copy()
        new._turn_to(self.shrinkage_ if how.shrinkage is None else how.shrinkage)
        scaled = new._scale_rows(X)
        other = None if others is None else others.for_kappa(how.kappa, X, table)
        found, moving, labels = new._adapted(new._hat(scaled), new._question(scaled, table), how, other)
        new.adapted_classes_ = [label for label, moves in zip(labels, moving, strict=True) if moves]
        new.adapted_sums_ = found.sums[moving]
        assert new.untaught_ is not None
        calibrated = new.untaught_ if entry is None else entry
        new.adaptation_ = {
            "candidates": mode,
            "rows": int(X.shape[0]),
            "weight": how.weight,
            "shrinkage": new.shrinkage_,
            "crowding": how.crowding,
            "calibration": calibrated["calibration"],
            "temperatures": calibrated["temperatures"],
            "expected_gain": None if entry is None else entry["gain"],
            "rounds": found.rounds,
            "turned": found.turned,
            "converged": found.turned < AT_REST,
            "masses": {str(label): float(found.masses[k]) for k, label in enumerate(labels) if moving[k]},
        }
        new._settle()
        log.info("adapted %d classes to %d rows in %d rounds", int(moving.sum()), X.shape[0], found.rounds)
        return new

    def _kept_adaptation(self) -> list[KeptAdaptation]:
        """What unlabelled rows have taught the model, for another one: a list, because a committee has several."""
        if self.adaptation_ is None:
            return []
        return [KeptAdaptation(list(self.adapted_classes_), self.adapted_sums_, self.adaptation_)]

    def _with_adaptation(self, kept: Sequence[KeptAdaptation]) -> Self:
        """A copy that has learned what `_kept_adaptation` of another model tells, in place of its own."""
        (one,) = kept
        new = self._copy()
        new.adapted_classes_, new.adapted_sums_, new.adaptation_ = list(one.classes), one.sums, one.record
        new._settle()
        return new

    def _promise(self, candidates: str, n: int) -> dict[str, Any] | None:
        """What validation classes say about n unlabelled rows of these candidates; None where nobody has tried."""
        table, mode = self._adaptation_table(candidates)
        return self._promised(mode, n / len(table.classes))

    def _promised(self, mode: str, per_class: float) -> dict[str, Any] | None:
        """What validation classes say about so many unlabelled rows for each candidate; None where nobody has tried."""
        tried = ((self.practice_ or {}).get("unlabelled") or {}).get(mode) or []
        enough = [entry for entry in tried if entry["per_class"] <= FEWER * per_class]
        return max(enough, key=lambda entry: float(entry["per_class"]), default=None)

    def _adapted(
        self, hat: Array, question: Question, how: AdaptationSettings, other: Array | None = None
    ) -> tuple[Adapted, NDArray[np.bool_], list[Any]]:
        """The rounds on rows x̂; which candidates moved, and the names of all candidates."""
        labels, seen = question.labels.tolist(), set(self.classes_.tolist())
        moving = np.array([label not in seen for label in labels])
        evidence = self._evidence(question, unlabelled=False)
        weights = np.where(evidence.seen | (evidence.weights == 0), evidence.weights, how.weight)
        described = self._described(question)
        pushed = convert_like(weights[:, None], described) * described
        return (
            run_adaptation(hat, pushed, convert_like(evidence.sums, described), question.rows, moving, how, other),
            moving,
            labels,
        )

    def _adaptation_table(self, candidates: Any) -> tuple[SignatureTable, str]:
        seen = set(self.classes_.tolist())
        names: Any = candidates
        if candidates is None or isinstance(candidates, str):
            check_option("candidates", candidates or "unseen", ("unseen", "all"))
            unseen = [label for label in self.candidates_.tolist() if label not in seen]
            names = None if candidates == "all" else unseen or None
        table = choose_candidates(self, None, names)
        if seen >= set(table.labels.tolist()):
            raise ValueError(
                "every candidate has training rows, so there is no class that unlabelled rows could teach: name "
                "candidates without training rows, or describe further classes in fit"
            )
        return table, "all" if seen & set(table.labels.tolist()) else "unseen"


def is_clear_gain(entry: dict[str, Any]) -> bool:
    """Whether validation classes promise a gain: 2 points, and a gain on every fold."""
    return bool(entry["gain"] >= LEAST_GAIN and entry["least"] > 0)


def _check_gain(entry: dict[str, Any] | None, per_class: float, practised: bool) -> None:
    """Refuse to adapt where validation classes promise no clear gain."""
    if entry is None:
        if practised:
            tried = "as few on validation classes; collect more rows"
        else:
            tried = "any on validation classes; fit it by selection.tune, call selection.calibrate on it"
        raise NoClearGain(
            f"nothing says that {per_class:.3g} unlabelled rows for each candidate would help this model: nobody has "
            f"tried {tried}, or use force=True"
        )
    if not is_clear_gain(entry):
        raise NoClearGain(
            f"validation classes promise {100 * entry['gain']:+.1f} points ± {100 * entry['spread']:.1f} from "
            f"unlabelled rows, {100 * entry['least']:+.1f} in the worst fold: expected {100 * LEAST_GAIN:.0f} points "
            "and a gain in each fold, so the model stays as it is; use force=True to adapt all the same"
        )


# Teaching -------------------------------------------------------------------------------------------------------------
# What a fitted model learns later: from labelled examples and from unlabelled rows. The model itself never changes.


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
        X = _inputs.check_features(self, X, "add_examples")
        labels = _example_labels(self, y, X.shape[0])
        marked = _wrong_mask(wrong, X.shape[0])
        new = self._copy()
        new._describe_more(signatures, labels, marked)
        hat = to_numpy(self._hat(self._scale_rows(X))).astype(np.float32)
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
            wanted = set(known if y is None else tables.to_labels(y, "y", known).tolist())
            unknown = sorted(map(str, wanted - set(self.example_classes_)))
            if unknown or not len(keep):
                have = list_values(dict.fromkeys(self.example_classes_)) if len(keep) else "none"
                raise ValueError(
                    f"there are no examples of {list_values(unknown) if unknown else 'any class'} to remove: the model has "
                    f"examples of {have}"
                )
            keep = np.array([label not in wanted for label in self.example_classes_])
        else:
            X = _inputs.check_features(self, X, "remove_examples")
            labels = _example_labels(self, y, X.shape[0])
            hat = to_numpy(self._hat(self._scale_rows(X))).astype(np.float32)
            places = {
                label: np.array(rows)
                for label, rows in tables.rows_by_label(np.array(self.example_classes_, object)).items()
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
        return self._adapt(_inputs.check_features(self, X, "adapt"), candidates, force, balance)

    def _mover(self, scaled: Array, table: SignatureTable) -> Callable[[Array], Array]:
        """Of a class with several signatures the direction that moves most counts."""
        question = self._question(scaled, table)
        now, described = self._directions(question), self._described(question)
        evidence = self._evidence(question, more=1)
        then = convert_like(evidence.weights[:, None], described) * described + convert_like(evidence.sums, described)
        return lambda X: best_row_scores(direction_changes(self._hat(X), now, then), question.rows)

    def _row_directions(self, scaled: Array) -> Array:
        return self._hat(scaled)


def _example_labels(model: ZeroShotClassifier, y: Any, n: int) -> NumPyArray:
    if y is None:
        raise ValueError("y is None: expected a class name for each row of X")
    labels: NumPyArray = tables.to_labels(y, "y", model.candidates_.tolist())
    if len(labels) != n:
        raise ValueError(f"X has {n} rows but y has {len(labels)} labels: expected one label for each row")
    mine, theirs = label_kind(model.classes_, "y"), label_kind(labels, "y")
    if mine != theirs:
        raise ValueError(
            f"y names classes by {theirs}s such as {list_values(labels)}, the model by {mine}s: use its type"
        )
    return labels


def _wrong_mask(wrong: Any, n: int) -> NDArray[np.bool_]:
    marked = np.asarray(wrong)
    if marked.dtype != np.bool_ or marked.shape not in ((), (n,)):
        raise ValueError(f"wrong is {str(wrong)[:60]}: expected True, False, or one of them for each of the {n} rows")
    return np.broadcast_to(marked, (n,))


# Pieces ---------------------------------------------------------------------------------------------------------------
# Training rows that come in pieces: sums are added, and the model is worked out from them when it is used.


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
        gpu = runs_on_gpu(X, self.device)

        def scaled(rows: slice) -> tuple[Array, Array]:
            raw = _inputs.take_rows(self, X, rows)
            placed = move_to_device(raw, self.device)  # of a tensor on a CPU NumPy needs less time and memory
            return raw, self.feature_scaling_.apply(placed if gpu else to_numpy(placed))

        return sum_rows(X, codes, classes, scaled, keep, self.feature_scaling, weights, gpu)

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
                    f"this piece names classes by {label_kind(piece.classes, 'y')}s such as {list_values(piece.classes)}, "
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
        fitted = [
            step for step in scaling.parse_scaling(self.feature_scaling, "feature_scaling") if step in scaling.FITTED
        ]
        if fitted:
            raise ValueError(
                f"feature_scaling is {self.feature_scaling!r}: its step {fitted[0]!r} needs all training rows at "
                "once, so they cannot come in pieces; use 'sqrt-l2', 'l2' or 'none', or call fit"
            )
        check_device(self.device)
        first = "n_features_in_" not in vars(self)
        checker = self if vars(self).get("_sums") is not None or first else clone(self)
        X, y = _inputs.check_training(checker, X, y, values=False, reset=first or checker is not self)
        self.feature_scaling_ = scaling.Scaling(scaling.parse_scaling(self.feature_scaling, "feature_scaling"))
        before = vars(self).get("_sums")
        y = unify_spelling(y, () if before is None else before.classes.tolist())
        X, y, weights = drop_weightless_rows(X, y, combine_weights(y, sample_weight))
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
            self.feature_scaling_ = scaling.Scaling(scaling.parse_scaling(self.feature_scaling, "feature_scaling"))
            self._take_sums(sums, signatures)
            if len(sums.classes) < 2:
                raise ValueError(
                    f"the sums hold 1 class only ({list_values(sums.classes)}): training needs rows of at least 2 classes"
                )
        return self

    def _take_sums(self, sums: Sums, given: Any) -> None:
        """Let these be the sums of all training rows; the rest is worked out when it is used."""
        check_option("signature_mean", self.signature_mean, SIGNATURE_MEANS)
        described = tables.read_table_once(given)
        self._forget()
        self._sums, self._given = sums, described
        for name in (*self.LEARNED, "candidates_"):
            self.__dict__.pop(name, None)
        if len(sums.classes) > 1:
            self.classes_ = sums.classes
            self._describe(described)
            tables.warn_about_signatures(self.signature_table_, given)
            self._start_teaching()

    def _check_announced(self, classes: Any) -> None:
        unknown = [
            label
            for label in self._sums.classes.tolist()
            if label not in set(tables.to_labels(classes, "classes", self._sums.classes.tolist()).tolist())
        ]
        if unknown:
            raise ValueError(
                f"y holds {list_values(unknown)}, which `classes` does not name: name every class that may come"
            )

    def __sklearn_is_fitted__(self) -> bool:
        if "candidates_" not in vars(self) and "_sums" in vars(self):
            raise NotFittedError(
                "this model is not fitted yet, since all pieces so far hold 1 class only "
                f"({list_values(self._sums.classes)}): training needs rows of at least 2 classes; "
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


# Searching ------------------------------------------------------------------------------------------------------------
# What a search asks of class means: one decomposition serves every setting of a grid, and other descriptions too.


class Searching(Pieces):
    """Methods of `ClassMeansClassifier` that `zskl.selection` calls."""

    def _built(self) -> Foundation:
        raise NotImplementedError

    def _applies(self, d: int, p: int) -> bool:
        return self.prior == "zero" or p == d

    def _effective_settings(self) -> dict[str, Any]:
        settings = super()._effective_settings()
        if self.prior == "cosine":
            settings |= {"kernel": None, "noise": None, "shrinkage": None}
        if self.kernel != "gaussian" or self.prior == "cosine":
            settings["bandwidth"] = None
        return settings

    def _summed(self, X: Array, y: Any, table: Any, keep: bool, weights: WeightArguments = NO_WEIGHTS) -> Sums:
        """Check the input, set what every fitted estimator has, and add the rows up."""
        training = self._prepare(X, y, table, StreamedRows, values=False, weights=weights)
        rows: StreamedRows = training.X
        return self._added_up(rows.source, to_numpy(training.codes), self.classes_, keep, training.weights)

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        models = [copy.copy(self) for _ in settings]  # quicker than clones, and nobody else has `self`
        for model, setting in zip(models, settings, strict=True):
            model.__dict__.update(setting)
            model._check_parameters()
        first = models[0]
        first._sums = first._summed(X, y, signatures, keep=any(model.crowding > 0 for model in models))
        first._start_teaching()
        first._foundation, first._quick = first._built(), QuickScores()
        shared = {name: value for name, value in vars(first).items() if name not in first.get_params(deep=False)}
        order = sorted(range(len(models)), key=lambda k: models[k]._order())
        for _, places in groupby(order, key=lambda k: models[k]._order()[:-1]):  # alike but for crowding
            alike = list(places)
            one = copy.copy(models[alike[0]])  # not one that points back: a circle would outlive the fold
            one.__dict__.update(shared)
            together = CrowdingScores(one, [float(models[place].crowding) for place in alike])
            for k, place in enumerate(alike):
                models[place].__dict__.update(shared)
                models[place]._member = together, k
                visit(place, models[place])

    def _redescribed(self, table: Any) -> Self:
        """This model of a search with other signatures. Sums and decomposition stay; only the kernel changes."""
        new = copy.copy(self)
        new._describe(table)
        new._foundation = new._built().sharing(self._foundation)
        new._quick = self._quick.redescribed()
        return new

    def _order(self) -> tuple[Any, ...]:
        """Settings that share the most work come after each other."""
        dear = self.prior, float(self.shrinkage), self.kernel, float(self.bandwidth), float(self.noise)
        return *dear, float(self.description_weight), float(self.crowding_share), float(self.crowding)


# Classifier -----------------------------------------------------------------------------------------------------------
# The estimator: `fit` in one go or in pieces, and scores.


class ClassMeansClassifier(Searching):
    """
    Class means: a class is a direction in feature space; its description and its rows are evidence about it.

    Features are whitened by the scatter within classes. A Gaussian process predicts the direction of a class from its
    signature. Training rows, examples (`add_examples`) and unlabelled rows (`adapt`) move it. Everything is in closed
    form. The score is::

        score(x, c) = x̂·u_c − a·r_c,   u_c = unit(n₀ m̂(y_c) + Σ x̂ of the rows of c),   m(y) = k(y, Y)(K + νI)⁻¹ M̂

    x̂ is a whitened row of unit length. M̂ holds the directions of the whitened means of the training classes. r_c says
    how crowded the place of class c is: the mean of the largest products x̂·u_c over some training rows that the model
    keeps.

    Rows and signatures may be sparse (SciPy). Sparse rows are whitened column by column: by the diagonal of the
    scatter.

    Parameters
    ----------
    kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel k between signatures.
    bandwidth : float, default=1.0
        Width of the Gaussian kernel, in units of the median squared distance between training classes.
    noise : float, default=0.1
        How far a class may lie from what its description says: ν > 0.
    shrinkage : float, default=0.5
        How far the scatter is drawn towards a multiple of the identity before it whitens: ρ in (0, 1].
    prior : {"zero", "identity", "cosine"}, default="zero"
        What is expected of a class before training. "identity" is for a shared space, where one encoder made features
        and signatures: the signature itself. "cosine" trains nothing there: it compares rows and signatures as they
        are.
    description_weight : float, default=2.0
        How many training rows the description of a seen class is worth: n₀.
    crowding : float, default=0.25
        How much of r_c is subtracted: a ≥ 0. With 0 the model keeps no training rows.
    crowding_share : float, default=0.01
        The share of the kept rows whose mean is r_c.
    feature_scaling : str, default="sqrt-l2"
        Scaling of the features, see `zskl.scaling`.
    signature_scaling : str, default="center-l2"
        Scaling of the signatures, see `zskl.scaling`.
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes, or of all classes in the table.
    device : str or None, default=None
        Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.
    random_state : int, RandomState or None, default=None
        Not used, because this method draws nothing. It is here so that all methods take the same settings.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table, then classes that only have examples.
    center_ : ndarray of shape (d,)
        g, the mean of the class means.
    whitening_ : ndarray of shape (d, d)
        What makes a centred row x̃, in float32. After a fit on sparse rows it is diagonal, as a column (d, 1).
    regression_ : ndarray of shape (n_signatures, d)
        (K + νI)⁻¹ M̂, in float32.
    class_means_ : ndarray of shape (C, d)
        M̃, the whitened means of the seen classes, in float32.
    class_rows_ : ndarray of shape (C,)
        How many training rows each has, or what these weigh together.
    eigenvalues_ : ndarray of shape (d,)
        Those of the scatter within classes.
    shrinkage_ : float
        ρ as it is in use: `shrinkage`, or what validation classes chose for a model with examples or unlabelled rows.
    kept_rows_ : ndarray of shape (n_kept, d)
        Some whitened training rows of unit length, each once, in half precision; sparse if X was.
    width_ : float
        What the Gaussian kernel divides squared distances by.
    slope_ : float
        How much of a signature is its class's direction, with another prior than "zero".
    practice_ : dict or None
        What validation classes say about examples and unlabelled rows; `zskl.selection` fills it in.

    See Also
    --------
    Committee : Class means together with a trained kernel.

    Notes
    -----
    The kept rows are training rows in another form. If these are private, set `crowding=0`.

    Examples
    --------
    >>> from zskl import ClassMeansClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
    >>> X, y = data.samples("trainval")
    >>> model = ClassMeansClassifier().fit(X, y, data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
    True
    """

    kind: ClassVar[str] = "class-means"
    RANDOM: ClassVar[bool] = False
    SPARSE: ClassVar[bool] = True
    LEARNED: ClassVar = {
        "center_": ("d",),
        "whitening_": ("d", "d|1"),
        "regression_": ("*", "d"),
        "class_means_": ("C", "d"),
        "class_rows_": ("C",),
        "eigenvalues_": ("d",),
        "kept_rows_": ("?", "d"),
        "signature_center_": ("?",),
        "width_": None,
        "slope_": None,
        "shrinkage_": None,
        **Searching.LEARNED,
    }
    FREE: ClassVar = (
        "kernel",
        "bandwidth",
        "noise",
        "shrinkage",
        "prior",
        "description_weight",
        "crowding",
        "crowding_share",
    )

    def __init__(
        self,
        kernel: str = "gaussian",
        bandwidth: float = 1.0,
        noise: float = 0.1,
        shrinkage: float = 0.5,
        prior: str = "zero",
        description_weight: float = 2.0,
        crowding: float = 0.25,
        crowding_share: float = 0.01,
        feature_scaling: str = "sqrt-l2",
        *,
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.noise = noise
        self.shrinkage = shrinkage
        self.prior = prior
        self.description_weight = description_weight
        self.crowding = crowding
        self.crowding_share = crowding_share
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_option("kernel", self.kernel, KERNELS)
        check_option("prior", self.prior, PRIORS)
        for name in ("bandwidth", "noise"):
            check_positive(name, getattr(self, name))
        for name in ("shrinkage", "crowding_share"):
            if check_positive(name, getattr(self, name)) > 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}: expected a number above 0, at most 1")
        for name in ("description_weight", "crowding"):
            check_positive(name, getattr(self, name), zero_allowed=True)

    # Fitting ---------------------------------------------------------------------------------------------------------

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
        """
        Learn from training rows, their classes and the signatures of the classes. Reads X once, block by block.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
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

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table).candidates_.tolist()
        ['ant', 'bee', 'emu']
        """
        with self._all_or_nothing():
            self._check_parameters()
            self._forget()
            weights = sample_weight, class_weight
            self._sums, self._given = self._summed(X, y, signatures, self.crowding > 0, weights), signatures
            self._finish()
        return self

    def _built(self) -> Foundation:
        seen = self.signature_table_.select(self.classes_)
        d, p = self.n_features_in_, seen.matrix.shape[1]
        if not self._applies(d, p):
            raise ValueError(
                f"prior is {self.prior!r}, signatures have {p} columns and features {d}: expected as many, from one "
                "encoder; use prior='zero'"
            )
        n = int(self._sums.rows.sum())
        if self._sums.products.ndim == 1:
            log.info("sparse rows: whitened column by column, by the diagonal of the scatter")
        elif n < d:
            log.info("%d training rows for %d features: shrinkage %g carries the load", n, d, self.shrinkage)
        owners = np.searchsorted(self.classes_, seen.labels)
        scaled: Any = self.signature_scaling_.apply(seen.matrix).astype(np.float64)
        shared = self.feature_scaling_.apply(seen.matrix) if p == d else None
        return Foundation(self._sums, scaled, owners, shared, move_to_device(np.empty(0), self.device))

    def _finish(self, foundation: Foundation | None = None) -> None:
        """Set what is learned, from the sums."""
        foundation = foundation or vars(self).get("_foundation") or self._built()
        at = self._whitened(foundation)
        kernel = SignatureKernel(self.kernel, foundation.width(self.kernel, float(self.bandwidth)))
        self.center_ = at.space.center
        self.whitening_ = at.matrix
        self.width_ = kernel.width
        self.slope_ = at.slope if self.prior == "identity" else float(self.prior == "cosine")
        targets = at.targets if self.prior == "zero" else at.targets - self.slope_ * at.own_signatures
        weights = 0.0 * targets if self.prior == "cosine" else foundation.inverse(kernel, float(self.noise)) @ targets
        self.regression_ = weights.astype(np.float32)
        self.class_means_ = at.means.astype(np.float32)
        self.class_rows_, self.eigenvalues_ = at.space.rows, at.space.eigenvalues
        self.shrinkage_ = float(self.shrinkage)
        self.kept_rows_ = at.kept if self.crowding else at.kept[:0]
        self.signature_center_ = np.empty(0) if self.prior == "zero" else at.signature_center
        if "practice_" not in vars(self):
            self._start_teaching()
