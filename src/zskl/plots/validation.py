"""Scores on validation classes: over the two settings that matter most, against scores on test classes, and both sides
as one setting varies."""

import math
import statistics
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from zskl.experiments.record import Record
from zskl.plots import _style
from zskl.plots._base import Axes, Display, read_required
from zskl.plots._style import QUIET, shorten

SCORINGS = ("zsl", "gzsl")  # in the order in which a record holds them
FIGURES = {"zsl": "zero-shot accuracy", "gzsl": "calibrated H"}
LETTERS = {"sigma": "σ", "bias": "c", "repulsion": "λ"}
SensitivityCurves: TypeAlias = Any  # a record of `zskl paper sensitivity`, whose type is the paper's


def read_grid(record: Record, scoring: str) -> "ValidationGridDisplay | None":
    """None where a record holds no grid, this scoring chose nothing, or no numeric setting varies."""
    table, choice = record.tune.table, getattr(record.tune.choices, scoring)
    if table is None or not table.rows or not table.names or choice is None:
        return None
    names, setting = list(table.names), choice.setting
    rows: Sequence[Sequence[Any]] = table.rows
    score = len(names) + SCORINGS.index(scoring)
    spreads = {}
    for k, name in enumerate(names):
        values = {row[k] for row in rows if _is_number(row[k])}
        if len(values) > 1 and all(_is_number(row[k]) for row in rows):
            best = [_best_score(row[score] for row in rows if row[k] == value) for value in values]
            spreads[name] = np.nanmax(best) - np.nanmin(best) if np.isfinite(best).any() else 0.0
    if not spreads or all(row[score] is None for row in rows):
        return None
    across, up = [*sorted(spreads, key=lambda name: -spreads[name])[:2], ""][:2]
    j, i = names.index(across), names.index(up) if up else None
    columns = sorted({row[j] for row in rows})
    sides: list[Any] = [None] if i is None else sorted({row[i] for row in rows})

    def best_at(x: Any, y: Any) -> float:
        return _best_score(row[score] for row in rows if row[j] == x and (i is None or row[i] == y))

    scores = np.array([[best_at(x, y) for x in columns] for y in sides])
    chosen = None
    if setting.get(across) in columns and (i is None or setting.get(up) in sides):
        chosen = (0 if i is None else sides.index(setting[up]), columns.index(setting[across]))
    return ValidationGridDisplay(scores, sides, columns, settings=(up, across), chosen=chosen)


