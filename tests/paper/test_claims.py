"""Claims of the paper, judged on results made up for them."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest

from paper_runs import HERE
from records import ROWS, SEEN, UNSEEN, answered
from zskl.experiments import uncertainty
from zskl.experiments.record import Choice, Choices, Tuning, pack_answers
from zskl.experiments.uncertainty import Difference
from zskl.paper import claims, pages, results
from zskl.paper.results import Problem, Results, SensitivityRecord, SettingCurve

# Of every unseen class so many of its six rows are right.
HALF, ALL, NONE = (np.tile(np.arange(ROWS) < right, (UNSEEN, 1)) for right in (3, 6, 0))


def made(method, seed, right, incoherence=None, score=0.5):
    """A record of HERE. Its unseen rows join first, so that the area goes with how many are right."""
    figures = dict.fromkeys(("zsl", "gzsl", "harmonic"), (score, score))
    choice = Choice({}, score, (score, score), figures=figures)
    record = answered(method, seed, right, np.ones((SEEN, ROWS)), dataset="CUB", features="res101", fingerprint="f")
    levels = pack_answers(np.where(right.ravel(), 1, 0))
    gzsl = replace(record.gzsl, ausuc=right.mean(), answers=replace(record.gzsl.answers, unseen_levels=levels))
    tuning = Tuning(scoring="each", choices=Choices(choice, choice, choice))
    return replace(record, features_digest="d", gzsl=gzsl, incoherence=incoherence, tune=tuning)


def made_up(better):
    """Results in which all claims hold, or none."""
    changed = ALL if better else NONE
    runs = {}
    for without, with_ in results.PAIRS:
        runs[without] = [made(without, seed, HALF, 100.0 + seed) for seed in range(3)]
        orthogonal = (50.0, 51.0, 52.0) if better else (150.0, 151.0, 152.0)
        runs[with_] = [made(with_, seed, changed, one, 0.6) for seed, one in enumerate(orthogonal)]
    runs["sje"] = [made("sje", 0, HALF if better else ALL)]
    runs["cauchy-softmax"] = [made("cauchy-softmax", 0, changed)]
    runs = {(HERE, name): mine for name, mine in runs.items()}
    return Results((HERE,), results.ALL, runs, {(HERE, "gaussian-ort"): [curves(changed)]})


def curves(chosen, kept=True):
    """At the chosen σ and λ these rows are right, elsewhere half of them; λ = 1000 diverged."""

    def tested(*rights):
        return {
            "test": tuple(None if right is None else float(right.mean()) for right in rights),
            "answers": tuple(None if right is None else pack_answers(~right.ravel()) for right in rights)
            if kept
            else None,
        }

    curve = {
        "sigma": SettingCurve((0.1, 1.0, 10.0), ((0.5, 0.3), (0.45, 0.45), (0.4, 0.4)), **tested(HALF, chosen, HALF)),
        "repulsion": SettingCurve(
            (0.0, 1.0, 100.0, 1000.0), (*[(0.4, 0.4)] * 3, None), **tested(HALF, chosen, HALF, None)
        ),
    }
    return SensitivityRecord(
        key="k",
        dataset="CUB",
        features="res101",
        fingerprint="f",
        method="gaussian-ort",
        seed=0,
        setting={"sigma": 1.0, "repulsion": 1.0},
        curves=curve,
        class_rows=answered().class_rows,
    )


@pytest.mark.parametrize("better", [True, False])
def test_claims_are_judged_both_ways(better):
    found = claims.judge_claims(made_up(better))
    counts = {claim: numbers for claim, *numbers in claims.count_verdicts(found)}
    pairs = len(results.PAIRS)
    cases = dict.fromkeys((claims.INCOHERENCE, *claims.RAISED.values()), pairs)
    cases |= dict.fromkeys((claims.SMALL, claims.LARGE, claims.INTERIOR), 1)
    cases |= dict.fromkeys((claims.PRINTED_BEATEN, claims.BEATEN, claims.OWN), 3)
    assert counts == {claim: [number * better, number * (not better), 0] for claim, number in cases.items()}
    (large,) = [verdict for verdict in found if verdict.claim == claims.LARGE]
    assert "at λ = 100," in large.figure  # 1000 diverged
    lower = next(verdict for verdict in found if verdict.claim == claims.INCOHERENCE)
    assert ("101.0 ± 1.0 without, 51.0" in lower.figure) == better
    text = pages.results_page(Results((HERE,), results.ALL, {}), [], found)
    assert f"| {claims.OWN} | {3 * better} | {3 * (not better)} | 0 |" in text


def test_yes_needs_more_than_an_interval_that_excludes_0(monkeypatch):
    """The planted fault: without Holm's correction p = 0.01 would be enough, of 31 cases."""
    apart = Difference(2.0, 0.5, 3.5, 0.01)
    monkeypatch.setattr(uncertainty, "difference", lambda *given: apart)
    judged = (*claims.RAISED.values(), claims.SMALL, claims.INTERIOR, claims.OWN)
    for correction, answer in ((uncertainty.adjust_holm, claims.UNDECIDED), (list, claims.YES)):
        monkeypatch.setattr(uncertainty, "adjust_holm", correction)
        found = [one for one in claims.judge_claims(made_up(True)) if one.claim in judged]
        assert {one.answer for one in found} == {answer}
        assert all("difference +2.0 [+0.5, +3.5], p = " in one.figure for one in found)


