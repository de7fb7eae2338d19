"""What a page is made of: figures and tables, each with its numbers as CSV; sections of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from zskl.experiments.record import Record
from zskl.plots import image
from zskl.plots.display import Display
from zskl.report.commands import run_commands


@dataclass(frozen=True)
class Cell:
    """Words, and the number that they are sorted by where there is one."""

    text: str
    value: float | None = None
    best: bool = False


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
        """Whether each column holds numbers."""
        return [any(row[k].value is not None for row in self.rows) for k in range(len(self.columns))]

    @property
    def csv(self) -> str:
        if self.data is not None:
            return self.data
        return csv_text(self.columns, [[_value(cell) for cell in row] for row in self.rows])


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, what it says, the numbers behind it, and the command that made them."""

    name: str
    title: str
    svg: str
    note: str
    csv: str
    command: str


@dataclass(frozen=True)
class Fold:
    """What is shown of one method; `shown` without a click."""

    name: str
    title: str
    figures: Sequence[Figure]
    tables: Sequence[Table]
    shown: bool


@dataclass(frozen=True)
class Section:
    """Figures, then tables, then a fold for each method, then the commands behind all of them."""

    name: str
    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    words: Sequence[str] = field(default_factory=tuple)
    folds: Sequence[Fold] = field(default_factory=tuple)
    commands: Sequence[str] = field(default_factory=tuple)


def figure(
    name: str,
    title: str,
    display: Display,
    note: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    records: Sequence[Record],
) -> Figure:
    """A display that has been drawn, with the numbers in it and the records that they are from."""
    svg = image.svg(display.figure_, title, display.description, inline=True)
    return Figure(name, title, svg, note, csv_text(columns, rows), "\n".join(run_commands(records)))


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return file.getvalue()


def _value(cell: Cell) -> object:
    return cell.text if cell.value is None else cell.value
