"""Figures of many methods as dots, a row for each method."""

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl.experiments.compare import Row, compare
from zskl.experiments.record import Record
from zskl.experiments.uncertainty import Figure
from zskl.plots import _style
from zskl.plots._base import Axes, Display
from zskl.plots._style import COLOURS, set_tick_names

ROW = 20
LETTERS = 24  # of a name
LINE = 36  # letters of a legend in one line
MARKS: dict[str, dict[str, Any]] = {
    "dot": {"marker": "o"},
    "square": {"marker": "s", "markersize": 7},
    "diamond": {"marker": "D", "markersize": 7},
    "ring": {"marker": "o", "markerfacecolor": "none", "markeredgewidth": 2},
}


class ComparisonDisplay(Display):
    """Figures of many methods as dots: a row for each method, a mark for each kind of figure.

    Parameters
    ----------
    methods : list of str
        The names of the rows, from top to bottom.
    means : list of array-like of shape (n_methods,)
        For each kind of figure its value for every method; NaN where there is none.
    names : list of str
        The kinds of figures.
    whiskers : list of array-like or None, default=None
        For each kind how far whiskers reach: of shape (n_methods,), or (2, n_methods) to the left and to the right.
    axis : str, default="per cent"
        The name of the horizontal axis.
    marks : list of {"dot", "square", "diamond", "ring"}, default=None
        How each kind is drawn. By default these four in turn.
    ranks : list of int, default=None
        What the colours follow. By default the order of the kinds.

    Examples
    --------
    >>> from zskl.plots import ComparisonDisplay
    >>> display = ComparisonDisplay(["ale", "dap"], [[54.9, 40.0]], names=["published"]).plot()
    >>> display.description
    '2 methods; published is highest for ale with 54.9'
    """

    def __init__(
        self,
        methods: Sequence[str],
        means: Sequence[ArrayLike],
        *,
        names: Sequence[str],
        whiskers: Sequence[ArrayLike | None] | None = None,
        axis: str = "per cent",
        marks: Sequence[str] | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:
        self.methods, self.names, self.axis = methods, names, axis
        self.means = [np.asarray(one, np.float64) for one in means]
        self.whiskers = whiskers or [None] * len(names)
        self.marks = marks or [list(MARKS)[k % len(MARKS)] for k in range(len(names))]
        self.ranks = ranks or range(len(names))

    @classmethod
    def from_records(
        cls, records: Sequence[Record], *, figures: Sequence[str] = ("zero-shot",), ax: "Axes | None" = None
    ) -> Self:
        """Draw means over seeds with their 95 % intervals, or deviations over seeds where records keep no answers.

        Parameters
        ----------
        records : list of record
            Records of `zskl run` on one dataset.
        figures : list of str, default=("zero-shot",)
            Columns of `zskl compare`: "zero-shot", "unseen", "seen", "H", "calibrated H" or "area".
        """
        methods, means, whiskers = read_columns(compare(records).rows, figures)
        return cls(methods, means, names=figures, whiskers=whiskers, axis="accuracy (%)").plot(ax)

    @property
    def description(self) -> str:
        tops = {name: int(np.nanargmax(one)) for name, one in zip(self.names, self.means, strict=True)}
        words = (
            f"{name} is highest for {self.methods[top]} with {one[top]:.1f}"
            for (name, top), one in zip(tops.items(), self.means, strict=True)
        )
        return f"{len(self.methods)} methods; {'; '.join(words)}"

    def _height(self) -> float:
        return ROW * (len(self.methods) + self._legend_rows()) + 64

    def _legend_rows(self) -> int:
        return 1 if sum(map(len, self.names)) <= LINE else len(self.names)

    def _draw(self, ax: Axes) -> None:
        places = np.arange(len(self.methods))
        kinds = zip(self.names, self.means, self.whiskers, self.marks, self.ranks, strict=True)
        for name, means, spread, mark, rank in kinds:
            whiskers = None if spread is None else np.where(np.asarray(spread) > 0, spread, np.nan)
            options: dict[str, Any] = {"markersize": 9.0, "markeredgewidth": 0.0, "linestyle": "none"} | MARKS[mark]
            colour = COLOURS[rank % len(COLOURS)]
            options |= {"color": colour, "label": name, "elinewidth": 1.5, "clip_on": False}
            ax.errorbar(means, places, xerr=whiskers, **options)
        set_tick_names(ax.yaxis, places, [_style.shorten(name, LETTERS) for name in self.methods])
        ax.set_ylim(len(self.methods) - 0.5, -0.5)
        ax.set_xlim(left=0)
        ax.set_xlabel(self.axis)
        columns = len(self.names) // self._legend_rows()
        _style.draw_legend(ax, columns, handletextpad=0.2, columnspacing=1, borderaxespad=0)


Columns: TypeAlias = tuple[list[str], list[list[float]], list[NDArray[np.float64]]]


def read_columns(rows: Sequence[Row], figures: Sequence[str]) -> Columns:
    """Methods, and for each figure its means and whiskers (2, n): to the ends of intervals, or one deviation long."""

    def ends(one: Figure | None) -> tuple[float, float]:
        if one is None:
            return 0.0, 0.0
        if one.low is not None and one.high is not None:
            return max(0.0, one.mean - one.low), max(0.0, one.high - one.mean)
        return one.deviation or 0.0, one.deviation or 0.0

    found = [[row.figures.get(name) for row in rows] for name in figures]
    means = [[np.nan if one is None else one.mean for one in column] for column in found]
    whiskers = [np.array([ends(one) for one in column], np.float64).reshape(-1, 2).T for column in found]
    return [row.labels["method"] for row in rows], means, whiskers
