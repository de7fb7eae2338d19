"""Contributions of attributes add up to the difference of two scores, for every kernel and bilinear method."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from explained import ALL, BILINEAR, SECANT, Rational, fitted, raw_difference, sums
from tolerances import FORMULA, SUMS, assert_close
from zskl import kernels
from zskl.estimators.score_parts import NEAR, ScoreParts


@dataclass(frozen=True)
class Laplace(kernels.Kernel):
    """k(D) = exp(−√D), which has no value below 0."""

    name: ClassVar[str] = "laplace of test_explain"

    def value(self, t):
        return np.exp(-np.sqrt(t))

    def slope(self, t, value=None):
        return -np.exp(-np.sqrt(t)) / (2 * np.sqrt(t))


def scalar(kernel):
    """Value and slope of one number, by the twin's formulas where it has them."""
    if kernel.name not in naive.KERNELS:
        return kernel.value, kernel.slope
    formula, parameters = naive.KERNELS[kernel.name], kernel.parameters()
    return lambda t: formula.value(t, **parameters), lambda t: formula.slope(t, **parameters)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_contributions_add_up_to_the_difference_of_scores(toy, name, dtype):
    model = fitted(name, toy)
    X = np.concatenate([toy.X, toy.X_new]).astype(dtype)
    found = model.explain(X)
    expected = raw_difference(model, X, found)
    assert np.abs(expected).max() > 1e-3  # there is something to explain
    allowed = SUMS.of(dtype) * np.abs(model.compatibility(X)).max()  # a difference carries the rounding of its scores
    assert np.abs(sums(found) - expected).max() <= allowed
    assert np.abs([one.difference for one in found] - expected).max() <= allowed
    within = SUMS.double * np.abs(model.compatibility(X)).max()  # explanations themselves are in float64
    assert np.abs(sums(found) - [one.difference for one in found]).max() <= within


@pytest.mark.parametrize("name", ALL)
def test_contributions_are_those_of_the_obvious_loop(toy, name):
    model = fitted(name, toy)
    X = toy.X_new[:4]
    rows = model.feature_scaling_.apply(X)
    table = pd.DataFrame(model.signature_scaling_.apply(toy.table.to_numpy()), index=toy.table.index)
    W = model.projection_.astype(np.float64)
    if name.startswith("sae"):
        lengths = {"sae to-features": lambda x, y: np.linalg.norm(x) * np.linalg.norm(W @ y)}
        length = lengths.get(name, lambda x, y: np.linalg.norm(W.T @ x) * np.linalg.norm(y))
    for x, one in zip(rows, model.explain(X), strict=True):
        first, second = table.loc[one.label].to_numpy(), table.loc[one.against].to_numpy()
        if name.startswith("sae"):
            expected = W.T @ x * (first / length(x, first) - second / length(x, second))
        elif name in BILINEAR:
            expected = naive.explanation(lambda s: s, lambda s: 1.0, False, False, W, x, first, second)
        else:
            kernel = model.kernel_
            value, slope = scalar(kernel)
            expected = naive.explanation(value, slope, kernel.radial, model.incoherence_, W, x, first, second)
        assert_close(one.contributions, expected, SECANT * SUMS.double)


@pytest.mark.parametrize("name", [name for name in ALL if name not in BILINEAR])
def test_a_slope_in_place_of_the_secant_is_caught(toy, monkeypatch, name):
    model = fitted(name, toy)
    monkeypatch.setattr(ScoreParts, "_secant", lambda self, a, b, differences: self.kernel.slope(a))
    found = model.explain(toy.X)
    off = np.abs(sums(found) - raw_difference(model, toy.X, found))
    assert off.max() > 1e-3


def test_a_forgotten_term_is_caught(toy, monkeypatch):
    model = fitted("gaussian, True", toy)
    terms = ScoreParts._addends
    monkeypatch.setattr(ScoreParts, "_addends", lambda self, *given: terms(self, *given)[:1])
    found = model.explain(toy.X)
    assert np.abs(sums(found) - raw_difference(model, toy.X, found)).max() > 1e-3


