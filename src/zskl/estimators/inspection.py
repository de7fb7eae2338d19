"""Looking into a fitted estimator: explanations, samples among the attributes, classes that are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, like
from zskl.estimators import inputs, score_parts
from zskl.estimators.candidates import as_in, best_of_rows, choose
from zskl.estimators.explanation import Explanation, explain
from zskl.estimators.projected_rows import Gallery, projected
from zskl.estimators.ranking import BLOCK_BYTES, Labels, best_first
from zskl.estimators.score_parts import Anatomy
from zskl.parameters import count, listed
from zskl.scaling import Scaling


class Inspection:
    """What a fitted estimator shows of itself. Methods whose score falls into attributes say so in `_anatomy`."""

    def _anatomy(self) -> Anatomy | None:
        """How the score is made of a projection and attributes; None where it is not."""
        return None

    def explain(
        self,
        X: Array,
        top: int = 5,
        signatures: Any = None,
        candidates: Labels | None = None,
        *,
        label: Any = None,
        against: Any = None,
        calibrated: bool = True,
    ) -> list[Explanation]:
        """For each row of X, which attributes speak for its class and against the runner-up, and how much.

        The contributions of all attributes add up to the difference of the two raw scores; `top` of them are shown. The
        class is the one `predict` answers, or `label`; the other is the best of the rest, or `against`. `signatures`,
        `candidates` and `calibrated` are as of `predict`. Methods without a projection into attributes refuse.
        """
        return explain(self, X, top, signatures, candidates, label, against, calibrated)

    def attribute_space(self, X: Array) -> Array:
        """P = Wᵀx (n, p) of scaled rows: a column for each attribute, in the library, precision and on the device of X.

        It lies where scaled signatures lie, so a class is near where its samples are. SAE, which compares directions,
        has it of unit length there, or of unit x.
        """
        body = score_parts.of(self, "has no attribute space")
        X = inputs.sliceable(self, X)
        return like(projected(self, body, X)[0], inputs.taken(self, X, slice(0, 1)))

    def gallery(self, X: Array) -> Gallery:
        """Rows X kept as their projections: `.scores(signatures)` is `compatibility` without another pass over X."""
        return Gallery(self, X)

    def nearest_classes(self, top: int = 5, signatures: Any = None, candidates: Labels | None = None) -> pd.DataFrame:
        """The `top` most similar classes of each candidate: columns class, nearest and similarity, best first.

        Similarity is the cosine of the signatures as the model scales them; of classes with several, the best pair's.
        """
        return nearest(self, count("top", top), signatures, candidates)


def nearest(model: Any, top: int, signatures: Any, candidates: Any, of: Labels | None = None) -> pd.DataFrame:
    """See `Inspection.nearest_classes`. `of` names the classes whose neighbours you want (default: all candidates).
    Works on blocks of classes, so that many classes do not need all their cosines at once."""
    check_is_fitted(model)
    table = choose(model, signatures, candidates)
    labels, rows = as_in(model.classes_, table.classes), table.padded_rows()
    c, m = rows.shape
    if c < 2:
        raise ValueError(f"the only candidate is {listed(labels)}: there is no other class to be near to; name more")
    top = min(top, c - 1)
    Y = Scaling(("l2",)).apply(model.signature_scaling_.apply(table.matrix))
    place = {label: k for k, label in enumerate(labels.tolist())}
    wanted = np.array([place[label] for label in (labels.tolist() if of is None else of)])
    order, similarity = np.empty((len(wanted), top), dtype=np.int64), np.empty((len(wanted), top))
    height = max(1, BLOCK_BYTES[0] // (8 * m * len(Y)))
    for start in range(0, len(wanted), height):
        block = slice(start, start + height)
        some = wanted[block]
        cosines = best_of_rows(Y[rows[some].ravel()] @ Y.T, rows).reshape(-1, m, c).max(axis=1)
        cosines[np.arange(len(some)), some] = -np.inf
        order[block], similarity[block] = best_first(cosines, top)
    return pd.DataFrame(
        {"class": np.repeat(labels[wanted], top), "nearest": labels[order.ravel()], "similarity": similarity.ravel()}
    )
