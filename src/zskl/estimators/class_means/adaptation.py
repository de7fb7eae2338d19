"""Unlabelled rows as evidence: each row counts for a class as far as the model believes that it is of that class.

    q = softmax over the candidates of κ·score,   u_c = unit(base_c + Σᵢ q_ic x̂ᵢ),   and again, a few times

Only classes without training rows move. Optionally q is balanced: classes with much mass give some of it away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, NumPyArray, like, namespace, to_numpy
from zskl.estimators.candidates import best_of_rows, softmax
from zskl.estimators.class_means.space import unit
from zskl.signatures.table import SignatureTable

EVEN, PARTLY = 10, 3  # rounds that balance rows and classes: fully, and by a part
SETTLED = 1e-3  # a round that turns no direction by more (1 − cosine) is the last
TINY = 1e-30


class NoClearGain(ValueError):
    """Raised by `adapt` where nothing says that unlabelled rows would help."""


@dataclass(frozen=True)
class AdaptationSettings:
    """How unlabelled rows are used: see `adapted`."""

    weight: float = 5.0  # n₀, what a description is worth in rows
    kappa: float = 40.0
    balance: float = 0.0  # 0 leaves the masses of classes as they come, 1 makes them equal
    rounds: int = 5
    shift: float = 0.0  # subtracted from the scores of seen classes
    crowding: float = 0.0  # what the adapted model subtracts; while it adapts, nothing
    shrinkage: float | None = None  # None: that of the model
    count: float = 1.0  # what a row counts: less where there are more rows than validation classes had

    @classmethod
    def of(cls, stored: dict[str, Any]) -> AdaptationSettings:
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})


@dataclass(frozen=True, eq=False)
class KeptAdaptation:
    """What a model has learned from unlabelled rows: the `classes` that moved, what the rows add to each (c, d), and
    what `adaptation_` says."""

    classes: list[Any]
    sums: NDArray[np.float32]
    record: dict[str, Any]

    def without(self, label: Any) -> KeptAdaptation:
        """The same for all classes but one."""
        kept = [place for place, one in enumerate(self.classes) if one != label]
        return KeptAdaptation([self.classes[place] for place in kept], self.sums[kept], self.record)


@dataclass(frozen=True)
class OtherModels:
    """Models that have a say in what an unlabelled row is, beside class means in a committee.

    `logits` gives theirs (n, c) for raw rows and a table of candidates, where the scores of class means count `factor`.
    `kappa` is what they count without a κ from validation classes; the logits of the others go with it.
    """

    logits: Callable[[Array, SignatureTable], Array | None]
    factor: float
    kappa: float

    def for_kappa(self, kappa: float, X: Array, table: SignatureTable) -> Array | None:
        """(n, c) what they add to κ·score; None where nobody else is there."""
        logits = self.logits(X, table)
        return None if logits is None else kappa / self.factor * logits


@dataclass(frozen=True, eq=False)
class Adapted:
    """What unlabelled rows add: `sums` (c, d), `masses` (c,), and how the rounds ended."""

    sums: NDArray[np.float32]
    masses: NDArray[np.float64]
    rounds: int
    turned: float  # 1 − cosine of the direction that the last round turned most


def balanced(q: Array, part: float) -> Array:
    """q (n, c) with column masses drawn together: by a `part` of 1 to equal masses. Each row keeps its own mass."""
    xp = namespace(q)
    q = q + TINY
    share = xp.sum(q, axis=1, keepdims=True)  # of no row 0
    for _ in range(EVEN if part == 1 else PARTLY):
        q = q / xp.sum(q, axis=0, keepdims=True) ** part
        q = q * (share / xp.sum(q, axis=1, keepdims=True))
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
    free, still = np.flatnonzero(moving), np.flatnonzero(~moving)
    mine = np.unique(rows[free])  # signature rows that move
    owner = np.zeros(described.shape[0], dtype=np.int64)
    owner[rows[free].ravel()] = np.repeat(np.arange(len(free)), rows.shape[1])
    places, columns = like(owner[mine], x, "int64"), np.searchsorted(mine, rows[free])
    base = (described + known)[like(mine, x, "int64")]
    fixed = _logits(x, unit(described + known), rows[still], how.kappa, how.shift) if len(still) else x[:, :0]
    extra = None if other is None else (other[:, like(free, x, "int64")], other[:, like(still, x, "int64")])
    fixed = fixed if extra is None else fixed + extra[1]
    u, turned, done = unit(base), 1.0, 0
    q = found = x[:, :0]
    while done < how.rounds and turned >= SETTLED:
        done += 1
        logits = how.kappa * best_of_rows(x @ u.T, columns)
        logits = logits if extra is None else logits + extra[0]
        q = softmax(xp.concat([logits, fixed], axis=1) if len(still) else logits)[:, : len(free)]
        q = balanced(q, how.balance) if how.balance else q
        found = how.count * (q.T @ x)
        new = unit(base + found[places])
        turned = float(xp.max(1 - xp.sum(new * u, axis=1)))
        u = new
    sums, masses = np.zeros((len(rows), x.shape[1]), np.float32), np.zeros(len(rows))
    sums[free], masses[free] = to_numpy(found), to_numpy(xp.sum(q, axis=0))
    return Adapted(sums, masses, done, turned)


def _logits(x: Array, u: Array, rows: NumPyArray, kappa: float, shift: float) -> Array:
    """κ·(score − shift) (n, c) of classes whose directions stay."""
    mine = np.unique(rows)
    scores = best_of_rows(x @ u[like(mine, x, "int64")].T, np.searchsorted(mine, rows))
    return kappa * (scores - shift)
