"""The rows of a features file on their way into a dataset folder: copied in blocks, then prepared from training rows.

The first copy holds every column that may be a feature. When it is known which rows train, columns that identify rows
go, holes are filled and categories become columns.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from zskl.datasets import tables
from zskl.datasets.tables import Block, FeatureFile, Head, Labels, Preparation, Wanted
from zskl.datasets.tables.feature_file import rows_per_block
from zskl.datasets.tables.preparation import Column, learned, raw_numbers
from zskl.datasets.tables.survey import Survey, survey
from zskl.parameters import listed, one_of
from zskl.signatures.identifiers import Numbering

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Reading:
    """What to do with holes and with words, and the columns that stay although they look like identifiers."""

    missing: str | None = None
    categories: str | None = None
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.missing is not None:
            one_of("missing", self.missing, ("mean", "drop"))
        if self.categories is not None:
            one_of("categories", self.categories, ("onehot",))

    @property
    def loose(self) -> bool:
        """Whether holes or words are allowed."""
        return self.missing is not None or self.categories is not None


@dataclass(frozen=True)
class Stored:
    """The first copy: numbers, or places in `categories`, of the columns `names` in the .npy file at `path`."""

    path: Path
    source: object
    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...] | None  # None if there may be neither holes nor words
    identifiers: tuple[str, ...]
    labels: Labels
    ids: list[str] | None

    def finish(
        self, target: Path, training: NDArray[np.int64], fill: bool
    ) -> tuple[tuple[str, ...] | None, Preparation | None]:
        """Write the features to `target`; their names, and what has to be done to new rows, if anything has."""
        raw = np.load(self.path, mmap_mode="r", allow_pickle=False)
        names = self.names or tuple(str(k) for k in range(raw.shape[1]))
        if self.categories is None:
            columns = [Column(name) for name in names if name not in self.identifiers]
        else:
            columns, empty = learned(raw, training, names, self.categories, fill, self.names is not None)
            if empty:
                _left_out(self.source, empty, "it is empty in all training rows")
        if not columns:
            raise ValueError(f"{self.source} has no feature column left: its columns were {listed(names)}")
        if self.categories is None and len(columns) == len(names):
            del raw
            os.replace(self.path, target)
            return self.names, None
        chosen = [names.index(column.name) for column in columns]
        preparation = Preparation(tuple(columns))
        with target.open("wb") as file:
            _write_header(file, len(raw), len(preparation.features))
            for start in range(0, len(raw), rows_per_block(raw.shape[1])):
                block = raw[start : start + rows_per_block(raw.shape[1])]
                file.write(np.ascontiguousarray(preparation.apply(self._placed(block[:, chosen], columns))).tobytes())
        del raw, block  # some systems cannot remove a file that is mapped
        self.path.unlink()
        return None if self.names is None else preparation.features, None if self.categories is None else preparation

    def _placed(self, block: NDArray[np.float32], columns: list[Column]) -> NDArray[np.float32]:
        """Places among all words of a column as places among those of training rows; NaN for the others."""
        placed = np.array(block)
        for k, column in enumerate(columns):
            if column.categories is not None and self.names is not None and self.categories is not None:
                words = self.categories[self.names.index(column.name)] or ()
                at = {word: place for place, word in enumerate(column.categories)}
                new = np.array([at.get(word, np.nan) for word in words], dtype=np.float32)
                known = ~np.isnan(placed[:, k])
                placed[known, k] = new[placed[known, k].astype(np.int64)]
        return placed


def store(path: Path, head: Head, labels: PathLike, column: str | None, how: Reading) -> Stored:
    """Copy the rows of a features file into an .npy file at `path`."""
    found, label_ids = (Labels(), None) if column else tables.read_labels(labels)
    file = head.open(Wanted(column, rows=None if column else len(found), loose=how.loose, keep=how.keep))
    seen = survey(file, how.missing, how.categories, how.keep) if how.loose else None
    names = file.names if seen is None or file.names is None else seen.names
    numbering = Numbering(names or ())
    ids: list[str] = []
    rows = written = 0
    width = file.width if seen is None else len(seen.names)
    with path.open("wb") as target:
        _write_header(target, 0, width)
        for block in file.blocks() if seen is None else _raw_blocks(file, seen):
            kept = block.X if seen is None else block.X[seen.rows[rows : rows + len(block.X)]]
            target.write(kept.tobytes())
            rows, written = rows + len(block.X), written + len(kept)
            ids += block.ids or []
            if column:
                found.extend(block.labels or [])
            if seen is None and names:
                numbering.see(block.X)
        target.seek(0)
        _write_header(target, written, width)
    twice = tables.repeated(ids) if file.named_by is not None else []
    if twice:
        raise ValueError(
            f"{file.source}: {file.named_by!r}, which names the rows, repeats {listed(twice)}: expected each "
            "name once; number the rows, or leave it out"
        )
    found = tables.matched(found, label_ids, labels, file.source, rows, ids)
    if written < rows:
        found, ids = _whole_rows(found, ids, seen, file)
    going = file.left_out if seen is None else seen.identifiers
    going += tuple((names or ())[k] for k in numbering.found() if (names or ())[k] not in how.keep)
    if going:
        advice = "if it is a feature, keep it with keep_columns (--keep-column NAME)"
        vectors = names is None  # in one column, which has all features
        why = "another has vectors of features" if vectors else f"it numbers or names the rows; {advice}"
        _left_out(file.source, going, why)
    if seen is not None and seen.empty:
        _left_out(file.source, seen.empty, "it is empty")
    return Stored(path, file.source, names, None if seen is None else seen.categories, going, found, ids or None)


def _raw_blocks(file: FeatureFile, seen: Survey) -> Iterator[Block]:
    for cells in file.cells():
        some = replace(cells, columns=[cells.columns[k] for k in seen.places])
        yield Block(raw_numbers(some, file.source, file.unit, seen.names, seen.categories), cells.ids, cells.labels)


def _whole_rows(labels: Labels, ids: list[str], seen: Survey | None, file: FeatureFile) -> tuple[Labels, list[str]]:
    """Only the rows that lack nothing."""
    assert seen is not None
    rows = np.flatnonzero(seen.rows).tolist()
    if not rows:
        raise ValueError(f"{file.source}: every row lacks a value: expected some that are whole; use missing='mean'")
    warnings.warn(
        f"{file.source}: {len(seen.rows) - len(rows)} of {len(seen.rows)} rows were left out, since they lack a value",
        stacklevel=4,
    )
    return labels.taken(rows), [ids[row] for row in rows] if ids else []


def _left_out(source: object, names: Sequence[str], why: str) -> None:
    warnings.warn(f"{source}: column {listed(names)} was left out, since {why}", stacklevel=4)


def _write_header(file: BinaryIO, rows: int, width: int) -> None:
    """NumPy pads the header, so more rows do not make it longer, and it can be written again in the same place."""
    description = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(file, description)
