"""Do validation scores rank as test scores do? One dot for each setting or run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from zskl.experiments.record import Record
from zskl.plots import lines
from zskl.plots.canvas import QUIET, cut
from zskl.plots.display import Display
from zskl.plots.records import required

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = {"zsl": ("zero-shot accuracy", "zsl", "accuracy"), "gzsl": ("calibrated H", "gzsl_calibrated", "harmonic")}


def read(record: Record, scoring: str) -> tuple[float, float] | None:
    """The score that chose on validation classes, and the same figure on test classes."""
    choice = dict(record.tune.choices.items()).get(scoring)
    calibrated = record.gzsl_calibrated
    tested = record.zsl.accuracy if scoring == "zsl" else None if calibrated is None else calibrated.harmonic
    return None if choice is None or choice.score is None or tested is None else (choice.score, tested)


class ValidationTestDisplay(Display):
    """Scores on test classes against those on validation classes, a colour for each method.

    Test scores are for looking at, never for choosing.

    Parameters
    ----------
    validation : list of array-like
        For each method its scores on validation classes, fractions between 0 and 1.
    test : list of array-like
        The scores of the same settings or runs on test classes.
    names : list of str
        A name for each method.
    figure : str, default="zero-shot accuracy"
        What the scores are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that the dots are in.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from zskl.plots import ValidationTestDisplay
    >>> display = ValidationTestDisplay([[0.5, 0.6, 0.7]], [[0.4, 0.6, 0.5]], names=["mine"]).plot()
    >>> display.description
    'mine: 3 dots, correlation 0.50'
    """

    def __init__(
        self,
        validation: Sequence[ArrayLike],
        test: Sequence[ArrayLike],
        *,
        names: Sequence[str],
        figure: str = "zero-shot accuracy",
    ) -> None:
        self.validation, self.test = ([np.asarray(one, np.float64) for one in side] for side in (validation, test))
        self.names, self.figure = names, figure

    @classmethod
    def from_records(cls, records: Sequence[Record], *, scoring: str = "zsl", ax: Axes | None = None) -> Self:
        """Draw a dot for each record, at its setting that was chosen on validation classes.

        Parameters
        ----------
        records : list of record
            Records of `zskl run --tune`.
        scoring : {"zsl", "gzsl"}, default="zsl"
            Which score: zero-shot accuracy, or calibrated H.
        ax : matplotlib Axes, default=None
            Axes to draw in. By default those of a new figure.

        Returns
        -------
        ValidationTestDisplay
            The display, drawn.
        """
        found = required(records, partial(read, scoring=scoring), "validation score", "run with --tune --calibrate")
        by_method: dict[str, list[tuple[float, float]]] = {}
        for record, pair in zip(records, found, strict=True):
            by_method.setdefault(record.method, []).append(pair)
        pairs = [np.array(mine) for mine in by_method.values()]
        sides = [one[:, 0] for one in pairs], [one[:, 1] for one in pairs]
        return cls(*sides, names=list(by_method), figure=FIGURES[scoring][0]).plot(ax)

    @property
    def description(self) -> str:
        """What the figure shows, in words."""
        words = []
        for name, x, y in zip(self.names, self.validation, self.test, strict=True):
            known = len(x) > 1 and x.std() > 0 and y.std() > 0
            word = f", correlation {np.corrcoef(x, y)[0, 1]:.2f}" if known else ""
            words.append(f"{name}: {len(x)} dots{word}")
        return "; ".join(words)

    def _height(self) -> float:
        return lines.height(len(self.names)) + 90

    def _draw(self, ax: Axes) -> None:
        looks = lines.styles(range(len(self.names)))
        for name, look, x, y in zip(self.names, looks, self.validation, self.test, strict=True):
            options = {"color": look["color"], "markersize": 5, "markeredgewidth": 0, "alpha": 0.6}
            ax.plot(100 * x, 100 * y, "o", label=cut(name, lines.LETTERS), **options)
        lines.frame(ax, f"{self.figure}, validation (%)", f"{self.figure}, test (%)", len(self.names))
        low = min(ax.get_xlim()[0], ax.get_ylim()[0])
        high = max(ax.get_xlim()[1], ax.get_ylim()[1])
        ax.plot([low, high], [low, high], color=QUIET, linewidth=1, zorder=0)
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)
