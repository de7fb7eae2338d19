"""Numbers in coloured cells: deeper is larger, another hue is negative."""

from __future__ import annotations

from collections.abc import Sequence

from zskl.report.svg import WIDTH, drawing, element, label

TALLEST = 34  # of a cell
NARROW = 44  # a cell in which numbers below 1 go without their zero
DEEP = 0.65  # depth from which words in a cell turn to the colour of the page


def matrix(
    title: str,
    description: str,
    cells: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    names: tuple[str, str],
    span: tuple[float, float],
    digits: int = 1,
    chosen: tuple[int, int] | None = None,
) -> str:
    """`names` of the vertical and the horizontal axis; `span`: the values of no and of full colour; None is a gap."""
    longest = max((len(name) for name in rows), default=1)
    left = 28 + min(120, 7 * min(longest, 16))
    wide = min(64.0, (WIDTH - left - 4) / max(1, len(columns)))
    tall, top = min(TALLEST, wide), 4
    parts = []
    for i, row in enumerate(cells):
        y = top + i * tall
        parts.append(label(rows[i], left - 6, y + tall / 2 + 4, "end", limit=16))
        for j, value in enumerate(row):
            parts.append(_cell(value, left + j * wide, y, wide, tall, span, digits))
    if chosen is not None:
        x, y = left + chosen[1] * wide, top + chosen[0] * tall
        parts.append(element("rect", x=x + 1, y=y + 1, width=wide - 2, height=tall - 2, class_="chosen"))
    bottom = top + len(cells) * tall
    steep = any(len(name) * 7 > wide - 2 for name in columns)
    below = min(16, max(map(len, columns), default=1)) * 6 + 12 if steep else 18
    for j, name in enumerate(columns):
        x, y = left + (j + 0.5) * wide, bottom + 14
        if steep:
            text = label(name, 0, 0, "end", limit=16)
            parts.append(element("g", text, transform=f"translate({x + 4:.1f} {bottom + 8:.1f}) rotate(-90)"))
        else:
            parts.append(label(name, x, y, "middle"))
    parts.append(label(names[1], left + wide * len(columns) / 2, bottom + below + 14, "middle", "axis"))
    middle = top + len(cells) * tall / 2
    turned = element("g", label(names[0], 0, 0, "middle", "axis"), transform=f"translate(13 {middle:.1f}) rotate(-90)")
    return drawing(max(bottom + below + 22, 90), title, description, *parts, turned)


def _cell(
    value: float | None, x: float, y: float, wide: float, tall: float, span: tuple[float, float], digits: int
) -> str:
    if value is None:
        words = label("–", x + wide / 2, y + tall / 2 + 4, "middle", "quiet")
        return element("rect", x=x, y=y, width=wide, height=tall, class_="gap") + words
    low, high = span
    depth = min(1.0, max(0.0, (abs(value) - low) / (high - low))) if high > low else 0.5
    square = element(
        "rect", x=x, y=y, width=wide, height=tall, class_="minus" if value < 0 else "plus", fill_opacity=depth
    )
    text = f"{value:.{digits}f}"
    if not float(text):
        text = "0"
    elif wide < NARROW and abs(value) < 1:
        text = text.replace("0.", ".", 1)
    kind = "small deep" if depth > DEEP else "small"
    return square + label(text.replace("-", "−"), x + wide / 2, y + tall / 2 + 4, "middle", kind)
