"""Tables as the terminal can show them: side by side where the columns fit, else a short block for each row."""

from __future__ import annotations

import os
import re

from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

from zskl.cli.terminal import Terminal, console

_BOLD = re.compile(r"\[/?b\]")


def show(picture: Table) -> None:
    """Print a table: no word and no number is ever cut short. Where nobody says how wide, it is as wide as it must be."""
    for column in picture.columns:
        words = _BOLD.sub("", " ".join([str(column.header), *map(str, column.cells)])).split()
        column.min_width = max(map(cell_len, words), default=1)
    between = len(picture.columns) - 1
    least = sum(column.min_width or 0 for column in picture.columns) + between + (2 if picture.show_edge else 0)
    if least + (between if picture.collapse_padding else 2 * between + 2) > console.width:
        picture.padding = 0  # one space between columns, not more
    if least > console.width and (console.is_terminal or os.environ.get("COLUMNS")):
        _show_blocks(picture)
    else:
        Terminal(width=max(console.width, least)).print(picture, crop=False)


def _show_blocks(picture: Table) -> None:
    """The first cell of each row, and below it the others, each after the name of its column."""
    names = [" ".join(str(column.header).split()) for column in picture.columns]
    rows = list(zip(*(list(map(str, column.cells)) for column in picture.columns), strict=True))
    for first, *others in rows:
        block = Table.grid(padding=(0, 2, 0, 0))
        block.add_column(no_wrap=True, min_width=max(map(len, names[1:]), default=0) + 2)
        block.add_column(overflow="fold")
        for name, cell in zip(names[1:], others, strict=True):
            if cell.strip():
                block.add_row(f"  {escape(name)}", "  ".join(cell.split("\n")))
        console.print(f"\n{first}", soft_wrap=True)
        console.print(block)
