"""The search tries every setting on every fold, as a lone fit would."""

import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler

from small_search import DATA, FOLDS, GRID, ROWS_APART, TRAINING, by_hand, estimator
from textbook import random_scores, slow_accuracies
from tolerances import AFTER_FIT, assert_close, distance
from zskl import (
    ClassMeansClassifier,
    Committee,
    ZeroShotKernelClassifier,
    baselines,
    engines,
    methods,
    metrics,
    selection,
)
from zskl.engines import Engine
from zskl.estimators.kernel_classifier import STACKABLE
from zskl.methods import METHODS, build, find, list_tried_values, split_grid, use_default_batches
from zskl.metrics import Margins, best_constant, row_margins
from zskl.selection import grid_search
from zskl.selection.class_folds import prepare_fold_data
from zskl.selection.grid_search import (
    FoldScorer,
    FoldTask,
    GridRange,
    combine_values,
    expand_grid,
    extend_search,
    find_next_grid_value,
    group_settings,
    plan_search,
    run_task,
)
from zskl.selection.search_results import Edge, Search, judge_settings
from zskl.selection.tuning import default_grid_of

# Grid search


def test_every_setting_on_every_fold_equals_a_lone_fit(found, monkeypatch):
    shared = prepare_fold_data(estimator(), *TRAINING, FOLDS)
    groups = group_settings(found.settings, ["epochs"])
    assert list(map(len, groups)) == [3] * 4
    monkeypatch.setattr(metrics, "best_scores", lambda scores, sides: scores)  # accuracies hide small differences
    monkeypatch.setattr(FoldScorer, "_margins", lambda self, scores, _: (scores, self.own, self.is_seen))
    for fold, places in itertools.product(range(3), groups[::3]):
        settings = [found.settings[place] for place in places]
        examined = dict(run_task(shared, FoldTask(fold, tuple(places), tuple(settings))))
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
    one = judge_settings([{}], FOLDS, {(0, fold): row_margins(*case) for fold, case in enumerate(cases)})
    constant, harmonic = best_constant([row_margins(*case) for case in cases])
    assert one.constants == [constant]
    np.testing.assert_array_equal(one.gzsl, [harmonic])
    np.testing.assert_allclose(
        one.raw[0], [metrics.harmonic_mean(*slow_accuracies(*case, 0.0)) for case in cases], atol=1e-12
    )
    assert one.zsl[0].tolist() == [row_margins(*case).zsl for case in cases]
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
    monkeypatch.setattr(ZeroShotKernelClassifier, "_free_settings", lambda self, X: ("epochs", *STACKABLE))
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


# Halving
# Halving: short runs on the first fold, the better ones longer, the best on the other folds, with the same figures.


@pytest.fixture(scope="module")
def halved():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_search, "KEPT_RUNS", 1)
        patch.setattr(grid_search, "LONG_RUNS", 2)
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
    runs = group_settings(found.settings, ["epochs"])
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
        return grid_search.search_by_halving(self.settings, ("epochs", "sigma"), 3, self, **more)


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
    monkeypatch.setattr(grid_search, "KEPT_RUNS", kept)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2 * kept)
    ledger = Ledger(runs, (2, 4, 8))
    found = ledger.halved()
    assert {ledger.settings[place]["sigma"] for place, fold in found if fold == 2} == set(
        slow_halving(ledger, (2, 4, 8), kept)
    )
    assert len(set(ledger.tried)) == len(ledger.tried)  # nothing twice
    assert {(k, 0) for k, one in enumerate(ledger.settings) if one["epochs"] == 2} <= set(ledger.tried)


def test_short_runs_come_first_only_where_they_save_much(monkeypatch):
    monkeypatch.setattr(grid_search, "KEPT_RUNS", 1)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2)
    for epochs in ((4, 8), (6,)):
        ledger = Ledger(5, epochs)
        ledger.halved()
        assert {place for place, fold in ledger.tried if fold == 0} == set(range(len(ledger.settings)))


