"""The calibration constant is the best of all constants, over all folds together."""

import json

import numpy as np
import pytest

from small_search import FOLDS, ROWS_APART, TRAINING, by_hand, estimator
from textbook import random_scores, slow_accuracies
from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier, Committee, baselines, datasets, metrics, protocols, selection
from zskl.estimators._class_means_adapt import AdaptationSettings, Trial
from zskl.methods import build, load
from zskl.metrics.seen_unseen import row_margins
from zskl.selection import calibration
from zskl.selection.calibration import _judge_fold
from zskl.selection.class_folds import prepare_material
from zskl.selection.search_results import best_constant

# Calibration ----------------------------------------------------------------------------------------------------------


def test_calibrating_a_fitted_model_finds_the_constant_of_the_search(found):
    place = 0
    model = estimator(**found.settings[place]).fit(*TRAINING)
    selection.calibrate(model, *TRAINING, FOLDS)
    hand = [by_hand(found.settings[place], fold)[1:] for fold in FOLDS]
    reached = np.mean([metrics.harmonic_mean(*slow_accuracies(*one, model.calibration_)) for one in hand])
    assert reached == pytest.approx(found.gzsl[place].mean(), abs=ROWS_APART)  # equally good, if not the same
    assert found.raw[place].mean() < found.gzsl[place].mean() - ROWS_APART  # no constant would be noticed
    assert set(model.temperatures_) == {"seen", "unseen", "mixed"}
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


def test_the_constant_is_zero_if_no_answer_is_right():
    scores = np.array([[0.0, 1.0, 0.2, 0.1], [0.3, 0.1, 0.9, 0.2]])
    constant, harmonic = best_constant([row_margins(scores, np.array([1, 3]), np.array([True, True, False, False]))])
    assert (constant, harmonic.tolist()) == (0.0, [0.0])


@pytest.mark.parametrize("seed", range(5))
def test_the_constant_is_the_best_of_all_for_all_folds_together(seed):
    cases = [random_scores(10 * seed + k, n=40) for k in range(3)]
    constant, harmonic = best_constant([row_margins(*case) for case in cases])
    reached = [metrics.harmonic_mean(*slow_accuracies(*case, constant)) for case in cases]
    np.testing.assert_allclose(harmonic, reached, atol=1e-12)
    for other in np.arange(-6, 6, 0.05) + 0.013:
        assert (
            np.mean(reached)
            >= np.mean([metrics.harmonic_mean(*slow_accuracies(*case, other)) for case in cases]) - 1e-12
        )


def test_one_fold_agrees_with_the_curve():
    scores, own, is_seen = random_scores(1)
    curve = metrics.seen_unseen_curve(scores, own, np.arange(7), is_seen)
    assert best_constant([row_margins(scores, own, is_seen)])[1][0] == pytest.approx(curve.best()[1])


def test_the_constant_fits_any_scale_of_scores():
    cases = [random_scores(k) for k in range(3)]
    constant, harmonic = best_constant([row_margins(*case) for case in cases])
    for scale in (1e-6, 1e6):
        other, same = best_constant([row_margins(scores * scale, own, seen) for scores, own, seen in cases])
        assert other == pytest.approx(constant * scale)
        np.testing.assert_allclose(same, harmonic)


def test_no_row_is_ever_right():
    scores = np.array([[1.0, 0.0, 0.0, 0.0]])
    assert best_constant([row_margins(scores, np.array([1]), np.array([True, True, False, False]))])[0] == 0.0


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


# Practice -------------------------------------------------------------------------------------------------------------
# What folds say about examples and unlabelled rows equals what the model's own methods do there.


@pytest.fixture(scope="module")
def data():
    return datasets.make_synthetic(n_seen=12, n_unseen=4, n_features=12, noise=1.2)


