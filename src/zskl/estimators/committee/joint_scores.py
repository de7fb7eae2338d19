"""The sum of the members' logits, w·score/T of each, for the candidates of one question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl.arrays import Array, like, namespace
from zskl.estimators.candidates import Question
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.signatures.table import SignatureTable


@dataclass(frozen=True)
class JointQuestion(Question):
    """Candidates as a committee hands them to its members: the table itself, as nobody has scaled it yet."""

    table: SignatureTable


class Voice:
    """The logits of one member for a table of candidates. It scales raw rows itself.

    A member cannot know a class that has no description. What it says about such a class, one of `unknown`, is what it
    says about a class drawn among the seen ones: the logarithm of the mean of exp(logit) over them.
    """

    def __init__(
        self, member: ZeroShotClassifier, factor: float, table: SignatureTable, unknown: frozenset[Any] = frozenset()
    ) -> None:
        self._member, self._factor = member, float(factor)
        self._answer = _answerer(member, table)
        self._unknown = np.array([label in unknown for label in table.classes.tolist()])
        self._seen = _answerer(member, member.signature_table_.select(member.classes_)) if self._unknown.any() else None

    def __call__(self, X: Array) -> Array:
        """(n, c) of raw rows X (n, d), where they lie."""
        logits = self._factor * like(self._answer(X), X)
        if self._seen is None:
            return logits
        drawn = _log_mean_exp(self._factor * like(self._seen(X), X))
        return namespace(logits).where(like(self._unknown, logits, "bool"), drawn, logits)


def _answerer(member: ZeroShotClassifier, table: SignatureTable) -> Callable[[Array], Array]:
    """Raw rows → scores; what the table alone decides is worked out with the first rows."""
    ready: list[Callable[[Array], Array]] = []

    def answer(X: Array) -> Array:
        scaled = member._scaled(X)
        if not ready:
            ready.append(member._answerer(member._question(scaled, table)))
        return ready[0](scaled)

    return answer


def _log_mean_exp(logits: Array) -> Array:
    """(n, c) → (n, 1)."""
    xp = namespace(logits)
    most = xp.max(logits, axis=1, keepdims=True)
    return most + xp.log(xp.mean(xp.exp(logits - most), axis=1, keepdims=True))
