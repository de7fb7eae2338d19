"""Lines in a frame: a colour and a dash for each, a legend below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from zskl.plots.canvas import COLOURS, DASHES, cut, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 290  # of a figure with one line
ROW = 18  # of a legend
LETTERS = 24  # of a name in it
MOST = len(COLOURS)  # lines that can be told apart


def height(count: int) -> float:
    """Of a figure with this many lines: the legend takes room."""
    return HEIGHT + ROW * -(-count // 2) if count > 1 else HEIGHT


def styles(ranks: Sequence[int]) -> list[dict[str, Any]]:
    """Colour and dash of each rank; where two would share one, the later takes the next that is free."""
    taken: list[int] = []
    for rank in ranks:
        free = [k % MOST for k in range(rank, rank + MOST) if k % MOST not in taken]
        taken.append(free[0] if free else rank % MOST)
    return [{"color": COLOURS[number], "linestyle": DASHES[number]} for number in taken]


def line(
    ax: Axes, x: ArrayLike, y: ArrayLike, name: str, style: dict[str, Any], deviation: ArrayLike | None = None
) -> Any:
    """A line, and a shade one deviation wide on both sides where that is known."""
    (drawn,) = ax.plot(x, y, label=cut(name, LETTERS), **style)
    if deviation is not None:
        middle, spread = np.asarray(y, np.float64), np.asarray(deviation, np.float64)
        ax.fill_between(x, middle - spread, middle + spread, color=style["color"], alpha=0.16, linewidth=0)
    return drawn


def dots(ax: Axes, x: ArrayLike, y: ArrayLike, style: dict[str, Any], size: float = 5, hollow: bool = False) -> None:
    """Single points, drawn whole at the edge of the frame too."""
    inside = {"markerfacecolor": "none", "markeredgewidth": 2} if hollow else {"markeredgewidth": 0}
    ax.plot(x, y, "o", color=style["color"], markersize=size, clip_on=False, zorder=3, **inside)


def frame(ax: Axes, xlabel: str, ylabel: str, count: int) -> None:
    """Names of the axes, and a legend of more than one line."""
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if count > 1:
        legend(ax, 2, handlelength=2.2, borderaxespad=0)
