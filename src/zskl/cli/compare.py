"""`zskl compare`: a table from records."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from zskl.cli import _options
from zskl.cli._tables import draw_comparison, show_table
from zskl.cli._terminal import mention, note

if TYPE_CHECKING:
    from zskl.experiments.compare import Comparison

FILE_WIDTH = 240  # characters of a table in a file


def compare(
    runs: _options.Runs,
    format_: Annotated[
        Literal["table", "markdown", "csv", "latex"],
        typer.Option("--format", help="How to write the table; csv has plain numbers."),
    ] = "table",
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Sort by this column within each dataset, best first.")
    ] = None,
    differences: Annotated[
        bool, typer.Option("--differences", help="Show how far each figure is from the highest, with interval.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="The file to write. Default: the terminal.")
    ] = None,
) -> None:
    """Compare what was run: mean over seeds with its 95 % interval, per dataset and method, the best in bold.

    Bold are the highest figure and all that are not clearly lower: the interval of their difference includes 0.

    Example: [b]zskl compare runs --sort H --format markdown[/b]

    Example: [b]zskl compare runs --differences[/b]
    """
    from zskl import _files
    from zskl.experiments import compare as source

    if out is not None:
        _files.check_target(out, *runs)
    table = source.compare(runs, sort, differences)
    for sentence in table.notes:
        note(sentence)
    if out is None and format_ == "table":
        for part in filter(None, table.split()):
            show_table(draw_comparison(part))
        return
    text = _draw_for_file(table) if format_ == "table" else table.to_text(format_)
    if out is None:
        typer.echo(text, nl=False)
        return
    _files.write_atomically(out, text.encode())
    mention(f"wrote {out}: {len(table.rows)} row(s)")


def _draw_for_file(table: Comparison) -> str:
    """The table as plain text."""
    file = io.StringIO()
    Console(file=file, width=FILE_WIDTH, color_system=None).print(draw_comparison(table))
    return "\n".join(line.rstrip() for line in file.getvalue().strip("\n").split("\n")) + "\n"
