"""What a fit tells while it runs: its history, the callback, monitored rows."""

import numpy as np
import pytest

from fits import DATA, KERNEL_METHODS, ONE_ROW, ROWS, TRAINING, UNSEEN, estimator, fitted
from zskl import datasets, metrics, protocols
from zskl.methods import build


@pytest.mark.parametrize("name", KERNEL_METHODS)
def test_the_objective_of_each_iteration_is_kept_and_falls(name):
    model = build(name, {"random_state": 0}).fit(*TRAINING)
    objective = model.history_.objective
    assert objective.shape == (model.epochs * (len(ROWS) // model.batch_size),)
    assert objective[-12:].mean() < objective[:12].mean()
    assert model.history_.accuracy == {}


def test_the_callback_sees_the_run():
    steps = []
    model = estimator().fit(*TRAINING, callback=steps.append)
    assert [now.step for now in steps] == list(range(1, 37))
    assert [now.step for now in steps if now.epoch_ends] == [12, 24, 36]
    np.testing.assert_array_equal(steps[-1].projection[0], model.projection_)
    np.testing.assert_array_equal([now.objective[0] for now in steps], model.history_.objective)
    np.testing.assert_array_equal(model.projection_, fitted().projection_)


def test_a_callback_that_raises_ends_the_fit_and_leaves_no_trace():
    def stop(now):
        if now.step == 5:
            raise KeyboardInterrupt

    model = estimator()
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*TRAINING, callback=stop)
    assert vars(model) == before


def test_a_monitor_records_what_the_model_would_predict():
    seen = DATA.parts["test_seen"]
    watched = {"unseen": (DATA.X[UNSEEN], DATA.y[UNSEEN]), "seen": (DATA.X[seen], DATA.y[seen])}
    model = estimator(init="uniform", learning_rate=1e-3).fit(*TRAINING, monitor=watched, monitor_every=12)
    np.testing.assert_array_equal(
        model.projection_, fitted(init="uniform", learning_rate=1e-3).projection_, "a monitor changed W"
    )
    assert set(model.history_.accuracy) == {"unseen", "seen"}
    for name, (X, y) in watched.items():
        iterations, accuracies = model.history_.accuracy[name]
        assert iterations.tolist() == [12, 24, 36]
        for epochs, accuracy in enumerate(accuracies, start=1):  # a prefix of a run is a shorter run
            shorter = fitted(init="uniform", learning_rate=1e-3, epochs=epochs)
            predicted = shorter.predict(X, candidates=np.unique(y))
            assert accuracy == pytest.approx(metrics.mean_per_class_accuracy(y, predicted), abs=ONE_ROW)
    assert np.ptp(model.history_.accuracy["unseen"][1]) > 5 * ONE_ROW, "an accuracy that never changes shows nothing"


@pytest.mark.parametrize(("every", "expected"), [(1, list(range(1, 37))), (10, [10, 20, 30, 36]), (500, [36])])
def test_a_monitor_looks_every_so_often_and_at_the_end(every, expected):
    model = estimator().fit(*TRAINING, monitor=(DATA.X[UNSEEN], DATA.y[UNSEEN]), monitor_every=every)
    iterations, accuracies = model.history_.accuracy["monitor"]
    assert iterations.tolist() == expected
    assert accuracies.shape == iterations.shape
    assert accuracies[-1] == pytest.approx(protocols.zsl(model, DATA).accuracy, abs=ONE_ROW)


def test_a_monitor_takes_the_best_row_of_a_class():
    data = datasets.make_synthetic(6, 3, 25, 20, 8, noise=0.3, descriptions=3)
    rows, unseen = data.parts["trainval"], data.parts["test_unseen"]
    table = data.signatures.copy()
    first = (table.groupby(level=0).cumcount() == 0).to_numpy()
    table[first] *= -1  # misleads
    model = estimator().fit(data.X[rows], data.y[rows], table, monitor=(data.X[unseen], data.y[unseen]))

    def accuracy(table):
        answers = model.predict(data.X[unseen], table.loc[data.unseen_classes])
        return metrics.mean_per_class_accuracy(data.y[unseen], answers)

    assert model.history_.accuracy["monitor"][1][-1] == pytest.approx(accuracy(table), abs=ONE_ROW)
    assert accuracy(table[first]) < accuracy(table) - 5 * ONE_ROW, "the first row of each class would do as well"


@pytest.mark.parametrize(
    ("monitor", "every", "sentence"),
    [
        ((DATA.X[UNSEEN], DATA.y[UNSEEN]), 0, "monitor_every=0: expected an integer ≥ 1"),
        (DATA.X[UNSEEN], 5, r"monitor 'monitor' is a ndarray: expected a pair \(X, y\)"),
        ({"a": (DATA.X[UNSEEN], DATA.y[UNSEEN][:-1])}, 5, "monitor 'a' has 75 rows but 74 labels"),
        ((DATA.X[UNSEEN][:, :3], DATA.y[UNSEEN]), 5, "3 features.*20 features"),
        ((DATA.X[UNSEEN], ["unheard of"] * 75), 5, "'unheard of' is not in the fitted table"),
    ],
)
def test_a_bad_monitor_is_refused(monitor, every, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimator().fit(*TRAINING, monitor=monitor, monitor_every=every)
