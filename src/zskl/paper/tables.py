"""The tables of the evaluation, and the files that hold them: tables in three formats, figures, a page, the README."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from zskl import _files
from zskl.experiments import compare, uncertainty
from zskl.experiments.compare import Comparison, Row
from zskl.experiments.record import Choice, Record
from zskl.experiments.uncertainty import Figure
from zskl.metrics import harmonic_mean
from zskl.paper import claims, figures
from zskl.paper.claims import UNTESTED, Verdict, count_verdicts
from zskl.paper.results import (
    BASELINES,
    DATASETS,
    FAMILIES,
    KERNELS,
    PUBLISHED_FEATURES,
    Output,
    Problem,
    Results,
    family_of,
    mean_over_runs,
    needed_methods,
)
from zskl.report.sections import to_csv_text

Columns: TypeAlias = dict[str, dict[str, Figure]]  # column → method → figure
MAIN_FIGURES = ("zero-shot", "H", "calibrated H")
GENERAL = ("unseen", "seen", "H", "area")
FAMILY = "family"
ROUNDING = 0.05  # of a printed accuracy, at most
LAST_DIGIT = 0.1  # of a printed H, which may have been cut off instead of rounded, as IAP's on SUN must have been
PRINTED_NAMES = {"cmt-star": "CMT*", "eszsl-signs": "ESZSL", "cauchy-ort": "Cauchy-Ort", "gaussian-ort": "Gaussian-Ort"}
MISPRINT, BELOW = "†", "↓"
NORM = "‖WᵀW − I‖²"
PRINTED = f"published ({PUBLISHED_FEATURES})"
ORIENTATION = (
    "Published figures are of ResNet-101 features; these are of another network, so they are for orientation only. "
)


def zero_shot_tables(results: Results) -> Iterator[Output]:
    """Table 2, with H and calibrated H beside it; and how far each method is from the best."""
    for problem in results.measured:
        table = main_table(results, problem, needed_methods(("zsl",), results.methods))
        chart = figures.accuracy_chart(problem, table)
        name = f"zsl-{problem.stem}"
        yield Output("zsl", name, problem.name, table, {name: chart} if chart else {})
        apart = difference_table(results, problem)
        if apart is not None:
            yield Output("differences", f"differences-{problem.stem}", problem.name, apart)


def main_table(results: Results, problem: Problem, methods: Iterable[str]) -> Comparison:
    """Zero-shot accuracy, H and calibrated H, the best in bold, beside what the paper printed."""
    names = [name for name in methods if (problem, name) in results.runs]
    columns, notes = _our_columns(results, problem, names, MAIN_FIGURES)
    theirs = {name: one for name in names if (one := published_figure("zsl", name, problem.dataset)) is not None}
    if problem.near and theirs:
        columns[f"{PRINTED} zero-shot"] = {name: Figure(figure) for name, figure in theirs.items()}
        columns[f"{PRINTED} H"] = {
            name: figure for name in names if (figure := printed_harmonic(name, problem.dataset)) is not None
        }
        mine = columns[MAIN_FIGURES[0]]
        low = [name for name in names if name in theirs and name in mine and mine[name].mean < theirs[name]]
        columns[MAIN_FIGURES[0]] = mine | {name: replace(mine[name], mark=BELOW) for name in low}
        below = f"{BELOW} zero-shot accuracy below the published figure: {', '.join(low)}."
        none = "No method is below its published zero-shot accuracy."
        notes.insert(0, ("" if problem.comparable else ORIENTATION) + (below if low else none))
        if any(figure.mark == MISPRINT for figure in columns[f"{PRINTED} H"].values()):
            notes.append(_misprint_note())
    return _family_table(results, problem, names, columns, notes)


def generalised_tables(results: Results) -> Iterator[Output]:
    """Table 3, with the area under the curve."""
    for problem in results.measured:
        names = [name for name in needed_methods(("gzsl",), results.methods) if (problem, name) in results.runs]
        columns, notes = _our_columns(results, problem, names, GENERAL)
        theirs = {name: found for name in names if (found := published_generalised(name, problem.dataset))}
        if problem.near and theirs:
            columns[f"{PRINTED} unseen"] = {name: Figure(found.unseen) for name, found in theirs.items()}
            columns[f"{PRINTED} seen"] = {name: Figure(found.seen) for name, found in theirs.items()}
            if not problem.comparable:
                notes.insert(0, ORIENTATION)
        table = _family_table(results, problem, names, columns, notes)
        title, axis = f"Generalised protocol on {problem.name}", "accuracy among all classes (%)"
        chart = figures.dot_chart(title, table, ("unseen", "seen", "H"), axis)
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
    """Table 4."""
    methods = needed_methods(("incoherence",), results.methods)
    columns: Columns = {}
    for problem in results.measured:
        found = {name: figure for name in methods if (figure := results.incoherence(problem, name)) is not None}
        if found:
            columns[problem.name] = found
        if found and problem.near:
            theirs = {name: published_figure("incoherence", name, problem.dataset) for name in methods}
            column = f"{problem.dataset} {PRINTED}"
            columns[column] = {name: Figure(one) for name, one in theirs.items() if one is not None}
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
    found: dict[str, Any] = json.loads(resources.files(__package__).joinpath("published.json").read_text("utf-8"))
    return found


def published_figure(table: str, method: str, dataset: str) -> Any:
    """In per cent, or None: of "zsl" (Table 2) or "incoherence" (Table 4); of "gzsl" (Table 3) three by name."""
    method = method.removesuffix("-printed")
    if method.startswith("polynomial-"):
        name = f"Polynomial r={method.rpartition('-')[2]}"
    else:
        name = PRINTED_NAMES.get(method) or (method.upper() if method in BASELINES else method.capitalize())
    return read_published()[table].get(name, {}).get("aPY" if dataset == "APY" else dataset)


def published_generalised(method: str, dataset: str) -> PublishedAccuracies | None:
    found = published_figure("gzsl", method, dataset)
    return None if found is None else PublishedAccuracies(found["unseen"], found["seen"], found["H"])


def find_misprints() -> dict[tuple[str, str], PublishedAccuracies]:
    """Of each (method, dataset) whose printed H does not follow from its seen and unseen accuracy."""
    places = [(method, dataset) for method in (*BASELINES, *KERNELS) for dataset in DATASETS]
    return {place: found for place in places if (found := published_generalised(*place)) and found.misprint}


def printed_harmonic(method: str, dataset: str) -> Figure | None:
    """H of the published seen and unseen accuracies, marked where the printed one does not follow from them."""
    found = published_generalised(method, dataset)
    return None if found is None else Figure(found.harmonic, mark=MISPRINT if found.misprint else "")


def _family_table(
    results: Results, problem: Problem, names: Sequence[str], columns: Columns, notes: Sequence[str]
) -> Comparison:
    rows = []
    for name in (name for mine in FAMILIES.values() for name in mine if name in names):
        figures = {column: found[name] for column, found in columns.items() if name in found}
        rows.append(Row({FAMILY: family_of(name), "method": name}, results.seeds(problem, name), figures))
    return _name_families(Comparison((FAMILY, "method"), tuple(columns), tuple(rows), tuple(notes)))


def _name_families(table: Comparison) -> Comparison:
    """Each family named in its first row alone."""
    rows, last = [], ""
    for row in table.rows:
        mine = family_of(row.labels["method"])
        rows.append(replace(row, labels={**row.labels, FAMILY: "" if mine == last else mine}))
        last = mine
    return replace(table, rows=tuple(rows))


def _misprint_note() -> str:
    found = find_misprints().items()
    listed = [f"{method} on {dataset}, printed as {one.printed}" for (method, dataset), one in found]
    return (
        f"Published H is computed from the published seen and unseen accuracy. {MISPRINT} misprints: "
        f"{'; '.join(listed)}."
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
        choices = [_find_choice(record, scoring) for record in found]
        score = mean_over_runs(100 * one.score for one in choices if one.score is not None)
        spread = mean_over_runs(100 * one.spread for one in choices if one.spread is not None)
        if score is not None:
            edges = {edge.name: f" ({edge.why})" for edge in choices[0].edges or ()}
            setting = ", ".join(f"{key} {value}{edges.get(key, '')}" for key, value in choices[0].setting.items())
            words = {"method": "" if rows else method, "by": name, "setting": setting}
            figure = Figure(score.mean, None if spread is None else spread.mean)
            rows.append(Row(words, None, {"validation score": figure}))
    return rows


def _find_choice(record: Record, scoring: str) -> Choice:
    return dict(record.tune.choices.items()).get(scoring, Choice())


def _edge_rows(problem: Problem, method: str, found: Sequence[Record]) -> list[Row]:
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for record in found:
        for scoring, name in SCORINGS.items():
            for edge in _find_choice(record, scoring).edges or ():
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


# Figures of an earlier version beside those of now, and why they differ

BEFORE, WHY = "before.csv", "why.csv"  # in the folder of the records; the second is written by hand
COLUMNS = ("zero-shot", "H", "calibrated H")


@dataclass(frozen=True)
class FigureChange:
    """A method on a problem: its figures as "59.4 → 63.2", and the reason."""

    problem: str
    method: str
    figures: Mapping[str, str]
    why: str


def compare_with_earlier(results: Results, folder: Path) -> list[FigureChange]:
    """Every method on every problem that `before.csv` in the folder speaks of; nothing without that file."""
    before = {(line["dataset"], line["features"], line["method"]): line for line in _read_earlier(folder / BEFORE)}
    reasons = {line["method"]: line["why"] for line in _read_earlier(folder / WHY)}
    known = {place[:2] for place in before}
    made = []
    for problem in results.measured:
        if (problem.dataset, problem.features) not in known:
            continue
        for method in results.methods:
            old = before.get((problem.dataset, problem.features, method), {})
            figures = {}
            for column in COLUMNS:
                new = results.figure(problem, method, column)
                pair = (old.get(column) or "", "" if new is None else f"{new.mean:.1f}")
                if any(pair):
                    figures[column] = " → ".join(one or "–" for one in pair)
            if figures:
                why = reasons.get(method, "" if old else "new")
                made.append(FigureChange(problem.name, method, figures, why))
    return made


def _read_earlier(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        return []
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


# All of it as one page of Markdown: results.md, which lies beside the folder figures/

SECTIONS = {  # part → heading, tables on the page, figures on the page
    "differences": ("Paired differences to the best", True, False),
    "gzsl": ("Seen and unseen classes together", True, False),
    "incoherence": ("Incoherence", True, True),
    "gram": ("Gram matrices", False, True),
    "sensitivity": ("Sensitivity", False, True),
    "convergence": ("Convergence", False, True),
}
EXTRAPOLATED = "two_cores.json"  # written by benchmarks/two_cores.py
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


def results_page(
    results: Results,
    outputs: Sequence[Output],
    verdicts: Sequence[Verdict],
    changed: Sequence[FigureChange] = (),
    further: Sequence[str] = (),
) -> str:
    parts = [INTRODUCTION, *_data_section(results)]
    parts += _format_table_section("Accuracy", [output for output in outputs if output.part == "zsl"], figures=False)
    parts += ["## Claims of the paper\n", *_claims_section(verdicts)]
    for part, (heading, *shown) in SECTIONS.items():
        parts += _format_table_section(heading, [output for output in outputs if output.part == part], *shown)
    charts = [replace(one, table=replace(one.table, notes=())) for one in outputs if one.part in ("zsl", "gzsl")]
    charts.sort(key=lambda one: one.title)
    parts += _format_table_section("Accuracies as figures", [one for one in charts if one.figures], tables=False)
    parts += _changes_section(changed)
    parts += _format_table_section("What validation chose", [output for output in outputs if output.part == "choices"])
    parts += [*_times_section(results.times), *further]
    return "\n".join(parts).rstrip("\n") + "\n"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def _data_section(results: Results) -> list[str]:
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


def _claims_section(verdicts: Sequence[Verdict]) -> list[str]:
    rows = [(claim, *(numbers if any(numbers) else (UNTESTED, "", ""))) for claim, *numbers in count_verdicts(verdicts)]
    parts = [JUDGED, markdown_table(("claim", "yes", "no", "undecided"), rows)]
    tested = [one for one in verdicts if one.answer != UNTESTED]
    for claim in dict.fromkeys(one.claim for one in tested):
        mine = [(one.where, f"**{one.answer}**", one.figure) for one in tested if one.claim == claim]
        title = claim[0].upper() + claim[1:] if claim[0].isascii() else claim  # λ stays λ
        parts += [f"### {title}\n", markdown_table(("case", "holds", "figures"), mine)]
    return parts


def _format_table_section(
    heading: str, outputs: Sequence[Output], tables: bool = True, figures: bool = True
) -> list[str]:
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
            parts.append(compare.to_markdown(output.table))
    return parts


def _changes_section(changed: Sequence[FigureChange]) -> list[str]:
    if not changed:
        return []
    parts = ["## What changed since 0.1, and why\n", "Per cent, before → after.\n"]
    for problem in dict.fromkeys(one.problem for one in changed):
        mine = [one for one in changed if one.problem == problem]
        columns = list(dict.fromkeys(name for one in mine for name in one.figures))
        rows = [(one.method, *(one.figures.get(name, "") for name in columns), one.why) for one in mine]
        parts += [f"### {problem}\n", markdown_table(("method", *columns, "why"), rows)]
    return parts


def _times_section(times: Sequence[Mapping[str, Any]]) -> list[str]:
    if not times:
        return []
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    machines: dict[str, list[Mapping[str, Any]]] = {}
    for one in times:
        machine = one.get("machine") or one["device"]
        kinds.setdefault((one["stage"], machine), []).append(one)
        machines.setdefault(machine, []).append(one)
    lines = ["| stage | on | units | commands | seconds of all commands |", "| --- | --- | ---: | ---: | ---: |"]
    for (stage, machine), mine in kinds.items():
        units, seconds = sum(one["units"] for one in mine), sum(one["seconds"] for one in mine)
        lines.append(f"| {stage} | {machine} | {units} | {len(mine)} | {seconds:.0f} |")
    spent = ", ".join(f"{elapsed_seconds(mine) / 60:.0f} minutes on {machine}" for machine, mine in machines.items())
    said = f"Commands ran beside each other. On the clock all of it took {spent}.\n"
    return ["## Times\n", said, "\n".join(lines) + "\n"]


def elapsed_seconds(times: Sequence[Mapping[str, Any]]) -> float:
    """Seconds during which at least one of the stages ran: they may run beside each other, or on different days."""
    ends = [datetime.fromisoformat(one["finished"]).timestamp() for one in times]
    spent, last = 0.0, float("-inf")
    for start, end in sorted((end - float(one["seconds"]), end) for one, end in zip(times, ends, strict=True)):
        spent += max(0.0, end - max(start, last))
        last = max(last, end)
    return spent


def _extrapolation_section(folder: Path) -> list[str]:
    file = folder / EXTRAPOLATED
    found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    rows, missing = found.get("rows"), found.get("missing")
    if not rows:
        return []
    what = f"all but {', '.join(missing)}" if missing else "all of it"
    hours = sum(row["hours on two cores"] for row in rows)
    said = (
        f"On two cores ({found['processor']}) {what} would take {hours:.1f} hours: extrapolated from one method "
        f"of each family, run on {found['dataset']}.\n"
    )
    return [said, markdown_table(list(rows[0]), [list(row.values()) for row in rows])]


# The leading methods of each family, for the README: between two marks in it, never written by hand

BEGIN, END = "<!-- begin: results -->", "<!-- end: results -->"
LEADING = ("zero-shot", "calibrated H")  # the method of each family with the highest mean in one of these is shown


def write_readme(results: Results, file: Path) -> None:
    """Replace what is between the marks by a table for each problem. What is bold was decided among all methods."""
    try:
        before, rest = file.read_text("utf-8").split(BEGIN)
        after = rest.split(END)[1]
    except (ValueError, IndexError):
        raise ValueError(f"{file} has no place for results: expected a line {BEGIN} and, after it, {END}") from None
    parts = []
    for problem in results.measured:
        table = main_table(results, problem, results.methods)
        ranked = [results.ranked(problem, mine, column) for mine in FAMILIES.values() for column in LEADING]
        names = {found[0][0] for found in ranked if found}
        rows = tuple(row for row in table.rows if row.labels["method"] in names)
        parts += [f"**{problem.name}**\n", compare.to_markdown(_name_families(replace(table, rows=rows)))]
    text = "\n".join(parts)
    _files.write_atomically(file, f"{before}{BEGIN}\n\n{text}\n{END}{after}".encode())


# Files: each table as Markdown, CSV and LaTeX, each figure as SVG and PNG, the claims, the page

MAKERS: Mapping[str, Callable[[Results], Iterable[Output]]] = {
    "zsl": zero_shot_tables,
    "gzsl": generalised_tables,
    "incoherence": incoherence_tables,
    "gram": figures.gram_figures,
    "sensitivity": figures.sensitivity_figures,
    "convergence": figures.convergence_figures,
}
ENDINGS = {"markdown": "md", "csv": "csv", "latex": "tex"}
CASES = ("claim", "case", "holds", "figures")


def write_paper(
    results: Results, parts: Sequence[str], out: Path, docs: Path | None = None, readme: Path | None = None
) -> tuple[list[Path], list[Verdict]]:
    """Everything under `out`; page and figures also under `docs`, the leading methods also in the file `readme`."""
    made = [output for part in parts for output in MAKERS[part](results)]
    if {"zsl", "gzsl"} & set(parts):
        made += choice_tables(results)
    verdicts = claims.judge_claims(results)
    rows = [(one.claim, one.where, one.answer, one.figure) for one in verdicts]
    contents = {
        f"tables/{output.name}.{ending}": compare.FORMATS[name](output.table).encode()
        for output in made
        for name, ending in ENDINGS.items()
    }
    contents |= {
        "tables/claims.csv": to_csv_text(CASES, rows).encode(),
        "tables/claims.md": markdown_table(CASES, rows).encode(),
    }
    for output in made:
        for name, figure in output.figures.items():
            contents |= {f"figures/{name}.svg": figure.svg().encode(), f"figures/{name}.png": figure.png()}
    changed = compare_with_earlier(results, out)
    page = results_page(results, made, verdicts, changed, _extrapolation_section(out))
    contents["results.md"] = page.encode()
    for name, content in contents.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        _files.write_atomically(out / name, content)
    if readme is not None:
        write_readme(results, readme)
    if docs is not None:
        (docs / "figures").mkdir(parents=True, exist_ok=True)
        for name in contents:
            if not name.startswith("tables/"):
                shutil.copyfile(out / name, docs / name)
    return [out / name for name in contents], verdicts
