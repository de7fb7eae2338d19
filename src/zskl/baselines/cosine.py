"""Cosine: no training, for features and signatures that one encoder put into the same space."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from zskl._arrays import Array, is_sparse_rows, to_numpy
from zskl.baselines._baseline import Baseline, baseline
from zskl.baselines._linear_models import scale_to_unit_length, sum_by_class
from zskl.estimators._inputs import refuse_weights
from zskl.estimators.explanation import ScoreParts
from zskl.scaling import Scaling
from zskl.training.rows import RowsReadOnce, StreamedRows


@baseline
class Cosine(Baseline):
    """Plain cosine between a row and the signature of a class. Nothing is trained.

    For features and signatures with the same columns, from one encoder: CLIP images and captions, or sentence vectors
    on both sides::

        score = xᵀy / (‖x‖ ‖y‖)

    `fit` learns only which classes are seen, and the means of those scalings that centre. Without signatures a class
    is described by the mean of its training rows. Rows and signatures may be sparse (SciPy).

    Parameters
    ----------
    feature_scaling : str, default="none"
        Scaling of the features, see `zskl.scaling`. The cosine divides by the lengths in any case.
    signature_scaling : str, default="none"
        Scaling of the signatures, see `zskl.scaling`. Without signatures it is not used, because class means are means
        of rows that are already scaled.

    Examples
    --------
    >>> from zskl import baselines
    >>> table = {"cat": [1.0, 0.0, 0.2], "dog": [0.8, 0.6, 0.0], "emu": [0.0, 0.1, 1.0]}
    >>> model = baselines.Cosine().fit([[2.0, 0.1, 0.3], [0.9, 0.7, 0.1]], ["cat", "dog"], table)
    >>> model.predict([[0.1, 0.0, 3.0]]).tolist()
    ['emu']
    """

    kind: ClassVar[str] = "cosine"
    RANDOM: ClassVar[bool] = False
    SPARSE: ClassVar[bool] = True
    SUMMARY: ClassVar[str] = "Plain cosine, no training; features and signatures from one encoder"
    GRID: ClassVar = {
        "feature_scaling": ("none", "center-l2", "l2-center-l2", "standardize-l2"),
        "signature_scaling": ("none", "center-l2", "l2-center-l2", "standardize-l2"),
    }
    LEARNED: ClassVar = {}

    _: KW_ONLY
    feature_scaling: str = "none"
    signature_scaling: str = "none"

    @refuse_weights
    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Callable[[Any], object] | None = None) -> Self:
        with self._all_or_nothing():
            training = self._prepare(X, y, signatures, RowsReadOnce if signatures is None else StreamedRows)
            if signatures is None:
                means = to_numpy(sum_by_class(training)).astype(np.float64) / training.sizes[:, None]
                self._describe(means)
                self.signature_scaling_ = Scaling(())  # these rows are scaled already
            d, p = self.n_features_in_, self.signature_table_.matrix.shape[1]
            if not self._applies(d, p):
                raise ValueError(
                    f"X has {d} columns and signatures have {p}: expected the same number, since a cosine compares "
                    "features and signatures from one encoder; use a method that learns a map between them, such as "
                    "eszsl or gaussian-ort"
                )
        return self

    def _applies(self, d: int, p: int) -> bool:
        return d == p

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        directions = scale_to_unit_length(Y)
        return lambda X: scale_to_unit_length(X) @ directions.T

    def _score_parts(self) -> ScoreParts | None:
        """Column by column: unit(x) meets unit(y), without a map in between."""
        if is_sparse_rows(self.signature_table_.matrix):
            return None
        identity = np.eye(self.n_features_in_, dtype=np.float32)
        return ScoreParts(identity, samples=scale_to_unit_length, classes=scale_to_unit_length)
