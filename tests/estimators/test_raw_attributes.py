"""Explanations along raw attributes: what both classes share adds nothing, and the sums hold all the same."""

import numpy as np
import pandas as pd
import pytest

from explained import ALL, SECANT, fitted, raw_difference
from tolerances import SUMS, assert_close
from zskl import methods
from zskl.estimators.raw_attributes import SCALING

SCALINGS = ("none", "center-l2", "sqrt-center-l2", "l2-center-l2", "standardize-l2", "standardize")


def marked(toy):
    """A table of 0, 1 and 2, in which classes agree in some attributes."""
    rows = {"dog": [2, 1, 0, 1], "emu": [2, 0, 1, 0], "ant": [0, 2, 0, 0], "cat": [1, 1, 0, 2], "bee": [0, 2, 1, 1]}
    return pd.DataFrame(rows, index=toy.table.columns, dtype=float).T


def by_hand(scaling, row):
    """(y, v, a): a scaled signature, the values it is made of, and what they were multiplied by."""
    y, v, a = row.copy(), row.copy(), 1.0
    for step in scaling.steps:
        if step == "sqrt":
            y, v, a = np.sqrt(y), np.sqrt(v), np.sqrt(a)
        elif step == "l2":
            y, a = y / np.linalg.norm(y), a / np.linalg.norm(y)
        else:
            y = y - scaling.mean
        if step == "standardize":
            y, v = y / scaling.deviation, v / scaling.deviation
    return y, v, a


def slow_parts(model, x, first, second):
    """What each attribute adds, by loops over the formulas of docs/explain.md."""
    W = model.projection_.astype(float)
    (a, v, length_a), (b, w, length_b) = (by_hand(model.signature_scaling_, row) for row in (first, second))
    for scaled, row in ((a, first), (b, second)):
        assert_close(scaled, model.signature_scaling_.apply(row[None])[0], SUMS.double)
    P, G = W.T @ x, W.T @ W
    if getattr(model, "direction_", None) == "to-features":  # a cosine in feature space
        P = P / np.linalg.norm(x)
        length_a, length_b = length_a / np.linalg.norm(W @ a), length_b / np.linalg.norm(W @ b)
    elif hasattr(model, "direction_"):
        P = P / np.linalg.norm(P)
        length_a, length_b = length_a / np.linalg.norm(a), length_b / np.linalg.norm(b)
    found = []
    for m in range(len(a)):
        slope = P[m]
        if hasattr(model, "kernel_"):
            k = model.kernel_.value
            if not model.kernel_.radial:
                s, t = P @ a, P @ b
                slope = P[m] * (k(s) - k(t)) / (s - t)
            else:
                s, t = np.sum((P - a) ** 2), np.sum((P - b) ** 2)
                slope = (a[m] + b[m] - 2 * P[m]) * (k(s) - k(t)) / (s - t)
                if model.incoherence_:
                    s, t = np.sum((x - W @ a) ** 2), np.sum((x - W @ b) ** 2)
                    slope += (G[m] @ (a + b) - 2 * P[m]) * (k(s) - k(t)) / (s - t)
        found.append(0.5 * (length_a + length_b) * (v[m] - w[m]) * slope)
    return np.array(found)


def check(model, X, table):
    """Parts as the slow loops have them, and a sum that is the difference of scores."""
    found = model.explain(X, raw=True)
    rows = model.feature_scaling_.apply(X)
    allowed = SECANT * SUMS.double * max(1.0, np.abs(model.compatibility(X)).max())
    for x, one, difference in zip(rows, found, raw_difference(model, X, found), strict=True):
        expected = slow_parts(model, x, table.loc[one.label].to_numpy(), table.loc[one.against].to_numpy())
        assert np.abs(one.contributions - expected).max() <= allowed
        assert abs(one.contributions.sum() + one.offset - difference) <= allowed
        assert set(one.terms) <= {SCALING}
        np.testing.assert_array_equal(one.contributions[one.values == one.values_against], 0.0)
        assert one.likeness is None
    return found


@pytest.mark.parametrize("name", ALL)
def test_parts_are_those_of_slow_loops_for_every_score(toy, name):
    table = marked(toy)
    model = fitted(name, toy, table)
    check(model, np.concatenate([toy.X[:4], toy.X_new[:4]]), table)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_and_for_every_scaling(toy, scaling):
    table = marked(toy).add([0.0, 0.0, 0.0, 0.5])
    for name in ("eszsl", "gaussian-ort"):
        model = methods.build(name, {"random_state": 0, "signature_scaling": scaling}).fit(toy.X, toy.y, table)
        found = check(model, np.concatenate([toy.X[:4], toy.X_new[:2]]), table)
        assert any(SCALING in one.terms for one in found) == (scaling not in ("none", "standardize"))


def test_what_is_absent_in_both_never_leads(toy):
    table = marked(toy)
    model, X = fitted("gaussian, True", toy, table), np.concatenate([toy.X, toy.X_new])

    def leads(**how):
        return [one for one in model.explain(X, **how) if one.values[one.order[0]] == one.values_against[one.order[0]]]

    assert leads()  # so it is with scaled attributes
    assert not leads(raw=True)
    for one in model.explain(X, raw=True, top=99):
        assert "in both" not in str(one)
        assert one.others == np.sum(one.values == one.values_against)


def test_a_rest_that_is_forgotten_is_caught(toy):
    """The planted fault: parts alone, without what centring adds."""
    table = marked(toy)
    found = fitted("eszsl", toy, table).explain(toy.X, raw=True)
    assert max(abs(one.contributions.sum() - one.difference) for one in found) > 1e-3


def test_what_is_refused(toy):
    with pytest.raises(ValueError, match=r"^raw is 'yes': expected True or False"):
        toy.fitted().explain(toy.X, raw="yes")
    model = methods.build("eszsl", {"signature_scaling": "center-sqrt"}).fit(toy.X, toy.y, toy.table)
    with pytest.raises(ValueError, match=r"^signatures are scaled by 'center-sqrt', a square root of centred values"):
        model.explain(toy.X, raw=True)
