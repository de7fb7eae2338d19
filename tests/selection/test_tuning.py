"""tune fits the best setting on all training rows, and no test row enters."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from small_search import DATA, FOLDS, GRID, ROWS, TRAINING, estimator
from zskl import Committee, DivergenceError, ZeroShotKernelClassifier, baselines, datasets, selection
from zskl.selection import class_folds, grid_search, tuning

# Tuned model


def test_the_next_best_setting_is_fitted_if_the_best_diverges_on_all_rows(found, monkeypatch):
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


@pytest.mark.parametrize("scoring", ["zsl", "gzsl"])
def test_tune_refits_the_best_on_all_training_rows(found, scoring):
    result = selection.tune(estimator(), *TRAINING, GRID, FOLDS, scoring=scoring, engine=None)
    scores = found.scores(scoring)
    np.testing.assert_array_equal(result.fold_scores[:-1], scores)
    assert result.settings[-1] == {name: estimator().get_params()[name] for name in GRID}  # the default, tried too
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


def test_bad_arguments_of_tune_are_refused():
    with pytest.raises(ValueError, match=r"scoring is 'test'.*zsl, gzsl"):
        selection.tune(estimator(), *TRAINING, GRID, FOLDS, scoring="test")
    with pytest.raises(ValueError, match=r"names 'sigmas'.*did you mean 'sigma'"):
        selection.tune(estimator(), *TRAINING, {"sigmas": [1]}, FOLDS)
    with pytest.raises(ValueError, match="no value for 'sigma'"):
        selection.tune(estimator(), *TRAINING, {"sigma": []}, FOLDS)
    with pytest.raises(ValueError, match="sigma is -1"):
        selection.tune(estimator(), *TRAINING, {"sigma": [1.0, -1]}, FOLDS)
    with pytest.raises(ValueError, match="expected mappings"):
        selection.tune(estimator(), *TRAINING, ["sigma"], FOLDS)
    with pytest.raises(ValueError, match="signatures is None: expected a table"):
        selection.tune(estimator(), *TRAINING[:2], None, GRID, FOLDS)
    with pytest.raises(ValueError, match="no signature for class"):
        selection.tune(estimator(), *TRAINING[:2], DATA.signatures.iloc[3:], GRID, FOLDS)
    with pytest.raises(ValueError, match="no val_seen rows"):
        selection.tune(*(estimator(), *TRAINING, {}, selection.folds(DATA, seen_share=0)), scoring="gzsl", engine=None)


@pytest.mark.parametrize("scoring", ["zsl", "gzsl"])
def test_rows_and_folds_are_checked_once_for_the_search(scoring, monkeypatch):
    checked = []
    check = class_folds.prepare_fold_data
    monkeypatch.setattr(tuning, "prepare_fold_data", lambda *given: checked.append(1) or check(*given))
    selection.tune(estimator(), *TRAINING, {"sigma": [1.0]}, FOLDS, scoring=scoring, engine=None)
    assert checked == [1]


# Tuned table
# What a Tuned shows: the ten best settings, the chosen one marked, the default's score beside it.

LARGE = {"gamma": [0.1, 1.0, 10.0, 100.0], "lam": [0.3, 3.0, 30.0]}  # the default, 1 and 1, is not among them


@pytest.fixture(scope="module")
def tuned():
    return selection.tune(baselines.ESZSL(), *TRAINING, LARGE, FOLDS, engine=None)


def cells(tuned):
    title, head, *lines = str(tuned).split("\n")
    return title, head.split(), [line.split() for line in lines if line.startswith("  ")], lines[-1]


def test_the_ten_best_and_the_default(tuned):
    title, head, rows, _ = cells(tuned)
    assert title == "13 settings on 3 folds of held-out classes, best by zero-shot accuracy"
    assert head == ["rank", "score", "gamma", "lam"]
    order = np.argsort(-tuned.scores.round(9), kind="stable")
    default = tuned.search.default
    assert tuned.settings[default] == {"gamma": 1.0, "lam": 1.0}
    assert len(rows) == 10 + (default not in order[:10])
    for row, place in zip(rows[:10], order, strict=False):
        folds = 100 * tuned.fold_scores[place]
        assert row[1:4] == [f"{folds.mean():.1f}", "±", f"{folds.std(ddof=1):.1f}"]
        assert row[-2:] == [f"{tuned.settings[place][name]:g}" for name in ("gamma", "lam")]
    assert [row for row in rows if "default" in row] == [row for row in rows if "chosen," in row]  # it is kept
    assert len([row for row in rows if "default" in row]) == 1
    assert f"chosen: {100 * tuned.scores[default]:.1f} ± " in str(tuned)
    assert "which is the default setting\nthe default setting is kept: the best other is " in str(tuned)
    assert "chosen" in tuned._repr_html_()
    assert repr(tuned) == str(tuned)


def test_table_says_what_diverged_and_what_was_not_tried(tuned):
    tuned = replace(tuned, best=tuned.settings[0], against_default=None)
    without = replace(tuned, search=replace(tuned.search, default=None))
    assert "default: not tried" in str(without)
    lost = tuned.fold_scores.copy()
    lost[tuned.search.default] = -np.inf
    search = replace(tuned.search, zsl=lost, diverged={tuned.search.default: 3})
    diverged = str(replace(tuned, fold_scores=lost, diverged=search.diverged, search=search))
    assert "default: diverged" in diverged
    assert "1 of the settings diverged" in diverged
    alone = replace(tuned, best=tuned.settings[tuned.search.default])
    assert "which is the default setting" in str(alone)


@pytest.mark.parametrize(
    ("grid", "own", "place", "settings"),
    [
        (GRID, {"epochs": 3, "sigma": 1.0, "learning_rate": 1e-3}, 5, 12),  # in the grid already
        (GRID, {"epochs": 2}, 12, 13),
        ({}, {}, 0, 1),
        (GRID, {"sigma": -1.0}, None, 12),  # it cannot be fitted as it is
    ],
)
def test_the_default_is_tried_once_if_it_can_be(grid, own, place, settings):
    shared = class_folds.prepare_fold_data(estimator(**own), *TRAINING, FOLDS)
    planned = grid_search.plan_search(shared, grid, with_default=True)
    assert (planned.default, len(planned.settings)) == (place, settings)
    assert len(grid_search.plan_search(shared, grid).settings) == min(settings, 12)
    if place is not None:
        assert all(planned.settings[place][name] == value for name, value in own.items())


@pytest.mark.parametrize("one", [1, 1.0, np.float64(1), np.int64(1)])
def test_the_default_is_found_in_every_spelling(one):
    behind = make_pipeline(StandardScaler(), baselines.ESZSL())
    for model, name in ((baselines.ESZSL(), "gamma"), (behind, "eszsl__gamma")):
        found = selection.tune(model, *TRAINING, {name: [one, 30.0]}, FOLDS, engine=None)
        assert (len(found.settings), found.search.default) == (2, 0)


def test_a_default_beyond_the_grid_does_not_move_its_edges():
    shared = class_folds.prepare_fold_data(baselines.ESZSL(gamma=1e6), *TRAINING, FOLDS)
    planned = grid_search.plan_search(shared, {"gamma": [0.1, 1.0]}, with_default=True)
    assert planned.reach.values == {"gamma": [0.1, 1.0]}
    assert planned.settings[planned.default] == {"gamma": 1e6}


def test_the_default_of_a_committee_is_shown():
    committee = Committee([("a", baselines.ESZSL()), ("b", baselines.SAE())])
    found = selection.tune(committee, *TRAINING, {"a__gamma": [0.1, 1.0]}, FOLDS, engine=None)
    assert "the default setting is " in str(found)
    assert found.search.default == len(found.settings) - 1
