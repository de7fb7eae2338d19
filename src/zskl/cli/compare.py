"""`zskl compare`: a table from records."""

from __future__ import annotations

import io
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from zskl import compare as source
from zskl import formats, persistence
from zskl.cli.app import app, console, problems, say
from zskl.compare import Comparison, Figure

WIDE = 240  # characters of a table in a file


class Format(StrEnum):
    """How `zskl compare` writes."""

    table = "table"
    markdown = "markdown"
    csv = "csv"
    latex = "latex"


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders (zskl run --out) or .jsonl files (--json).")],
    format_: Annotated[Format, typer.Option("--format", help="csv has plain numbers.")] = Format.table,
    sort: Annotated[str | None, typer.Option(metavar="COLUMN", help="Best first, within each dataset.")] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="The file to write. Default: the terminal.")
    ] = None,
) -> None:
    """Compare what was run: mean ± standard deviation over seeds per dataset and method, the best in bold.

    Example: [b]zskl compare runs --sort H --format markdown[/b]
    """
    if out is not None:
        persistence.check_target(out, *runs)
    table = source.compare(source.collect(runs), sort)
    for note in table.notes:
        problems.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    if out is None and format_ == Format.table:
        show(drawn(table))
        return
    text = _plain(table) if format_ == Format.table else formats.FORMATS[format_.value](table)
    if out is None:
        typer.echo(text, nl=False)
        return
    persistence.write_atomically(out, text.encode())
    say(f"wrote {out}: {len(table.rows)} row(s)")


def drawn(table: Comparison, without: tuple[str, ...] = ()) -> Table:
    """For the terminal; the columns named in `without` are left out."""
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    labels = [name for name in table.labels if name not in without]
    seeds = [] if "seeds" in without else ["seeds"]
    for name in labels:
        picture.add_column(name)
    for name in (*seeds, *table.figures):
        picture.add_column(name, justify="right")
    for row in table.rows:
        count = [str(row.seeds)] if seeds else []
        cells = [_cell(row.figures.get(name)) for name in table.figures]
        picture.add_row(*(escape(row.labels[name]) for name in labels), *count, *cells)
    return picture


def _cell(figure: Figure | None) -> str:
    text = formats.cell(figure, " ±")  # the space is where a narrow terminal breaks the line
    return f"[b]{text}[/b]" if figure is not None and figure.best else text


def show(picture: Table) -> None:
    """Print it as wide as it must be: no word is ever cut short."""
    for column in picture.columns:
        words = " ".join([str(column.header), *map(str, column.cells)]).replace("[b]", "").replace("[/b]", "").split()
        column.min_width = max(map(len, words), default=1)
    least = sum((column.min_width or 0) + 1 for column in picture.columns)
    Console(width=max(console.width, least)).print(picture, crop=False)


def _plain(table: Comparison) -> str:
    file = io.StringIO()
    Console(file=file, width=WIDE).print(drawn(table))
    return "\n".join(line.rstrip() for line in file.getvalue().strip("\n").split("\n")) + "\n"
