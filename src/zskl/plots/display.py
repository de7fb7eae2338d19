"""The contract of a display: it holds the arrays that it draws, and draws them in any axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from zskl.plots import canvas, image

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display(ABC):
    """What all displays share. A subclass writes `description`, `_height` and `_draw`."""

    ax_: Axes
    figure_: Figure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. By default those of a new figure.

        Returns
        -------
        Display
            The display itself, with the attributes `ax_` and `figure_`.
        """
        from matplotlib.figure import Figure

        with canvas.axes(ax, self._height()) as place:
            self._draw(place)
        figure = place.figure
        self.ax_, self.figure_ = place, figure if isinstance(figure, Figure) else figure.figure
        return self

    def _repr_png_(self) -> bytes:
        """Notebooks show this."""
        return image.png(self.figure_ if hasattr(self, "figure_") else self.plot().figure_)

    @property
    @abstractmethod
    def description(self) -> str:
        """What the figure shows, in words."""

    @abstractmethod
    def _height(self) -> float:
        """Of a figure of its own, in points; see `canvas.WIDTH` for the width."""

    @abstractmethod
    def _draw(self, ax: Axes) -> None: ...
