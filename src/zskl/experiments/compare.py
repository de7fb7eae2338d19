"""Records → one row per dataset and method: figures with their intervals, the best marked; or their differences."""

import csv
import hashlib
import io
import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from zskl._validation import check_option, suggest
from zskl.experiments import uncertainty
from zskl.experiments.record import Choice, Record
from zskl.experiments.run_folder import Runs, collect
from zskl.experiments.uncertainty import FIGURES, Figure, Leaders, mean_over_seeds
from zskl.protocols import single_class_note
from zskl.selection.search_results import AgainstDefault, is_wide_result

__all__ = ["FIGURES", "LABELS", "SECONDS", "Comparison", "Figure", "Row", "compare", "mean_over_seeds", "row_labels"]

FIRST = " (first)"  # marks the figure that others are compared with
SECONDS = "seconds"  # of search, calibration and fit
LABELS: Mapping[str, Callable[[Record], str]] = {  # what tells rows apart; all but two only where mixed
    "dataset": lambda record: record.dataset,
    "features": lambda record: record.features,
    "data": lambda record: f"{record.fingerprint[:8]} {record.features_digest[:8]}".strip(),
    "method": lambda record: record.method,
    "chosen by": lambda record: _mode_label(record),
    "grid": lambda record: _grid_label(record),
    "settings": lambda record: ", ".join(f"{name}={value}" for name, value in record.settings.items()),
}
ALWAYS = ("dataset", "method")
KINDS = ("mean", "low", "high", "std")  # columns of a figure in CSV
SPOKEN = {"zsl": "zero-shot", "seen": "seen", "unseen": "unseen", "harmonic": "H", "gzsl": "calibrated H"}
Pairs = Sequence[tuple["Row", Sequence[Record]]]


@dataclass(frozen=True)
class Row:
    """A method on a dataset: what tells the row apart, the number of its seeds (None where nothing is random), and its
    figures by column, in per cent or seconds. A figure that a method does not have is not there."""

    labels: Mapping[str, str]
    seeds: int | None
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class Comparison:
    """A table: `labels` and `figures` name its columns, `notes` are sentences about what you might miss, and `absent`
    stands in texts where there is no figure."""

    labels: tuple[str, ...]
    figures: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    absent: str = ""

    @property
    def given(self) -> tuple[str, ...]:
        """The columns of models that were given examples or unlabelled rows."""
        return tuple(name for name in self.figures if uncertainty.is_evidence_column(name))

    def split(self) -> "tuple[Comparison, Comparison | None]":
        """The columns of plain figures, and those in `given` with the rows that have any, where there are some."""
        plain = replace(self, figures=tuple(name for name in self.figures if name not in self.given))
        rows = tuple(row for row in self.rows if any(name in row.figures for name in self.given))
        return plain, replace(self, figures=self.given, rows=rows) if rows else None

    def to_text(self, format: str = "markdown") -> str:
        """The table as text: "markdown", "csv" or "latex"."""
        check_option("format", format, tuple(FORMATS))
        return FORMATS[format](self)


