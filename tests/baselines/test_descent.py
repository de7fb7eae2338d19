"""The losses of ALE, DeViSE and SJE against slow loops, and whole fits against a plain loop."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import zskl
from baseline_problems import DATA, MARGIN, NEW, ROWS, TRAINING, UNSEEN, double_training, finite_differences
from tolerances import AFTER_FIT, DIFFERENCES, FIT, FORMULA, SOLUTION, STOPPED, SUMS, assert_close
from zskl import DivergenceError, datasets, metrics
from zskl.baselines import ALE, CMT, SJE, CMTStar, DeViSE, LatEm
from zskl.baselines._descent import run_descent, signature_coordinates
from zskl.baselines.bilinear import (
    BilinearProblem,
    LatentProblem,
    mean_hinge,
    pairwise_hinge,
    structured_hinge,
    weighted_ranking,
)
from zskl.baselines.cmt import NetworkProblem
from zskl.methods import build
from zskl.training.solver import batch_indices

# Bilinear

BILINEAR = [ALE, DeViSE, SJE]


def hinges(S, own):
    """For each row its wrong classes with their violation of the margin."""
    return [
        {j: max(0.0, MARGIN + row[j] - row[mine]) for j in range(len(row)) if j != mine}
        for row, mine in zip(S.tolist(), own.tolist(), strict=True)
    ]


def slow_devise(S, own):
    return sum(sum(row.values()) for row in hinges(S, own)) / len(own)


def slow_sje(S, own):
    return sum(max(row.values()) for row in hinges(S, own)) / len(own)


def slow_ale(S, own):
    total = 0.0
    for row, scores, mine in zip(hinges(S, own), S.tolist(), own.tolist(), strict=True):
        lifted = sorted([scores[mine], *(scores[j] + MARGIN for j in row)], reverse=True)
        rank = lifted.index(scores[mine])  # how many wrong classes stand before the own one
        if rank:
            total += math.fsum(1 / k for k in range(1, rank + 1)) / rank * sum(row.values())
    return total / len(own)


def slow_latem(S, own):
    return sum(sum(row.values()) / len(row) for row in hinges(S, own)) / len(own)


LOSSES = {
    "devise": (lambda S, own: pairwise_hinge(S, own, MARGIN), slow_devise),
    "sje": (lambda S, own: structured_hinge(S, own, MARGIN), slow_sje),
    "ale": (lambda S, own: weighted_ranking(S, own, MARGIN), slow_ale),
    "latem": (lambda S, own: mean_hinge(S, own, MARGIN), slow_latem),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("spread", [0.05, 0.6, 3.0])  # all classes violate the margin, some do, few do
def test_a_loss_and_its_gradient(name, spread):
    fast, slow = LOSSES[name]
    rng = np.random.default_rng(3)
    S, own = rng.normal(size=(7, 5)) * spread, rng.integers(5, size=7)
    S[0, own[0]] = 50.0  # a row without violation
    value, G = fast(S, own)
    assert_close(value, slow(S, own), SUMS.double)
    expected = finite_differences(lambda: slow(S, own), S)
    assert_close(G, expected, DIFFERENCES)
    assert not G[0].any()
    with pytest.raises(AssertionError):  # a weight forgotten is noticed
        assert_close(2 * G, expected, DIFFERENCES)


def test_ranks_of_ale_against_a_sort():
    rng = np.random.default_rng(5)
    S, own = rng.normal(size=(200, 30)).astype(np.float32), rng.integers(30, size=200)
    _, G = weighted_ranking(S, own, MARGIN)
    each = np.arange(200)
    lifted = S + np.float32(MARGIN)
    lifted[each, own] -= np.float32(MARGIN)
    ranks = np.argsort(np.argsort(-lifted, axis=1, kind="stable"), axis=1)[each, own]
    assert len(set(ranks)) > 10
    beta = np.array([math.fsum(1 / k for k in range(1, r + 1)) for r in ranks])
    assert_close(G[each, own], -beta / 200, SUMS.single)
    np.testing.assert_array_equal((G > 0).sum(axis=1), ranks)


def test_two_classes_have_one_rank():
    for loss, _ in LOSSES.values():
        value, G = loss(np.array([[0.0, 1.0]]), np.array([0]))
        assert float(value) == pytest.approx(MARGIN + 1, rel=1e-12)
        np.testing.assert_array_equal(G, [[-1.0, 1.0]])


@pytest.mark.parametrize("estimator", BILINEAR)
def test_a_whole_fit_against_a_plain_loop_in_signature_space(estimator):
    """W (d, p) itself under momentum, with no coordinates, in float64; 5 classes in 6 attributes."""
    chosen = np.isin(TRAINING[1], np.unique(TRAINING[1])[:5])
    X, y = TRAINING[0][chosen], TRAINING[1][chosen]
    model = estimator(random_state=0, epochs=3, batch_size=16, learning_rate=0.2, momentum=0.5, weight_decay=0.3)
    ours = clone(model)
    ours.fit(X, y, DATA.signatures)
    training, seed = model._prepare(X, y, DATA.signatures), model._seed()
    X, Y, codes = training.X.astype(np.float64), training.Y.astype(np.float64), training.codes
    W = np.random.default_rng([seed, 1]).standard_normal((X.shape[1], Y.shape[1])) / X.shape[1] ** 0.5
    span = np.linalg.pinv(Y, rcond=1e-5) @ Y  # what the start has outside the span of the signatures is never trained
    W, V = W @ span, 0.0
    for epoch in range(3):
        for rows in batch_indices(len(X), 16, seed, epoch):
            G = estimator.LOSS(X[rows] @ W @ Y.T, codes[rows], 1.0)[1]
            V = 0.5 * V - 0.2 * (X[rows].T @ G @ Y + 0.3 * W)
            W = W + V
    assert_close(ours.projection_, W, FIT.single)
    with pytest.raises(AssertionError):  # the last step left out
        assert_close(ours.projection_, W - V, FIT.single)


# Descent
# What all methods trained by descent share: gradients, coordinates, fits, progress and divergence.

TRAINED = [ALE, DeViSE, SJE, LatEm, CMT, CMTStar]


def learned(model):
    return {name: getattr(model, name) for name in model.LEARNED}


def check_equal(model, other):
    assert model.LEARNED.keys() == other.LEARNED.keys()
    for name, value in learned(model).items():
        np.testing.assert_array_equal(value, getattr(other, name))


PROBLEMS = {
    **{loss: lambda t, loss=loss: BilinearProblem(t, 0, loss, MARGIN) for loss in (weighted_ranking, structured_hinge)},
    pairwise_hinge: lambda t: BilinearProblem(t, 0, pairwise_hinge, MARGIN),
    LatEm: lambda t: LatentProblem(t, 0, LatEm(n_maps=3, margin=MARGIN)),
    CMT: lambda t: NetworkProblem(t, 0, 6),
}


@pytest.mark.parametrize("shape", [{}, {"C": 8, "p": 3, "n": 16}])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=[one.__name__ for one in PROBLEMS])
def test_the_gradient_of_a_batch(problem, shape):
    training = double_training(**shape)
    problem = problem(training)
    rows = np.array([0, 2, 3, 7, 8])
    problem.step(rows)
    gradients = [G.copy() for G in problem.gradients]
    for W, G in zip(problem.weights, gradients, strict=True):
        expected = finite_differences(lambda: float(problem.step(rows)), W)
        assert_close(G, expected, DIFFERENCES)
        assert np.abs(G).max() > 1e-3


def test_coordinates():
    training = double_training()
    Z, Q = signature_coordinates(training.Y)
    assert Z.shape == (5, 5)
    assert_close(Z @ Q.T, training.Y, SOLUTION.double)
    assert_close(Q.T @ Q, np.eye(5), SOLUTION.double)
    tall = training.Y.T
    np.testing.assert_array_equal(signature_coordinates(tall)[0], tall)


def test_rounding_errors_do_not_become_coordinates():
    """Centred signatures of 5 classes span 4 directions; a fifth would be whatever the linear algebra left there."""
    Y = np.random.default_rng(0).standard_normal((5, 9)).astype(np.float32)
    Y -= Y.mean(axis=0)
    Z, Q = signature_coordinates(Y)
    assert Z.shape == (5, 4)
    assert_close(Z @ Q.T, Y, SOLUTION.single)


@pytest.mark.parametrize("name", ["ale", "devise", "sje", "latem", "cmt", "cmt-star"])
def test_rounding_errors_of_signatures_do_not_reach_unseen_classes(name):
    """8 centred classes in 12 attributes, moved by a millionth: so are the scores of unseen classes."""
    data = datasets.make_synthetic(8, 3, 20, 10, 12, noise=0.3)
    rows, unseen = data.parts["trainval"], data.X[data.parts["test_unseen"]]
    table = data.signatures
    moved = table * (1 + 1e-7 * np.random.default_rng(0).standard_normal(table.shape))
    scores = [
        build(name, {"random_state": 0, "epochs": 5}).fit(data.X[rows], data.y[rows], one).compatibility(unseen)
        for one in (table, moved)
    ]
    assert_close(scores[0], scores[1], AFTER_FIT.single)


@pytest.mark.parametrize("estimator", TRAINED)
def test_settings_fitted_together_equal_lone_fits(estimator):
    model = estimator(random_state=3, batch_size=16)
    settings = [{"epochs": epochs} for epochs in (6, 1, 11, 6)]
    visited = {}
    model._fit_together(settings, *TRAINING, lambda place, one: visited.setdefault(place, one))
    assert sorted(visited) == [0, 1, 2, 3]
    for place, setting in enumerate(settings):
        alone = clone(model).set_params(**setting).fit(*TRAINING)
        assert visited[place].epochs == setting["epochs"]
        check_equal(visited[place], alone)
        np.testing.assert_array_equal(visited[place].compatibility(DATA.X[UNSEEN]), alone.compatibility(DATA.X[UNSEEN]))
    with pytest.raises(AssertionError):
        check_equal(visited[0], visited[1])


@pytest.mark.parametrize("estimator", TRAINED)
def test_unseen_classes_are_recognised(estimator):
    model = estimator(random_state=0, epochs=30, batch_size=16).fit(*TRAINING)
    answers = model.predict(DATA.X[UNSEEN], candidates=NEW)
    assert metrics.mean_per_class_accuracy(DATA.y[UNSEEN], answers) > 0.5  # chance is 0.25
    for value in learned(model).values():
        assert isinstance(value, float) or value.dtype == np.float32


@pytest.mark.parametrize("estimator", TRAINED)
def test_model_files(estimator, tmp_path):
    model = estimator(random_state=0, epochs=2).fit(*TRAINING)
    model.save(tmp_path / "model.zskl")
    again = zskl.load(tmp_path / "model.zskl")
    check_equal(again, model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.compatibility(DATA.X[:9]), model.compatibility(DATA.X[:9]))


@pytest.mark.parametrize("estimator", TRAINED)
def test_tensors(estimator):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'zskl[torch]'")
    model = estimator(random_state=0, epochs=4, batch_size=16).fit(*TRAINING)
    scores = model.compatibility(torch.tensor(DATA.X))
    assert isinstance(scores, torch.Tensor)
    assert_close(scores, model.compatibility(DATA.X), SUMS.single)
    other = clone(model).fit(torch.tensor(TRAINING[0]), *TRAINING[1:])
    for name, value in learned(model).items():
        assert_close(getattr(other, name), value, STOPPED)


@pytest.mark.parametrize("estimator", TRAINED)
def test_repeated_descriptions_change_nothing(estimator):
    repeated = DATA.signatures.loc[np.repeat(DATA.signatures.index.to_numpy(), 2)]
    once, twice = (estimator(random_state=0, epochs=2).fit(*TRAINING[:2], s) for s in (DATA.signatures, repeated))
    assert_close(twice.compatibility(DATA.X), once.compatibility(DATA.X), AFTER_FIT.single)


@pytest.mark.parametrize("estimator", TRAINED)
def test_progress_and_an_interrupted_fit(estimator):
    seen = []
    model = estimator(random_state=0, epochs=2, batch_size=50).fit(*TRAINING, callback=seen.append)
    per_epoch = len(ROWS) // 50
    assert [one.step for one in seen] == list(range(1, 2 * per_epoch + 1))
    assert {one.steps for one in seen} == {2 * per_epoch}
    assert [one.step for one in seen if one.epoch_ends] == [per_epoch, 2 * per_epoch]
    assert all(np.isfinite(one.objective).all() and one.objective.shape == (1,) for one in seen)
    before = dict(vars(model))

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(TRAINING[0] + 1, *TRAINING[1:], callback=stop)
    assert vars(model) == before


@pytest.mark.parametrize("estimator", TRAINED)
def test_divergence(estimator):
    wild = estimator(random_state=0, learning_rate=1e9, epochs=3, batch_size=16)
    with pytest.raises(DivergenceError, match=r"diverged at step \d+: .* lower learning_rate \(now 1e\+09\)"):
        wild.fit(*TRAINING)
    assert not hasattr(wild, "classes_")
    visited = {}
    wild._fit_together([{"epochs": 1}, {"epochs": 3}], *TRAINING, visited.__setitem__)
    assert all(isinstance(visited[place], DivergenceError) for place in (0, 1))


def test_a_divergence_keeps_what_was_finished_before():
    slowly = CMT(random_state=0, hidden=8, learning_rate=8.0, batch_size=80)  # a step an epoch
    visited = {}
    slowly._fit_together([{"epochs": epochs} for epochs in (60, 1)], *TRAINING, visited.__setitem__)
    assert isinstance(visited[0], DivergenceError)
    check_equal(visited[1], clone(slowly).set_params(epochs=1).fit(*TRAINING))
    with pytest.raises(DivergenceError):
        clone(slowly).set_params(epochs=60).fit(*TRAINING)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (ALE(epochs=0), "epochs is 0: expected an integer ≥ 1"),
        (SJE(batch_size=2.5), "batch_size is 2.5: expected an integer"),
        (DeViSE(momentum=1.0), "momentum is 1.0: expected a number from 0 to below 1"),
        (ALE(weight_decay=-1.0), "weight_decay is -1.0: expected a finite number ≥ 0"),
        (ALE(margin=0), "margin is 0: expected a finite number > 0"),
        (LatEm(n_maps=0), "n_maps is 0: expected an integer"),
        (LatEm(prune_below=1.5), "prune_below is 1.5: expected a share between 0 and 1"),
        (LatEm(prune_every=0), "prune_every is 0: expected an integer"),
        (CMT(hidden=0), "hidden is 0: expected an integer"),
        (CMT(learning_rate=float("nan")), "learning_rate is nan: expected a finite number"),
        (CMTStar(C=0), "C is 0: expected a finite number > 0"),
    ],
)
def test_bad_settings(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(*TRAINING)


def test_weights_that_are_kept_train_on_unchanged():
    """Maps left out of a run take their velocities along."""

    class Two:
        def __init__(self):
            self.weights, self.gradients = [np.array([1.0, 2.0])], [np.zeros(2)]

        def step(self, rows):
            self.gradients[0][:] = self.weights[0]
            return np.asarray(0.0)

        def end_epoch(self, epochs):
            return np.array([1]) if epochs == 1 else None

    problem = Two()
    list(run_descent(problem, n_rows=1, batch_size=1, epochs=3, seed=0, learning_rate=0.1, momentum=0.5))
    w, v = 2.0, 0.0
    for _ in range(3):
        v = 0.5 * v - 0.1 * w
        w += v
    assert_close(problem.weights[0], [w], FORMULA.double)
