"""Is a sample of a seen class at all? Outliers in signature space, by a threshold judged on classes held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl.arrays import Array, generator, like, namespace, to_numpy
from zskl.baselines.cmt import distances
from zskl.baselines.shared_fit import class_signatures
from zskl.estimators.estimator import Training

HELD_OUT = 5  # one class out of so many, and one row out of so many of the other classes, judge the threshold
FLOOR = 0.01  # of the mean spread: no class is narrower


@dataclass(frozen=True)
class Trial:
    """Training rows of some classes, and what the threshold is judged on: further rows of these, and other classes."""

    inner: Training
    X: Array  # (n, d) rows held out
    codes: np.ndarray[Any, Any]  # (n,) index into the inner classes, or for a class held out into Y
    seen: np.ndarray[Any, Any]  # (n,) whether a row is of an inner class
    Y: Array  # (c, p) signatures of the classes held out


def hold_out(training: Training, seed: int) -> Trial | None:
    """A seeded trial with whole classes and some rows of the others held out; None where that leaves too little."""
    codes, draw, classes = to_numpy(training.codes), generator(seed, 4), len(training.sizes)
    order = draw.permutation(classes)
    n_held = max(1, classes // HELD_OUT)
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    shuffled = draw.permutation(len(codes))
    apart = [rows[: max(1, len(rows) // HELD_OUT)] for rows in (shuffled[codes[shuffled] == c] for c in kept)]
    apart = [rows for rows, c in zip(apart, kept, strict=True) if training.sizes[c] > 1]
    if len(kept) < 2 or not apart:
        return None
    seen_rows, unseen_rows = np.concatenate(apart), np.flatnonzero(np.isin(codes, held))
    inner_rows = np.setdiff1d(np.arange(len(codes)), np.concatenate([seen_rows, unseen_rows]))
    inner_codes = np.searchsorted(kept, codes[inner_rows])

    def at(rows: np.ndarray[Any, Any]) -> Array:
        return like(rows, training.Y, "int64")

    return Trial(
        inner=Training(
            X=training.X[at(inner_rows)],
            codes=at(inner_codes),
            Y=training.Y,
            rows=training.rows[kept],
            counts=training.counts[kept],
            sizes=np.bincount(inner_codes, minlength=len(kept)),
        ),
        X=training.X[at(np.concatenate([seen_rows, unseen_rows]))],
        codes=np.concatenate([np.searchsorted(kept, codes[seen_rows]), np.searchsorted(held, codes[unseen_rows])]),
        seen=np.arange(len(seen_rows) + len(unseen_rows)) < len(seen_rows),
        Y=class_signatures(training)[at(held)],
    )


def spreads(F: Array, prototypes: Array, codes: Array) -> np.ndarray[Any, Any]:
    """(C,) mean ‖f_i − w_l‖² of each class, for embedded rows F (n, p) of classes `codes`: its isometric Gaussian."""
    xp = namespace(F)
    own = to_numpy(xp.sum((F - prototypes[codes]) ** 2, axis=1)).astype(np.float64)
    classes = to_numpy(codes)
    mean = np.bincount(classes, own, len(prototypes)) / np.bincount(classes, minlength=len(prototypes))
    return np.maximum(mean, max(FLOOR * mean.mean(), 1e-12)).astype(np.float32)


def novelty(F: Array, prototypes: Array, spread: Array) -> Array:
    """(n,) min_l ‖f_i − w_l‖² / s_l: above a threshold τ, f lies outside the radius √(τ s_l) of every seen class."""
    return namespace(F).min(distances(F, like(prototypes, F)) / like(spread, F), axis=1)


def best_threshold(
    novel: np.ndarray[Any, Any], right: np.ndarray[Any, Any], codes: np.ndarray[Any, Any], seen: np.ndarray[Any, Any]
) -> float:
    """The τ with the highest harmonic mean of the accuracies of seen and unseen classes.

    novel (n,) is each row's novelty, right (n,) whether it is answered rightly once it is judged rightly.
    """
    share = np.zeros(len(novel))  # what a right row adds to its mean per-class accuracy
    for kind in (seen, ~seen):
        _, index, sizes = np.unique(codes[kind], return_inverse=True, return_counts=True)
        share[kind] = right[kind] / (sizes[index] * len(sizes))
    order = np.argsort(novel, kind="stable")
    n, seen, share = novel[order], seen[order], share[order]
    kept = np.concatenate([[0.0], np.cumsum(share * seen)])  # with the threshold above the first k rows
    found = np.sum(share * ~seen) - np.concatenate([[0.0], np.cumsum(share * ~seen)])
    harmonic = kept * found / np.maximum(kept + found, 1e-12)
    harmonic[1:-1][n[1:] <= n[:-1]] = -1  # no threshold lies between equals
    k = int(np.argmax(harmonic))
    return float((n[max(k - 1, 0)] + n[min(k, len(n) - 1)]) / 2)
