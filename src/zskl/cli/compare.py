"""`zskl compare`: a table from records."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import startup
from zskl.cli.layout import show
from zskl.cli.terminal import mention, note


class Format(StrEnum):
    """How `zskl compare` writes."""

    table = "table"
    markdown = "markdown"
    csv = "csv"
    latex = "latex"


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders (zskl run --out) or .jsonl files (--json).")],
    format_: Annotated[
        Format, typer.Option("--format", help="How to write the table; csv has plain numbers.")
    ] = Format.table,
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
    from zskl.cli import tables
    from zskl.experiments import compare as source

    startup.over()
    if out is not None:
        _files.check_target(out, *runs)
    table = source.compare(runs, sort, differences)
    for sentence in table.notes:
        note(sentence)
    if out is None and format_ == Format.table:
        for part in filter(None, table.split()):
            show(tables.drawn(part))
        return
    text = tables.plain(table) if format_ == Format.table else table.to_text(format_.value)
    if out is None:
        typer.echo(text, nl=False)
        return
    _files.write_atomically(out, text.encode())
    mention(f"wrote {out}: {len(table.rows)} row(s)")
