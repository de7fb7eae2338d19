"""The score of a sample and a class (Eq. 12 of the paper) from products and lengths: the one place of this formula.

The fast steps of training (`cpu_step` and `triton_kernels`) write it again for speed; tests hold them to it.
"""

from __future__ import annotations

from typing import NamedTuple

from zskl.arrays import Array
from zskl.kernels.kernel import Kernel, squared_distances


class Pairs(NamedTuple):
    """Points aᵢ against points bⱼ of one space: ‖aᵢ‖² (..., n, 1), aᵢᵀbⱼ (..., n, C) and ‖bⱼ‖² (..., 1, C) or (C,)."""

    row_norms: Array
    products: Array
    column_norms: Array


def kernel_score(
    kernel: Kernel, products: Array, in_signatures: Pairs | None, in_features: Pairs | None = None
) -> Array:
    """(..., n, C): k(s) of the products, or for a radial kernel k(D1), plus k(D2) with points in feature space.

    D1 = ‖Wᵀx − y‖² compares a sample with a class in the space of signatures, D2 = ‖x − Wy‖² in that of features. A
    kernel that is not radial needs no lengths, so its callers compute none: `in_signatures` is None.
    """
    if in_signatures is None:
        return kernel.value(products)
    score = kernel.value(squared_distances(*in_signatures))
    return score if in_features is None else score + kernel.value(squared_distances(*in_features))
