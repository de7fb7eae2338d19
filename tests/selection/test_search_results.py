"""The default setting is compared in every search, and wins unless another is better beyond the spread of the folds."""

import logging
import statistics
from dataclasses import replace

import numpy as np
import pytest

from small_search import DATA, FOLDS, TRAINING
from zskl import Committee, baselines, datasets, methods, selection
from zskl.experiments.unit import Unit
from zskl.methods import list_tried_values, split_grid
from zskl.selection import AgainstDefault, Search, grid_search
from zskl.selection.grid_search import expand_grid, group_settings
from zskl.selection.search_results import Search as Search_search_results
from zskl.selection.search_results import is_wide_result, prefer_default

# Against default

UNSURE, SURE = (0.9, 0.5, 0.4), (0.7, 0.6, 0.65)  # on three folds; both have higher means than the default
DEFAULT = (0.55, 0.5, 0.5)


def slow_winner(scores, default):
    """The rule as the docs say it, fold by fold."""
    best = max(range(len(scores)), key=lambda place: sum(scores[place]))
    apart = [a - b for a, b in zip(scores[best], scores[default], strict=True)]
    mean = sum(apart) / len(apart)
    spread = (sum((one - mean) ** 2 for one in apart) / (len(apart) - 1)) ** 0.5
    return best if mean > spread else default


def test_rule_for_the_default_equals_its_slow_twin():
    draw = np.random.default_rng(0)
    won = set()
    for _ in range(200):
        scores = draw.uniform(0.3, 0.7, size=(5, 3)) * 0.3 + draw.uniform(0.3, 0.7, size=3) * 0.7
        ranking = np.argsort(-scores.mean(axis=1), kind="stable")
        order = prefer_default(ranking, scores, default=2)
        assert order[0] == slow_winner(scores.tolist(), 2)
        assert sorted(order) == list(range(5))
        won.add((bool(order[0] == 2), bool(order[0] == ranking[0])))
    assert won >= {(True, False), (False, True)}  # it is kept though another has a higher mean, and replaced


@pytest.fixture
def scored(monkeypatch):
    """Sets the scores of ESZSL by gamma, whatever the folds say."""

    def plan(**scores):
        wanted = {float(name[1:]): values for name, values in scores.items()}
        judge = grid_search.judge_settings

        def made_up(settings, folds, found):
            given = np.array([wanted[setting["gamma"]] for setting in settings])
            return replace(judge(settings, folds, found), zsl=given, gzsl=given)

        monkeypatch.setattr(grid_search, "judge_settings", made_up)
        grid = {"gamma": tuple(one for one in wanted if one != 1.0)}
        monkeypatch.setitem(methods.METHODS, "eszsl", replace(methods.METHODS["eszsl"], grid=grid, bounds={}))
        return grid

    return plan


@pytest.mark.parametrize(
    ("other", "chosen", "words"),
    [
        (UNSURE, 1.0, "kept: the best other is 8.3 points better, no more than the differences spread over folds"),
        (SURE, 10.0, "replaced: the chosen one is 13.3 points better, more than the differences spread over"),
    ],
)
def test_tune_and_run_keep_the_default_unless_another_is_clearly_better(scored, other, chosen, words):
    grid = scored(g1=DEFAULT, g10=other)
    tuned = selection.tune(baselines.ESZSL(), *TRAINING, grid, FOLDS, engine=None)
    assert tuned.best["gamma"] == tuned.model.gamma == chosen
    assert tuned.against_default.kept is (chosen == 1.0)
    assert str(tuned.against_default).startswith(f"the default setting is {words}")
    assert words in str(tuned)
    record = Unit("eszsl", 0, tune=True, calibrate=True).run(DATA)
    assert record.config["gamma"] == chosen
    assert record.tune.choices.zsl.against_default == record.tune.choices.gzsl.against_default == tuned.against_default
    assert type(record).from_json(record.to_json()) == record
    fixed = Unit("eszsl", 0, tune=True, calibrate=True, fixed_grid={"gamma": (10.0,)})  # as the paper's table
    assert fixed.run(DATA).config["gamma"] == 10.0
    assert fixed.key(DATA) != Unit("eszsl", 0, tune=True, calibrate=True).key(DATA)


