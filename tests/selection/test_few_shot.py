"""What folds say about examples and unlabelled rows equals what the model's own methods do there."""

import json

import numpy as np
import pytest

from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier, datasets, selection
from zskl.estimators._class_means_adapt import AdaptationSettings, Trial
from zskl.selection import few_shot
from zskl.selection.calibration import score_fold
from zskl.selection.class_folds import prepare_fold_data


@pytest.fixture(scope="module")
def data():
    return datasets.make_synthetic(n_seen=12, n_unseen=4, n_features=12, noise=1.2)


@pytest.fixture(scope="module")
def fold(data):
    """A fold's bench, its model, validation rows, their classes, and the classes of the columns."""
    X, y = data.samples("trainval")
    estimator = ClassMeansClassifier(shrinkage=0.4, crowding_share=0.05)
    shared = prepare_fold_data(estimator, X, y, data.signatures, selection.folds(data))
    rows = np.concatenate([shared.folds[0].val_seen, shared.folds[0].val_unseen])
    train = shared.folds[0].train
    model = ClassMeansClassifier(**estimator.get_params()).fit(X[train], y[train], data.signatures.loc[np.unique(y)])
    return score_fold(shared, 0)[1], model, X[rows], y[rows], np.unique(y)


def test_trials_score_as_taught_models_do(fold):
    bench, model, X, y, classes = fold
    given = few_shot.draw_examples(bench, 2, 0)
    assert np.bincount(bench.own[given])[bench.new].tolist() == [2] * len(bench.new)
    taught = model.add_examples(X[given], y[given])
    left = np.setdiff1d(np.arange(len(y)), given)
    found = Trial(bench, few_shot.sum_rows(bench, given, bench.own[given]), left).scores(2.0, bench.crowding, firm=True)
    assert_close(found, taught.compatibility(X[left], candidates=classes), SOLUTION.single)


def test_another_shrinkage_is_another_fit(data, fold):
    bench, model, X, _, classes = fold
    other = ClassMeansClassifier(**{**model.get_params(), "shrinkage": 0.1})
    folds = selection.folds(data)
    rows, labels = data.samples("trainval")
    other.fit(rows[folds[0].train], labels[folds[0].train], data.signatures.loc[classes])
    at = bench.at(0.1)
    assert_close(at.x @ at.known[bench.seen].T, other._hat(other._scaled(X)) @ other.class_sums_.T, SOLUTION.single)


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
    thin = few_shot.thin_rows(bench, 3)
    assert np.bincount(thin.own).max() == 3
    assert few_shot.thin_rows(bench, 10**6) is bench


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
