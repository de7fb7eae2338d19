"""What the report shows of records: figures, tables and sentences, each with its numbers and the command behind it."""

import csv
import io
import json
import shlex
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from zskl import plots
from zskl._display import count_noun
from zskl.datasets.xlsa17 import BENCHMARKS
from zskl.experiments import compare, summary, uncertainty
from zskl.experiments.compare import LABELS, Comparison, Row, row_labels
from zskl.experiments.record import Record, Setting, unpack_answers
from zskl.plots import _style, projection, reliability, seen_unseen_curve, unseen_classes, validation
from zskl.plots._base import Display


def run_commands(found: Sequence[Record], out: str | None = None) -> list[str]:
    """One `zskl run` per dataset and way of choosing, with all its methods; seeds count from 0."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in found:
        groups.setdefault((record.dataset, record.features, *_command_options(record)), []).append(record)
    lines = []
    for (dataset, features, *options), mine in groups.items():
        methods = list(dict.fromkeys(record.method for record in mine))
        seeds = 1 + max(record.seed for record in mine)
        words = ["zskl", "run", dataset, *(word for name in methods for word in ("--method", name)), *options]
        words += ["--seeds", str(seeds)] if seeds > 1 else []
        words += ["--features", features] if features else []
        lines.append(shlex.join([*words, *(["--out", out] if out else [])]))
    return lines


def _command_options(record: Record) -> list[str]:
    words = []
    for name, value in record.settings.items():
        text = value if isinstance(value, str) else "none" if value is None else json.dumps(value)
        words += ["--set", f"{name}={text}"]
    scoring, calibrated = record.tune.scoring, record.gzsl_calibrated is not None
    words += ["--tune"] if scoring else []
    words += ["--calibrate"] if calibrated else []
    if scoring and scoring != ("both" if calibrated else "zsl"):  # which --tune implies
        words += ["--scoring", scoring]
    for taught in record.taught or ():
        words += ["--shots", str(taught.shots)]
    for adapted in record.adapted or ():
        words += ["--unlabelled", adapted.unlabelled]
    return words


# What a page is made of: figures and tables, each with its numbers as CSV; sections of them


@dataclass(frozen=True)
class Cell:
    """Words, and the number that they are sorted by where there is one."""

    text: str
    value: float | None = None
    best: bool = False

    @property
    def is_long(self) -> bool:
        """Whether it is one long word, which a narrow column must break."""
        return max(map(len, self.text.split()), default=0) > 40

    @classmethod
    def of_number(cls, value: float | None, form: str = ".1f") -> "Cell":
        return cls("") if value is None else cls(f"{value:{form}}", value)


@dataclass(frozen=True)
class Table:
    """Sorted by a click on a header; `name` is its address in the page."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    data: str | None = None  # CSV in place of the cells

    @property
    def numeric(self) -> list[bool]:
        return [any(row[k].value is not None for row in self.rows) for k in range(len(self.columns))]

    @property
    def csv(self) -> str:
        rows = [[cell.text if cell.value is None else cell.value for cell in row] for row in self.rows]
        return to_csv_text(self.columns, rows) if self.data is None else self.data


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    svg: str
    note: str
    csv: str


@dataclass(frozen=True)
class Section:
    """Words, figures, tables, then a fold for each method, `shown` without a click, then the commands behind it."""

    name: str
    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    words: Sequence[str] = ()
    folds: "Sequence[Section]" = ()
    commands: Sequence[str] = ()
    shown: bool = True


