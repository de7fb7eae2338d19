"""What a report draws of one evaluated model, compact enough for a record: a few kilobytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zskl import metrics
from zskl.arrays import to_numpy
from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.experiments.record_parts import Course, Shares, Tried
from zskl.protocols import Result
from zskl.selection import Search

GRAM = 10  # rows and columns of WᵀW
POINTS = 200  # of a course of training
NEAREST = 3  # attributes of a class


@dataclass(frozen=True)
class ModelSummary:
    """What can be shown of a model; None where the model has no such thing."""

    incoherence: float | None = None
    gram: tuple[tuple[float, ...], ...] | None = None
    gram_names: tuple[str, ...] | None = None
    attributes: Shares | None = None
    convergence: Course | None = None


def mistakes(result: Result) -> Shares:
    """Class → its most frequent wrong answers, each with its share of the rows of the class."""
    found = result.mistaken.items()
    return {str(true): tuple((str(answer), short(share)) for answer, share in wrong) for true, wrong in found}


def of_model(model: ZeroShotClassifier, data: Dataset) -> ModelSummary:
    """As far as the model has what a summary shows."""
    projection, history = getattr(model, "projection_", None), getattr(model, "history_", None)
    convergence = course(history.objective) if history is not None and len(history.objective) else None
    if projection is None:
        return ModelSummary(convergence=convergence)
    named = projection.shape[1] == len(data.attribute_names)
    nearest = attributes(model, data) if named else None
    names = tuple(data.attribute_names[:GRAM]) if named else None
    return ModelSummary(metrics.incoherence(projection), gram(projection), names, nearest, convergence)


def gram(W: NDArray[np.floating]) -> tuple[tuple[float, ...], ...]:
    """The first entries of ŴᵀŴ, Ŵ being W (d, p) with columns of unit length."""
    first = np.asarray(W, np.float64)[:, :GRAM]
    length = np.linalg.norm(first, axis=0)
    unit = first / np.where(length > 0, length, 1.0)
    return tuple(tuple(short(value) for value in row) for row in (unit.T @ unit).tolist())


def course(objective: NDArray[np.floating]) -> Course:
    """The objective of mini-batches (steps,) as means of at most POINTS blocks, under each block's last step."""
    values = np.asarray(objective, np.float64)
    blocks = np.array_split(values, min(POINTS, len(values)))
    means = [float(block.mean()) for block in blocks]
    steps = np.cumsum([len(block) for block in blocks]).tolist()
    finite = [(step, short(mean)) for step, mean in zip(steps, means, strict=True) if np.isfinite(mean)]
    return Course(tuple(step for step, _ in finite), tuple(mean for _, mean in finite))


def attributes(model: ZeroShotClassifier, data: Dataset) -> Shares:
    """Unseen class → attributes of the largest entries of the mean Wᵀx of its test rows, as shares of its length."""
    rows = data.parts["test_unseen"]
    landed = to_numpy(model.feature_scaling_.apply(data.X[rows])) @ np.asarray(model.projection_)  # (n, p)
    labels = data.y[rows]
    found: dict[str, tuple[tuple[str, float], ...]] = {}
    for label in data.unseen_classes.tolist():
        mine = landed[labels == label]
        if not len(mine):
            continue
        mean = mine.mean(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(mean)) or 1.0
        places = np.argsort(-mean, kind="stable")[:NEAREST].tolist()
        found[str(label)] = tuple((str(data.attribute_names[k]), short(mean[k] / length)) for k in places)
    return found


def tried(search: Search) -> Tried:
    """Every setting as a row of its values and its mean "zsl" and "gzsl" over folds, None where it diverged."""
    names = tuple(dict.fromkeys(name for setting in search.settings for name in setting))
    means = np.stack([search.zsl.mean(axis=1), search.gzsl.mean(axis=1)], axis=1).tolist()
    scores = [tuple(short(mean) if np.isfinite(mean) else None for mean in pair) for pair in means]
    rows = zip(search.settings, scores, strict=True)
    return Tried(names, tuple((*(setting.get(name) for name in names), *pair) for setting, pair in rows))


def short(value: float) -> float:
    """Four digits, which is what a record needs."""
    return float(f"{value:.4g}")