def test_the_default_goes_on(monkeypatch):
    monkeypatch.setattr(grid_search, "KEPT_RUNS", 1)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2)
    worst = Ledger(5, (2, 8))
    worst.zsl[6:8], worst.harmonic[6:8] = 0.4, 0.1
    assert (7, 2) not in worst.halved()
    assert {(6, 2), (7, 2)} <= set(worst.halved(always=7))


def test_what_diverges_early_is_not_trained_longer(monkeypatch):
    monkeypatch.setattr(grid_search, "KEPT_RUNS", 1)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2)
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
    monkeypatch.setattr(grid_search, "KEPT_RUNS", 1)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2)
    arguments = estimator(epochs=1), *TRAINING, {"sigma": [0.6, 1.0], "learning_rate": [1e-3, 1e-2]}, FOLDS
    alone = selection.tune(*arguments, engine=None, halving=True)
    assert f"{len(alone.search.dropped)} of the settings were dropped after the first fold" in str(alone)
    assert alone.best in [alone.settings[k] for k in range(len(alone.settings)) if k not in alone.search.dropped]
    default = alone.search.default
    assert default not in alone.search.dropped


def test_the_order_in_which_workers_finish_changes_nothing(halved, monkeypatch):
    monkeypatch.setattr(grid_search, "KEPT_RUNS", 1)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2)
    in_turn = engines.each

    def reversed_each(*arguments):
        yield from reversed(list(in_turn(*arguments)))

    monkeypatch.setattr(engines, "each", reversed_each)
    again = selection.search(estimator(), *TRAINING, GRID, FOLDS, halving=True)
    assert again.dropped == halved[0].dropped
    np.testing.assert_array_equal(again.gzsl, halved[0].gzsl)


def test_steps_beyond_the_grid_are_halved_too(monkeypatch):
    monkeypatch.setattr(grid_search, "KEPT_RUNS", 1)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2)
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
    shared, grid = prepare_fold_data(estimator(), *TRAINING, FOLDS), {"sigma": [0.6, 1.0]}
    assert not plan_search(shared, grid, halving=None).halving
    monkeypatch.setattr(grid_search, "ENOUGH_CLASSES", 3)
    monkeypatch.setattr(grid_search, "KEPT_RUNS", 1)
    monkeypatch.setattr(grid_search, "LONG_RUNS", 2)
    assert plan_search(shared, grid, halving=None).halving
    assert not plan_search(replace(shared, estimator=ClassMeansClassifier()), {}, halving=None).halving
    tuned = selection.tune(estimator(epochs=1), *TRAINING, {"sigma": [0.3, 0.6, 2.0]}, FOLDS, engine=None)
    assert tuned.search.dropped


def test_a_batch_of_your_own_is_kept_with_the_rates_of_batches_of_ten():
    kernel = ZeroShotKernelClassifier
    assert all(
        (part["batch_size"], part["learning_rate"]) == ((32,), (6e-4, 2e-3)) for part in default_grid_of(kernel())[0]
    )
    for part in default_grid_of(kernel(batch_size=20))[0]:
        assert "batch_size" not in part
        assert tuple(part["learning_rate"]) == (3e-4, 1e-3)
    committee = use_default_batches(split_grid(methods.find("means-softmax").grid)[0])
    assert committee["softmax__learning_rate"] == (1e-4, 3e-4)
    assert committee["means__noise"] == (0.03, 0.1)
    assert not any(name.endswith("batch_size") for name in committee)


def test_halving_must_be_a_flag():
    with pytest.raises(ValueError, match="halving is 'yes'"):
        selection.search(estimator(), *TRAINING, GRID, FOLDS, halving="yes")


# Edges

EDGE_GRID = {"gamma": [0.1, 1.0, 10.0], "lam": [0.1, 0.3, 1.0]}


class Surface:
    """Made-up scores of both kinds in place of fits; it counts what is tried."""

    def __init__(self, zsl, gzsl=None, diverges=lambda setting: False):
        self.zsl, self.gzsl, self.diverges, self.tried = zsl, gzsl or zsl, diverges, []

    def __call__(self, settings):
        self.tried += settings
        lost = {place: 3 for place, setting in enumerate(settings) if self.diverges(setting)}
        zsl, gzsl = (
            np.array([[-np.inf if k in lost else score(one)] * len(FOLDS) for k, one in enumerate(settings)])
            for score in (self.zsl, self.gzsl)
        )
        return Search(tuple(settings), tuple(FOLDS), zsl, gzsl, zsl, zsl, np.zeros(len(settings)), lost)


