"""The projection W: the objective along the iterations of training, and cosines between its columns."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl.experiments import unit
from zskl.experiments.record import Record
from zskl.plots import _style
from zskl.plots._base import Axes, LinesDisplay, RecordDisplay, display_names, read_required

MANY = 40  # points from which a line is drawn with its running mean
WINDOW = 15  # points of a running mean
AXIS = "column of W"


def read_objective(record: Record) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    found = record.convergence
    return None if found is None else (np.array(found.step, np.float64), np.array(found.objective, np.float64))


class ConvergenceDisplay(LinesDisplay):
    """A quantity along the iterations of training, one line for each model.

    Parameters
    ----------
    steps : list of array-like
        For each line the iterations at which the quantity is known.
    values : list of array-like
        The quantity there.
    names : list of str
        A name for each line.
    deviations : list of array-like or None, default=None
        For each line the standard deviation of its values, drawn as a shade; None draws no shade.
    quantity : str, default="objective of mini-batches"
        What the values are: the name of the vertical axis.
    ranks : list of int, default=None
        What the colours follow. By default the order of the lines.
    relative : bool, default=False
        Draw each line from its highest value, 100, to its lowest, 0: for objectives that are on different scales.

    Examples
    --------
    >>> from zskl.plots import ConvergenceDisplay
    >>> display = ConvergenceDisplay([[10, 20]], [[5.0, 4.0]], names=["mine"]).plot()
    >>> display.description
    'mine from 5 to 4 in 20 steps'
    """

    def __init__(
        self,
        steps: Sequence[ArrayLike],
        values: Sequence[ArrayLike],
        *,
        names: Sequence[str],
        deviations: Sequence[ArrayLike | None] | None = None,
        quantity: str = "objective of mini-batches",
        ranks: Sequence[int] | None = None,
        relative: bool = False,
    ) -> None:
        super().__init__(names, ranks)
        self.steps, self.values = ([np.asarray(one, np.float64) for one in side] for side in (steps, values))
        self.quantity, self.relative = quantity, relative
        self.deviations = deviations or [None] * len(names)

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None, ax: "Axes | None" = None) -> Self:
        """Draw the objective of a fitted kernel classifier along its training.

        Parameters
        ----------
        model : ZeroShotKernelClassifier
            A fitted model.
        """
        found = unit.thin_objective(model.history_.objective)
        return cls([found.step], [found.objective], names=[name or type(model).__name__]).plot(ax)

    @classmethod
    def from_records(
        cls,
        records: Sequence[Record],
        *,
        names: Sequence[str] | None = None,
        ranks: Sequence[int] | None = None,
        relative: bool = False,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw a line for each record.

        Parameters
        ----------
        records : list of record
            Records of `zskl run` with kernel methods.
        relative : bool, default=False
            Whether each line goes from 100 to 0.
        """
        found = read_required(records, read_objective, "course of training", "run a kernel method")
        steps, values = [one[0] for one in found], [one[1] for one in found]
        return cls(steps, values, names=display_names(records, names), ranks=ranks, relative=relative).plot(ax)

    @property
    def description(self) -> str:
        courses = zip(self.names, self.steps, self.values, strict=True)
        return "; ".join(
            f"{name} from {float(line[0]):.3g} to {float(line[-1]):.3g} in {int(steps[-1])} steps"
            for name, steps, line in courses
        )

    def _draw(self, ax: Axes) -> None:
        looks = _style.line_styles(self.ranks)
        values = self.values
        if self.relative:
            values = [100 * (one - one.min()) / (float(np.ptp(one)) or 1.0) for one in values]
        self.lines_ = []
        for steps, line, name, look, spread in zip(self.steps, values, self.names, looks, self.deviations, strict=True):
            if spread is None and len(line) > MANY:  # mini-batches are noisy: the course is that of their running mean
                ax.plot(steps, line, color=look["color"], linewidth=0.8, alpha=0.35)
                window = np.ones(WINDOW)  # around each point; it is shorter at both ends
                line = np.convolve(line, window, "same") / np.convolve(np.ones(len(line)), window, "same")
            self.lines_.append(_style.draw_line(ax, steps, line, name, look, spread))
        quantity = "objective, its own range (%)" if self.relative else self.quantity
        _style.draw_frame(ax, "iterations", quantity, len(self.names))
        ax.set_xlim(left=0)


class GramDisplay(RecordDisplay):
    """Cosines between the first columns of the projection W.

    Blue is positive, orange negative, and deeper is larger. Incoherence makes all cells off the diagonal pale. Of
    several records the first is drawn, which must be of a kernel method.

    Parameters
    ----------
    gram : array-like of shape (n_columns, n_columns)
        WᵀW, each column of W scaled to unit length.
    names : list of str, default=None
        The attribute of each column. By default its number.

    Examples
    --------
    >>> from zskl.plots import GramDisplay
    >>> GramDisplay([[1.0, -0.2], [-0.2, 1.0]]).plot().mean_off_diagonal
    0.2
    """

    mesh_: Any

    def __init__(self, gram: ArrayLike, *, names: Sequence[str] | None = None) -> None:
        self.gram, self.names = np.asarray(gram, np.float64), names

    @classmethod
    def from_estimator(cls, model: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw the matrix of a fitted kernel classifier.

        Parameters
        ----------
        model : ZeroShotKernelClassifier
            A fitted model.
        """
        gram, names = unit.gram_entries(model.projection_), getattr(model, "attribute_names_", None)
        own = None if names is None or len(names) != model.projection_.shape[1] else names[: len(gram)]
        return cls(gram, names=own).plot(ax)

    @classmethod
    def _read(cls, records: Sequence[Record]) -> Self:
        (found,) = read_required(records[:1], lambda record: record.gram or None, "Gram matrix", "run a kernel method")
        return cls(found, names=records[0].gram_names)

    @property
    def mean_off_diagonal(self) -> float:
        """The mean size of the cosines off the diagonal."""
        return float(self._off_diagonal().mean()) if len(self.gram) > 1 else 0.0

    @property
    def description(self) -> str:
        most = self._off_diagonal().max(initial=0.0)
        average = f"{self.mean_off_diagonal:.2f} on average, in size"
        return f"Cosines between columns of W; off the diagonal {most:.2f} at most, and {average}"

    def _off_diagonal(self) -> NDArray[np.float64]:
        return np.abs(self.gram[~np.eye(len(self.gram), dtype=bool)])

    @property
    def columns(self) -> list[str]:
        """The attribute of each column, or its number."""
        numbers = [str(k + 1) for k in range(len(self.gram))]
        return numbers if self.names is None or len(self.names) != len(numbers) else list(self.names)

    def _height(self) -> float:
        return _style.cells_height(self.columns, self.columns)

    def _draw(self, ax: Axes) -> None:
        self.mesh_ = _style.draw_cells(ax, self.gram, self.columns, self.columns, (0.0, 1.0), digits=2)
        if self.columns != list(self.names or ()):  # names say themselves what they are
            ax.set_xlabel(AXIS)
            ax.set_ylabel(AXIS)
