"""The tables of the evaluation: those of each dataset, those in the layout of the paper, and those beside figures."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import isnan, nan
from typing import Any, TypeAlias

from zskl._display import count_noun
from zskl.experiments import compare, uncertainty
from zskl.experiments.compare import Comparison, Row
from zskl.experiments.record import Choice, Record
from zskl.experiments.uncertainty import Figure
from zskl.metrics import harmonic_mean
from zskl.paper.results import (
    ALL_BASELINES,
    BASELINES,
    DATASETS,
    FAMILIES,
    KERNELS,
    NOT_OWN,
    PAIRS,
    PAPER_BASELINES,
    PRINTED,
    PUBLISHED_FEATURES,
    ConvergenceRecord,
    Output,
    Problem,
    Results,
    SensitivityRecord,
    family_of,
    mean_over_runs,
    needed_methods,
)
from zskl.plots import ComparisonDisplay, ConvergenceDisplay, GramDisplay
from zskl.plots import validation as plot
from zskl.plots._base import Drawing, draw_panels
from zskl.plots.comparison import read_columns
from zskl.plots.projection import AXIS

Columns: TypeAlias = dict[str, dict[str, Figure]]  # column → method → figure
MAIN_FIGURES = ("zero-shot", "H", "calibrated H")
GENERAL = ("unseen", "seen", "H", uncertainty.OTHER_H, "area")
PRINTED_FAMILIES = (family_of(BASELINES[0]), family_of(PRINTED[0]))  # with published figures beside them
FAMILY = "family"
ROUNDING = 0.05  # of a printed accuracy, at most
LAST_DIGIT = 0.1  # of a printed H, which may have been cut off instead of rounded, as IAP's on SUN must have been
MISPRINT, BELOW = "†", "↓"
NOT_OWN_NOTE = f"{NOT_OWN} Of the setting chosen for zero-shot accuracy: the records know no other."
NORM = "‖WᵀW − I‖²"
UNIT_COLUMNS = "Columns of W of unit length; mean ± standard deviation over seeds."
PUBLISHED_COLUMN = f"published ({PUBLISHED_FEATURES})"
ORIENTATION = (
    "Published figures are of ResNet-101 features; these are of another network, so they are for orientation only. "
)


def zero_shot_tables(results: Results) -> Iterator[Output]:
    """Table 2, with H and calibrated H beside it; and how far each method is from the best."""
    for problem in results.measured:
        table = main_table(results, problem, needed_methods(("zsl",), results.methods))
        chart = accuracy_chart(problem, table)
        name = f"zsl-{problem.stem}"
        yield Output("zsl", name, problem.name, table, {name: chart} if chart else {})
        apart = difference_table(results, problem)
        if apart is not None:
            yield Output("differences", f"differences-{problem.stem}", problem.name, apart)


def main_table(results: Results, problem: Problem, methods: Iterable[str]) -> Comparison:
    """Zero-shot accuracy, H and calibrated H, the best in bold, beside what the paper printed."""
    names = [name for name in methods if name in results.names(problem)]
    columns, notes = _our_columns(results, problem, names, MAIN_FIGURES)
    theirs = {name: one for name in names if (one := published_figure("zsl", name, problem.dataset)) is not None}
    if problem.near and theirs:
        columns[f"{PUBLISHED_COLUMN} zero-shot"] = {name: Figure(figure) for name, figure in theirs.items()}
        columns[f"{PUBLISHED_COLUMN} H"] = {
            name: figure for name in names if (figure := printed_harmonic(name, problem.dataset)) is not None
        }
        mine = columns[MAIN_FIGURES[0]]
        low = [name for name in names if name in theirs and name in mine and mine[name].mean < theirs[name]]
        columns[MAIN_FIGURES[0]] = mine | {name: replace(mine[name], mark=BELOW) for name in low}
        below = f"{BELOW} zero-shot accuracy below the published figure: {', '.join(low)}."
        none = "No method is below its published zero-shot accuracy."
        notes.insert(0, ("" if problem.comparable else ORIENTATION) + (below if low else none))
        if any(figure.mark == MISPRINT for figure in columns[f"{PUBLISHED_COLUMN} H"].values()):
            notes.append(_misprint_note())
    return _family_table(results, problem, names, columns, notes)


def generalised_tables(results: Results) -> Iterator[Output]:
    """Table 3, with the area under the curve."""
    for problem in results.measured:
        names = [name for name in needed_methods(("gzsl",), results.methods) if (problem, name) in results.runs]
        columns, notes = _our_columns(results, problem, names, GENERAL)
        theirs = {name: found for name in names if (found := published_generalised(name, problem.dataset))}
        if problem.near and theirs:
            columns[f"{PUBLISHED_COLUMN} unseen"] = {name: Figure(found.unseen) for name, found in theirs.items()}
            columns[f"{PUBLISHED_COLUMN} seen"] = {name: Figure(found.seen) for name, found in theirs.items()}
            if not problem.comparable:
                notes.insert(0, ORIENTATION)
        table = _family_table(results, problem, names, columns, notes)
        title, axis = f"Generalised protocol on {problem.name}", "accuracy among all classes (%)"
        chart = dot_chart(title, table, ("unseen", "seen", "H"), axis)
        name = f"gzsl-{problem.stem}"
        yield Output("gzsl", name, problem.name, table, {name: chart} if chart else {})


def _our_columns(
    results: Results, problem: Problem, names: Sequence[str], wanted: Sequence[str]
) -> tuple[Columns, list[str]]:
    columns: Columns = {}
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
    few = uncertainty.few_classes_note(record for name in names for record in results.runs[problem, name])
    notes = [f"{few[0].upper()}{few[1:]}."] if few else []
    if unknown:
        whose = "the records" if len(unknown) == len(names) else f"the records of {', '.join(unknown)}"
        notes.append(f"No interval and nothing in bold: {whose} keep no answers; run them again.")
    if shared:
        notes.append(f"Nothing is in bold in {', '.join(shared)}: every method may be the best.")
    if any(figure.mark == NOT_OWN for found in columns.values() for figure in found.values()):
        notes.append(NOT_OWN_NOTE)
    return {name: found for name, found in columns.items() if found}, notes


def difference_table(results: Results, problem: Problem) -> Comparison | None:
    """For each column of the main table how far every method is below the best, paired, with its interval."""
    columns: Columns = {}
    for column in MAIN_FIGURES:
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
    return _family_table(results, problem, names, columns, [note])


def incoherence_tables(results: Results) -> list[Output]:
    """Of every problem; the layout of Table 4 has published figures too."""
    methods = needed_methods(("incoherence",), results.methods)
    columns: Columns = {}
    for problem in results.measured:
        found = {name: figure for name in methods if (figure := results.incoherence(problem, name)) is not None}
        if found:
            columns[problem.name] = found
    rows = tuple(
        Row({"method": name}, None, {column: found[name] for column, found in columns.items() if name in found})
        for name in methods
        if any(name in found for found in columns.values())
    )
    if not rows:
        return []
    table = Comparison(("method",), tuple(columns), rows, (UNIT_COLUMNS,))
    return [Output("incoherence", "incoherence", NORM, table)]


@dataclass(frozen=True)
class PublishedAccuracies:
    """Of the generalised protocol. `harmonic` is computed from the other two; `printed` is what the paper has."""

    unseen: float
    seen: float
    printed: float

    @property
    def harmonic(self) -> float:
        return harmonic_mean(self.seen, self.unseen)

    @property
    def misprint(self) -> bool:
        """Whether no figures that are printed as these have a harmonic mean within a last digit of that one."""
        low, high = (
            harmonic_mean(max(0.0, self.seen + by), max(0.0, self.unseen + by)) for by in (-ROUNDING, ROUNDING)
        )
        return not low - LAST_DIGIT < self.printed < high + LAST_DIGIT


@cache
def read_published() -> dict[str, Any]:
    return json.loads(resources.files(__package__).joinpath("published.json").read_text("utf-8"))


def published_figure(table: str, method: str, dataset: str) -> Any:
    """In per cent, or None: of "zsl" (Table 2) or "incoherence" (Table 4); of "gzsl" (Table 3) three by name."""
    return read_published()[table].get(paper_name(method), {}).get("aPY" if dataset == "APY" else dataset)


def published_generalised(method: str, dataset: str) -> PublishedAccuracies | None:
    found = published_figure("gzsl", method, dataset)
    return None if found is None else PublishedAccuracies(found["unseen"], found["seen"], found["H"])


def find_misprints() -> dict[tuple[str, str], PublishedAccuracies]:
    """Of each (method, dataset) whose printed H does not follow from its seen and unseen accuracy."""
    places = [(method, dataset) for method in (*BASELINES, *KERNELS) for dataset in DATASETS]
    return {place: found for place in places if (found := published_generalised(*place)) and found.misprint}


def printed_harmonic(method: str, dataset: str) -> Figure | None:
    """H as printed; computed again from seen and unseen accuracy, and marked, where it does not follow from them."""
    found = published_generalised(method, dataset)
    if found is None:
        return None
    return Figure(found.harmonic, mark=MISPRINT) if found.misprint else Figure(found.printed)


def _family_table(
    results: Results, problem: Problem, names: Sequence[str], columns: Columns, notes: Sequence[str]
) -> Comparison:
    rows = []
    for name in (name for mine in FAMILIES.values() for name in mine if name in names):
        figures = {column: found[name] for column, found in columns.items() if name in found}
        rows.append(Row({FAMILY: family_of(name), "method": name}, results.seeds(problem, name), figures))
    return _name_once(Comparison((FAMILY, "method"), tuple(columns), tuple(rows), tuple(notes)), FAMILY)


def name_families(table: Comparison) -> Comparison:
    """Each family named in its first row alone, also where rows were left out."""
    rows = (replace(row, labels={**row.labels, FAMILY: family_of(row.labels["method"])}) for row in table.rows)
    return _name_once(replace(table, rows=tuple(rows)), FAMILY)


def _misprint_note() -> str:
    found = find_misprints().items()
    listed = [f"{method} on {dataset}, printed as {one.printed}" for (method, dataset), one in found]
    return (
        f"{MISPRINT} Computed again from the published seen and unseen accuracy, since the printed H does not follow "
        f"from them: {'; '.join(listed)}."
    )


# What validation chose for each method, which of these numbers are at an edge, and how long that took on what

SCORINGS = {"zsl": "zero-shot accuracy", "gzsl": "calibrated H", "harmonic": "H"}
CHOSEN = (
    "Settings of the lowest seed. The scores are those of validation classes, in per cent, ± the standard deviation "
    "over folds; both are means over seeds."
)
EDGES = (
    "Numbers that are the lowest or highest of all that selection tried, although it goes on beyond its grid: it ends "
    "at a stated bound, or the number has none."
)
SECONDS = (
    "Search, fits and calibration of one seed, in seconds, mean over seeds; on whatever else the machine was doing."
)


def choice_tables(results: Results) -> Iterator[Output]:
    for problem in results.measured:
        rows = [row for name in results.methods for row in _choice_rows(name, results.runs.get((problem, name), ()))]
        if rows:
            groups = [mine for name in results.methods if (mine := results.runs.get((problem, name)))]
            folds = compare.fold_spread_note(record for group in groups for record in group)
            notes = [CHOSEN, *([f"Figures that {folds}."] if folds else [])]
            notes += [f"{note}." for note in compare.seed_spread_notes(groups)]
            table = Comparison(("method", "by", "setting"), ("validation score",), tuple(rows), tuple(notes))
            yield Output("choices", f"choices-{problem.stem}", problem.name, table)
    found = [row for (problem, method), mine in results.runs.items() for row in _edge_rows(problem, method, mine)]
    if found:
        table = Comparison(tuple(found[0].labels), (), tuple(found), (EDGES,))
        yield Output("choices", "edges", "Chosen at an edge", table)
    yield from _time_tables(results)


def _choice_rows(method: str, found: Sequence[Record]) -> list[Row]:
    rows: list[Row] = []
    for scoring, name in SCORINGS.items():
        choices = [getattr(record.tune.choices, scoring) or Choice() for record in found]
        score = mean_over_runs(100 * one.score for one in choices if one.score is not None)
        spread = mean_over_runs(100 * one.spread for one in choices if one.spread is not None)
        if score is not None:
            edges = {edge.name: f" ({edge.why})" for edge in choices[0].edges or ()}
            setting = ", ".join(f"{key} {value}{edges.get(key, '')}" for key, value in choices[0].setting.items())
            words = {"method": "" if rows else method, "by": name, "setting": setting}
            figure = Figure(score.mean, None if spread is None else spread.mean)
            rows.append(Row(words, None, {"validation score": figure}))
    return rows


def _edge_rows(problem: Problem, method: str, found: Sequence[Record]) -> list[Row]:
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for record in found:
        for scoring, name in SCORINGS.items():
            for edge in (getattr(record.tune.choices, scoring) or Choice()).edges or ():
                place = (name, f"{edge.name} {edge.value:g}", f"{edge.side}, {edge.why}")
                seeds.setdefault(place, []).append(record.seed)
    columns = ("chosen by", "setting", "edge")
    about = {"data": problem.name, "method": method}
    return [Row(about | dict(zip(columns, place, strict=True)), len(mine), {}) for place, mine in seeds.items()]


def _time_tables(results: Results) -> list[Output]:
    columns = tuple(problem.name for problem in results.measured)
    rows = []
    for method in results.methods:
        figures: dict[str, Figure] = {}
        devices: set[str] = set()
        for problem in results.measured:
            found = results.runs.get((problem, method), ())
            spent = mean_over_runs(time for record in found if (time := record.seconds.training) is not None)
            devices |= {record.device for record in found}
            if spent is not None:
                figures[problem.name] = Figure(spent.mean, digits=0)
        if figures:
            rows.append(Row({"method": method, "device": ", ".join(sorted(devices))}, None, figures))
    table = Comparison(("method", "device"), columns, tuple(rows), (SECONDS,))
    return [Output("choices", "seconds", "Seconds of a unit", table)] if rows else []


# Tables 2 and 3 as the paper has them: methods down, the five datasets across, its figures above ours

PAPER_NAMES = {  # method → its name in the paper, where the name in capitals is not it
    **{"cmt-star": "CMT*", "eszsl-signs": "ESZSL", "cauchy-ort": "Cauchy-Ort", "gaussian-ort": "Gaussian-Ort"},
    **{f"polynomial-{degree}": f"Polynomial r={degree}" for degree in (2, 4, 6)},
    **{name: name.capitalize() for name in ("cauchy", "gaussian")},
}
PUBLISHED = "published"
BETTER = "better than the best baseline"
LAYOUTS = (  # table of the paper → title, its columns by ours, and which of these counts in its last column
    ("zsl", "Table 2. The standard protocol", {"zero-shot": ""}, "zero-shot"),
    ("gzsl", "Table 3. The generalised protocol", {"unseen": " ts", "seen": " tr", "H": " H"}, "H"),
    ("incoherence", f"Table 4. Incoherence, {NORM}", {NORM: ""}, ""),
)
FEW_SEEDS = "§"


def paper_name(method: str) -> str:
    plain = method.removesuffix("-printed")
    return PAPER_NAMES.get(plain) or (plain.upper() if plain in BASELINES else "")


def choose_problems(results: Results) -> dict[str, Problem]:
    """Dataset → the problem of it whose features are most like those of the published figures."""
    found = {}
    for dataset in DATASETS:
        mine = [problem for problem in results.measured if problem.dataset.upper() == dataset]
        if mine:
            found[dataset] = max(mine, key=lambda problem: (problem.comparable, problem.near))
    return found


def layout_tables(results: Results, parts: Sequence[str]) -> Iterator[Output]:
    problems = choose_problems(results)
    for table, title, columns, counted in LAYOUTS if problems else ():
        found = {dataset: _layout_columns(results, problem, table, columns) for dataset, problem in problems.items()}
        if table not in parts or not any(found.values()):
            continue
        rows: list[Row] = []
        for family, members in FAMILIES.items():
            for name in (name for name in members if name in results.methods):
                labels = {FAMILY: family, "method": paper_name(name) or name}
                theirs = _published_row(table, name, columns, counted) if family in PRINTED_FAMILIES else {}
                if theirs and all(row.labels["method"] != labels["method"] for row in rows):
                    rows.append(Row(labels | {"figures": PUBLISHED}, None, theirs))
                ours = _layout_row(results, problems, found, name, columns)
                if ours and counted and name not in ALL_BASELINES:
                    ours[BETTER] = _count_better({one: columns_[counted] for one, columns_ in found.items()}, name)
                if ours:
                    seeds = [number for problem in problems.values() if (number := results.seeds(problem, name))]
                    rows.append(Row(labels | {"figures": name}, min(seeds, default=None), ours))
        names = tuple(_layout_column(dataset, short) for dataset in DATASETS for short in columns.values())
        whole = Comparison(
            (FAMILY, "method", "figures"),
            (*names, BETTER) if counted else names,
            tuple(rows),
            tuple(_layout_notes(problems, rows, table)),
            "–",
        )
        yield Output("layout", f"table-{table}", title, _name_once(whole, FAMILY, "method"))


def _layout_column(dataset: str, short: str) -> str:
    return f"{'aPY' if dataset == 'APY' else dataset}{short}"


def _layout_columns(results: Results, problem: Problem, table: str, columns: Mapping[str, str]) -> Columns:
    if table != "incoherence":
        return _our_columns(results, problem, results.names(problem), tuple(columns))[0]
    known = {name: results.incoherence(problem, name) for name in needed_methods((table,), results.methods)}
    mine = {name: figure for name, figure in known.items() if figure is not None}
    return {NORM: mine} if mine else {}


def _layout_row(
    results: Results,
    problems: Mapping[str, Problem],
    found: Mapping[str, Columns],
    method: str,
    columns: Mapping[str, str],
) -> dict[str, Figure]:
    """Of Table 3 only H has room for its interval; the others are in the tables of each dataset."""
    row = {}
    for dataset, ours in found.items():
        few = (results.seeds(problems[dataset], method) or uncertainty.ENOUGH) < uncertainty.ENOUGH
        for column, short in columns.items():
            figure = ours.get(column, {}).get(method)
            if figure is not None:
                mark = figure.mark + FEW_SEEDS * few
                if column in ("unseen", "seen"):
                    figure = replace(figure, low=None, high=None, deviation=None)
                row[_layout_column(dataset, short)] = replace(figure, mark=mark)
    return row


def _published_row(table: str, method: str, columns: Mapping[str, str], counted: str) -> dict[str, Figure]:
    row: dict[str, Figure] = {}
    ours: dict[str, Figure] = {}
    theirs: dict[str, float] = {}
    for dataset in DATASETS:
        printed = _published_counted(table, method, dataset)
        if printed is None:
            continue
        ours[dataset] = printed
        values = dict.fromkeys(columns, printed)
        if table == "gzsl":
            figure = published_figure(table, method, dataset)
            values |= {name: Figure(figure[name]) for name in ("unseen", "seen")}
        row |= {_layout_column(dataset, columns[column]): one for column, one in values.items()}
        rivals = [one.mean for name in BASELINES if (one := _published_counted(table, name, dataset)) is not None]
        theirs |= {dataset: max(rivals)} if rivals else {}
    if theirs and method not in ALL_BASELINES:
        better = sum(ours[dataset].mean > one for dataset, one in theirs.items())
        row[BETTER] = Figure(better, mark=f" of {len(theirs)}", digits=0)
    return row


def _published_counted(table: str, method: str, dataset: str) -> Figure | None:
    if table == "gzsl":
        return printed_harmonic(method, dataset)
    figure = published_figure(table, method, dataset)
    return None if figure is None else Figure(figure)


def _count_better(found: Mapping[str, Mapping[str, Figure]], method: str) -> Figure:
    """On how many datasets its mean is above that of every baseline of the paper, as the paper counts."""
    both = {name: mine for name, mine in found.items() if method in mine and set(mine) & set(PAPER_BASELINES)}
    rivals = {name: max(mine[one].mean for one in PAPER_BASELINES if one in mine) for name, mine in both.items()}
    better = sum(mine[method].mean > rivals[name] for name, mine in both.items())
    return Figure(better, mark=f" of {len(both)}", digits=0)


def _layout_notes(problems: Mapping[str, Problem], rows: Sequence[Row], table: str) -> Iterator[str]:
    yield (
        f"Lines named {PUBLISHED} are the paper's, of {PUBLISHED_FEATURES}; the others are ours, named as zskl names "
        "the method. A dash: nothing was measured or published. Seeds: of the dataset that has the fewest."
    )
    yield f"Ours are of {'; '.join(f'{problem.name}, {describe_features(problem)}' for problem in problems.values())}."
    marks = {mark for row in rows for figure in row.figures.values() for mark in figure.mark}
    if FEW_SEEDS in marks:
        yield f"{FEW_SEEDS} The mean of fewer than {uncertainty.ENOUGH} seeds."
    if NOT_OWN in marks:
        yield NOT_OWN_NOTE
    if table == "gzsl" and MISPRINT in marks:
        yield _misprint_note()
    if table == "incoherence":
        yield UNIT_COLUMNS


def describe_features(problem: Problem) -> str:
    if problem.comparable:
        return "those of the published figures"
    if problem.near:
        return "near those of the published figures, but of another network"
    if problem.features == PUBLISHED_FEATURES:
        return "whose shape or norms are not those of the package, so not comparable with published figures"
    return "not comparable with published figures"


def _name_once(table: Comparison, *names: str) -> Comparison:
    """These labels in the first rows alone that have them."""
    rows, last = [], dict.fromkeys(names, "")
    for row in table.rows:
        mine = {name: row.labels[name] for name in last}
        hidden = {name: "" for name in last if mine[name] == last[name]}
        rows.append(replace(row, labels={**row.labels, **hidden}))
        last = mine
    return replace(table, rows=tuple(rows))


# Figures, each with the table of its numbers


def accuracy_chart(problem: Problem, table: Comparison) -> Drawing | None:
    printed = [name for name in table.figures if "published" in name and "zero-shot" in name]
    title = f"Zero-shot accuracy on {problem.name}"
    axis = "mean per-class accuracy (%)"
    if not printed:
        return dot_chart(title, table, ("zero-shot",), axis)
    return dot_chart(title, table, (*printed, "zero-shot"), axis, marks=("ring", "dot"), ranks=(1, 0))


def dot_chart(
    title: str,
    table: Comparison,
    columns: Sequence[str],
    axis: str,
    marks: Sequence[str] | None = None,
    ranks: Sequence[int] | None = None,
) -> Drawing | None:
    rows = [row for row in table.rows if any(name in row.figures for name in columns)]
    if not rows:
        return None
    methods, means, whiskers = read_columns(rows, columns)
    display = ComparisonDisplay(methods, means, names=columns, whiskers=whiskers, axis=axis, marks=marks, ranks=ranks)
    return draw_panels(title, [(title, display)])


# Validation and test accuracy against one setting (Figure 3 of the paper, columns 1 to 3)

NOTE = (
    "All other settings are those that validation chose for the lowest seed. Shades: one standard deviation, of "
    "validation over folds, of test over seeds. The ring is at the chosen value. Test accuracies were computed after "
    "all choices and decided none."
)


@dataclass(frozen=True)
class Point:
    """In per cent: the deviation of validation is over folds, of test over seeds; None where every seed diverged."""

    value: float
    validation: Figure | None
    test: Figure | None
    diverged: int = 0  # seeds


def curve_points(found: Sequence[SensitivityRecord], setting: str) -> list[Point]:
    read = plot.read_sensitivity(found, setting)
    figures = []
    for side in ("validation", "test"):
        pairs = (100 * read[[side, f"{side}_deviation"]].to_numpy(float)).tolist()
        figures.append([None if isnan(one) else Figure(one, None if isnan(apart) else apart) for one, apart in pairs])
    return list(map(Point, read.index.tolist(), *figures, read["diverged"].tolist()))


def sensitivity_figures(results: Results) -> Iterator[Output]:
    for (problem, method), found in results.curves.items():
        rows, drawn, gone = [], [], 0
        for setting in found[0].curves:
            curve = curve_points(found, setting)
            gone += sum(point.diverged for point in curve)
            for point in curve:
                pairs = {"validation": point.validation, "test": point.test}
                figures = {name: figure for name, figure in pairs.items() if figure is not None}
                rows.append(Row({"setting": setting, "value": f"{point.value:g}"}, len(found), figures))
            heading = f"{method}: {plot.LETTERS[setting]} varied"
            drawn.append((heading, plot.SensitivityDisplay._read(found, setting)))
        title = f"Sensitivity of {method} on {problem.name}"
        notes = [
            f"{count_noun(len(found), 'seed')}. {NOTE}",
            f"Chosen: {', '.join(f'{name} {value}' for name, value in found[0].setting.items())}.",
        ]
        if gone:
            notes.append(f"Training diverged in {count_noun(gone, 'case')}, left out of the means.")
        table = Comparison(("setting", "value"), ("validation", "test"), tuple(rows), tuple(notes))
        name = f"sensitivity-{method}-{problem.stem}"
        yield Output("sensitivity", name, title, table, {name: draw_panels(title, drawn)})


# Objective and accuracy against iterations (Figure 3 of the paper, column 4)

PHASES = {"validation": ("training rows", "validation rows"), "test": ("all training rows", "test rows")}
SIDES = ("training", "held out")
QUANTITIES = {"objective": "objective (mean over rows)", "accuracy": "mean per-class accuracy (%)"}


def convergence_figures(results: Results) -> Iterator[Output]:
    for (problem, method), found in results.courses.items():
        title = f"Convergence of {method} on {problem.name}"
        rows, drawn = [], []
        for phase, names in PHASES.items():
            figures = {(q, side): mean_course(found, phase, q, side) for q in QUANTITIES for side in SIDES}
            steps = found[0].phases[phase].step
            for place, step in enumerate(steps):
                cells = {f"{q}, {side}": figures[q, side][place] for q in QUANTITIES for side in SIDES}
                rows.append(Row({"run": " and ".join(names), "iteration": str(step)}, len(found), cells))
            for quantity, axis in QUANTITIES.items():
                sides = [figures[quantity, side] for side in SIDES]
                means = [[one.mean for one in side] for side in sides]
                apart = [[nan if one.deviation is None else one.deviation for one in side] for side in sides]
                display = ConvergenceDisplay([steps] * 2, means, names=names, deviations=apart, quantity=axis)
                drawn.append((f"{quantity}: {names[0]} and {names[1]}".capitalize(), display))
        kept = found[0].setting.get("epochs")
        notes = (
            f"{count_noun(len(found), 'seed')}. Each side among its own classes, so the heights of the two lines of a "
            "panel are of different numbers of classes; validation rows are those of the first fold. Shades: one "
            "standard deviation over seeds.",
            f"Settings as chosen by validation, which stopped at epoch {kept} of the {found[0].epochs} shown.",
        )
        columns = tuple(f"{quantity}, {side}" for quantity in QUANTITIES for side in SIDES)
        table = Comparison(("run", "iteration"), columns, tuple(rows), notes)
        name = f"convergence-{method}-{problem.stem}"
        yield Output("convergence", name, title, table, {name: draw_panels(title, drawn)})


def mean_course(found: Sequence[ConvergenceRecord], phase: str, quantity: str, side: str) -> list[Figure]:
    factor, digits = (100.0, 1) if quantity == "accuracy" else (1.0, 4)
    phases = [record.phases[phase] for record in found]
    lines = [(one.accuracy if quantity == "accuracy" else one.objective)[side] for one in phases]
    made = (mean_over_runs([factor * value for value in values], digits) for values in zip(*lines, strict=True))
    return [figure for figure in made if figure is not None]


def gram_figures(results: Results) -> Iterator[Output]:
    """WᵀW, columns of unit length, without and with incoherence, from the lowest seed that holds them."""
    for problem in results.measured:
        for pair in PAIRS:
            runs = {method: results.runs.get((problem, method), ()) for method in pair}
            holding = {method: [(one.seed, one.gram) for one in mine if one.gram] for method, mine in runs.items()}
            found = {method: mine[0] for method, mine in holding.items() if mine}
            if not found:
                continue
            title = f"WᵀW of the {pair[0].capitalize()} kernel on {problem.name}"
            displays = {method: GramDisplay(cells) for method, (_, cells) in found.items()}
            drawn = [
                (f"{method}: {display.mean_off_diagonal:.2f} on average off the diagonal", display)
                for method, display in displays.items()
            ]
            rows, seeds = [], sorted({seed for seed, _ in found.values()})
            for method, (_, cells) in found.items():
                for place, row in enumerate(cells, start=1):
                    figures = {str(k): Figure(value, digits=2) for k, value in enumerate(row, start=1)}
                    rows.append(Row({"method": method, AXIS: str(place)}, 1, figures))
            columns = tuple(str(k) for k in range(1, 1 + max(len(cells) for _, cells in found.values())))
            note = (
                f"Cosines between the first columns of W; seed {' and '.join(map(str, seeds))}. Blue is positive, "
                "orange negative, deeper is larger."
            )
            table = Comparison(("method", AXIS), columns, tuple(rows), (note,))
            name = f"gram-{pair[0]}-{problem.stem}"
            yield Output("gram", name, title, table, {name: draw_panels(title, drawn)})
