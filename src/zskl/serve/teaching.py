"""Teaching a running service: examples of classes, unlabelled rows to adapt to, the model that learned from both."""

from __future__ import annotations

import copy
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from zskl import methods
from zskl._arrays import to_numpy
from zskl.estimators._candidates import CandidateScorer
from zskl.estimators._class_means_adapt import is_clear_gain
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve.limits import Limits, Refusal, quote
from zskl.serve.requests import Features
from zskl.serve.schemas import Among, Verdict
from zskl.serve.store import Adaptation, MarkedExample, TeachingState, adaptation_line, example_line, forgotten_line
from zskl.signatures.table import SignatureTable

if TYPE_CHECKING:
    from zskl.serve.classes import ClassRegistry, ClassSnapshot

MAX_ADAPTATION_VALUES = 16 << 20  # numbers that an adaptation may keep: classes times features


def can_learn(model: ZeroShotClassifier) -> bool:
    """Whether a model learns from examples and unlabelled rows. A committee does if one of its members does."""
    able = hasattr(model, "add_examples")
    return able and (not hasattr(model, "_teachable") or bool(model._teachable()))


def check_can_learn(model: ZeroShotClassifier) -> Any:
    """The model; refused if it cannot be taught, with the names of methods that can."""
    if not can_learn(model):
        names = methods.methods_with("add_examples")
        raise Refusal(
            409,
            f"this model is of kind {model.kind!r}, which cannot learn from examples: {' and '.join(names)} can; fit "
            f"one with zskl fit --method {names[0]}",
        )
    return model


def copy_with_classes(model: ZeroShotClassifier, table: SignatureTable) -> Any:
    new = copy.copy(model)
    new._set_table(table)
    if hasattr(model, "members_"):
        new.members_ = [copy_with_classes(member, table) for member in model.members_]
    return new


def teach_model(model: ZeroShotClassifier, table: SignatureTable, taught: TeachingState) -> ZeroShotClassifier:
    if not taught:
        return model
    new: Any = copy_with_classes(check_can_learn(model), table)
    if taught.examples:
        X = np.stack([one.features for one in taught.examples])
        wrong = np.array([not one.right for one in taught.examples])
        new = new.add_examples(X, [one.label for one in taught.examples], wrong=wrong)
    # after the examples: what unlabelled rows added stays as it was worked out
    if taught.adaptation is not None:
        new = new._with_adaptation(taught.adaptation.kept)
    return cast(ZeroShotClassifier, new)


def check_teaching_fits(model: ZeroShotClassifier, taught: TeachingState) -> None:
    if not taught:
        return
    check_can_learn(model)
    d = int(model.n_features_in_)
    widths = {len(one.features) for one in taught.examples}
    widths |= {one.sums.shape[1] for one in (taught.adaptation.kept if taught.adaptation else ()) if one.classes}
    if widths - {d}:
        raise Refusal(409, f"it has examples with {min(widths - {d})} features: the model takes {d}")


