"""Rows kept as their projections, for callers who score them against many new descriptions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zskl.arrays import Array, like, namespace
from zskl.estimators import inputs
from zskl.estimators.candidates import best_of_rows, choose
from zskl.estimators.panel import BLOCK_BYTES
from zskl.estimators.score_parts import ScoreParts
from zskl.scaling import float_type

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier


def projected(model: ZeroShotClassifier, score: ScoreParts, X: Array) -> tuple[Array, Array]:
    """P (n, p) and ‖x‖² (n, 1) of rows from `inputs.sliceable`, block by block, where they are computed."""
    height = max(1, BLOCK_BYTES[0] // (sum(score.W.shape) * float_type(X).itemsize))
    blocks = []
    for start in range(0, X.shape[0], height):
        scaled = model._scaled(inputs.taken(model, X, slice(start, min(start + height, X.shape[0]))))
        blocks.append((score.projected(scaled), namespace(scaled).sum(scaled * scaled, axis=1, keepdims=True)))
    xp = namespace(blocks[0][0])
    return xp.concat([P for P, _ in blocks], axis=0), xp.concat([norms for _, norms in blocks], axis=0)


def _embedded(model: ZeroShotClassifier, X: Array) -> Array | None:
    """What the model keeps of rows from `inputs.sliceable` in place of them, block by block; None: nothing."""
    height = max(1, BLOCK_BYTES[0] // (2 * X.shape[1] * float_type(X).itemsize))
    blocks = []
    for start in range(0, X.shape[0], height):
        rows = inputs.taken(model, X, slice(start, min(start + height, X.shape[0])))
        found = model._gallery_rows(model._scaled(rows))
        if found is None:
            return None
        blocks.append(found)
    return namespace(blocks[0]).concat(blocks, axis=0)


class ProjectedRows:
    """Rows X (n, d) and a fitted model as it is now. XW and ‖x‖² are kept, so scores of c descriptions cost n·p·c.

    Class means keep x̂ (n, d) instead. Other methods without such a projection keep and score the rows themselves.
    """

    def __init__(self, model: ZeroShotClassifier, X: Array) -> None:
        X = inputs.sliceable(model, X, "a gallery")
        self._model = copy.copy(model)  # `fit` replaces what it learns, so the copy keeps it
        self._score_parts: ScoreParts | None = self._model._score_parts()
        self._X = X[:1]  # for its library, device and precision
        self._hat: Array | None = None
        self._turned: Callable[[Array], Array] | None = None  # what `_hat` is for another model
        if self._score_parts is not None:
            self._P, self._norms = projected(self._model, self._score_parts, X)
            self._lengths = namespace(self._P).sum(self._P * self._P, axis=1, keepdims=True)
            W = like(self._score_parts.W, self._P)
            self._gram = W.T @ W if self._score_parts.both else None
        else:
            self._hat = _embedded(self._model, X)
            if self._hat is None:
                self._X = X
        self._rows = int(X.shape[0])

    def taught(self, model: ZeroShotClassifier) -> ProjectedRows:
        """The same rows for a model that `add_examples`, `remove_examples` or `adapt` made of this one."""
        new = copy.copy(self)
        new._model = copy.copy(model)
        if self._hat is not None:
            new._turned = model._gallery_turner(self._model)
        return new

    def _answered(self, answer: Callable[[Array], Array], turned: Callable[[Array], Array]) -> Array:
        """Scores of the rows as another model keeps them, block by block, so that no second copy is in memory."""
        assert self._hat is not None
        height = max(1, BLOCK_BYTES[0] // (self._hat.shape[1] * float_type(self._hat).itemsize))
        starts = range(0, self._rows, height)
        blocks = [answer(turned(self._hat[start : start + height])) for start in starts]
        return namespace(self._hat).concat(blocks, axis=0)

    def __len__(self) -> int:
        return self._rows

    def scores(self, signatures: Any = None, candidates: Any = None) -> Array:
        """What `compatibility` says of these rows: (n, c), in the library and precision of X."""
        of_type = inputs.taken(self._model, self._X, slice(0, 1))
        if self._hat is not None:
            asked = self._model._question(self._hat, choose(self._model, signatures, candidates))
            answer = self._model._gallery_answerer(asked)
            return like(answer(self._hat) if self._turned is None else self._answered(answer, self._turned), of_type)
        if self._score_parts is None:
            raw: Array = self._model.compatibility(self._X, signatures, candidates)
            return raw
        question = self._model._question(self._P, choose(self._model, signatures, candidates))
        Y = self._score_parts.described(question.Y)
        image_norms = None if self._gram is None else namespace(Y).sum((Y @ self._gram) * Y, axis=1)[None, :]
        scores = self._score_parts.scores(self._P, self._lengths, self._norms, Y, image_norms)
        return like(best_of_rows(scores, question.rows), of_type)
