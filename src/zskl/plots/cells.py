"""Numbers in coloured cells: deeper is larger, another hue is negative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl.plots.canvas import COLOURS, INK, MINUS, PAPER, PLUS, QUIET, WIDTH, cut, tick_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TALL = 34  # of a cell
LETTERS = 16  # of a name
LETTER = 6.6  # about the width of one
NARROW = 44  # a cell in which numbers below 1 go without their zero
DEEP = 0.65  # depth from which numbers are white


def height(rows: Sequence[str], columns: Sequence[str]) -> float:
    """Of a figure with these names."""
    wide = _wide(rows, columns)
    below = LETTER * max(len(cut(name, LETTERS)) for name in columns) if _steep(columns, wide) else 14
    return max(100.0, min(TALL, wide) * len(rows) + below + 40)


def draw(
    ax: Axes,
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    span: tuple[float, float],
    digits: int = 1,
    chosen: tuple[int, int] | None = None,
) -> Any:
    """`span`: the values of no and of full colour. A gap (NaN) shows a dash; the `chosen` cell gets a frame."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    low, high = span
    depth = np.clip((np.abs(values) - low) / (high - low), 0, 1) if high > low else np.full(values.shape, 0.5)
    depth = np.nan_to_num(depth)
    hue = np.where((values < 0)[..., None], to_rgb(MINUS), to_rgb(PLUS))
    mesh = ax.pcolormesh(np.concatenate([hue, depth[..., None]], axis=-1))
    wide = _wide(rows, columns)
    for (i, j), value in np.ndenumerate(values):
        colour = QUIET if np.isnan(value) else PAPER if depth[i, j] > DEEP else INK
        text = _text(value, digits, wide < NARROW)
        number = ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", color=colour, size=10)
        number.set_in_layout(False)  # it stays in its cell, so that nobody has to measure it
    if chosen is not None:
        place = (chosen[1] + 0.04, chosen[0] + 0.04)
        ax.add_patch(Rectangle(place, 0.92, 0.92, fill=False, edgecolor=COLOURS[1], linewidth=3))
    short = [cut(name, LETTERS) for name in columns]
    steep = _steep(columns, wide)
    tick_names(ax.xaxis, np.arange(len(columns)) + 0.5, short, rotation=90 if steep else 0)
    tick_names(ax.yaxis, np.arange(len(rows)) + 0.5, [cut(name, LETTERS) for name in rows])
    ax.set_xlim(0, len(columns))
    ax.set_ylim(len(rows), 0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return mesh


def _wide(rows: Sequence[str], columns: Sequence[str]) -> float:
    """About the width of a cell."""
    longest = max(len(cut(name, LETTERS)) for name in rows)
    return (WIDTH - 40 - LETTER * longest) / len(columns)


def _steep(columns: Sequence[str], wide: float) -> bool:
    return any(len(cut(name, LETTERS)) * LETTER > wide - 4 for name in columns)


def _text(value: float, digits: int, narrow: bool) -> str:
    if np.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    if not float(text):
        return "0"
    return (text.replace("0.", ".", 1) if narrow and abs(value) < 1 else text).replace("-", "−")
