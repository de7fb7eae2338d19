"""How a fitted model adapts to unlabelled rows: what validation classes promise, the rounds, and what is kept."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, like
from zskl.estimators.candidates import Question, choose
from zskl.estimators.class_means.adaptation import (
    AdaptationSettings,
    Adapted,
    KeptAdaptation,
    NoClearGain,
    OtherModels,
    adapted,
)
from zskl.estimators.class_means.scoring import Scoring
from zskl.estimators.ranking import Labels
from zskl.parameters import one_of, positive
from zskl.signatures.table import SignatureTable

log = logging.getLogger(__name__)
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
        if balance is not None and positive("balance", balance, zero_allowed=True) > 1:
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
        scaled = new._scaled(X)
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
        pushed = like(weights[:, None], described) * described
        return adapted(hat, pushed, like(evidence.sums, described), question.rows, moving, how, other), moving, labels

    def _adaptation_table(self, candidates: Any) -> tuple[SignatureTable, str]:
        seen = set(self.classes_.tolist())
        names: Any = candidates
        if candidates is None or isinstance(candidates, str):
            one_of("candidates", candidates or "unseen", ("unseen", "all"))
            unseen = [label for label in self.candidates_.tolist() if label not in seen]
            names = None if candidates == "all" else unseen or None
        table = choose(self, None, names)
        if seen >= set(table.labels.tolist()):
            raise ValueError(
                "every candidate has training rows, so there is no class that unlabelled rows could teach: name "
                "candidates without training rows, or describe further classes in fit"
            )
        return table, "all" if seen & set(table.labels.tolist()) else "unseen"


def is_clear(entry: dict[str, Any]) -> bool:
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
    if not is_clear(entry):
        raise NoClearGain(
            f"validation classes promise {100 * entry['gain']:+.1f} points ± {100 * entry['spread']:.1f} from "
            f"unlabelled rows, {100 * entry['least']:+.1f} in the worst fold: expected {100 * LEAST_GAIN:.0f} points "
            "and a gain in each fold, so the model stays as it is; use force=True to adapt all the same"
        )
