"""Unlabelled rows as evidence: each row counts for a class as far as the model believes that it is of that class.

    q = softmax over the candidates of κ·score,   u_c = unit(base_c + Σᵢ q_ic x̂ᵢ),   and again, a few times

Only classes without training rows move. Optionally q is balanced: classes with much mass give some of it away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl.estimators._candidates import best_row_scores, softmax
from zskl.estimators._class_means_fit import mean_of_largest, scale_to_unit_length, sum_directions, whitening_weights
from zskl.signatures.table import SignatureTable

# Adaptation -----------------------------------------------------------------------------------------------------------

EVEN_SHARES, PARTLY = 10, 3  # rounds that balance rows and classes: fully, and by a part
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


def balance_columns(q: Array, part: float) -> Array:
    """q (n, c) with column masses drawn together: by a `part` of 1 to equal masses. Each row keeps its own mass."""
    xp = namespace(q)
    q = q + TINY
    share = xp.sum(q, axis=1, keepdims=True)  # of no row 0
    for _ in range(EVEN_SHARES if part == 1 else PARTLY):
        q = q / xp.sum(q, axis=0, keepdims=True) ** part
        q = q * (share / xp.sum(q, axis=1, keepdims=True))
    return q


def run_adaptation(
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
    places, columns = convert_like(owner[mine], x, "int64"), np.searchsorted(mine, rows[free])
    base = (described + known)[convert_like(mine, x, "int64")]
    fixed = (
        _adaptation_logits(x, scale_to_unit_length(described + known), rows[still], how.kappa, how.shift)
        if len(still)
        else x[:, :0]
    )
    extra = (
        None if other is None else (other[:, convert_like(free, x, "int64")], other[:, convert_like(still, x, "int64")])
    )
    fixed = fixed if extra is None else fixed + extra[1]
    u, turned, done = scale_to_unit_length(base), 1.0, 0
    q = found = x[:, :0]
    while done < how.rounds and turned >= SETTLED:
        done += 1
        logits = how.kappa * best_row_scores(x @ u.T, columns)
        logits = logits if extra is None else logits + extra[0]
        q = softmax(xp.concat([logits, fixed], axis=1) if len(still) else logits)[:, : len(free)]
        q = balance_columns(q, how.balance) if how.balance else q
        found = how.count * (q.T @ x)
        new = scale_to_unit_length(base + found[places])
        turned = float(xp.max(1 - xp.sum(new * u, axis=1)))
        u = new
    sums, masses = np.zeros((len(rows), x.shape[1]), np.float32), np.zeros(len(rows))
    sums[free], masses[free] = to_numpy(found), to_numpy(xp.sum(q, axis=0))
    return Adapted(sums, masses, done, turned)


def _adaptation_logits(x: Array, u: Array, rows: NumPyArray, kappa: float, shift: float) -> Array:
    """κ·(score − shift) (n, c) of classes whose directions stay."""
    mine = np.unique(rows)
    scores = best_row_scores(x @ u[convert_like(mine, x, "int64")].T, np.searchsorted(mine, rows))
    return kappa * (scores - shift)


# Bench ----------------------------------------------------------------------------------------------------------------
# Validation rows of one fold, ready to try examples and unlabelled rows on: only products of sizes that matter.

Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ValidationBench:
    """Rows x̂ (n, d) with the columns `own` (n,) of their classes, before c candidates of which some are `seen` (c,).

    Of each of R signature rows: `described` m̂ (R, d), how firm that is (R,), and the whitened mean (R, d) and number of
    training rows (R,) of its class, 0 for a held-out one. `rows` (c, m) are the signature rows of each candidate.
    `other` (n, c) is what other models add to the scores.
    """

    x: Rows
    own: NDArray[np.int64]
    seen: NDArray[np.bool_]
    described: Rows
    firmness: NDArray[np.float64]
    means: Rows
    counts: NDArray[np.float64]
    weight: float  # n₀ of the seen classes
    rows: NumPyArray
    kept: Rows
    eigenvalues: NDArray[np.float64]
    shrinkage: float
    crowding: float
    share: float
    other: Rows | None = None

    def at(self, shrinkage: float) -> ValidationBench:
        """The same with another shrinkage, which only weighs coordinates; kept for the next time."""
        if shrinkage == self.shrinkage:
            return self
        if shrinkage not in self._turned:
            self._turned[shrinkage] = self._at(shrinkage)
        return self._turned[shrinkage]

    @cached_property
    def _turned(self) -> dict[float, ValidationBench]:
        return {}

    def _at(self, shrinkage: float) -> ValidationBench:
        before, after = (whitening_weights(self.eigenvalues, one) for one in (self.shrinkage, shrinkage))
        ratio = (after / before).astype(np.float32)
        return replace(
            self,
            x=scale_to_unit_length(self.x * ratio),
            described=scale_to_unit_length(self.described * ratio),
            means=self.means * ratio,
            kept=scale_to_unit_length(self.kept * ratio),
            shrinkage=shrinkage,
        )

    @cached_property
    def known(self) -> Rows:
        """(R, d) what training rows add to the direction of each signature's class."""
        return sum_directions(self.means, self.counts, self.eigenvalues, self.shrinkage).astype(np.float32)

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """(R,) the candidate of each signature row."""
        found = np.zeros(len(self.described), dtype=np.int64)
        found[self.rows.ravel()] = np.repeat(np.arange(len(self.rows)), self.rows.shape[1])
        return found

    @cached_property
    def new(self) -> NDArray[np.int64]:
        """Columns of the held-out classes."""
        return np.flatnonzero(~self.seen)

    @cached_property
    def new_rows(self) -> NDArray[np.int64]:
        """Rows of the held-out classes."""
        return np.flatnonzero(~self.seen[self.own])

    @cached_property
    def _products(self) -> tuple[Rows, Rows]:
        """(n, R) and (n, R): rows with what is described, and with what is known."""
        return self.x @ self.described.T, self.x @ self.known.T

    @cached_property
    def _kept_products(self) -> tuple[Rows, Rows]:
        return self.kept @ self.described.T, self.kept @ self.known.T

    def worth(self, weight: float, firm: bool = False) -> Rows:
        """(R,) what descriptions are worth if those of held-out classes are worth `weight`, or more where `firm`."""
        new = weight * self.firmness if firm else weight
        return np.where(self.seen[self.owner], self.weight, new).astype(np.float32)

    def scores(self, weight: float, crowding: float, added: Rows | None = None) -> Rows:
        """(n, c) where rows that sum up to `added` (c, d) were learned."""
        return Trial(self, added).scores(weight, crowding)

    def some(self, rows: NDArray[np.int64]) -> ValidationBench:
        """Some of the rows."""
        other = None if self.other is None else self.other[rows]
        return replace(self, x=self.x[rows], own=self.own[rows], other=other)

    def held_out(self) -> ValidationBench:
        """The rows of the held-out classes before these classes alone."""
        columns, rows = self.new, self.new_rows
        signatures = np.unique(self.rows[columns])
        return replace(
            self,
            x=self.x[rows],
            own=np.searchsorted(columns, self.own[rows]),
            seen=self.seen[columns],
            described=self.described[signatures],
            firmness=self.firmness[signatures],
            means=self.means[signatures],
            counts=self.counts[signatures],
            rows=np.searchsorted(signatures, self.rows[columns]),
            other=None if self.other is None else self.other[np.ix_(rows, columns)],
        )

    def adapted(self, how: AdaptationSettings) -> Adapted:
        """What these rows, as if unlabelled, add to the held-out classes."""
        described = self.worth(how.weight)[:, None] * self.described
        other = None if self.other is None else np.float32(how.kappa) * self.other
        return run_adaptation(self.x, described, self.known, self.rows, ~self.seen, how, other)

    def accuracy(self, scores: Rows, rows: NDArray[np.int64]) -> float:
        """Mean per-class accuracy of rows of held-out classes among themselves, from their scores for all classes."""
        own = self.own[rows]
        right = self.new[scores[:, self.new].argmax(axis=1)] == own
        counts = np.bincount(own, minlength=len(self.seen))
        hits = np.bincount(own, weights=right, minlength=len(self.seen))
        return float(np.mean(hits[counts > 0] / counts[counts > 0]))


