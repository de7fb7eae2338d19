"""What a Tuned shows: the ten best settings, the chosen one marked, the default's score beside it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from small_search import FOLDS, GRID, TRAINING, estimator
from zskl import Committee, baselines, selection
from zskl.selection import grid_search, material

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


def test_what_is_not_there_is_said(tuned):
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
    shared = material.material(estimator(**own), *TRAINING, FOLDS)
    planned = grid_search.plan(shared, grid, with_default=True)
    assert (planned.default, len(planned.settings)) == (place, settings)
    assert len(grid_search.plan(shared, grid).settings) == min(settings, 12)
    if place is not None:
        assert all(planned.settings[place][name] == value for name, value in own.items())


@pytest.mark.parametrize("one", [1, 1.0, np.float64(1), np.int64(1)])
def test_the_default_is_found_in_every_spelling(one):
    behind = make_pipeline(StandardScaler(), baselines.ESZSL())
    for model, name in ((baselines.ESZSL(), "gamma"), (behind, "eszsl__gamma")):
        found = selection.tune(model, *TRAINING, {name: [one, 30.0]}, FOLDS, engine=None)
        assert (len(found.settings), found.search.default) == (2, 0)


def test_a_default_beyond_the_grid_does_not_move_its_edges():
    shared = material.material(baselines.ESZSL(gamma=1e6), *TRAINING, FOLDS)
    planned = grid_search.plan(shared, {"gamma": [0.1, 1.0]}, with_default=True)
    assert planned.reach.values == {"gamma": [0.1, 1.0]}
    assert planned.settings[planned.default] == {"gamma": 1e6}


def test_the_default_of_a_committee_is_shown():
    committee = Committee([("a", baselines.ESZSL()), ("b", baselines.SAE())])
    found = selection.tune(committee, *TRAINING, {"a__gamma": [0.1, 1.0]}, FOLDS, engine=None)
    assert "the default setting is " in str(found)
    assert found.search.default == len(found.settings) - 1
