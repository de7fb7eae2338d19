"""The calibration of a model: the best constant, the likeliest temperatures, and what folds say about examples."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from small_search import DATA, FOLDS, ROWS_APART, TRAINING, by_hand, estimator
from textbook import slow_accuracies
from tolerances import FORMULA, SOLUTION, assert_close
from zskl import ClassMeansClassifier, Committee, baselines, datasets, metrics, protocols, selection
from zskl.estimators import _class_means_adapt as adaptation
from zskl.estimators._candidates import UncalibratedWarning
from zskl.estimators._class_means_adapt import AdaptationSettings, TaughtScores, sum_by_class
from zskl.methods import build, load
from zskl.selection import calibration
from zskl.selection.calibration import score_fold
from zskl.selection.class_folds import prepare_fold_data


def test_calibrating_a_fitted_model_finds_the_constant_of_the_search(found):
    place = 0
    model = estimator(**found.settings[place]).fit(*TRAINING)
    selection.calibrate(model, *TRAINING, FOLDS)
    hand = [by_hand(found.settings[place], fold)[1:] for fold in FOLDS]
    reached = np.mean([metrics.harmonic_mean(*slow_accuracies(*one, model.calibration_)) for one in hand])
    assert reached == pytest.approx(found.gzsl[place].mean(), abs=ROWS_APART)  # equally good, if not the same
    assert found.raw[place].mean() < found.gzsl[place].mean() - ROWS_APART  # no constant would be noticed
    assert set(model.temperatures_) == {"seen", "unseen", "mixed", "mixed_seen", "mixed_unseen"}
    again = load_after_save(model)
    assert again.temperatures_ == model.temperatures_
    assert again.calibration_ == model.calibration_


def load_after_save(model):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.zskl")
        return load(Path(folder) / "m.zskl")


def test_calibration_lifts_the_harmonic_mean_on_digits():
    data = datasets.load("digits")
    rows = data.parts["trainval"]
    model = build("gaussian-ort", {"random_state": 0}).fit(data.X[rows], data.y[rows], data.signatures)
    selection.calibrate(model, data.X[rows], data.y[rows], data.signatures, selection.folds(data))
    raw, calibrated = protocols.gzsl(model, data), protocols.gzsl(model, data, calibration="model")
    assert calibrated.harmonic > raw.harmonic + 0.05
    assert calibrated.calibration == model.calibration_


def test_one_row_per_class_cannot_be_calibrated():
    """No row is left to tell how seen classes do: refused before any training, and the sentence says why."""
    X, y = np.random.default_rng(0).normal(size=(8, 4)), np.arange(8)
    model = estimator().fit(X, y, np.eye(8))
    for call in (
        lambda: selection.calibrate(model, X, y, np.eye(8)),
        lambda: selection.tune(estimator(), X, y, np.eye(8), {}, scoring="gzsl", engine=None),
    ):
        with pytest.raises(ValueError, match="every class has a single training row"):
            call()
    assert selection.tune(estimator(), X, y, np.eye(8), {}, engine=None).model.calibration_ == 0.0


@pytest.mark.parametrize("committee", [False, True])
def test_calibrating_a_taught_model_keeps_what_it_was_taught_in_the_constant(committee):
    """It ends where a model ends that was calibrated first; so does one that was adapted to unlabelled rows."""
    data = datasets.make_synthetic(n_seen=12, n_unseen=4, n_features=12, noise=1.2)
    training, (rows, labels) = (*data.samples("trainval"), data.signatures), data.samples("test_unseen")
    means = ClassMeansClassifier()
    model = Committee([("means", means), ("eszsl", baselines.ESZSL())]) if committee else means
    plain = model.fit(*training).add_examples(rows[:1], labels[:1])
    untried = plain.remove_examples().adapt(rows, force=True)
    first = selection.calibrate(model, *training).add_examples(rows[:1], labels[:1])
    then = selection.calibrate(plain, *training)
    assert (then.calibration_, then.temperatures_) == (first.calibration_, first.temperatures_)
    assert first.calibration_ != model.calibration_
    assert then.remove_examples().calibration_ == model.calibration_
    assert selection.calibrate(untried, *training).calibration_ == model.calibration_


@pytest.fixture(scope="module")
def calibrated():
    return selection.calibrate(estimator(sigma=1.0, learning_rate=1e-3).fit(*TRAINING), *TRAINING, FOLDS)


def test_the_temperature_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    folds = [(rng.normal(size=(200, 6)), rng.integers(0, 6, 200)) for _ in range(2)]
    for scores, own in folds:
        scores[np.arange(200), own] += 1.0

    def loss(t):
        return np.mean(
            [np.mean(-np.log(np.exp(s / t)[np.arange(200), o] / np.exp(s / t).sum(axis=1))) for s, o in folds]
        )

    t = calibration.fit_temperature(folds)
    assert all(loss(t) <= loss(t * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2))
    assert calibration.fit_temperature([(1e-3 * s, o) for s, o in folds]) == pytest.approx(1e-3 * t, rel=1e-3)


def test_a_side_that_is_often_wrong_gets_its_own_temperature():
    """Rows of two seen and two unseen classes; where an unseen class answers, half of the answers are wrong."""
    draw = np.random.default_rng(0)
    own = np.arange(4).repeat(100)
    seen = np.array([True, True, False, False])
    scores = 0.1 * draw.standard_normal((400, 4))
    named = np.where((own > 1) & (np.arange(400) % 2 == 0), 5 - own, own)  # every other unseen row: the other class
    scores[np.arange(400), named] += 1
    one = calibration.fit_calibration([(scores, own, seen)], 0.0)["temperatures"]
    assert one["mixed_seen"] < 0.5 * one["mixed"] < one["mixed"] < one["mixed_unseen"]
    weights, chosen = calibration._balance_sides(own, seen), seen[scores.argmax(axis=1)]
    (found,) = calibration._prefer_rows([weights], [chosen])
    slow = [w if mine else w * 10 / (10 + 200) for w, mine in zip(weights, chosen, strict=True)]
    np.testing.assert_allclose(found, slow, rtol=1e-12)
    (none,) = calibration._prefer_rows([weights], [np.zeros(400, bool)])
    np.testing.assert_allclose(none, weights, rtol=1e-12)  # then it is the temperature of all rows


def test_scores_that_tell_nothing_have_temperature_one():
    assert calibration.fit_temperature([(np.zeros((4, 3)), np.zeros(4, dtype=int))]) == 1.0
    assert calibration.fit_temperature([(np.zeros((0, 3)), np.zeros(0, dtype=int))]) == 1.0


def test_probabilities_are_the_softmax_of_scores_over_the_fitted_temperature(calibrated):
    X = DATA.X[DATA.parts["test_unseen"]]
    cases = {"seen": DATA.seen_classes, "unseen": DATA.unseen_classes, "mixed": DATA.class_names}
    for (situation, candidates), constant in itertools.product(cases.items(), (True, False)):  # without it the same T
        scores = calibrated.compatibility(X, candidates=candidates).astype(np.float64)
        if situation == "mixed" and constant:
            scores -= calibrated.calibration_ * np.isin(candidates, DATA.seen_classes)
        T = np.full(len(candidates), calibrated.temperatures_[situation])
        if situation == "mixed":
            names = ["mixed_seen" if one in DATA.seen_classes else "mixed_unseen" for one in candidates]
            T = np.array([calibrated.temperatures_[name] for name in names])
            assert len(set(T.tolist())) == 2
        exponents = scores / T[scores.argmax(axis=1)][:, None]  # the rounding of each is a relative error of exp
        e = np.exp(exponents)
        found = calibrated.predict_proba(X, candidates=candidates, calibrated=constant)
        assert_close(found, e / e.sum(axis=1, keepdims=True), FORMULA.single * np.abs(exponents).max())
        np.testing.assert_array_equal(
            np.asarray(candidates)[found.argmax(axis=1)],
            calibrated.predict(X, candidates=candidates, calibrated=constant),
        )


def test_rows_below_the_threshold_are_unknown(calibrated):
    X = DATA.X[DATA.parts["test_unseen"]]
    best = calibrated.predict_proba(X, candidates=calibrated.candidates_).max(axis=1)
    plain = calibrated.predict(X)
    for threshold in (0.0, float(np.median(best)), 1.0):
        answers = calibrated.predict(X, min_probability=threshold)
        np.testing.assert_array_equal(answers == "unknown", best < threshold)
        np.testing.assert_array_equal(answers[best >= threshold], plain[best >= threshold])
    for wrong in (-0.1, 1.5, True, "half"):
        with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
            calibrated.predict(X, min_probability=wrong)


def test_uncalibrated_probabilities_come_with_a_warning():
    model = estimator().fit(*TRAINING)
    with pytest.warns(UncalibratedWarning, match=r"selection\.tune"):
        found = model.predict_proba(DATA.X[:5])
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


def test_confidence_of_both_protocols(calibrated):
    for protocol, parts, candidates in (
        ("zsl", ["test_unseen"], DATA.unseen_classes),
        ("gzsl", ["test_seen", "test_unseen"], DATA.class_names),
    ):
        rows = np.concatenate([DATA.parts[part] for part in parts])
        p = calibrated.predict_proba(DATA.X[rows], candidates=candidates)
        right = np.asarray(candidates)[p.argmax(axis=1)] == DATA.y[rows]
        found = protocols.confidence(calibrated, DATA, protocol)
        assert found.ece == pytest.approx(metrics.expected_calibration_error(p.max(axis=1), right), abs=1e-6)
        assert found.accuracy == pytest.approx(right.mean())
        assert found.coverage[0][1:] == (1.0, pytest.approx(right.mean()))
        assert found.as_dict()["coverage"][0] == [0.0, 1.0, pytest.approx(right.mean())]
        new = np.isin(np.asarray(candidates)[p.argmax(axis=1)], DATA.unseen_classes)
        for error, side in ((found.ece_seen, ~new), (found.ece_unseen, new)):
            expected = metrics.expected_calibration_error(p.max(axis=1)[side], right[side]) if side.any() else None
            assert error == (pytest.approx(expected, abs=1e-6) if protocol == "gzsl" else None)
    with pytest.raises(ValueError, match="expected 'zsl' or 'gzsl'"):
        protocols.confidence(calibrated, DATA, "both")


@pytest.fixture(scope="module")
def data():
    return datasets.make_synthetic(n_seen=12, n_unseen=4, n_features=12, noise=1.2)


@pytest.fixture(scope="module")
def fold(data):
    """A fold's trial, its model, validation rows, their classes, and the classes of the columns."""
    X, y = data.samples("trainval")
    estimator = ClassMeansClassifier(shrinkage=0.4, crowding_share=0.05)
    shared = prepare_fold_data(estimator, X, y, data.signatures, selection.folds(data))
    rows = np.concatenate([shared.folds[0].val_seen, shared.folds[0].val_unseen])
    train = shared.folds[0].train
    model = ClassMeansClassifier(**estimator.get_params()).fit(X[train], y[train], data.signatures.loc[np.unique(y)])
    return score_fold(shared, 0)[1], model, X[rows], y[rows], np.unique(y)


