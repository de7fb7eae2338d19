"""Mixtures against a generic quadratic programme."""

import numpy as np
import pytest
from scipy.optimize import minimize

from baseline_problems import central
from tolerances import AFTER_FIT, DIFFERENCES, SUMS, assert_close
from zskl import baselines, datasets
from zskl.baselines import sse
from zskl.baselines.sse import SimilarityProblem

# Simplex


def generic(objective, start):
    """A point of the simplex by a solver that knows nothing of the problem."""
    constraint = {"type": "eq", "fun": lambda a: a.sum() - 1}
    options = {"ftol": 1e-14, "maxiter": 1000}
    return minimize(objective, start, bounds=[(0, 1)] * len(start), constraints=[constraint], options=options).x


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1.0, 10.0])
def test_mixtures_are_those_of_a_generic_quadratic_programme(gamma):
    rng = np.random.default_rng(2)
    corners, points = rng.normal(size=(7, 4)), rng.normal(size=(6, 4))
    found = sse.solve_mixtures(points, corners, gamma)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    for point, mixture in zip(points, found, strict=True):

        def objective(a, point=point):
            return 0.5 * ((point - a @ corners) ** 2).sum() + 0.5 * gamma * (a @ a)

        expected = generic(objective, np.full(7, 1 / 7))
        assert objective(mixture) <= objective(expected) + 1e-9
        np.testing.assert_allclose(mixture, expected, atol=2e-3 if gamma < 0.01 else 1e-4)
    alone = np.vstack([sse.solve_mixtures(point[None], corners, gamma) for point in points])
    np.testing.assert_allclose(alone, found, atol=1e-5)


def test_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(4)
    A = np.vstack([3 * rng.normal(size=(5, 6)), np.eye(6), np.zeros((1, 6)), np.full((1, 6), 1 / 6)])
    for row, found in zip(A, sse.project_to_simplex(A), strict=True):
        np.testing.assert_allclose(
            found, generic(lambda a, row=row: ((a - row) ** 2).sum(), np.full(6, 1 / 6)), atol=1e-5
        )


# Sse
# SSE: similarities, margins and the step against slow loops and finite differences.


@pytest.mark.parametrize("embedding", sse.EMBEDDINGS)
@pytest.mark.parametrize("blocks", [1, 1 << 20])
def test_similarities_and_their_gradients(embedding, blocks, monkeypatch):
    monkeypatch.setattr(sse, "ENTRIES", (blocks, blocks))
    monkeypatch.setattr(sse, "ROWS", 4)
    rng = np.random.default_rng(5)
    X, w, V, slope = rng.normal(size=(9, 5)), rng.normal(size=5), rng.normal(size=(3, 5)), rng.normal(size=(9, 3))

    def slow(w, V):
        phi = {"intersection": lambda x, v: min(x, v), "relu": lambda x, v: max(0.0, x - v)}[embedding]
        return np.array([[sum(w[m] * phi(x[m], v[m]) for m in range(5)) for v in V] for x in X])

    assert_close(sse.compute_sse_similarities(X, w, V, embedding), slow(w, V), SUMS.double)
    by_w, by_V = sse.similarity_gradients(X, w, V, embedding, slope)
    assert_close(by_w, central(lambda w: (slope * slow(w, V)).sum(), w), DIFFERENCES)
    assert_close(by_V, central(lambda V: (slope * slow(w, V)).sum(), V), DIFFERENCES)


@pytest.mark.parametrize("alignment", [0.0, 1.0, 5.0])
def test_margins_of_rows_and_class_means(alignment):
    rng = np.random.default_rng(6)
    codes = np.array([0, 2, 2, 1, 0, 2])
    F, own = rng.normal(size=(6, 4)), np.eye(4)[codes]
    D = rng.uniform(0.2, 1.0, size=(4, 4)) * (1 - np.eye(4))

    def slow(F):
        n, C, kinds = 6, 4, [0, 1, 2]
        rows = sum(
            max(0.0, D[codes[i], c] - F[i, codes[i]] + F[i, c]) for i in range(n) for c in range(C) if c != codes[i]
        )
        means = 0.0
        for k in kinds:
            mine = [i for i in range(n) if codes[i] == k]
            for c in range(C):
                if c != k:
                    means += max(0.0, D[k, c] - sum(F[i, k] - F[i, c] for i in mine) / len(mine))
        return rows / (n * C) + alignment * means / (len(kinds) * C)

    value, gradient = sse.margin_loss(F, own, D, alignment)
    assert float(value) == pytest.approx(slow(F), rel=1e-12)
    assert_close(gradient, central(slow, F), DIFFERENCES)


def prepared(model, data):
    rows = data.parts["trainval"]
    return model._prepare(data.X[rows].astype(np.float64), data.y[rows], data.signatures)


@pytest.mark.parametrize("embedding", sse.EMBEDDINGS)
def test_the_step_of_sse_is_the_gradient_of_its_objective(embedding):
    data = datasets.make_synthetic(n_seen=4, n_unseen=2, samples_per_class=5, n_features=3, n_attributes=3, noise=0.3)
    model = baselines.SSE(0.5, embedding, ridge=0.01)
    problem = SimilarityProblem(prepared(model, data), 0.5, embedding, model.alignment, model.ridge)
    for name in ("X", "own", "Z", "margins", "units"):
        setattr(problem, name, getattr(problem, name).astype(np.float64))
    assert problem.halves == 2  # centred or not, these features have signs
    W = problem.start + np.random.default_rng(0).uniform(0.1, 0.5, problem.start.shape)  # away from kinks
    rows = np.array([0, 3, 5, 9, 12, 1])
    _, gradient, _ = problem.step(W, rows, 0)
    expected = central(lambda W: float(problem.step(W, rows, 0)[0][0]), W)
    assert_close(gradient, expected, DIFFERENCES)
    problem.ridge = 0.02  # a planted fault
    with pytest.raises(AssertionError):
        assert_close(problem.step(W, rows, 0)[1], expected, DIFFERENCES)


def test_both_embeddings_of_sse_rank_alike():
    """max(0, x − v) = x − min(x, v), and mixtures sum to one: ⟨w, x⟩ is the same for every class."""
    data = datasets.make_synthetic(n_seen=8, n_unseen=3, samples_per_class=10, n_features=12, n_attributes=6, noise=0.3)
    rows = data.parts["trainval"]
    one, two = (
        baselines.SSE(embedding=embedding, random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
        for embedding in sse.EMBEDDINGS
    )
    assert_close(two.weights_, -one.weights_, AFTER_FIT.single)
    a, b = (model.compatibility(data.X) for model in (one, two))
    assert_close(b - b[:, :1], a - a[:, :1], AFTER_FIT.single)


def test_features_without_signs_have_no_negative_parts(small):
    X, codes, Y = small
    model = baselines.SSE(random_state=0, epochs=1)
    assert model.fit(np.abs(X), codes, Y).thresholds_.shape == (5, 1, 6)
    assert model.fit(X, codes, Y).thresholds_.shape == (5, 2, 6)
