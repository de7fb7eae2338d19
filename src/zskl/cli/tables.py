"""Comparisons as tables for the terminal, or as plain text."""

from __future__ import annotations

import io
from dataclasses import replace

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from zskl.experiments import compare
from zskl.experiments.compare import Comparison
from zskl.experiments.uncertainty import Figure

WIDE = 240  # characters of a table in a file


def drawn(table: Comparison, below: bool = False) -> Table:
    """For the terminal; with `below`, intervals in whole per cent stand below their figures.

    The column of seeds is then left out if no row has more than one.
    """
    counted = not below or any((row.seeds or 0) > 1 for row in table.rows)
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False, show_edge=not below)
    for name in table.labels:
        picture.add_column(name)
    for name in (*(("seeds",) if counted else ()), *table.figures):
        picture.add_column(name.replace(" ", "\n") if below else name, justify="right")
    for row in table.rows:
        cells = [_cell(row.figures.get(name), below) for name in table.figures]
        seeds = [compare.format_seeds(row)] if counted else []
        picture.add_row(*(escape(row.labels[name]) for name in table.labels), *seeds, *cells)
    return picture


def _cell(figure: Figure | None, below: bool) -> str:
    if below and figure is not None and figure.low is not None and figure.high is not None:
        text = f"{compare.format_cell(replace(figure, low=None, high=None, deviation=None))}\n"
        text += f"{figure.low:.0f}–{figure.high:.0f}"
    else:
        text = escape(compare.format_cell(figure, " ±"))  # the space is where a narrow terminal breaks the line
    return f"[b]{text}[/b]" if figure is not None and figure.best else text


def plain(table: Comparison) -> str:
    """For a file."""
    file = io.StringIO()
    Console(file=file, width=WIDE).print(drawn(table))
    return "\n".join(line.rstrip() for line in file.getvalue().strip("\n").split("\n")) + "\n"
