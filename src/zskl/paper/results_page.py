"""All of it as one page of Markdown: results.md, which lies beside the folder figures/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zskl.experiments import table_formats
from zskl.paper import wall_times
from zskl.paper.changes import Changed
from zskl.paper.claims import UNTESTED, Verdict, counted
from zskl.paper.results import Output, Results

MAIN = "Accuracy"
SECTIONS = {  # part → heading, tables on the page, figures on the page
    "differences": ("Paired differences to the best", True, False),
    "gzsl": ("Seen and unseen classes together", True, False),
    "incoherence": ("Incoherence", True, True),
    "gram": ("Gram matrices", False, True),
    "sensitivity": ("Sensitivity", False, True),
    "convergence": ("Convergence", False, True),
}
CHARTS = "Accuracies as figures"
CHOICES = "What validation chose"
INTRODUCTION = """# The paper's evaluation, measured

Made by `zskl paper` from records, not by hand; [what it does and what figures mean](paper.md). Mean per-class top-1
accuracy in per cent, and in brackets its 95 % interval by bootstrap over classes and rows. Bold: the best of a column,
and all whose paired difference to it cannot be told from 0. Seeds are those of methods that have randomness; their
figures are means. Settings and calibration constants are chosen on class-disjoint validation folds of the training
rows.
"""
JUDGED = """An accuracy is judged by the paired difference of two methods: **yes** or **no** where its 95 % interval
excludes 0, **undecided** where it does not. Curves and ‖WᵀW − I‖² have no interval, and are judged by means over seeds.
λ: test accuracy at the end of the curve against that at the λ which validation chose. σ: the inner value that is best
on validation against both ends, by test accuracy. Baselines: the best of the methods against the best of the baselines,
both by mean; "yes" needs a clear difference to every baseline. No interval is corrected for the number of comparisons:
of twenty differences that are 0, one or two are called clear ([more](uncertainty.md)).
"""


def page(
    results: Results,
    outputs: Sequence[Output],
    verdicts: Sequence[Verdict],
    changed: Sequence[Changed] = (),
    further: Sequence[str] = (),
) -> str:
    """`further` comes last."""
    parts = [INTRODUCTION, *_measured(results)]
    parts += _section(MAIN, [output for output in outputs if output.part == "zsl"], figures=False)
    parts += ["## Claims of the paper\n", *_claims(verdicts)]
    for part, (heading, tables, figures) in SECTIONS.items():
        parts += _section(heading, [output for output in outputs if output.part == part], tables, figures)
    charts = [replace(one, table=replace(one.table, notes=())) for one in outputs if one.part in ("zsl", "gzsl")]
    charts.sort(key=lambda one: one.title)
    parts += _section(CHARTS, [one for one in charts if one.figures], tables=False)
    parts += _changes(changed)
    parts += _section(CHOICES, [output for output in outputs if output.part == "choices"])
    parts += [*wall_times.section(results.times), *further]
    return "\n".join(parts).rstrip("\n") + "\n"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def _measured(results: Results) -> list[str]:
    """Which data, whether they can be compared, and what is missing."""
    found = []
    for problem in results.measured:
        count = sum(where == problem for where, _ in results.runs)
        same = (
            "those of the published figures"
            if problem.comparable
            else "near those of the published figures, but of another network"
            if problem.near
            else "not comparable with published figures"
        )
        features = f"features `{problem.features}`, {same}" if problem.features else "its own features"
        found.append(f"- {problem.dataset}: {features}; {count} methods; data {problem.fingerprint[:12]}")
    missing = [problem.dataset for problem in results.problems if problem.missing]
    if missing:
        found.append(f"- {', '.join(missing)}: not measured, because data or features are missing")
    return [*found, ""]


def _claims(verdicts: Sequence[Verdict]) -> list[str]:
    """First how often, then each case."""
    rows = [(claim, *(numbers if any(numbers) else (UNTESTED, "", ""))) for claim, *numbers in counted(verdicts)]
    parts = [JUDGED, table(("claim", "yes", "no", "undecided"), rows)]
    tested = [one for one in verdicts if one.answer != UNTESTED]
    for claim in dict.fromkeys(one.claim for one in tested):
        mine = [(one.where, f"**{one.answer}**", one.figure) for one in tested if one.claim == claim]
        title = claim[0].upper() + claim[1:] if claim[0].isascii() else claim  # λ stays λ
        parts += [f"### {title}\n", table(("case", "holds", "figures"), mine)]
    return parts


def _section(heading: str, outputs: Sequence[Output], tables: bool = True, figures: bool = True) -> list[str]:
    parts = [f"## {heading}\n"] if outputs else []
    title = ""
    said: tuple[str, ...] = ()
    for output in outputs:
        parts += [f"### {output.title}\n"] if output.title != title else []
        title = output.title
        if output.table.notes != said:  # which may be the same for every dataset
            parts += [f"{' '.join(output.table.notes)}\n"] if output.table.notes else []
        said = output.table.notes
        if figures:
            parts += [f"![{output.title}, {name}](figures/{name}.svg)\n" for name in output.figures]
        if tables:
            parts.append(table_formats.markdown(output.table))
    return parts


def _changes(changed: Sequence[Changed]) -> list[str]:
    if not changed:
        return []
    parts = ["## What changed since 0.1, and why\n", "Per cent, before → after.\n"]
    for problem in dict.fromkeys(one.problem for one in changed):
        mine = [one for one in changed if one.problem == problem]
        columns = list(dict.fromkeys(name for one in mine for name in one.figures))
        rows = [(one.method, *(one.figures.get(name, "") for name in columns), one.why) for one in mine]
        parts += [f"### {problem}\n", table(("method", *columns, "why"), rows)]
    return parts