def test_trials_score_as_taught_models_do(fold):
    trial, model, X, y, classes = fold
    given = calibration.draw_examples(trial, 2, 0)
    assert np.bincount(trial.own[given])[trial.new].tolist() == [2] * len(trial.new)
    taught = model.add_examples(X[given], y[given])
    left = np.setdiff1d(np.arange(len(y)), given)
    added, weights = trial.learn_examples(given, 1.0), trial.example_weights(1.0)
    assert weights[trial.new].min() > 0
    plain = sum_by_class(trial.x[given], trial.own[given], len(trial.seen))
    assert np.linalg.norm(added - plain) > 0.01 * np.linalg.norm(plain)  # examples are told apart
    found = TaughtScores(trial, weights, added, left).scores(trial.crowding)
    assert_close(found, taught.compatibility(X[left], candidates=classes), SOLUTION.single)


def test_another_shrinkage_is_another_fit(data, fold):
    trial, model, X, _, classes = fold
    other = ClassMeansClassifier(**{**model.get_params(), "shrinkage": 0.1})
    folds = selection.folds(data)
    rows, labels = data.samples("trainval")
    other.fit(rows[folds[0].train], labels[folds[0].train], data.signatures.loc[classes])
    at = trial.with_shrinkage(0.1)
    assert_close(
        at.x @ at.known[trial.seen].T,
        other._row_directions(other._scale_rows(X)) @ other.class_sums_.T,
        SOLUTION.single,
    )