def test_only_the_best_setting_can_replace_the_default(scored):
    grid = scored(g1=DEFAULT, g10=(1.0, 0.5, 0.48), g100=SURE)
    tuned = selection.tune(baselines.ESZSL(), *TRAINING, grid, FOLDS, engine=None)
    assert tuned.against_default.kept  # though 100 would pass: of many settings some do by luck
    assert tuned.search.ranking("zsl").tolist() == [0, 1, 2]
    assert tuned.search.order("zsl").tolist() == [2, 0, 1]


def test_default_is_kept_among_equals():
    equal = np.tile(DEFAULT, (2, 1))
    found = Search(({}, {}), FOLDS, equal, equal, equal, equal, np.zeros(2), {}, default=1, keeps_default=True)
    choice = found.pick("zsl")
    assert (choice.place, str(choice.against_default)) == (1, "the default setting is kept: no other has a higher mean")
    assert replace(found, keeps_default=False).pick("zsl").against_default is None


def test_a_default_that_diverges_is_replaced_and_a_single_fold_has_no_spread():
    lost = np.array([[0.4, 0.4], [-np.inf, -np.inf]])
    assert prefer_default(np.array([0, 1]), lost, 1).tolist() == [0, 1]
    single = np.array([[0.5], [0.4]])
    assert prefer_default(np.array([0, 1]), single, 1).tolist() == [0, 1]
    assert str(AgainstDefault(False)) == "the default diverged"


def test_the_default_of_a_committee_is_compared_as_it_would_be_fitted():
    """The slow twin: its own members, weights and temperatures, fitted on a fold."""
    committee = Committee([("a", baselines.ESZSL(gamma=3.0)), ("b", baselines.SAE())], weights=None)
    found = selection.search(committee, *TRAINING, {"a__gamma": [0.1, 1.0]}, FOLDS, with_default=True)
    setting = found.settings[found.default]
    assert setting == {"a__gamma": 3.0, "weights": [1.0, 1.0], "member_temperatures": [1.0, 1.0]}
    X, y, table = TRAINING
    for number, fold in enumerate(FOLDS):
        model = Committee(committee.members).fit(X[fold.train], y[fold.train], table)
        held = np.unique(y[fold.val_unseen])
        right = model.predict(X[fold.val_unseen], candidates=held) == y[fold.val_unseen]
        mean = np.mean([right[y[fold.val_unseen] == label].mean() for label in held])
        assert found.zsl[found.default, number] == pytest.approx(mean, rel=1e-9)


def test_few_training_classes_are_told_once(caplog):
    caplog.set_level(logging.WARNING)
    few = [line for line in _messages(DATA, caplog) if "validation is weak" in line]
    assert few == [
        "validation is weak: there are 9 training classes, and a fold holds out 3 of them; a setting that is chosen so "
        "may do worse on new classes than the default"
    ]
    assert not [line for line in _messages(datasets.make_synthetic(12, 3, 8), caplog) if "weak" in line]


def _messages(data, caplog):
    caplog.clear()
    selection.tune(baselines.ESZSL(), *data.samples("trainval"), data.signatures, {"gamma": [3.0]}, engine=None)
    return caplog.messages


# Class means look at the columns themselves, by feature_scaling="auto"; what is printed has the paper's scaling.
@pytest.mark.parametrize(
    "name",
    sorted(
        one
        for one in methods.METHODS.keys() - methods.ADAPTERS.keys()
        if one != "class-means" and not one.endswith(("-printed", "-eq8"))
    ),
)
def test_every_default_grid_has_standardised_features_at_little_cost(name):
    method, model = methods.METHODS[name], methods.build(name)
    named = [one for one in model._settings() if one.endswith("feature_scaling")]
    names = [one for one in named if one in split_grid(method.grid)[0]]
    assert names
    assert all("standardize-l2" in list_tried_values(method.grid, one) for one in names)
    first, *others = split_grid(method.grid)
    for part in others:
        assert part.keys() == first.keys()
        assert all(set(part[one]) <= set(first[one]) for one in part if one not in names)
    if method.random and name != "means-softmax":  # trained by descent
        before, now = (
            len(group_settings(expand_grid(grid, model), model.FREE or ("epochs",))) for grid in (first, method.grid)
        )
        assert now <= 1.3 * before


