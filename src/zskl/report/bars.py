"""Horizontal bars, a name before and a number behind each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zskl.report.svg import WIDTH, drawing, element, label

NUMBERS, ROW = 44, 20  # width of numbers, height of a row
LINE = 52  # letters of a name above its bar
LETTERS, WIDE = 22, 7.3  # of a name at most, and about how wide one is


@dataclass(frozen=True)
class Bar:
    """A value in per cent; without one the row is words alone."""

    name: str
    value: float | None


def bar_chart(
    title: str, description: str, bars: Sequence[Bar], axis: str, chance: float | None = None, above: bool = False
) -> str:
    """Bars from 0 to 100 per cent, names before or, if they are long, `above` them; a dashed line at `chance`."""
    longest = max((len(bar.name) for bar in bars if bar.value is not None), default=0)
    left = 14.0 if above else 14 + WIDE * min(LETTERS, longest)
    wide, tall = WIDTH - left - NUMBERS, 2 * ROW - 4 if above else ROW
    bottom = len(bars) * tall + 6
    parts = [element("path", d=f"M{left:.1f} 4V{bottom}H{left + wide:.1f}", class_="edge")]
    numbers = []
    for number, bar in enumerate(bars):
        top = number * tall + 4
        if bar.value is None:
            parts.append(label(bar.name, left + wide / 2, top + 13, "middle", "quiet"))
            continue
        if above:
            parts.append(label(bar.name, left + 4, top + 13, limit=LINE))
            top += ROW - 4
        else:
            parts.append(label(bar.name, left - 6, top + 13, "end", limit=LETTERS))
        length = wide * min(bar.value, 100) / 100
        parts.append(element("rect", x=left, y=top + 2, width=max(length, 1.0), height=ROW - 5, class_="bar"))
        numbers.append(label(f"{bar.value:.1f}", left + length + 5, top + 13, kind="halo"))
    if chance is not None:
        place = left + wide * chance / 100
        parts.append(element("path", d=f"M{place:.1f} 4V{bottom}", class_="chance"))
    for value in (0, 25, 50, 75, 100):
        parts.append(label(value, left + wide * value / 100, bottom + 15, "middle"))
    parts.append(label(axis, left + wide / 2, bottom + 33, "middle", "axis"))
    return drawing(bottom + 40, title, description, *parts, *numbers)
