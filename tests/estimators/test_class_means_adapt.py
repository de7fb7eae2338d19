"""Unlabelled rows: one round as a textbook writes it, the balance, the guard, and that labels are never read."""

import numpy as np
import pytest

from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier
from zskl.estimators._class_means_adapt import (
    AdaptationSettings,
    NoClearGain,
    balance_columns,
    refine_examples,
    run_adaptation,
)

ENTRY = {
    **{name: getattr(AdaptationSettings(), name) for name in AdaptationSettings.__dataclass_fields__},
    "per_class": 4.0,
    "gain": 0.05,
    "spread": 0.01,
    "least": 0.03,
    "calibration": 0.0,
    "temperatures": {"seen": 1.0, "unseen": 1.0, "mixed": 1.0},
}


def with_validation(model, **changed):
    model.practice_ = {"unlabelled": {"unseen": [{**ENTRY, **changed}], "all": [{**ENTRY, **changed, "shift": 0.1}]}}
    return model


@pytest.fixture
def model(toy):
    return ClassMeansClassifier().fit(toy.X, toy.y, toy.table)


def slow_rounds(x, described, known, moving, how):
    """Row by row and class by class. Every class has one signature."""
    base = described + known
    u = np.array([v / np.linalg.norm(v) for v in base])
    for _ in range(how.rounds):
        q = np.zeros((len(x), len(u)))
        for i, row in enumerate(x):
            logits = [how.kappa * (row @ u[c] - (0 if moving[c] else how.shift)) for c in range(len(u))]
            e = np.exp(np.array(logits) - max(logits))
            q[i] = e / e.sum()
        sums = np.array([sum(q[i, c] * x[i] for i in range(len(x))) if moving[c] else 0 * x[0] for c in range(len(u))])
        u = np.array([v / np.linalg.norm(v) for v in base + sums])
    return sums


@pytest.mark.parametrize("rounds", [1, 3])
def test_rounds_match_the_textbook(rounds):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    described, known = rng.normal(size=(4, 5)), np.zeros((4, 5))
    known[0] = 3 * rng.normal(size=5)
    moving = np.array([False, True, True, True])
    how = AdaptationSettings(kappa=6.0, rounds=rounds, shift=0.2)
    found = run_adaptation(x, described, known, np.arange(4)[:, None], moving, how)
    assert_close(found.sums, slow_rounds(x, described, known, moving, how), SOLUTION.single)
    assert (found.rounds, found.masses[0]) == (rounds, 0.0)


def test_balance_evens_class_masses_and_keeps_row_masses():
    rng = np.random.default_rng(0)
    q = rng.random((200, 4)) * [1, 2, 4, 8]
    q *= rng.random((200, 1)) / q.sum(axis=1, keepdims=True)
    for part, spread in ((1.0, 0.02), (0.5, 0.5)):
        even = balance_columns(q, part)
        assert_close(even.sum(axis=1), q.sum(axis=1), SOLUTION.double)
        assert np.ptp(even.sum(axis=0)) < spread * np.ptp(q.sum(axis=0))


def test_adapting_moves_only_classes_without_training_rows(toy, model):
    both = np.concatenate([toy.X, toy.X_new])
    after = with_validation(model).adapt(both, "all")
    seen = ["ant", "cat", "dog"]
    question = model._question(toy.X, model.signature_table_.select(seen))
    assert np.array_equal(after._directions(question), model._directions(question))
    assert after.adapted_classes_ == ["emu", "bee"]
    assert after.adaptation_["candidates"] == "all"
    assert after.adaptation_["rows"] == len(both)
    assert set(after.adaptation_["masses"]) == {"emu", "bee"}
    assert isinstance(after.adaptation_["converged"], bool)


def test_row_order_does_not_matter(toy, model):
    order = np.random.default_rng(0).permutation(len(toy.X_new))
    one, other = (with_validation(model).adapt(rows) for rows in (toy.X_new, toy.X_new[order]))
    assert_close(one.compatibility(toy.X_new), other.compatibility(toy.X_new), SOLUTION.single)


def test_a_second_adaptation_replaces_the_first(toy, model):
    once = with_validation(model).adapt(toy.X_new)
    assert np.array_equal(once.adapt(toy.X_new).compatibility(toy.X), once.compatibility(toy.X))


