"""A table with a row per method and, for each dataset, our figure, the published one and the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper.methods import DATASETS
from zskl.paper.published import BASELINES, FEATURES, KERNELS
from zskl.paper.results import Problem, Results
from zskl.plots import ComparisonDisplay, drawing
from zskl.plots.comparison import reach
from zskl.plots.drawing import Drawing

Ours = Callable[[Problem, str], Figure | None]
Printed = Callable[[str, str], Figure | None]  # method, dataset
MEASURED, PRINTED = "better than the baselines, measured", "better than the baselines, published"


def table(
    results: Results, methods: Sequence[str], ours: Ours, printed: Printed, most: bool = True, count: bool = True
) -> Comparison:
    """`most`: whether the largest figure is the best. `count`: how many datasets a method wins, as in the paper."""
    columns: list[str] = []
    figures: dict[str, dict[str, Figure]] = {method: {} for method in methods}
    for problem in results.problems:
        for name, found in _columns(problem, methods, ours, printed):
            columns.append(name)
            marks = found if "difference" in name else marked(found, most)
            for method, figure in marks.items():
                figures[method][name] = figure
    labels = ("method", MEASURED, PRINTED) if count else ("method",)
    rows = []
    for method in methods:
        words = {"method": method, MEASURED: wins(results, method, ours), PRINTED: printed_wins(method, printed)}
        rows.append(Row(words, results.seeds(results.measured, method), figures[method]))
    return Comparison(labels, tuple(columns), tuple(rows), tuple(notes(results)))


def _columns(
    problem: Problem, methods: Sequence[str], ours: Ours, printed: Printed
) -> Iterator[tuple[str, dict[str, Figure]]]:
    theirs = {method: figure for method in methods if (figure := printed(method, problem.dataset)) is not None}
    if problem.missing:
        yield f"{problem.dataset} not measured; published ({FEATURES})", theirs
        return
    mine = {method: figure for method in methods if (figure := ours(problem, method)) is not None}
    yield problem.name, mine
    if theirs:
        yield f"{problem.dataset} published ({FEATURES})", theirs
        apart = {
            name: Figure(mine[name].mean - theirs[name].mean) for name in methods if name in mine and name in theirs
        }
        yield f"{problem.dataset} difference{'' if problem.comparable else ', not comparable'}", apart


def notes(results: Results) -> list[str]:
    """What a reader must know before comparing."""
    found = []
    strange = [problem.name for problem in results.measured if not problem.comparable and problem.dataset in DATASETS]
    known = [problem for problem in results.problems if problem.dataset in DATASETS]
    if known:
        found.append(f"Published figures were measured on {FEATURES} features.")
    if strange:
        found.append(f"Ours on {', '.join(strange)} have other features: they are not comparable with published ones.")
    missing = [problem.dataset for problem in results.problems if problem.missing]
    if missing:
        found.append(f"Not measured, because data or features are missing: {', '.join(missing)}.")
    counts: dict[str, set[int]] = {}
    for (problem, method), mine in results.runs.items():
        if problem in results.problems:
            counts.setdefault(method, set()).add(len(mine))
    if any(len(seen) > 1 for seen in counts.values()):
        found.append("Datasets have different numbers of seeds; the column shows the smallest.")
    return found


def wins(results: Results, method: str, ours: Ours) -> str:
    """ "1/2": datasets on which the mean of a kernel method is above those of all baselines that were run."""
    if method in BASELINES:
        return ""
    judged = []
    for problem in results.measured:
        rivals = [figure.mean for name in BASELINES if (figure := ours(problem, name)) is not None]
        mine = ours(problem, method)
        if rivals and mine is not None:
            judged.append(mine.mean > max(rivals))
    return f"{sum(judged)}/{len(judged)}" if judged else ""


def printed_wins(method: str, printed: Printed) -> str:
    """The same of the published figures, as the paper counts."""
    if method not in KERNELS:
        return ""
    won = 0
    for dataset in DATASETS:
        rivals = [figure.mean for name in BASELINES if (figure := printed(name, dataset)) is not None]
        mine = printed(method, dataset)
        won += mine is not None and bool(rivals) and mine.mean > max(rivals)
    return f"{won}/{len(DATASETS)}"


def chart(
    problem: Problem, title: str, methods: Sequence[str], ours: Ours, printed: Printed, axis: str
) -> Drawing | None:
    """Our figures of one problem, the published ones beside them."""
    names = [method for method in methods if ours(problem, method) is not None]
    if not names:
        return None
    mine = f"measured, {problem.features} features" if problem.features else "measured"
    columns = {mine: [ours(problem, name) for name in names]}
    theirs = [printed(name, problem.dataset) for name in names]
    if not any(theirs):
        return dots(title, names, columns, axis)
    both = {f"published, {FEATURES}": theirs, **columns}
    return dots(title, names, both, axis, marks=("ring", "dot"), ranks=(1, 0))


def dots(
    title: str,
    methods: Sequence[str],
    columns: Mapping[str, Sequence[Figure | None]],
    axis: str,
    marks: Sequence[str] | None = None,
    ranks: Sequence[int] | None = None,
) -> Drawing:
    """Columns of a table as dots, a row per method."""
    means = [[nan if figure is None else figure.mean for figure in column] for column in columns.values()]
    ends = [reach(column) for column in columns.values()]
    names = list(columns)
    display = ComparisonDisplay(methods, means, names=names, whiskers=ends, axis=axis, marks=marks, ranks=ranks)
    return drawing.panels(title, [(title, display)])


def marked(found: Mapping[str, Figure], most: bool = True) -> dict[str, Figure]:
    """The best in bold, at the precision of the table."""
    if len(found) < 2:
        return dict(found)
    pick = max if most else min
    best = pick(round(figure.mean, figure.digits) for figure in found.values())
    return {name: replace(figure, best=round(figure.mean, figure.digits) == best) for name, figure in found.items()}
