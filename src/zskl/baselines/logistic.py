"""Logistic regression with many outputs: seen classes, which exclude each other, or attributes, which do not.

    min  C Σ_i w_i · −log p(target_i | x_i) + ½ ‖W‖²,   p from XW + b,   w_i the weight of row i, usually 1

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
    rows = rotate(training.X, training.weights)
    known: dict[float, Weights] = {}

    def at(C: float) -> Weights:
        if C not in known:
            known[C] = multinomial(rows, members(training), C)
        return known[C]

    return at


def multinomial(rows: Rows, targets: Array, C: float) -> Weights:
    """(W (d, k), b (k,)) of the softmax of XW + b for targets (n, k), one 1 in each row."""
    k = targets.shape[1]
    return minimise(rows, cross_entropy(targets, rows.share), k, 1 / (C * rows.mass), 1 / k)


def binary(rows: Rows, targets: Array, C: float) -> Weights:
    """(W (d, k), b (k,)) of the sigmoids of XW + b for targets (n, k) of zeros and ones."""
    k = targets.shape[1]
    return minimise(rows, sigmoid_loss(targets, rows.share), k, 1 / (C * rows.mass), 0.25)


def cross_entropy(targets: Array, share: Array | None = None) -> Loss:
    """−Σ_k t_k log softmax(F)_k and its gradient, for F (n, k), as a mean over rows; `share` (n, 1) of each in it."""
    xp = namespace(targets)
    each = 1 / targets.shape[0] if share is None else share

    def loss(F: Array) -> tuple[float, Array]:
        rows = log_sum_exp(F)[:, None] - xp.sum(targets * F, axis=1, keepdims=True)
        return float(xp.sum(each * rows, dtype=xp.float64)), each * (softmax(F) - targets)

    return loss


def sigmoid_loss(targets: Array, share: Array | None = None) -> Loss:
    """Σ over attributes of log(1 + e^F) − t F and its gradient, for F (n, k), as a mean over rows like the above."""
    xp = namespace(targets)
    each = 1 / targets.shape[0] if share is None else share

    def loss(F: Array) -> tuple[float, Array]:
        value = xp.sum(each * (softplus(F) - targets * F), dtype=xp.float64)
        return float(value), each * (sigmoid(F) - targets)

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
