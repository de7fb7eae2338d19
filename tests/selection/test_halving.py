"""Halving: short runs on the first fold, the better ones longer, the best on the other folds, with the same figures."""

import math
from dataclasses import replace

import numpy as np
import pytest

from small_search import FOLDS, GRID, TRAINING, estimator
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, engines, methods, selection
from zskl.estimators.default_grid import in_tens, parts
from zskl.metrics.seen_unseen import Margins
from zskl.selection import halving
from zskl.selection.grid import group
from zskl.selection.grid_search import plan
from zskl.selection.material import material
from zskl.selection.own_grid import own_grid


@pytest.fixture(scope="module")
def halved():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halving, "KEPT", 1)
        patch.setattr(halving, "LONG", 2)
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
    longer = reports[-1][0] - 4 - 2 * runs  # beside the 4 short ones, and the others on two folds
    assert reports[-1][0] == reports[-1][1]
    assert runs <= longer <= 4


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


class Ledger:
    """Made-up answers in place of fits: run k has a figure of each kind after every number of epochs, on all folds."""

    def __init__(self, runs, epochs, diverging=()):
        rng = np.random.default_rng(3)
        self.settings = [{"sigma": k, "epochs": e} for k in range(runs) for e in epochs]
        self.zsl, self.harmonic = rng.uniform(0.5, 1, len(self.settings)), rng.uniform(0.2, 0.5, len(self.settings))
        self.diverging, self.tried = diverging, []

    def __call__(self, folds, places):
        self.tried += [(place, fold) for place in places for fold in folds]
        return {(place, fold): self.answer(place) for place in places for fold in folds}

    def answer(self, place):
        gone = self.settings[place]["sigma"] in self.diverging
        return 7 if gone else margins(self.zsl[place], self.harmonic[place])

    def halved(self, **more):
        return halving.halved(self.settings, ("epochs", "sigma"), 3, self, **more)


def slow_halving(ledger, epochs, kept):
    """The twin: the runs that are on the last fold in the end, from three sorted lists for each figure."""
    at = {(one["sigma"], one["epochs"]): place for place, one in enumerate(ledger.settings)}
    runs = sorted({sigma for sigma, _ in at})
    for some, count in ((epochs[:1], max(2 * kept, math.ceil(len(runs) / 3))), (epochs, kept)):
        best = set()
        for figure in (ledger.zsl, ledger.harmonic):
            scores = {run: max(figure[at[run, e]] for e in some) for run in runs}
            best |= set(sorted(runs, key=scores.get, reverse=True)[:count])
        runs = sorted(best)
    return runs


@pytest.mark.parametrize(("runs", "kept"), [(5, 1), (9, 2), (36, 2)])
def test_the_rule_is_that_of_three_sorted_lists(runs, kept, monkeypatch):
    monkeypatch.setattr(halving, "KEPT", kept)
    monkeypatch.setattr(halving, "LONG", 2 * kept)
    ledger = Ledger(runs, (2, 4, 8))
    found = ledger.halved()
    assert {ledger.settings[place]["sigma"] for place, fold in found if fold == 2} == set(
        slow_halving(ledger, (2, 4, 8), kept)
    )
    assert len(set(ledger.tried)) == len(ledger.tried)  # nothing twice
    assert {(k, 0) for k, one in enumerate(ledger.settings) if one["epochs"] == 2} <= set(ledger.tried)