def test_adapting_needs_a_clear_gain_or_force(toy, model):
    with pytest.raises(NoClearGain, match=r"5 unlabelled rows for each candidate .* nobody has tried any"):
        model.adapt(toy.X_new)
    for change, sentence in (
        ({"gain": 0.01}, r"promise \+1.0 points ± 1.0"),
        ({"least": -0.01}, r"-1.0 in the worst fold"),
        ({"per_class": 40.0}, "nobody has tried as few"),
    ):
        with pytest.raises(NoClearGain, match=sentence):
            with_validation(model, **change).adapt(toy.X_new)
        assert with_validation(model, **change).adapt(toy.X_new, force=True).adapted_classes_ == ["emu", "bee"]


def test_unusable_rows_are_refused_and_the_model_stays(toy, model):
    before = model.compatibility(toy.X)
    for X, options, sentence in (
        (toy.X_new[:1], {}, r"X has 1 row\(s\) for 2 candidate classes"),
        (toy.X_new, {"candidates": ["yak"]}, "'yak' is not in the fitted table"),
        (toy.X_new, {"candidates": ["ant", "cat"]}, "every candidate has training rows"),
        (toy.X_new, {"candidates": "seen"}, "candidates is 'seen': expected one of unseen, all"),
        (toy.X_new, {"balance": 2}, "balance is 2: expected a number from 0 to 1"),
        (toy.X_new, {"balance": "even"}, "balance is 'even': expected a finite number"),
        (np.full((5, 6), np.inf), {}, "contains infinity"),
    ):
        with pytest.raises(ValueError, match=sentence):
            with_validation(model).adapt(X, **options)
    alone = ClassMeansClassifier().fit(toy.X, toy.y, toy.table.loc[["ant", "cat", "dog"]])
    with pytest.raises(ValueError, match="every candidate has training rows"):
        alone.adapt(toy.X_new, force=True)
    assert np.array_equal(model.compatibility(toy.X), before)


def test_equal_rows_give_a_sound_model(toy, model):
    after = with_validation(model).adapt(np.repeat(toy.X_new[:1], 6, axis=0))
    assert np.isfinite(after.compatibility(toy.X)).all()


# Examples that are told apart


def slow_refinement(base, x, own, rows):
    """Softmax regression from the directions `base`, one number at a time; examples that are alone have no say."""
    counts = [own.count(c) for c in range(len(rows))]
    extra = [np.zeros(base.shape[1]) for _ in rows]
    owner = {row: c for c, mine in enumerate(rows) for row in mine}
    for _ in range(20):
        u = []
        for row, v in enumerate(base):
            moved = v / np.linalg.norm(v) + extra[owner[row]]
            u.append(moved / np.linalg.norm(moved))
        steps = [np.zeros(base.shape[1]) for _ in rows]
        for one, mine in zip(x, own, strict=True):
            e = [np.exp(20.0 * max(one @ u[row] for row in some)) for some in rows]
            for c in range(len(rows)):
                steps[c] += 0.08 * (1 - 1 / counts[mine]) * ((c == mine) - e[c] / sum(e)) * one
        extra = [one + step for one, step in zip(extra, steps, strict=True)]
    return [np.mean([np.linalg.norm(base[row]) for row in mine]) * one for mine, one in zip(rows, extra, strict=True)]


@pytest.mark.parametrize("rows", [[[0], [1], [2]], [[0, 3], [1, 1], [2, 4]]], ids=["one signature", "several"])
def test_refinement_matches_slow_loops(rows):
    rng = np.random.default_rng(2)
    own = [0, 0, 1, 0, 2, 2]
    x = rng.normal(size=(6, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    base = rng.normal(size=(1 + max(map(max, rows)), 5)) + 1
    found = refine_examples(base.astype(np.float32), x.astype(np.float32), np.array(own), np.array(rows))
    expected = slow_refinement(base, x, own, [sorted(set(mine)) for mine in rows])
    assert np.abs(expected).max() > 0.1
    assert_close(found, expected, SOLUTION.single)


def test_lone_examples_are_not_refined():
    """Each would fit itself."""
    rng = np.random.default_rng(2)
    base, x = rng.normal(size=(2, 3, 5)).astype(np.float32)
    assert not refine_examples(base, x, np.arange(3), np.arange(3)[:, None]).any()
