"""GFZSL against explicit loops, its prior, and its limits."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import zskl
from baseline_problems import RAW
from tolerances import SOLUTION, assert_close
from zskl.baselines import GFZSL


def by_hand(X, codes, Y, model):
    """Scores (n, C) in float64: Gaussians row by row, a linear system for each column, densities pair by pair."""
    C, d = len(Y), X.shape[1]
    groups = [[x for x, code in zip(X, codes, strict=True) if code == c] for c in range(C)]
    means = np.array([[math.fsum(x[j] for x in rows) / len(rows) for j in range(d)] for rows in groups])
    scatter = np.array(
        [[math.fsum((x[j] - means[c, j]) ** 2 for x in rows) for j in range(d)] for c, rows in enumerate(groups)]
    )
    common = scatter.sum(axis=0) / len(X)
    r = model.prior_rows
    logs = np.array(
        [[math.log((scatter[c, j] + r * common[j]) / (len(groups[c]) + r)) for j in range(d)] for c in range(C)]
    )

    def kernel(a, b):
        if model.kernel == "linear":
            return sum(s * t for s, t in zip(a, b, strict=True))
        return math.exp(-sum((s - t) ** 2 for s, t in zip(a, b, strict=True)) / model.sigma**2)

    K = np.array([[kernel(a, b) for b in Y] for a in Y])

    def predict(targets, ridge):
        found = np.empty((C, d))
        for j in range(d):
            middle = targets[:, j].mean()
            found[:, j] = middle + K @ np.linalg.solve(K + ridge * np.eye(C), targets[:, j] - middle)
        return found

    mu, log_s = predict(means, model.lam), predict(logs, model.variance_lam)
    return np.array(
        [
            [
                sum(-((x[j] - mu[c, j]) ** 2) / (2 * math.exp(log_s[c, j])) - log_s[c, j] / 2 for j in range(d))
                for c in range(C)
            ]
            for x in X
        ]
    )


def without_row_constants(scores):
    """The library drops what is the same for all classes."""
    return scores - scores.mean()


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("prior", [0.5, 40.0])
def test_scores_by_hand(small, kernel, prior):
    X, codes, Y = small
    model = GFZSL(kernel, 1.5, 0.2, 0.7, prior, **RAW).fit(X, codes, Y)
    expected = without_row_constants(by_hand(X, codes, Y, model))
    assert_close(without_row_constants(model.compatibility(X)), expected, SOLUTION.single)
    others = [{"lam": 0.3}, {"variance_lam": 1.0}, {"prior_rows": 2 * prior}]
    for other in [*others, *([{"sigma": 1.6}] if kernel == "gaussian" else [])]:
        changed = clone(model).set_params(**other).fit(X, codes, Y)
        with pytest.raises(AssertionError):
            assert_close(without_row_constants(changed.compatibility(X)), expected, SOLUTION.single)


def test_the_width_of_a_linear_kernel_is_no_other_setting():
    assert GFZSL("linear", 1.0)._effective_settings() == GFZSL("linear", 2.0)._effective_settings()
    assert GFZSL("gaussian", 1.0)._effective_settings() != GFZSL("gaussian", 2.0)._effective_settings()


def test_with_a_strong_prior_all_classes_vary_alike(small):
    """Then the likeliest class is the one whose mean is nearest in standardised coordinates."""
    X, codes, Y = small
    model = GFZSL("linear", lam=1e-6, prior_rows=1e9, **RAW).fit(X, codes, Y)
    means = model.center_ + model.deviations_ * (Y @ model.signatures_.T @ model.mean_coefficients_)
    distances = [[(((x - mean) / model.deviations_) ** 2).sum() for mean in means] for x in X]
    np.testing.assert_array_equal(model.predict(X), np.argmin(distances, axis=1))


def test_columns_that_do_not_vary_within_classes(small):
    """One that tells classes apart without any spread gives finite scores, and so does one that is constant."""
    X, codes, Y = small
    wide = np.column_stack([X, np.full(len(X), 3.0), codes / 10])
    scores = GFZSL(**RAW).fit(wide, codes, Y).compatibility(wide)
    assert np.isfinite(scores).all()
    still = GFZSL(**RAW).fit(np.repeat(X[:5], 2, axis=0), np.repeat(range(5), 2), Y)  # no class varies at all
    assert np.isfinite(still.compatibility(X)).all()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("kernel_", "cubic", "kernel is 'cubic': expected"),
        ("sigma_", -1.0, "sigma is -1.0: expected a finite number > 0"),
    ],
)
def test_damaged_model_files(small, name, value, sentence, tmp_path):
    X, codes, Y = small
    model = GFZSL(**RAW).fit(X, codes, Y)
    setattr(model, name, value)
    model.save(tmp_path / "model.zskl")
    with pytest.raises(ValueError, match=f"is damaged: .*{sentence}"):
        zskl.load(tmp_path / "model.zskl")