def extended(model, grid, bounds, surface):
    settings = grid_search.expand_grid(grid, model)
    return extend_search(surface(settings), GridRange(model, settings, bounds), surface)


def near(**best):
    """Highest at these values, on a logarithmic scale."""
    return lambda setting: -sum(abs(math.log(setting[name] / value)) for name, value in best.items())


def slow_walk(surface, grid, bounds):
    """The twin: one scoring, two positive numbers by ratios; while one moves, all values of the other ride along."""
    a, b = grid
    scores = {(x, y): surface({a: x, b: y}) for x in grid[a] for y in grid[b]}
    while True:
        best = max(scores, key=lambda pair: (scores[pair], -list(scores).index(pair)))
        new = []
        for k, name in enumerate(grid):
            values = grid[name]
            for at_end, ratio, limit, beyond in (
                (best[k] <= values[0], values[0] / values[1], bounds[name][0], lambda x, y: x < y),
                (best[k] >= values[-1], values[-1] / values[-2], bounds[name][1], lambda x, y: x > y),
            ):
                line = [pair[k] for pair in scores if pair[1 - k] == best[1 - k]]
                if not at_end or any(beyond(value, best[k]) for value in line) or best[k] == limit:
                    continue
                value = float(f"{best[k] * ratio:.4g}")
                value = limit if beyond(value, limit) else value
                riders = [pair for pair in scores if pair[k] == best[k]]
                new += [(value, pair[1]) if k == 0 else (pair[0], value) for pair in riders]
        new = [pair for pair in dict.fromkeys(new) if pair not in scores]
        if not new:
            return best, scores
        scores.update({pair: surface({a: pair[0], b: pair[1]}) for pair in new})


@pytest.mark.parametrize(
    "best", [(1.0, 0.3), (500.0, 0.3), (0.002, 0.3), (1.0, 40.0), (3e3, 40.0), (3e3, 1e-4), (1e9, 1e9), (60.0, 1e-9)]
)
def test_the_rule_is_that_of_a_slow_walk(best):
    score, bounds = near(gamma=best[0], lam=best[1]), {"gamma": (1e-3, 2e3), "lam": (1e-3, 50.0)}
    found = extended(baselines.ESZSL(), EDGE_GRID, bounds, Surface(score))
    chosen, scores = slow_walk(score, EDGE_GRID, bounds)
    choice = found.pick("zsl")
    assert (choice.setting["gamma"], choice.setting["lam"]) == chosen
    assert {(one["gamma"], one["lam"]) for one in found.settings} == set(scores)
    assert len(found.settings) == len(scores)  # nothing twice
    assert found.extended == len(scores) - 9
    inside = all(low < value < high for value, (low, high) in zip(chosen, bounds.values(), strict=True))
    assert (not choice.edges) == inside
    assert all(edge.why == "bound" and edge.bound == edge.value for edge in choice.edges)


def test_each_scoring_is_followed_and_all_steps_of_a_round_go_together():
    rounds = []
    surface = Surface(near(gamma=90.0, lam=0.3), near(gamma=1.0, lam=0.02))
    settings = grid_search.expand_grid(EDGE_GRID, baselines.ESZSL())
    bounds = {"gamma": (1e-3, 1e3), "lam": (1e-3, 1e3)}

    def attempt(settings):
        rounds.append(settings)
        return surface(settings)

    found = extend_search(surface(settings), GridRange(baselines.ESZSL(), settings, bounds), attempt)
    assert found.pick("zsl").setting == {"gamma": 100.0, "lam": 0.3}
    assert found.pick("gzsl").setting["lam"] == 0.03333
    assert {(one["gamma"] > 10, one["lam"] < 0.1) for one in rounds[0]} == {(True, False), (False, True)}


