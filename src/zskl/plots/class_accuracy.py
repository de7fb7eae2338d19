"""Accuracy of each unseen class, worst first."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from zskl import protocols
from zskl.datasets import Dataset
from zskl.experiments.record import Record
from zskl.plots import _style
from zskl.plots._base import Axes, RecordDisplay, read_required
from zskl.protocols import single_class_note

WHAT = "accuracies of single classes"
REMEDY = "run the method again with this version, on data with two unseen classes or more"
MOST = 20  # bars; of more classes the worst and the best halves of that


class ClassAccuracyDisplay(RecordDisplay):
    """Zero-shot accuracy of each unseen class as bars, worst first.

    Of more than 20 classes the ten worst and the ten best are drawn; of several records, say one for each seed, the
    means.

    Parameters
    ----------
    accuracy : dict of str to float
        The accuracy of each class, a fraction between 0 and 1.
    chance : float, default=None
        The accuracy of a guess, drawn as a dashed line. By default one over the number of classes.

    Examples
    --------
    >>> from zskl.plots import ClassAccuracyDisplay
    >>> display = ClassAccuracyDisplay({"ant": 0.5, "bee": 0.25}).plot()
    >>> list(display.accuracy)
    ['bee', 'ant']
    """

    bars_: Any

    def __init__(self, accuracy: Mapping[str, float], *, chance: float | None = None) -> None:
        self.accuracy = dict(sorted(accuracy.items(), key=lambda pair: pair[1]))
        self.chance = 1 / len(accuracy) if chance is None else chance

    @classmethod
    def from_estimator(cls, model: Any, data: Dataset, *, ax: "Axes | None" = None) -> Self:
        """Draw the accuracies of a fitted model on the unseen test rows of a dataset."""
        result = protocols.zsl(model, data)
        if result.alone is not None:
            raise ValueError(f"there is {single_class_note(result.alone)}: expected two unseen classes or more")
        chance = 1 / (len(result.per_class) + len(result.left_out))
        return cls({str(name): value for name, value in result.per_class.items()}, chance=chance).plot(ax)

    @classmethod
    def _read(cls, records: Sequence[Record]) -> Self:
        found: dict[str, list[float]] = {}
        for one in read_required(records, lambda record: record.zsl.per_class or None, WHAT, REMEDY):
            for name, value in one.items():
                found.setdefault(name, []).append(value)
        means = {name: statistics.mean(values) for name, values in found.items()}
        # Candidates without a test row have no bar, but chance depends on them.
        return cls(means, chance=1 / (len(means) + len(records[0].zsl.left_out)))

    @property
    def description(self) -> str:
        (worst, low), *_ = pairs = list(self.accuracy.items())
        best, high = pairs[-1]
        span = f"from {100 * low:.1f} % ({worst}) to {100 * high:.1f} % ({best})"
        return f"{len(pairs)} classes, {span}; chance is {100 * self.chance:.1f} %"

    def _rows(self) -> list[tuple[str, float]]:
        pairs, half = list(self.accuracy.items()), MOST // 2
        if len(pairs) <= MOST:
            return pairs
        return [*pairs[:half], (f"… {len(pairs) - MOST} classes between …", np.nan), *pairs[-half:]]

    def _height(self) -> float:
        return _style.bars_height(len(self._rows()))

    def _draw(self, ax: Axes) -> None:
        names, values = zip(*self._rows(), strict=True)
        self.bars_ = _style.draw_bars(ax, names, 100 * np.array(values), 100 * self.chance)
        ax.set_xlabel("accuracy (%)")
