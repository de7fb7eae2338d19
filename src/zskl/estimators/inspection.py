"""Looking into a fitted estimator: explanations, samples among the attributes, classes that are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, like
from zskl.estimators import inputs, score_parts
from zskl.estimators.candidates import as_in, choose
from zskl.estimators.explanation import Explanation, explain
from zskl.estimators.nearest_classes import nearest_classes
from zskl.estimators.projected_rows import ProjectedRows, projected
from zskl.estimators.ranking import Labels
from zskl.estimators.score_parts import ScoreParts
from zskl.parameters import count, listed
from zskl.scaling import Scaling


class Inspection:
    """What a fitted estimator shows of itself. Methods whose score falls into attributes say so in `_score_parts`."""

    classes_: NumPyArray
    signature_scaling_: Scaling

    def _score_parts(self) -> ScoreParts | None:
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

    def gallery(self, X: Array) -> ProjectedRows:
        """Rows X kept as their projections: `.scores(signatures)` is `compatibility` without another pass over X."""
        return ProjectedRows(self, X)

    def nearest_classes(self, top: int = 5, signatures: Any = None, candidates: Labels | None = None) -> pd.DataFrame:
        """The `top` most similar classes of each candidate: columns class, nearest and similarity, best first.

        Similarity is the cosine of the signatures as the model scales them; of classes with several, the best pair's.
        """
        top = count("top", top)
        check_is_fitted(self)
        table = choose(self, signatures, candidates)
        labels = as_in(self.classes_, table.classes)
        if len(labels) < 2:
            raise ValueError(f"the only candidate is {listed(labels)}: expected two or more; name another class")
        order, similarity = nearest_classes(self.signature_scaling_, table, np.arange(len(labels)), top)
        return pd.DataFrame(
            {
                "class": np.repeat(labels, order.shape[1]),
                "nearest": labels[order.ravel()],
                "similarity": similarity.ravel(),
            }
        )