@pytest.mark.parametrize(
    ("values", "value", "side", "bounds", "expected"),
    [
        ([5, 10, 20, 40], 40, "highest", (1, 320), 80),
        ([5, 10, 20, 40], 160, "highest", (1, 300), 300),
        ([5, 10, 20, 40], 300, "highest", (1, 300), None),
        ([1, 5, 10], 1, "lowest", (1, 300), None),
        ([5, 10, 20], 5, "lowest", (1, 300), 2),
        ([2, 4, 6], 6, "highest", (1, 300), 8),
        ([0.7, 1.0, 1.3], 1.3, "highest", (0.1, 5), 1.6),
        ([0.7, 1.0, 1.3], 0.4, "lowest", (0.2, 5), 0.2),
        ([0.0, 0.1, 0.2, 0.3], 0.3, "highest", (0, 0.6), 0.4),
        ([0.0, 0.1, 1.0], 1.0, "highest", (0, 9), 1.9),
        ([0.0, 0.1, 1.0], 0.0, "lowest", (0, 9), None),
        ([-1.0, 1.0], -1.0, "lowest", (-9, 9), -3.0),
        ([1.0, 4.0], 4.0, "highest", (0.25, 16), 16.0),
        ([0.03, 0.1], 0.03, "lowest", (0.003, 1), 0.009),
        ([0.1, 0.2, 0.45, 0.75], 0.75, "highest", (0.01, 1), 1.0),
        ([0.1, 0.2, 0.45, 0.75], 0.1, "lowest", (0.01, 1), 0.05),
        ([0.3, 1.0], 2.0, "highest", (0.1, 1.0), None),
        ([0.1, 0.3], 0.3, "highest", (0.1, 3 * 0.1), None),
    ],
)
def test_a_step_is_the_grid_s_own_and_ends_at_the_bound(values, value, side, bounds, expected):
    found = find_next_grid_value(values, value, side, bounds)
    assert found == expected
    assert type(found) is type(expected)


def test_a_value_that_diverges_ends_its_direction():
    surface = Surface(near(gamma=1e4, lam=0.3), diverges=lambda setting: setting["gamma"] > 100)
    found = extended(baselines.ESZSL(), EDGE_GRID, {"gamma": (1e-3, 1e6)}, surface)
    assert found.pick("zsl").setting == {"gamma": 100.0, "lam": 0.3}
    assert max(one["gamma"] for one in surface.tried) == 1000.0
    assert found.pick("zsl").edges == ()
    assert sorted(found.settings[place]["gamma"] for place in found.diverged) == [1000.0] * 3
    nothing = extended(baselines.ESZSL(), EDGE_GRID, {"gamma": (1e-3, 1e6)}, Surface(near(gamma=1), diverges=bool))
    assert nothing.extended == 0


@pytest.mark.parametrize("best", [0.3, 3 * 0.1])
def test_values_that_differ_by_rounding_are_the_same(best):
    """Neither hides the edge from the other, and the step is not from one to the other."""
    grid, bounds = {"gamma": [0.1, 0.3, 3 * 0.1]}, {"gamma": (0.01, 1.0)}
    surface = Surface(lambda one: float(one["gamma"] == best))
    found = extended(baselines.ESZSL(), grid, bounds, surface)
    assert [one["gamma"] for one in found.settings] == [0.1, 0.3, 3 * 0.1, 0.9]
    assert found.pick("zsl").edges == ()
    alone = extended(baselines.ESZSL(), grid, {}, surface)
    assert [(edge.name, edge.side) for edge in alone.pick("zsl").edges] == [("gamma", "highest")]


def test_edges_are_told_where_nothing_is_extended():
    score = near(gamma=1e9, lam=1e9)
    found = extended(baselines.ESZSL(), {**EDGE_GRID, "feature_scaling": ["l2", "none"]}, {}, Surface(score))
    assert found.pick("zsl").edges == (
        Edge("gamma", 10.0, "highest", None),
        Edge("lam", 1.0, "highest", None),
    )
    assert found.extended == 0
    single = extended(baselines.ESZSL(), {"gamma": [1.0], "lam": [0.1, 1.0]}, {"gamma": (0, 9)}, Surface(score))
    assert [edge.name for edge in single.pick("zsl").edges] == ["lam"]
    assert str(single.pick("zsl").edges[0]) == "lam=1 is the highest value tried (the grid was not extended)"