def test_adapting_validation_rows_equals_adapting_the_model(fold):
    trial, model, X, _, classes = fold
    how = AdaptationSettings(weight=3.0, kappa=30.0, rounds=2)
    unseen = classes[trial.new]
    part = trial.select_held_out()
    found = part.scores(how.weight, 0.0, part.adapt(how).sums)
    entry = {
        "per_class": len(trial.new_rows) / len(trial.new),
        "gain": 1.0,
        "spread": 0.0,
        **{name: getattr(how, name) for name in vars(how)},
    }
    said = {"least": 1.0, "calibration": 0.0, "temperatures": None}
    model.practice_ = {"unlabelled": {"unseen": [{**entry, **said}]}}
    rows = X[trial.new_rows]
    after = model.adapt(rows, unseen.tolist())
    assert_close(found, after.compatibility(rows, candidates=unseen), SOLUTION.single)


def test_only_a_gain_beyond_chance_changes_the_settings():
    own, better, luckier = (0.5, 1.0, 0.2), (0.5, 2.0, 0.2), (0.5, 4.0, 0.2)
    before = np.array([0.5, 0.6, 0.7])
    assert calibration._best_beyond_chance({own: before, better: before + np.array([0.02, 0.02, 0.01])}) == better
    assert calibration._best_beyond_chance({own: before, luckier: np.array([0.9, 0.5, 0.5])}) == own
    assert calibration._best_beyond_chance({own: before}) == own