class Teaching:
    def __init__(self, classes: ClassRegistry, limits: Limits) -> None:
        self._classes, self._limits = classes, limits

    def add(
        self, name: str, features: Features, right: bool, row: int | None, data: str | None, since: int | None
    ) -> tuple[ClassSnapshot, MarkedExample]:
        """Teach that a row (1, d), the number `row` of `data` if it is loaded, is of a class, or is not."""
        check_can_learn(self._classes.model)
        with self._classes.lock_for_change() as snapshot:
            name = snapshot.find_class(name)
            snapshot.check_examples_unchanged(name, since)
            ids = {one.id for one in snapshot.taught.examples}
            while (new_id := secrets.token_hex(4)) in ids:
                pass
            new = MarkedExample(new_id, name, right, features[0], row, data)
            taught, most = self._classes.apply_change(example_line(new), name), self._limits.examples
            if len(taught.taught.examples) > most:
                raise Refusal(409, f"{most} examples were given already, the most that are allowed: take some back")
        return taught, new

    def remove(self, name: str, chosen: str | None = None, since: int | None = None) -> ClassSnapshot:
        check_can_learn(self._classes.model)
        with self._classes.lock_for_change() as snapshot:
            name = snapshot.find_class(name)
            snapshot.check_examples_unchanged(name, since)
            ids = [one.id for one in snapshot.taught.examples_of(name)]
            if chosen is not None and chosen not in ids:
                missing = f"class {quote(name)} has no example {quote(chosen)}"
                raise Refusal(404, f"{missing}: GET /classes/NAME/examples lists all")
            if not ids:
                return snapshot
            return self._classes.apply_change(forgotten_line(ids if chosen is None else [chosen]), name)

    def adapt(self, X: Features, among: Among, force: bool) -> Verdict:
        """Adapt unseen classes to unlabelled rows (n, d), if validation classes say that this helps, or if forced."""
        snapshot = self._classes.snapshot
        check_can_learn(self._classes.model)
        model = copy_with_classes(snapshot.model, snapshot.table)
        try:
            verdict = expected_gain(snapshot, len(X), among)
            if not verdict["clear"] and not force:
                return verdict
            new = model.adapt(X, among, force=True)
        except ValueError as error:
            raise Refusal(409, str(error)) from None
        kept = tuple(new._kept_adaptation())
        if sum(one.sums.size for one in kept) > MAX_ADAPTATION_VALUES:
            why = "these are more classes than a service keeps an adaptation of: use zskl adapt on the model file"
            raise Refusal(409, why)
        verdict |= {
            "adapted": True,
            "classes": len(kept[0].classes),
            "changed": int((_best_classes(snapshot.model, snapshot, X) != _best_classes(new, snapshot, X)).sum()),
            "converged": bool(kept[0].record["converged"]),
        }
        with self._classes.lock_for_change() as now:
            found = Adaptation(kept, verdict)
            for name in {label for one in kept for label in one.classes} - now.kinds.keys():  # deleted meanwhile
                found = replace(found, kept=tuple(one.without(name) for one in found.kept))
            self._classes.apply_change(adaptation_line(found), None)
        return verdict

    def forget_adaptation(self) -> ClassSnapshot:
        with self._classes.lock_for_change() as snapshot:
            if snapshot.taught.adaptation is None:
                return snapshot
            return self._classes.apply_change(adaptation_line(None), None)


def expected_gain(snapshot: ClassSnapshot, rows: int, among: Among) -> Verdict:
    """What validation classes say about so many unlabelled rows, before any are used."""
    if not hasattr(snapshot.model, "_adaptation_estimate"):
        why = f"a service does not adapt models of kind {snapshot.model.kind!r}: use zskl adapt on the model file, "
        raise Refusal(409, f"{why}if it learns from unlabelled rows")
    try:
        entry = copy_with_classes(snapshot.model, snapshot.table)._adaptation_estimate(among, rows)
    except ValueError as error:
        raise Refusal(409, str(error)) from None
    verdict = cast(Verdict, dict.fromkeys(Verdict.__annotations__))
    verdict |= {
        "adapted": False,
        "rows": rows,
        "verdict": "nobody has tried so few unlabelled rows, or any, on validation classes of this model: nothing says "
        "whether adapting helps; fit it with zskl fit --calibrate, load more rows, or set force",
    }
    if entry is None:
        return verdict
    gain, spread, least = (float(entry[name]) for name in ("gain", "spread", "least"))
    verdict |= {"clear": is_clear_gain(entry), "gain": gain, "spread": spread, "least": least}
    verdict["verdict"] = (
        f"on validation classes, adapting changed the accuracy by {100 * gain:+.1f} points ± {100 * spread:.1f}, by "
        f"{100 * least:+.1f} at worst: " + ("it helps" if verdict["clear"] else "no clear gain; set force to adapt")
    )
    return verdict


def _best_classes(model: ZeroShotClassifier, snapshot: ClassSnapshot, X: Features) -> NDArray[np.int64]:
    """(n,) the place of each row's best class."""
    panel = CandidateScorer(model, snapshot.table, calibrated=True)
    found = np.empty(len(X), np.int64)
    for rows, scores in panel.blocks(X):
        found[rows] = to_numpy(scores).argmax(axis=1)
    return found
