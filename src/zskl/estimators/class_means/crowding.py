"""How crowded the place of a direction is: a direction that many training rows are close to would win too often.

r_c = mean of the largest share of x̂ᵢ·u_c over kept training rows i
"""

from __future__ import annotations

import numpy as np

from zskl.arrays import Array, namespace


def largest_mean(cosines: Array, share: float) -> Array:
    """(c,) mean of the largest share of each column of (m, c); at least of one."""
    m = cosines.shape[0]
    most = max(1, int(share * m))
    if isinstance(cosines, np.ndarray):
        found: Array = np.partition(cosines, m - most, axis=0)[m - most :].mean(axis=0)
        return found
    xp = namespace(cosines)
    return xp.mean(xp.sort(cosines, axis=0)[m - most :], axis=0)
