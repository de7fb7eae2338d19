"""What the paper claims, held against the records: yes, no, undecided, or not by these data. Every case is a difference
with an interval and a p-value, and is answered only where this, after Holm's correction over the cases of all claims,
is below 0.05."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from zskl.experiments import uncertainty
from zskl.experiments.compare import format_cell
from zskl.experiments.uncertainty import LEVEL, Difference
from zskl.paper import tables
from zskl.paper.results import (
    ALL_BASELINES,
    CHOSEN_FOR,
    KERNELS,
    OURS,
    PAIRS,
    PAPER_BASELINES,
    PRINTED,
    Results,
    SensitivityRecord,
)

YES, NO, UNDECIDED, UNTESTED = "yes", "no", "undecided", "not by these data"
format_figure = partial(format_cell, between=" ± ")
INCOHERENCE = "incoherence lowers ‖WᵀW − I‖²"
RAISED = {  # column → the claim that "-Ort" raises it
    "unseen": '"-Ort" raises generalised unseen accuracy',
    "area": '"-Ort" raises the area under the seen–unseen curve (no claim of the paper)',
    "calibrated H": '"-Ort" raises calibrated H (no claim of the paper)',
}
SMALL = "λ → 0 hurts"
LARGE = "λ → ∞ hurts"
INTERIOR = "σ has an interior optimum"
PRINTED_BEATEN = "the paper's kernels, as printed, beat its baselines"
BEATEN = "the paper's kernels, improved, beat its baselines (no claim of the paper)"
OWN = "our methods beat all baselines (no claim of the paper)"
CLAIMS = (INCOHERENCE, *RAISED.values(), SMALL, LARGE, INTERIOR, PRINTED_BEATEN, BEATEN, OWN)
LACKING = "no interval"
NO_SPREAD = f"{LACKING}: it takes two seeds of each"
NO_ANSWERS = f"{LACKING}: the records keep no answers"


@dataclass(frozen=True)
class Verdict:
    """`apart` is the difference that decides, in favour of the claim where it is positive; None where none is known."""

    claim: str
    where: str
    answer: str
    figure: str
    apart: Difference | None = None


def judge_claims(results: Results) -> list[Verdict]:
    runs = [record for mine in results.runs.values() for record in mine]
    curved = [one for mine in results.curves.values() for record in mine for one in record.evaluations()]
    uncertainty.prepare_draws([*runs, *curved])
    found = [
        *_judge_pairs(results),
        *_judge_curves(results),
        *_judge_baselines(results, PRINTED_BEATEN, PRINTED, PAPER_BASELINES),
        *_judge_baselines(results, BEATEN, KERNELS, PAPER_BASELINES),
        *_judge_baselines(results, OWN, OURS, ALL_BASELINES),
    ]
    untested = [
        Verdict(claim, "", UNTESTED, "nothing was run that could tell")
        for claim in CLAIMS
        if claim not in {verdict.claim for verdict in found}
    ]
    return sorted([*correct_verdicts(found), *untested], key=lambda verdict: CLAIMS.index(verdict.claim))


def correct_verdicts(found: Sequence[Verdict]) -> list[Verdict]:
    """The answers, by Holm's correction over all cases that have a p-value."""
    corrected = iter(uncertainty.adjust_holm([one.apart.p for one in found if one.apart is not None]))
    made = []
    for one in found:
        if one.apart is None:
            made.append(replace(one, answer=UNDECIDED))
            continue
        p = next(corrected)
        answer = (YES if one.apart.mean > 0 else NO) if p < 1 - LEVEL else UNDECIDED
        made.append(replace(one, answer=answer, figure=f"{one.figure}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}"))
    return made


def count_verdicts(verdicts: Sequence[Verdict]) -> list[tuple[str, int, int, int]]:
    """(claim, how often yes, how often no, how often undecided)."""
    answers = {claim: [verdict.answer for verdict in verdicts if verdict.claim == claim] for claim in CLAIMS}
    return [(claim, mine.count(YES), mine.count(NO), mine.count(UNDECIDED)) for claim, mine in answers.items()]


def _make_case(claim: str, where: str, shown: str, apart: Difference | None, lacking: str = NO_ANSWERS) -> Verdict:
    words = lacking if apart is None else f"difference {apart.mean:+.1f} [{apart.low:+.1f}, {apart.high:+.1f}]"
    return Verdict(claim, where, UNDECIDED, f"{shown}; {words}", apart)


def _judge_pairs(results: Results) -> Iterator[Verdict]:
    for problem in results.measured:
        for without, with_ in PAIRS:
            where = f"{problem.name}, {without}"
            before, after = (results.incoherence(problem, name) for name in (without, with_))
            if before is not None and after is not None:
                shown = f"{format_figure(before)} without, {format_figure(after)} with"
                sides = (
                    [one.incoherence for one in results.runs[problem, name] if one.incoherence is not None]
                    for name in (without, with_)
                )
                yield _make_case(INCOHERENCE, where, shown, welch_difference(*sides), NO_SPREAD)
            for column, claim in RAISED.items():
                before, after = (results.figure(problem, name, column) for name in (without, with_))
                if before is not None and after is not None:
                    shown = f"{format_figure(before)} without, {format_figure(after)} with"
                    yield _make_case(claim, where, shown, results.difference(problem, with_, without, column))


