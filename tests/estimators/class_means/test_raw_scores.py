"""Class means explained along raw attributes, with either kernel; and classes that nobody has described."""

import numpy as np
import pytest

from means_models import SORTS, fitted, taught
from tolerances import SUMS, assert_close
from zskl.estimators.class_means.raw_scores import secants
from zskl.estimators.raw_attributes import SCALING

EXACT = 1e-9


def slow_parts(model, x, one):
    """What each attribute adds with the Gaussian kernel: a loop over seen classes and one over attributes."""
    scaled = model.feature_scaling_.apply(x[None])[0]
    hat = (scaled - model.center_) @ model.whitening_.astype(float)
    hat = hat / np.linalg.norm(hat)
    mean = model.signature_scaling_.mean
    first, second = one.values - mean, one.values_against - mean
    lengths = np.linalg.norm(first), np.linalg.norm(second)
    a, b = first / lengths[0], second / lengths[1]
    seen = model.signature_scaling_.apply(model.signature_table_.select(model.classes_).matrix)
    factors = []
    for y, label in ((a, one.label), (b, one.against)):
        likeness = [np.exp(-np.sum((y - other) ** 2) / model.width_) for other in seen]
        m = np.array(likeness) @ model.regression_.astype(float)
        rows = 0.0
        if label in model.classes_:
            rows = model.class_sums_[model.classes_.tolist().index(label)].astype(float)
        factors.append(2.0 / np.linalg.norm(m) / np.linalg.norm(2.0 * m / np.linalg.norm(m) + rows))
    found = np.zeros(len(a))
    for other, weights in zip(seen, model.regression_.astype(float), strict=True):
        s, t = (np.sum((y - other) ** 2) for y in (a, b))
        secant = (np.exp(-s / model.width_) - np.exp(-t / model.width_)) / (s - t)
        for m in range(len(a)):
            difference = (1 / lengths[0] + 1 / lengths[1]) / 2 * (one.values[m] - one.values_against[m])
            found[m] += np.mean(factors) * (hat @ weights) * secant * (a[m] + b[m] - 2 * other[m]) * difference
    return found


@pytest.mark.parametrize("sort", SORTS)
def test_parts_and_terms_add_up_for_every_sort(toy, sort):
    model = SORTS[sort](toy)
    X = np.concatenate([toy.X[:4], toy.X_new])
    plain = model.explain(X)
    for one, other in zip(model.explain(X, raw=True), plain, strict=True):
        assert (one.label, one.against, one.difference) == (other.label, other.against, other.difference)
        assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
        assert one.likeness is None
        assert len(one.contributions) == model.signature_table_.matrix.shape[1]
        kept = {name: value for name, value in one.terms.items() if name != SCALING}
        assert kept == {name: value for name, value in other.terms.items() if name != "the description itself"}
    if sort == "linear":  # the centred part of an attribute is what the two explanations differ by
        assert any(np.abs(one.contributions - other.contributions).max() > 1e-3
                   for one, other in zip(model.explain(X, raw=True), plain, strict=True))  # fmt: skip


def test_the_gaussian_kernel_speaks_of_attributes(toy):
    model = fitted(toy)
    for x, one in zip(toy.X_new, model.explain(toy.X_new, raw=True), strict=True):
        assert one.attributes == tuple(toy.table.columns)
        assert_close(one.contributions, slow_parts(model, x, one), 64 * SUMS.double)
    table = toy.table.copy()
    table.iloc[:, :2] = table.iloc[:, :2].round()
    agreed = fitted(toy, table).explain(toy.X, raw=True, top=99)
    assert any((one.values == one.values_against).any() for one in agreed)
    for one in agreed:
        np.testing.assert_array_equal(one.contributions[one.values == one.values_against], 0.0)


def test_secants_between_equal_and_distant_numbers():
    s, t = np.array([1.0, 1.0, 0.0, 3.0, 0.0]), np.array([1.0, 1.0 + 1e-9, 2.0, 1.0, 800.0])
    found = secants(s, t)
    assert_close(found[:2], -np.exp(-s[:2]), 1e-8)
    assert_close(found[2:], (np.exp(-s[2:]) - np.exp(-t[2:])) / (s[2:] - t[2:]), SUMS.double)


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_a_class_without_a_description_has_no_values(toy, raw, kernel):
    """What stood there was the mean of the seen classes, which nobody wrote."""
    model = taught(fitted(toy, kernel=kernel), toy)
    (one,) = model.explain(toy.X[:1], label="cat", against="fox", raw=raw)
    assert np.isnan(one.values_against).all()
    assert np.isfinite(one.values).all()
    assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
    told = one.record()["attributes"]
    if raw:  # there are no two descriptions to compare
        assert (one.top, told) == ([], [])
        assert f"{SCALING}  {one.terms[SCALING]:+.4g}" in str(one)
    else:
        assert "against no description)" in str(one)
        assert {part["value_against"] for part in told} == {None}
