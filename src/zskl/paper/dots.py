"""Figures of many rows as dots: a name before each row, one shape per series, whiskers for deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zskl.experiments.compare import Figure
from zskl.report.lines import Axis, number, scale
from zskl.report.svg import WIDTH, drawing, element, label

ROW, TOP, RIGHT, SIDE = 20, 8, 14, 5.0
LETTER = 7.0  # about the width of one


@dataclass(frozen=True)
class Dots:
    """A series: its name, a figure for each row or None, and how it is drawn."""

    name: str
    figures: Sequence[Figure | None]
    colour: int
    shape: str = "circle"  # or "hollow", "square", "diamond"


def dot_chart(
    title: str, description: str, names: Sequence[str], series: Sequence[Dots], axis: str, zero: bool = True
) -> str:
    """Rows from top to bottom, an axis from 0, or from near the smallest figure, under them."""
    left = 14 + LETTER * max(map(len, names))
    shown = [figure for one in series for figure in one.figures if figure is not None]
    ends = [
        edge
        for figure in shown
        for edge in (figure.mean - (figure.deviation or 0), figure.mean + (figure.deviation or 0))
    ]
    across = scale(Axis(axis, 0.0 if zero else None), [*ends, 0.0] if zero else ends)
    wide, bottom = WIDTH - left - RIGHT, TOP + ROW * len(names)

    def place(value: float) -> float:
        return left + wide * across.share(value)

    parts = []
    for value in across.ticks:
        x = place(value)
        parts.append(element("path", d=f"M{x:.1f} {TOP}V{bottom}", class_="rule"))
        parts.append(label(number(value), x, bottom + 15, "middle"))
    for row, name in enumerate(names):
        y = TOP + ROW * (row + 0.5)
        parts.append(label(name, left - 8, y + 4, "end"))
        parts.append(element("path", d=f"M{left:.1f} {y:.1f}H{WIDTH - RIGHT}", class_="rule"))
    for one in series:
        for row, figure in enumerate(one.figures):
            if figure is not None:
                y = TOP + ROW * (row + 0.5)
                if figure.deviation:
                    low, high = place(figure.mean - figure.deviation), place(figure.mean + figure.deviation)
                    parts.append(element("path", d=f"M{low:.1f} {y:.1f}H{high:.1f}", class_=f"whisker w{one.colour}"))
                parts.append(mark(one, place(figure.mean), y))
    parts.append(label(axis, left + wide / 2, bottom + 33, "middle", "axis"))
    at = 14.0
    for one in series:
        parts.append(mark(one, at, bottom + 52))
        parts.append(label(one.name, at + 10, bottom + 56))
        at += 26 + LETTER * len(one.name) * 0.9
    return drawing(bottom + 66, title, description, *parts)


def mark(one: Dots, x: float, y: float) -> str:
    """A dot of the series."""
    if one.shape in ("circle", "hollow"):
        kind = "full" if one.shape == "circle" else "hollow"
        return element("circle", cx=x, cy=y, r=SIDE - 0.5, class_=f"{kind} c{one.colour}")
    reach = SIDE if one.shape == "diamond" else SIDE - 1
    corners = [(0.0, -reach), (reach, 0.0), (0.0, reach), (-reach, 0.0)]
    if one.shape == "square":
        corners = [(-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach)]
    path = "M" + "L".join(f"{x + dx:.1f} {y + dy:.1f}" for dx, dy in corners) + "Z"
    return element("path", d=path, class_=f"shape s{one.colour}")
