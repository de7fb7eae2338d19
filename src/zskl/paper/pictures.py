"""Drawings as files of their own: their colours inside, several as panels of one; and as pixels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

from zskl.report.svg import WIDTH, element, escape

SCALE = 1.2  # pixels of a unit of drawing
HEADING, GAP, EDGE = 22, 12, 6
ZOOM = 2  # of the pixel image, for screens with fine pixels
WITHOUT = "figures are SVG alone; for PNG as well: pip install 'zskl[figures]'"


def panels(title: str, parts: Sequence[tuple[str, str]], across: int = 2) -> str:
    """(heading, drawing) as one picture that needs no style sheet, `across` of them in a row, on white."""
    columns = min(across, len(parts))
    heights = [_height(svg) for _, svg in parts]
    inside, top, wide = [], float(EDGE), columns * WIDTH + (columns - 1) * GAP + 2 * EDGE
    for row in range(math.ceil(len(parts) / columns)):
        places = range(row * columns, min((row + 1) * columns, len(parts)))
        for column, place in enumerate(places):
            left = EDGE + column * (WIDTH + GAP)
            heading, svg = parts[place]
            inside.append(element("text", escape(heading), x=left + WIDTH / 2, y=top + 15, class_="heading"))
            size = f'x="{left}" y="{top + HEADING:g}" width="{WIDTH}" height="{heights[place]:g}"'
            inside.append(svg.replace("<svg", f"<svg {size}", 1))
        top += HEADING + max(heights[place] for place in places) + GAP
    top += EDGE - GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {top:g}" width="{wide * SCALE:g}" '
        f'height="{top * SCALE:g}" font-family="Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif" '
        f'font-size="12"><title>{escape(title)}</title><style>{_style()}</style>'
        f'<rect width="{wide}" height="{top:g}" fill="#fff"/>{"".join(inside)}</svg>\n'
    )


def pixels(svg: str) -> bytes | None:
    """The picture as PNG; None without the package `resvg-py`, the extra "figures"."""
    try:
        import resvg_py
    except ImportError:
        return None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM))


@cache
def _style() -> str:
    """The rules of the report's style sheet for drawings, with the colours of its light variant in place of names."""
    sheet = resources.files("zskl.report").joinpath("page.css").read_text("utf-8")
    colours = dict(re.findall(r"--(\w+): (#\w+);", sheet.partition("@media")[0]))
    rules = re.findall(r"svg (\.[^{},]+|text|circle|\.[^{]+) \{([^}]*)\}", sheet.partition("@media print")[0])
    written = [f"{selector.replace('svg ', '')} {{{body}}}" for selector, body in rules]
    own = [f".whisker.w{k} {{ stroke: var(--c{k}); stroke-width: 1.5; fill: none; }}" for k in range(7)]
    own += [f".shape.s{k} {{ fill: var(--c{k}); }}" for k in range(7)]
    own.append(".heading { font-size: 13px; font-weight: 600; text-anchor: middle; }")
    text = "\n".join([*written, *own])
    return re.sub(r"var\(--(\w+)\)", lambda found: colours[found[1]], text)


def _height(svg: str) -> float:
    found = re.search(r'viewBox="0 0 \S+ ([\d.]+)"', svg)
    assert found is not None
    return float(found[1])