def compare(runs: Runs, sort: str | None = None, differences: bool = False) -> Comparison:
    """Compare what was run: means over seeds with 95 % bootstrap intervals, the best of each dataset marked.

    There is one row for all seeds of a dataset and a method. What else differs between records, such as features,
    settings or how these were chosen, becomes a column. Figures after examples or unlabelled rows have columns of their
    own, such as "zero-shot, 1 shot"; `Comparison.given` names them.

    Best are the method with the highest mean and all whose paired difference from it has an interval that includes 0.
    Where all of them are, none is marked. Records that zskl wrote before it kept the answers of rows have no intervals.

    Parameters
    ----------
    runs : path, Record, or sequence of these
        Run folders that `zskl run --out` wrote, .jsonl files, or records. Where a key repeats in files, the last
        record counts.
    sort : str, default=None
        A column to sort by within each dataset: figures best first, labels by name. By default rows are in the order
        of the records.
    differences : bool, default=False
        Show, in place of each figure, its paired difference from the highest of its dataset, with interval.

    Returns
    -------
    Comparison
        A table with `labels`, `figures`, `rows` and `notes`; `to_text` writes it as Markdown, CSV or LaTeX.

    Raises
    ------
    FileNotFoundError
        If there are no records at a path.
    ValueError
        If a line is not a record, there is no record at all, or there is no column to sort by.

    Examples
    --------
    >>> import zskl
    >>> from zskl.experiments.unit import Unit
    >>> data = zskl.datasets.load("digits")
    >>> table = zskl.compare([Unit(method, 0).run(data) for method in ("eszsl", "sae")])
    >>> figure = table.rows[0].figures["zero-shot"]
    >>> figure.low < figure.mean < figure.high
    True
    >>> print(table.to_text("csv").splitlines()[0][:40])
    dataset,method,seeds,zero-shot mean,zero
    """
    found = collect(runs)
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in found:
        groups.setdefault(row_labels(record), []).append(record)
    uncertainty.prepare_draws(found)
    rows = [_comparison_row(names, group) for names, group in groups.items()]
    mixed = [name for name in LABELS if name in ALWAYS or _label_varies(rows, name)]
    order = (*FIGURES, SECONDS, *uncertainty.evidence_columns(found))
    columns = [name for name in order if any(name in row.figures for row in rows)]
    notes = [*_comparison_notes(rows, found), *uncertainty.evidence_notes(groups.values())]
    notes += seed_spread_notes(groups.values())
    pairs = list(zip(rows, groups.values(), strict=True))
    if differences:
        columns = [name for name in columns if name != SECONDS]
        rows, more = subtract_best(pairs, columns)
    else:
        rows, more = mark_best(pairs, columns)
    return Comparison(
        tuple(mixed), tuple(columns), tuple(_sort_compared_rows(rows, sort, mixed, columns)), (*notes, *more)
    )


def _comparison_row(names: Sequence[str], group: Sequence[Record]) -> Row:
    """All seeds of a method. Seeds count where something is random: the method, or the examples it was taught."""
    figures = uncertainty.figures(group)
    seconds = {record.seed: record.seconds.training for record in group}
    times = [value for value in seconds.values() if value is not None]
    random = any(uncertainty.is_random(group[0].method, name) for name in figures)
    if len(times) == len(seconds):
        figures[SECONDS] = mean_over_seeds(times) if random else Figure(sum(times) / len(times))
    return Row(dict(zip(LABELS, names, strict=True)), len(seconds) if random else None, figures)


def row_labels(record: Record) -> tuple[str, ...]:
    """The values of `LABELS`: records that share all of them are one row."""
    return tuple(label(record) for label in LABELS.values())


def _mode_label(record: Record) -> str:
    calibrated, tuned = record.gzsl_calibrated is not None, record.tune.scoring
    if tuned:
        plain = " without constant" if tuned == "zsl" and not calibrated else ""
        several = {"both": "zsl and gzsl", "each": "zsl, gzsl and H"}
        return f"folds, {several.get(tuned, tuned)}{plain}"
    return "folds, constant only" if calibrated else "defaults"


def _grid_label(record: Record) -> str:
    grid, also, bounds = record.tune.grid, record.tune.also, record.tune.bounds
    searched = [grid, *(also or ()), bounds] if also or bounds else grid
    return hashlib.sha256(json.dumps(searched, sort_keys=True).encode()).hexdigest()[:6] if grid else ""


def _label_varies(rows: Sequence[Row], label: str) -> bool:
    """Features and data belong to a dataset, a grid to a method: they tell rows apart only where one has several."""
    within = {"grid": ("dataset", "method"), "features": ("dataset",), "data": ("dataset",)}.get(label, ())
    found: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        found.setdefault(tuple(row.labels[name] for name in within), set()).add(row.labels[label])
    return any(len(values) > 1 for values in found.values())