# Steadiness
# A setting whose figures differ widely between folds gives way to a steady one that is nearly as good.


def search(zsl, seen, gzsl):
    n = len(zsl)
    return Search_search_results(
        tuple({"gamma": float(k)} for k in range(n)),
        tuple(FOLDS),
        *(np.array(one, float) for one in (zsl, gzsl, seen, seen)),
        np.zeros(n),
        {k: 1 for k in range(n) if not np.isfinite(zsl[k]).all()},
    )


def slow_choice(means, seen, gzsl):
    """The twin: the best; if it is unsteady, the best steady one at most half a point below."""

    def unsteady(k):
        return any(
            statistics.stdev(values) > 0.05 and statistics.stdev(values) > 0.2 * statistics.mean(values)
            for values in (seen[k], gzsl[k])
        )

    best = max(range(len(means)), key=lambda k: (means[k], -k))
    if unsteady(best):
        steady = [k for k in range(len(means)) if not unsteady(k) and means[k] >= means[best] - 0.005]
        best = max(steady, key=lambda k: (means[k], -k), default=best)
    return best


@pytest.mark.parametrize("seed", range(40))
def test_the_choice_is_that_of_the_slow_twin(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 7))
    zsl = (0.3 + 0.003 * draw.integers(0, 6, n))[:, None] * np.ones((1, 3))
    seen, gzsl = (np.abs(0.3 + draw.choice([0.01, 0.15], (n, 1)) * draw.standard_normal((n, 3))) for _ in range(2))
    found = search(zsl, seen, gzsl)
    expected = slow_choice(zsl[:, 0].round(9).tolist(), seen.tolist(), gzsl.tolist())
    ranking = found.ranking("zsl")
    assert ranking[0] == found.pick("zsl").place == expected
    assert sorted(ranking) == list(range(n))
    rest = zsl[ranking[1:], 0]
    assert (np.diff(rest) <= 1e-9).all()


def test_a_choice_tells_its_spreads():
    found = search([[0.275, 0.272, 0.245]], [[0.434, 0.402, 0.080]], [[0.224, 0.221, 0.005]])  # gaussian-ort on AWA1
    choice = found.pick("zsl")
    assert choice.wide == ("seen", "gzsl")
    assert choice.steadiness["seen"] == pytest.approx(statistics.stdev([0.434, 0.402, 0.080]), rel=1e-9)
    assert choice.spread == choice.steadiness["zsl"]
    assert search([[0.2, 0.3, 0.3]], [[0.458, 0.436, 0.39]], [[0.24, 0.26, 0.24]]).pick("zsl").wide == ()  # ESZSL there


def test_wide_needs_both_points_and_a_share():
    assert (
        is_wide_result([[0.1, 0.3], [0.8, 0.9], [0.01, 0.05], [0.5, 0.5], [-np.inf, -np.inf]]).tolist()
        == [True] + [False] * 4
    )
    assert not is_wide_result([0.4])
    assert not is_wide_result([])


def test_tune_warns_in_one_line(caplog, monkeypatch):
    monkeypatch.setattr("zskl.selection.search_results.POINTS", -1.0)
    monkeypatch.setattr("zskl.selection.search_results.SHARE", -1.0)
    with caplog.at_level(logging.WARNING):
        selection.tune(baselines.ESZSL(), *TRAINING, {"gamma": [1.0, 3.0]}, FOLDS, engine=None)
    weak, line = caplog.messages
    assert "validation is weak: there are 9 training classes" in weak
    assert "seen accuracy from" in line
    assert "validation folds" in line
