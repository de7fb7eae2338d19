"""Logistic regression with many outputs: seen classes, which exclude each other, or attributes, which do not.

    min  C Σ_i −log p(target_i | x_i) + ½ ‖W‖²,   p from XW + b

with p the softmax over the classes, or one sigmoid for each attribute. Strictly convex in W: no seed, no schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from zskl.arrays import Array, namespace
from zskl.baselines.linear import Loss, Rows, minimise, rotate
from zskl.baselines.shared_fit import members
from zskl.estimators.candidates import softmax
from zskl.estimators.estimator import Training

Weights: TypeAlias = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]  # W (d, k), b (k,)


def path(training: Training) -> Callable[[float], Weights]:
    """C → the multinomial regression of the seen classes, fitted once for each C."""
    rows = rotate(training.X)
    known: dict[float, Weights] = {}

    def at(C: float) -> Weights:
        if C not in known:
            known[C] = multinomial(rows, members(training), C)
        return known[C]

    return at


def multinomial(rows: Rows, targets: Array, C: float) -> Weights:
    """(W (d, k), b (k,)) of the softmax of XW + b for targets (n, k), one 1 in each row."""
    n, k = targets.shape
    return minimise(rows, cross_entropy(targets), k, 1 / (C * n), 1 / k)


def binary(rows: Rows, targets: Array, C: float) -> Weights:
    """(W (d, k), b (k,)) of the sigmoids of XW + b for targets (n, k) of zeros and ones."""
    n, k = targets.shape
    return minimise(rows, sigmoid_loss(targets), k, 1 / (C * n), 0.25)


def cross_entropy(targets: Array) -> Loss:
    """−Σ_k t_k log softmax(F)_k and its gradient, for F (n, k), as a mean over rows."""
    xp = namespace(targets)
    n = targets.shape[0]

    def loss(F: Array) -> tuple[float, Array]:
        value = xp.sum(log_sum_exp(F), dtype=xp.float64) - xp.sum(targets * F, dtype=xp.float64)
        return float(value) / n, (softmax(F) - targets) / n

    return loss


def sigmoid_loss(targets: Array) -> Loss:
    """Σ over attributes of log(1 + e^F) − t F and its gradient, for F (n, k), as a mean over rows."""
    xp = namespace(targets)
    n = targets.shape[0]

    def loss(F: Array) -> tuple[float, Array]:
        value = xp.sum(softplus(F) - targets * F, dtype=xp.float64)
        return float(value) / n, (sigmoid(F) - targets) / n

    return loss


def log_sum_exp(F: Array) -> Array:
    """log Σ_k e^F_k of (n, k), for numbers of any size: (n,)."""
    xp = namespace(F)
    top = xp.max(F, axis=1, keepdims=True)
    return top[:, 0] + xp.log(xp.sum(xp.exp(F - top), axis=1))


def softplus(F: Array) -> Array:
    """log(1 + e^F) for numbers of any size; −softplus(−F) is the logarithm of the sigmoid."""
    xp = namespace(F)
    return xp.maximum(F, 0 * F) + xp.log1p(xp.exp(-xp.abs(F)))


def sigmoid(F: Array) -> Array:
    xp = namespace(F)
    return 0.5 * (1 + xp.tanh(0.5 * F))