def test_a_setting_without_effect_has_no_edge():
    grid = {"kernel": ["gaussian", "linear"], "bandwidth": [1.0, 4.0], "noise": [0.03, 0.1]}
    settings = [{"kernel": "gaussian", "bandwidth": b, "noise": n} for b in (1.0, 4.0) for n in (0.03, 0.1)]
    settings += [{"kernel": "linear", "bandwidth": 1.0, "noise": n} for n in (0.03, 0.1)]
    surface = Surface(lambda one: (one["kernel"] == "linear") - abs(one["noise"] - 0.03))
    reach = GridRange(ClassMeansClassifier(), settings, {"bandwidth": (0.25, 16.0)})
    found = extend_search(surface(settings), reach, surface)
    assert found.pick("zsl").setting["kernel"] == "linear"
    assert [edge.name for edge in found.pick("zsl").edges] == ["noise"]
    assert found.extended == 0
    wide = Surface(lambda one: (one["kernel"] == "gaussian") - one["bandwidth"] - abs(one["noise"] - 0.03))
    found = extend_search(wide(settings), reach, wide)  # linear settings have this bandwidth too, without effect
    assert [one["kernel"] for one in found.settings[len(settings) :]] == ["gaussian"] * 2
    assert set(grid) == set(settings[0])


def test_the_longer_run_serves_all_epochs_and_the_others_stay(monkeypatch):
    """Real fits: a stack, as on a GPU, tries what single runs try."""
    grid = {"sigma": [0.6, 1.0], "epochs": [1, 2]}
    bounds = {"sigma": (0.5, 1.2), "epochs": (1, 4)}
    reports = []
    found = selection.search(
        estimator(batch_size=30), *TRAINING, grid, FOLDS, report=lambda *of: reports.append(of), extend=bounds
    )
    assert found.extended > 0
    assert [done for done, _ in reports] == list(range(1, len(reports) + 1))
    assert reports[-1] == (len(reports), len(reports))
    assert all(low <= high for low, high in reports)
    assert all(isinstance(one["epochs"], int) for one in found.settings)
    for scoring in ("zsl", "gzsl"):
        assert all(edge.why == "bound" for edge in found.pick(scoring).edges)
    monkeypatch.setattr(ZeroShotKernelClassifier, "_free_settings", lambda self, X: ("epochs", *STACKABLE[: len(X)]))
    stacked = selection.search(estimator(batch_size=30), *TRAINING, grid, FOLDS, extend=bounds)
    assert stacked.settings == found.settings


def test_members_of_a_committee_are_extended():
    members = Committee([("a", baselines.ESZSL()), ("b", baselines.SAE())])
    grid = {"a__gamma": [1e4, 1e5], "b__lam": [0.3, 1.0]}
    found = selection.search(members, *TRAINING, grid, FOLDS, extend={"a__gamma": (0.1, 1e6)})
    alone = selection.search(baselines.ESZSL(), *TRAINING, {"gamma": [1e4, 1e5]}, FOLDS, extend={"gamma": (0.1, 1e6)})
    assert alone.extended > 0
    chosen = found.pick("gzsl")
    assert chosen.setting["a__gamma"] in {alone.pick(scoring).setting["gamma"] for scoring in ("zsl", "gzsl")}
    assert [edge.name for edge in chosen.edges if edge.why == "not extended"] == ["b__lam"]
    with pytest.raises(ValueError, match="extend names 'weights': expected a setting of a member, such as 'a__"):
        selection.search(members, *TRAINING, grid, FOLDS, extend={"weights": (0, 1)})


