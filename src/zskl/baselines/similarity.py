"""SSE's core: similarities of samples to seen classes by common features, and the margins they are trained for.

π_s(x) = ⟨w, φ_s(x)⟩,   φ_s(x) = min(x, v_s) ("intersection") or max(0, x − v_s) ("relu")
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from zskl.arrays import Array, like, namespace, on_gpu, to_numpy
from zskl.baselines.shared_fit import class_signatures, members
from zskl.baselines.simplex import mixtures
from zskl.estimators.estimator import Training

EMBEDDINGS = ("intersection", "relu")
ROWS = 128  # in a block
ENTRIES = 1 << 16, 1 << 26  # of φ in memory at once: on a CPU what fits into its cache, on a GPU more


def parts(X: Array, signed: bool) -> Array:
    """max(0, X) (n, d), or if `signed` max(0, X) beside max(0, −X) (n, 2d)."""
    xp = namespace(X)
    zero = xp.zeros_like(X)
    positive = xp.maximum(X, zero)
    return xp.concat([positive, xp.maximum(-X, zero)], axis=1) if signed else positive


def similarities(X: Array, w: Array, V: Array, embedding: str) -> Array:
    """π (n, C) of rows X (n, d) for w (d,) and V (C, d)."""
    xp = namespace(X)
    parts = []
    for start in range(0, X.shape[0], ROWS):
        rows = X[start : start + ROWS]
        parts.append(xp.concat([_embed(rows, V[some], embedding) @ w for some in _blocks(rows, V)], axis=0).T)
    return xp.concat(parts, axis=0)


def gradients(X: Array, w: Array, V: Array, embedding: str, slope: Array) -> tuple[Array, Array]:
    """∂/∂w (d,) and ∂/∂V (C, d) of Σ slope ∘ π, for slope (n, C)."""
    xp = namespace(X)
    slope = slope.T  # (C, n)
    by_w, by_V = xp.zeros_like(w), []
    for some in _blocks(X, V):
        by_w += xp.sum(slope[some][:, None, :] @ _embed(X, V[some], embedding), axis=(0, 1))
        above = xp.astype(X[None, :, :] > V[some][:, None, :], X.dtype)  # where a threshold binds
        by_V.append((slope[some][:, None, :] @ above)[:, 0, :])
    return by_w, (w if embedding == "intersection" else -w) * xp.concat(by_V, axis=0)


def margin_loss(F: Array, own: Array, margins: Array, alignment: float) -> tuple[Array, Array]:
    """Objective () and gradient (n, C) of how far rows and class means fall short of their margins.

    F (n, C) are scores, own (n, C) has a 1 for each row's class, margins (C, C) are Δ with zeros on the diagonal.

        mean_{i,c} max(0, Δ(y_i, c) − F_i,y_i + F_ic)
        + alignment · mean_{k,c} max(0, Δ(k, c) − mean_{i of class k} (F_ik − F_ic))   over the classes k of the rows
    """
    xp = namespace(F)
    n, C = F.shape
    ahead = xp.sum(own * F, axis=1, keepdims=True) - F  # (n, C) of the row's class, before the others
    lack = own @ margins - ahead
    short = xp.astype(lack > 0, F.dtype)  # never in the row's own class, where both sides are 0
    value, slope = xp.sum(lack * short) / (n * C), short / (n * C)
    if alignment:
        sizes = xp.sum(own, axis=0)  # (C,)
        there = xp.astype(sizes > 0, F.dtype)
        share = own / xp.maximum(sizes, xp.ones_like(sizes))
        lack = margins - share.T @ ahead
        short = xp.astype(lack > 0, F.dtype) * there[:, None]
        weight = alignment / (float(xp.sum(there)) * C)
        value, slope = value + weight * xp.sum(lack * short), slope + weight * (share @ short)
    return value, slope - own * xp.sum(slope, axis=1, keepdims=True)


class SimilarityProblem:
    """What the solver sees: one matrix (1, 1 + C, d), w over v, each in units of its size at the start."""

    def __init__(self, training: Training, gamma: float, embedding: str, alignment: float, ridge: float) -> None:
        xp = namespace(training.X)
        self.gamma, self.embedding, self.alignment, self.ridge = gamma, embedding, alignment, ridge
        self.halves = 1 + bool(xp.any(training.X < 0))
        self.X, self.own = parts(training.X, self.halves > 1), members(training)
        self.seen = class_signatures(training)
        self.Z = like(mixtures(self.seen, self.seen, gamma), self.X)  # (C, C)
        C = self.Z.shape[0]
        self.margins = (1 - self.Z @ self.Z.T) * (1 - like(np.eye(C), self.X))
        V = self.own.T @ self.X / like(training.sizes, self.X)[:, None]
        w = (1 if embedding == "intersection" else -1) * xp.ones_like(V[0, :])
        F = similarities(V, w, V, embedding) @ self.Z.T
        ahead = xp.sum(F * like(np.eye(C), F), axis=1, keepdims=True) - F
        fit = float(xp.sum(ahead * self.margins)), float(xp.sum(ahead * ahead))  # by how much class means are ahead
        size = fit[0] / fit[1] if min(fit) > 0 else 1.0
        spread = float(xp.mean(xp.abs(V))) or 1.0
        self.units = like(np.array([size] + [spread] * C)[:, None], self.X)  # (1 + C, 1)
        self.start = (xp.concat([size * w[None, :], V], axis=0) / self.units)[None]

    def step(self, W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]:
        xp = namespace(W)
        now = W[0] * self.units
        w, V, X = now[0], now[1:], self.X[rows]
        F = similarities(X, w, V, self.embedding) @ self.Z.T
        value, slope = margin_loss(F, self.own[rows], self.margins, self.alignment)
        by_w, by_V = gradients(X, w, V, self.embedding, slope @ self.Z)
        gradient = xp.concat([by_w[None, :], by_V], axis=0) + self.ridge * now
        value = value + 0.5 * self.ridge * xp.sum(now * now)
        return xp.reshape(value, (1,)), (self.units * gradient)[None], None

    def learned(self, W: Array) -> dict[str, Any]:
        now = to_numpy(W[0] * self.units).reshape(len(self.units), self.halves, -1)
        return {
            "weights_": now[0].copy(),
            "thresholds_": now[1:].copy(),
            "seen_": to_numpy(self.seen),
            "gamma_": float(self.gamma),
            "embedding_": self.embedding,
        }


def _embed(X: Array, V: Array, embedding: str) -> Array:
    """φ (k, n, d) for V (k, d)."""
    xp = namespace(X)
    if embedding == "intersection":
        return xp.minimum(X[None, :, :], V[:, None, :])
    difference = X[None, :, :] - V[:, None, :]
    return xp.maximum(difference, 0 * difference)


def _blocks(X: Array, V: Array) -> Iterator[slice]:
    height = max(1, ENTRIES[on_gpu(X, None)] // (X.shape[0] * X.shape[1]))
    for start in range(0, V.shape[0], height):
        yield slice(start, start + height)
