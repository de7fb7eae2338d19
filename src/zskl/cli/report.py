"""`zskl report`: one page from records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import _options
from zskl.cli._terminal import mention


def report(
    runs: _options.Runs,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The HTML page to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "Zero-shot report",
) -> None:
    """Write what was run as one page that needs nothing else: tables, figures, their data and commands.

    Example: [b]zskl report runs -o report.html[/b]
    """
    from zskl import _files
    from zskl.experiments.run_folder import collect
    from zskl.report import page as source

    _files.check_target(out, *(file for path in runs for file in (path, *path.glob("*.jsonl"))))
    found = collect(runs)
    _files.write_atomically(out, source(found, title, [str(path) for path in runs]).encode())
    mention(f"{len(found)} record{'' if len(found) == 1 else 's'}, as a page to open in a browser: {out}")
