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

Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Bench:
    """Rows x̂ (n, d) with the columns `own` (n,) of their classes, before c candidates of which some are `seen` (c,).

    Of each of R signature rows: `described` m̂ (R, d), `known` (R, d) sums of training rows, and what the description
    is worth beside these, `weights` (R,). `rows` (c, m) are the signature rows of each candidate. `other` (n, c) is
    what other models add to the scores.
    """

    x: Rows
    own: NDArray[np.int64]
    seen: NDArray[np.bool_]
    described: Rows
    known: Rows
    weights: NDArray[np.float64]
    rows: NumPyArray
    kept: Rows
    crowding: float
    share: float
    other: Rows | None = None

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

    def worth(self, weight: float) -> Rows:
        """(R,) what descriptions are worth where those of held-out classes are worth `weight`."""
        return np.where(self.seen[self.owner], self.weights, weight).astype(np.float32)

    def scores(
        self, weight: float, crowding: float, added: Rows | None = None, rows: NDArray[np.int64] | None = None
    ) -> Rows:
        """(n, c) of all rows, or of some, where rows that sum up to `added` (c, d) were learned."""
        worth = self.worth(weight)
        at = slice(None) if rows is None else rows
        total = worth[:, None] * self.described + self.known
        numerator = worth * self._products[0][at] + self._products[1][at]
        if added is not None:
            total = total + added[self.owner]
            numerator = numerator + (self.x[at] @ added.T)[:, self.owner]
        length = np.linalg.norm(total, axis=1)
        length = np.where(length > 0, length, np.float32(1))
        found = numerator / length
        if crowding and len(self.kept):
            close = worth * self._kept_products[0] + self._kept_products[1]
            if added is not None:
                close = close + (self.kept @ added.T)[:, self.owner]
            found = found - np.float32(crowding) * np.asarray(largest_mean(close / length, self.share))
        best: Rows = np.asarray(best_of_rows(found, self.rows))
        return best if self.other is None else best + self.other[at]

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
            known=self.known[signatures],
            weights=self.weights[signatures],
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
