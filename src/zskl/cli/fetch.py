"""`zskl data fetch`: get the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import startup
from zskl.cli.terminal import say


def fetch(
    name: Annotated[str, typer.Argument(help="xlsa17: AWA1, AWA2, SUN, CUB and APY with ResNet-101 features.")],
    url: Annotated[
        list[str] | None,
        typer.Option(help="Where to get it, repeatable: tried in order. Default: the authors' server."),
    ] = None,
    root: Annotated[Path | None, typer.Option(help="The folder to put it in. Default: the user cache.")] = None,
) -> None:
    """Download and unpack a package of benchmarks, or check the one that is there against its recorded checksums.

    Example: [b]zskl data fetch xlsa17[/b]
    """
    from zskl.cli.bars import progress_display
    from zskl.datasets import fetch as fetching

    startup.over()
    with progress_display() as progress:
        task = progress.add_task(name, total=None)
        folder = fetching.fetch(
            name, urls=url, root=root, progress=lambda done, total: progress.update(task, completed=done, total=total)
        )
    say(f"{name} is in {folder}" + (f"; use it with --root {root} or ZSKL_DATA={root}" if root is not None else ""))
