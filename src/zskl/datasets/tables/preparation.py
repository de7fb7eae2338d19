"""How columns with holes and words become features: means in place of holes, a column of 0 and 1 for each category.

All of it is learned from training rows and kept, so that new rows become features in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.tables.cells import numbers_in, refusal
from zskl.datasets.tables.feature_file import Cells, rows_per_block


@dataclass(frozen=True)
class Column:
    """A column of numbers, whose holes become `fill` (None: there may be none), or one of these `categories`."""

    name: str
    fill: float | None = None
    categories: tuple[str, ...] | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that it becomes."""
        return (self.name,) if self.categories is None else tuple(f"{self.name}={word}" for word in self.categories)

    def filled(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n,) → (n, features). A category is its place in `categories`; none of them is NaN, and becomes zeros."""
        if self.categories is not None:
            places = np.arange(len(self.categories), dtype=np.float32)
            return np.equal(raw[:, None], places).astype(np.float32)
        return raw[:, None] if self.fill is None else np.where(np.isnan(raw), np.float32(self.fill), raw)[:, None]


@dataclass(frozen=True)
class Preparation:
    """The columns that are read, in this order, and what becomes of each."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        return tuple(column.name for column in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(name for column in self.columns for name in column.features)

    def apply(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        """What `raw_numbers` gives (n, columns) → features (n, d)."""
        return np.hstack([column.filled(raw[:, k]) for k, column in enumerate(self.columns)])

    def text(self) -> str:
        """As JSON, for a manifest or a model file."""
        return json.dumps([asdict(column) for column in self.columns], ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Preparation:
        """Twin of `text`; what is not one is refused."""
        try:
            columns = tuple(
                Column(
                    str(one["name"]),
                    None if one["fill"] is None else float(one["fill"]),
                    None if one["categories"] is None else tuple(map(str, one["categories"])),
                )
                for one in json.loads(text)
            )
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"the preparation of features is damaged ({error!r}): make it again") from None
        return cls(columns)


def raw_numbers(
    cells: Cells, source: object, unit: str, names: Sequence[str], categories: Sequence[tuple[str, ...] | None]
) -> NDArray[np.float32]:
    """(n, columns) a number, or the place of a category, for each cell; NaN for a hole or another category.

    A cell of a column of numbers that says something else is refused.
    """
    raw = np.empty((len(cells.where), len(names)), dtype=np.float32)
    for k, (name, column, words) in enumerate(zip(names, cells.columns, categories, strict=True)):
        if words is not None:
            places = {word: place for place, word in enumerate(words)}
            raw[:, k] = [places.get(text, np.nan) for text in texts_of(column)]
            continue
        values, other = (column, list[int]()) if isinstance(column, np.ndarray) else numbers_in(column)
        other = other or np.flatnonzero(np.abs(values) > np.finfo(np.float32).max).tolist()
        if other:
            raise refusal(f"{source}, {unit} {cells.where[other[0]]}, column {name!r}", str(column[other[0]]))
        raw[:, k] = values
    return raw


def texts_of(column: Sequence[str] | NDArray[np.float64]) -> list[str]:
    """The cells of a column as texts, without spaces around them; whole numbers without a point."""
    if isinstance(column, np.ndarray):
        return ["" if value != value else f"{value:.17g}" for value in column.tolist()]
    return [cell.strip() for cell in column]


def learned(
    raw: NDArray[np.float32],
    rows: NDArray[np.int64],
    names: Sequence[str],
    categories: Sequence[tuple[str, ...] | None],
    fill: bool,
    droppable: bool,
) -> tuple[list[Column], list[str]]:
    """What to do with each column of `raw` (n, columns), from its training `rows` alone; and columns empty there.

    These are left out where they are `droppable`; in a matrix without names they become 0.
    """
    sums, counts = np.zeros(len(names)), np.zeros(len(names), dtype=np.int64)
    places: list[set[float]] = [set() for _ in names]
    height = rows_per_block(raw.shape[1])
    for start in range(0, len(rows), height):
        block = np.asarray(raw[rows[start : start + height]], dtype=np.float64)
        known = ~np.isnan(block)
        sums += np.where(known, block, 0.0).sum(axis=0)
        counts += known.sum(axis=0)
        for k, words in enumerate(categories):
            if words is not None:
                places[k].update(np.unique(block[known[:, k], k]).tolist())
    columns, empty = [], []
    for k, (name, words) in enumerate(zip(names, categories, strict=True)):
        if not counts[k] and droppable:
            empty.append(name)
        elif words is not None:
            columns.append(Column(name, None, tuple(words[int(place)] for place in sorted(places[k]))))
        else:
            columns.append(Column(name, float(sums[k] / max(counts[k], 1)) if fill or not counts[k] else None))
    return columns, empty
