"""Many settings of a kernel classifier in as few runs as possible."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from zskl.arrays import Array
from zskl.estimators import stack
from zskl.estimators.stack import Callback
from zskl.estimators.stack_scores import Moment
from zskl.parameters import count
from zskl.training.solver import DivergenceError, Progress

if TYPE_CHECKING:
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier


def fit_together(
    estimator: ZeroShotKernelClassifier,
    settings: Sequence[Mapping[str, Any]],
    X: Array,
    y: Any,
    signatures: Any,
    visit: Callable[[int, Any], object],
) -> None:
    """One run of one stack: settings that differ in epochs alone are the same member at several times."""
    wanted: dict[str, list[tuple[int, ZeroShotKernelClassifier]]] = {}
    for place, setting in enumerate(settings):
        model = copy.copy(estimator)  # quicker than a clone, and nobody else has `estimator`
        model.__dict__.update(setting, warm_start=False)
        numbers = {name: getattr(model, name) for name in stack.STACKABLE}
        wanted.setdefault(repr(numbers), []).append((place, model))
    last = max(count("epochs", model.epochs) for group in wanted.values() for _, model in group)
    members = [copy.copy(group[0][1]) for group in wanted.values()]
    for member in members:
        member.epochs = last

    groups = list(wanted.values())

    def look(progress: Progress) -> None:
        if not progress.epoch_ends:
            return
        moment = Moment(members[progress.first : progress.first + len(progress.projection)], progress.projection)
        for k, W in enumerate(progress.projection, start=progress.first):
            member = members[k]
            for place, model in groups[k]:
                if model.epochs == progress.epoch + 1:
                    model.__dict__.update({name: value for name, value in vars(member).items() if name[-1] == "_"})
                    model.projection_, model.diverged_ = W, None
                    model.kernel_, model.incoherence_ = model._kernel(), bool(model.incoherence)
                    model._member = moment, k - progress.first
                    visit(place, model)

    stack.train(members, X, y, signatures, look)
    per_epoch = len(y) // min(members[0].batch_size, len(y))
    for member, group in zip(members, groups, strict=True):
        for place, model in group:
            if member.diverged_ is not None and member.diverged_ < model.epochs * per_epoch:
                visit(place, DivergenceError(member.diverged_, member.learning_rate))


def fit_stack(
    estimator: ZeroShotKernelClassifier,
    settings: Sequence[Mapping[str, Any]],
    X: Array,
    y: Any,
    signatures: Any = None,
    callback: Callback | None = None,
) -> list[ZeroShotKernelClassifier]:
    """One fitted clone of `estimator` per setting, in order.

    Settings that differ in `stack.STACKABLE` parameters alone train at once, others in stacks of their own. All
    members share initialisation and batch order. A member that diverges has `diverged_` set, the others go on.
    """
    members = [clone(estimator).set_params(**setting) for setting in settings]
    groups: dict[str, list[ZeroShotKernelClassifier]] = {}
    for member in members:
        fixed = {name: value for name, value in member.get_params(deep=False).items() if name not in stack.STACKABLE}
        groups.setdefault(repr(sorted(fixed.items())), []).append(member)
    for group in groups.values():
        stack.train(group, X, y, signatures, callback)
    return members
