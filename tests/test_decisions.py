"""Sets, "unknown" and answers of a given risk: thresholds against slow twins, and what they hold on new classes."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import zskl
from zskl import ClassMeansClassifier, baselines, datasets, decisions, export, selection
from zskl.decisions import RISKS, SHARES, Curve, Decider, Decisions, Hierarchy, fit_decisions


@pytest.fixture(scope="module")
def data():
    return datasets.make_synthetic(24, 8, 24, 12, 9, noise=0.9, seed=3)


@pytest.fixture(scope="module")
def tree(data):
    return {name: [f"genus {k // 3}", f"family {k // 9}"] for k, name in enumerate(map(str, data.class_names))}


@pytest.fixture(scope="module")
def model(data, tree):
    X, y = data.samples("trainval")
    fitted = ClassMeansClassifier().fit(X, y, data.signatures, hierarchy=tree)
    return selection.calibrate(fitted, X, y, data.signatures, few_shot=False)


def scored(seed=0, rows=6, classes=12, strength=1.5):
    """Validation rows of two draws: scores (n, c), own columns, seen columns."""
    draw, found = np.random.default_rng(seed), []
    for held in (range(3), range(3, 6)):
        own = np.repeat(np.arange(classes), draw.integers(2, rows + 1, classes))
        scores = draw.normal(size=(len(own), classes))
        scores[np.arange(len(own)), own] += strength
        found.append((scores, own, ~np.isin(np.arange(classes), list(held))))
    return found


def slow_quantile(values, weights, level):
    """The least value such that values up to it have a share `level` of all weight."""
    for value in sorted(values):
        if sum(w for v, w in zip(values, weights, strict=True) if v <= value) / sum(weights) >= level - 1e-9:
            return value
    return np.inf


TEMPERATURES = {"seen": 1.0, "unseen": 1.0, "mixed": 0.5, "mixed_seen": 0.5, "mixed_unseen": 0.25}


def test_limits_of_sets_are_quantiles_over_classes_of_each_side():
    parts, constant = scored(), 0.3
    found = fit_decisions(parts, constant, TEMPERATURES, range(12))
    for side, name in ((True, "mixed_seen"), (False, "mixed_unseen")):
        values, weights, classes = [], [], set()
        for scores, own, seen in parts:
            for row, mine in zip(scores, own, strict=True):
                if seen[mine] == side:
                    row = row - constant * seen
                    values.append((max(row) - row[mine]) / TEMPERATURES["mixed"])
                    weights.append(1 / sum(own == mine))
                    classes.add(mine)
        n = max(sum(seen[own] == side) for _, own, seen in parts) if side else len(classes)
        for place in (20, 60, len(SHARES) - 1):
            expected = slow_quantile(values, weights, SHARES[place] * (1 + 1 / n))
            assert found.sets[name].whole[place] == pytest.approx(expected)
    # A planted fault: rows that count the same, whatever the size of their class, give other limits.
    even = [slow_quantile(values, np.ones(len(values)), level * (1 + 1 / n)) for level in SHARES]
    assert not np.allclose(found.sets["mixed_unseen"].whole, even)


def test_few_classes_cannot_promise_much():
    """Six held-out classes: with one more, of which nothing is known, 90 % cannot be promised but by all classes."""
    found = fit_decisions(scored(), 0.0, TEMPERATURES, range(12))
    assert np.isinf(found.sets["mixed_unseen"].at(0.9, 12, up=True))
    assert np.isfinite(found.sets["mixed_unseen"].at(0.8, 12, up=True))
    assert np.isfinite(found.sets["mixed_seen"].at(0.9, 12, up=True))


def test_thresholds_go_on_with_the_doublings_of_candidates():
    curve = Curve((0.5, 0.9), (1.0, 2.0), (0.8, 1.5), 100)
    assert curve.at(0.9, 100, up=True) == 2.0
    assert curve.at(0.9, 50, up=True) == 1.5
    assert curve.at(0.9, 10, up=True) == 1.5  # no less than was tried
    assert curve.at(0.9, 400, up=True) == 3.0
    assert curve.at(0.6, 100, up=True) == 2.0  # the careful side
    assert curve.at(0.6, 100, up=False) == 1.0
    assert curve.at(0.95, 100, up=True) is None
    assert curve.at(0.4, 100, up=False) is None
    assert Curve._from_json(json.loads(json.dumps(curve._to_json()))) == curve


def test_rows_below_a_quantile_of_known_rows_are_unknown():
    parts = scored(strength=2.5)
    found = fit_decisions(parts, 0.0, TEMPERATURES, range(12))
    values, weights = [], []
    sides = [sum(len(set(own[seen[own] == side].tolist())) for _, own, seen in parts) for side in (True, False)]
    for scores, own, seen in parts:
        for row, mine in zip(scores, own, strict=True):
            first, second = sorted(row)[:-3:-1]
            values.append(first + found.lead * (first - second))
            weights.append(0.5 / sides[0 if seen[mine] else 1] / sum(own == mine))
    expected = slow_quantile(values, weights, 0.05)
    curve = found.known["mixed"]
    assert curve.at(0.05, 12, up=False) == pytest.approx(expected)
    model = SimpleNamespace(decisions_=found, temperatures_=TEMPERATURES, hierarchy_=None)
    decider = Decider(model, [f"c{k}" for k in range(12)], parts[0][2], reject=0.05)
    expected_unknown = [v < expected for v in values[: len(parts[0][1])]]
    assert decider.unknown(parts[0][0]).tolist() == expected_unknown


def test_the_lead_counts_where_it_tells_rows_of_no_class():
    draw = np.random.default_rng(0)
    parts = scored(strength=0.0)
    for scores, own, _ in parts:
        scores[:] = draw.normal(size=scores.shape) * 0.1 + draw.normal(size=(len(own), 1))
        scores[np.arange(len(own)), own] += 1.0  # the lead says more than the best score
    assert fit_decisions(parts, 0.0, TEMPERATURES, range(12)).lead > 1
    none = np.sort(draw.normal(size=(50, 12)), axis=1) - 5  # far below, with a lead of their own
    none[:, -1] += 3
    assert fit_decisions(parts, 0.0, TEMPERATURES, range(12), none_of_these=none).lead == 0.0


def test_area_under_the_curve_is_the_share_of_pairs_in_order():
    draw = np.random.default_rng(0)
    known, unknown = draw.integers(0, 6, 30).astype(float), draw.integers(-2, 4, 20).astype(float)
    pairs = [(a > b) + 0.5 * (a == b) for a in known for b in unknown]
    assert decisions.area_under_curve(known, unknown) == pytest.approx(np.mean(pairs))


def test_answers_of_a_risk_are_the_deepest_safe_nodes():
    """Level after level, on validation rows: no more than the risk is wrong, and one node more would be."""
    tree = Hierarchy.read({k: f"group {k // 3}" for k in range(12)})
    parts = scored(rows=9, strength=2.5)
    found = fit_decisions(parts, 0.0, TEMPERATURES, range(12), tree)
    everyone = len({int(mine) for _, own, _ in parts for mine in own})
    for risk in (0.2, 0.3):
        least = [curve.whole[RISKS.index(risk)] for curve in found.depths["mixed"]]
        for share in decisions.MIXES:
            rows = []  # (level 0: sure, right), (level 1: sure, right), weight
            for scores, own, seen in parts:
                count = {s: sum(len(set(o[v[o] == s].tolist())) for _, o, v in parts) for s in (True, False)}
                for row, mine in zip(scores, own, strict=True):
                    T = TEMPERATURES["mixed_seen" if seen[row.argmax()] else "mixed_unseen"]
                    p = softmax(row / T)
                    groups = p.reshape(4, 3).sum(axis=1)
                    weight = (1 - share if seen[mine] else share) / count[bool(seen[mine])] / sum(own == mine)
                    odds = [np.log(q.max() / (1 - q.max())) for q in (p, groups)]
                    right = [p.argmax() == mine, groups.argmax() == mine // 3]
                    rows.append((odds, right, weight))
            for level in (0, 1):
                if level:
                    rows = [one for one in rows if one[0][0] < least[0]]
                sure = [(one[1][level], one[2]) for one in rows if one[0][level] >= least[level]]
                wrong = sum(w for right, w in sure if not right) + 1 / everyone
                assert not sure or wrong <= risk * (sum(w for _, w in sure) + 1 / everyone) + 1e-9


def test_answers_follow_thresholds_from_the_class_up():
    tree = Hierarchy.read({"a": "x", "b": "x", "c": "y"})
    curves = tuple(Curve((0.1,), (least,), (least,), 3) for least in (np.log(0.7 / 0.3), np.log(0.8 / 0.2)))
    known = Decisions({}, {}, 0.0, {"seen": curves})
    model = SimpleNamespace(decisions_=known, temperatures_={"seen": 1.0}, hierarchy_=tree)
    decider = Decider(model, ["a", "b", "c"], [True] * 3, risk=0.1)
    rows = np.log([[0.75, 0.15, 0.1], [0.5, 0.4, 0.1], [0.4, 0.2, 0.4]])
    assert decider.nodes(rows).tolist() == ["a", "x", "unknown"]


def test_sets_hold_the_class_of_rows_of_both_sides(model, data):
    """Not a proof, which needs many draws (benchmarks/decisions.py): here neither side is far below."""
    for part in ("test_seen", "test_unseen"):
        X, y = data.samples(part)
        sets = model.predict_set(X, 0.8)
        held = [label in one for label, one in zip(y.tolist(), sets, strict=True)]
        assert np.mean(held) > 0.65
        assert [one[0] for one in sets] == model.predict(X).tolist()
        wider = model.predict_set(X, 0.9)
        assert all(set(few) <= set(many) for few, many in zip(sets, wider, strict=True))
        alone = model.predict_set(X, 0.8, candidates=data.unseen_classes)
        assert {name for one in alone for name in one} <= set(data.unseen_classes.tolist())


def test_all_of_it_is_in_the_model_file(model, data, tmp_path):
    X, _ = data.samples("test_unseen")
    model.save(tmp_path / "m.zskl")
    again = zskl.load(tmp_path / "m.zskl")
    assert again.predict_set(X) == model.predict_set(X)
    for options in ({"reject": 0.1}, {"risk": 0.2}, {"risk": 0.2, "reject": 0.3}):
        np.testing.assert_array_equal(again.predict(X, **options), model.predict(X, **options))
    assert again.hierarchy_ == model.hierarchy_
    about = json.loads(json.dumps(export.describe(model)))
    assert Decisions._from_json(about["decisions"])._to_json() == model.decisions_._to_json()
    assert about["hierarchy"]["levels"] == ["level 1", "level 2"]


def test_reject_and_risk_answer_unknown_and_parents(model, data):
    X, _ = data.samples("test_unseen")
    plain, told = model.predict(X), model.predict(X, reject=0.3)
    assert set(told[told != plain]) == {"unknown"}
    assert (model.predict(X, reject=0) == plain).all()
    some = model.predict(X, risk=0.4)
    report = model.hierarchy_.report(data.y[data.parts["test_unseen"]], some, model.candidates_)
    assert set(report.index) == {"class", "level 1", "level 2", "unknown", "all"}
    assert report["answered"].drop("all").sum() == pytest.approx(1)
    parents = {name for line in model.hierarchy_.parents.values() for name in line}
    assert set(some) <= {*model.candidates_, *parents, "unknown"}


@pytest.mark.parametrize("name", ["coverage", "reject", "risk"])
def test_wrong_shares_and_uncalibrated_models_are_refused(model, data, name):
    X, y = data.samples("test_seen")

    def ask(one, share):
        return one.predict_set(X, share) if name == "coverage" else one.predict(X, **{name: share})

    for wrong in (1.0, -0.1, True, "half"):
        with pytest.raises((ValueError, TypeError), match="expected a number between 0 and 1"):
            ask(model, wrong)
    with pytest.raises(ValueError, match=r"call selection\.calibrate on it"):
        ask(ClassMeansClassifier().fit(X, y, data.signatures), 0.1)


def test_reject_means_a_probability_where_the_model_is_of_an_earlier_version(data):
    X, y = data.samples("trainval")
    old = ClassMeansClassifier().fit(X, y, data.signatures)
    old.temperatures_ = dict.fromkeys(("seen", "unseen", "mixed"), 0.1)
    with pytest.warns(FutureWarning, match="min_probability"):
        told = old.predict(X, reject=0.4)
    np.testing.assert_array_equal(told, old.predict(X, min_probability=0.4))


def test_high_shares_look_like_the_old_meaning(model, data):
    with pytest.warns(FutureWarning, match="share of rows of known classes"):
        model.predict(data.X[:2], reject=0.6)


def test_a_tree_is_read_in_every_form(data):
    lines = {"crow": ("Corvus", "Corvidae"), "jay": ("Cyanocitta", "Corvidae"), "owl": (None, "Strigidae")}
    expected = Hierarchy(("genus", "family"), lines)
    table = pd.DataFrame(lines.values(), index=lines, columns=["genus", "family"])
    assert Hierarchy.read(table) == expected
    assert Hierarchy.read(table.rename_axis("class").reset_index()) == expected
    words = table.assign(size=[2, 1, 3])
    assert Hierarchy.read(["genus", "family"], words) == expected
    chain = {
        "crow": "Corvus",
        "jay": "Cyanocitta",
        "owl": [None, "Strigidae"],
        "Corvus": "Corvidae",
        "Cyanocitta": "Corvidae",
    }
    assert Hierarchy.read(chain).parents == lines
    assert Hierarchy._from_json(json.loads(json.dumps(expected._to_json()))) == expected
    signatures, tree = decisions.take_parents(words, ["genus", "family"])
    assert list(signatures.columns) == ["size"]
    assert tree == expected
    rows = np.array([[2.0, 0], [1, 1], [0, 2], [2, 0.1]])
    model = ClassMeansClassifier().fit(rows, ["crow", "jay", "owl", "crow"], words, hierarchy=["genus", "family"])
    assert model.hierarchy_ == expected
    assert list(model.attribute_names_) == ["size"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"a": "b", "b": "a"}, "circle"),
        ({"a": "x", "b": ["y", "x"]}, "two levels"),
        ({"a": "unknown"}, "rename it"),
        ({}, "expected a table"),
        (7, "expected a table"),
        (["genus"], "no data frame"),
    ],
)
def test_what_is_no_tree_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Hierarchy.read(given)


def test_the_report_counts_levels_and_information():
    tree = Hierarchy.read({"a": "x", "b": "x", "c": "y", "d": "y"})
    found = tree.report(["a", "b", "c", "d"], ["a", "x", "d", "unknown"], list("abcd"))
    assert found["answered"].tolist() == [0.5, 0.25, 0.25, 1.0]
    assert found["wrong"]["class"] == 0.5
    assert found["wrong"]["level 1"] == 0
    assert found["accuracy"]["level 1"] == 1.0  # d for c is the right parent
    assert found["information"]["level 1"] == pytest.approx(0.5)  # two of four classes: one of two bits
    assert found["information"]["all"] == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert found["wrong"]["all"] == 0.25


def test_every_method_and_pipelines_have_them(data):
    from sklearn.preprocessing import StandardScaler

    X, y = data.samples("trainval")
    for one in (baselines.ESZSL(), zskl.make_pipeline(StandardScaler(), ClassMeansClassifier())):
        fitted = selection.calibrate(one.fit(X, y, data.signatures), X, y, data.signatures, few_shot=False)
        rows, _ = data.samples("test_seen")
        assert len(fitted.predict_set(rows, 0.9)) == len(rows)


def test_rows_known_to_be_none_choose_what_tells_them(data, tree):
    X, y = data.samples("trainval")
    fitted = ClassMeansClassifier().fit(X, y, data.signatures)
    selection.calibrate(fitted, X, y, data.signatures, few_shot=False, none_of_these=-X[:40], hierarchy=tree)
    assert fitted.decisions_.lead in decisions.LEADS
    assert "unknown" in fitted.predict(-X[:40], reject=0.1)
