"""A model that knows what a service was taught: the model file's, all classes of the moment, and their lessons."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from zskl import methods
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.lessons import Lessons
from zskl.serve.refusal import Refusal
from zskl.signatures.table import SignatureTable


def can_learn(model: ZeroShotClassifier) -> bool:
    """Whether a model learns from examples and unlabelled rows. A committee does if one of its members does."""
    able = hasattr(model, "add_examples")
    return able and (not hasattr(model, "_teachable") or bool(model._teachable()))


def check_able(model: ZeroShotClassifier) -> Any:
    """The model; refused if it cannot be taught, with the names of methods that can."""
    if not can_learn(model):
        names = methods.able("add_examples")
        raise Refusal(
            409,
            f"this model is of kind {model.kind!r}, which cannot learn from examples: {' and '.join(names)} can; fit "
            f"one with zskl fit --method {names[0]}",
        )
    return model


def with_classes(model: ZeroShotClassifier, table: SignatureTable) -> Any:
    """A copy whose candidates are the classes of a table, which has all of its own."""
    new = copy.copy(model)
    new.signature_table_, new.candidates_ = table, table.classes
    if hasattr(model, "members_"):
        new.members_ = [with_classes(member, table) for member in model.members_]
    return new


def taught(model: ZeroShotClassifier, table: SignatureTable, lessons: Lessons) -> ZeroShotClassifier:
    """The model after all lessons, for classes with the descriptions in a table. Examples come first: what unlabelled
    rows added stays as it was worked out."""
    if not lessons:
        return model
    new: Any = with_classes(check_able(model), table)
    if lessons.examples:
        X = np.stack([one.features for one in lessons.examples])
        wrong = np.array([not one.right for one in lessons.examples])
        new = new.add_examples(X, [one.label for one in lessons.examples], wrong=wrong)
    if lessons.adaptation is not None:
        new = new._with_adaptation(lessons.adaptation.kept)
    found: ZeroShotClassifier = new
    return found


def check_fitting(model: ZeroShotClassifier, lessons: Lessons) -> None:
    """Refuse lessons of another model."""
    if not lessons:
        return
    check_able(model)
    d = int(model.n_features_in_)
    widths = {len(one.features) for one in lessons.examples}
    widths |= {one.sums.shape[1] for one in (lessons.adaptation.kept if lessons.adaptation else ()) if one.classes}
    if widths - {d}:
        raise Refusal(409, f"it has examples with {min(widths - {d})} features: the model takes {d}")
