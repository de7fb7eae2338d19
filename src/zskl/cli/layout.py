"""Tables as the terminal can show them: side by side where the columns fit, else a short block for each row."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

from zskl.cli.consoles import Terminal, console

_BOLD = re.compile(r"\[/?b\]")


def show(picture: Table) -> None:
    """Print a table; no word and no number is cut short. Where nobody says how wide, it is as wide as it must be."""
    texts = [_BOLD.sub("", "\n".join([str(one.header), *map(str, one.cells)])) for one in picture.columns]
    least = [max(map(cell_len, text.split()), default=1) for text in texts]
    best = [max(map(cell_len, text.split("\n"))) for text in texts]
    between = len(texts) - 1
    fixed = between + (2 if picture.show_edge else 0)
    if sum(least) + fixed > console.width and (console.is_terminal or os.environ.get("COLUMNS")):
        _show_blocks(picture)
        return
    padding = between if picture.collapse_padding else 2 * between + 2
    if sum(least) + fixed + padding > console.width:
        picture.padding = padding = 0  # one space between columns, not more
    for column, width in zip(picture.columns, _shared(least, best, console.width - fixed - padding), strict=True):
        column.width = width
    Terminal(width=max(console.width, sum(least) + fixed)).print(picture, crop=False)


def _shared(least: Sequence[int], best: Sequence[int], room: int) -> list[int]:
    """The widths of columns: what each needs at least, and of the rest most where most is wanting."""
    widths = list(least)
    for _ in range(room - sum(widths)):
        wanting = [want - have for want, have in zip(best, widths, strict=True)]
        if max(wanting) <= 0:
            break
        widths[wanting.index(max(wanting))] += 1
    return widths


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
