"""Unlabelled rows as evidence: each row counts for a class as far as the model believes that it is of that class.

    q = softmax over the candidates of κ·score,   u_c = unit(base_c + Σᵢ q_ic x̂ᵢ),   and again

Optionally q is balanced, so that every class gets the same mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, NumPyArray, like, namespace, to_numpy
from zskl.estimators.candidates import best_of_rows, softmax
from zskl.estimators.class_means.space import unit

SINKHORN = 10  # rounds that balance rows and classes
SETTLED = 1e-3  # a round that turns no direction by more (1 − cosine) is the last
TINY = 1e-30


class NoClearGain(ValueError):
    """Raised by `adapt` where nothing says that unlabelled rows would help."""


@dataclass(frozen=True)
class AdaptationSettings:
    """How unlabelled rows are used: see `adapted`."""

    weight: float = 5.0  # n₀, what a description is worth in rows
    kappa: float = 40.0
    balance: bool = False
    rounds: int = 15
    shift: float = 0.0  # subtracted from the scores of seen classes
    crowding: float = 0.0

    @classmethod
    def of(cls, stored: dict[str, Any]) -> AdaptationSettings:
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True, eq=False)
class Adapted:
    """What unlabelled rows add: `sums` (c, d), `masses` (c,), and how the rounds ended."""

    sums: NDArray[np.float32]
    masses: NDArray[np.float64]
    rounds: int
    turned: float  # 1 − cosine of the direction that the last round turned most
    sure: float  # mean over rows of the largest q


def balanced(logits: Array, rounds: int = SINKHORN) -> Array:
    """q (n, c): rows sum to 1, classes towards equal mass (Sinkhorn)."""
    xp = namespace(logits)
    q = xp.exp(logits - xp.max(logits, axis=1, keepdims=True)) + TINY
    for _ in range(rounds):
        q = q / xp.sum(q, axis=0, keepdims=True)
        q = q / xp.sum(q, axis=1, keepdims=True)
    return q


def adapted(
    x: Array,
    described: Array,
    known: Array,
    rows: NumPyArray,
    moving: NDArray[np.bool_],
    how: AdaptationSettings,
    other: Array | None = None,
) -> Adapted:
    """Run the rounds on rows x̂ (n, d).

    `described` (R, d) is what each signature row adds (n₀ m̂) and `known` (R, d) the sums of labelled rows. `rows`
    (c, m) are the signature rows of each class. Only classes in the mask `moving` (c,) take rows up. The others, the
    seen ones, are subtracted `shift` from. `other` (n, c) are logits of other models, which are added.
    """
    xp = namespace(x)
    owner = np.zeros(described.shape[0], dtype=np.int64)
    owner[rows.ravel()] = np.repeat(np.arange(len(rows)), rows.shape[1])
    places = like(owner, x, "int64")
    still, free = like((~moving).astype(float), x), like(moving.astype(float), x)
    base = described + known
    u, found, turned = unit(base), None, 1.0
    q = x[:, :0]
    done = 0
    while done < how.rounds:
        done += 1
        logits = how.kappa * (best_of_rows(x @ u.T, rows) - how.shift * still)
        logits = logits if other is None else logits + other
        q = balanced(logits) if how.balance else softmax(logits)
        found = (q * free).T @ x
        new = unit(base + found[places])
        turned = float(xp.max(1 - xp.sum(new * u, axis=1)))
        u = new
        if turned < SETTLED:
            break
    assert found is not None  # there is at least one round
    masses = to_numpy(xp.sum(q, axis=0)).astype(np.float64)
    sure = float(xp.mean(xp.max(q, axis=1)))
    return Adapted(to_numpy(found).astype(np.float32), masses, done, turned, sure)
