"""Scores on validation classes: over the two settings that matter most, and against scores on test classes."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from zskl.experiments.record import Record
from zskl.plots import _style
from zskl.plots._base import Axes, Display, read_required
from zskl.plots._style import QUIET, shorten

SCORINGS = ("zsl", "gzsl")  # in the order in which a record holds them
FIGURES = {"zsl": "zero-shot accuracy", "gzsl": "calibrated H"}


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
