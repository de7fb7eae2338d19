"""A figure as SVG or PNG, the same bytes in every run."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from zskl.plots.canvas import PAPER, look, readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONTS = "DejaVu Sans, Helvetica, Arial, sans-serif"
DPI = 150
_NUMBER = re.compile(r"-?\d+\.\d+")
_FONT = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+)px")
_DROPPED = {"metadata", "style"}


def svg(figure: Figure, title: str, description: str, inline: bool = False) -> str:
    """The figure with its text alternative. Text stays text.

    `inline` is for a page: without background, fonts and namespaces, which the page brings. Looks are attributes, not
    styles, so that a page's policy can forbid styles and its style sheet can change colours. Ids depend on the title.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    with _ready(figure):
        matplotlib.rcParams["svg.hashsalt"] = title
        ground = figure.get_facecolor()
        figure.set_facecolor("none" if inline else PAPER)
        drawer: Any = FigureCanvasSVG(figure)  # matplotlib gives its `print_svg` no types
        drawer.print_svg(file, metadata={"Date": None})  # `savefig` would draw everything twice
        figure.set_facecolor(ground)
    drawn = ElementTree.fromstring(file.getvalue())
    used = {value for one in drawn.iter() for value in _references(one)}
    _clean(drawn, used)
    root = ElementTree.Element("svg", {"viewBox": drawn.attrib["viewBox"], "role": "img"})
    root.attrib |= {"aria-label": readable(f"{title}. {description}"), "stroke-linejoin": "round"}
    if not inline:
        size = {name: drawn.attrib[name] for name in ("width", "height")}
        root.attrib |= {"xmlns": "http://www.w3.org/2000/svg", "font-family": FONTS, **size}
    for name, words in (("title", title), ("desc", description)):
        ElementTree.SubElement(root, name).text = readable(words)
    if not inline:
        ElementTree.SubElement(root, "metadata").text = f"Matplotlib {matplotlib.__version__}"
    root.extend(drawn)
    return ElementTree.tostring(root, "unicode") + "\n"


def png(figure: Figure) -> bytes:
    """The figure in pixels, on white."""
    file = io.BytesIO()
    with _ready(figure):
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None}, facecolor=PAPER)
    return file.getvalue()


@contextmanager
def _ready(figure: Figure) -> Iterator[None]:
    """Laid out once, because a second layout starts from the first and differs.

    A letter that the font lacks is measured as a box; the reader's own font draws it.
    """
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")
        yield


def _references(one: ElementTree.Element) -> Iterator[str]:
    for name, value in one.attrib.items():
        if name.endswith("href"):
            yield value.removeprefix("#")
        elif value.startswith("url(#"):
            yield value[5:-1]


def _clean(parent: ElementTree.Element, used: set[str]) -> None:
    """Drop what nobody sees, and say the rest in short."""
    for child in list(parent):
        child.tag = child.tag.rpartition("}")[2]
        _clean(child, used)
        _attributes(child, used)
        empty = not len(child) and child.tag in ("g", "defs")
        if child.tag in _DROPPED or empty or _invisible(child):
            parent.remove(child)
        child.tail = None
    if parent.tag != "text":
        parent.text = None


def _invisible(one: ElementTree.Element) -> bool:
    return one.tag == "path" and one.get("fill") == "none" and not one.get("stroke") and not one.get("id")


def _attributes(one: ElementTree.Element, used: set[str]) -> None:
    found = {name.rpartition("}")[2]: value for name, value in one.attrib.items()}
    found |= _style(found.pop("style", ""))
    if found.get("id") not in used:
        found.pop("id", None)
    if re.match(r"rotate\(-?0 ", found.get("transform", "")):
        del found["transform"]
    for name in {"d", "x", "y", "transform", "width", "height"} & set(found):
        found[name] = " ".join(_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", found[name]).split())
    one.attrib.clear()
    one.attrib |= found


def _style(text: str) -> dict[str, str]:
    """A style as attributes; the fonts are those of the page or of the whole file."""
    pairs = (part.partition(":") for part in text.split(";") if part.strip())
    found = {name.strip(): value.strip() for name, _, value in pairs}
    found.pop("font-family", None)
    if short := _FONT.match(found.pop("font", "")):  # older versions write all in one
        found |= {f"font-{name}": value for name, value in short.groupdict().items() if value}
    return {name: value.removesuffix("px") for name, value in found.items()}
