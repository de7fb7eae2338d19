"""Records → one row per dataset and method: mean and standard deviation over seeds, the best marked."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from zskl.experiments import choice_notes, given_figures
from zskl.experiments.collect import Runs, collect
from zskl.experiments.record import Record
from zskl.parameters import did_you_mean, one_of

FIGURES: Mapping[str, Callable[[Record], float | None]] = {  # column → a fraction, shown in per cent
    "zero-shot": lambda record: record.zsl.accuracy,
    "unseen": lambda record: record.gzsl.unseen,
    "seen": lambda record: record.gzsl.seen,
    "H": lambda record: record.gzsl.harmonic,
    "calibrated H": lambda record: record.gzsl_calibrated.harmonic if record.gzsl_calibrated else None,
    "area": lambda record: record.gzsl.ausuc,
}
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
class Figure:
    """Mean and standard deviation over seeds (None for one seed), and whether it is the best of its dataset.

    Shown with that many `digits` after the point; a `mark` points to a note.
    """

    mean: float
    deviation: float | None = None
    best: bool = False
    mark: str = ""
    digits: int = 1


@dataclass(frozen=True)
class Row:
    """A method on a dataset: what tells the row apart, the number of its seeds, and its figures by column.

    Figures are in per cent, or seconds. A figure that a method does not have is not there.
    """

    labels: Mapping[str, str]
    seeds: int
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


def compare(runs: Runs, sort: str | None = None) -> Comparison:
    """Compare what was run: mean and standard deviation over seeds, the best of each dataset marked.

    There is one row for all seeds of a dataset and a method. What else differs between records, such as features,
    settings or how these were chosen, becomes a column. Figures after examples or unlabelled rows have columns of their
    own, such as "zero-shot, 1 shot"; `Comparison.given` names them.

    Parameters
    ----------
    runs : path, Record, or sequence of these
        Run folders that `zskl run --out` wrote, .jsonl files, or records. Where a key repeats in files, the last
        record counts.
    sort : str, default=None
        A column to sort by within each dataset: figures best first, labels by name. By default rows are in the order
        of the records.

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
    >>> table = zskl.compare([Unit("eszsl", seed).run(data) for seed in range(2)])
    >>> table.labels, table.rows[0].seeds
    (('dataset', 'method'), 2)
    >>> print(table.to_text("csv").splitlines()[0][:40])
    dataset,method,seeds,zero-shot mean,zero
    """
    found = collect(runs)
    further = given_figures.columns(found)
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in found:
        groups.setdefault(labels(record), []).append(record)
    rows = [
        Row(dict(zip(LABELS, names, strict=True)), len({record.seed for record in group}), _figures(group, further))
        for names, group in groups.items()
    ]
    mixed = [name for name in LABELS if name in ALWAYS or _varies(rows, name)]
    figures = [name for name in (*FIGURES, SECONDS, *further) if any(name in row.figures for row in rows)]
    rows = _sorted(_marked(rows), sort, mixed, figures)
    notes = [*_notes(rows), *given_figures.notes(groups.values()), *choice_notes.over_seeds(groups.values())]
    return Comparison(tuple(mixed), tuple(figures), tuple(rows), tuple(notes))


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
    grid, bounds = record.tune.grid, record.tune.bounds
    searched = [grid, bounds] if bounds else grid
    return hashlib.sha256(json.dumps(searched, sort_keys=True).encode()).hexdigest()[:6] if grid else ""


def _figures(group: Sequence[Record], further: Mapping[str, given_figures.Read]) -> dict[str, Figure]:
    """Those that there are for every seed of the group. Of several records of a seed the last that has one counts."""
    found = {}
    readers: dict[str, given_figures.Read] = {**FIGURES, **further, SECONDS: lambda record: record.seconds.training}
    for name, read in readers.items():
        values = {record.seed: value for record in group if (value := read(record)) is not None}
        if values.keys() == {record.seed for record in group}:
            share = 1 if name == SECONDS else 100
            mark = given_figures.mark(name, group)
            found[name] = replace(over_seeds([share * value for value in values.values()]), mark=mark)
    return found


def over_seeds(values: Sequence[float], digits: int = 1) -> Figure:
    """Mean and standard deviation of at least one value."""
    return Figure(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None, digits=digits)


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


def _problem(row: Row) -> tuple[str, ...]:
    """What must be equal for two figures to compete."""
    return row.labels["dataset"], row.labels["features"], row.labels["data"]


def _better(name: str, mean: float) -> float:
    """The larger the better, at the precision of the table."""
    return -round(mean, 1) if name == SECONDS else round(mean, 1)


def _marked(rows: Sequence[Row]) -> list[Row]:
    best: dict[tuple[str, ...], float] = {}
    rivals: dict[tuple[str, ...], int] = {}
    for row in rows:
        rivals[_problem(row)] = rivals.get(_problem(row), 0) + 1
        for name, figure in row.figures.items():
            place = (*_problem(row), name)
            best[place] = max(best.get(place, float("-inf")), _better(name, figure.mean))

    def mark(row: Row, name: str, figure: Figure) -> Figure:
        won = rivals[_problem(row)] > 1 and _better(name, figure.mean) == best[(*_problem(row), name)]
        return replace(figure, best=won)

    return [
        Row(row.labels, row.seeds, {name: mark(row, name, figure) for name, figure in row.figures.items()})
        for row in rows
    ]


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
        return sorted(rows, key=lambda row: (order[row.labels["dataset"]], -row.seeds))
    if column in labels:
        return sorted(rows, key=lambda row: (order[row.labels["dataset"]], row.labels[column]))

    def merit(row: Row) -> float:
        figure = row.figures.get(column)
        if figure is None:
            return float("inf")  # last
        return figure.mean if column == SECONDS else -figure.mean

    return sorted(rows, key=lambda row: (order[row.labels["dataset"]], merit(row)))


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
    counts = {row.seeds for row in rows}
    if len(counts) > 1:
        notes.append(
            f"rows have from {min(counts)} to {max(counts)} seeds: their deviations are not of the same number of runs"
        )
    return notes
