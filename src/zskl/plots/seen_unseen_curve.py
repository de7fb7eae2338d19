"""Accuracy of seen classes against that of unseen ones, as the constant subtracted from seen scores grows."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl import protocols
from zskl.datasets import Dataset
from zskl.experiments.record import Generalised, Record
from zskl.plots import _style
from zskl.plots._base import Axes, LinesDisplay, display_names, read_required

Point = tuple[float, float]  # accuracy of unseen, of seen classes
Path = tuple[NDArray[np.float64], NDArray[np.float64]]


def read_curve(record: Record) -> tuple[Path, Point | None, Point | None, Path | None] | None:
    """Curve, plain and calibrated point, and the curve of the calibrated model where that is another one."""
    plain, after = record.gzsl, record.gzsl_calibrated or Generalised()
    curves = (plain.curve, after.curve)
    path, other = (None if one is None else (np.asarray(one.unseen), np.asarray(one.seen)) for one in curves)
    if path is None:
        return None
    same = other is None or all(np.array_equal(mine, theirs) for mine, theirs in zip(path, other, strict=True))
    return path, _curve_point(plain), _curve_point(after), None if same else other


def _curve_point(part: Generalised | protocols.Result) -> Point | None:
    return None if part.unseen is None or part.seen is None else (part.unseen, part.seen)


class SeenUnseenCurveDisplay(LinesDisplay):
    """Accuracy of seen against unseen classes, one curve for each model.

    A constant is subtracted from the scores of seen classes. As it grows, unseen classes are answered more often: the
    curve goes from upper left to lower right. A ring marks the plain predictions, a dot those at the constant that
    validation chose.

    Parameters
    ----------
    unseen : list of array-like
        Mean per-class accuracies of unseen classes along each curve, fractions between 0 and 1.
    seen : list of array-like
        The same of seen classes.
    names : list of str
        A name for each curve.
    plain : list of (float, float) or None, default=None
        Unseen and seen accuracy of plain predictions, for each curve; None leaves the ring out.
    calibrated : list of (float, float) or None, default=None
        The same at the chosen constant, drawn as a dot.
    calibrated_curves : list of (array-like, array-like) or None, default=None
        Unseen and seen accuracies of the calibrated model where it is another model. Drawn as a thin line.
    ranks : list of int, default=None
        What the colours follow. By default the order of the curves.

    Examples
    --------
    >>> from zskl.plots import SeenUnseenCurveDisplay
    >>> display = SeenUnseenCurveDisplay([[0.0, 0.4, 0.5]], [[0.7, 0.5, 0.0]], names=["mine"]).plot()
    >>> display.ax_.get_ylabel()
    'accuracy of unseen classes (%)'
    """

    def __init__(
        self,
        unseen: Sequence[ArrayLike],
        seen: Sequence[ArrayLike],
        *,
        names: Sequence[str],
        plain: Sequence[Point | None] | None = None,
        calibrated: Sequence[Point | None] | None = None,
        calibrated_curves: Sequence[tuple[ArrayLike, ArrayLike] | None] | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:
        super().__init__(names, ranks)
        self.unseen, self.seen = ([np.asarray(one, np.float64) for one in side] for side in (unseen, seen))
        self.plain = plain or [None] * len(names)
        self.calibrated = calibrated or [None] * len(names)
        self.calibrated_curves = calibrated_curves or [None] * len(names)

    @classmethod
    def from_estimator(cls, model: Any, data: Dataset, *, name: str | None = None, ax: "Axes | None" = None) -> Self:
        """Draw the curve of a fitted model on the test rows of a dataset."""
        result = protocols.gzsl(model, data)
        assert result.curve is not None
        chosen = getattr(model, "calibration_", 0.0)
        calibrated = [_curve_point(protocols.gzsl(model, data, "model"))] if chosen else None
        curve, names = result.curve, [name or type(model).__name__]
        made = cls([curve.unseen], [curve.seen], names=names, plain=[_curve_point(result)], calibrated=calibrated)
        return made.plot(ax)

    @classmethod
    def from_records(
        cls,
        records: Sequence[Record],
        *,
        names: Sequence[str] | None = None,
        ranks: Sequence[int] | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the curves that records hold, one for each record."""
        found = read_required(records, read_curve, "seen–unseen curve", "run the method again with this version")
        paths, plain, calibrated, others = zip(*found, strict=True)
        unseen, seen = zip(*paths, strict=True)
        names = display_names(records, names)
        points = {"plain": plain, "calibrated": calibrated, "calibrated_curves": others}
        return cls(unseen, seen, names=names, ranks=ranks, **points).plot(ax)

    @property
    def description(self) -> str:
        words = []
        for name, *points in zip(self.names, self.plain, self.calibrated, strict=True):
            places = [
                f"{word} {100 * point[0]:.1f} and {100 * point[1]:.1f} %"
                for word, point in zip(("plain", "calibrated"), points, strict=True)
                if point is not None
            ]
            words.append(f"{name}, unseen and seen accuracy: {', '.join(places)}")
        return ". ".join(words)

    def _draw(self, ax: Axes) -> None:
        looks = _style.line_styles(self.ranks)
        self.lines_ = [
            _style.draw_line(ax, 100 * x, 100 * y, name, look)
            for x, y, name, look in zip(self.seen, self.unseen, self.names, looks, strict=True)
        ]
        for look, other in zip(looks, self.calibrated_curves, strict=True):
            if other is not None:
                y, x = (100 * np.asarray(side) for side in other)
                ax.plot(x, y, **look | {"linewidth": 1, "alpha": 0.7})
        for points, hollow in ((self.plain, True), (self.calibrated, False)):
            for look, point in zip(looks, points, strict=True):
                if point is not None:
                    _style.draw_dots(ax, [100 * point[1]], [100 * point[0]], look, 10 if hollow else 8, hollow)
        _style.draw_frame(ax, "accuracy of seen classes (%)", "accuracy of unseen classes (%)", len(self.names))
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
