"""Halving: all runs on the first fold, the promising ones on the others, and the same figures for these."""

import numpy as np
import pytest

from small_search import FOLDS, GRID, TRAINING, estimator
from zskl import engines, selection
from zskl.metrics.seen_unseen import Margins
from zskl.selection import halving
from zskl.selection.grid import group


@pytest.fixture(scope="module")
def halved():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halving, "KEPT", 1)
        reports = []
        found = selection.search(
            estimator(), *TRAINING, GRID, FOLDS, report=lambda *told: reports.append(told), halving=True
        )
    return found, reports


def test_runs_that_go_on_have_the_figures_of_the_whole_search(found, halved):
    few, reports = halved
    assert few.dropped
    assert not few.diverged
    left = sorted(set(range(len(few.settings))) - few.dropped)
    for name in ("zsl", "gzsl", "seen", "unseen", "constants"):
        np.testing.assert_array_equal(getattr(few, name)[left], getattr(found, name)[left])
    assert np.isneginf(few.zsl[sorted(few.dropped)]).all()
    assert few.pick("zsl").place in left
    runs = len(left) // len(GRID["epochs"])
    assert reports[-1] == (4 + 2 * runs, 4 + 2 * runs)


def test_the_best_of_the_first_fold_by_either_figure_go_on(found, halved):
    few, _ = halved
    runs = group(found.settings, ["epochs"])
    best = max(runs, key=lambda run: max(found.zsl[place, 0] for place in run))
    assert not few.dropped & set(best)


def test_all_go_on_where_they_are_few(found):
    few = selection.search(estimator(), *TRAINING, GRID, FOLDS, halving=True)
    assert not few.dropped
    np.testing.assert_array_equal(few.gzsl, found.gzsl)


def margins(zsl, harmonic):
    """A fold where `zsl` of the unseen rows are right, and H is `harmonic` at the best constant."""
    seen = harmonic * zsl / (2 * zsl - harmonic)
    return Margins(np.array([-1.0, 1.0]), np.array([0.0, seen]), np.array([zsl, 0.0]), np.zeros(2), (-2.0, 2.0))


def test_each_figure_keeps_its_own_and_the_default_stays(monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    settings = [{"sigma": sigma, "epochs": epochs} for sigma in (1, 2, 3, 4, 5) for epochs in (1, 2)]
    figures = {1: (0.9, 0.3), 2: (0.8, 0.7), 3: (0.5, 0.4), 4: (0.4, 0.3)}
    found = {
        (place, 0): margins(*figures[one["sigma"]]) if one["epochs"] == 2 and one["sigma"] in figures else 7
        for place, one in enumerate(settings)
    }
    went_on = {settings[place]["sigma"] for place in halving.promising(settings, ("epochs", "sigma"), found)}
    assert went_on == {1, 2}
    with_default = halving.promising(settings, ("epochs",), found, always=7)
    assert {settings[place]["sigma"] for place in with_default} == {1, 2, 4}


def test_tune_says_what_it_dropped(monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    arguments = estimator(epochs=1), *TRAINING, {"sigma": [0.6, 1.0], "learning_rate": [1e-3, 1e-2]}, FOLDS
    alone = selection.tune(*arguments, engine=None, halving=True)
    assert f"{len(alone.search.dropped)} of the settings were dropped after the first fold" in str(alone)
    assert alone.best in [alone.settings[k] for k in range(len(alone.settings)) if k not in alone.search.dropped]
    default = alone.search.default
    assert default not in alone.search.dropped


def test_the_order_in_which_workers_finish_changes_nothing(halved, monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    in_turn = engines.each

    def reversed_each(*arguments):
        yield from reversed(list(in_turn(*arguments)))

    monkeypatch.setattr(engines, "each", reversed_each)
    again = selection.search(estimator(), *TRAINING, GRID, FOLDS, halving=True)
    assert again.dropped == halved[0].dropped
    np.testing.assert_array_equal(again.gzsl, halved[0].gzsl)


def test_what_is_no_flag_is_refused():
    with pytest.raises(ValueError, match="halving is 'yes'"):
        selection.search(estimator(), *TRAINING, GRID, FOLDS, halving="yes")
