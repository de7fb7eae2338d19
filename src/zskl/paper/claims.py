"""What the paper claims, held against the records: yes, no, undecided, or not by these data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from zskl.experiments.compare import format_cell
from zskl.experiments.uncertainty import Difference, Figure
from zskl.paper import figures
from zskl.paper.results import ALL_BASELINES, KERNELS, OURS, PAIRS, PAPER_BASELINES, Results

YES, NO, UNDECIDED, UNTESTED = "yes", "no", "undecided", "not by these data"
ANSWERS = {True: YES, False: NO}
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
BEATEN = "the paper's kernels beat its baselines"
OWN = "our methods beat all baselines (no claim of the paper)"
CLAIMS = (INCOHERENCE, *RAISED.values(), SMALL, LARGE, INTERIOR, BEATEN, OWN)


@dataclass(frozen=True)
class Verdict:
    claim: str
    where: str
    answer: str
    figure: str


def judge_claims(results: Results) -> list[Verdict]:
    found = [
        *_judge_pairs(results),
        *_judge_lambda_ends(results),
        *_judge_sigma_interior(results),
        *_judge_baselines(results, BEATEN, KERNELS, PAPER_BASELINES),
        *_judge_baselines(results, OWN, OURS, ALL_BASELINES),
    ]
    untested = [
        Verdict(claim, "", UNTESTED, "nothing was run that could tell")
        for claim in CLAIMS
        if claim not in {verdict.claim for verdict in found}
    ]
    return sorted([*found, *untested], key=lambda verdict: CLAIMS.index(verdict.claim))


def count_verdicts(verdicts: Sequence[Verdict]) -> list[tuple[str, int, int, int]]:
    """(claim, how often yes, how often no, how often undecided)."""
    answers = {claim: [verdict.answer for verdict in verdicts if verdict.claim == claim] for claim in CLAIMS}
    return [(claim, mine.count(YES), mine.count(NO), mine.count(UNDECIDED)) for claim, mine in answers.items()]


def _judge_pairs(results: Results) -> Iterator[Verdict]:
    for problem in results.measured:
        for without, with_ in PAIRS:
            where = f"{problem.name}, {without}"
            before, after = (results.incoherence(problem, name) for name in (without, with_))
            if before is not None and after is not None:
                shown = f"{format_figure(before)} without, {format_figure(after)} with"
                yield Verdict(INCOHERENCE, where, ANSWERS[after.mean < before.mean], shown)
            for column, claim in RAISED.items():
                before, after = (results.figure(problem, name, column) for name in (without, with_))
                if before is not None and after is not None:
                    apart = results.difference(problem, with_, without, column)
                    answer, words = _judge_difference(apart, before, after)
                    shown = f"{format_figure(before)} without, {format_figure(after)} with; {words}"
                    yield Verdict(claim, where, answer, shown)


def _judge_lambda_ends(results: Results) -> Iterator[Verdict]:
    """Test accuracy at the end of the curve against that at the λ which validation chose."""
    for (problem, method), found in results.curves.items():
        if "repulsion" not in found[0].curves:
            continue
        curve = [point for point in figures.curve_points(found, "repulsion") if point.test is not None]
        chosen = found[0].chosen("repulsion")
        middle = next((point for point in curve if point.value == chosen), None)
        if middle is None or middle.test is None:
            continue
        for claim, end in ((SMALL, curve[0]), (LARGE, curve[-1])):
            if end is middle or end.test is None:
                continue
            shown = (
                f"{format_figure(end.test)} at λ = {end.value:g}, {format_figure(middle.test)} at the chosen {chosen:g}"
            )
            where = f"{problem.name}, {method}, {len(found)} seed(s)"
            yield Verdict(claim, where, ANSWERS[end.test.mean < middle.test.mean], shown)


def _judge_sigma_interior(results: Results) -> Iterator[Verdict]:
    """The σ inside with the highest mean on validation is above both ends on test rows, which decide."""
    for (problem, method), found in results.curves.items():
        if "sigma" not in found[0].curves:
            continue
        curve = [
            (one.value, one.validation.mean, one.test)
            for one in figures.curve_points(found, "sigma")
            if one.validation is not None and one.test is not None
        ]
        if len(curve) < 3:
            continue
        (first, low_validation, low), (last, high_validation, high) = curve[0], curve[-1]
        best, validation, top = max(curve[1:-1], key=lambda point: point[1])
        shown = (
            f"test {format_figure(top)} at σ = {best:g}; ends {format_figure(low)} at {first:g}, "
            f"{format_figure(high)} at {last:g} "
            f"(validation {validation:.1f}; {low_validation:.1f}, {high_validation:.1f})"
        )
        answer = ANSWERS[top.mean > max(low.mean, high.mean)]
        yield Verdict(INTERIOR, f"{problem.name}, {method}, {len(found)} seed(s)", answer, shown)


def _judge_baselines(
    results: Results, claim: str, methods: Sequence[str], baselines: Sequence[str]
) -> Iterator[Verdict]:
    """The best mean of the methods against the best of the baselines; it holds if no other baseline comes as near."""
    for problem in results.measured:
        for column in ("zero-shot", "H", "calibrated H"):
            mine, rivals = (results.ranked(problem, names, column) for names in (methods, baselines))
            if mine and rivals:
                (name, best), (rival, other) = mine[0], rivals[0]
                above = sum(figure.mean > other.mean for _, figure in mine)
                answer, words = _judge_difference(results.difference(problem, name, rival, column), other, best)
                apart = {one: results.difference(problem, name, one, column) for one, _ in rivals[1:]}
                near = [one for one, found in apart.items() if found is not None and not found.decided]
                if answer == YES and near:
                    answer, words = UNDECIDED, f"{words}, but not clearly above {', '.join(near)}"
                shown = f"{name} {format_figure(best)} against {rival} {format_figure(other)}; {words}"
                shown += f"; {above} of {len(mine)} have a higher mean than the best of {len(rivals)} baselines"
                yield Verdict(claim, f"{problem.name}, {column}", answer, shown)


def _judge_difference(apart: Difference | None, before: Figure, after: Figure) -> tuple[str, str]:
    """Whether the difference is above 0, by its interval; by means alone where records have no answers."""
    if apart is None:
        return ANSWERS[after.mean > before.mean], f"difference {after.mean - before.mean:+.1f}, by means alone"
    words = f"difference {apart.mean:+.1f} [{apart.low:+.1f}, {apart.high:+.1f}]"
    return (ANSWERS[apart.mean > 0] if apart.decided else UNDECIDED), words
