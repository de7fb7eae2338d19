"""Unlabelled rows: the rounds as a textbook writes them, classes that are absent, the balance, and the guard."""

from dataclasses import replace

import numpy as np
import pytest

from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier, load
from zskl.estimators import _class_means_adapt as adaptation
from zskl.estimators._class_means_adapt import (
    AdaptationSettings,
    NoClearGain,
    RowsAtHand,
    balance_columns,
    choose_entry,
    find_adaptation_entry,
    is_clear_gain,
    match_constant,
    nearest_rows,
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


def slow_rounds(x, described, known, moving, how, crowded, offset):
    """Row by row and class by class. Every class has one signature."""
    base, c = described + known, len(described)
    u = np.array([v / np.linalg.norm(v) for v in base])

    def logits(u, i, k):
        return how.kappa * (x[i] @ u[k] - how.crowding * crowded[k] - (0 if moving[k] else how.shift))

    first = [[logits(u, i, k) for k in range(c)] for i in range(len(x))]
    near = [sorted((j for j in range(len(x)) if j != i), key=lambda j: -x[i] @ x[j])[:3] for i in range(len(x))]
    shares, q = [1 / c] * c, np.zeros((len(x), c))
    for done in range(how.rounds):
        own = [
            [(1 - how.turn) * first[i][k] + how.turn * logits(u, i, k) if moving[k] else first[i][k] for k in range(c)]
            for i in range(len(x))
        ]
        for _ in range((10 if done == 0 else 4) if how.proportion else 1):
            for i in range(len(x)):
                mixed = [
                    (1 - how.smoothing) * own[i][k] + how.smoothing * sum(own[j][k] for j in near[i]) / 3
                    for k in range(c)
                ]
                e = [np.exp(mixed[k] - max(mixed)) * shares[k] ** how.proportion for k in range(c)]
                q[i] = np.array(e) / sum(e)
            masses = [max(sum(q[i, k] for i in range(len(x))), 1e-4 * len(x) / c) for k in range(c)]
            shares = [mass / sum(masses) for mass in masses]
        sums = np.zeros_like(base)
        for k in np.flatnonzero(moving):
            sure = sum(q[:, k] ** 2) / sum(q[:, k]) if how.proportion or not how.smoothing else 1.0
            sums[k] = how.count * sure * sum(q[i, k] * (x[i] - offset) for i in range(len(x)))
        u = np.array([v / np.linalg.norm(v) for v in base + sums])
    return sums, [sum(q[:, k]) if moving[k] else 0.0 for k in range(c)]


@pytest.mark.parametrize("proportion", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rounds", [1, 3])
def test_rounds_match_the_textbook(rounds, proportion):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    described, known = rng.normal(size=(4, 5)), np.zeros((4, 5))
    known[0] = 3 * rng.normal(size=5)
    moving = np.array([False, True, True, True])
    crowded, offset = rng.random(4), 0.1 * rng.normal(size=5)
    how = AdaptationSettings(
        kappa=6.0, rounds=rounds, shift=0.2, crowding=0.3, count=0.9, proportion=proportion, turn=0.4
    )
    found = run_adaptation(x, described, known, np.arange(4)[:, None], moving, how, None, crowded, offset)
    sums, masses = slow_rounds(x, described, known, moving, how, crowded, offset)
    assert_close(found.sums, sums, SOLUTION.single)
    assert_close(found.masses, np.array(masses), SOLUTION.single)
    assert found.rounds == rounds


def test_neighbours_are_the_most_similar_rows_of_a_piece(monkeypatch):
    x = np.random.default_rng(0).normal(size=(9, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)

    def slow(start, end):
        places = range(start, end)
        return [set(sorted((j for j in places if j != i), key=lambda j: -x[i] @ x[j])[:3]) for i in places]

    assert [set(row) for row in nearest_rows(x).tolist()] == slow(0, 9)
    monkeypatch.setattr(adaptation, "PIECE", 5)
    assert [set(row) for row in nearest_rows(x).tolist()] == slow(0, 4) + slow(4, 9)
    assert nearest_rows(x[:2]).tolist() == [[1], [0]]  # there are no more


def test_a_row_between_two_classes_goes_with_those_that_are_like_it():
    """All of a group are of class 1, but one looks a little more like class 0."""
    described = np.eye(4)[:2]
    x = np.array([[0.3, 0.5, 0.8, 0.0]] * 5 + [[0.45, 0.4, 0.8, 0.0]] + [[1.0, 0.0, 0.0, 0.1]] * 6)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    how = AdaptationSettings(kappa=20.0, rounds=1)
    moving, rows = np.ones(2, dtype=bool), np.arange(2)[:, None]
    kept = run_adaptation(x, how.weight * described, 0 * described, rows, moving, how)
    assert kept.masses[1] == pytest.approx(6, abs=0.3)
    alone = run_adaptation(x, how.weight * described, 0 * described, rows, moving, replace(how, smoothing=0.0))
    assert alone.masses[1] < kept.masses[1] - 0.2  # the planted fault: each row by itself


def planted(absent):
    """Rows around directions that lie near their descriptions; no row is of an `absent` class."""
    rng = np.random.default_rng(0)
    described = np.linalg.qr(rng.normal(size=(12, 12)))[0][:8]
    true = described + 0.6 * np.linalg.qr(rng.normal(size=(12, 12)))[0][:8]
    own = np.repeat([k for k in range(8) if k not in absent], 40)
    x = true[own] + 0.3 * rng.normal(size=(len(own), 12))
    return x / np.linalg.norm(x, axis=1, keepdims=True), own, described


def test_absent_classes_get_no_mass():
    absent = [1, 4, 5, 6, 7]
    x, own, described = planted(absent)
    how = AdaptationSettings(kappa=8.0, proportion=1.0)
    moving, rows = np.ones(8, dtype=bool), np.arange(8)[:, None]
    found = run_adaptation(x, how.weight * described, 0 * described, rows, moving, how)
    assert found.masses[absent].max() < 1
    assert_close(found.masses[[0, 2, 3]], np.bincount(own)[[0, 2, 3]], 0.2)
    blind = run_adaptation(x, how.weight * described, 0 * described, rows, moving, replace(how, proportion=0.0))
    assert blind.masses[absent].max() > 1  # the planted fault: as if all were there


def test_first_scores_hold_the_rounds():
    """However many the rounds, rows that are near no class but one stay there; the newest logits alone may run away."""
    x, own, described = planted([])
    moving, rows = np.ones(8, dtype=bool), np.arange(8)[:, None]
    held = run_adaptation(
        x, 10 * described, 0 * described, rows, moving, AdaptationSettings(kappa=8.0, rounds=50, turn=0.5)
    )
    u = 10 * described + held.sums
    scores = x @ (u / np.linalg.norm(u, axis=1, keepdims=True)).T
    assert np.mean(scores.argmax(axis=1) == own) >= np.mean((x @ described.T).argmax(axis=1) == own)


def test_presence_is_the_number_of_classes_that_rows_seem_to_be_of():
    sure = 50.0 * np.eye(6)[[0, 0, 1, 1, 2, 2, 5, 5]]
    found = RowsAtHand.from_logits(sure, np.array([True] * 5 + [False]))
    assert (found.rows, found.present, found.classes) == (pytest.approx(6), pytest.approx(3), 5)
    flat = RowsAtHand.from_logits(np.zeros((8, 6)), np.ones(6, dtype=bool))
    assert (flat.rows, flat.present) == (pytest.approx(8), pytest.approx(6))


def slow_place(rows, present, classes):
    share = min(max(present / classes, 0.5 / classes), 0.98)
    return np.log(rows / present), 0.5 * (np.log(share) - np.log(1 - share))


def slow_mean(batches, hand, width):
    """Each batch weighs exp(−d² / 2·width²), d over log rows per present class and half the log odds of presence."""
    mine, weights = slow_place(*hand), []
    for batch in batches:
        place = slow_place(*batch[:3])
        weights.append(np.exp(-((place[0] - mine[0]) ** 2 + (place[1] - mine[1]) ** 2) / (2 * width**2)))
    return sum(w * batch[3] for w, batch in zip(weights, batches, strict=True)) / sum(weights), weights


def test_an_entry_is_judged_by_batches_like_the_rows():
    batches = [[64, 2.0, 10, 0.3], [64, 9.0, 10, -0.2], [500, 3.0, 10, 0.2], [500, 10.0, 10, 0.1], [450, 6.0, 10, 0.15]]
    hand = (450.0, 7.0, 12)
    gain, weights = slow_mean(batches, hand, 0.35)
    gains = [batch[3] for batch in batches]
    found = choose_entry([{**ENTRY, "batches": batches}], RowsAtHand(*hand))
    assert found["gain"] == pytest.approx(gain, rel=1e-12)
    variance = sum(w * (g - gain) ** 2 for w, g in zip(weights, gains, strict=True)) / sum(weights)
    assert found["spread"] == pytest.approx(variance**0.5, rel=1e-12)
    assert found["least"] == min(g for w, g in zip(weights, gains, strict=True) if w > 0.1 * max(weights))
    assert found["losing"] == pytest.approx(weights[1] / sum(weights), rel=1e-12)
    fewer = RowsAtHand(20.0, 10.0, 10)  # than anybody tried
    assert choose_entry([{**ENTRY, "batches": batches}], fewer) is None
    many = choose_entry([{**ENTRY, "batches": batches}], RowsAtHand(1e6, 10.0, 10))
    assert many["gain"] == pytest.approx(0.1, abs=0.1)  # as if they were as many as somebody tried
    assert is_clear_gain(choose_entry([{**ENTRY, "batches": batches[3:]}], RowsAtHand(500, 10.0, 10)))
    assert not is_clear_gain(choose_entry([{**ENTRY, "batches": batches[:2]}], RowsAtHand(64, 6.0, 10)))


@pytest.mark.parametrize(
    ("gain", "losing", "clear"),
    [(0.05, 0.04, True), (0.05, 0.06, False), (0.011, 0.0, True), (0.009, 0.0, False), (-0.05, 0.0, False)],
)
def test_a_gain_is_clear_above_a_point_and_where_hardly_any_batch_lost(gain, losing, clear):
    assert is_clear_gain({**ENTRY, "gain": gain, "losing": losing, "spread": 0.2, "least": -0.2}) == clear


def test_a_gain_of_a_version_that_kept_no_batches_is_clear_above_its_spread():
    assert is_clear_gain({**ENTRY, "gain": 0.05, "spread": 0.04})
    assert not is_clear_gain({**ENTRY, "gain": 0.05, "spread": 0.06})


def test_settings_of_earlier_versions_know_no_neighbours():
    old = {name: value for name, value in ENTRY.items() if name != "smoothing"}
    assert AdaptationSettings.from_entry(old, 4.0).smoothing == 0
    assert AdaptationSettings.from_entry(ENTRY, 4.0).smoothing == AdaptationSettings().smoothing


def test_of_settings_that_rarely_lose_the_one_that_gains_most_is_taken():
    hand, places = RowsAtHand(100.0, 5.0, 10), [[100, 5.0, 10]] * 8

    def entry(weight, gains):
        return {**ENTRY, "weight": weight, "batches": [[*one, gain] for one, gain in zip(places, gains, strict=True)]}

    first, better = entry(6.0, [0.05, 0.15] * 4), entry(15.0, [0.08, 0.17] * 4)
    luckier = entry(40.0, [-0.05] + [0.75] * 7)  # much more, and one batch in eight lost
    assert choose_entry([first, luckier], hand)["weight"] == 6.0
    assert choose_entry([first, luckier, better], hand)["weight"] == 15.0
    found = choose_entry([luckier, entry(3.0, [-0.05] * 8)], hand)  # by force, if none is safe
    assert (found["weight"], found["losing"]) == (40.0, pytest.approx(1 / 8))
    found = find_adaptation_entry({"unlabelled": {"unseen": [first, better]}}, "unseen", hand, 100, 10)
    assert found["weight"] == 15.0
    assert found["gain"] == pytest.approx(0.125, rel=1e-12)


def test_entries_of_earlier_versions_go_by_rows_per_class():
    hand = RowsAtHand(100.0, 5.0, 10)
    plain = [{**ENTRY, "per_class": per_class} for per_class in (2.0, 12.0, 40.0)]
    assert find_adaptation_entry({"unlabelled": {"unseen": plain}}, "unseen", hand, 100, 10)["per_class"] == 12.0
    assert find_adaptation_entry(None, "unseen", hand, 100, 10) is None


def test_fewer_rows_than_classes_can_be_used(toy, model):
    assert with_validation(model, per_class=0.5).adapt(toy.X_new[:1]).adaptation_["rows"] == 1
    assert with_validation(model).adapt(toy.X_new[:1], force=True).adaptation_["rows"] == 1


def test_rows_and_descriptions_in_other_places_are_brought_together(toy):
    """With plain cosine rows may share a part that descriptions lack: it must not speak for the classes that move."""
    rng = np.random.default_rng(0)
    table = toy.table.to_numpy() @ rng.normal(size=(4, toy.X.shape[1]))
    model = ClassMeansClassifier(prior="cosine", feature_scaling="l2").fit(
        toy.X, toy.y, dict(zip(toy.table.index, table, strict=True))
    )
    unit = [row / np.linalg.norm(row) for row in model.class_means_]
    seen = [table[list(toy.table.index).index(label)] for label in model.seen_classes_]
    expected = np.mean(unit, axis=0) - np.mean([row / np.linalg.norm(row) for row in seen], axis=0)
    assert_close(model._row_offset(np.empty(0)), expected, SOLUTION.single)
    assert ClassMeansClassifier().fit(toy.X, toy.y, toy.table)._row_offset(np.empty(0)) is None


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
    assert after.adapted_classes_ == ["bee", "emu"]
    assert after.adaptation_["candidates"] == "all"
    assert after.adaptation_["rows"] == len(both)
    assert set(after.adaptation_["masses"]) == {"emu", "bee"}
    assert isinstance(after.adaptation_["converged"], bool)
    assert after.adaptation_["smoothing"] == 0.7


def test_as_many_rows_stay_with_unseen_classes(toy, model, tmp_path):
    """By a constant of these rows, which a second pass, a file and a lesson keep; validation classes say another."""
    both = np.concatenate([toy.X, toy.X_new])
    model.calibration_, model.temperatures_ = 0.05, {"seen": 1.0, "unseen": 1.0, "mixed": 1.0}
    model = with_validation(model, calibration=0.4, share=2.0)  # a planted fault, if it were used
    after = model.adapt(both, "all")

    def unseen_answers(one):
        return int(np.isin(one.predict(both), ["bee", "emu"]).sum())

    assert 0 < unseen_answers(model) < len(both)
    assert unseen_answers(after) == unseen_answers(model)
    assert unseen_answers(after.adapt(both, "all")) == unseen_answers(model)
    after.save(tmp_path / "adapted.zskl")
    assert load(tmp_path / "adapted.zskl").calibration_ == after.calibration_
    taught = after.add_examples(toy.X[:1], toy.y[:1])
    assert taught.calibration_ == pytest.approx(after.calibration_, rel=1e-12)
    after.calibration_ += 0.2
    assert unseen_answers(after) != unseen_answers(model)


def test_the_matching_constant_is_half_way_between_two_rows():
    before, after = np.array([0.3, -0.1, 0.2, 0.5]), np.array([1.0, 4.0, 2.0, 3.0])
    assert match_constant(before, 0.25, after) == 2.5
    assert match_constant(before, 0.2, after) == 2.5  # an equal score goes to the unseen class
    assert match_constant(before, -1.0, after) < 1.0
    assert match_constant(before, 9.0, after) > 4.0


def test_row_order_does_not_matter(toy, model):
    order = np.random.default_rng(0).permutation(len(toy.X_new))
    one, other = (with_validation(model).adapt(rows) for rows in (toy.X_new, toy.X_new[order]))
    assert_close(one.compatibility(toy.X_new), other.compatibility(toy.X_new), SOLUTION.single)


def test_a_second_adaptation_replaces_the_first(toy, model):
    once = with_validation(model).adapt(toy.X_new)
    assert np.array_equal(once.adapt(toy.X_new).compatibility(toy.X), once.compatibility(toy.X))


def test_rows_of_a_stream_that_are_handed_over_again_end_where_one_pass_does(toy, model):
    """Each time all that have come so far: nothing of the models before is left. Only the last piece would not do."""
    far = with_validation(model)
    for end in (2, 4, len(toy.X_new)):
        far = far.adapt(toy.X_new[:end], force=True)
    once = with_validation(model).adapt(toy.X_new)
    assert np.array_equal(far.compatibility(toy.X), once.compatibility(toy.X))
    piece = far.adapt(toy.X_new[4:], force=True)
    assert not np.array_equal(piece.compatibility(toy.X), once.compatibility(toy.X))


def test_adapting_needs_a_clear_gain_or_force(toy, model):
    with pytest.raises(NoClearGain, match=r"5 unlabelled rows for each candidate .* nobody has tried any"):
        model.adapt(toy.X_new)
    for change, sentence in (
        ({"gain": 0.01}, r"promise \+1.0 points ± 1.0"),
        ({"spread": 0.2}, r"3.0 at worst"),
        ({"per_class": 40.0}, "nobody has tried as few"),
    ):
        with pytest.raises(NoClearGain, match=sentence):
            with_validation(model, **change).adapt(toy.X_new)
        assert with_validation(model, **change).adapt(toy.X_new, force=True).adapted_classes_ == ["bee", "emu"]


def weights_of(model, labels):
    question = model._question(np.empty((0, model.n_features_in_), np.float32), model.signature_table_.select(labels))
    return dict(zip(question.labels.tolist(), model._evidence(question).weights[question.rows[:, 0]], strict=True))


def test_beside_rows_a_description_with_examples_weighs_what_it_is_worth_beside_these(toy, model):
    taught = model.add_examples(toy.X_new[:1], ["bee"])
    after = taught.adapt(toy.X_new, force=True)
    weights = weights_of(after, ["bee", "emu"])
    assert weights == {"bee": weights_of(taught, ["bee"])["bee"], "emu": AdaptationSettings().weight}
    assert weights["bee"] != weights["emu"]
    # It adapted with the same weights: the next round from there turns hardly anything.
    assert after.adaptation_["converged"]


def test_untried_descriptions_in_an_unwhitened_space_count_more():
    rng = np.random.default_rng(0)
    S, own = rng.normal(size=(8, 12)) + 2.0, np.repeat(np.arange(8), 6)
    true = S + rng.normal(size=(8, 12))  # far from what descriptions say
    X, names = true[own] + 0.5 * rng.normal(size=(48, 12)), np.array([f"class {k}" for k in range(8)])
    table = dict(zip(names, S, strict=True))
    model = ClassMeansClassifier(prior="cosine", feature_scaling="l2").fit(X[:36], names[own[:36]], table)
    worth = model._left_out_classes().description_worth(model.shrinkage_)
    assert worth < 2.0
    assert model._description_worth(1) == 2.0
    taught = model.add_examples(X[36:38], names[own[36:38]])
    after = taught.adapt(X[36:], force=True)
    assert set(weights_of(after, names[6:]).values()) == {AdaptationSettings().weight}
    tried = {"factor": 1.0, "refined": True, "shrinkage": model.shrinkage_, "crowding": 0.0, "calibration": 0.0}
    model.practice_ = {"examples": {"1": {**tried, "temperatures": None}}}
    assert model._description_worth(1) == worth


def test_unusable_rows_are_refused_and_the_model_stays(toy, model):
    before = model.compatibility(toy.X)
    for X, options, sentence in (
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
