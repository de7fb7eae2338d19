"""A features file for a model whose dataset had holes and words: its rows are prepared as the training rows were."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.tables.cells import is_missing
from zskl.datasets.tables.feature_file import Block, Cells, FeatureFile, Head, Wanted
from zskl.datasets.tables.preparation import Preparation, raw_numbers, texts_of
from zskl.parameters import listed


def open_prepared(head: Head, preparation: Preparation, labels: str | None, rows: int | None) -> FeatureFile:
    """The file, its holes and words turned into numbers as was learned from training rows."""
    file = head.open(Wanted(labels, preparation.names, rows, loose=True))
    return replace(
        file, width=len(preparation.features), names=preparation.features, blocks=lambda: _blocks(file, preparation)
    )


def _blocks(file: FeatureFile, preparation: Preparation) -> Iterator[Block]:
    names, categories = preparation.names, [column.categories for column in preparation.columns]
    new: dict[str, dict[str, None]] = {}
    for cells in file.cells():
        raw = raw_numbers(cells, file.source, file.unit, names, categories)
        _check_whole(file, preparation, cells, raw)
        for k, name in enumerate(names):
            if categories[k] is not None and np.isnan(raw[:, k]).any():
                texts = texts_of(cells.columns[k])
                found = (texts[row] for row in np.flatnonzero(np.isnan(raw[:, k])))
                new.setdefault(name, {}).update(dict.fromkeys(text for text in found if not is_missing(text)))
        yield Block(preparation.apply(raw), cells.ids, cells.labels)
    for name, words in new.items():
        if words:
            warnings.warn(
                f"{file.source}: column {name!r} holds {listed(words)}, which no training row did: it counts as none "
                "of the categories",
                stacklevel=2,
            )


def _check_whole(file: FeatureFile, preparation: Preparation, cells: Cells, raw: NDArray[np.float32]) -> None:
    """Refuse a hole that nothing was learned for."""
    for k, column in enumerate(preparation.columns):
        holes = np.isnan(raw[:, k])
        if column.categories is None and column.fill is None and holes.any():
            raise ValueError(
                f"{file.source}, {file.unit} {cells.where[int(holes.argmax())]}, column {column.name!r}: found "
                "nothing, and the model was fitted on rows without holes: fill it in, or fit it on a dataset made with "
                "--missing mean"
            )