def test_without_answers_or_a_second_seed_nothing_is_decided():
    results_ = made_up(True)
    without = {place: [replace(one, class_rows=None) for one in mine[:1]] for place, mine in results_.runs.items()}
    bare = replace(results_, runs=without, curves={(HERE, "gaussian-ort"): [curves(ALL, kept=False)]})
    found = claims.judge_claims(bare)
    assert {verdict.answer for verdict in found} == {claims.UNDECIDED}
    assert {verdict.figure.rpartition("; ")[2] for verdict in found} == {claims.NO_ANSWERS, claims.NO_SPREAD}


def test_beating_all_baselines_needs_a_clear_difference_to_each(monkeypatch):
    whole = made_up(True)
    rivals = {**whole.runs, (HERE, "ale"): [made("ale", 0, HALF, score=0.4)]}

    def apart(ours, theirs, column):
        return Difference(2.0, -1.0, 5.0, 0.2) if theirs is rivals[HERE, "ale"] else Difference(1.0, 0.5, 1.5, 1e-4)

    monkeypatch.setattr(uncertainty, "difference", apart)
    found = [one for one in claims.judge_claims(replace(whole, runs=rivals)) if one.claim == claims.OWN]
    assert {one.answer for one in found} == {claims.UNDECIDED}
    assert all("cauchy-softmax 100.0" in one.figure and "against ale" in one.figure for one in found)


def test_validation_picks_the_method_that_stands_for_its_family():
    """The planted fault: the best by test figures would always look a little better than it is."""
    whole = made_up(True)
    lucky = {**whole.runs, (HERE, "gaussian-softmax"): [made("gaussian-softmax", 0, HALF, score=0.7)]}
    found = [one for one in claims.judge_claims(replace(whole, runs=lucky)) if one.claim == claims.OWN]
    assert all(one.figure.startswith("gaussian-softmax 50.0") for one in found if "zero-shot" in one.where)
    assert {one.answer for one in found} == {claims.UNDECIDED}


def test_of_several_differences_the_least_certain_decides():
    def apart(mean, p):
        return Difference(mean, mean - 1, mean + 1, p)

    assert claims.least_certain([apart(5, 0.001), apart(2, 0.03), apart(3, 0.02)]) == apart(2, 0.03)
    assert claims.least_certain([apart(5, 0.001), apart(-2, 0.03), apart(-1, 0.9)]) == apart(-2, 3 * 0.03)
    assert claims.least_certain([apart(5, 0.001), None]) is None
    assert claims.least_certain([]) is None


def test_a_difference_over_seeds_is_welchs():
    ours, theirs = [12.0, 15.0, 11.0, 13.5], [20.0, 26.0, 23.0]
    found = claims.welch_difference(ours, theirs)
    parts = [statistics.variance(side) / len(side) for side in (ours, theirs)]
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2)
    t = (statistics.mean(ours) - statistics.mean(theirs)) / math.sqrt(sum(parts))
    # The tail of Student's t by a sum over its density.
    at = np.linspace(abs(t), 2000, 2_000_001)
    density = (1 + at**2 / freedom) ** (-(freedom + 1) / 2)
    scale = math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    assert found.p == pytest.approx(2 * scale * np.trapezoid(density, at), rel=1e-3)
    assert found.mean == pytest.approx(-10.125)
    assert found.low < found.mean < found.high < 0
    assert claims.welch_difference([1.0], [2.0, 3.0]) is None
    assert claims.welch_difference([1.0, 1.0], [1.0, 1.0]).p == 1


def test_claims_that_nothing_tests_say_so():
    found = claims.judge_claims(Results((HERE,), results.ALL, {}))
    assert [verdict.claim for verdict in found] == list(claims.CLAIMS)
    assert {verdict.answer for verdict in found} == {claims.UNTESTED}
    text = pages.results_page(Results((Problem("SUN", missing=True),), results.ALL, {}), [], found)
    assert text.count("| not by these data |") == len(claims.CLAIMS)


def test_equal_methods_do_not_support_a_claim():
    whole = made_up(True)
    even = {**whole.runs, **{(HERE, with_): whole.runs[HERE, without] for without, with_ in results.PAIRS}}
    found = claims.judge_claims(replace(whole, runs=even))
    pairs = (claims.INCOHERENCE, *claims.RAISED.values())
    assert {one.answer for one in found if one.claim in pairs} == {claims.UNDECIDED}
