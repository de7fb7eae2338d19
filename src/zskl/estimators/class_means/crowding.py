"""How crowded the place of a direction is: a direction that many training rows are close to would win too often.

r_c = mean of the largest share of x̂ᵢ·u_c over kept training rows i
"""

from __future__ import annotations

from zskl.arrays import Array, largest, namespace


def largest_mean(cosines: Array, share: float) -> Array:
    """(c,) mean of the largest share of each column of (m, c); at least of one."""
    most = max(1, int(share * cosines.shape[0]))
    return namespace(cosines).mean(largest(cosines, most), axis=0)
