"""How far probabilities can be trusted: the accuracy of answers above a threshold."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl import protocols
from zskl.datasets import Dataset
from zskl.experiments.record import Record
from zskl.plots import _style
from zskl.plots._base import Axes, LinesDisplay, display_names, read_required


def read_reliability(record: Record, protocol: str) -> NDArray[np.float64] | None:
    """(thresholds, 3): threshold, share answered, accuracy of these; None where the record holds nothing of it."""
    found = record.probabilities.zsl if protocol == "zsl" else record.probabilities.gzsl
    return None if found is None else _known_points(found.coverage)


def _known_points(points: Sequence[Sequence[float | None]]) -> NDArray[np.float64] | None:
    known = [point for point in points if point[2] is not None]
    return np.array(known, np.float64) if known else None


class ReliabilityDisplay(LinesDisplay):
    """Accuracy of the rows that are answered, as answers of low probability are withheld.

    If probabilities mean something, accuracy rises from right to left, as fewer rows are answered.

    Parameters
    ----------
    answered : list of array-like
        For each line the share of rows with a probability above each threshold, fractions between 0 and 1.
    accuracy : list of array-like
        The accuracy of these rows.
    names : list of str
        A name for each line.
    thresholds : list of array-like, default=None
        The thresholds, where you want to look them up in `points`. They are not drawn.
    ranks : list of int, default=None
        What the colours follow. By default the order of the lines.

    Examples
    --------
    >>> from zskl.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay([[1.0, 0.5]], [[0.6, 0.9]], names=["mine"]).plot()
    >>> display.description
    'Accuracy as fewer rows are answered: mine from 60.0 to 90.0 %'
    """

    def __init__(
        self,
        answered: Sequence[ArrayLike],
        accuracy: Sequence[ArrayLike],
        *,
        names: Sequence[str],
        thresholds: Sequence[ArrayLike] | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:
        super().__init__(names, ranks)
        self.answered, self.accuracy = ([np.asarray(one, np.float64) for one in side] for side in (answered, accuracy))
        gaps = [np.full(len(one), np.nan) for one in self.answered]
        self.thresholds = gaps if thresholds is None else [np.asarray(one, np.float64) for one in thresholds]

    @classmethod
    def from_estimator(
        cls, model: Any, data: Dataset, *, protocol: str = "zsl", name: str | None = None, ax: "Axes | None" = None
    ) -> Self:
        """Draw the line of a fitted and calibrated model on the test rows of a dataset.

        Parameters
        ----------
        model : estimator
            A fitted model with temperatures, see `zskl.selection.calibrate`.
        """
        points = _known_points(protocols.confidence(model, data, protocol).coverage)
        assert points is not None  # all rows are answered at threshold 0
        names = [name or type(model).__name__]
        return cls([points[:, 1]], [points[:, 2]], names=names, thresholds=[points[:, 0]]).plot(ax)

    @classmethod
    def from_records(
        cls,
        records: Sequence[Record],
        *,
        protocol: str = "zsl",
        names: Sequence[str] | None = None,
        ranks: Sequence[int] | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw a line for each record.

        Parameters
        ----------
        records : list of record
            Records of `zskl run --calibrate`.
        """
        found = read_required(
            records, partial(read_reliability, protocol=protocol), "probabilities", "run with --calibrate"
        )
        thresholds, answered, accuracy = ([points[:, k] for points in found] for k in range(3))
        names = display_names(records, names)
        return cls(answered, accuracy, names=names, thresholds=thresholds, ranks=ranks).plot(ax)

    @property
    def points(self) -> list[NDArray[np.float64]]:
        """For each line (n, 3): threshold, share answered, accuracy of these."""
        sides = zip(self.thresholds, self.answered, self.accuracy, strict=True)
        return [np.stack(side, axis=1) for side in sides]

    @property
    def description(self) -> str:
        ends = "; ".join(
            f"{name} from {100 * float(line[0]):.1f} to {100 * float(line[-1]):.1f} %"
            for name, line in zip(self.names, self.accuracy, strict=True)
        )
        return f"Accuracy as fewer rows are answered: {ends}"

    def _draw(self, ax: Axes) -> None:
        self.lines_ = []
        looks = _style.line_styles(self.ranks)
        for name, look, x, y in zip(self.names, looks, self.answered, self.accuracy, strict=True):
            self.lines_.append(_style.draw_line(ax, 100 * x, 100 * y, name, look))
            _style.draw_dots(ax, 100 * x, 100 * y, look)
        _style.draw_frame(ax, "rows answered (%)", "accuracy of these (%)", len(self.names))
        ax.update_datalim([(0, 100), (100, 100)])
        ax.autoscale_view()
        ax.set_xlim(0, 100)
        ax.set_ylim(top=100)
