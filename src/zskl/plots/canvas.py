"""The look of every figure: its size, colours and fonts; axes to draw in, the user's or our own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import ArrayLike

WIDTH = 400  # of a figure, in points: about the pixels of a phone
INK, QUIET, RULE, PAPER = "#1b1b1b", "#5c5c5c", "#dddddd", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07800", "#56b4e9", INK)  # after Okabe and Ito
DASHES: tuple[Any, ...] = (  # one for each colour, so that print without colour can be read too
    "solid", (0, (3.5, 1.5)), (0, (1, 1)), (0, (4.5, 1.5, 1, 1.5)), (0, (2, 1)), (0, (6, 1.5)), (0, (0.5, 1.5)),
)  # fmt: skip
PLUS, MINUS = "#004b87", "#a84300"  # full colour of a positive and of a negative cell
PANELS = 2  # side by side
LEGEND = 42  # how far a legend is below the frame
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # what neither HTML nor XML can hold
LOOK: dict[str, Any] = {
    "axes.autolimit_mode": "round_numbers",
    "axes.edgecolor": QUIET,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 11,
    "axes.labelweight": "bold",
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.xmargin": 0,
    "axes.ymargin": 0,
    "font.size": 11,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "grid.color": RULE,
    "grid.linewidth": 1,
    "legend.fontsize": 11,
    "lines.linewidth": 2,
    "svg.fonttype": "none",  # text stays text
    "text.color": INK,
    "text.parse_math": False,  # a class may be named $5
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.major.pad": 6,
    "ytick.major.pad": 6,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
}


@contextmanager
def look() -> Iterator[None]:
    """Our settings of matplotlib, whatever the user's are; those are back afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(LOOK)
        yield


@contextmanager
def axes(ax: Axes | None, height: float) -> Iterator[Axes]:
    """The user's axes, or those of a new figure of this height; matplotlib's settings are ours only for our own."""
    if ax is not None:
        yield ax
        return
    with panels(1, height) as (own,):
        yield own


@contextmanager
def panels(count: int, height: float) -> Iterator[list[Axes]]:
    """Axes side by side and below each other in one new figure, each of this height."""
    from matplotlib.figure import Figure

    across = min(PANELS, count)
    down = -(-count // across)
    with look():
        figure = Figure(figsize=(across * WIDTH / 72, down * height / 72), layout="constrained")
        made = list(figure.subplots(down, across, squeeze=False).flat)
        for one in made:
            one.locator_params(nbins=5, steps=[1, 2, 5, 10])
        for spare in made[count:]:
            spare.remove()
        yield made[:count]


def legend(ax: Axes, columns: int, **options: float) -> None:
    """A legend under the axis and its name, without a frame."""
    from matplotlib.transforms import ScaledTranslation

    place = ax.transAxes + ScaledTranslation(0, -LEGEND / 72, ax.figure.dpi_scale_trans)
    anchor: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": place}
    ax.legend(ncols=columns, frameon=False, **anchor | options)


def readable(text: object) -> str:
    """The text without characters that a page cannot hold."""
    return _UNFIT.sub("\ufffd", str(text))


def cut(name: object, limit: int) -> str:
    """A name on one line, of at most `limit` letters."""
    whole = " ".join(readable(name).split())
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def tick_names(axis: Axis, places: ArrayLike, names: Sequence[str], rotation: float = 0) -> None:
    """Names at places of an axis, as they are: a dollar sign starts no formula."""
    for tick in axis.set_ticks(places, names, rotation=rotation):
        tick.label1.set_parse_math(False)
