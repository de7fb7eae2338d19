"""Closed forms and convex baselines against independent solutions: Kronecker systems, generic QPs, plain loops."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tolerances import AFTER_FIT, DIFFERENCES, FORMULA, SOLUTION, STOPPED, SUMS, assert_close
from zskl import baselines, datasets
from zskl.baselines import attributes, linear, logistic, similarity, simplex, sync
from zskl.baselines.shared_fit import class_signatures, class_sums, members
from zskl.baselines.sse import Problem
from zskl.estimators.candidates import softmax

RAW = {"feature_scaling": "none", "signature_scaling": "none"}


@pytest.fixture(scope="module")
def small():
    """X (30, 6), codes (30,), Y (5, 4): an ordinary problem in which nothing is scaled."""
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(5, 4))
    codes = np.repeat(np.arange(5), 6)
    X = Y[codes] @ rng.normal(size=(4, 6)) + 0.5 * rng.normal(size=(30, 6))
    return X, codes, Y


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


# ESZSL and SAE -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.01, 10.0), (30.0, 0.1)])
def test_eszsl_is_the_solution_of_a_kronecker_system(small, gamma, lam):
    """The four terms are one sum of squares, ‖[X; √γ I] W [Y; √λ I]ᵀ − [L 0; 0 0]‖²: least squares in vec W."""
    X, codes, Y = small
    L = np.where(codes[:, None] == np.arange(5), 1.0, -1.0)
    left, right = np.vstack([X, math.sqrt(gamma) * np.eye(6)]), np.vstack([Y, math.sqrt(lam) * np.eye(4)])
    target = np.zeros((len(left), len(right)))
    target[:30, :5] = L
    W = np.linalg.lstsq(np.kron(left, right), target.ravel(), rcond=None)[0].reshape(6, 4)
    model = baselines.ESZSL(gamma, lam, **RAW).fit(X, codes, Y)
    assert_close(model.projection_, W, SOLUTION.single)
    assert_close(model.compatibility(X), X @ model.projection_.astype(float) @ Y.T, SUMS.single)
    wrong = baselines.ESZSL(gamma, 1.1 * lam, **RAW).fit(X, codes, Y)  # a planted fault
    with pytest.raises(AssertionError):
        assert_close(wrong.projection_, W, SOLUTION.single)


def sae_loss(X, S, W, lam):
    return ((X - S @ W.T) ** 2).sum() + lam * ((X @ W - S) ** 2).sum()


@pytest.mark.parametrize("lam", [0.05, 1.0, 20.0])
def test_sae_solves_its_sylvester_equation_and_its_problem(small, lam):
    X, codes, Y = small
    S = Y[codes]
    W = baselines.SAE(lam, **RAW).fit(X, codes, Y).projection_.astype(np.float64)
    residual = lam * X.T @ X @ W + W @ S.T @ S - (1 + lam) * X.T @ S
    assert np.abs(residual).max() < 1e-5 * np.abs((1 + lam) * X.T @ S).max()
    found = np.zeros((6, 4))
    H = 2 * (np.linalg.eigvalsh(S.T @ S)[-1] + lam * np.linalg.eigvalsh(X.T @ X)[-1])
    for _ in range(20000):  # gradient descent on the loss as it is printed
        found -= (-2 * (X - S @ found.T).T @ S + 2 * lam * X.T @ (X @ found - S)) / H
    assert_close(W, found, SOLUTION.single)
    with pytest.raises(AssertionError):
        assert_close(baselines.SAE(1.1 * lam, **RAW).fit(X, codes, Y).projection_, found, SOLUTION.single)
    assert sae_loss(X, S, W, lam) <= sae_loss(X, S, found, lam) * (1 + 1e-6)


def test_sae_scores_in_both_directions(small):
    X, codes, Y = small
    there, back = (baselines.SAE(1.0, way, **RAW).fit(X, codes, Y) for way in ("to-signatures", "to-features"))
    W = there.projection_.astype(np.float64)
    np.testing.assert_array_equal(there.projection_, back.projection_)

    def cosine(a, b):
        return float(a @ b / math.sqrt((a @ a) * (b @ b)))

    for i, j in itertools.product(range(0, 30, 7), range(5)):
        assert there.compatibility(X)[i, j] == pytest.approx(cosine(X[i] @ W, Y[j]), rel=1e-5)
        assert back.compatibility(X)[i, j] == pytest.approx(cosine(X[i], W @ Y[j]), rel=1e-5)


@pytest.mark.parametrize("estimator", [baselines.ESZSL, baselines.SAE])
def test_more_features_than_rows(small, estimator):
    """The thin decomposition is that of the whole space: features that are copies share what one had."""
    X, codes, Y = small
    few, wide = X[::6], np.repeat(X[::6], 3, axis=1) / math.sqrt(3)
    narrow, broad = (estimator(**RAW).fit(rows, codes[::6], Y).compatibility(rows) for rows in (few, wide))
    assert_close(broad, narrow, SOLUTION.single)


# Linear maps under smooth losses -------------------------------------------------------------------------------------


def losses(n, k, rng):
    targets = np.eye(k)[rng.integers(0, k, n)]
    return {
        "cross-entropy": (
            logistic.cross_entropy(targets),
            lambda F: sum(math.log(sum(math.exp(f) for f in F[i])) - float(F[i] @ targets[i]) for i in range(n)) / n,
        ),
        "sigmoid": (
            logistic.sigmoid_loss(targets),
            lambda F: (
                sum(-math.log(1 / (1 + math.exp(-F[i, j] if targets[i, j] else F[i, j]))) for i, j in np.ndindex(n, k))
                / n
            ),
        ),
        "squared hinge": (
            sync.squared_hinge(2 * targets - 1),
            lambda F: sum(max(0, 1 - (2 * targets[i, j] - 1) * F[i, j]) ** 2 for i, j in np.ndindex(n, k)) / n,
        ),
    }


@pytest.mark.parametrize("name", ["cross-entropy", "sigmoid", "squared hinge"])
def test_losses_and_gradients_are_those_of_slow_loops(name):
    rng = np.random.default_rng(0)
    fast, slow = losses(7, 4, rng)[name]
    F = 2 * rng.normal(size=(7, 4))
    value, gradient = fast(F)
    assert value == pytest.approx(slow(F), rel=1e-12)
    assert_close(gradient, central(slow, F), DIFFERENCES)
    with pytest.raises(AssertionError):
        assert_close(1.01 * gradient, central(slow, F), DIFFERENCES)
    large = fast(1e4 * F)  # no overflow
    assert math.isfinite(large[0])
    assert np.isfinite(large[1]).all()


def test_the_structured_loss_nears_the_published_maximum(monkeypatch):
    rng = np.random.default_rng(1)
    own = np.eye(4)[rng.integers(0, 4, 9)]
    D = rng.uniform(0.5, 2, size=(4, 4)) * (1 - np.eye(4))
    margins, F = own @ D, rng.normal(size=(9, 4))
    exact = np.mean([max(margins[i, c] + F[i, c] for c in range(4)) - F[i] @ own[i] for i in range(9)])
    loss = sync.structured(own, margins)
    value, gradient = loss(F)
    assert exact <= value <= exact + sync.SMOOTHING * math.log(4)
    assert_close(gradient, central(lambda F: loss(F)[0], F), DIFFERENCES)
    monkeypatch.setattr(sync, "SMOOTHING", 1e-4)
    assert sync.structured(own, margins)(F)[0] == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_logistic_regressions_are_those_of_scikit_learn(small, C, monkeypatch):
    X, codes, _ = small
    rows = linear.rotate(X)
    monkeypatch.setattr(linear, "TOLERANCE", 1e-7)
    monkeypatch.setattr(linear, "PASSES", 10000)
    W, b = logistic.multinomial(rows, np.eye(5)[codes], C)
    theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, codes)
    assert_close(W, theirs.coef_.T, STOPPED)
    with pytest.raises(AssertionError):
        assert_close(logistic.multinomial(rows, np.eye(5)[codes], 1.1 * C)[0], theirs.coef_.T, STOPPED)
    assert_close(softmax(X @ W + b), theirs.predict_proba(X), STOPPED)
    targets = np.stack([codes < 2, codes % 2 == 0], axis=1).astype(float)
    W, b = logistic.binary(rows, targets, C)
    for m in range(2):
        theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, targets[:, m])
        assert_close(W[:, m], theirs.coef_[0], STOPPED)
        assert b[m] == pytest.approx(theirs.intercept_[0], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("shape", [(30, 6), (4, 6)])
def test_the_rotation_keeps_the_rows(shape):
    X = np.random.default_rng(0).normal(size=shape)
    rows = linear.rotate(X)
    assert_close(rows.rotated @ rows.basis.T, X, SOLUTION.double)
    assert_close(rows.basis * rows.energy @ rows.basis.T, X.T @ X, SOLUTION.double)


# DAP, IAP, ConSE -----------------------------------------------------------------------------------------------------

BINARY = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0.0]])


def enumerated(p, prior, candidates):
    """p(class | x) for each candidate by the sum over all attribute vectors: Σ_a p(class | a) p(a | x)."""
    found = []
    for signature in candidates:
        total = 0.0
        for a in itertools.product([0, 1], repeat=len(p)):
            of_x = math.prod(p[m] if a[m] else 1 - p[m] for m in range(len(p)))
            of_all = math.prod(prior[m] if a[m] else 1 - prior[m] for m in range(len(p)))
            total += (1.0 if tuple(signature) == a else 0.0) / of_all * of_x
        found.append(total)
    return np.array(found) / sum(found)


@pytest.mark.parametrize("method", ["dap", "iap"])
def test_attribute_prediction_is_the_enumeration_of_attribute_vectors(small, method):
    X, codes, _ = small
    binary = np.hstack([BINARY, np.ones((6, 1))])  # and one attribute that all have
    table = binary[:5]
    model = {"dap": baselines.DAP, "iap": baselines.IAP}[method](C=1.0, **RAW).fit(X, codes, table)
    prior = table[:, :3].mean(axis=0)
    assert_close(model.prior_, [*prior, 0.0], FORMULA.double)  # the constant one counts as absent
    F = X @ model.weights_.astype(float) + model.intercept_
    if method == "dap":
        p = 1 / (1 + np.exp(-F))
    else:
        classes = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        p = np.array([[sum(row[k] for k in range(5) if table[k, m]) for m in range(4)] for row in classes])
    scores = model.compatibility(X, binary, candidates=list("abcdef"))
    for i in range(0, 30, 4):
        expected = enumerated(p[i, :3], prior, BINARY)  # the constant attribute plays no part
        assert_close(softmax(scores)[i], expected, SUMS.single)
        shares = [p[i, m] / prior[m] if BINARY[5, m] else (1 - p[i, m]) / (1 - prior[m]) for m in range(3)]
        assert scores[i, 5] == pytest.approx(sum(math.log(share) for share in shares), rel=1e-5, abs=1e-6)


def test_thresholds_part_seen_classes_and_stand_rounding():
    Y = np.array([[0, 5.0, 1, 0.1], [1, 5.0, 1, 0.2], [1, 5.0, 0, 0.3], [1, 5.0, 1, 0.9]])
    mean, median = attributes.thresholds(Y, "mean"), attributes.thresholds(Y, "median")
    assert_close(mean, [0.5, 5.0, 0.5, 0.6], FORMULA.double)
    assert_close(median, [0.5, 5.0, 0.5, 0.25], FORMULA.double)  # the median of mostly ones is no threshold
    for threshold in (mean, median):
        assert (attributes.present(Y, threshold) == attributes.present(Y.astype(np.float32), threshold))[
            :, [0, 2, 3]
        ].all()


@pytest.mark.parametrize("T", [1, 3, 5, 100])
def test_conse_by_hand(small, T):
    X, codes, Y = small
    model = baselines.ConSE(T, 1.0, **RAW).fit(X, codes, Y)
    scores = model.compatibility(X)
    for i in range(0, 30, 5):
        F = X[i] @ model.weights_.astype(float) + model.intercept_
        p = [math.exp(f) / sum(math.exp(g) for g in F) for f in F]
        best = sorted(range(5), key=lambda k: -p[k])[:T]
        f = sum(p[k] * Y[k] for k in best) / sum(p[k] for k in best)
        for c in range(5):
            assert scores[i, c] == pytest.approx(f @ Y[c] / np.linalg.norm(f) / np.linalg.norm(Y[c]), rel=1e-5)


# SynC ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", sync.LOSSES)
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_sync_minimises_its_objective_over_the_phantoms(small, loss, sigma, monkeypatch):
    """In v, through the mixtures, as it is published: the gradient there is 0."""
    monkeypatch.setattr(linear, "TOLERANCE", 1e-7)
    X, codes, Y = small
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    lam = 0.1
    model = baselines.SynC(lam, sigma, loss, **RAW).fit(X, codes, Y)
    D = np.array([[((a - b) ** 2).sum() for b in Y] for a in Y])
    S = np.exp(-D / sigma**2)
    S /= S.sum(axis=1, keepdims=True)

    def objective(v):
        w, total = S @ v, 0.0
        for x, k in zip(X, codes, strict=True):
            F = w @ x
            if loss == "one-vs-other":
                total += sum(max(0.0, 1 - (1 if c == k else -1) * F[c]) ** 2 for c in range(5))
            else:
                total += sync.SMOOTHING * math.log(
                    sum(math.exp((D[k, c] + F[c] - F[k]) / sync.SMOOTHING) for c in range(5))
                )
        return total / len(X) + lam / 2 * (w**2).sum()

    v = model.classifiers_
    at_start = np.abs(central(objective, np.zeros_like(v))).max()
    assert np.abs(central(objective, v)).max() < 1e-3 * at_start
    assert np.abs(central(objective, 1.1 * v)).max() > 1e-3 * at_start  # a planted fault
    assert_close(model.compatibility(X), X @ (S @ v).T, SUMS.single)


def test_a_candidate_of_sync_mixes_by_distance(small):
    X, codes, Y = small
    model = baselines.SynC(0.1, 0.7, **RAW).fit(X, codes, Y)
    new = np.array([0.3, -0.2, 0.5, 0.1])
    s = np.array([math.exp(-sum((new - b) ** 2) / 0.7**2) for b in Y])
    expected = X @ (s / s.sum() @ model.classifiers_)
    assert_close(model.compatibility(X, [new], ["new"])[:, 0], expected, SUMS.single)


# SSE -----------------------------------------------------------------------------------------------------------------


def generic(objective, start):
    """A point of the simplex by a solver that knows nothing of the problem."""
    constraint = {"type": "eq", "fun": lambda a: a.sum() - 1}
    options = {"ftol": 1e-14, "maxiter": 1000}
    return minimize(objective, start, bounds=[(0, 1)] * len(start), constraints=[constraint], options=options).x


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1.0, 10.0])
def test_mixtures_are_those_of_a_generic_quadratic_programme(gamma):
    rng = np.random.default_rng(2)
    corners, points = rng.normal(size=(7, 4)), rng.normal(size=(6, 4))
    found = simplex.mixtures(points, corners, gamma)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    for point, mixture in zip(points, found, strict=True):

        def objective(a, point=point):
            return 0.5 * ((point - a @ corners) ** 2).sum() + 0.5 * gamma * (a @ a)

        expected = generic(objective, np.full(7, 1 / 7))
        assert objective(mixture) <= objective(expected) + 1e-9
        np.testing.assert_allclose(mixture, expected, atol=2e-3 if gamma < 0.01 else 1e-4)
    alone = np.vstack([simplex.mixtures(point[None], corners, gamma) for point in points])
    np.testing.assert_allclose(alone, found, atol=1e-5)


def test_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(4)
    A = np.vstack([3 * rng.normal(size=(5, 6)), np.eye(6), np.zeros((1, 6)), np.full((1, 6), 1 / 6)])
    for row, found in zip(A, simplex.project(A), strict=True):
        np.testing.assert_allclose(
            found, generic(lambda a, row=row: ((a - row) ** 2).sum(), np.full(6, 1 / 6)), atol=1e-5
        )


@pytest.mark.parametrize("embedding", similarity.EMBEDDINGS)
@pytest.mark.parametrize("blocks", [1, 1 << 20])
def test_similarities_and_their_gradients(embedding, blocks, monkeypatch):
    monkeypatch.setattr(similarity, "ENTRIES", (blocks, blocks))
    monkeypatch.setattr(similarity, "ROWS", 4)
    rng = np.random.default_rng(5)
    X, w, V, slope = rng.normal(size=(9, 5)), rng.normal(size=5), rng.normal(size=(3, 5)), rng.normal(size=(9, 3))

    def slow(w, V):
        phi = {"intersection": lambda x, v: min(x, v), "relu": lambda x, v: max(0.0, x - v)}[embedding]
        return np.array([[sum(w[m] * phi(x[m], v[m]) for m in range(5)) for v in V] for x in X])

    assert_close(similarity.similarities(X, w, V, embedding), slow(w, V), SUMS.double)
    by_w, by_V = similarity.gradients(X, w, V, embedding, slope)
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

    value, gradient = similarity.margin_loss(F, own, D, alignment)
    assert float(value) == pytest.approx(slow(F), rel=1e-12)
    assert_close(gradient, central(slow, F), DIFFERENCES)


def prepared(model, data):
    rows = data.parts["trainval"]
    return model._prepare(data.X[rows].astype(np.float64), data.y[rows], data.signatures)


@pytest.mark.parametrize("embedding", similarity.EMBEDDINGS)
def test_the_step_of_sse_is_the_gradient_of_its_objective(embedding):
    data = datasets.make_synthetic(n_seen=4, n_unseen=2, samples_per_class=5, n_features=3, n_attributes=3, noise=0.3)
    model = baselines.SSE(0.5, embedding, ridge=0.01)
    problem = Problem(prepared(model, data), model)
    for name in ("X", "own", "Z", "margins", "units"):
        setattr(problem, name, getattr(problem, name).astype(np.float64))
    assert problem.halves == 2  # centred or not, these features have signs
    W = problem.start + np.random.default_rng(0).uniform(0.1, 0.5, problem.start.shape)  # away from kinks
    rows = np.array([0, 3, 5, 9, 12, 1])
    _, gradient, _ = problem.step(W, rows, 0)
    expected = central(lambda W: float(problem.step(W, rows, 0)[0][0]), W)
    assert_close(gradient, expected, DIFFERENCES)
    model.ridge = 0.02  # a planted fault
    with pytest.raises(AssertionError):
        assert_close(problem.step(W, rows, 0)[1], expected, DIFFERENCES)


def test_both_embeddings_of_sse_rank_alike():
    """max(0, x − v) = x − min(x, v), and mixtures sum to one: ⟨w, x⟩ is the same for every class."""
    data = datasets.make_synthetic(n_seen=8, n_unseen=3, samples_per_class=10, n_features=12, n_attributes=6, noise=0.3)
    rows = data.parts["trainval"]
    one, two = (
        baselines.SSE(embedding=embedding, random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
        for embedding in similarity.EMBEDDINGS
    )
    assert_close(two.weights_, -one.weights_, AFTER_FIT.single)
    a, b = (model.compatibility(data.X) for model in (one, two))
    assert_close(b - b[:, :1], a - a[:, :1], AFTER_FIT.single)


def test_features_without_signs_have_no_negative_parts(small):
    X, codes, Y = small
    model = baselines.SSE(random_state=0, epochs=1)
    assert model.fit(np.abs(X), codes, Y).thresholds_.shape == (5, 1, 6)
    assert model.fit(X, codes, Y).thresholds_.shape == (5, 2, 6)


# What they share -----------------------------------------------------------------------------------------------------


def test_means_and_sums_over_classes():
    data = datasets.make_synthetic(
        n_seen=4, n_unseen=2, samples_per_class=5, n_features=3, n_attributes=3, descriptions=2
    )
    table = data.signatures.iloc[1:]  # the first class now has one description, the others two
    model = baselines.ESZSL(**RAW)
    rows = data.parts["trainval"]
    X, y = data.X[rows], data.y[rows]
    training = model._prepare(X, y, table)
    assert_close(class_signatures(training), [table.loc[[k]].mean() for k in model.classes_], SUMS.single)
    assert_close(class_sums(training), [X[y == k].sum(axis=0) for k in model.classes_], SUMS.single)
    assert (members(training).argmax(axis=1) == np.searchsorted(model.classes_, y)).all()
