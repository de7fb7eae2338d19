"""Held-out classes in closed form, against sums over loops; and what a fit decides by them in a shared space."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm

from textbook import unit
from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier
from zskl.estimators._class_draws import ClassDraws, draw_classes
from zskl.estimators._class_means_fit import agrees_with_signatures

C, D, P = 9, 7, 4
CASES = {
    "zero": {"prior": "zero"},
    "linear, crowded": {"prior": "zero", "kernel": "linear", "crowding": 0.3},
    "identity": {"prior": "identity", "noise": 0.5},
    "cosine": {"prior": "cosine"},
    "several signatures": {"prior": "zero"},
}


def problem(case):
    draw = np.random.default_rng(5)
    p = D if case in ("identity", "cosine") else P
    centres = draw.standard_normal((C, D))
    y = np.repeat(np.arange(C), 14)
    X = centres[y] + 0.8 * draw.standard_normal((len(y), D))
    labels = np.arange(C)
    if case == "several signatures":
        labels = np.sort(np.r_[labels, labels[::2]])
    mixed = centres[:, :p] if p == D else centres @ draw.standard_normal((D, p))
    table = mixed[labels] + 0.3 * draw.standard_normal((len(labels), p))
    return X, y, pd.DataFrame(table, index=labels)


def make_draws(case, held):
    X, y, table = problem(case)
    own = np.arange(len(y)) % 14 < 4
    settings = {"crowding": 0.0, "shrinkage": 0.4, "description_weight": 3.0, "crowding_share": 0.1, **CASES[case]}
    model = ClassMeansClassifier(feature_scaling="l2", signature_scaling="center-l2", **settings)
    model.fit(X[~own], y[~own], table)
    model.center_  # noqa: B018 (learned when it is first asked for)
    model._fit_cache = model._make_fit_cache()
    rows = model.feature_scaling_.apply(X[own])
    return model, ClassDraws(model, rows, y[own], [held]), X, y, own, table


def slow_scores(model, X, y, own, table, held, apart=False):
    """What the other classes say about the held-out ones, in the space of the rows outside validation.

    `apart`, of those of the other classes alone; then their own rows are scored too.
    """
    scale = unit
    Z = np.array([scale(x) for x in X])
    train, labels = Z[~own], y[~own]
    mu = np.array([train[labels == c].mean(axis=0) for c in range(C)])
    mine = ~np.isin(labels, held) if apart else np.ones(len(labels), bool)
    counted = mine | (model.prior == "cosine")  # which has no space of its own
    within = [np.outer(z - mu[c], z - mu[c]) for z, c in zip(train[counted], labels[counted], strict=True)]
    S = sum(within) / len(within)
    level, plain = np.trace(S) / D, model.prior == "cosine"
    g = np.zeros(D) if plain else mu[np.unique(labels[counted])].mean(axis=0)
    W = np.eye(D) / np.sqrt(level)
    if not plain:
        W = np.linalg.inv(np.real(sqrtm((1 - model.shrinkage) * S + model.shrinkage * level * np.eye(D))))
    M = (mu - g) @ W
    owners = table.index.to_numpy()
    Y = np.array([unit(row - table.to_numpy().mean(axis=0)) for row in table.to_numpy()])
    apart = [
        np.sum((a - b) ** 2) for a, c in zip(Y, owners, strict=True) for b, k in zip(Y, owners, strict=True) if c != k
    ]
    width = np.median(apart)
    K = Y @ Y.T if model.kernel == "linear" else np.exp(-((Y[:, None] - Y[None]) ** 2).sum(axis=2) / width)
    known = ~np.isin(owners, held)
    targets = np.array([unit(M[c]) for c in owners])
    shared = np.zeros((len(owners), D))
    if model.prior != "zero":
        T = np.array([scale(row) for row in table.to_numpy()])
        means = np.array([T[owners == c].mean(axis=0) for c in range(C)])
        shared = (T - (0 if plain else means.mean(axis=0))) @ W
    s = 1.0 if plain else 0.0
    if model.prior == "identity":
        s = (targets[known] * shared[known]).sum() / (shared[known] ** 2).sum()
    weights = K[:, known] @ np.linalg.inv(K[np.ix_(known, known)] + model.noise * np.eye(known.sum()))
    m = s * shared + (0 if plain else weights @ (targets - s * shared)[known])
    spread = np.trace(W @ W @ S)
    u = []
    for row, c in enumerate(owners):
        v = 3.0 * unit(m[row])
        if c not in held:
            v = v + np.sum(labels == c) * M[c] / np.sqrt(M[c] @ M[c] + spread)
        u.append(unit(v))
    kept = np.array([unit((z - g) @ W) for z, c in zip(train, labels, strict=True) if c not in held])
    r = np.zeros(len(u))
    if model.crowding:
        r = np.array([np.sort(kept @ one)[-max(1, int(0.1 * len(kept))) :].mean() for one in u])
    asked = np.r_[Z[own], train[~mine]]
    rows = np.array([unit((z - g) @ W) for z in asked])
    scores = rows @ np.array(u).T - model.crowding * r
    return np.array([scores[:, owners == c].max(axis=1) for c in range(C)]).T


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_slow_twin(case):
    held = np.array([1, 4, 6])
    model, draws, X, y, own, table = make_draws(case, held)
    scores, codes, seen = draws.scores(model, 0)
    wanted = slow_scores(model, X, y, own, table, held)
    assert_close(scores, wanted, SOLUTION.single)
    np.testing.assert_array_equal(codes, y[own])
    assert np.flatnonzero(~seen).tolist() == held.tolist()
    by_class, by_draw = draws.held_out_accuracies([model])
    mine = np.isin(codes, held)
    answers = held[wanted[mine][:, held].argmax(axis=1)]
    expected = [np.mean(answers[codes[mine] == c] == c) for c in held]
    assert_close(by_class[0, held], expected, SOLUTION.single)
    assert_close(by_draw[0, 0], np.mean(expected), SOLUTION.single)
    assert np.isnan(by_class[0, [0, 2, 3]]).all()
    # A planted fault: the slow twin that knows the rows of the held-out classes gives other scores.
    with pytest.raises(AssertionError):
        assert_close(scores, slow_scores(model, X, y, own, table, np.array([1, 4])), SOLUTION.single)


@pytest.mark.parametrize("case", CASES)
def test_a_draw_apart_never_saw_its_held_out_classes(case):
    """Their rows have no part in centre and scatter, and are validated on."""
    held = np.array([1, 4, 6])
    model, draws, X, y, own, table = make_draws(case, held)
    theirs = ~own & np.isin(y, held)
    apart = draws.apart(held, X[theirs], y[theirs])
    scores, codes, seen = apart.scores(model, 0)
    np.testing.assert_array_equal(codes, np.r_[y[own], y[theirs]])
    assert np.flatnonzero(~seen).tolist() == held.tolist()
    wanted = slow_scores(model, X, y, own, table, held, apart=True)
    assert_close(scores, wanted, SOLUTION.single)
    # A planted fault: in the space of all classes the same rows have other scores; plain cosine learns no space.
    leaking = slow_scores(model, X, y, own, table, held)
    if case != "cosine":
        with pytest.raises(AssertionError):
            assert_close(scores[: len(leaking)], leaking, SOLUTION.single)


def test_draws_hold_every_class_out_once_before_one_comes_again():
    for classes in (4, 5, 13, 100):
        draws = draw_classes(classes, 8)
        size = max(2, round(classes / 4))
        assert {len(one) for one in draws} == {size}
        first = np.concatenate(draws[: classes // size])
        assert len(np.unique(first)) == len(first)


# The prior that a fit chooses


def shared_space(noise, rows=12, seed=0, classes=24, d=32):
    """Features and signatures from one encoder; rows lie about their class with so much `noise`."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((classes, d))
    y = np.repeat(np.arange(classes), rows)
    X = centres[y] + noise * draw.standard_normal((len(y), d))
    return X, y, pd.DataFrame(centres + 0.2 * draw.standard_normal(centres.shape), index=range(classes))