@pytest.mark.parametrize(
    ("extend", "words"),
    [
        (3, "extend is 3: expected a mapping"),
        ({"gama": (0, 1)}, r"extend names 'gama'.*did you mean 'gamma'"),
        ({"gamma": (2, 1)}, r"extend\['gamma'\] is \(2, 1\): expected \(lowest, highest\)"),
        ({"gamma": 5}, r"extend\['gamma'\] is 5: expected"),
        ({"gamma": (-1.0, 5)}, "gamma is -1.0: expected a finite number"),
    ],
)
def test_wrong_bounds_are_refused_before_any_work(extend, words):
    with pytest.raises(ValueError, match=words):
        selection.search(baselines.ESZSL(), *TRAINING, EDGE_GRID, FOLDS, extend=extend)


def test_an_edge_says_why_it_stays_there():
    assert str(Edge("lam", 0.1, "lowest")) == "lam=0.1 is the lowest value tried (the grid was not extended)"
    assert str(Edge("lam", 10.0, "highest", 10.0)) == "lam=10 is the highest value tried (its bound)"


def test_bounds_of_every_method_hold_its_grid():
    for name, method in methods.METHODS.items():
        for setting, (low, high) in method.bounds.items():
            values = list_tried_values(method.grid, setting)
            assert low <= min(values), name
            assert max(values) <= high, name
            assert set(map(type, values)) <= {int, float}, name


def test_extension_sees_no_test_row():
    """The other rows and signatures are replaced; nothing that was tried or chosen moves."""
    rows = DATA.parts["trainval"]
    grid, bounds = {"gamma": [1e4, 1e5]}, {"gamma": (0.1, 1e6)}
    X = np.full_like(DATA.X, 1e6)
    X[rows] = DATA.X[rows]
    changed = DATA.signatures.copy()
    changed.loc[DATA.unseen_classes] = 7.0
    first = selection.search(baselines.ESZSL(), *TRAINING, grid, FOLDS, extend=bounds)
    other = selection.search(baselines.ESZSL(), X[rows], DATA.y[rows], changed, grid, FOLDS, extend=bounds)
    assert first.settings == other.settings
    assert first.pick("gzsl") == other.pick("gzsl")


def test_a_default_that_is_not_a_number_has_no_edge():
    found = selection.tune(baselines.SJE(epochs=1), *TRAINING, {"random_state": [0, 1]}, FOLDS, engine=None)
    assert {"random_state": None} in list(found.settings)


# Grid
# Grids become settings, and settings that one fit serves become groups.


def test_grids_expand_and_group():
    settings = expand_grid(
        [{"sigma": (1, 2), "epochs": [1, 2]}, {"sigma": 1, "epochs": 1}, {"init": "uniform"}], estimator()
    )
    assert len(settings) == 5
    assert settings[-1] == {"init": "uniform"}
    groups = group_settings(settings, ["epochs"])
    assert sorted(map(len, groups)) == [1, 2, 2]
    for places in groups:
        assert len({repr({k: v for k, v in settings[p].items() if k != "epochs"}) for p in places}) == 1


@pytest.mark.parametrize("part", [{}, {"b": [1, 2], "a": ["x", None]}, {"sigma": [2, 1], "C": [3]}])
def test_settings_come_in_the_order_of_scikit_learn(part):
    assert list(combine_values(part)) == list(ParameterGrid(part))


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"means-softmax"}))  # see test_composite_search.py
def test_every_method_has_a_default_grid_that_runs(name):
    grid = find(name).grid
    settings = expand_grid(grid, build(name))
    assert len(settings) >= (5 if name == "conse" else 12)
    # Class means look at the features themselves, by feature_scaling="auto"; the paper fixes how it scales them.
    scales_by_itself = name == "class-means" or name.endswith(("-printed", "-eq8"))
    assert scales_by_itself or all("feature_scaling" in part for part in split_grid(grid))


def test_the_order_of_settings_in_a_group_does_not_matter(found):
    """The order of settings in a group, and their number, do not matter."""
    for order in itertools.islice(itertools.permutations(range(3)), 3):
        grid = [{"sigma": [0.6], "learning_rate": [1e-3], "epochs": [[1, 3, 4][i]]} for i in order]
        other = selection.search(clone(estimator()), *TRAINING, grid, FOLDS)
        for place, setting in enumerate(other.settings):
            np.testing.assert_array_equal(other.zsl[place], found.zsl[found.settings.index(setting)])
