"""Records → one row per dataset and method: figures with their intervals, the best marked; or their differences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from zskl.experiments import choice_notes, given_figures, leading, uncertainty
from zskl.experiments.collect import Runs, collect
from zskl.experiments.figure import FIGURES, Figure, over_seeds
from zskl.experiments.record import Record
from zskl.metrics.results import no_choice
from zskl.parameters import did_you_mean, one_of

__all__ = ["FIGURES", "LABELS", "SECONDS", "Comparison", "Figure", "Row", "compare", "labels", "over_seeds"]

SECONDS = "seconds"  # of search, calibration and fit
LABELS: Mapping[str, Callable[[Record], str]] = {  # what tells rows apart; all but two only where mixed
    "dataset": lambda record: record.dataset,
    "features": lambda record: record.features,
    "data": lambda record: f"{record.fingerprint[:8]} {record.features_digest[:8]}".strip(),
    "method": lambda record: record.method,
    "chosen by": lambda record: _mode(record),
    "grid": lambda record: _grid(record),
    "settings": lambda record: ", ".join(f"{name}={value}" for name, value in record.settings.items()),
}
ALWAYS = ("dataset", "method")


@dataclass(frozen=True)
class Row:
    """A method on a dataset: what tells the row apart, the number of its seeds, and its figures by column.

    `seeds` is None where nothing is random, so that another seed gives the same figures. Figures are in per cent, or
    seconds. A figure that a method does not have is not there.
    """

    labels: Mapping[str, str]
    seeds: int | None
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class Comparison:
    """A table: `labels` and `figures` name its columns, `notes` are sentences about what you might miss."""

    labels: tuple[str, ...]
    figures: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def given(self) -> tuple[str, ...]:
        """The columns of models that were given examples or unlabelled rows."""
        return tuple(name for name in self.figures if given_figures.is_given(name))

    def parted(self) -> tuple[Comparison, Comparison | None]:
        """The columns of plain figures, and those in `given` with the rows that have any, where there are some."""
        plain = replace(self, figures=tuple(name for name in self.figures if name not in self.given))
        rows = tuple(row for row in self.rows if any(name in row.figures for name in self.given))
        return plain, replace(self, figures=self.given, rows=rows) if rows else None

    def to_text(self, format: str = "markdown") -> str:
        """The table as text: "markdown", "csv" or "latex"."""
        from zskl.experiments.table_formats import FORMATS  # it needs this module

        one_of("format", format, tuple(FORMATS))
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
        groups.setdefault(labels(record), []).append(record)
    uncertainty.prepare(found)
    rows = [_row(names, group) for names, group in groups.items()]
    mixed = [name for name in LABELS if name in ALWAYS or _varies(rows, name)]
    order = (*FIGURES, SECONDS, *given_figures.columns(found))
    columns = [name for name in order if any(name in row.figures for row in rows)]
    notes = [*_notes(rows), *_alone(found)]
    notes += [*given_figures.notes(groups.values()), *choice_notes.over_seeds(groups.values())]
    pairs = list(zip(rows, groups.values(), strict=True))
    if differences:
        columns = [name for name in columns if name != SECONDS]
        rows, more = leading.apart(pairs, columns)
    else:
        rows, more = leading.marked(pairs, columns)
    return Comparison(tuple(mixed), tuple(columns), tuple(_sorted(rows, sort, mixed, columns)), (*notes, *more))


def _row(names: Sequence[str], group: Sequence[Record]) -> Row:
    """All seeds of a method. Seeds count where something is random: the method, or the examples it was taught."""
    figures = uncertainty.figures(group)
    seconds = {record.seed: record.seconds.training for record in group}
    times = [value for value in seconds.values() if value is not None]
    random = any(uncertainty.is_random(group[0].method, name) for name in figures)
    if len(times) == len(seconds):
        figures[SECONDS] = over_seeds(times) if random else Figure(sum(times) / len(times))
    return Row(dict(zip(LABELS, names, strict=True)), len(seconds) if random else None, figures)


def labels(record: Record) -> tuple[str, ...]:
    """The values of `LABELS`: records that share all of them are one row."""
    return tuple(label(record) for label in LABELS.values())


def _mode(record: Record) -> str:
    calibrated, tuned = record.gzsl_calibrated is not None, record.tune.scoring
    if tuned:
        plain = " without constant" if tuned == "zsl" and not calibrated else ""
        return f"folds, {'zsl and gzsl' if tuned == 'both' else tuned}{plain}"
    return "folds, constant only" if calibrated else "defaults"


def _grid(record: Record) -> str:
    """A short name of the grid that was searched."""
    grid, also, bounds = record.tune.grid, record.tune.also, record.tune.bounds
    searched = [grid, *(also or ()), bounds] if also or bounds else grid
    return hashlib.sha256(json.dumps(searched, sort_keys=True).encode()).hexdigest()[:6] if grid else ""


def _varies(rows: Sequence[Row], label: str) -> bool:
    """Features and data belong to a dataset, a grid to a method: they tell rows apart only where one has several."""
    if label == "grid":
        return any(len(values) > 1 for values in _by(rows, ("dataset", "method"), label).values())
    if label in ("features", "data"):
        return any(len(values) > 1 for values in _by(rows, ("dataset",), label).values())
    return len({row.labels[label] for row in rows}) > 1


def _by(rows: Sequence[Row], names: Sequence[str], label: str) -> dict[tuple[str, ...], set[str]]:
    """The values of a label for each combination of others."""
    found: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        found.setdefault(tuple(row.labels[name] for name in names), set()).add(row.labels[label])
    return found


def _sorted(rows: list[Row], sort: str | None, labels: Sequence[str], figures: Sequence[str]) -> list[Row]:
    order = {name: place for place, name in enumerate(dict.fromkeys(row.labels["dataset"] for row in rows))}
    rows = sorted(rows, key=lambda row: order[row.labels["dataset"]])
    if sort is None:
        return rows
    columns = {name.lower(): name for name in (*labels, "seeds", *figures)}
    column = columns.get(sort.lower())
    if column is None:
        raise ValueError(
            f"no column {sort!r} to sort by{did_you_mean(sort, columns.values())}: expected one of "
            f"{', '.join(columns.values())}"
        )
    if column == "dataset":
        return sorted(rows, key=lambda row: row.labels["dataset"].lower())
    if column == "seeds":
        return sorted(rows, key=lambda row: (order[row.labels["dataset"]], -(row.seeds or 0)))
    if column in labels:
        return sorted(rows, key=lambda row: (order[row.labels["dataset"]], row.labels[column]))

    def merit(row: Row) -> float:
        figure = row.figures.get(column)
        if figure is None:
            return float("inf")  # last
        return figure.mean if column == SECONDS else -figure.mean

    return sorted(rows, key=lambda row: (order[row.labels["dataset"]], merit(row)))


def _alone(records: Sequence[Record]) -> list[str]:
    """A note for each dataset with a single unseen class."""
    found = {f"{one.dataset}: {no_choice(one.zsl.alone)}": None for one in records if one.zsl.alone is not None}
    return list(found)


def _notes(rows: Sequence[Row]) -> list[str]:
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
    return notes
