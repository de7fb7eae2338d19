"""What a report draws of one evaluated model, compact enough for a record: a few kilobytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zskl import metrics
from zskl.arrays import to_numpy
from zskl.datasets import Dataset
from zskl.protocols import Result
from zskl.selection import Search

GRAM = 10  # rows and columns of WᵀW
POINTS = 200  # of a course of training
NEAREST = 3  # attributes of a class


def mistakes(result: Result) -> dict[str, list[list[Any]]]:
    """Class → its most frequent wrong answers, each with its share of the rows of the class."""
    found = result.mistaken.items()
    return {str(true): [[str(answer), _short(share)] for answer, share in wrong] for true, wrong in found}


def of_model(model: Any, data: Dataset) -> dict[str, Any]:
    """`incoherence`, `gram`, `attributes` and `convergence`, as far as the model has what they show."""
    found: dict[str, Any] = {}
    projection = getattr(model, "projection_", None)
    if projection is not None:
        found["incoherence"] = metrics.incoherence(projection)
        found["gram"] = gram(projection)
        if projection.shape[1] == len(data.attribute_names):
            found["attributes"] = attributes(model, data)
    history = getattr(model, "history_", None)
    if history is not None and len(history.objective):
        found["convergence"] = course(history.objective)
    return found


def gram(W: Any) -> list[list[float]]:
    """The first entries of ŴᵀŴ, Ŵ being W (d, p) with columns of unit length."""
    first = np.asarray(W, np.float64)[:, :GRAM]
    length = np.linalg.norm(first, axis=0)
    unit = first / np.where(length > 0, length, 1.0)
    return [[_short(value) for value in row] for row in (unit.T @ unit).tolist()]


def course(objective: Any) -> dict[str, list[float]]:
    """The objective of mini-batches (steps,) as means of at most POINTS blocks, under each block's last step."""
    values = np.asarray(objective, np.float64)
    blocks = np.array_split(values, min(POINTS, len(values)))
    means = [float(block.mean()) for block in blocks]
    steps = np.cumsum([len(block) for block in blocks]).tolist()
    finite = [(step, _short(mean)) for step, mean in zip(steps, means, strict=True) if np.isfinite(mean)]
    return {"step": [step for step, _ in finite], "objective": [mean for _, mean in finite]}


def attributes(model: Any, data: Dataset) -> dict[str, list[list[Any]]]:
    """Unseen class → attributes of the largest entries of the mean Wᵀx of its test rows, as shares of its length."""
    rows = data.parts["test_unseen"]
    landed = to_numpy(model.feature_scaling_.apply(data.X[rows])) @ np.asarray(model.projection_)  # (n, p)
    labels, found = data.y[rows], {}
    for label in data.unseen_classes.tolist():
        mine = landed[labels == label]
        if not len(mine):
            continue
        mean = mine.mean(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(mean)) or 1.0
        places = np.argsort(-mean, kind="stable")[:NEAREST].tolist()
        found[str(label)] = [[str(data.attribute_names[k]), _short(mean[k] / length)] for k in places]
    return found


def tried(search: Search) -> dict[str, Any]:
    """Every setting as a row of its values and its mean "zsl" and "gzsl" over folds, None where it diverged."""
    names = list(dict.fromkeys(name for setting in search.settings for name in setting))
    means = np.stack([search.zsl.mean(axis=1), search.gzsl.mean(axis=1)], axis=1).tolist()
    rows = [
        [*_values(setting, names), *(_short(mean) if np.isfinite(mean) else None for mean in pair)]
        for setting, pair in zip(search.settings, means, strict=True)
    ]
    return {"names": names, "rows": rows}


def _values(setting: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [setting.get(name) for name in names]


def _short(value: float) -> float:
    return float(f"{value:.4g}")
