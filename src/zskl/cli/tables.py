"""Comparisons as tables for the terminal, or as plain text."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from zskl.cli.terminal import console
from zskl.experiments import table_formats
from zskl.experiments.compare import Comparison, Figure

WIDE = 240  # characters of a table in a file


def drawn(table: Comparison, below: bool = False) -> Table:
    """For the terminal; with `below`, intervals stand below their figures."""
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    for name in table.labels:
        picture.add_column(name)
    for name in ("seeds", *table.figures):
        picture.add_column(name, justify="right")
    for row in table.rows:
        cells = [_cell(row.figures.get(name), below) for name in table.figures]
        picture.add_row(*(escape(row.labels[name]) for name in table.labels), table_formats.seeds(row), *cells)
    return picture


def _cell(figure: Figure | None, below: bool) -> str:
    written = table_formats.cell(figure, " ±")  # the space is where a narrow terminal breaks the line
    text = escape(written.replace(" [", "\n[") if below else written)
    return f"[b]{text}[/b]" if figure is not None and figure.best else text


def show(picture: Table) -> None:
    """Print it as wide as it must be: no word is ever cut short."""
    for column in picture.columns:
        words = " ".join([str(column.header), *map(str, column.cells)]).replace("[b]", "").replace("[/b]", "").split()
        column.min_width = max(map(len, words), default=1)
    least = sum((column.min_width or 0) + 1 for column in picture.columns)
    Console(width=max(console.width, least)).print(picture, crop=False)


def plain(table: Comparison) -> str:
    """For a file."""
    file = io.StringIO()
    Console(file=file, width=WIDE).print(drawn(table))
    return "\n".join(line.rstrip() for line in file.getvalue().strip("\n").split("\n")) + "\n"
