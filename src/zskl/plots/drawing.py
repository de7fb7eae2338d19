"""Displays as panels of one figure, ready for files."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zskl.plots import canvas, image
from zskl.plots.display import Display

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADING = 16  # height of a line of a panel's heading
LETTERS = 42  # in such a line


@dataclass(frozen=True)
class Drawing:
    """A figure with its text alternative."""

    figure: Figure
    title: str
    description: str

    def svg(self) -> str:
        return image.svg(self.figure, self.title, self.description)

    def png(self) -> bytes:
        return image.png(self.figure)


def panels(title: str, parts: Sequence[tuple[str, Display]]) -> Drawing:
    """Displays side by side, each under its heading."""
    rows = max(len(textwrap.wrap(heading, LETTERS)) for heading, _ in parts)
    height = HEADING * rows + 6 + max(display._height() for _, display in parts)
    with canvas.panels(len(parts), height) as axes:
        for ax, (heading, display) in zip(axes, parts, strict=True):
            display.plot(ax)
            ax.set_title(textwrap.fill(heading, LETTERS))
    said = "; ".join(f"{heading}: {display.description}" for heading, display in parts)
    return Drawing(parts[0][1].figure_, title, parts[0][1].description if len(parts) == 1 else said)
