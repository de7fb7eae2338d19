"""Tables 2, 3 and 4 of the paper: both protocols, and how far the columns of W are from orthogonal."""

from __future__ import annotations

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper import comparison_table, published
from zskl.paper.methods import PARTS, needed
from zskl.paper.results import Output, Problem, Results
from zskl.plots.drawing import Drawing

GENERAL = ("unseen", "seen", "H", "calibrated H", "area")
PRINTED = ("published unseen", "published seen", "published H")
MISPRINT = "†"
NORM = "‖WᵀW − I‖²"


def zero_shot(results: Results) -> list[Output]:
    """Table 2."""
    methods = needed(("zsl",), results.methods)

    def ours(problem: Problem, method: str) -> Figure | None:
        return results.figure(problem, method, "zero-shot") if method in PARTS["zsl"] else None

    figures = {}
    for problem in results.measured:
        title = f"Zero-shot accuracy on {problem.name}"
        drawn = comparison_table.chart(problem, title, methods, ours, printed_zero_shot, "mean per-class accuracy (%)")
        if drawn:
            figures[f"zsl-{problem.stem}"] = drawn
    table = comparison_table.table(results, methods, ours, printed_zero_shot)
    return [Output("zsl", "zsl", "Zero-shot accuracy (Table 2 of the paper)", table, figures)]


def printed_zero_shot(method: str, dataset: str) -> Figure | None:
    found = published.zero_shot(method, dataset)
    return None if found is None else Figure(found)


def generalised(results: Results) -> list[Output]:
    """Table 3: H over all datasets, then everything for each of them."""
    methods = needed(("gzsl",), results.methods)

    def ours(problem: Problem, method: str) -> Figure | None:
        return results.figure(problem, method, "H")

    table = comparison_table.table(results, methods, ours, printed_harmonic)
    made = [Output("gzsl", "gzsl", "Generalised protocol: H (Table 3 of the paper)", _told(table))]
    for problem in results.problems:
        if problem.missing and not any(published.general(method, problem.dataset) for method in methods):
            continue
        title = f"Generalised protocol on {problem.name}" + (", published alone" if problem.missing else "")
        chart = _chart(results, problem, methods, f"Generalised protocol on {problem.name}")
        figures = {f"gzsl-{problem.stem}": chart} if chart else {}
        made.append(Output("gzsl", f"gzsl-{problem.stem}", title, _general(results, problem, methods), figures))
    return made


def printed_harmonic(method: str, dataset: str) -> Figure | None:
    """H of the published seen and unseen accuracies, marked where the printed one does not follow from them."""
    found = published.general(method, dataset)
    return None if found is None else Figure(found.harmonic, mark=MISPRINT if found.misprint else "")


def _general(results: Results, problem: Problem, methods: tuple[str, ...]) -> Comparison:
    columns: dict[str, dict[str, Figure]] = {}
    for name in GENERAL:
        mine = {method: figure for method in methods if (figure := results.figure(problem, method, name))}
        if mine:
            columns[name] = comparison_table.marked(mine)
    theirs = {method: found for method in methods if (found := published.general(method, problem.dataset))}
    if theirs:
        columns[PRINTED[0]] = {method: Figure(found.unseen) for method, found in theirs.items()}
        columns[PRINTED[1]] = {method: Figure(found.seen) for method, found in theirs.items()}
        columns[PRINTED[2]] = {
            method: figure for method in theirs if (figure := printed_harmonic(method, problem.dataset))
        }
    if theirs and "H" in columns:
        name = "difference in H" + ("" if problem.comparable else ", not comparable")
        apart = {
            method: Figure(columns["H"][method].mean - columns[PRINTED[2]][method].mean)
            for method in methods
            if method in columns["H"] and method in theirs
        }
        columns[name] = apart
    rows = tuple(
        Row(
            {"method": method},
            results.seeds([problem], method),
            {name: found[method] for name, found in columns.items() if method in found},
        )
        for method in methods
    )
    alone = Results((problem,), results.methods, results.runs)
    return _told(Comparison(("method",), tuple(columns), rows, tuple(comparison_table.notes(alone))))


def _told(table: Comparison) -> Comparison:
    """With a note on misprints where one is in the table."""
    if not any(figure.mark for row in table.rows for figure in row.figures.values()):
        return table
    said = "; ".join(
        f"{method} on {dataset}, printed as {found.printed}"
        for method, dataset in published.misprints()
        if (found := published.general(method, dataset)) is not None
    )
    note = f"Published H is computed from the published seen and unseen accuracy. {MISPRINT} misprints: {said}."
    return Comparison(table.labels, table.figures, table.rows, (*table.notes, note))


def _chart(results: Results, problem: Problem, methods: tuple[str, ...], title: str) -> Drawing | None:
    names = [method for method in methods if results.figure(problem, method, "H")]
    if not names:
        return None
    columns = {name: [results.figure(problem, method, name) for method in names] for name in GENERAL[:-1]}
    return comparison_table.dots(title, names, columns, "accuracy among all classes (%)")


def incoherence(results: Results) -> list[Output]:
    """Table 4."""
    methods = needed(("incoherence",), results.methods)
    figures = {}
    for problem in results.measured:
        title = f"{NORM} on {problem.name}"
        axis = f"{NORM}, columns of W of unit length"
        drawn = comparison_table.chart(problem, title, methods, results.incoherence, printed_incoherence, axis)
        if drawn:
            figures[f"incoherence-{problem.stem}"] = drawn
    table = comparison_table.table(results, methods, results.incoherence, printed_incoherence, most=False, count=False)
    return [Output("incoherence", "incoherence", f"{NORM} (Table 4 of the paper)", table, figures)]


def printed_incoherence(method: str, dataset: str) -> Figure | None:
    found = published.incoherence(method, dataset)
    return None if found is None else Figure(found)