EQUALLY_FAR = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])  # from (1, 1), and as long


def parts(score, x, first, second):
    """(contributions, score(first) − score(second)) of one row."""
    x, W = np.atleast_2d(x), score.W
    P, norms = x @ W, (x * x).sum(axis=1, keepdims=True)
    (a, b) = ((y, y @ W.T @ W) for y in (first, second))
    difference = score.pair_scores(P, norms, *a) - score.pair_scores(P, norms, *b)
    return score.contributions(P, norms, a, b)[0], float(difference[0])


@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.7), kernels.Cauchy(1.3), kernels.Polynomial(4), Rational()])
@pytest.mark.parametrize("nudge", [0.0, *(10.0**-k for k in range(3, 18))])
def test_near_equal_distances_take_the_slope(kernel, nudge):
    score, x = ScoreParts(np.eye(2), kernel, incoherence=True), np.array([1.0, 1.0 + nudge])
    found, difference = parts(score, x, *EQUALLY_FAR)
    exactly, _ = parts(score, np.array([1.0, 1.0]), *EQUALLY_FAR)
    assert abs(exactly[0]) > 0.1  # attributes cancel, they are not nothing
    assert abs(exactly.sum()) <= FORMULA.double * abs(exactly).max()
    assert_close(
        found, exactly, 4 * nudge + FORMULA.double / NEAR
    )  # above NEAR the secant is a quotient of differences
    assert abs(found.sum() - difference) <= FORMULA.double * abs(found).max()


def test_a_class_under_two_names_has_no_difference(toy):
    table = pd.concat([toy.table, toy.table.loc[["emu"]].set_axis(["rhea"])])
    for name in ("gaussian, True", "polynomial-4, True", "eszsl"):
        for one in fitted(name, toy).explain(toy.X_new, signatures=table, label="emu", against="rhea"):
            assert (one.difference, one.contributions.tolist()) == (0.0, [0.0] * 4)


@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.05), kernels.Cauchy(1.0), Rational(), Laplace()])
def test_a_distance_of_zero_that_rounding_makes_negative(kernel):
    rng = np.random.default_rng(3)
    below = 0
    for _ in range(50):
        W, first, second = rng.normal(size=(7, 3)), rng.normal(size=(1, 3)), rng.normal(size=(1, 3))
        x = (W @ first[0])[None]  # so that D2 of the first class is 0
        below += bool((x * x).sum() + (first * (first @ W.T @ W - 2 * x @ W)).sum() < 0)
        found, difference = parts(ScoreParts(W, kernel, incoherence=True), x, first, second)
        assert difference > 0.5
        assert abs(found.sum() - difference) <= SUMS.double * np.abs(found).max()
    assert below > 0  # some were


numbers = st.floats(-3, 3, allow_subnormal=False)
vectors = st.lists(numbers, min_size=3, max_size=3).map(lambda values: np.array([values]))


@given(
    x=vectors,
    y=vectors,
    step=vectors,
    size=st.sampled_from([1.0, 1e-4, 1e-8, 1e-12, 0.0]),
    kernel=st.sampled_from(
        [kernels.Gaussian(0.3), kernels.Gaussian(30.0), kernels.Cauchy(2.0), kernels.Polynomial(6), Rational(3.0)]
    ),
)
def test_sums_hold_and_no_contribution_blows_up(x, y, step, size, kernel):
    second = y + size * step
    found, difference = parts(ScoreParts(np.diag([1.0, 0.5, 2.0]), kernel, incoherence=True), x, y, second)
    scale = max(1.0, abs(kernel.value(np.float64(30.0))) if not kernel.radial else 1.0)
    assert abs(found.sum() - difference) <= SUMS.double * max(scale, np.abs(found).max())
    if kernel.radial:  # a secant is a slope somewhere, and none is steeper than at 0
        steepest = abs(kernel.slope(np.float64(0.0)))
        assert np.abs(found).max() <= steepest * 200 * size * np.abs(step).max() * (1 + 1e-6) + 1e-12
