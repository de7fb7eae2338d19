"""Cosines between the columns of W."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl.experiments import unit
from zskl.experiments.record import Record
from zskl.plots import _style
from zskl.plots._base import Axes, RecordDisplay, read_required

AXIS = "column of W"


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
