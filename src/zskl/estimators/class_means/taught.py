"""What a model was taught after `fit`, how it is stored, and what it adds up to for candidate classes."""

from __future__ import annotations

import copy
import logging
from collections import Counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import NumPyArray
from zskl.estimators.candidates import Question, as_in, choose
from zskl.estimators.class_means.evidence import Evidence
from zskl.estimators.class_means.space import class_sums, halved, unit, whitening_weights
from zskl.estimators.class_means.sums import Floats
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.no_signatures import warn_once
from zskl.parameters import listed
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable
from zskl.sparse_rows import dense, stacked

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

    def _take_practice(self, found: dict[str, Any]) -> None:
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
            more = choose(self, given, None)
            warn_once(self, more.classes.tolist(), stacklevel=3)
            again = [label for label in more.classes.tolist() if label in known]
            if again:
                raise ValueError(
                    f"signatures describes {listed(again)}, which the model knows already: describe only new classes"
                )
            kept = [label for label in table.classes.tolist() if label not in set(more.classes.tolist())]
            table = _joined(table.select(kept), more)
            self.undescribed_ = [label for label in self.undescribed_ if label not in set(more.classes.tolist())]
        have = set(table.classes.tolist())
        fresh = [label for label in dict.fromkeys(labels.tolist()) if label not in have]
        only_wrong = [label for label in fresh if marked[[one == label for one in labels.tolist()]].all()]
        if only_wrong:
            raise ValueError(
                f"class {listed(only_wrong)} has no description, no training rows and only examples marked as wrong: "
                "give it a description or a right example"
            )
        if fresh:
            log.info("no description of %s: known by examples alone", listed(fresh))
            rows = np.repeat(self._placeholder()[None], len(fresh), axis=0)
            named = as_in(self.classes_, tables.as_labels(fresh, "y"))
            table = _joined(table, SignatureTable(named, rows, table.names))
            self.undescribed_ = [*self.undescribed_, *fresh]
        self.signature_table_, self.candidates_ = table, as_in(self.classes_, table.classes)

    def _drop_undescribed(self) -> None:
        gone = [label for label in self.undescribed_ if label not in set(self.example_classes_)]
        if gone:
            kept = [label for label in self.candidates_.tolist() if label not in set(gone)]
            self.signature_table_ = self.signature_table_.select(kept)
            self.candidates_ = as_in(self.classes_, self.signature_table_.classes)
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
        pairs = zip(table.labels[places].tolist(), dense(table.matrix[places]), strict=True)
        return {label for label, row in pairs if np.array_equal(row, placeholder)}

    @property
    def class_sums_(self) -> NDArray[np.float32]:
        """What the training rows of each seen class say about its direction (C, d)."""
        return class_sums(self.class_means_, self.class_rows_, self.eigenvalues_, self.shrinkage_).astype(np.float32)

    def _turn_to(self, shrinkage: float) -> None:
        """Use another shrinkage: in the basis of the scatter it only weighs coordinates."""
        if shrinkage == self.shrinkage_:
            return
        before, after = (whitening_weights(self.eigenvalues_, one) for one in (self.shrinkage_, shrinkage))
        ratio = (after / before).astype(np.float32)
        diagonal = self.whitening_.shape[1] == 1 < len(ratio)
        self.whitening_ = self.whitening_ * (ratio[:, None] if diagonal else ratio)
        self.regression_, self.class_means_ = self.regression_ * ratio, self.class_means_ * ratio
        self.kept_rows_ = halved(unit(self.kept_rows_.astype(np.float32) * ratio))
        self.examples_ = unit(self.examples_ * ratio)
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
        self.calibration_, self.temperatures_ = settled(before, entry, share)

    def _settle_again(self) -> None:
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


def settled(
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


def _joined(first: SignatureTable, second: SignatureTable) -> SignatureTable:
    labels = np.array([*first.labels.tolist(), *second.labels.tolist()], dtype=object)
    if first.labels.dtype.kind != "O":
        labels = tables.as_labels(labels.tolist(), "signatures")
    return SignatureTable(labels, stacked(first.matrix, second.matrix), first.names)
