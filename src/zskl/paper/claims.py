"""What the paper claims, held against the means over seeds: yes, no, or not by these data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from zskl.experiments.compare import Figure
from zskl.experiments.table_formats import cell
from zskl.paper import sensitivity
from zskl.paper.methods import OURS, PAIRS
from zskl.paper.published import BASELINES, KERNELS
from zskl.paper.results import Problem, Results

YES, NO, UNTESTED = "yes", "no", "not by these data"
INCOHERENCE = "incoherence lowers ‖WᵀW − I‖²"
UNSEEN = '"-Ort" raises generalised unseen accuracy'
SMALL = "λ → 0 hurts"
LARGE = "λ → ∞ hurts"
INTERIOR = "σ has an interior optimum"
BEATEN = "the kernel methods beat the baselines"
OWN = "(ours, no claim of the paper) the softmax methods beat the baselines"
CLAIMS = (INCOHERENCE, UNSEEN, SMALL, LARGE, INTERIOR, BEATEN, OWN)


@dataclass(frozen=True)
class Verdict:
    """A claim for one dataset and kernel or protocol, and the figures it was judged by."""

    claim: str
    where: str
    answer: str
    figure: str


def judge(results: Results) -> list[Verdict]:
    """Every claim for all that was measured; one that nothing tests is listed as such."""
    found = [
        *_pairs(results, INCOHERENCE, results.incoherence, lower=True),
        *_pairs(results, UNSEEN, lambda problem, method: results.figure(problem, method, "unseen"), lower=False),
        *_ends(results),
        *_interior(results),
        *_beaten(results, BEATEN, KERNELS),
        *_beaten(results, OWN, OURS),
    ]
    untested = [
        Verdict(claim, "", UNTESTED, "nothing was run that could tell")
        for claim in CLAIMS
        if claim not in {verdict.claim for verdict in found}
    ]
    return sorted([*found, *untested], key=lambda verdict: CLAIMS.index(verdict.claim))


def counted(verdicts: Sequence[Verdict]) -> list[tuple[str, int, int]]:
    """(claim, how often yes, of how many cases that could tell)."""
    made = []
    for claim in CLAIMS:
        answers = [verdict.answer for verdict in verdicts if verdict.claim == claim and verdict.answer != UNTESTED]
        made.append((claim, answers.count(YES), len(answers)))
    return made


def _pairs(
    results: Results, claim: str, figure: Callable[[Problem, str], Figure | None], lower: bool
) -> Iterator[Verdict]:
    for problem in results.measured:
        for without, with_ in PAIRS:
            before, after = figure(problem, without), figure(problem, with_)
            if before is not None and after is not None:
                true = after.mean < before.mean if lower else after.mean > before.mean
                told = f"{cell(before, ' ± ')} without, {cell(after, ' ± ')} with"
                yield Verdict(claim, f"{problem.name}, {without}", _answer(true), told + _close(before, after))


def _ends(results: Results) -> Iterator[Verdict]:
    """Test accuracy at the end of the curve against that at the λ which validation chose."""
    for (problem, method), found in results.curves.items():
        if "repulsion" not in found[0].curves:
            continue
        curve = [point for point in sensitivity.points(found, "repulsion") if point.test is not None]
        chosen = found[0].chosen("repulsion")
        middle = next((point for point in curve if point.value == chosen), None)
        if middle is None or middle.test is None:
            continue
        for claim, end in ((SMALL, curve[0]), (LARGE, curve[-1])):
            if end is middle or end.test is None:
                continue
            told = f"{cell(end.test, ' ± ')} at λ = {end.value:g}, {cell(middle.test, ' ± ')} at the chosen {chosen:g}"
            told += _close(end.test, middle.test)
            where = f"{problem.name}, {method}, {len(found)} seed(s)"
            yield Verdict(claim, where, _answer(end.test.mean < middle.test.mean), told)


def _interior(results: Results) -> Iterator[Verdict]:
    """The σ inside with the highest mean on validation is above both ends, on validation and on test."""
    for (problem, method), found in results.curves.items():
        if "sigma" not in found[0].curves:
            continue
        curve = [
            one for one in sensitivity.points(found, "sigma") if one.validation is not None and one.test is not None
        ]
        if len(curve) < 3:
            continue
        first, last = curve[0], curve[-1]
        best = max(curve[1:-1], key=lambda point: point.validation.mean if point.validation else 0.0)
        for side in ("validation", "test"):
            low, top, high = (getattr(point, side) for point in (first, best, last))
            ends = f"{cell(low)} at {first.value:g}, {cell(high)} at {last.value:g}"
            answer = _answer(top.mean > low.mean and top.mean > high.mean)
            where = f"{problem.name}, {method}, {side}, {len(found)} seed(s)"
            yield Verdict(INTERIOR, where, answer, f"{cell(top)} at σ = {best.value:g}; ends {ends}")


def _beaten(results: Results, claim: str, methods: Sequence[str]) -> Iterator[Verdict]:
    """The best mean of the methods against the best of the baselines."""
    for problem in results.measured:
        for column in ("zero-shot", "H"):
            skip = ("cmt-star",) if column == "zero-shot" else ()
            mine = _ranked(results, problem, column, methods)
            rivals = _ranked(results, problem, column, [name for name in BASELINES if name not in skip])
            if mine and rivals:
                (name, best), (rival, other) = mine[0], rivals[0]
                above = sum(figure.mean > other.mean for _, figure in mine)
                told = (
                    f"{name} {cell(best, ' ± ')} against {rival} {cell(other, ' ± ')}; {above} of {len(mine)} above "
                    f"the best of {len(rivals)} baselines{_close(best, other)}"
                )
                yield Verdict(claim, f"{problem.name}, {column}", _answer(best.mean > other.mean), told)


def _ranked(results: Results, problem: Problem, column: str, methods: Sequence[str]) -> list[tuple[str, Figure]]:
    found = [(name, figure) for name in methods if (figure := results.figure(problem, name, column)) is not None]
    return sorted(found, key=lambda pair: -pair[1].mean)


def _close(one: Figure, other: Figure) -> str:
    """Words for a difference that is no larger than the deviations together; none where these are unknown."""
    if one.deviation is None or other.deviation is None:
        return ""
    return "; within the deviations" if abs(one.mean - other.mean) <= one.deviation + other.deviation else ""


def _answer(true: bool) -> str:
    return YES if true else NO