def _sort_compared_rows(rows: list[Row], sort: str | None, labels: Sequence[str], figures: Sequence[str]) -> list[Row]:
    order = {name: place for place, name in enumerate(dict.fromkeys(row.labels["dataset"] for row in rows))}
    rows = sorted(rows, key=lambda row: order[row.labels["dataset"]])
    if sort is None:
        return rows
    columns = {name.lower(): name for name in (*labels, "seeds", *figures)}
    column = columns.get(sort.lower())
    if column is None:
        raise ValueError(
            f"no column {sort!r} to sort by{suggest(sort, columns.values())}: expected one of "
            f"{', '.join(columns.values())}"
        )
    if column == "dataset":
        return sorted(rows, key=lambda row: row.labels["dataset"].lower())
    if column in labels:
        return sorted(rows, key=lambda row: (order[row.labels["dataset"]], row.labels[column]))

    def cost(row: Row) -> float:
        if column == "seeds":
            return -(row.seeds or 0)
        figure = row.figures.get(column)
        if figure is None:
            return float("inf")  # last
        return figure.mean if column == SECONDS else -figure.mean

    return sorted(rows, key=lambda row: (order[row.labels["dataset"]], cost(row)))


def _comparison_notes(rows: Sequence[Row], records: Sequence[Record]) -> list[str]:
    notes = []
    versions: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        versions.setdefault((row.labels["dataset"], row.labels["features"]), set()).add(row.labels["data"])
    for (dataset, _), prints in versions.items():
        if len(prints) > 1:
            notes.append(
                f"{dataset}: there are records of {len(prints)} different versions of the data (fingerprints "
                f"{', '.join(sorted(prints))}); their figures are not comparable"
            )
    counts = {row.seeds for row in rows if row.seeds is not None}
    if len(counts) > 1:
        notes.append(f"rows have from {min(counts)} to {max(counts)} seeds: not all means are of as many runs")
    alone = {f"{one.dataset}: {single_class_note(one.zsl.alone)}": None for one in records if one.zsl.alone is not None}
    return [*notes, *alone]


