"""The rows of the loaded data that are nearest to a row, of each class of its answer: what a class looks like, and how
near it comes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.serve.bodies import Features
from zskl.serve.class_book import Book
from zskl.serve.rows import LoadedRows
from zskl.serve.schemas.predictions import NearestRows, NearRow

MOST = 2000  # rows of a class that are looked at
SAME = 1e-3  # a row this near, as a part of the length, is the one that was asked about


class Neighbours:
    """The loaded rows by class. Distances are Euclidean, between features as the model scales them."""

    def __init__(self, rows: LoadedRows) -> None:
        self._rows = rows

    @cached_property
    def _places(self) -> dict[str, NDArray[np.intp]]:
        """Class → its rows: those with pictures, or all where none has one."""
        rows = self._rows
        order = np.argsort(rows.labels, kind="stable")
        names, starts = np.unique(rows.labels[order], return_index=True)
        found = zip(names.tolist(), np.split(order, starts[1:]), strict=True)
        return {name: mine[rows.pictured[mine]] if rows.pictured[mine].any() else mine for name, mine in found}

    def of(
        self, book: Book, X: Features, classes: Sequence[Sequence[str]], count: int, own: Sequence[int] | None
    ) -> list[list[NearestRows]]:
        """For each row of X (n, d) and each of its `classes`, the `count` nearest loaded rows, nearest first. `own` are
        the numbers of the rows themselves, which are left out; where they are not known, a row with the same features
        is taken for it."""
        scaling = getattr(self._rows.model, "feature_scaling_", None)

        def scaled(rows: NDArray[Any]) -> NDArray[np.float64]:
            plain = np.asarray(rows, np.float64)
            return plain if scaling is None else scaling.apply(plain)

        known: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        for name in {name for one in classes for name in one}:
            places = self._places.get(name, np.empty(0, np.intp))[:MOST]
            known[name] = places, scaled(self._rows.X[places])
        found: list[list[NearestRows]] = []
        for k, (x, names) in enumerate(zip(scaled(X), classes, strict=True)):
            mine = None if own is None else own[k]
            found.append([{"class": name, "rows": self._nearest(book, x, *known[name], count, mine)} for name in names])
        return found

    def _nearest(
        self,
        book: Book,
        x: NDArray[np.float64],
        places: NDArray[np.intp],
        rows: NDArray[np.float64],
        count: int,
        mine: int | None,
    ) -> list[NearRow]:
        distances = np.sqrt(((rows - x) ** 2).sum(axis=1))
        itself = distances <= SAME * np.sqrt((x**2).sum()) if mine is None else places == mine
        order = [k for k in np.argsort(distances, kind="stable").tolist() if not itself[k]][:count]
        return [{**self._rows.card(book, int(places[k])), "distance": float(distances[k])} for k in order]
