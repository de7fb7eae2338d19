"""Validation rows of one fold, ready to try examples and unlabelled rows on: only products of sizes that matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import NumPyArray
from zskl.estimators.candidates import best_of_rows
from zskl.estimators.class_means.adaptation import AdaptationSettings, Adapted, adapted
from zskl.estimators.class_means.crowding import largest_mean
from zskl.estimators.class_means.space import class_sums, unit, whitening_weights

Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Bench:
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

    def at(self, shrinkage: float) -> Bench:
        """The same with another shrinkage, which only weighs coordinates; kept for the next time."""
        if shrinkage == self.shrinkage:
            return self
        if shrinkage not in self._turned:
            self._turned[shrinkage] = self._at(shrinkage)
        return self._turned[shrinkage]

    @cached_property
    def _turned(self) -> dict[float, Bench]:
        return {}

    def _at(self, shrinkage: float) -> Bench:
        before, after = (whitening_weights(self.eigenvalues, one) for one in (self.shrinkage, shrinkage))
        ratio = (after / before).astype(np.float32)
        return replace(
            self,
            x=unit(self.x * ratio),
            described=unit(self.described * ratio),
            means=self.means * ratio,
            kept=unit(self.kept * ratio),
            shrinkage=shrinkage,
        )

    @cached_property
    def known(self) -> Rows:
        """(R, d) what training rows add to the direction of each signature's class."""
        return class_sums(self.means, self.counts, self.eigenvalues, self.shrinkage).astype(np.float32)

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

    def some(self, rows: NDArray[np.int64]) -> Bench:
        """Some of the rows."""
        other = None if self.other is None else self.other[rows]
        return replace(self, x=self.x[rows], own=self.own[rows], other=other)

    def held_out(self) -> Bench:
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
        return adapted(self.x, described, self.known, self.rows, ~self.seen, how, other)

    def accuracy(self, scores: Rows, rows: NDArray[np.int64]) -> float:
        """Mean per-class accuracy of rows of held-out classes among themselves, from their scores for all classes."""
        own = self.own[rows]
        right = self.new[scores[:, self.new].argmax(axis=1)] == own
        counts = np.bincount(own, minlength=len(self.seen))
        hits = np.bincount(own, weights=right, minlength=len(self.seen))
        return float(np.mean(hits[counts > 0] / counts[counts > 0]))


class Trial:
    """A bench whose classes have learned rows that sum up to `added` (c, d). It scores `rows` of the bench, or all."""

    def __init__(self, bench: Bench, added: Rows | None = None, rows: NDArray[np.int64] | None = None) -> None:
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
                self._close[weight, firm] = np.asarray(largest_mean(close, bench.share))
            cosines = cosines - np.float32(crowding) * self._close[weight, firm]
        best: Rows = np.asarray(best_of_rows(cosines, bench.rows))
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
