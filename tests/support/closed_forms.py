"""What the tests of closed forms share: unscaled settings and central differences."""

import numpy as np

RAW = {"feature_scaling": "none", "signature_scaling": "none"}


def central(function, x, step=1e-6):
    """The gradient of a function of an array by central differences."""
    x = np.array(x, dtype=np.float64)
    found = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        found[place] = (function(up) - function(down)) / (2 * step)
    return found
