"""Accuracies of all methods on a dataset, with intervals: what leads first, then both parts of the generalised protocol
and paired differences to the best; Table 4 of the paper."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from zskl.experiments import uncertainty
from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper import comparison_chart, published
from zskl.paper.methods import FAMILIES, family, needed
from zskl.paper.results import Output, Problem, Results

MAIN = ("zero-shot", "H", "calibrated H")
GENERAL = ("unseen", "seen", "H", "area")
FAMILY = "family"
MISPRINT, BELOW = "†", "↓"
NORM = "‖WᵀW − I‖²"
PRINTED = f"published ({published.FEATURES})"
ORIENTATION = (
    "Published figures are of ResNet-101 features; these are of another network, so they are for orientation only. "
)


def zero_shot(results: Results) -> list[Output]:
    """Table 2, with H and calibrated H beside it; and how far each method is from the best."""
    made = []
    for problem in results.measured:
        table = main(results, problem, needed(("zsl",), results.methods))
        drawn = comparison_chart.chart(problem, table)
        figures = {f"zsl-{problem.stem}": drawn} if drawn else {}
        made.append(Output("zsl", f"zsl-{problem.stem}", problem.name, table, figures))
        apart = differences(results, problem)
        if apart is not None:
            made.append(Output("differences", f"differences-{problem.stem}", problem.name, apart))
    return made


def main(results: Results, problem: Problem, methods: Iterable[str]) -> Comparison:
    """Zero-shot accuracy, H and calibrated H, the best in bold, beside what the paper printed."""
    names = [name for name in methods if (problem, name) in results.runs]
    columns, notes = _ours(results, problem, names, MAIN)
    theirs = {name: found for name in names if (found := published.zero_shot(name, problem.dataset)) is not None}
    if problem.near and theirs:
        columns[f"{PRINTED} zero-shot"] = {name: Figure(figure) for name, figure in theirs.items()}
        columns[f"{PRINTED} H"] = {
            name: figure for name in names if (figure := printed_harmonic(name, problem.dataset)) is not None
        }
        mine = columns[MAIN[0]]
        low = [name for name in names if name in theirs and name in mine and mine[name].mean < theirs[name]]
        columns[MAIN[0]] = mine | {name: replace(mine[name], mark=BELOW) for name in low}
        notes.insert(0, _orientation(problem, low))
    return _told(_table(results, problem, names, columns, notes))


def _orientation(problem: Problem, low: Sequence[str]) -> str:
    said = "" if problem.comparable else ORIENTATION
    if low:
        return f"{said}{BELOW} zero-shot accuracy below the published figure: {', '.join(low)}."
    return f"{said}No method is below its published zero-shot accuracy."


def generalised(results: Results) -> list[Output]:
    """Table 3, with the area under the curve."""
    made = []
    for problem in results.measured:
        names = [name for name in needed(("gzsl",), results.methods) if (problem, name) in results.runs]
        columns, notes = _ours(results, problem, names, GENERAL)
        theirs = {name: found for name in names if (found := published.general(name, problem.dataset))}
        if problem.near and theirs:
            columns[f"{PRINTED} unseen"] = {name: Figure(found.unseen) for name, found in theirs.items()}
            columns[f"{PRINTED} seen"] = {name: Figure(found.seen) for name, found in theirs.items()}
            if not problem.comparable:
                notes.insert(0, ORIENTATION)
        table = _table(results, problem, names, columns, notes)
        drawn = comparison_chart.dots(
            f"Generalised protocol on {problem.name}", table, ("unseen", "seen", "H"), "accuracy among all classes (%)"
        )
        figures = {f"gzsl-{problem.stem}": drawn} if drawn else {}
        made.append(Output("gzsl", f"gzsl-{problem.stem}", problem.name, table, figures))
    return made


def _ours(
    results: Results, problem: Problem, names: Sequence[str], wanted: Sequence[str]
) -> tuple[dict[str, dict[str, Figure]], list[str]]:
    """Our columns with the best marked, and why none is where none is."""
    columns: dict[str, dict[str, Figure]] = {}
    unknown: dict[str, None] = {}
    shared = []
    for column in wanted:
        groups = {name: records for name, records in results.groups(problem, column).items() if name in names}
        leaders = uncertainty.leaders(groups, column)
        mine = {name: figure for name in groups if (figure := results.figure(problem, name, column)) is not None}
        columns[column] = {name: replace(figure, best=name in leaders.best) for name, figure in mine.items()}
        unknown |= dict.fromkeys(leaders.unknown)
        if leaders.rivals > 1 and not leaders.best and not leaders.unknown:
            shared.append(column)
    few = uncertainty.few_classes(record for name in names for record in results.runs[problem, name])
    notes = [f"{few[0].upper()}{few[1:]}."] if few else []
    if unknown:
        whose = "the records" if len(unknown) == len(names) else f"the records of {', '.join(unknown)}"
        notes.append(f"No interval and nothing in bold: {whose} keep no answers; run them again.")
    if shared:
        notes.append(f"Nothing is in bold in {', '.join(shared)}: every method may be the best.")
    return {name: found for name, found in columns.items() if found}, notes


def differences(results: Results, problem: Problem) -> Comparison | None:
    """For each column of the main table how far every method is below the best, paired, with its interval."""
    columns: dict[str, dict[str, Figure]] = {}
    for column in MAIN:
        groups = results.groups(problem, column)
        leader = uncertainty.leaders(groups, column).first if len(groups) > 1 else None
        if leader is None:
            continue
        found = {name: results.difference(problem, name, leader, column) for name in groups if name != leader}
        columns[f"{column}, to {leader}"] = {
            name: Figure(one.mean, low=one.low, high=one.high) for name, one in found.items() if one is not None
        }
    columns = {name: found for name, found in columns.items() if found}
    if not columns:
        return None
    names = [name for name in results.methods if any(name in found for found in columns.values())]
    note = (
        "Points, with the 95 % interval of the paired difference: the same draws of classes and rows for both methods."
    )
    return _table(results, problem, names, columns, [note])


def incoherence(results: Results) -> list[Output]:
    """Table 4."""
    methods = needed(("incoherence",), results.methods)
    columns: dict[str, dict[str, Figure]] = {}
    for problem in results.measured:
        found = {name: figure for name in methods if (figure := results.incoherence(problem, name)) is not None}
        if found:
            columns[problem.name] = found
        theirs = {name: one for name in methods if (one := published.incoherence(name, problem.dataset)) is not None}
        if found and problem.near:
            columns[f"{problem.dataset} {PRINTED}"] = {name: Figure(one) for name, one in theirs.items()}
    rows = tuple(
        Row({"method": name}, None, {column: found[name] for column, found in columns.items() if name in found})
        for name in methods
        if any(name in found for found in columns.values())
    )
    if not rows:
        return []
    note = "Columns of W of unit length; mean ± standard deviation over seeds."
    table = Comparison(("method",), tuple(columns), rows, (note,))
    return [Output("incoherence", "incoherence", f"{NORM} (Table 4 of the paper)", table)]


def printed_harmonic(method: str, dataset: str) -> Figure | None:
    """H of the published seen and unseen accuracies, marked where the printed one does not follow from them."""
    found = published.general(method, dataset)
    return None if found is None else Figure(found.harmonic, mark=MISPRINT if found.misprint else "")


def _table(
    results: Results,
    problem: Problem,
    names: Sequence[str],
    columns: dict[str, dict[str, Figure]],
    notes: Sequence[str],
) -> Comparison:
    """A row per method, in families."""
    rows = []
    for name in (name for mine in FAMILIES.values() for name in mine if name in names):
        figures = {column: found[name] for column, found in columns.items() if name in found}
        rows.append(Row({FAMILY: family(name), "method": name}, results.seeds(problem, name), figures))
    return _named(Comparison((FAMILY, "method"), tuple(columns), tuple(rows), tuple(notes)))


def only(table: Comparison, methods: Collection[str]) -> Comparison:
    """The rows of these methods."""
    rows = [row for row in table.rows if row.labels["method"] in methods]
    return _named(replace(table, rows=tuple(rows)))


def _named(table: Comparison) -> Comparison:
    """Each family named in its first row alone."""
    rows, last = [], ""
    for row in table.rows:
        mine = family(row.labels["method"])
        rows.append(replace(row, labels={**row.labels, FAMILY: "" if mine == last else mine}))
        last = mine
    return replace(table, rows=tuple(rows))


def _told(table: Comparison) -> Comparison:
    """With a note on misprints where one is in the table."""
    if not any(figure.mark == MISPRINT for row in table.rows for figure in row.figures.values()):
        return table
    said = "; ".join(
        f"{method} on {dataset}, printed as {found.printed}"
        for method, dataset in published.misprints()
        if (found := published.general(method, dataset)) is not None
    )
    note = f"Published H is computed from the published seen and unseen accuracy. {MISPRINT} misprints: {said}."
    return replace(table, notes=(*table.notes, note))