def _best_score(scores: Iterable[float | None]) -> float:
    return max((score for score in scores if score is not None), default=float("nan"))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class ValidationGridDisplay(Display):
    """Validation scores over two settings as a heat map, the chosen cell framed.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_columns)
        Mean scores over folds, fractions between 0 and 1; NaN where training diverged.
    rows : list
        The values of the setting that varies upwards.
    columns : list
        The values of the setting that varies across.
    settings : (str, str)
        The names of the two settings, upwards and across.
    chosen : (int, int), default=None
        Row and column of the cell that was chosen.

    Examples
    --------
    >>> from zskl.plots import ValidationGridDisplay
    >>> scores = [[0.5, 0.6], [0.4, 0.7]]
    >>> display = ValidationGridDisplay(scores, [1, 10], [0.5, 1.0], settings=("epochs", "sigma"), chosen=(1, 1))
    >>> display.plot().description
    'From 40.0 to 70.0 % over epochs and sigma'
    """

    mesh_: Any

    def __init__(
        self,
        scores: ArrayLike,
        rows: Sequence[Any],
        columns: Sequence[Any],
        *,
        settings: tuple[str, str],
        chosen: tuple[int, int] | None = None,
    ) -> None:
        self.scores = np.asarray(scores, np.float64)
        self.rows, self.columns, self.settings, self.chosen = rows, columns, settings, chosen

    @classmethod
    def from_records(cls, records: Sequence[Record], *, scoring: str = "zsl", ax: "Axes | None" = None) -> Self:
        """Draw the grid of the first record, by the two numeric settings that change the score most.

        Parameters
        ----------
        records : list of record
            Records of `zskl run --tune`. Only the first is drawn.
        scoring : {"zsl", "gzsl"}, default="zsl"
            Which score: zero-shot accuracy, or H at the best constant.
        """
        (grid,) = read_required(records[:1], partial(read_grid, scoring=scoring), "validation grid", "run with --tune")
        return cls(grid.scores, grid.rows, grid.columns, settings=grid.settings, chosen=grid.chosen).plot(ax)

    @property
    def description(self) -> str:
        low, high = 100 * np.nanmin(self.scores), 100 * np.nanmax(self.scores)
        return f"From {low:.1f} to {high:.1f} % over {' and '.join(name for name in self.settings if name)}"

    def _names(self) -> tuple[list[str], list[str]]:
        return ["" if one is None else f"{one:g}" for one in self.rows], [f"{one:g}" for one in self.columns]

    def _height(self) -> float:
        return _style.cells_height(*self._names())

    def _draw(self, ax: Axes) -> None:
        low, high = 100 * np.nanmin(self.scores), 100 * np.nanmax(self.scores)
        span = (low - (high - low) * 0.1, high)
        self.mesh_ = _style.draw_cells(ax, 100 * self.scores, *self._names(), span, chosen=self.chosen)
        ax.set_ylabel(self.settings[0])
        ax.set_xlabel(self.settings[1])


def read_validation_test(record: Record, scoring: str) -> tuple[float, float] | None:
    """The score that chose on validation classes, and the same figure on test classes."""
    choice = getattr(record.tune.choices, scoring)
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
    def from_records(cls, records: Sequence[Record], *, scoring: str = "zsl", ax: "Axes | None" = None) -> Self:
        """Draw a dot for each record, at its setting that was chosen on validation classes.

        Parameters
        ----------
        records : list of record
            Records of `zskl run --tune`.
        scoring : {"zsl", "gzsl"}, default="zsl"
            Which score: zero-shot accuracy, or calibrated H.
        """
        found = read_required(
            records, partial(read_validation_test, scoring=scoring), "validation score", "run with --tune --calibrate"
        )
        by_method: dict[str, list[tuple[float, float]]] = {}
        for record, pair in zip(records, found, strict=True):
            by_method.setdefault(record.method, []).append(pair)
        pairs = [np.array(mine) for mine in by_method.values()]
        sides = [one[:, 0] for one in pairs], [one[:, 1] for one in pairs]
        return cls(*sides, names=list(by_method), figure=FIGURES[scoring]).plot(ax)

    @property
    def description(self) -> str:
        words = []
        for name, x, y in zip(self.names, self.validation, self.test, strict=True):
            known = len(x) > 1 and x.std() > 0 and y.std() > 0
            word = f", correlation {np.corrcoef(x, y)[0, 1]:.2f}" if known else ""
            words.append(f"{name}: {len(x)} dots{word}")
        return "; ".join(words)

    def _height(self) -> float:
        return _style.lines_height(len(self.names)) + 90

    def _draw(self, ax: Axes) -> None:
        looks = _style.line_styles(range(len(self.names)))
        for name, look, x, y in zip(self.names, looks, self.validation, self.test, strict=True):
            options = {"color": look["color"], "markersize": 5, "markeredgewidth": 0, "alpha": 0.6}
            ax.plot(100 * x, 100 * y, "o", label=shorten(name, _style.LEGEND_LETTERS), **options)
        _style.draw_frame(ax, f"{self.figure}, validation (%)", f"{self.figure}, test (%)", len(self.names))
        low = min(ax.get_xlim()[0], ax.get_ylim()[0])
        high = max(ax.get_xlim()[1], ax.get_ylim()[1])
        ax.plot([low, high], [low, high], color=QUIET, linewidth=1, zorder=0)
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)


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