def test_a_shared_space_is_found_and_a_coincidence_is_not():
    X, y, table = shared_space(1.0)
    assert ClassMeansClassifier().fit(X, y, table).prior_ in ("identity", "cosine")
    other = np.random.default_rng(1).standard_normal(table.shape)
    assert ClassMeansClassifier().fit(X, y, pd.DataFrame(other, index=table.index)).prior_ == "zero"
    # Descriptions of other classes are no descriptions.
    swapped = table.set_axis(np.roll(table.index, 1))
    assert ClassMeansClassifier().fit(X, y, swapped).prior_ == "zero"


def test_columns_of_falling_size_on_both_sides_are_no_shared_space():
    """As after two PCAs: the first columns are large on both sides, and say nothing of each other."""
    draw, sizes = np.random.default_rng(2), 0.5 ** np.arange(20)
    for seed in range(10):
        A, B = (np.random.default_rng([seed, side]).standard_normal((15, 20)) * sizes for side in (0, 1))
        assert not agrees_with_signatures(A, B)
        assert agrees_with_signatures(A, A + 0.1 * sizes * draw.standard_normal((15, 20)))


def test_plain_cosine_stays_where_training_brings_nothing():
    """Two rows of noise a class: what they teach is noise, and cosine knows the classes already."""
    X, y, table = shared_space(3.0, rows=2, classes=40, d=64)
    model = ClassMeansClassifier(feature_scaling="l2").fit(X, y, table)
    assert model.prior_ == "cosine"
    assert "prior" not in repr(ClassMeansClassifier())


def test_the_choice_does_not_depend_on_the_order_of_rows_or_on_unseen_classes():
    X, y, table = shared_space(1.5)
    seen = y < 18
    first = ClassMeansClassifier(feature_scaling="l2").fit(X[seen], y[seen], table)
    order = np.random.default_rng(0).permutation(np.flatnonzero(seen))
    noise = table.copy()
    noise.loc[18:] = np.random.default_rng(3).standard_normal((6, table.shape[1]))
    other = ClassMeansClassifier(feature_scaling="l2").fit(X[order], y[order], noise)
    assert (first.prior_, first.description_weight_) == (other.prior_, other.description_weight_)
    assert_close(first.regression_, other.regression_, SOLUTION.single)


@pytest.mark.parametrize("bad", ["three", -1.0])
def test_a_bad_description_weight_is_refused(bad):
    X, y, table = shared_space(1.0)
    with pytest.raises(ValueError, match="description_weight is"):
        ClassMeansClassifier(description_weight=bad).fit(X, y, table)