@pytest.fixture(scope="module")
def fold(data):
    """A fold's bench, its model, validation rows, their classes, and the classes of the columns."""
    X, y = data.samples("trainval")
    estimator = ClassMeansClassifier(shrinkage=0.4, crowding_share=0.05)
    shared = prepare_material(estimator, X, y, data.signatures, selection.folds(data))
    rows = np.concatenate([shared.folds[0].val_seen, shared.folds[0].val_unseen])
    train = shared.folds[0].train
    model = ClassMeansClassifier(**estimator.get_params()).fit(X[train], y[train], data.signatures.loc[np.unique(y)])
    return _judge_fold(shared, 0).bench, model, X[rows], y[rows], np.unique(y)


def test_trials_score_as_taught_models_do(fold):
    bench, model, X, y, classes = fold
    given = calibration.draw_examples(bench, 2, 0)
    assert np.bincount(bench.own[given])[bench.new].tolist() == [2] * len(bench.new)
    taught = model.add_examples(X[given], y[given])
    left = np.setdiff1d(np.arange(len(y)), given)
    found = Trial(bench, calibration.sum_example_rows(bench, given), left).scores(2.0, bench.crowding, firm=True)
    assert_close(found, taught.compatibility(X[left], candidates=classes), SOLUTION.single)


def test_another_shrinkage_is_another_fit(data, fold):
    bench, model, X, _, classes = fold
    other = ClassMeansClassifier(**{**model.get_params(), "shrinkage": 0.1})
    folds = selection.folds(data)
    rows, labels = data.samples("trainval")
    other.fit(rows[folds[0].train], labels[folds[0].train], data.signatures.loc[classes])
    at = bench.at(0.1)
    assert_close(at.x @ at.known[bench.seen].T, other._hat(other._scale_rows(X)) @ other.class_sums_.T, SOLUTION.single)


def test_adapting_a_bench_is_adapting_the_model(fold):
    bench, model, X, _, classes = fold
    how = AdaptationSettings(weight=3.0, kappa=30.0, rounds=2)
    unseen = classes[bench.new]
    part = bench.held_out()
    found = part.scores(how.weight, 0.0, part.adapted(how).sums)
    entry = {
        "per_class": len(bench.new_rows) / len(bench.new),
        "gain": 1.0,
        "spread": 0.0,
        **{name: getattr(how, name) for name in vars(how)},
    }
    said = {"least": 1.0, "calibration": 0.0, "temperatures": None}
    model.practice_ = {"unlabelled": {"unseen": [{**entry, **said}]}}
    rows = X[bench.new_rows]
    after = model.adapt(rows, unseen.tolist())
    assert_close(found, after.compatibility(rows, candidates=unseen), SOLUTION.single)


def test_thinned_rows_are_at_most_so_many_of_each_class(fold):
    bench = fold[0]
    thin = calibration.thin_rows(bench, 3)
    assert np.bincount(thin.own).max() == 3
    assert calibration.thin_rows(bench, 10**6) is bench


def test_calibrate_stores_what_the_folds_say_and_it_is_json(data):
    X, y = data.samples("trainval")
    model = ClassMeansClassifier().fit(X, y, data.signatures)
    selection.calibrate(model, X, y, data.signatures)
    said = json.loads(json.dumps(model.practice_))
    assert said == model.practice_
    assert set(said["examples"]) <= {"1", "2", "5", "10"}
    assert {"weight", "shrinkage", "crowding", "calibration", "temperatures", "zsl"} <= set(said["examples"]["1"])
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


def test_what_does_not_tell_classes_apart_is_said_once(caplog):
    """Of the model itself, not once more for each number of examples or unlabelled rows that was tried."""
    data = datasets.make_synthetic(n_seen=8, n_unseen=2, n_features=6, noise=0.5)
    X, y = data.samples("trainval")
    mistaken = data.signatures.sample(frac=1, random_state=3).set_axis(data.signatures.index)
    model = ClassMeansClassifier().fit(X, y, mistaken)
    selection.calibrate(model, X, y, mistaken)
    said = [one for one in caplog.messages if "among unseen classes will be nearly equal" in one]
    assert len(said) == 1
