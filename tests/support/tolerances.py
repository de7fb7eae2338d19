"""How near two computations of the same thing must come: the one table of tolerances, and the check that uses it.

    tolerance = machine epsilon × terms × condition

`terms` is the longest chain of additions behind one number: each rounds once. `condition` is how much a relative error
of the input grows on the way to the result. Neither depends on a processor. Every tolerance is relative to the largest
entry of what is expected: an entry near zero is a difference of larger numbers and carries their rounding.

To choose a row, take the first whose words describe the computation. If a test needs more, its problem is badly
conditioned: take fewer steps or other data, or measure the condition (`shaken`). Never widen a row until a test passes.

Equality to the last bit is asked only of the same operations on arrays of the same shape in the same library, run
twice with NumPy. Other shapes, blocks, threads, libraries or code paths add in another order.
"""

from dataclasses import dataclass

import numpy as np

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


@dataclass(frozen=True)
class Row:
    terms: int
    condition: float

    @property
    def single(self):
        return EPSILON["float32"] * self.terms * self.condition

    @property
    def double(self):
        return EPSILON["float64"] * self.terms * self.condition

    def of(self, dtype):
        return EPSILON[np.dtype(dtype).name] * self.terms * self.condition


# One formula for each number: a kernel, a schedule, a mean, an update. exp(−u) with u ≤ 8 and the sixth power multiply
# a relative error by 8 and by 6; two of them follow each other at most.
FORMULA = Row(terms=4, condition=16)

# Scores, objectives, gradients, scalings, metrics: products of matrices with inner sides up to 64. The form
# ‖x‖² − 2⟨x, z⟩ + ‖z‖² loses a factor 4; a temperature of 0.3, or a sum of terms of either sign, loses another 4.
SUMS = Row(terms=64, condition=16)

# W after a fit. The first step of RMSprop moves every entry by rate / √(1 − smoothing), however small its gradient, so
# an entry whose gradient is 1/m of the largest carries m roundings. test_tolerances.py measures the condition of the
# fits used here and holds it below 64. What a single step moves (1e-3 of W or more) stays visible.
FIT = Row(terms=32, condition=64)

# Objective and scores of two such W: a kernel's slope and the length of a row multiply an error of W by up to 4. Also W
# on a GPU against W on the CPU, for settings whose condition nobody has measured: still below what one step moves.
AFTER_FIT = Row(terms=32, condition=4 * 64)

# The solution of a linear system or an eigenproblem of side up to 64; the matrices of these tests have conditions
# below 1000, those that the methods form from them are regularised.
SOLUTION = Row(terms=32, condition=64)

# Inner products through the inverse root of a Gram matrix of landmarks, whose condition here is below 2²⁰.
GRAM = Row(terms=16, condition=2.0**20)

# Central differences in float64 with steps of 1e-5 or 1e-6: rounding of the value over the step, 2⁻⁵² · 4096 / 1e-6,
# counts for more than the h² of the formula. The sums behind a value have 64 terms; its ratio to the slope is below 64.
DIFFERENCES = EPSILON["float64"] * 64 * 64 / 1e-6

# Two iterations that stop where the gradient has fallen to 1e-7 or so of its start, not where rounding ends them:
# the condition of the problem (below 1e4 here) times that.
STOPPED = 1e-3

SHAKEN = 32  # roundings by which `shaken` moves each number: the terms of a step, as in FIT


def distance(found, expected):
    """The largest difference, in units of the largest entry of `expected`."""
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert found.shape == expected.shape, f"shapes {found.shape} and {expected.shape}"
    if not expected.size:
        return 0.0
    assert np.isfinite(expected).all(), "expected values that are not finite"
    return float(np.abs(found - expected).max() / (np.abs(expected).max() or 1.0))


def assert_close(found, expected, tolerance):
    """Assert that no entry of `found` is further from `expected` than the tolerance times the largest entry."""
    apart = distance(found, expected)
    assert apart <= tolerance, f"{apart:.3g} of the largest entry apart; allowed are {tolerance:.3g}"


def decided(scores, tolerance):
    """Rows whose best score leads by more than such a tolerance can take away: only there are labels comparable."""
    ordered = np.sort(np.asarray(scores, dtype=np.float64), axis=1)
    return ordered[:, -1] - ordered[:, -2] > 2 * tolerance * np.abs(ordered).max()


def shaken(X, seed=0):
    """X with each number moved by `SHAKEN` roundings of float32, up or down.

    What a fit on it moves by is what rounding can do to that fit: rounded sums are exact sums of numbers that differ in
    their last bits. Use this where the condition of a fit is not known beforehand.
    """
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=X.shape)
    return (X * (1 + SHAKEN * EPSILON["float32"] * signs)).astype(X.dtype)
