"""The search tries every setting on every fold, as a lone fit would."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from slow_accuracy import random_scores, slow_accuracies
from small_search import DATA, FOLDS, GRID, ROWS_APART, TRAINING, by_hand, estimator
from tolerances import AFTER_FIT, assert_close, distance
from zskl import ZeroShotKernelClassifier, engines, metrics, selection
from zskl.engines import Engine
from zskl.estimators.stack import STACKABLE
from zskl.metrics.seen_unseen import margins
from zskl.selection import fold_worker
from zskl.selection.constant import best_constant
from zskl.selection.fold_worker import Examiner, Task, examine
from zskl.selection.grid import group
from zskl.selection.material import material
from zskl.selection.search_results import judge


def test_every_setting_on_every_fold_equals_a_lone_fit(found, monkeypatch):
    shared = material(estimator(), *TRAINING, FOLDS)
    groups = group(found.settings, ["epochs"])
    assert list(map(len, groups)) == [3] * 4
    monkeypatch.setattr(fold_worker, "best_scores", lambda scores, sides: scores)  # accuracies hide small differences
    monkeypatch.setattr(Examiner, "_margins", lambda self, scores, _: (scores, self.own, self.is_seen))
    for fold, places in itertools.product(range(3), groups[::3]):
        settings = [found.settings[place] for place in places]
        examined = dict(examine(shared, Task(fold, tuple(places), tuple(settings))))
        hand = [by_hand(setting, FOLDS[fold]) for setting in settings]
        for place, (accuracy, *case) in zip(places, hand, strict=True):
            assert_close(examined[place][0], case[0], AFTER_FIT.single)
            for mine, other in zip(examined[place][1:], case[1:], strict=True):
                np.testing.assert_array_equal(mine, other)
            assert found.zsl[place, fold] == pytest.approx(accuracy, abs=ROWS_APART)
        one, three, four = (case[1] for case in hand)  # the planted fault: another number of epochs
        assert min(distance(one, three), distance(three, four)) > 4 * AFTER_FIT.single


def test_the_figures_of_a_search_are_those_of_its_margins(found):
    cases = [random_scores(k) for k in range(3)]
    one = judge([{}], FOLDS, {(0, fold): margins(*case) for fold, case in enumerate(cases)})
    constant, harmonic = best_constant([margins(*case) for case in cases])
    assert one.constants == [constant]
    np.testing.assert_array_equal(one.gzsl, [harmonic])
    np.testing.assert_allclose(
        one.raw[0], [metrics.harmonic_mean(*slow_accuracies(*case, 0.0)) for case in cases], atol=1e-12
    )
    assert one.zsl[0].tolist() == [margins(*case).zsl for case in cases]
    assert found.zsl.shape == found.gzsl.shape == found.raw.shape == (12, 3)


def test_epochs_cost_nothing_extra(monkeypatch):
    from zskl.training import solver

    steps = []
    minimise = solver.minimise
    monkeypatch.setattr(solver, "minimise", lambda *args, **kw: [steps.append(kw["epochs"]), minimise(*args, **kw)][1])
    selection.search(estimator(batch_size=60), *TRAINING, GRID, FOLDS)
    assert steps == [4] * (2 * 2 * 3)  # one run of the most epochs for each other setting and fold


def elsewhere(function, tasks, shared, engine):
    """As an engine does it, in this process: everything is pickled, and the last task is finished first."""
    assert engine == Engine(workers=2)
    for place in reversed(range(len(tasks))):
        there = pickle.loads(pickle.dumps((function, shared, tasks[place])))
        yield place, pickle.loads(pickle.dumps(there[0](*there[1:])))


def test_engines_and_stacks_give_the_same_answers(found, monkeypatch):
    """Real processes run a search in test_sweep.py."""
    monkeypatch.setattr(engines, "each", elsewhere)
    spread_out = selection.search(estimator(), *TRAINING, GRID, FOLDS, Engine(workers=2))
    monkeypatch.undo()
    monkeypatch.setattr(ZeroShotKernelClassifier, "_free", lambda self, X: ("epochs", *STACKABLE))
    stacked = selection.search(estimator(), *TRAINING, GRID, FOLDS)
    for other in (spread_out, stacked):
        for name in ("zsl", "gzsl", "raw"):
            np.testing.assert_allclose(getattr(other, name), getattr(found, name), rtol=0, atol=ROWS_APART)


def test_a_setting_that_diverges_is_recorded_and_does_not_stop_the_others(caplog):
    grid = {"learning_rate": [1e-3, 1e15], "epochs": [1, 2]}
    found = selection.search(estimator(), *TRAINING, grid, FOLDS)
    wild = [place for place, setting in enumerate(found.settings) if setting["learning_rate"] == 1e15]
    assert sorted(found.diverged) == wild
    assert all(0 <= step < 100 for step in found.diverged.values())
    assert np.isneginf(found.zsl[wild]).all()
    assert np.isneginf(found.gzsl[wild]).all()
    assert found.pick("zsl").setting["learning_rate"] == 1e-3
    wild = {"learning_rate": [1e15], "epochs": [1, 2]}
    with pytest.raises(ValueError, match=r"all 3 settings diverged.*lower learning rates"):
        selection.tune(estimator(learning_rate=1e14), *TRAINING, wild, FOLDS, engine=None)
    assert selection.tune(estimator(epochs=1), *TRAINING, wild, FOLDS, engine=None).best["learning_rate"] == 3e-4
    assert caplog.messages[-1] == "all settings but the default diverged: search lower learning rates"


def test_signatures_of_other_classes_do_not_move_the_choice(found):
    changed = DATA.signatures.copy()
    changed.loc[DATA.unseen_classes] += 5.0
    other = selection.search(estimator(), *TRAINING[:2], changed, GRID, FOLDS)
    np.testing.assert_array_equal(other.zsl, found.zsl)
    np.testing.assert_array_equal(other.gzsl, found.gzsl)


def test_data_frames_arrays_and_mappings_are_searched_alike():
    X, y, table = TRAINING
    grid = {"learning_rate": [1e-2], "epochs": [1, 4]}
    found = selection.search(estimator(batch_size=60), *TRAINING, grid, FOLDS)
    classes = np.unique(y)
    for features, signatures in [
        (pd.DataFrame(X), table),
        (X, table.loc[classes].to_numpy()),
        (X.tolist(), {label: table.loc[label].to_numpy() for label in classes.tolist()}),
    ]:
        other = selection.search(estimator(batch_size=60), features, y, signatures, grid, FOLDS)
        np.testing.assert_allclose(other.zsl, found.zsl, rtol=0, atol=ROWS_APART)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="grid is None"):
        selection.search(estimator(), *TRAINING, None, FOLDS)
    with pytest.raises(ValueError, match="estimator is a StandardScaler: expected an estimator of zskl"):
        selection.search(StandardScaler(), *TRAINING, {}, FOLDS)
    with pytest.raises(ValueError, match="folds of no rows"):
        selection.folds([])
    with pytest.raises(NotFittedError):
        selection.calibrate(estimator(), *TRAINING, FOLDS)
