"""A choice at the edge of a grid is followed by the grid's own step, until it is inside or at its bound."""

import itertools
import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from small_search import DATA, FOLDS, TRAINING, estimator
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines, methods, selection
from zskl.estimators.kernel_classifier import STACKABLE
from zskl.methods import METHODS, build, find, list_tried_values, split_grid
from zskl.selection import grid as grids
from zskl.selection.grid import Edge, GridRange, combine_values, expand_grid, group_settings, next_value
from zskl.selection.grid_search import extend_search
from zskl.selection.search_results import Search

# Edges

GRID = {"gamma": [0.1, 1.0, 10.0], "lam": [0.1, 0.3, 1.0]}


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
    settings = grids.expand_grid(grid, model)
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
    found = extended(baselines.ESZSL(), GRID, bounds, Surface(score))
    chosen, scores = slow_walk(score, GRID, bounds)
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
    settings = grids.expand_grid(GRID, baselines.ESZSL())
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
    found = next_value(values, value, side, bounds)
    assert found == expected
    assert type(found) is type(expected)


def test_a_value_that_diverges_ends_its_direction():
    surface = Surface(near(gamma=1e4, lam=0.3), diverges=lambda setting: setting["gamma"] > 100)
    found = extended(baselines.ESZSL(), GRID, {"gamma": (1e-3, 1e6)}, surface)
    assert found.pick("zsl").setting == {"gamma": 100.0, "lam": 0.3}
    assert max(one["gamma"] for one in surface.tried) == 1000.0
    assert found.pick("zsl").edges == ()
    assert sorted(found.settings[place]["gamma"] for place in found.diverged) == [1000.0] * 3
    nothing = extended(baselines.ESZSL(), GRID, {"gamma": (1e-3, 1e6)}, Surface(near(gamma=1), diverges=bool))
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
    found = extended(baselines.ESZSL(), {**GRID, "feature_scaling": ["l2", "none"]}, {}, Surface(score))
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
        selection.search(baselines.ESZSL(), *TRAINING, GRID, FOLDS, extend=extend)


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
    assert all("feature_scaling" in part for part in split_grid(grid))


def test_the_order_of_settings_in_a_group_does_not_matter(found):
    """The order of settings in a group, and their number, do not matter."""
    for order in itertools.islice(itertools.permutations(range(3)), 3):
        grid = [{"sigma": [0.6], "learning_rate": [1e-3], "epochs": [[1, 3, 4][i]]} for i in order]
        other = selection.search(clone(estimator()), *TRAINING, grid, FOLDS)
        for place, setting in enumerate(other.settings):
            np.testing.assert_array_equal(other.zsl[place], found.zsl[found.settings.index(setting)])