def test_batches_are_of_few_some_and_all_held_out_classes(fold):
    trial = fold[0]
    part = trial.select_held_out()
    drawn = calibration._draw_batches(part, 0)
    there = [len(np.unique(batch.own)) for batch in drawn]
    assert max(there[:2]) <= calibration.FEW_CLASSES
    assert there[-1] == len(np.unique(part.own))
    assert all(len(batch.own) <= size for batch, size in zip(drawn[:8], [64] * 8, strict=True))
    assert len(drawn[-1].own) == len(part.own)  # all rows, as many as each class has
    rows_of = np.bincount(drawn[-2].own, minlength=len(part.seen))
    assert rows_of.min() >= 1  # all classes are there in the last but one too, in shares of which
    full = rows_of / np.bincount(part.own, minlength=len(part.seen))
    assert full.max() == 1  # the largest has all of its rows
    assert full.min() < 0.5
    again = calibration._draw_batches(part, 0)
    assert all(np.array_equal(one.x, other.x) for one, other in zip(drawn, again, strict=True))
    for batch in calibration._draw_batches(trial, 0):
        seen = np.mean(batch.seen[batch.own])
        assert 0 < seen < 1


def test_an_entry_holds_the_gain_of_each_batch(fold):
    """The twin: batch by batch and row by row, the share of right answers after less that before."""
    trial = fold[0]
    entries = calibration._try_batches([trial, trial], "unseen")
    names = ("weight", "proportion", "shrinkage", "balance", "smoothing")
    settings = np.array([[entry[name] for name in names] for entry in entries])
    assert settings / [1, 1, trial.shrinkage, 1, 1] == pytest.approx(np.array(calibration.ADAPTATIONS))
    kept = trial.kept[:: max(1, len(trial.kept) // calibration.BATCH_KEPT_ROWS)]
    part = replace(trial.select_held_out(), kept=kept)
    entry = entries[3]
    assert entry["shrinkage"] == trial.shrinkage
    how = AdaptationSettings(**{name: entry[name] for name in AdaptationSettings.__dataclass_fields__})
    expected = []
    for batch in calibration._draw_batches(part, 0):
        before, after = (
            batch.scores(weight, batch.crowding, added)
            for weight, added in ((2.0, None), (how.weight, batch.adapt(how).sums))
        )
        right = [
            (np.argmax(new) == own) * 1.0 - (np.argmax(old) == own)
            for old, new, own in zip(before, after, batch.own, strict=True)
        ]
        expected.append((len(batch.own), sum(right) / len(right)))
    found = [(rows, gain) for rows, _, _, gain in entry["batches"][: len(expected)]]
    assert np.array(found) == pytest.approx(np.array(expected), rel=1e-5, abs=1e-9)
    gains = [gain for *_, gain in entry["batches"]]
    assert (entry["gain"], entry["least"]) == (pytest.approx(np.mean(gains)), min(gains))


def test_thinned_rows_are_at_most_so_many_of_each_class(fold):
    trial = fold[0]
    thin = calibration.thin_rows(trial, 3)
    assert np.bincount(thin.own).max() == 3
    assert calibration.thin_rows(trial, 10**6) is trial


def test_examples_are_told_apart_unless_that_clearly_costs(fold):
    trials = [calibration.thin_rows(fold[0], calibration.ENOUGH)]
    entry = calibration._try_examples(trials, 5, (trials[0].shrinkage,))
    factor, gains = entry["factor"], []
    for trial in (one.select_held_out() for one in trials):
        for draw in range(calibration.DRAWS):
            given = calibration.draw_examples(trial, 5, draw)
            left = np.setdiff1d(np.arange(len(trial.own)), given)
            plain, told_apart = (
                trial.accuracy(
                    calibration.TaughtScores(
                        trial, trial.example_weights(factor), trial.learn_examples(given, factor, refine), left
                    ).scores(entry["crowding"]),
                    left,
                )
                for refine in (False, True)
            )
            gains.append(told_apart - plain)
    assert entry["refined"] == (np.mean(gains) >= -np.std(gains, ddof=1) / np.sqrt(len(gains)))
    # A planted fault: steps that only mislead are refused.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptation, "REFINING_STEP", -5.0)
        assert not calibration._try_examples(trials, 5, (trials[0].shrinkage,))["refined"]


def test_calibrate_stores_what_the_folds_say_and_it_is_json(data):
    X, y = data.samples("trainval")
    model = ClassMeansClassifier().fit(X, y, data.signatures)
    selection.calibrate(model, X, y, data.signatures)
    said = json.loads(json.dumps(model.practice_))
    assert said == model.practice_
    assert set(said["examples"]) <= {"1", "2", "5", "10", "20"}
    assert {"factor", "shrinkage", "crowding", "refined", "calibration", "temperatures", "zsl"} <= set(
        said["examples"]["1"]
    )
    for entries in said["unlabelled"].values():
        assert all({"gain", "spread", "least", "per_class", "rounds"} <= set(entry) for entry in entries)


def test_test_rows_never_change_what_is_chosen(data):
    def chosen(dataset):
        rows, labels = dataset.samples("trainval")
        model = ClassMeansClassifier().fit(rows, labels, dataset.signatures)
        return selection.calibrate(model, rows, labels, dataset.signatures, selection.folds(dataset)).practice_

    noisy = data.X.copy()
    for part in ("test_seen", "test_unseen"):
        noisy[data.parts[part]] = np.random.default_rng(0).normal(size=noisy[data.parts[part]].shape)
    other = datasets.Dataset(data.name, noisy, data.y, data.signatures, dict(data.parts))
    assert chosen(other) == chosen(data)


def test_flat_probabilities_are_logged_once(caplog):
    """Of the model itself, not once more for each number of examples or unlabelled rows that was tried."""
    data = datasets.make_synthetic(n_seen=8, n_unseen=2, n_features=6, noise=0.5)
    X, y = data.samples("trainval")
    mistaken = data.signatures.sample(frac=1, random_state=3).set_axis(data.signatures.index)
    model = ClassMeansClassifier().fit(X, y, mistaken)
    selection.calibrate(model, X, y, mistaken)
    said = [one for one in caplog.messages if "among unseen classes will be nearly equal" in one]
    assert len(said) == 1