def welch_difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference | None:
    """Ours less theirs, of figures that only seeds vary, by Welch's t; None where a side has fewer than two."""
    if min(len(ours), len(theirs)) < 2:
        return None
    mean = statistics.fmean(ours) - statistics.fmean(theirs)
    if len({*ours}) == len({*theirs}) == 1:  # no seed differs
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    from scipy import stats

    found = stats.ttest_ind(ours, theirs, equal_var=False)
    low, high = found.confidence_interval(LEVEL)
    return Difference(mean, float(low), float(high), float(found.pvalue))


def _judge_curves(results: Results) -> Iterator[Verdict]:
    for (problem, method), found in results.curves.items():
        where = f"{problem.name}, {method}"
        if "repulsion" in found[0].curves:
            yield from _judge_lambda_ends(found, where)
        if "sigma" in found[0].curves:
            yield from _judge_sigma_interior(found, where)


def _judge_lambda_ends(found: Sequence[SensitivityRecord], where: str) -> Iterator[Verdict]:
    """Test accuracy at the λ which validation chose, less that at the end of the curve."""
    curve = [point for point in tables.curve_points(found, "repulsion") if point.test is not None]
    chosen = found[0].chosen("repulsion")
    middle = next((point for point in curve if point.value == chosen), None)
    if middle is None:
        return
    for claim, end in ((SMALL, curve[0]), (LARGE, curve[-1])):
        if end is not middle:
            shown = (
                f"{format_figure(end.test)} at λ = {end.value:g}, {format_figure(middle.test)} at the chosen {chosen:g}"
            )
            shown += f" ({len(found)} seeds)"
            yield _make_case(claim, where, shown, _curve_difference(found, "repulsion", chosen, end.value))


def _judge_sigma_interior(found: Sequence[SensitivityRecord], where: str) -> Iterator[Verdict]:
    """Test accuracy at the σ inside with the highest mean on validation, less that at the end that comes nearer."""
    curve = [
        point
        for point in tables.curve_points(found, "sigma")
        if point.validation is not None and point.test is not None
    ]
    if len(curve) < 3:
        return
    best = max(curve[1:-1], key=lambda point: point.validation.mean if point.validation else 0.0)
    ends = {end.value: _curve_difference(found, "sigma", best.value, end.value) for end in (curve[0], curve[-1])}
    shown = ", ".join(f"{format_figure(end.test)} at {end.value:g}" for end in (curve[0], curve[-1]))
    shown = f"test {format_figure(best.test)} at σ = {best.value:g}; ends {shown} ({len(found)} seeds)"
    yield _make_case(INTERIOR, where, shown, least_certain(list(ends.values())))


def _curve_difference(found: Sequence[SensitivityRecord], name: str, value: float, other: float) -> Difference | None:
    ours, theirs = (
        [one for record in found if (one := record.evaluation_at(name, at)) is not None] for at in (value, other)
    )
    return uncertainty.difference(ours, theirs, "zero-shot") if ours and theirs else None


def least_certain(found: Sequence[Difference | None]) -> Difference | None:
    """Of differences that a claim needs all of, the one that speaks for it least; None where one is not known. All are
    above 0 only where this one is, so no correction is needed for their number. Where it is below 0 the claim fails;
    its p-value is corrected for the chances of each."""
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    last = max(known, key=lambda one: (one.mean <= 0, one.p if one.mean > 0 else -one.p))
    return last if last.mean > 0 else replace(last, p=min(1.0, len(known) * last.p))


def _judge_baselines(
    results: Results, claim: str, methods: Sequence[str], baselines: Sequence[str]
) -> Iterator[Verdict]:
    """The method that validation puts first against every baseline; for "no", the first baseline against every method.
    Validation picks, since what is picked by test figures looks better than it is."""
    for problem in results.measured:
        for column in CHOSEN_FOR:
            sides = [[name for name, _ in results.ranked(problem, names, column)] for names in (methods, baselines)]
            if not all(sides):
                continue
            first, rival = (max(side, key=partial(results.validation_score, problem, column)) for side in sides)
            ours = {one: results.difference(problem, first, one, column) for one in sides[1]}
            apart = least_certain(list(ours.values()))
            nearest = next((name for name, one in ours.items() if apart and one and one.mean == apart.mean), rival)
            if apart is not None and apart.mean <= 0:
                # It fails only where a baseline is above all of the methods.
                against = [results.difference(problem, rival, one, column) for one in sides[0]]
                last = least_certain(against)
                apart, nearest = ours[rival] or apart, rival
                apart = replace(apart, p=last.p if last is not None and last.mean > 0 > apart.mean else 1.0)
            mine, other = (format_figure(results.figure(problem, name, column)) for name in (first, nearest))
            yield _make_case(claim, f"{problem.name}, {column}", f"{first} {mine} against {nearest} {other}", apart)