def make_figure(
    name: str, title: str, display: Display, note: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> Figure:
    svg = _style.to_svg(display.figure_, title, display.description, inline=True)
    return Figure(name, title, svg, note, to_csv_text(columns, rows))


def to_csv_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return file.getvalue()


# Records in the groups of a comparison: problems (a dataset with its features), in each its cases (methods)

LINES = 6  # of a figure: more cannot be told apart


@dataclass(frozen=True)
class Case:
    """A row of the comparison, the name that tells it apart within its problem, and its records by seed."""

    name: str
    rank: int  # by H within its problem
    row: Row
    records: Sequence[Record]

    @property
    def first(self) -> Record:
        """The record of the lowest seed, for figures that show one run."""
        return self.records[0]

    def mean(self, figure: str) -> float:
        """In per cent; −∞ of a figure that the records do not hold."""
        found = self.row.figures.get(figure)
        return float("-inf") if found is None else found.mean


@dataclass(frozen=True)
class Problem:
    """What must be equal for figures to be compared. `address` is fit for names of figures and files."""

    name: str
    dataset: str
    features: str
    address: str
    cases: Sequence[Case]

    @property
    def records(self) -> list[Record]:
        return [record for case in self.cases for record in case.records]

    def place(self, case: Case) -> str:
        """An address for what is shown of one case: that of the best is the problem's own."""
        number = next(k for k, one in enumerate(self.ranked("zero-shot")) if one is case)
        return self.address if number == 0 else f"{self.address}-{number + 1}"

    def ranked(self, *figures: str) -> list[Case]:
        """The cases that have a figure, best first, by the first of `figures` that any of them has."""
        for figure in figures:
            have = [case for case in self.cases if figure in case.row.figures]
            if have:
                return sorted(have, key=lambda case: -case.mean(figure))
        return list(self.cases)

    def with_field(self, having: Callable[[Record], object], *figures: str) -> list[Case]:
        """Of `ranked` those whose first record has something, at most as many as a figure can show."""
        return [case for case in self.ranked(*figures) if having(case.first) is not None][:LINES]


def group_problems(found: Sequence[Record], table: Comparison) -> list[Problem]:
    by_labels: dict[tuple[str, ...], list[Record]] = {}
    for record in found:
        by_labels.setdefault(row_labels(record), []).append(record)
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in table.rows:
        groups.setdefault((row.labels["dataset"], row.labels["features"], row.labels["data"]), []).append(row)
    made = []
    for number, ((dataset, features, data), rows) in enumerate(groups.items()):
        twins = sum((dataset, features) == other[:2] for other in groups)
        name = dataset + (f", {features} features" if features else "") + (f", data {data}" if twins > 1 else "")
        harmonic = [row.figures.get("calibrated H") or row.figures.get("H") for row in rows]
        keys = [0.0 if figure is None else -figure.mean for figure in harmonic]
        order = sorted(range(len(rows)), key=keys.__getitem__)
        cases = []
        for place, row in enumerate(rows):
            mine = by_labels[tuple(row.labels[label] for label in LABELS)]
            ordered = sorted(mine, key=lambda record: record.seed)
            cases.append(Case(_case_name(row, rows), order.index(place), row, ordered))
        made.append(Problem(name, dataset, features, f"p{number + 1}", cases))
    return made


def _case_name(row: Row, rivals: Sequence[Row]) -> str:
    """The method, and what else is needed to tell the row from others of it."""
    twins = [other for other in rivals if other.labels["method"] == row.labels["method"]]
    differing = [label for label in ("chosen by", "settings") if len({other.labels[label] for other in twins}) > 1]
    extra = [row.labels[label] or "defaults" for label in differing]
    alike = [other for other in twins if all(other.labels[label] == row.labels[label] for label in differing)]
    if len({other.labels["grid"] for other in alike}) > 1:
        extra.append(f"grid {row.labels['grid'] or 'unknown'}")
    return " ".join([row.labels["method"], *(f"({words})" for words in extra)])


# What the records say, in words

PUBLISHED = "res101"  # the features that published figures were measured on


def summary_sentences(found: Sequence[Problem], table: Comparison) -> list[str]:
    """A paragraph on all, two on each problem, and the notes of the comparison."""
    paragraphs = [_overview_sentence(found)]
    for problem in found:
        said = summary.summarise(problem.records)  # the sentences that `zskl run` prints
        paragraphs += [" ".join([f"{problem.name}:", *said])] if said else []
        paragraphs.append(f"{problem.name}: {_choice_paragraph(problem)}")
    return [*paragraphs, *(f"Note: {note}." for note in table.notes)]


def _overview_sentence(found: Sequence[Problem]) -> str:
    cases = [case for problem in found for case in problem.cases]
    methods = list(dict.fromkeys(case.row.labels["method"] for case in cases))
    runs = sum(len(case.records) for case in cases)
    counts = [case.row.seeds for case in cases if case.row.seeds is not None]
    seeds = ""
    if counts:
        most = count_noun(max(counts), "seed")
        seeds = f", {most} each" if min(counts) == max(counts) else f", {min(counts)} to {most} each"
    return (
        f"{count_noun(runs, 'run')} on {count_noun(len(found), 'dataset')} "
        f"({'; '.join(problem.name for problem in found)}) with "
        f"{count_noun(len(methods), 'method')} ({', '.join(methods)}){seeds}. "
        "Accuracies are means over classes, in per cent, and then over seeds."
    )


def _choice_paragraph(problem: Problem) -> str:
    words = [_choice_sentence(problem), *_calibration_sentence(problem)]
    if len(problem.cases) > 1:
        tuned = any(case.first.tune.scoring for case in problem.cases)
        more = "; settings were chosen before, without them" if tuned else ""
        words.append(f"The highest was picked from these test figures, for display{more}.")
    return " ".join([*words, _comparable_sentence(problem)])


def _choice_sentence(problem: Problem) -> str:
    ways = dict.fromkeys(case.row.labels["chosen by"] for case in problem.cases)
    said = {
        "defaults": "taken as they are by default",
        "folds, constant only": "taken as they are by default, the constant chosen on validation classes",
        "folds, zsl": "chosen on validation classes by zero-shot accuracy",
        "folds, gzsl": "chosen on validation classes by H",
        "folds, zsl and gzsl": "chosen on validation classes, by zero-shot accuracy for the plain and by H for the "
        "calibrated figures",
    }
    return f"Settings were {', or '.join(said.get(way, way) for way in ways)}."


def _calibration_sentence(problem: Problem) -> list[str]:
    both = [case for case in problem.cases if {"H", "calibrated H"} <= set(case.row.figures)]
    if len(both) < 2:
        return []
    gains = sorted(((case.mean("calibrated H") - case.mean("H"), case.name) for case in both), key=lambda pair: pair[0])
    (least, loser), (most, winner) = gains[0], gains[-1]
    low, high, mean = (
        f"{value:+.1f}".replace("-", "−") for value in (least, most, statistics.mean(gain for gain, _ in gains))
    )
    return [
        f"Over {len(both)} methods the effect of calibration on H goes from {low} ({loser}) to {high} points "
        f"({winner}), {mean} on average."
    ]


def _comparable_sentence(problem: Problem) -> str:
    if problem.dataset.upper() not in BENCHMARKS:
        return "There are no published figures of this division to compare with."
    if problem.features == PUBLISHED:
        return "The features are those that published figures were measured on."
    return (
        f"These features ({problem.features or 'unnamed'}) are not the ResNet-101 ones (res101) of published figures: "
        "not comparable with them."
    )


# Tables of both protocols, times, and where figures come from

PROTOCOLS = {
    "zero-shot": ("Zero-shot: unseen classes alone", ("zero-shot",)),
    "generalised": ("Generalised: seen and unseen classes", ("unseen", "seen", "H", "calibrated H", "area")),
}
STAGES = ("search", "calibrate", "fit", "evaluate")


def protocol_tables(table: Comparison) -> Iterator[Table]:
    """Per cent, mean over seeds with its interval; the best of each dataset bold. What they mean, `explain_results`
    says once."""
    for name, (title, wanted) in PROTOCOLS.items():
        figures = tuple(figure for figure in wanted if figure in table.figures)
        if not figures:
            continue
        yield _comparison_table(name, title, Comparison(table.labels, figures, table.rows), "%", "")
    given = table.split()[1]
    if given is None:
        return
    columns = [name for name in table.figures if any(name == uncertainty.split_column(one)[0] for one in given.given)]
    rows = []
    for row in given.rows:
        labels = [Cell(_say_label(name, row)) for name in table.labels]
        plain = {name: figure for name, figure in row.figures.items() if name in columns}
        after = {"the description alone": plain, **summary.evidence_figures(row, given.figures)}
        for words, found in after.items():
            rows.append(
                [*labels, Cell(words), *(replace(_figure_cell(found.get(name)), best=False) for name in columns)]
            )
    note = (
        "Examples are rows of unseen classes with their labels, which are not scored; unlabelled rows are the test "
        f"rows without labels. {uncertainty.DECLINED}: the model did not adapt, and stayed as it was."
    )
    titles = [*_name_labels(table), "learned from", *(f"{name} (%)" for name in columns)]
    title = "What examples and unlabelled rows bring"
    yield Table("given", title, titles, rows, note, compare.to_csv(given))


def explain_results(table: Comparison) -> str:
    """What the columns of the tables mean, those that there are."""
    meant = {
        "zero-shot": "Zero-shot: the answer is chosen among unseen classes, which have no training row.",
        "seen": "Unseen, seen: how many rows of either are right where the answer is chosen among all classes.",
        "H": "H: the harmonic mean of these two.",
        "calibrated H": "Calibrated H: H after scores of seen classes are lowered as validation classes advise.",
        "area": "Area: under the curve of all such changes.",
    }
    if _has_intervals(table):
        spread = (
            "in brackets the 95 % interval over draws of classes and of rows within them. Bold: the highest, and all "
            "that are not clearly lower; nothing where that is all of them."
        )
    else:
        spread = "± standard deviation over seeds. The records keep no answers of rows, so there are no intervals."
    words = [meant[name] for name in meant if name in table.figures]
    return " ".join([*words, f"All are means over classes, in per cent; {spread}"])


def _has_intervals(table: Comparison) -> bool:
    return any(figure.low is not None for row in table.rows for figure in row.figures.values())


def sort_best_first(table: Comparison) -> Comparison:
    """Rows of each dataset by calibrated H, else H, else zero-shot accuracy."""
    column = next((name for name in ("calibrated H", "H", "zero-shot") if name in table.figures), None)
    first = {name: place for place, name in enumerate(dict.fromkeys(row.labels["dataset"] for row in table.rows))}

    def cost(row: Row) -> tuple[int, float]:
        figure = row.figures.get(column or "")
        return first[row.labels["dataset"]], float("inf") if figure is None else -figure.mean

    return replace(table, rows=tuple(sorted(table.rows, key=cost)))


def difference_tables(differences: Comparison, table: Comparison) -> list[Table]:
    """Paired differences from the highest, in the order of `table`."""
    if not _has_intervals(differences):
        return []
    note = (
        "By the same draws of classes and rows for both methods. Where the interval of a difference includes 0, the "
        "two cannot be told apart on these data."
    )
    place = {tuple(row.labels.values()): number for number, row in enumerate(table.rows)}
    rows = sorted(differences.rows, key=lambda row: place[tuple(row.labels.values())])
    plain = replace(differences, rows=tuple(rows)).split()[0]
    return [_comparison_table("differences", "Difference from the highest figure", plain, "points", note)]


# How settings came about, in a reader's words
WAYS = {
    "defaults": "default",
    "folds, constant only": "default, calibrated",
    "folds, zsl": "tuned",
    "folds, zsl without constant": "tuned",
    "folds, gzsl": "tuned by H, calibrated",
    "folds, zsl and gzsl": "tuned, calibrated",
    "folds, zsl, gzsl and H": "tuned for each figure",
}


def _name_labels(table: Comparison) -> list[str]:
    return ["settings are" if name == "chosen by" else name for name in table.labels]


def _say_label(name: str, row: Row) -> str:
    return WAYS.get(row.labels[name], row.labels[name]) if name == "chosen by" else row.labels[name]


def _figure_cell(figure: uncertainty.Figure | None) -> Cell:
    """The interval stays whole where a line is broken."""
    if figure is None:
        return Cell("")
    return Cell(compare.format_cell(figure, " ± ").replace(", ", ",\N{NO-BREAK SPACE}"), figure.mean, figure.best)


def _comparison_table(name: str, title: str, part: Comparison, unit: str, note: str) -> Table:
    rows = [
        [
            *(Cell(_say_label(label, row)) for label in part.labels),
            Cell(compare.format_seeds(row), row.seeds),
            *(_figure_cell(row.figures.get(figure)) for figure in part.figures),
        ]
        for row in part.rows
    ]
    columns = [*_name_labels(part), "seeds", *(f"{figure} ({unit})" for figure in part.figures)]
    return Table(name, title, columns, rows, note, compare.to_csv(part))


def time_table(problems: Sequence[Problem]) -> Table:
    rows = []
    for problem in problems:
        for case in problem.cases:
            spent = []
            for stage in STAGES:
                known = [time for record in case.records if (time := getattr(record.seconds, stage)) is not None]
                spent.append(statistics.mean(known) if known else None)
            total = sum(value for value in spent if value is not None)
            devices = ", ".join(sorted({record.device for record in case.records}))
            numbers = [Cell.of_number(value) for value in (*spent, total)]
            rows.append([Cell(problem.name), Cell(case.name), Cell(devices), *numbers])
    columns = ["dataset", "method", "device", *(f"{stage} (s)" for stage in STAGES), "in all (s)"]
    return Table("times", "Seconds, mean over seeds", columns, rows, "Of whatever machines the records were made on.")


def source_table(problems: Sequence[Problem]) -> Table:
    rows = []
    for problem in problems:
        mine = problem.records
        counts = mine[0].rows
        parts = [f"{counts[name]} {name}" for name in ("trainval", "test_seen", "test_unseen") if name in counts]
        finished = sorted(record.finished for record in mine if record.finished)
        versions: dict[str, set[str]] = {}  # all that were met, by package
        for name, version in (pair for record in mine for pair in record.versions.items()):
            versions.setdefault(name, set()).add(version)
        words = [
            problem.name,
            mine[0].fingerprint,
            ", ".join(parts),
            ", ".join(map(str, sorted({record.seed for record in mine}))),
            ", ".join(f"{name} {' and '.join(sorted(found))}" for name, found in versions.items()),
            " to ".join(dict.fromkeys([finished[0], finished[-1]])) if finished else "",
        ]
        rows.append([Cell(word) for word in words])
    columns = ["dataset", "fingerprint of the data", "rows", "seeds", "versions", "finished"]
    return Table("sources", "Data, seeds, versions", columns, rows)


# Figures of a problem, a line for each of the best methods, and tables of what validation chose

PROTOCOL_NAMES = {"zsl": "zero-shot", "gzsl": "generalised"}


def curve_figure(problem: Problem) -> Iterator[Figure]:
    cases = problem.with_field(seen_unseen_curve.read_curve, "calibrated H", "H")
    if not cases:
        return
    display = plots.SeenUnseenCurveDisplay.from_records(**_list_lines(cases))
    note = "Hollow: plain predictions."
    if any(case.first.gzsl_calibrated is not None for case in cases):
        note += (
            " Full: with the constant chosen on validation classes; where that choice took other settings, on the thin "
            "curve of these."
        )
    if len(problem.cases) > LINES:
        note += f" The {len(cases)} methods of highest H are drawn."
    rows = [[case.name, case.first.seed, *row] for case in cases for row in _curve_numbers(case.first)]
    title = f"Seen–unseen curves on {problem.name}"
    columns = ["method", "seed", "what", "constant", "seen", "unseen"]
    yield make_figure(
        f"curves-{problem.address}", title, display, note + _select_first_seed_cases(cases), columns, rows
    )


def _curve_numbers(record: Record) -> list[list[object]]:
    rows: list[list[object]] = []
    for word, part in (("plain", record.gzsl), ("calibrated", record.gzsl_calibrated)):
        if part is None:
            continue
        if (curve := part.curve) is not None:
            columns = (curve.calibration, curve.seen, curve.unseen)
            rows += [[f"{word} curve", *values] for values in zip(*columns, strict=True)]
        if part.seen is not None and part.unseen is not None:
            rows.append([f"{word} point", part.calibration, part.seen, part.unseen])
    return rows


def confidence_figures(problem: Problem) -> Iterator[Figure]:
    for protocol, word in PROTOCOL_NAMES.items():
        cases = problem.with_field(partial(reliability.read_reliability, protocol=protocol), "calibrated H", "H")
        if not cases:
            continue
        display = plots.ReliabilityDisplay.from_records(**_list_lines(cases), protocol=protocol)
        if not any(len(np.unique(share)) > 1 for share in display.answered):
            continue  # all rows are answered at every threshold, or none
        title = f"Confidence, {word} protocol on {problem.name}"
        note = (
            "The share of rows answered when answers below a probability are withheld, and how many of them are right."
        )
        rows = [
            [case.name, case.first.seed, *point]
            for case, points in zip(cases, display.points, strict=True)
            for point in points.tolist()
        ]
        columns = ["method", "seed", "threshold", "answered", "accuracy"]
        name = f"confidence-{protocol}-{problem.address}"
        yield make_figure(name, title, display, note + _select_first_seed_cases(cases), columns, rows)


def _list_lines(cases: Sequence[Case]) -> dict[str, Any]:
    """What a display of a line for each case gets."""
    records, names, ranks = zip(*((case.first, case.name, case.rank) for case in cases), strict=True)
    return {"records": records, "names": names, "ranks": ranks}


def _select_first_seed_cases(cases: list[Case]) -> str:
    seeds = sorted({case.first.seed for case in cases})
    return f" Seed {', '.join(map(str, seeds))}." if any(len(case.records) > 1 for case in cases) else ""


def objective_figure(problem: Problem) -> Iterator[Figure]:
    """Each method's objective is its own: only the course of a line means something, not its height."""
    cases = problem.with_field(projection.read_objective, "zero-shot")
    if not cases:
        return
    several = len(cases) > 1  # objectives are on different scales: in one frame most lines would lie flat
    display = plots.ConvergenceDisplay.from_records(**_list_lines(cases), relative=several)
    note = "Means over blocks of iterations, first seed; pale: the blocks, strong: their running mean."
    if several:
        note += (
            " Each line goes from its highest value (100) to its lowest (0), because objectives of different methods "
            "are on different scales: a line tells how soon it comes to rest. The numbers themselves are in the CSV."
        )
    rows = [
        [case.name, case.first.seed, int(step), float(value)]
        for case, steps, values in zip(cases, display.steps, display.values, strict=True)
        for step, value in zip(steps, values, strict=True)
    ]
    title, columns = f"Convergence on {problem.name}", ["method", "seed", "iteration", "objective"]
    yield make_figure(f"convergence-{problem.address}", title, display, note, columns, rows)


def calibration_error_table(problem: Problem) -> list[Table]:
    rows = []
    for case in problem.cases:
        for protocol, word in PROTOCOL_NAMES.items():
            found = [one for record in case.records if (one := getattr(record.probabilities, protocol)) is not None]
            if len(found) < len(case.records):
                continue
            numbers = []
            for key in ("ece", "ece_seen", "ece_unseen", "mean_confidence", "accuracy"):
                known = [value for one in found if (value := getattr(one, key)) is not None]
                numbers.append(Cell.of_number(100 * sum(known) / len(known) if known else None))
            rows.append([Cell(case.name), Cell(word), *numbers])
    if not rows:
        return []
    columns = ["method", "protocol", "calibration error", "of seen answers", "of unseen answers"]
    columns += ["mean confidence", "accuracy over rows"]
    title = "Calibration of probabilities (%)"
    note = "Expected calibration error: the mean distance of confidence from accuracy over 15 bins; smaller is better."
    note += " Of seen (unseen) answers: of the rows that are answered by a seen (an unseen) class."
    return [Table(f"ece-{problem.address}", title, columns, rows, note)]


SCORINGS = {"zsl": "zero-shot accuracy", "gzsl": "H at the best constant", "harmonic": "H without a constant"}


def choice_table(problem: Problem) -> list[Table]:
    rows = []
    for case in problem.cases:
        for record in case.records:
            for scoring, choice in record.tune.choices.items():
                row = {
                    "method": Cell(case.name),
                    "seed": Cell(str(record.seed), record.seed),
                    "chosen by": Cell(SCORINGS[scoring]),
                    "mean (%)": Cell.of_number(None if choice.score is None else 100 * choice.score),
                    "folds (%)": Cell(" · ".join(f"{100 * score:.1f}" for score in choice.fold_scores)),
                    "± over folds": Cell(compare.fold_spreads(choice)),
                    "constant": Cell.of_number(choice.calibration, ".4g"),
                    "settings": Cell(describe_setting(choice.setting)),
                    "at an edge": Cell(compare.describe_edges(choice)),
                }
                rows.append(row)
    if not rows:
        return []
    note = (
        "Scores are of held-out training classes, never of test rows; constant: subtracted from scores of seen "
        "classes; at an edge: nothing beyond was tried."
    )
    luck = compare.fold_spread_note(problem.records)
    note += f" Figures that {luck}." if luck else ""
    cells = [list(row.values()) for row in rows]
    return [Table(f"choices-{problem.address}", "What validation chose", list(rows[0]), cells, note)]


def describe_setting(setting: Setting) -> str:
    """For example "sigma 0.5, loss squared"."""

    def text(value: object) -> str:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if value is None else f"{value:g}" if number else str(value)

    return ", ".join(f"{name} {text(value)}" for name, value in setting.items())


# Figures and tables of one method: its grid, its classes, its projection


def grid_figures(problem: Problem, case: Case) -> Iterator[Figure]:
    for place, scoring in enumerate(validation.SCORINGS):
        word = SCORINGS[scoring]
        table, display = case.first.tune.table, validation.read_grid(case.first, scoring)
        if table is None or display is None:
            continue
        title = f"Validation grid on {problem.name}, {word}"
        note = (
            f"Mean over folds in per cent, the best over all other settings; framed: the chosen one. Method "
            f"{case.name}, seed {case.first.seed}."
        )
        settings = len(table.names)
        rows = [[*row[:settings], row[settings + place]] for row in table.rows]
        name = f"grid-{scoring}-{problem.place(case)}"
        yield make_figure(name, title, display.plot(), note, [*table.names, word], rows)


def class_accuracy_figure(problem: Problem, case: Case) -> Iterator[Figure]:
    records = [record for record in case.records if record.zsl.per_class]
    if not records:
        return
    display = plots.ClassAccuracyDisplay.from_records(records)
    title = f"Zero-shot accuracy of each unseen class of {problem.name}"
    seeds, chance = len(case.records), 100 * display.chance
    note = f"Method {case.name}, mean over {count_noun(seeds, 'seed')}, worst first; dashed: chance, {chance:.1f} %."
    rows = list(display.accuracy.items())
    name = f"classes-{problem.place(case)}"
    yield make_figure(name, title, display, note, ["class", "accuracy"], rows)


def confusion_figures(problem: Problem, case: Case) -> Iterator[Figure]:
    if (display := unseen_classes.read_confusion(case.first)) is not None:
        title = f"Confusion between unseen classes of {problem.name}"
        source = f"Method {case.name}, zero-shot protocol, seed {case.first.seed}."
        name, right = f"confusion-{problem.place(case)}", case.first.zsl.per_class
        yield _confusion_figure(name, title, display.plot(), source, right)
    found = read_generalised_answers(case.first)
    if found is not None:
        title = f"Confusion among all classes of {problem.name}"
        chosen = "with" if case.first.gzsl_calibrated is not None else "without"
        source = f"Method {case.name}, generalised protocol {chosen} calibration, seed {case.first.seed}. ○: unseen."
        right = {name: float(found.shares[k, k]) for k, name in enumerate(found.classes)}
        name = f"confusion-all-{problem.place(case)}"
        yield _confusion_figure(name, title, found.plot(), source, right)


def _confusion_figure(
    name: str, title: str, display: plots.ConfusionDisplay, source: str, right: Mapping[str, float]
) -> Figure:
    if display.whole:
        note = "Share of the rows of a class (row) that got an answer (column), in per cent"
    else:
        drawn = min(unseen_classes.PAIRS, len(display.pairs))
        note = f"True class → answer: the {drawn} largest shares of rows that got one wrong answer"
    rows = [*display.pairs, *((one, one, value) for one, value in right.items())]
    columns = ["true class", "answer", "share"]
    return make_figure(name, title, display, f"{note}. {source}", columns, rows)


def read_generalised_answers(record: Record) -> plots.ConfusionDisplay | None:
    """Of the calibrated result if there is one, unseen classes marked by ○; None where answers are lacking."""
    part = record.gzsl if record.gzsl_calibrated is None else record.gzsl_calibrated
    if part.answers is None or part.answers.seen is None or record.class_rows is None or not part.per_class:
        return None
    unseen = {*record.zsl.per_class, *record.zsl.left_out}
    tested = list(part.per_class)
    names = [*tested, *part.left_out]
    place = {name: k for k, name in enumerate(names)}
    shares = np.zeros((len(tested), len(names)))
    for side, packed in (("unseen", part.answers.unseen), ("seen", part.answers.seen)):
        mine = [name for name in tested if (name in unseen) == (side == "unseen")]
        sizes = unpack_answers(getattr(record.class_rows, side))
        if len(mine) != len(sizes):
            return None  # a compact record, or one that another program wrote
        answers = unpack_answers(packed, int(sizes.sum()))
        if answers.max(initial=0) > len(names):
            return None
        # Rows lie class by class, in the order of `per_class`.
        for name, own in zip(mine, np.split(answers, np.cumsum(sizes)[:-1]), strict=True):
            answered = np.where(own == 0, place[name], own - 1)  # 0 stands for the right answer
            shares[place[name]] = np.bincount(answered, minlength=len(names)) / len(own)
    marked = [f"○ {name}" if name in unseen else name for name in names]
    return plots.ConfusionDisplay(shares, marked[: len(tested)], marked)


def attribute_table(problem: Problem, case: Case) -> list[Table]:
    found = case.first.attributes
    if not found:
        return []
    rows = [
        [Cell(name), Cell(", ".join(f"{one} {share:.2f}" for one, share in nearest))] for name, nearest in found.items()
    ]
    note = (
        "The largest entries of the mean of Wᵀx over the test rows of a class, as shares of its length. Of "
        f"method {case.name}, seed {case.first.seed}."
    )
    title, columns = "Nearest attributes of each unseen class", ["class", "attributes"]
    return [Table(f"attributes-{problem.place(case)}", title, columns, rows, note)]


def gram_figure(problem: Problem, case: Case) -> Iterator[Figure]:
    if not case.first.gram:
        return
    display = plots.GramDisplay.from_records([case.first])
    title = f"Gram matrix of {case.name} on {problem.name}"
    note = f"{display.description}. Blue is positive, orange negative. Seed {case.first.seed}."
    size, names = range(len(display.gram)), display.columns
    rows = [[names[i], names[j], float(display.gram[i, j])] for i in size for j in size]
    name = f"gram-{problem.place(case)}"
    yield make_figure(name, title, display, note, ["row", "column", "value"], rows)
