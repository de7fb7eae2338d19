"""Horizontal bars from 0 to 100 per cent, a name before or above and a number behind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl.plots.canvas import COLOURS, QUIET, cut, tick_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, ABOVE = 20, 36  # height of a row; of one with the name above its bar
LETTERS, LINE = 22, 48  # of a name before and above


def height(count: int, above: bool = False) -> float:
    """Of a figure with this many bars."""
    return count * (ABOVE if above else ROW) + 56


def draw(
    ax: Axes, names: Sequence[str], values: NDArray[np.float64], chance: float | None = None, above: bool = False
) -> Any:
    """Bars from top to bottom, a dashed line at `chance`. A row without a value (NaN) is words alone."""
    places = np.arange(len(names), dtype=np.float64)
    known = ~np.isnan(values)
    low = 0.22 if above else 0.0  # the bar stands in the lower half, the name over it
    drawn = ax.barh(places[known] + low, values[known], height=0.42 if above else 0.75, color=COLOURS[0])
    right = ax.get_yaxis_transform()
    for place, name, value in zip(places, names, values, strict=True):
        if np.isnan(value):
            ax.text(50, place, cut(name, LINE), ha="center", va="center", color=QUIET, parse_math=False)
            continue
        ax.text(1.02, place + low, f"{value:.1f}", transform=right, va="center")
        if above:
            ax.text(1, place - 0.22, cut(name, LINE), va="center", parse_math=False)
    if chance is not None:
        ax.axvline(chance, color=COLOURS[1], linewidth=1.5, linestyle=(0, (3, 2)))
    beside = [] if above else [cut(name, LETTERS) for name, is_known in zip(names, known, strict=True) if is_known]
    tick_names(ax.yaxis, places[known] if beside else [], beside)
    ax.set_xlim(0, 100)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False)
    ax.spines["left"].set_visible(True)
    return drawn
