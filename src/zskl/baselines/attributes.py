"""Binarised attributes, and the score of a class by the posteriors of its attributes: what DAP and IAP share."""

from __future__ import annotations

from typing import Any

import numpy as np

from zskl.arrays import Array, like, namespace

THRESHOLDS = ("mean", "median", "matrix-mean")


def thresholds(Y: np.ndarray[Any, Any], rule: str) -> np.ndarray[Any, Any]:
    """(p,) the threshold above which an attribute is present, for the seen classes Y (C, p).

    It is near the attribute's mean or median, or near the mean of the whole of Y. It lies in the middle between its two
    neighbouring values, so that rounding cannot move a class across it. The threshold of a constant attribute is its
    value, unless it is that of the whole of Y: then all classes may have an attribute.
    """
    Y = Y.astype(np.float64)
    if rule == "matrix-mean":
        about = np.full(Y.shape[1], Y.mean())
    else:
        about = Y.mean(axis=0) if rule == "mean" else np.median(Y, axis=0)
        about = np.where(about >= Y.max(axis=0), Y.min(axis=0), about)  # the median of mostly ones
    below = np.where(about >= Y, Y, -np.inf).max(axis=0)
    above = np.where(about < Y, Y, np.inf).min(axis=0)
    between = np.isfinite(below) & np.isfinite(above)
    middle: np.ndarray[Any, Any] = np.where(between, 0.5 * (below + above), about)
    return middle


def present(Y: Array, threshold: np.ndarray[Any, Any]) -> Array:
    """(rows, p) 1 where a class has an attribute, else 0."""
    return namespace(Y).astype(like(threshold, Y) < Y, Y.dtype)


def class_scores(log_present: Array, log_absent: Array, A: Array, prior: np.ndarray[Any, Any]) -> Array:
    """Σ_m log p(a_m = a_mᶜ | x) − log p(a_mᶜ) for classes with attributes A (c, p): scores (n, c).

    The logarithms of the posteriors are (n, p), `prior` (p,) is the share of seen classes with an attribute. One that
    all or none of them have says nothing about unseen classes and is left out.
    """
    varies = (prior > 0) & (prior < 1)
    safe = np.where(varies, prior, 0.5)
    use = like(varies, log_present)
    gain = use * (log_present - like(np.log(safe), log_present))
    loss = use * (log_absent - like(np.log(1 - safe), log_present))
    return (gain - loss) @ A.T + namespace(loss).sum(loss, axis=1, keepdims=True)