class Trial:
    """A bench whose classes have learned rows that sum up to `added` (c, d). It scores `rows` of the bench, or all."""

    def __init__(
        self, bench: ValidationBench, added: Rows | None = None, rows: NDArray[np.int64] | None = None
    ) -> None:
        self.bench, self.added, self.rows = bench, added, slice(None) if rows is None else rows
        self._close: dict[tuple[float, bool], Rows] = {}

    @cached_property
    def _products(self) -> Rows | None:
        """(n, c) of rows with what was learned."""
        return None if self.added is None else self.bench.x[self.rows] @ self.added.T

    @cached_property
    def _kept_products(self) -> Rows | None:
        return None if self.added is None else self.bench.kept @ self.added.T

    def scores(self, weight: float, crowding: float, firm: bool = False) -> Rows:
        """(n, c); for `weight` and `firm` see `Bench.worth`."""
        bench, worth = self.bench, self.bench.worth(weight, firm)
        length = self._lengths(worth)
        described, known = bench._products
        cosines = self._sum(worth, described[self.rows], known[self.rows], self._products) / length
        if crowding and len(bench.kept):
            if (weight, firm) not in self._close:
                close = self._sum(worth, *bench._kept_products, self._kept_products) / length
                self._close[weight, firm] = np.asarray(mean_of_largest(close, bench.share))
            cosines = cosines - np.float32(crowding) * self._close[weight, firm]
        best: Rows = np.asarray(best_row_scores(cosines, bench.rows))
        return best if bench.other is None else best + bench.other[self.rows]

    def _sum(self, worth: Rows, described: Rows, known: Rows, added: Rows | None) -> Rows:
        found: Rows = worth * described + known
        return found if added is None else found + added[:, self.bench.owner]

    def _lengths(self, worth: Rows) -> Rows:
        """(R,) of the sums of all evidence."""
        total = worth[:, None] * self.bench.described + self.bench.known
        total = total if self.added is None else total + self.added[self.bench.owner]
        length = np.linalg.norm(total, axis=1)
        return np.where(length > 0, length, np.float32(1))


# Moves ----------------------------------------------------------------------------------------------------------------
# How far one more example would move the direction of a class, in closed form.
#
# With v the sum of a class's evidence, u = v/‖v‖ its direction, and v′ the same with the weight that its description
# has beside one more example, a row x̂ of the class would turn u to u′ = (v′ + x̂)/‖v′ + x̂‖. It moves by
#
#     ‖u′ − u‖ = √(2 − 2 u·u′),    u·u′ = (u·v′ + u·x̂) / √(‖v′‖² + 2 v′·x̂ + 1)


def direction_changes(hat: Array, now: Array, then: Array) -> Array:
    """(n, rows) ‖u′ − u‖ of rows x̂ (n, d), directions u `now` (rows, d) and sums v′ `then` (rows, d)."""
    xp = namespace(hat)
    squares = xp.sum(then * then, axis=1) + 2 * (hat @ then.T) + xp.sum(hat * hat, axis=1, keepdims=True)
    products = xp.sum(now * then, axis=1) + hat @ now.T
    tiny = xp.finfo(squares.dtype).tiny
    cosines = products / xp.sqrt(squares.clip(min=tiny))
    return xp.sqrt((2 - 2 * cosines).clip(min=0.0))
