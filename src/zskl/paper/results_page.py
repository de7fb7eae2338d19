"""All of it as one page of Markdown: results.md, which lies beside the folder figures/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zskl.experiments import table_formats
from zskl.paper.claims import UNTESTED, Verdict, counted
from zskl.paper.results import Output, Results

SHOWN = ("zsl", "gzsl", "incoherence", "choices")  # tables on the page; those of the others are in files alone
SECTIONS = {
    "zsl": "Zero-shot learning",
    "gzsl": "Generalised zero-shot learning",
    "incoherence": "Incoherence",
    "gram": "Gram matrices",
    "sensitivity": "Sensitivity",
    "convergence": "Convergence",
    "choices": "Choices and times",
}
INTRODUCTION = """# The paper's evaluation, measured

Made by `zskl paper` from records, not by hand; [what it does](paper.md). Mean per-class top-1 accuracy in per cent,
mean ± standard deviation over seeds. Settings and calibration constants are chosen on class-disjoint validation folds
of the training rows, from default grids: zero-shot, unseen, seen, H and area are of the setting with the best zero-shot
accuracy on validation classes, calibrated H is of the one with the best calibrated H there. Bold: best of a column.
"""


def page(results: Results, outputs: Sequence[Output], verdicts: Sequence[Verdict]) -> str:
    parts = [INTRODUCTION, *_measured(results), "## Claims of the paper\n", *_claims(verdicts)]
    for part, heading in SECTIONS.items():
        mine = [output for output in outputs if output.part == part and not _bare(output, results)]
        if mine:
            parts.append(f"## {heading}\n")
            parts += [_section(output) for output in mine]
    units = sum(map(len, (*results.runs.values(), *results.curves.values(), *results.courses.values())))
    parts += _times(results.times, units)
    return "\n".join(parts).rstrip("\n") + "\n"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def _measured(results: Results) -> list[str]:
    """Which data, whether they can be compared, and what is missing."""
    found = []
    for problem in results.measured:
        seeds = [len(mine) for (where, _), mine in results.runs.items() if where == problem]
        count = f"{len(seeds)} methods, {_span(seeds)} seed(s)" if seeds else "no method yet"
        same = (
            "those of the published figures"
            if problem.comparable
            else "**not those of the published figures, which cannot be compared with ours**"
        )
        features = f"features `{problem.features}`, {same}" if problem.features else "its own features"
        found.append(f"- {problem.dataset}: {features}; {count}; data {problem.fingerprint[:12]}")
    missing = [problem.dataset for problem in results.problems if problem.missing]
    if missing:
        found.append(f"- {', '.join(missing)}: not measured, because data or features are missing; columns say so")
    return [*found, ""]


def _claims(verdicts: Sequence[Verdict]) -> list[str]:
    """First how often, then each case."""
    rows = [(claim, f"{true} of {cases}" if cases else UNTESTED) for claim, true, cases in counted(verdicts)]
    said = (
        "Judged on means over seeds alone. λ: test accuracy at the end of the curve against "
        "that at the λ which validation chose. σ: the best inner value by validation against both ends. Baselines: the "
        "best kernel method against the best of them.\n"
    )
    cases = [(one.claim, one.where, f"**{one.answer}**", one.figure) for one in verdicts]
    return [
        said,
        table(("claim", "cases in which it holds"), rows),
        table(("claim", "case", "holds", "figures"), cases),
    ]


def _section(output: Output) -> str:
    lines = [f"### {output.title}\n"]
    lines += [f"{' '.join(output.table.notes)}\n"] if output.table.notes else []
    lines += [f"![{output.title}, {name}](figures/{name}.svg)\n" for name in output.figures]
    if output.part in SHOWN:
        lines.append(table_formats.markdown(output.table))
    return "\n".join(lines)


def _bare(output: Output, results: Results) -> bool:
    """Whether it shows nothing but published figures of a dataset that was not measured."""
    stems = {problem.stem for problem in results.problems if problem.missing}
    return output.part == "gzsl" and output.name.removeprefix("gzsl-") in stems


def _times(times: Sequence[Mapping[str, Any]], units: int) -> list[str]:
    if not times:
        return []
    names = ("stage", "datasets", "units", "seconds", "device", "processes", "finished")
    rows = [[", ".join(one[n]) if n == "datasets" else one[n] for n in names] for one in times]
    timed = sum(int(one["units"]) for one in times)
    note = f"Of {timed} of the {units} units above; a stage that was broken off has left no time.\n"
    return ["## Wall times of the stages\n", *([note] if timed < units else []), table(names, rows)]


def _span(counts: Sequence[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
