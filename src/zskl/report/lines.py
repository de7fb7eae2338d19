"""Lines in a frame with named axes, a legend under it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from zskl.report.svg import WIDTH, drawing, element, escape, label

LEFT, RIGHT, TOP, BOTTOM, TALL = 54, 14, 12, 44, 230  # margins and height of the frame
RADII = {"hollow": 5.5, "full": 4.5, "dot": 2.5}
COLOURS = 7  # of the palette; a dash pattern goes with each
Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """A line through points, and single points on or off it: "hollow", "full" or a small "dot"."""

    name: str
    points: Sequence[Point]
    rank: int = 0  # what its colour is taken by, so that a method keeps it from figure to figure
    marks: Sequence[tuple[str, Point]] = field(default_factory=tuple)
    thin: Sequence[Point] = field(default_factory=tuple)  # a second line of the same colour
    band: Sequence[tuple[float, float, float]] = field(default_factory=tuple)  # x, from, to: a shade behind the line


@dataclass(frozen=True)
class Axis:
    """Its name with the unit, and its ends; None is taken from the points. `ticks` are places with words for them."""

    name: str
    low: float | None = None
    high: float | None = None
    ticks: Sequence[tuple[float, str]] | None = None


def line_chart(title: str, description: str, series: Sequence[Series], x: Axis, y: Axis) -> str:
    points = [point for one in series for point in (*one.points, *one.thin, *(mark for _, mark in one.marks))]
    edges = [edge for one in series for _, *pair in one.band for edge in pair]
    across, up = scale(x, [p[0] for p in points]), scale(y, [*(p[1] for p in points), *edges])
    wide = WIDTH - LEFT - RIGHT

    def place(point: Point) -> Point:
        return LEFT + wide * across.share(point[0]), TOP + TALL * (1 - up.share(point[1]))

    parts = []
    for value in up.ticks:
        height = place((across.low, value))[1]
        parts += [
            element("path", d=f"M{LEFT} {height:.1f}H{WIDTH - RIGHT}", class_="rule"),
            label(number(value), LEFT - 6, height + 4, "end"),
        ]
    for value, words in x.ticks or [(value, number(value)) for value in across.ticks]:
        left = place((value, up.low))[0]
        parts += [
            element("path", d=f"M{left:.1f} {TOP}V{TOP + TALL}", class_="rule"),
            label(words, left, TOP + TALL + 16, "middle"),
        ]
    middle = TOP + TALL / 2
    parts.append(label(x.name, LEFT + wide / 2, TOP + TALL + 34, "middle", "axis"))
    parts.append(
        element(
            "text", escape(y.name), transform=f"translate(13 {middle:.0f}) rotate(-90)", text_anchor="middle",
            class_="axis",
        )
    )  # fmt: skip
    colours = _colours([one.rank for one in series])
    for colour, one in zip(colours, series, strict=True):
        there, back = [(x, high) for x, _, high in one.band], [(x, low) for x, low, _ in reversed(one.band)]
        parts.append(_line(colour, [place(point) for point in (*there, *back)], "band "))
    for colour, one in zip(colours, series, strict=True):
        parts.append(_line(colour, [place(point) for point in one.points]))
        parts.append(_line(colour, [place(point) for point in one.thin], "thin "))
    for colour, one in zip(colours, series, strict=True):
        parts += [_mark(colour, kind, place(point)) for kind, point in one.marks]
    below = TOP + TALL + BOTTOM
    legend, height = _legend([one.name for one in series], colours, below) if len(series) > 1 else ([], 0)
    return drawing(below + height, title, description, *parts, *legend)


@dataclass(frozen=True)
class Scale:
    """The ends of an axis, and where it has ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def scale(axis: Axis, values: Sequence[float]) -> Scale:
    """Round ends around the values, unless the axis names its own."""
    low = min(values, default=0.0) if axis.low is None else axis.low
    high = max(values, default=1.0) if axis.high is None else axis.high
    if not high > low:
        low, high = low - abs(low or 1) / 2, low + abs(low or 1) / 2
    step = _step((high - low) / 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if axis.low is not None:
        first = math.ceil(low / step - 1e-9)
    ticks = tuple(k * step for k in range(first, last + 1))
    return Scale(low if axis.low is not None else ticks[0], high if axis.high is not None else ticks[-1], ticks)


def _step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))


def number(value: float) -> str:
    """A tick in words."""
    return f"{value:.6g}".replace("-", "−")


def _colours(ranks: Sequence[int]) -> list[int]:
    """The colour of each rank; where two would share one, the later takes the next that is free."""
    taken: list[int] = []
    for rank in ranks:
        free = [k % COLOURS for k in range(rank, rank + COLOURS) if k % COLOURS not in taken]
        taken.append(free[0] if free else rank % COLOURS)
    return taken


def _line(number: int, points: Sequence[Point], kind: str = "") -> str:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) if points else ""
    return element("path", d=path, class_=f"{kind}{'' if kind == 'band ' else 'line '}c{number}") if path else ""


def _mark(number: int, kind: str, point: Point) -> str:
    return element("circle", cx=point[0], cy=point[1], r=RADII[kind], class_=f"{kind} c{number}")


def _legend(names: Sequence[str], colours: Sequence[int], top: float) -> tuple[list[str], float]:
    """In two columns of names."""
    parts = []
    for place, name in enumerate(names):
        left, height = LEFT + (place % 2) * (WIDTH - LEFT) / 2, top + 8 + 18 * (place // 2)
        parts.append(element("path", d=f"M{left:.1f} {height:.1f}h22", class_=f"line c{colours[place]}"))
        parts.append(label(name, left + 28, height + 4, limit=24))
    return parts, 18 * math.ceil(len(names) / 2) + 4
