"""Explanations of digits: what a segment says, and what happens without it."""

import numpy as np
import pandas as pd
import pytest

from explained import fit_digits
from tolerances import SUMS, assert_close
from zskl import datasets


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def without_a_segment(model, digits):
    """(contributions, change of score(digit) − score(other), ahead before, ahead after), each (pairs, rows), over half
    of the pairs of digits and all segments that the digit has and the other lacks: these are turned off in the
    description of the digit."""
    table, found = digits.signatures, []
    for digit in range(10):
        X = digits.X[digits.y == digit][:40].astype(np.float64)
        for other in range(digit % 2, 10, 2):
            own = [segment for segment in table.columns if table.loc[digit, segment] > table.loc[other, segment]]
            if not own:
                continue
            parts = np.array([one.contributions for one in model.explain(X, label=digit, against=other)])
            before = np.subtract(*model.compatibility(X, table, [digit, other]).T)
            for segment in own:
                changed = table.copy()
                changed.loc[digit, segment] = 0
                if not changed.loc[digit].any():
                    continue
                after = np.subtract(*model.compatibility(X, changed, [digit, other]).T)
                found.append((parts[:, table.columns.get_loc(segment)], after - before, before > 0, after > 0))
    return tuple(np.array(column) for column in zip(*found, strict=True))


@pytest.mark.parametrize("name", ["gaussian", "cauchy", "eszsl"])
def test_a_segment_turned_off_moves_the_digit_as_it_spoke(digits, name):
    """With signatures as they are, turning off a segment that the other digit lacks makes the two agree there, and
    nothing else changes: a digit falls by a segment that spoke for it, and rises by one that spoke against it."""
    model = fit_digits(digits, name, signature_scaling="none")
    spoke, change, before, after = without_a_segment(model, digits)
    assert (spoke > 1e-6).any()
    assert (spoke < -1e-6).any()
    clear = np.abs(spoke) > 1e-9
    np.testing.assert_array_equal(np.sign(change[clear]), -np.sign(spoke[clear]))
    assert not (after & ~before)[spoke > 0].any()
    assert not (before & ~after)[spoke < 0].any()
    assert (before & ~after).any()
    assert (after & ~before).any()
    if name == "eszsl":  # a bilinear score loses just that
        assert_close(change, -spoke, SUMS.double)


@pytest.mark.parametrize("name", ["gaussian-ort", "gaussian", "cauchy-ort", "polynomial-2", "eszsl", "ale"])
def test_and_mostly_so_where_signatures_are_scaled(digits, name):
    """Centred signatures of unit length change in all attributes when one does, so the sign is right for most rows."""
    spoke, change, before, after = without_a_segment(fit_digits(digits, name), digits)
    assert (np.sign(change) == -np.sign(spoke)).mean() > 0.85
    assert np.corrcoef(spoke.ravel(), change.ravel())[0, 1] < -0.7
    strong = np.abs(spoke) > np.quantile(np.abs(spoke), 0.75)
    assert (before & ~after)[strong & (spoke > 0)].sum() > 10 * (after & ~before)[strong & (spoke > 0)].sum()


def test_the_ranking_of_fours_among_all_digits(digits):
    """Handwritten fours are taken for ones: `middle` speaks against 4, `upper left` for it."""
    model = fit_digits(digits, "gaussian-ort")
    X = digits.X[digits.y == 4]

    def mean_place(table):
        return (model.top_k(X, 10, table) == 4).argmax(axis=1).mean()

    spoke = pd.Series(
        np.mean([one.contributions for one in model.explain(X, label=4, against=1)], axis=0), digits.signatures.columns
    )
    assert spoke["middle"] < -0.1
    assert spoke["upper left"] > 0.05
    changed = {segment: digits.signatures.copy() for segment in ("middle", "upper left")}
    for segment, table in changed.items():
        table.loc[4, segment] = 0
    before = mean_place(digits.signatures)
    assert mean_place(changed["middle"]) < before - 0.5
    assert mean_place(changed["upper left"]) > before + 0.5
