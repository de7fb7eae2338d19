"""The baselines trained by descent: losses against slow loops, whole fits against plain ones, novelty by hand."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import zskl
from tolerances import AFTER_FIT, DIFFERENCES, FIT, FORMULA, SOLUTION, STOPPED, SUMS, assert_close
from zskl import DivergenceError, datasets, metrics
from zskl.baselines import ALE, CMT, SJE, CMTStar, DeViSE, LatEm
from zskl.baselines.ale import weighted_ranking
from zskl.baselines.bilinear import BilinearProblem
from zskl.baselines.cmt import NetworkProblem
from zskl.baselines.descent import coordinates, run
from zskl.baselines.devise import pairwise_hinge
from zskl.baselines.latem import LatentProblem, mean_hinge
from zskl.baselines.novelty import best_threshold, hold_out
from zskl.baselines.sje import structured_hinge
from zskl.estimators.estimator import Training
from zskl.methods import build
from zskl.training.solver import batches

DATA = datasets.make_synthetic(8, 4, 20, 12, 6, noise=0.3)
ROWS, UNSEEN = DATA.parts["trainval"], DATA.parts["test_unseen"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures
NEW = np.unique(DATA.y[UNSEEN])
TRAINED = [ALE, DeViSE, SJE, LatEm, CMT, CMTStar]
BILINEAR = [ALE, DeViSE, SJE]
MARGIN = 0.7


def learned(model):
    return {name: getattr(model, name) for name in model.LEARNED}


def check_equal(model, other):
    assert model.LEARNED.keys() == other.LEARNED.keys()
    for name, value in learned(model).items():
        np.testing.assert_array_equal(value, getattr(other, name))


# Losses ---------------------------------------------------------------------------------------------------------------


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
    violating = [[value for value in row.values() if value > 0] for row in hinges(S, own)]
    return sum(sum(values) / len(values) for values in violating if values) / len(own)


LOSSES = {
    "devise": (lambda S, own: pairwise_hinge(S, own, MARGIN), slow_devise),
    "sje": (lambda S, own: structured_hinge(S, own, MARGIN), slow_sje),
    "ale": (lambda S, own: weighted_ranking(S, own, MARGIN), slow_ale),
    "latem": (lambda S, own: mean_hinge(S, own, MARGIN), slow_latem),
}


def finite_differences(function, W, step=1e-6):
    found = np.zeros_like(W)
    for place in np.ndindex(*W.shape):
        old = W[place]
        W[place] = old + step
        up = function()
        W[place] = old - step
        found[place] = (up - function()) / (2 * step)
        W[place] = old
    return found


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


# Gradients of the weights ---------------------------------------------------------------------------------------------


def double_training(C=5, p=7, d=4, n=9):
    """A training set in float64; fewer classes than attributes make coordinates of their span."""
    rng = np.random.default_rng(1)
    codes = np.arange(n) % C
    return Training(
        X=rng.normal(size=(n, d)),
        codes=codes,
        Y=rng.normal(size=(C, p)),
        rows=np.arange(C)[:, None],
        counts=np.ones(C, dtype=int),
        sizes=np.bincount(codes, minlength=C),
    )


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
    Z, Q = coordinates(training.Y)
    assert Z.shape == (5, 5)
    assert_close(Z @ Q.T, training.Y, SOLUTION.double)
    assert_close(Q.T @ Q, np.eye(5), SOLUTION.double)
    tall = training.Y.T
    np.testing.assert_array_equal(coordinates(tall)[0], tall)


def test_directions_of_rounding_errors_are_no_coordinates():
    """Centred signatures of 5 classes span 4 directions; a fifth would be whatever the linear algebra left there."""
    Y = np.random.default_rng(0).standard_normal((5, 9)).astype(np.float32)
    Y -= Y.mean(axis=0)
    Z, Q = coordinates(Y)
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


@pytest.mark.parametrize("estimator", BILINEAR)
def test_a_whole_fit_against_a_plain_loop_in_signature_space(estimator):
    """W (d, p) itself under momentum, with no coordinates, in float64; 5 classes in 6 attributes."""
    chosen = np.isin(TRAINING[1], np.unique(TRAINING[1])[:5])
    X, y = TRAINING[0][chosen], TRAINING[1][chosen]
    model = estimator(random_state=0, epochs=3, batch_size=16, learning_rate=0.2, momentum=0.5)
    ours = clone(model)
    ours.fit(X, y, DATA.signatures)
    training, seed = model._prepare(X, y, DATA.signatures), model._seed()
    X, Y, codes = training.X.astype(np.float64), training.Y.astype(np.float64), training.codes
    W = np.random.default_rng([seed, 1]).standard_normal((X.shape[1], Y.shape[1])) / X.shape[1] ** 0.5
    span = np.linalg.pinv(Y, rcond=1e-5) @ Y  # what the start has outside the span of the signatures is never trained
    W, V = W @ span, 0.0
    for epoch in range(3):
        for rows in batches(len(X), 16, seed, epoch):
            G = estimator.LOSS(X[rows] @ W @ Y.T, codes[rows], 1.0)[1]
            V = 0.5 * V - 0.2 * X[rows].T @ G @ Y
            W = W + V
    assert_close(ours.projection_, W, FIT.single)
    with pytest.raises(AssertionError):  # the last step left out
        assert_close(ours.projection_, W - V, FIT.single)


# Fits -----------------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("output_", np.ones((5, 6), dtype=np.float32), r"layers of shapes \(12, 128\) and \(5, 6\) do not fit"),
        ("hidden_", np.ones((11, 128), dtype=np.float32), "learned.hidden_ has shape"),
        ("threshold_", -1.0, "its threshold is -1.0"),
        ("threshold_", "high", "its threshold is 'high'"),
    ],
)
def test_damaged_model_files(name, value, sentence, tmp_path):
    model = CMTStar(random_state=0, epochs=1).fit(*TRAINING)
    setattr(model, name, value)
    model.save(tmp_path / "model.zskl")
    with pytest.raises(ValueError, match=f"is damaged: .*{sentence}"):
        zskl.load(tmp_path / "model.zskl")


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


def test_a_divergence_spares_what_was_finished_before():
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
        (DeViSE(momentum=1.0), r"momentum=1.0: expected a number in \[0, 1\)"),
        (ALE(margin=0), "margin is 0: expected a finite number > 0"),
        (LatEm(n_maps=0), "n_maps is 0: expected an integer"),
        (LatEm(prune_below=1.5), "prune_below=1.5: expected a share between 0 and 1"),
        (LatEm(prune_every=0), "prune_every is 0: expected an integer"),
        (CMT(hidden=0), "hidden is 0: expected an integer"),
        (CMT(learning_rate=float("nan")), "learning_rate is nan: expected a finite number"),
        (CMTStar(C=0), "C is 0: expected a finite number > 0"),
    ],
)
def test_bad_settings(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(*TRAINING)


# LatEm ----------------------------------------------------------------------------------------------------------------


def test_the_best_map_scores():
    model = LatEm(n_maps=3, random_state=0, epochs=2, feature_scaling="none", signature_scaling="none")
    model.fit(*TRAINING)
    x, Y = DATA.X[0].astype(np.float64), DATA.signatures.loc[NEW].to_numpy(np.float64)
    expected = [max(float(x @ W.astype(np.float64) @ y) for W in model.projections_) for y in Y]
    assert len(model.projections_) == 3
    assert_close(model.compatibility(DATA.X[:1], candidates=NEW)[0], expected, SUMS.single)


def test_maps_that_serve_few_rows_are_left_out():
    problem = LatentProblem(double_training(), 0, LatEm(n_maps=4, prune_every=2, prune_below=0.2))
    problem.chosen[:] = [30, 5, 19, 46]
    assert problem.keep(1) is None
    assert problem.keep(2).tolist() == [0, 3]
    assert problem.chosen.tolist() == [0, 0]
    problem.chosen[:] = [1, 1]
    assert problem.keep(4) is None  # all that are left are used
    greedy = LatentProblem(double_training(), 0, LatEm(n_maps=4, prune_every=1, prune_below=0.9))
    greedy.chosen[:] = [1, 2, 3, 2]
    assert greedy.keep(1).tolist() == [2]  # one always stays


def test_a_step_counts_the_maps_of_own_classes():
    problem = LatentProblem(double_training(), 0, LatEm(n_maps=3))
    rows = np.arange(9)
    S = np.stack([problem.X @ W @ problem.Z.T for W in problem.weights[0]])
    expected = np.bincount([S[:, i, code].argmax() for i, code in enumerate(problem.codes)], minlength=3)
    problem.step(rows)
    np.testing.assert_array_equal(problem.chosen, expected)


def test_pruning_along_a_run():
    def sizes(**settings):
        found = {}
        LatEm(n_maps=8, random_state=0, batch_size=16, **settings)._fit_together(
            [{"epochs": epochs} for epochs in (1, 2, 3, 6)],
            *TRAINING,
            lambda place, model: found.setdefault(model.epochs, len(model.projections_)),
        )
        return found

    assert set(sizes(prune_below=0.0).values()) == {8}
    pruned = sizes(prune_every=3, prune_below=0.15)
    assert pruned[1] == pruned[2] == 8
    assert 1 <= pruned[6] <= pruned[3] < 8


def test_what_is_left_goes_on_as_it_was():
    """Maps left out of a run take their velocities along."""

    class Two:
        def __init__(self):
            self.weights, self.gradients = [np.array([1.0, 2.0])], [np.zeros(2)]

        def step(self, rows):
            self.gradients[0][:] = self.weights[0]
            return np.asarray(0.0)

        def keep(self, epochs):
            return np.array([1]) if epochs == 1 else None

    problem = Two()
    list(run(problem, n_rows=1, batch_size=1, epochs=3, seed=0, learning_rate=0.1, momentum=0.5))
    w, v = 2.0, 0.0
    for _ in range(3):
        v = 0.5 * v - 0.1 * w
        w += v
    assert_close(problem.weights[0], [w], FORMULA.double)


# CMT* -----------------------------------------------------------------------------------------------------------------


def hand_made(threshold=4.0):
    """f(x) ≈ x in the plane; seen classes a (1, 0) and b (−1, 0) of spread 0.01, unseen c (0, 1) and d (0, −1)."""
    table = {"a": [1.0, 0.0], "b": [-1.0, 0.0], "c": [0.0, 1.0], "d": [0.0, -1.0]}
    X, y = np.array([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]]), np.array(["a", "a", "b", "b"])
    model = CMTStar(epochs=1, feature_scaling="none", signature_scaling="none", random_state=0).fit(X, y, table)
    small = 1e-3
    model.hidden_, model.output_ = np.eye(2, dtype="f") * small, np.eye(2, dtype="f") / small
    model.prototypes_, model.spreads_ = np.array([[1, 0], [-1, 0]], dtype="f"), np.full(2, 0.01, dtype="f")
    model.classifier_, model.intercepts_ = np.array([[0, 0], [3, -3]], dtype="f"), np.zeros(2, dtype="f")
    model.threshold_ = threshold
    return model


def test_outliers_by_hand():
    """The classifier of the seen classes goes by the second coordinate: a above, b below the axis."""
    model = hand_made()
    X = np.array([[1.05, 0.1], [1.05, -0.1], [-0.95, 0.15], [0.1, 0.8], [0.3, -0.5], [1.3, 0.1]])
    ranks = model.top_k(X, 4).tolist()
    assert ranks[0] == ["a", "b", "c", "d"]
    assert ranks[1] == ["b", "a", "d", "c"]  # near a, but the classifier decides
    assert ranks[2] == ["a", "b", "c", "d"]
    assert ranks[3] == ["c", "d", "a", "b"]
    assert ranks[4] == ["d", "c", "b", "a"]
    assert ranks[5] == ["c", "d", "a", "b"]  # 0.3 away, further than 0.2, from the nearest seen class
    assert hand_made(threshold=16.0).predict(X[5:]).tolist() == ["a"]
    assert model.predict(X, candidates=["c", "d"]).tolist() == ["c", "d", "c", "c", "d", "c"]
    assert model.predict(X, candidates=["a", "b"]).tolist() == ["a", "b", "a", "a", "b", "a"]
    assert model.predict(X[:4], candidates=["b", "c"]).tolist() == ["b", "b", "b", "c"]


def test_a_score_does_not_depend_on_the_other_candidates():
    model = CMTStar(random_state=0, epochs=4).fit(*TRAINING)
    scores = model.compatibility(DATA.X)
    for column, label in enumerate(model.candidates_):
        assert_close(model.compatibility(DATA.X, candidates=[label])[:, 0], scores[:, column], SUMS.single)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= 3


def test_calibration_moves_the_threshold():
    model = CMTStar(random_state=0, epochs=10).fit(*TRAINING)
    shares = []
    for constant in (-4.0, -1.0, 0.0, 1.0, 4.0):
        model.calibration_ = constant
        shares.append(np.isin(model.predict(DATA.X), model.classes_).mean())
    assert shares[0] == 1
    assert shares[-1] == 0
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) > 3


def test_without_seen_candidates_it_is_cmt():
    settings = {"random_state": 0, "epochs": 5, "batch_size": 16}
    plain, starred = CMT(**settings).fit(*TRAINING), CMTStar(**settings).fit(*TRAINING)
    np.testing.assert_array_equal(plain.hidden_, starred.hidden_)
    answers = (one.predict(DATA.X[UNSEEN], candidates=NEW).tolist() for one in (plain, starred))
    assert next(answers) == next(answers)
    distances = 1 / starred.compatibility(DATA.X[UNSEEN], candidates=NEW) - 1
    assert_close(-distances, plain.compatibility(DATA.X[UNSEEN], candidates=NEW), SUMS.single)


def test_the_best_threshold_against_all_of_them():
    rng = np.random.default_rng(2)
    seen = np.arange(60) < 25
    codes = np.concatenate([rng.integers(4, size=25), rng.integers(3, size=35)])
    novel = rng.gamma(2.0, size=60) + ~seen
    novel[10] = novel[40]  # equals on either side
    right = rng.random(60) < 0.7

    def harmonic(tau):
        accepted = right & np.where(seen, novel <= tau, novel > tau)
        seen_accuracy, unseen_accuracy = (
            np.mean([accepted[kind & (codes == c)].mean() for c in np.unique(codes[kind])]) for kind in (seen, ~seen)
        )
        return metrics.harmonic_mean(seen_accuracy, unseen_accuracy)

    found = harmonic(best_threshold(novel, right, codes, seen))
    assert found == pytest.approx(max(harmonic(tau) for tau in [0.0, *novel]), rel=1e-12)


def test_what_is_held_out_for_the_threshold():
    model = CMTStar(random_state=0)
    training = model._prepare(*TRAINING)
    trial = hold_out(training, 5)
    held = sorted({row.tobytes() for row in trial.X} & {row.tobytes() for row in trial.inner.X})
    assert held == []
    assert len(trial.X) + len(trial.inner.X) == len(training.X)
    assert len(trial.Y) == 1
    assert len(trial.inner.sizes) == 7
    assert trial.inner.sizes.sum() == len(trial.inner.X)
    original = {row.tobytes(): int(code) for row, code in zip(training.X, training.codes, strict=True)}
    inner = {original[row.tobytes()] for row in trial.inner.X}
    for row, is_seen in zip(trial.X, trial.seen, strict=True):
        assert (original[row.tobytes()] in inner) == is_seen
    again = hold_out(training, 5)
    np.testing.assert_array_equal(again.X, trial.X)


def test_too_few_classes_to_hold_one_out():
    two = np.isin(TRAINING[1], np.unique(TRAINING[1])[:2])
    model = CMTStar(random_state=0, epochs=5).fit(TRAINING[0][two], TRAINING[1][two], DATA.signatures)
    answers = model.predict(TRAINING[0][two])
    assert np.isin(answers, model.classes_).mean() == pytest.approx(0.95, abs=0.05)


def test_novelty_helps_where_seen_classes_draw_rows_away():
    data = datasets.make_synthetic(20, 8, 30, 64, 40, noise=0.5)  # fewer classes than attributes, as in the benchmarks
    rows = data.parts["trainval"]
    models = [one(random_state=0, epochs=20).fit(data.X[rows], data.y[rows], data.signatures) for one in (CMT, CMTStar)]
    plain, starred = (zskl.protocols.gzsl(model, data) for model in models)
    assert plain.unseen < 0.6 * zskl.protocols.zsl(models[0], data).accuracy
    assert starred.unseen > plain.unseen
    assert starred.harmonic > plain.harmonic
