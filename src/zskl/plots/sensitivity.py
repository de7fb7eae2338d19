"""Validation and test accuracy against one setting."""

import math
import statistics
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from zskl.plots import _style
from zskl.plots._base import Axes, Display

LETTERS = {"sigma": "σ", "bias": "c", "repulsion": "λ"}
SensitivityCurves: TypeAlias = Any  # a record of `zskl paper sensitivity`, whose type is the paper's


def read_sensitivity(records: Sequence[SensitivityCurves], setting: str) -> pd.DataFrame:
    """Accuracies at each value, fractions; NaN where training diverged from every seed, or of one fold or seed.
    Deviations are over folds for validation, over seeds for test; `diverged` counts seeds."""
    curves = [record.curves[setting] for record in records]
    rows = []
    for place in range(len(curves[0].values)):
        folds = [fold for curve in curves if (fold := curve.validation[place]) is not None]
        tested = [right for curve in curves if (right := curve.test[place]) is not None]
        means = [statistics.mean(fold) for fold in zip(*folds, strict=True)]  # of each fold over seeds
        rows.append([*_mean_and_deviation(means), *_mean_and_deviation(tested), len(records) - len(tested)])
    columns = ["validation", "validation_deviation", "test", "test_deviation", "diverged"]
    return pd.DataFrame(rows, index=list(curves[0].values), columns=columns)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    mean = statistics.mean(values) if values else math.nan
    return mean, statistics.stdev(values) if len(values) > 1 else math.nan


class SensitivityDisplay(Display):
    """Validation and test accuracy as one setting varies, the others fixed; the axis is logarithmic.

    Shades are one standard deviation wide, rings are at the chosen value.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        The values of the setting in rising order, none below 0. A value of 0 stands half a decade before the others.
    validation : array-like of shape (n_values,)
        Accuracy on validation classes, fractions between 0 and 1; NaN where training diverged.
    test : array-like of shape (n_values,)
        Accuracy on test classes.
    setting : str
        The name of the setting.
    validation_deviation : array-like of shape (n_values,), default=None
        Standard deviation of `validation`.
    test_deviation : array-like of shape (n_values,), default=None
        Standard deviation of `test`.
    chosen : float, default=None
        The value that was chosen on validation classes.

    Examples
    --------
    >>> from zskl.plots import SensitivityDisplay
    >>> display = SensitivityDisplay([0.1, 1, 10], [0.3, 0.5, 0.4], [0.2, 0.6, 0.5], setting="sigma", chosen=1).plot()
    >>> display.description
    'validation is highest at 1 with 50.0 %; test is highest at 1 with 60.0 %'
    """

    lines_: list[Any]

    def __init__(
        self,
        values: ArrayLike,
        validation: ArrayLike,
        test: ArrayLike,
        *,
        setting: str,
        validation_deviation: ArrayLike | None = None,
        test_deviation: ArrayLike | None = None,
        chosen: float | None = None,
    ) -> None:
        self.values, self.setting, self.chosen = np.asarray(values, np.float64), setting, chosen
        self.sides = {"validation": np.asarray(validation, np.float64), "test": np.asarray(test, np.float64)}
        self.deviations = {"validation": validation_deviation, "test": test_deviation}

    @classmethod
    def from_records(cls, records: Sequence[SensitivityCurves], *, setting: str, ax: "Axes | None" = None) -> Self:
        """Draw means over the records of all seeds.

        Parameters
        ----------
        records : list of record
            Records of `zskl paper sensitivity` of one dataset and method, one for each seed.
        setting : str
            Which setting of those that were varied.
        """
        return cls._read(records, setting).plot(ax)

    @classmethod
    def _read(cls, records: Sequence[SensitivityCurves], setting: str) -> Self:
        found = read_sensitivity(records, setting)
        sides = {name: found[name].to_numpy(np.float64) for name in found.columns if name != "diverged"}
        return cls(found.index, **sides, setting=setting, chosen=records[0].chosen(setting))

    @property
    def description(self) -> str:
        tops = {name: int(np.nanargmax(side)) for name, side in self.sides.items() if not np.isnan(side).all()}
        return "; ".join(
            f"{name} is highest at {self.values[top]:g} with {100 * self.sides[name][top]:.1f} %"
            for name, top in tops.items()
        )

    def _height(self) -> float:
        return _style.lines_height(2)

    def _draw(self, ax: Axes) -> None:
        least = math.log10(self.values[self.values > 0].min())
        places = np.where(self.values > 0, np.log10(np.where(self.values > 0, self.values, 1.0)), least - 0.5)
        self.lines_ = []
        for (name, side), look in zip(self.sides.items(), _style.line_styles([0, 1]), strict=True):
            known = ~np.isnan(side)
            x, y = places[known], 100 * side[known]
            spread = self.deviations[name]
            spread = None if spread is None else 100 * np.asarray(spread, np.float64)[known]
            self.lines_.append(_style.draw_line(ax, x, y, name, look, spread))
            _style.draw_dots(ax, x, y, look)
            if self.chosen is not None:
                ring = self.values[known] == self.chosen
                _style.draw_dots(ax, x[ring], y[ring], look, 10, hollow=True)
        word = f"{LETTERS[self.setting]} ({self.setting})" if self.setting in LETTERS else self.setting
        _style.draw_frame(ax, f"{word}, logarithmic", "mean per-class accuracy (%)", 2)
        _style.set_tick_names(ax.xaxis, *self._ticks())
        ax.set_xlim(places[0], places[-1])

    def _ticks(self) -> tuple[list[float], list[str]]:
        """Powers of ten, with some multiples where the range is short; and 0 where it was tried."""
        low, high = self.values[self.values > 0].min(), self.values[-1]
        decades = math.log10(high / low)
        times = (1, 2, 5) if decades < 2.2 else (1, 3) if decades < 4.2 else (1,)
        values = [t * 10.0**k for k in range(-6, 7) for t in times]
        shown = [value for value in values if low * 0.999 <= value <= high * 1.001]
        zero = [math.log10(low) - 0.5] if self.values[0] == 0 else []
        return [*zero, *map(math.log10, shown)], [*("0" for _ in zero), *(f"{value:g}" for value in shown)]