def test_short_runs_come_first_only_where_they_save_much(monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    monkeypatch.setattr(halving, "LONG", 2)
    for epochs in ((4, 8), (6,)):
        ledger = Ledger(5, epochs)
        ledger.halved()
        assert {place for place, fold in ledger.tried if fold == 0} == set(range(len(ledger.settings)))


def test_the_default_goes_on(monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    monkeypatch.setattr(halving, "LONG", 2)
    worst = Ledger(5, (2, 8))
    worst.zsl[6:8], worst.harmonic[6:8] = 0.4, 0.1
    assert (7, 2) not in worst.halved()
    assert {(6, 2), (7, 2)} <= set(worst.halved(always=7))


def test_what_diverges_early_is_not_trained_longer(monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    monkeypatch.setattr(halving, "LONG", 2)
    ledger = Ledger(5, (2, 8), diverging={0, 1, 2, 3})
    found = ledger.halved()
    assert [found[place, 0] for place in range(8)] == [7] * 8
    assert {place for place, fold in found if fold == 2} == {8, 9}
    assert not {(1, 0), (0, 1)} & set(ledger.tried)


def test_beyond_an_edge_only_what_no_choice_beats_goes_on():
    ledger = Ledger(4, (2, 8))
    ledger.zsl[:], ledger.harmonic[:] = 0.6, 0.3
    ledger.zsl[1], ledger.harmonic[4] = 0.8, 0.45
    found = ledger.halved(rivals=[margins(0.7, 0.3), margins(0.65, 0.4)])
    assert {place for place, fold in found if fold == 2} == {0, 1, 4, 5}  # all epochs of the runs 0 and 2
    assert {place for place, fold in found if fold == 0} == set(range(8))
    assert not [fold for _, fold in Ledger(4, (2, 8)).halved(rivals=[margins(1.0, 1.0)]) if fold]


def test_tune_says_what_it_dropped(monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    monkeypatch.setattr(halving, "LONG", 2)
    arguments = estimator(epochs=1), *TRAINING, {"sigma": [0.6, 1.0], "learning_rate": [1e-3, 1e-2]}, FOLDS
    alone = selection.tune(*arguments, engine=None, halving=True)
    assert f"{len(alone.search.dropped)} of the settings were dropped after the first fold" in str(alone)
    assert alone.best in [alone.settings[k] for k in range(len(alone.settings)) if k not in alone.search.dropped]
    default = alone.search.default
    assert default not in alone.search.dropped


def test_the_order_in_which_workers_finish_changes_nothing(halved, monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    monkeypatch.setattr(halving, "LONG", 2)
    in_turn = engines.each

    def reversed_each(*arguments):
        yield from reversed(list(in_turn(*arguments)))

    monkeypatch.setattr(engines, "each", reversed_each)
    again = selection.search(estimator(), *TRAINING, GRID, FOLDS, halving=True)
    assert again.dropped == halved[0].dropped
    np.testing.assert_array_equal(again.gzsl, halved[0].gzsl)


def test_steps_beyond_the_grid_are_halved_too(monkeypatch):
    monkeypatch.setattr(halving, "KEPT", 1)
    monkeypatch.setattr(halving, "LONG", 2)
    arguments = estimator(epochs=1), *TRAINING, {"sigma": [1.0, 0.5]}, FOLDS
    bounds = {"sigma": (0.01, 100.0)}
    whole = selection.search(*arguments, extend=bounds)
    few = selection.search(*arguments, extend=bounds, halving=True)
    beyond = set(range(len(few.settings) - few.extended, len(few.settings)))
    assert beyond & few.dropped
    for place in beyond - few.dropped:
        other = whole.settings.index(few.settings[place])
        np.testing.assert_array_equal(few.zsl[place], whole.zsl[other])


def test_tune_halves_kernels_where_the_first_fold_holds_out_enough_classes(monkeypatch):
    shared, grid = material(estimator(), *TRAINING, FOLDS), {"sigma": [0.6, 1.0]}
    assert not plan(shared, grid, halving=None).halving
    monkeypatch.setattr(halving, "CLASSES", 3)
    monkeypatch.setattr(halving, "KEPT", 1)
    monkeypatch.setattr(halving, "LONG", 2)
    assert plan(shared, grid, halving=None).halving
    assert not plan(replace(shared, estimator=ClassMeansClassifier()), {}, halving=None).halving
    tuned = selection.tune(estimator(epochs=1), *TRAINING, {"sigma": [0.3, 0.6, 2.0]}, FOLDS, engine=None)
    assert tuned.search.dropped


def test_a_batch_of_your_own_is_kept_with_the_rates_of_batches_of_ten():
    kernel = ZeroShotKernelClassifier
    assert all((part["batch_size"], part["learning_rate"]) == ((32,), (6e-4, 2e-3)) for part in own_grid(kernel())[0])
    for part in own_grid(kernel(batch_size=20))[0]:
        assert "batch_size" not in part
        assert tuple(part["learning_rate"]) == (3e-4, 1e-3)
    committee = in_tens(parts(methods.find("means-softmax").grid)[0])
    assert committee["softmax__learning_rate"] == (1e-4, 3e-4)
    assert committee["means__noise"] == (0.03, 0.1)
    assert not any(name.endswith("batch_size") for name in committee)


def test_what_is_no_flag_is_refused():
    with pytest.raises(ValueError, match="halving is 'yes'"):
        selection.search(estimator(), *TRAINING, GRID, FOLDS, halving="yes")
