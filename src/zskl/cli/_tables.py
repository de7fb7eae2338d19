"""Tables as the terminal can show them: side by side where the columns fit, else a short block for each row."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from zskl.cli._terminal import open_output

if TYPE_CHECKING:
    from zskl.experiments.compare import Comparison
    from zskl.experiments.uncertainty import Figure


def show_table(table: Table) -> None:
    """Print a table; no word and no number is cut short. Where nobody says how wide, it is as wide as it must be."""
    output = open_output()
    texts = [Text.from_markup("\n".join([str(one.header), *map(str, one.cells)])).plain for one in table.columns]
    least = [max(map(cell_len, text.split()), default=1) for text in texts]
    best = [max(map(cell_len, text.split("\n"))) for text in texts]
    between = len(texts) - 1
    fixed = between + (2 if table.show_edge else 0)
    if sum(least) + fixed > output.width and (output.is_terminal or os.environ.get("COLUMNS")):
        _show_blocks(table)
        return
    padding = between if table.collapse_padding else 2 * between + 2
    if sum(least) + fixed + padding > output.width:
        table.padding = padding = 0  # one space between columns, not more
    # Rich takes room from the widest column first, and so cuts its words although others could give way.
    for column, width in zip(table.columns, _share_width(least, best, output.width - fixed - padding), strict=True):
        column.width = width
    open_output(max(output.width, sum(least) + fixed)).print(table, crop=False)


def _share_width(least: Sequence[int], best: Sequence[int], room: int) -> list[int]:
    """The widths of columns: what each needs at least, and of the rest most where most is wanting."""
    widths = list(least)
    for _ in range(room - sum(widths)):
        wanting = [want - have for want, have in zip(best, widths, strict=True)]
        if max(wanting) <= 0:
            break
        widths[wanting.index(max(wanting))] += 1
    return widths


def _show_blocks(table: Table) -> None:
    """The first cell of each row, and below it the others, each after the name of its column."""
    output = open_output()
    names = [" ".join(str(column.header).split()) for column in table.columns]
    for first, *others in zip(*(list(map(str, column.cells)) for column in table.columns), strict=True):
        block = Table.grid(padding=(0, 2, 0, 0))
        block.add_column(no_wrap=True, min_width=max(map(len, names[1:]), default=0) + 2)
        block.add_column(overflow="fold")
        for name, cell in zip(names[1:], others, strict=True):
            if cell.strip():
                block.add_row(f"  {escape(name)}", "  ".join(cell.split("\n")))
        output.print(f"\n{first}", soft_wrap=True)
        output.print(block)


def draw_comparison(table: "Comparison", below: bool = False) -> Table:
    """Figures of methods as a table; with `below`, intervals in whole per cent stand below their figures. The column of
    seeds is left out if no row has more than one."""
    from zskl.experiments import compare

    counted = not below or any((row.seeds or 0) > 1 for row in table.rows)
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False, show_edge=not below)
    for name in table.labels:
        picture.add_column(name)
    for name in (*(("seeds",) if counted else ()), *table.figures):
        picture.add_column(name.replace(" ", "\n") if below else name, justify="right")
    for row in table.rows:
        cells = [_draw_figure(row.figures.get(name), below) for name in table.figures]
        seeds = [compare.format_seeds(row)] if counted else []
        picture.add_row(*(escape(row.labels[name]) for name in table.labels), *seeds, *cells)
    return picture


def _draw_figure(figure: "Figure | None", below: bool) -> str:
    from zskl.experiments import compare

    if below and figure is not None and figure.low is not None and figure.high is not None:
        text = f"{compare.format_cell(replace(figure, low=None, high=None, deviation=None))}\n"
        text += f"{figure.low:.0f}–{figure.high:.0f}"
    else:
        text = escape(compare.format_cell(figure, " ±"))  # the space is where a narrow terminal breaks the line
    return f"[b]{text}[/b]" if figure is not None and figure.best else text
