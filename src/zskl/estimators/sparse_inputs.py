"""Sparse rows and signatures: checked for methods that take them, and one sentence about what to do for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from zskl.sparse_rows import SparseRows, are_sparse

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier
    from zskl.signatures.table import SignatureTable

TAKERS = "cosine, class-means and eszsl take sparse ones"
REDUCED = "make_pipeline(TruncatedSVD(300), model)"


def check_rows(estimator: ZeroShotClassifier, X: Any, *y: Any, reset: bool = False) -> Any:
    """Rows X, or the pair of X and y, as `SparseRows` of float32 or float64; refuse a method that needs dense rows."""
    if not estimator.SPARSE:
        raise TypeError(  # as scikit-learn does
            f"X is a sparse {type(X).__name__}, and {type(estimator).__name__} needs dense rows: put a step before it, "
            f"as in {REDUCED}, or use X.toarray() if that is small; {TAKERS}"
        )
    if estimator.device is not None and str(estimator.device) != "cpu":
        raise ValueError(f"device is {str(estimator.device)!r} and X is sparse: expected device=None or 'cpu' for it")
    found = validate_data(
        estimator, X, *y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    return (SparseRows.of(found[0]), found[1]) if y else SparseRows.of(found)


def check_signatures(model: ZeroShotClassifier, table: SignatureTable) -> None:
    """Refuse sparse signatures for a method that needs dense ones."""
    if are_sparse(table.matrix) and not model.SPARSE:
        raise ValueError(
            f"signatures are sparse, and {type(model).__name__} needs dense ones: expected an array or a data frame; "
            f"use TruncatedSVD(300).fit_transform(signatures), or signatures.toarray() if that is small; {TAKERS}"
        )


def refuse_rows(what: str) -> None:
    raise TypeError(
        f"X is sparse, and {what} needs dense rows: use X[rows].toarray() for a few of them, or fit on dense columns, "
        f"as {REDUCED} makes them"
    )


def refuse_signatures(table: SignatureTable, what: str) -> None:
    """Refuse sparse signatures for what needs each of their columns."""
    if are_sparse(table.matrix):
        raise ValueError(
            f"the signatures are sparse, and {what} needs dense ones: fit the model with a dense table, such as "
            "TruncatedSVD(300).fit_transform(signatures)"
        )
