"""Records → one row per dataset and method: mean and standard deviation over seeds, the best marked."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zskl.experiments import jsonl_log
from zskl.parameters import did_you_mean

FIGURES: Mapping[str, tuple[str, str]] = {  # column → where it stands in a record; fractions, shown in per cent
    "zero-shot": ("zsl", "accuracy"),
    "unseen": ("gzsl", "unseen"),
    "seen": ("gzsl", "seen"),
    "H": ("gzsl", "harmonic"),
    "calibrated H": ("gzsl_calibrated", "harmonic"),
    "area": ("gzsl", "ausuc"),
}
SECONDS = "seconds"  # of search, calibration and fit
IDENTITY = ("fingerprint", "features_digest")
LABELS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {  # what tells rows apart; all but two only where mixed
    "dataset": lambda record: str(record["dataset"]),
    "features": lambda record: str(record.get("features") or ""),
    "data": lambda record: (
        f"{str(record.get('fingerprint', ''))[:8]} {str(record.get('features_digest', ''))[:8]}".strip()
    ),
    "method": lambda record: str(record["method"]),
    "chosen by": lambda record: _mode(record),
    "grid": lambda record: _grid(record),
    "settings": lambda record: ", ".join(f"{name}={value}" for name, value in record.get("settings", {}).items()),
}
ALWAYS = ("dataset", "method")


@dataclass(frozen=True)
class Figure:
    """Mean and standard deviation over seeds (None of one seed), and whether it is the best of its dataset.

    Shown with that many `digits` behind the point; a `mark` points to a note.
    """

    mean: float
    deviation: float | None = None
    best: bool = False
    mark: str = ""
    digits: int = 1


@dataclass(frozen=True)
class Row:
    labels: Mapping[str, str]
    seeds: int
    figures: Mapping[str, Figure]  # per cent, and seconds; a figure that a method lacks is not there


@dataclass(frozen=True)
class Comparison:
    """`labels` and `figures` name the columns; `notes` are sentences about what a reader might miss."""

    labels: tuple[str, ...]
    figures: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def collect(paths: Iterable[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """The records of run folders and .jsonl files; of several with one key the last."""
    found: dict[str, dict[str, Any]] = {}
    for path in map(Path, paths):
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files or not all(file.is_file() for file in files):
            raise FileNotFoundError(
                f"no records at {path}: expected a folder that zskl run --out wrote, or a .jsonl file"
            )
        for file in files:
            for number, record in enumerate(jsonl_log.read(file), start=1):
                if not isinstance(record, dict) or not {"dataset", "method", "seed", "zsl", "gzsl"} <= set(record):
                    raise ValueError(f"{file}, line {number} is no record of a run: expected what zskl run writes")
                key = str(record.get("key", f"{file}:{number}"))
                found.pop(key, None)
                found[key] = record
    if not found:
        raise ValueError(f"no record in {', '.join(map(str, paths))}: no unit has finished yet")
    return list(found.values())


def compare(found: Sequence[Mapping[str, Any]], sort: str | None = None) -> Comparison:
    """One row for all seeds of a dataset, method and whatever else differs; datasets stay together.

    sort    a column: figures best first, labels by name, within each dataset
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for record in found:
        groups.setdefault(tuple(label(record) for label in LABELS.values()), []).append(record)
    rows = [
        Row(dict(zip(LABELS, names, strict=True)), len({r["seed"] for r in group}), _figures(group))
        for names, group in groups.items()
    ]
    mixed = [name for name in LABELS if name in ALWAYS or _varies(rows, name)]
    figures = [name for name in (*FIGURES, SECONDS) if any(name in row.figures for row in rows)]
    rows = _sorted(_marked(rows), sort, mixed, figures)
    return Comparison(tuple(mixed), tuple(figures), tuple(rows), tuple(_notes(rows)))


def per_cent(name: str) -> bool:
    return name != SECONDS


def seconds(record: Mapping[str, Any]) -> float:
    """What choosing and fitting took."""
    return float(sum(record["seconds"].get(stage, 0.0) for stage in ("search", "calibrate", "fit")))


def _mode(record: Mapping[str, Any]) -> str:
    tuned = record.get("tune", {}).get("scoring")
    if tuned:
        plain = " without constant" if tuned == "zsl" and "gzsl_calibrated" not in record else ""
        return f"folds, {'zsl and gzsl' if tuned == 'both' else tuned}{plain}"
    return "folds, constant only" if "gzsl_calibrated" in record else "defaults"


def _grid(record: Mapping[str, Any]) -> str:
    """A short name of the grid that was searched."""
    grid = record.get("tune", {}).get("grid")
    return hashlib.sha256(json.dumps(grid, sort_keys=True).encode()).hexdigest()[:6] if grid else ""


def _figures(group: Sequence[Mapping[str, Any]]) -> dict[str, Figure]:
    values = {
        name: [100 * record[part][key] for record in group]
        for name, (part, key) in FIGURES.items()
        if all(key in record.get(part, {}) for record in group)
    }
    if all("seconds" in record for record in group):
        values[SECONDS] = [seconds(record) for record in group]
    return {
        name: Figure(statistics.mean(seen), statistics.stdev(seen) if len(seen) > 1 else None)
        for name, seen in values.items()
    }


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
    return round(mean, 1) if per_cent(name) else -round(mean, 1)


def _marked(rows: Sequence[Row]) -> list[Row]:
    best: dict[tuple[Any, ...], float] = {}
    rivals: dict[tuple[str, ...], int] = {}
    for row in rows:
        rivals[_problem(row)] = rivals.get(_problem(row), 0) + 1
        for name, figure in row.figures.items():
            place = (*_problem(row), name)
            best[place] = max(best.get(place, float("-inf")), _better(name, figure.mean))

    def mark(row: Row, name: str, figure: Figure) -> Figure:
        won = rivals[_problem(row)] > 1 and _better(name, figure.mean) == best[(*_problem(row), name)]
        return Figure(figure.mean, figure.deviation, won)

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
            f"no column {sort!r} to sort by{did_you_mean(sort, columns.values())}: there are "
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
        return -figure.mean if per_cent(column) else figure.mean

    return sorted(rows, key=lambda row: (order[row.labels["dataset"]], merit(row)))


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    versions: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        versions.setdefault((row.labels["dataset"], row.labels["features"]), set()).add(row.labels["data"])
    for (dataset, _), prints in versions.items():
        if len(prints) > 1:
            notes.append(
                f"{dataset}: records of {len(prints)} different versions of the data (fingerprints "
                f"{', '.join(sorted(prints))}); their figures are not comparable"
            )
    counts = {row.seeds for row in rows}
    if len(counts) > 1:
        notes.append(f"rows have from {min(counts)} to {max(counts)} seeds: deviations are not of one size of sample")
    return notes
