"""The look of every figure: colours and fonts, axes to draw in, bars, cells and lines; and figures as SVG and PNG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


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
TICKS = {"labelcolor": INK, "labelsize": 11, "major.size": 0, "major.pad": 6}
LOOK: dict[str, Any] = {
    "axes.autolimit_mode": "round_numbers",
    "axes.edgecolor": QUIET,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 11,
    "axes.labelweight": "bold",
    **{f"axes.spines.{side}": False for side in ("left", "right", "top")},
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
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in TICKS.items()},
}


@contextmanager
def apply_style() -> Iterator[None]:
    """Our settings of matplotlib, whatever the user's are; those are back afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(LOOK)
        yield


@contextmanager
def open_panels(count: int, height: float) -> Iterator[list[Axes]]:
    """Axes side by side and below each other in one new figure, each of this height."""
    from matplotlib.figure import Figure

    across = min(PANELS, count)
    down = -(-count // across)
    with apply_style():
        figure = Figure(figsize=(across * WIDTH / 72, down * height / 72), layout="constrained")
        made = list(figure.subplots(down, across, squeeze=False).flat)
        for one in made:
            one.locator_params(nbins=5, steps=[1, 2, 5, 10])
        for spare in made[count:]:
            spare.remove()
        yield made[:count]


def draw_legend(ax: Axes, columns: int, **options: float) -> None:
    from matplotlib.transforms import ScaledTranslation

    place = ax.transAxes + ScaledTranslation(0, -LEGEND / 72, ax.figure.dpi_scale_trans)
    anchor: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": place}
    ax.legend(ncols=columns, frameon=False, **anchor | options)


def remove_unprintable(text: object) -> str:
    return _UNFIT.sub("\ufffd", str(text))


def shorten(name: object, limit: int) -> str:
    whole = " ".join(remove_unprintable(name).split())
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def set_tick_names(axis: Axis, places: ArrayLike, names: Sequence[str], rotation: float = 0) -> None:
    """Names at places of an axis, as they are: a dollar sign starts no formula."""
    for tick in axis.set_ticks(places, names, rotation=rotation):
        tick.label1.set_parse_math(False)


# Bars: horizontal, from 0 to 100 per cent, a name before or above and a number behind each

BAR_ROW, BAR_ABOVE = 20, 36  # height of a row; of one with the name above its bar
BAR_LETTERS, BAR_LINE = 22, 48  # of a name before and above


def bars_height(count: int, above: bool = False) -> float:
    return count * (BAR_ABOVE if above else BAR_ROW) + 56


def draw_bars(
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
            ax.text(50, place, shorten(name, BAR_LINE), ha="center", va="center", color=QUIET, parse_math=False)
            continue
        ax.text(1.02, place + low, f"{value:.1f}", transform=right, va="center")
        if above:
            ax.text(1, place - 0.22, shorten(name, BAR_LINE), va="center", parse_math=False)
    if chance is not None:
        ax.axvline(chance, color=COLOURS[1], linewidth=1.5, linestyle=(0, (3, 2)))
    shown: list[int] = [] if above else np.flatnonzero(known).tolist()
    set_tick_names(ax.yaxis, places[shown], [shorten(names[k], BAR_LETTERS) for k in shown])
    ax.set_xlim(0, 100)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False)
    ax.spines["left"].set_visible(True)
    return drawn


# Cells: coloured numbers, deeper is larger, another hue is negative

TALL = 34  # of a cell
CELL_LETTERS = 16  # of a name
LETTER = 6.6  # about the width of one
NARROW = 44  # a cell in which numbers below 1 go without their zero
DEEP = 0.65  # depth from which numbers are white


def cells_height(rows: Sequence[str], columns: Sequence[str]) -> float:
    wide = _cell_width(rows, columns)
    below = LETTER * max(len(shorten(name, CELL_LETTERS)) for name in columns) if _are_steep(columns, wide) else 14
    return max(100.0, min(TALL, wide) * len(rows) + below + 40)


def draw_cells(
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
    wide = _cell_width(rows, columns)
    for (i, j), value in np.ndenumerate(values):
        colour = QUIET if np.isnan(value) else PAPER if depth[i, j] > DEEP else INK
        text = _cell_text(value, digits, wide < NARROW)
        number = ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", color=colour, size=10)
        number.set_in_layout(False)  # it stays in its cell, so that nobody has to measure it
    if chosen is not None:
        place = (chosen[1] + 0.04, chosen[0] + 0.04)
        ax.add_patch(Rectangle(place, 0.92, 0.92, fill=False, edgecolor=COLOURS[1], linewidth=3))
    across, down = ([shorten(name, CELL_LETTERS) for name in names] for names in (columns, rows))
    set_tick_names(ax.xaxis, np.arange(len(columns)) + 0.5, across, 90 if _are_steep(columns, wide) else 0)
    set_tick_names(ax.yaxis, np.arange(len(rows)) + 0.5, down)
    ax.set_xlim(0, len(columns))
    ax.set_ylim(len(rows), 0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return mesh


def _cell_width(rows: Sequence[str], columns: Sequence[str]) -> float:
    longest = max(len(shorten(name, CELL_LETTERS)) for name in rows)
    return (WIDTH - 40 - LETTER * longest) / len(columns)


def _are_steep(columns: Sequence[str], wide: float) -> bool:
    """Whether names are written upwards, because some of them are wider than their cells."""
    return any(len(shorten(name, CELL_LETTERS)) * LETTER > wide - 4 for name in columns)


def _cell_text(value: float, digits: int, narrow: bool) -> str:
    if np.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    if not float(text):
        return "0"
    return (text.replace("0.", ".", 1) if narrow and abs(value) < 1 else text).replace("-", "−")


# Lines: in a frame, a colour and a dash for each, a legend below

HEIGHT = 290  # of a figure with one line
LEGEND_ROW = 18  # of a legend
LEGEND_LETTERS = 24  # of a name in it
MOST = len(COLOURS)  # lines that can be told apart


def lines_height(count: int) -> float:
    return HEIGHT + LEGEND_ROW * -(-count // 2) if count > 1 else HEIGHT


def line_styles(ranks: Sequence[int]) -> list[dict[str, Any]]:
    """Colour and dash of each rank; where two would share one, the later takes the next that is free."""
    taken: list[int] = []
    for rank in ranks:
        free = [k % MOST for k in range(rank, rank + MOST) if k % MOST not in taken]
        taken.append(free[0] if free else rank % MOST)
    return [{"color": COLOURS[number], "linestyle": DASHES[number]} for number in taken]


def draw_line(
    ax: Axes, x: ArrayLike, y: ArrayLike, name: str, style: dict[str, Any], deviation: ArrayLike | None = None
) -> Any:
    (drawn,) = ax.plot(x, y, label=shorten(name, LEGEND_LETTERS), **style)
    if deviation is not None:
        middle, spread = np.asarray(y, np.float64), np.asarray(deviation, np.float64)
        ax.fill_between(x, middle - spread, middle + spread, color=style["color"], alpha=0.16, linewidth=0)
    return drawn


def draw_dots(
    ax: Axes, x: ArrayLike, y: ArrayLike, style: dict[str, Any], size: float = 5, hollow: bool = False
) -> None:
    """Single points, drawn whole at the edge of the frame too."""
    inside = {"markerfacecolor": "none", "markeredgewidth": 2} if hollow else {"markeredgewidth": 0}
    ax.plot(x, y, "o", color=style["color"], markersize=size, clip_on=False, zorder=3, **inside)


def draw_frame(ax: Axes, xlabel: str, ylabel: str, count: int) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if count > 1:
        draw_legend(ax, 2, handlelength=2.2, borderaxespad=0)


# Images: the same bytes in every run

FONTS = "DejaVu Sans, Helvetica, Arial, sans-serif"
DPI = 150
_NUMBER = re.compile(r"-?\d+\.\d+")
_FONT = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+)px")


def to_svg(figure: Figure, title: str, description: str, inline: bool = False) -> str:
    """`inline`: for a page, which brings background, fonts and namespaces, and whose policy forbids styles."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    with _lay_out(figure):
        matplotlib.rcParams["svg.hashsalt"] = title
        ground = figure.get_facecolor()
        figure.set_facecolor("none" if inline else PAPER)
        drawer: Any = FigureCanvasSVG(figure)  # matplotlib gives its `print_svg` no types
        drawer.print_svg(file, metadata={"Date": None})  # `savefig` would draw everything twice
        figure.set_facecolor(ground)
    drawn = ElementTree.fromstring(file.getvalue())
    values = [(name, value) for one in drawn.iter() for name, value in one.attrib.items()]
    used = {value[1:] for name, value in values if name.endswith("href")}
    used |= {value[5:-1] for _, value in values if value.startswith("url(#")}
    _clean_svg(drawn, used)
    root = ElementTree.Element("svg", {"viewBox": drawn.attrib["viewBox"], "role": "img"})
    root.attrib |= {"aria-label": remove_unprintable(f"{title}. {description}"), "stroke-linejoin": "round"}
    if not inline:
        size = {name: drawn.attrib[name] for name in ("width", "height")}
        root.attrib |= {"xmlns": "http://www.w3.org/2000/svg", "font-family": FONTS, **size}
    for name, words in (("title", title), ("desc", description)):
        ElementTree.SubElement(root, name).text = remove_unprintable(words)
    if not inline:
        ElementTree.SubElement(root, "metadata").text = f"Matplotlib {matplotlib.__version__}"
    root.extend(drawn)
    return ElementTree.tostring(root, "unicode") + "\n"


def to_png(figure: Figure) -> bytes:
    file = io.BytesIO()
    with _lay_out(figure):
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None}, facecolor=PAPER)
    return file.getvalue()


@contextmanager
def _lay_out(figure: Figure) -> Iterator[None]:
    """Laid out once, because a second layout starts from the first and differs."""
    with apply_style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")
        yield


def _clean_svg(parent: ElementTree.Element, used: set[str]) -> None:
    for child in list(parent):
        child.tag = child.tag.rpartition("}")[2]
        _clean_svg(child, used)
        _shorten_attributes(child, used)
        empty = not len(child) and child.tag in ("g", "defs")
        unseen = child.tag == "path" and child.get("fill") == "none" and not child.get("stroke") and not child.get("id")
        if child.tag in ("metadata", "style") or empty or unseen:
            parent.remove(child)
        child.tail = None
    if parent.tag != "text":
        parent.text = None


def _shorten_attributes(one: ElementTree.Element, used: set[str]) -> None:
    """Styles as attributes, no ids that nobody refers to, and two digits of a number are enough."""
    found = {name.rpartition("}")[2]: value for name, value in one.attrib.items()}
    parts = (part.partition(":") for part in found.pop("style", "").split(";") if part.strip())
    style = {name.strip(): value.strip() for name, _, value in parts}
    style.pop("font-family", None)  # the fonts are those of the page or of the whole file
    if short := _FONT.match(style.pop("font", "")):  # older versions write all in one
        style |= {f"font-{name}": value for name, value in short.groupdict().items() if value}
    found |= {name: value.removesuffix("px") for name, value in style.items()}
    if found.get("id") not in used:
        found.pop("id", None)
    if re.match(r"rotate\(-?0 ", found.get("transform", "")):
        del found["transform"]
    for name in {"d", "x", "y", "transform", "width", "height"} & set(found):
        found[name] = " ".join(_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", found[name]).split())
    one.attrib.clear()
    one.attrib |= found
