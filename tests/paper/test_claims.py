"""Claims of the paper, judged on results made up for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paper_runs import HERE, evaluation
from zskl.experiments import uncertainty
from zskl.experiments.uncertainty import Difference
from zskl.paper import claims, results, tables
from zskl.paper.results import Problem, Results, SensitivityRecord, SettingCurve

CASES = (1, 1, 1, 1, 1, 1, 1, 3, 3)


def made_up(better):
    """Results in which all claims hold, or none; single seeds would say otherwise than means."""
    sign = 1 if better else -1
    both = {
        "gaussian": [evaluation(0, 0.5, 0.3, 0.4, 100.0), evaluation(1, 0.5, 0.3, 0.4, 120.0)],
        "gaussian-ort": [
            evaluation(0, 0.5 + 0.1 * sign, 0.3 - 0.02 * sign, 0.4 + 0.1 * sign, 100.0 + 5 * sign),
            evaluation(1, 0.5 + 0.1 * sign, 0.3 + 0.1 * sign, 0.4 + 0.1 * sign, 120.0 - 50 * sign),
        ],
        "sje": [evaluation(0, 0.55, 0.2, 0.45)],
        "cauchy-softmax": [evaluation(0, 0.55 + 0.01 * sign, 0.2, 0.45 + 0.01 * sign)],
    }
    if not better:
        both["gaussian"] = both["gaussian"][:1]  # one seed is enough to be judged
    curve = {
        "sigma": SettingCurve(
            (0.1, 1.0, 10.0),
            ((0.5, 0.3), (0.4 + 0.1 * sign, 0.4 + 0.1 * sign), (0.4, 0.4)),
            (0.4, 0.4 + 0.1 * sign, 0.4),
        ),
        "repulsion": SettingCurve(
            (0.0, 1.0, 100.0, 1000.0),
            ((0.4, 0.4), (0.5, 0.5), (0.4, 0.4), None),
            (0.4, 0.4 + 0.1 * sign, 0.4, None),
        ),
    }
    setting = {"sigma": 1.0, "repulsion": 1.0}
    record = SensitivityRecord(key="k", dataset="CUB", method="gaussian-ort", seed=0, setting=setting, curves=curve)
    curves = {(HERE, "gaussian-ort"): [record]}
    return Results((HERE,), results.ALL, {(HERE, name): mine for name, mine in both.items()}, curves)


@pytest.mark.parametrize("better", [True, False])
def test_claims_are_judged_both_ways_by_means_where_records_have_no_answers(better):
    found = claims.judge_claims(made_up(better))
    assert {verdict.claim for verdict in found} == set(claims.CLAIMS)
    assert {verdict.answer for verdict in found} == {claims.YES if better else claims.NO}
    expected = [
        (claim, cases * better, cases * (not better), 0) for claim, cases in zip(claims.CLAIMS, CASES, strict=True)
    ]
    assert claims.count_verdicts(found) == expected
    (large,) = [verdict for verdict in found if verdict.claim == claims.LARGE]
    assert "at λ = 100," in large.figure  # 1000 diverged
    (lower,) = [verdict for verdict in found if verdict.claim == claims.INCOHERENCE]
    assert ("110.0 ± 14.1 without, 87.5" in lower.figure) == better
    (unseen,) = [verdict for verdict in found if verdict.claim == claims.RAISED["unseen"]]
    assert unseen.figure.endswith("by means alone")
    text = tables.results_page(Results((HERE,), results.ALL, {}), [], found)
    assert f"| {claims.OWN} | {3 * better} | {3 * (not better)} | 0 |" in text


@pytest.mark.parametrize(
    ("low", "high", "answer"), [(1.0, 3.0, claims.YES), (-0.5, 4.0, claims.UNDECIDED), (-3.0, -1.0, claims.NO)]
)
def test_a_paired_interval_decides_accuracies(low, high, answer, monkeypatch):
    """Whatever the means say, which are those of all draws."""
    apart = Difference((low + high) / 2, low, high)
    monkeypatch.setattr(uncertainty, "difference", lambda *given: apart)
    judged = (*claims.RAISED.values(), claims.BEATEN, claims.OWN)
    found = [one for one in claims.judge_claims(made_up(True)) if one.claim in judged]
    assert {one.answer for one in found} == {answer}
    assert all(f"difference {apart.mean:+.1f} [{low:+.1f}, {high:+.1f}]" in one.figure for one in found)


def test_beating_all_baselines_needs_a_clear_difference_to_each(monkeypatch):
    results = made_up(True)
    rivals = {**results.runs, (HERE, "ale"): [evaluation(0, 0.54, 0.2, 0.44)]}  # below sje, but not clearly below ours

    def apart(ours, theirs, column):
        return Difference(2.0, -1.0, 5.0) if theirs is rivals[HERE, "ale"] else Difference(1.0, 0.5, 1.5)

    monkeypatch.setattr(uncertainty, "difference", apart)
    found = [one for one in claims.judge_claims(replace(results, runs=rivals)) if one.claim == claims.OWN]
    assert {one.answer for one in found} == {claims.UNDECIDED}
    assert all("against sje" in one.figure and "but not clearly above ale" in one.figure for one in found)


def test_claims_that_nothing_tests_say_so():
    found = claims.judge_claims(Results((HERE,), results.ALL, {}))
    assert [verdict.claim for verdict in found] == list(claims.CLAIMS)
    assert {verdict.answer for verdict in found} == {claims.UNTESTED}
    text = tables.results_page(Results((Problem("SUN", missing=True),), results.ALL, {}), [], found)
    assert text.count("| not by these data |") == len(claims.CLAIMS)


def test_equal_methods_do_not_support_a_claim():
    results = made_up(True)
    even = {**results.runs, (HERE, "gaussian-ort"): results.runs[HERE, "gaussian"]}
    found = claims.judge_claims(replace(results, runs=even))
    pairs = (claims.INCOHERENCE, *claims.RAISED.values())
    assert {one.answer for one in found if one.claim in pairs} == {claims.NO}
