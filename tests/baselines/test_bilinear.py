"""The losses of ALE, DeViSE and SJE against slow loops, and whole fits against a plain loop."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from descent_problems import DATA, MARGIN, TRAINING, finite_differences
from tolerances import DIFFERENCES, FIT, SUMS, assert_close
from zskl.baselines import ALE, SJE, DeViSE
from zskl.baselines.ale import weighted_ranking
from zskl.baselines.devise import pairwise_hinge
from zskl.baselines.latem import mean_hinge
from zskl.baselines.sje import structured_hinge
from zskl.training.solver import batches

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
    violating = [[value for value in row.values() if value > 0] for row in hinges(S, own)]
    return sum(sum(values) / len(values) for values in violating if values) / len(own)


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
        for rows in batches(len(X), 16, seed, epoch):
            G = estimator.LOSS(X[rows] @ W @ Y.T, codes[rows], 1.0)[1]
            V = 0.5 * V - 0.2 * (X[rows].T @ G @ Y + 0.3 * W)
            W = W + V
    assert_close(ours.projection_, W, FIT.single)
    with pytest.raises(AssertionError):  # the last step left out
        assert_close(ours.projection_, W - V, FIT.single)
