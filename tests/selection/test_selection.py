"""Folds, the search over them, the choice, the constant, temperatures; and that no test row enters any of it."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tolerances import AFTER_FIT, FORMULA, assert_close, distance
from zskl import DivergenceError, ZeroShotKernelClassifier, datasets, engines, metrics, protocols, selection
from zskl.engines import Engine
from zskl.estimators.estimator import UncalibratedWarning
from zskl.estimators.stack import STACKABLE
from zskl.methods import METHODS, build, find, load
from zskl.selection import Fold, fold_worker, temperatures
from zskl.selection.calibration import best_constant, margins
from zskl.selection.fold_worker import Task, examine
from zskl.selection.grid import expand, group
from zskl.selection.grid_search import judge, material

DATA = datasets.make_synthetic(9, 3, 30, 16, 8, noise=0.6)
ROWS = DATA.parts["trainval"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures
GRID = {"sigma": [0.6, 1.0], "learning_rate": [1e-3, 1e-2], "epochs": [1, 3, 4]}
FOLDS = selection.folds(DATA)
ROWS_APART = 2 / min(len(fold.val_unseen) for fold in FOLDS)  # two rows that rounding may put on the other side


def estimator(**settings):
    return ZeroShotKernelClassifier(**{"random_state": 0, "batch_size": 6, **settings})


@pytest.fixture(scope="module")
def found():
    return selection.search(estimator(), *TRAINING, GRID, FOLDS)


# Folds --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "n_folds"), [(9, 3), (10, 3), (4, 3), (5, 2), (30, 5)])
def test_seeded_folds_keep_classes_apart(classes, n_folds):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(classes), 10))
    folds = selection.folds(y, n_folds, seed=1)
    assert len(folds) == n_folds
    for fold in folds:
        held, kept = set(y[fold.val_unseen]), set(y[fold.train])
        assert not held & kept
        assert held | kept == set(range(classes))
        assert max(2, classes // 3) <= len(held) <= max(2, -(-classes // 3))
        assert set(y[fold.val_seen]) == kept
        rows = np.concatenate([fold.train, fold.val_seen, fold.val_unseen])
        assert sorted(rows) == list(range(len(y)))
        assert len(fold.val_seen) == 2 * len(kept)  # a fifth of ten rows each
    if n_folds == 3 and classes >= 6:
        assert sorted(np.concatenate([np.unique(y[fold.val_unseen]) for fold in folds])) == list(range(classes))


def test_folds_come_from_their_seed_alone():
    y = np.repeat(np.arange(12), 6)
    for one, other in zip(selection.folds(y, seed=3), selection.folds(y, seed=3), strict=True):
        np.testing.assert_array_equal(one.train, other.train)
        np.testing.assert_array_equal(one.val_seen, other.val_seen)
    assert any(
        not np.array_equal(one.val_unseen, other.val_unseen)
        for one, other in zip(selection.folds(y, seed=3), selection.folds(y, seed=4), strict=True)
    )


def test_a_dataset_brings_its_own_folds():
    parts = dict(DATA.parts)
    names = DATA.y[ROWS]
    held = np.unique(names)[:2]
    parts["fold1_train"], parts["fold1_val"] = ROWS[~np.isin(names, held)], ROWS[np.isin(names, held)]
    data = datasets.Dataset("own", DATA.X, DATA.y, DATA.signatures, parts)
    (fold,) = selection.folds(data)
    trainval = data.parts["trainval"]
    assert sorted(trainval[fold.val_unseen]) == sorted(parts["fold1_val"])
    assert sorted(trainval[np.concatenate([fold.train, fold.val_seen])]) == sorted(parts["fold1_train"])
    assert 0 < len(fold.val_seen) < len(fold.train)


def test_folds_that_cannot_be_made():
    with pytest.raises(ValueError, match=r"of 3 class\(es\).*at least 4 are needed"):
        selection.folds([0, 1, 2, 2])
    with pytest.raises(ValueError, match="seen_share=1"):
        selection.folds(np.arange(9), seen_share=1)
    with pytest.raises(ValueError, match="n_folds=0"):
        selection.folds(np.arange(9), 0)
    with pytest.raises(ValueError, match="0 rows to train on"):
        Fold([], [], [1])


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        (lambda y: Fold([0, 1], [], [len(y)]), "positions within the training"),
        (lambda y: Fold([0, 1], [0], np.flatnonzero(y != y[0])), "names a row twice"),
        (lambda y: Fold(np.flatnonzero(y == y[0])[:2], [], np.flatnonzero(y == y[0])[2:]), "holds that class out"),
        (
            lambda y: Fold(np.flatnonzero(y == y[0]), np.flatnonzero(y == y[-1]), np.flatnonzero(y == 3)),
            "which it does not train on",
        ),
    ],
    ids=["beyond", "twice", "class in both", "stranger"],
)
def test_folds_that_do_not_fit_the_rows_are_refused(fold, message):
    y = np.repeat(np.arange(6), 5)
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=message):
        selection.search(estimator(), X, y, np.eye(6), {}, [fold(y)])


# Margins and the constant ---------------------------------------------------------------------------------------------


def problem(seed, n=60, seen=4, unseen=3):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, seen + unseen))
    own = rng.integers(0, seen + unseen, n)
    scores[np.arange(n), own] += 0.7
    scores[:, :seen] += 0.5
    return np.round(scores, 1), own, np.arange(seen + unseen) < seen


def slow(scores, own, is_seen, constant):
    """(seen, unseen) mean per-class accuracy by argmax, row by row."""
    answers = np.argmax(scores - constant * is_seen, axis=1)
    sides = []
    for side in (is_seen, ~is_seen):
        classes = [c for c in np.flatnonzero(side) if (own == c).any()]
        sides.append(np.mean([np.mean(answers[own == c] == c) for c in classes]))
    return tuple(sides)


@pytest.mark.parametrize("seed", range(5))
def test_margins_judge_any_constant_as_argmax_does(seed):
    case = problem(seed)
    m = margins(*case)
    for constant in (-3.03, -0.51, 0.013, 0.27, 1.11, 4.43):  # between scores: no ties of seen and unseen
        np.testing.assert_allclose(m.at(constant), slow(*case, constant), atol=1e-12)
    scores, own, is_seen = case
    rows = ~is_seen[own]
    alone = np.flatnonzero(~is_seen)[np.argmax(scores[rows][:, ~is_seen], axis=1)]
    assert m.zsl == pytest.approx(metrics.mean_per_class_accuracy(own[rows], alone))


@pytest.mark.parametrize("seed", range(5))
def test_the_constant_is_the_best_of_all_for_all_folds_together(seed):
    cases = [problem(10 * seed + k, n=40) for k in range(3)]
    constant, harmonic = best_constant([margins(*case) for case in cases])
    reached = [metrics.harmonic_mean(*slow(*case, constant)) for case in cases]
    np.testing.assert_allclose(harmonic, reached, atol=1e-12)
    for other in np.arange(-6, 6, 0.05) + 0.013:
        assert np.mean(reached) >= np.mean([metrics.harmonic_mean(*slow(*case, other)) for case in cases]) - 1e-12


def test_one_fold_agrees_with_the_curve():
    scores, own, is_seen = problem(1)
    curve = metrics.seen_unseen_curve(scores, own, np.arange(7), is_seen)
    assert best_constant([margins(scores, own, is_seen)])[1][0] == pytest.approx(curve.best()[1])


def test_the_constant_fits_any_scale_of_scores():
    cases = [problem(k) for k in range(3)]
    constant, harmonic = best_constant([margins(*case) for case in cases])
    for scale in (1e-6, 1e6):
        other, same = best_constant([margins(scores * scale, own, seen) for scores, own, seen in cases])
        assert other == pytest.approx(constant * scale)
        np.testing.assert_allclose(same, harmonic)


def test_no_row_is_ever_right():
    scores = np.array([[1.0, 0.0, 0.0, 0.0]])
    assert best_constant([margins(scores, np.array([1]), np.array([True, True, False, False]))])[0] == 0.0


# Temperatures ---------------------------------------------------------------------------------------------------------


def test_the_temperature_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    folds = [(rng.normal(size=(200, 6)), rng.integers(0, 6, 200)) for _ in range(2)]
    for scores, own in folds:
        scores[np.arange(200), own] += 1.0

    def loss(t):
        return np.mean(
            [np.mean(-np.log(np.exp(s / t)[np.arange(200), o] / np.exp(s / t).sum(axis=1))) for s, o in folds]
        )

    t = temperatures.fit(folds)
    assert all(loss(t) <= loss(t * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2))
    assert temperatures.fit([(1e-3 * s, o) for s, o in folds]) == pytest.approx(1e-3 * t, rel=1e-3)


def test_scores_that_tell_nothing_have_temperature_one():
    assert temperatures.fit([(np.zeros((4, 3)), np.zeros(4, dtype=int))]) == 1.0
    assert temperatures.fit([(np.zeros((0, 3)), np.zeros(0, dtype=int))]) == 1.0


# The search -----------------------------------------------------------------------------------------------------------


def by_hand(setting, fold):
    """(zero-shot accuracy of the held-out classes, scores, own, seen) by a lone fit through the public names."""
    X, y, table = TRAINING
    model = estimator(**setting).fit(X[fold.train], y[fold.train], table.loc[np.unique(y)])
    rows = np.concatenate([fold.val_seen, fold.val_unseen])
    classes = np.unique(y)
    scores = model.compatibility(X[rows], table.loc[classes])
    held = np.unique(y[fold.val_unseen])
    answers = model.predict(X[fold.val_unseen], table.loc[held])
    accuracy = metrics.mean_per_class_accuracy(y[fold.val_unseen], answers)
    return accuracy, scores, np.searchsorted(classes, y[rows]), ~np.isin(classes, held)


def test_every_setting_on_every_fold_equals_a_lone_fit(found, monkeypatch):
    shared = material(estimator(), *TRAINING, FOLDS)
    groups = group(found.settings, ["epochs"])
    assert list(map(len, groups)) == [3] * 4
    monkeypatch.setattr(fold_worker, "margins", lambda *case: case)  # scores: accuracies hide small differences
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
    cases = [problem(k) for k in range(3)]
    one = judge([{}], FOLDS, {(0, fold): margins(*case) for fold, case in enumerate(cases)})
    constant, harmonic = best_constant([margins(*case) for case in cases])
    assert one.constants == [constant]
    np.testing.assert_array_equal(one.gzsl, [harmonic])
    np.testing.assert_allclose(one.raw[0], [metrics.harmonic_mean(*slow(*case, 0.0)) for case in cases], atol=1e-12)
    assert one.zsl[0].tolist() == [margins(*case).zsl for case in cases]
    assert found.zsl.shape == found.gzsl.shape == found.raw.shape == (12, 3)


def test_epochs_cost_nothing_extra(monkeypatch):
    from zskl.training import solver

    steps = []
    minimise = solver.minimise
    monkeypatch.setattr(solver, "minimise", lambda *args, **kw: [steps.append(kw["epochs"]), minimise(*args, **kw)][1])
    selection.search(estimator(), *TRAINING, GRID, FOLDS)
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


def test_a_setting_that_diverges_is_recorded_and_stops_nobody():
    grid = {"learning_rate": [1e-3, 1e15], "epochs": [1, 2]}
    found = selection.search(estimator(), *TRAINING, grid, FOLDS)
    wild = [place for place, setting in enumerate(found.settings) if setting["learning_rate"] == 1e15]
    assert sorted(found.diverged) == wild
    assert all(0 <= step < 100 for step in found.diverged.values())
    assert np.isneginf(found.zsl[wild]).all()
    assert np.isneginf(found.gzsl[wild]).all()
    assert found.pick("zsl").setting["learning_rate"] == 1e-3
    with pytest.raises(ValueError, match=r"all 2 settings diverged.*lower learning rates"):
        selection.tune(estimator(), *TRAINING, {"learning_rate": [1e15], "epochs": [1, 2]}, FOLDS, engine=None)


def test_the_next_best_setting_is_fitted_where_the_best_diverges_on_all_rows(found, monkeypatch):
    best = found.pick("zsl").setting
    fit = ZeroShotKernelClassifier.fit

    def failing(self, X, y, signatures=None, **more):
        if all(getattr(self, name) == value for name, value in best.items()) and len(y) == len(ROWS):
            raise DivergenceError(7, self.learning_rate)
        return fit(self, X, y, signatures, **more)

    monkeypatch.setattr(ZeroShotKernelClassifier, "fit", failing)
    model, choice = selection.refit(estimator(), found, "zsl", *TRAINING)
    assert choice.place == found.ranking("zsl")[1]
    assert model.sigma == choice.setting["sigma"]


# tune -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["zsl", "gzsl"])
def test_tune_refits_the_best_on_all_training_rows(found, scoring):
    result = selection.tune(estimator(), *TRAINING, GRID, FOLDS, scoring=scoring, engine=None)
    scores = found.scores(scoring)
    np.testing.assert_array_equal(result.fold_scores, scores)
    best = int(np.argmax(scores.mean(axis=1)))
    assert result.best == found.settings[best]
    assert result.score == pytest.approx(scores[best].mean())
    assert result.spread == pytest.approx(scores[best].std(ddof=1))
    assert result.scores.max() == result.score
    alone = estimator(**result.best).fit(*TRAINING)
    np.testing.assert_array_equal(result.model.projection_, alone.projection_)
    assert result.model.calibration_ == result.calibration == found.constants[best]
    with pytest.raises(AttributeError):
        result.score = 1.0


def test_calibrating_a_fitted_model_finds_the_constant_of_the_search(found):
    place = 0
    model = estimator(**found.settings[place]).fit(*TRAINING)
    selection.calibrate(model, *TRAINING, FOLDS)
    hand = [by_hand(found.settings[place], fold)[1:] for fold in FOLDS]
    reached = np.mean([metrics.harmonic_mean(*slow(*one, model.calibration_)) for one in hand])
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


def test_no_test_row_enters():
    """All test rows and labels replaced by noise: setting, constant, temperatures and model are bit-identical."""
    noise = np.random.default_rng(9)
    X, y = DATA.X.copy(), DATA.y.copy()
    for part, classes in (("test_seen", DATA.seen_classes), ("test_unseen", DATA.unseen_classes)):
        rows = DATA.parts[part]
        X[rows] = 1e3 * noise.normal(size=(len(rows), X.shape[1]))
        y[rows] = noise.permutation(np.resize(classes, len(rows)))
    other = datasets.Dataset("noise", X, y, DATA.signatures, dict(DATA.parts))
    results = []
    for data in (DATA, other):
        rows = data.parts["trainval"]
        results.append(
            selection.tune(
                *(estimator(), data.X[rows], data.y[rows], data.signatures, GRID, selection.folds(data)),
                scoring="gzsl",
                engine=None,
            )
        )
    one, two = results
    assert one.best == two.best
    assert one.calibration == two.calibration
    assert one.model.temperatures_ == two.model.temperatures_
    np.testing.assert_array_equal(one.fold_scores, two.fold_scores)
    np.testing.assert_array_equal(one.model.projection_, two.model.projection_)


def test_signatures_of_other_classes_do_not_move_the_choice(found):
    changed = DATA.signatures.copy()
    changed.loc[DATA.unseen_classes] += 5.0
    other = selection.search(estimator(), *TRAINING[:2], changed, GRID, FOLDS)
    np.testing.assert_array_equal(other.zsl, found.zsl)
    np.testing.assert_array_equal(other.gzsl, found.gzsl)


def test_data_frames_arrays_and_mappings_are_searched_alike():
    X, y, table = TRAINING
    grid = {"learning_rate": [1e-2], "epochs": [1, 4]}
    found = selection.search(estimator(), *TRAINING, grid, FOLDS)
    classes = np.unique(y)
    for features, signatures in [
        (pd.DataFrame(X), table),
        (X, table.loc[classes].to_numpy()),
        (X.tolist(), {label: table.loc[label].to_numpy() for label in classes.tolist()}),
    ]:
        other = selection.search(estimator(), features, y, signatures, grid, FOLDS)
        np.testing.assert_allclose(other.zsl, found.zsl, rtol=0, atol=ROWS_APART)


def test_wrong_questions():
    with pytest.raises(ValueError, match=r"scoring='test'.*zsl, gzsl"):
        selection.tune(estimator(), *TRAINING, GRID, FOLDS, scoring="test")
    with pytest.raises(ValueError, match=r"names 'sigmas'.*did you mean 'sigma'"):
        selection.tune(estimator(), *TRAINING, {"sigmas": [1]}, FOLDS)
    with pytest.raises(ValueError, match="no value for 'sigma'"):
        selection.tune(estimator(), *TRAINING, {"sigma": []}, FOLDS)
    with pytest.raises(ValueError, match="sigma=-1"):
        selection.tune(estimator(), *TRAINING, {"sigma": [1.0, -1]}, FOLDS)
    with pytest.raises(ValueError, match="expected mappings"):
        selection.tune(estimator(), *TRAINING, ["sigma"], FOLDS)
    with pytest.raises(ValueError, match="needs signatures that describe classes"):
        selection.tune(estimator(), *TRAINING[:2], None, GRID, FOLDS)
    with pytest.raises(ValueError, match="no signature for class"):
        selection.tune(estimator(), *TRAINING[:2], DATA.signatures.iloc[3:], GRID, FOLDS)
    with pytest.raises(ValueError, match="no val_seen rows"):
        selection.tune(*(estimator(), *TRAINING, {}, selection.folds(DATA, seen_share=0)), scoring="gzsl", engine=None)


def test_grids_expand_and_group():
    settings = expand(
        [{"sigma": (1, 2), "epochs": [1, 2]}, {"sigma": 1, "epochs": 1}, {"init": "uniform"}], estimator()
    )
    assert len(settings) == 5
    assert settings[-1] == {"init": "uniform"}
    groups = group(settings, ["epochs"])
    assert sorted(map(len, groups)) == [1, 2, 2]
    for places in groups:
        assert len({repr({k: v for k, v in settings[p].items() if k != "epochs"}) for p in places}) == 1


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_a_default_grid_that_runs(name):
    grid = find(name).grid
    settings = expand(grid, build(name))
    assert len(settings) >= (5 if name == "conse" else 12)
    assert "feature_scaling" in grid or name == "conse"


# Probabilities --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def calibrated():
    return selection.calibrate(estimator(sigma=1.0, learning_rate=1e-3).fit(*TRAINING), *TRAINING, FOLDS)


def test_probabilities_are_the_softmax_of_scores_over_the_fitted_temperature(calibrated):
    X = DATA.X[DATA.parts["test_unseen"]]
    cases = {"seen": DATA.seen_classes, "unseen": DATA.unseen_classes, "mixed": DATA.class_names}
    for situation, candidates in cases.items():
        scores = calibrated.compatibility(X, candidates=candidates).astype(np.float64)
        if situation == "mixed":
            scores -= calibrated.calibration_ * np.isin(candidates, DATA.seen_classes)
        exponents = scores / calibrated.temperatures_[situation]  # the rounding of each is a relative error of exp
        e = np.exp(exponents)
        found = calibrated.predict_proba(X, candidates=candidates)
        assert_close(found, e / e.sum(axis=1, keepdims=True), FORMULA.single * np.abs(exponents).max())
        np.testing.assert_array_equal(
            np.asarray(candidates)[found.argmax(axis=1)], calibrated.predict(X, candidates=candidates)
        )


def test_rows_below_the_threshold_are_unknown(calibrated):
    X = DATA.X[DATA.parts["test_unseen"]]
    best = calibrated.predict_proba(X).max(axis=1)
    plain = calibrated.predict(X)
    for threshold in (0.0, float(np.median(best)), 1.0):
        answers = calibrated.predict(X, reject=threshold)
        np.testing.assert_array_equal(answers == "unknown", best < threshold)
        np.testing.assert_array_equal(answers[best >= threshold], plain[best >= threshold])
    for wrong in (-0.1, 1.5, True, "half"):
        with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
            calibrated.predict(X, reject=wrong)


def test_probabilities_nobody_calibrated_come_with_a_warning():
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
    with pytest.raises(ValueError, match="expected 'zsl' or 'gzsl'"):
        protocols.confidence(calibrated, DATA, "both")


def test_settings_of_one_group_may_be_anything(found):
    """The order of settings in a group, and their number, do not matter."""
    for order in itertools.islice(itertools.permutations(range(3)), 3):
        grid = [{"sigma": [0.6], "learning_rate": [1e-3], "epochs": [[1, 3, 4][i]]} for i in order]
        other = selection.search(clone(estimator()), *TRAINING, grid, FOLDS)
        for place, setting in enumerate(other.settings):
            np.testing.assert_array_equal(other.zsl[place], found.zsl[found.settings.index(setting)])


# Small and wrong input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [4, 5])
def test_few_classes_are_held_out_in_different_pairs(n_classes):
    y = np.repeat(np.arange(n_classes), 6)
    held = [tuple(np.unique(y[fold.val_unseen])) for fold in selection.folds(y)]
    assert len(set(held)) == 3


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "at least one"),
        (0, "n_folds=0"),
        ("3", "expected a number, a dataset"),
        ([([0], [1])], "expected a number, a dataset"),
    ],
    ids=["none", "zero", "text", "pairs"],
)
def test_folds_that_are_none(folds, message):
    with pytest.raises(ValueError, match=message):
        selection.search(estimator(), *TRAINING, {}, folds)


def test_folds_by_number_or_dataset(found):
    for given in (np.int64(3), DATA, None):
        for mine, other in zip(material(estimator(), *TRAINING, given).folds, found.folds, strict=True):
            for part in ("train", "val_seen", "val_unseen"):
                np.testing.assert_array_equal(getattr(mine, part), getattr(other, part))


def test_arguments_that_make_no_sense():
    with pytest.raises(ValueError, match="grid is None"):
        selection.search(estimator(), *TRAINING, None, FOLDS)
    with pytest.raises(ValueError, match="found Pipeline"):
        selection.search(make_pipeline(StandardScaler(), estimator()), *TRAINING, {}, FOLDS)
    with pytest.raises(ValueError, match="folds of no rows"):
        selection.folds([])
    with pytest.raises(NotFittedError):
        selection.calibrate(estimator(), *TRAINING, FOLDS)


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


def test_where_no_answer_is_right_the_constant_is_zero():
    scores = np.array([[0.0, 1.0, 0.2, 0.1], [0.3, 0.1, 0.9, 0.2]])
    constant, harmonic = best_constant([margins(scores, np.array([1, 3]), np.array([True, True, False, False]))])
    assert (constant, harmonic.tolist()) == (0.0, [0.0])