def mark_best(pairs: Pairs, columns: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows with the best marked; and why where none is."""
    best: dict[tuple[int, str], bool] = {}
    notes = []
    for problem, groups in _group_problems(pairs).items():
        found = {column: uncertainty.leaders(groups, column) for column in columns}
        best |= {(int(name), column): True for column, one in found.items() for name in one.best}
        notes += _best_notes(problem, found, groups)

    def mark(place: int, figures: Mapping[str, Figure]) -> dict[str, Figure]:
        return {name: replace(figure, best=(place, name) in best) for name, figure in figures.items()}

    return [replace(row, figures=mark(place, row.figures)) for place, (row, _) in enumerate(pairs)], notes


def subtract_best(pairs: Pairs, columns: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows with paired differences from the highest figure of each column in place of figures."""
    rows, notes = mark_best(pairs, columns)
    for groups in _group_problems(pairs).values():
        for column in columns:
            first = uncertainty.leaders(groups, column).first
            if first is None:
                continue
            for name in groups:
                mine = dict(rows[int(name)].figures)
                if column in mine:
                    paired = None if name == first else uncertainty.difference(groups[name], groups[first], column)
                    low, high = (None, None) if paired is None else (paired.low, paired.high)
                    mean = mine[column].mean - pairs[int(first)][0].figures[column].mean
                    mark = FIRST if name == first else ""
                    mine[column] = Figure(mean, None, mine[column].best, mark, low=low, high=high)
                    rows[int(name)] = replace(rows[int(name)], figures=mine)
    return rows, notes


def _group_problems(pairs: Pairs) -> dict[str, dict[str, Sequence[Record]]]:
    """Dataset, features and data, which must be equal for figures to compete → the records of rows by their places."""
    found: dict[tuple[str, ...], dict[str, Sequence[Record]]] = {}
    for place, (row, group) in enumerate(pairs):
        problem = row.labels["dataset"], row.labels["features"], row.labels["data"]
        found.setdefault(problem, {})[str(place)] = group
    names = [problem[0] for problem in found]
    twins = {problem: names.count(problem[0]) > 1 for problem in found}
    return {", ".join(filter(None, problem)) if twins[problem] else problem[0]: one for problem, one in found.items()}


def _best_notes(problem: str, found: Mapping[str, Leaders], groups: Mapping[str, Sequence[Record]]) -> list[str]:
    """What to mind of intervals, and why no figure of a column is marked."""
    unknown = {groups[name][0].method: None for one in found.values() for name in one.unknown}
    few = uncertainty.few_classes_note(record for group in groups.values() for record in group)
    notes = [f"{problem}: {few}"] if few else []
    if unknown:
        notes.append(
            f"{problem}: the records of {', '.join(unknown)} keep no answers of rows, so these figures have no "
            "interval and no figure is marked as the best; run them again into a new folder"
        )
    shared = [column for column, one in found.items() if one.rivals > 1 and not one.best and not one.unknown]
    if shared:
        notes.append(
            f"{problem}: no method is clearly the best in {', '.join(shared)}, since the paired interval of each with "
            "the first includes 0"
        )
    return notes


# Sentences about what validation chose: numbers at an edge, and figures that folds or seeds do not agree on


def describe_edges(choice: Choice) -> str:
    """The numbers of a choice that are at an edge, each with the reason: "lam 100 at its bound"."""
    return ", ".join(f"{edge.name} {edge.value:g} {edge.why}" for edge in choice.edges or ())


def fold_spreads(choice: Choice) -> str:
    found = {name: values for name, values in (choice.figures or {}).items() if len(values) > 1}
    return ", ".join(f"{SPOKEN.get(name, name)} {100 * statistics.stdev(one):.1f}" for name, one in found.items())


def unsteady_figures(choice: Choice) -> list[str]:
    """The figures that differ widely between folds, such as "seen 8.0 to 43.4 %"."""
    figures = {name: (choice.figures or {}).get(name, ()) for name in ("seen", "gzsl")}
    return [_format_range(SPOKEN[name], values) for name, values in figures.items() if is_wide_result(values)]


def default_notes(records: Sequence[Record]) -> list[str]:
    """Whose default setting gave way to a tuned one, and by how much that was better on validation classes."""
    found: dict[str, dict[str, list[AgainstDefault]]] = {}
    for record in records:
        for scoring, choice in record.tune.choices.items():
            if choice.against_default is not None:
                found.setdefault(record.method, {}).setdefault(scoring, []).append(choice.against_default)
    said = []
    for method, mine in found.items():
        gains = [f"{SPOKEN[scoring]} {gain}" for scoring, seeds in mine.items() if (gain := _describe_gain(seeds))]
        said += [f"{method} ({', '.join(gains)})"] if gains else []
    if not said:
        return ["default settings are kept: on validation classes no other is clearly better"] if found else []
    return [f"tuned settings are clearly better than defaults on validation classes, in points: {', '.join(said)}"]


def _describe_gain(seeds: Sequence[AgainstDefault]) -> str:
    """That of the seeds where the default gave way."""
    replaced = [one for one in seeds if not one.kept]
    gains = [100 * one.gain for one in replaced if one.gain is not None]
    share = f" in {len(replaced)} of {len(seeds)} seeds" if len(seeds) > 1 else ""
    return f"{f'{statistics.mean(gains):+.1f}' if gains else 'where that diverged'}{share}" if replaced else ""


def fold_spread_note(records: Iterable[Record]) -> str | None:
    """One sentence on all choices of these records whose figures differ widely between folds."""
    found = dict.fromkeys(
        f"{record.method} {', '.join(unsteady_figures(choice))}"
        for record in records
        for _, choice in record.tune.choices.items()
        if unsteady_figures(choice)
    )
    return f"differ widely between validation folds, so expect luck: {'; '.join(found)}" if found else None


def seed_spread_notes(groups: Iterable[Sequence[Record]]) -> list[str]:
    """A note for each group of records whose seeds chose the same setting and yet differ widely."""
    notes = []
    for group in groups:
        for figure, scoring in (("zero-shot", "zsl"), ("seen", "zsl"), ("calibrated H", "gzsl")):
            by_setting: dict[str, dict[int, float]] = {}
            for record in group:
                choice, value = dict(record.tune.choices.items()).get(scoring), FIGURES[figure](record)
                if value is not None and (choice is not None or record.tune.scoring is None):
                    setting = "" if choice is None else json.dumps(choice.setting, sort_keys=True, default=str)
                    by_setting.setdefault(setting, {})[record.seed] = value
            for values in by_setting.values():
                if is_wide_result(list(values.values())):
                    first = group[0]
                    notes.append(
                        f"{first.dataset} {first.method}: {len(values)} seeds with the same settings differ widely, "
                        f"{_format_range(figure, values.values())}; their mean says little"
                    )
    return notes


def _format_range(name: str, values: Iterable[float]) -> str:
    found = [100 * value for value in values]
    return f"{name} {min(found):.1f} to {max(found):.1f} %"


# A comparison as Markdown, CSV or LaTeX
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "§": r"\S{}",
    "–": "--",
    "↓": r"$\downarrow$",
    "‖": r"$\|$",
    "ᵀ": r"$^\top$",
    "−": "$-$",
    "²": "$^2$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_SPECIAL = re.compile("[" + re.escape("".join(_LATEX)) + "]")


def format_cell(figure: Figure | None, between: str = "±") -> str:
    """ "59.6 [56.1, 63.0]"; without an interval "59.6±0.3", or "59.6" for one seed. Empty for no figure."""
    if figure is None:
        return ""

    def text(number: float) -> str:
        shown = f"{number:.{figure.digits}f}"
        return shown if float(shown) else shown.removeprefix("-")

    if figure.low is not None and figure.high is not None:
        spread = f" [{text(figure.low)}, {text(figure.high)}]"
    else:
        spread = "" if figure.deviation is None else f"{between}{text(figure.deviation)}"
    return f"{text(figure.mean)}{spread}{figure.mark}"


def table_cells(table: Comparison, escape: Callable[[str], str], bold: str) -> list[list[str]]:
    """The head and the rows; seeds have a column where any row has them."""
    count = ["seeds"] if any(row.seeds is not None for row in table.rows) else []
    lines = [[escape(name) for name in (*table.labels, *count, *table.figures)]]
    for row in table.rows:
        figures = [row.figures.get(name) for name in table.figures]
        formats = [bold if one is not None and one.best else "%s" for one in figures]
        texts = [
            form % escape(format_cell(one, " ± ") or table.absent) for form, one in zip(formats, figures, strict=True)
        ]
        labels = [escape(row.labels[name]) for name in table.labels]
        lines.append([*labels, *(format_seeds(row) for _ in count), *texts])
    return lines


def format_seeds(row: Row) -> str:
    return "" if row.seeds is None else str(row.seeds)


def to_markdown(table: Comparison) -> str:
    head, *body = table_cells(table, lambda text: text.replace("\\", "\\\\").replace("|", "\\|"), "**%s**")
    rule = ["---"] * len(table.labels) + ["---:"] * (len(head) - len(table.labels))
    return "".join("| " + " | ".join(line) + " |\n" for line in (head, rule, *body))


def to_csv(table: Comparison) -> str:
    """Plain numbers, accuracies in per cent: for each figure mean, both ends of the interval, deviation over seeds."""
    columns = [*table.labels, "seeds", *(f"{name} {kind}" for name in table.figures for kind in KINDS)]
    rows = []
    for row in table.rows:
        numbers: list[str] = []
        for name in table.figures:
            figure = row.figures.get(name)
            found = figure and (figure.mean, figure.low, figure.high, figure.deviation)
            numbers += ["" if number is None else f"{number:.4f}" for number in found or [None] * len(KINDS)]
        rows.append([*(row.labels[name] for name in table.labels), format_seeds(row), *numbers])
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return file.getvalue()


def to_latex(table: Comparison) -> str:
    """A tabular that needs no package."""
    cells = table_cells(table, lambda text: _SPECIAL.sub(lambda found: _LATEX[found[0]], text), r"\textbf{%s}")
    columns = "l" * len(table.labels) + "r" * (len(cells[0]) - len(table.labels))
    head, *body = (" & ".join(line) + " \\\\\n" for line in cells)
    return f"\\begin{{tabular}}{{{columns}}}\n\\hline\n{head}\\hline\n{''.join(body)}\\hline\n\\end{{tabular}}\n"


FORMATS: Mapping[str, Callable[[Comparison], str]] = {"markdown": to_markdown, "csv": to_csv, "latex": to_latex}
