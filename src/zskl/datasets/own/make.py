"""From a user's files to a dataset folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from zskl.datasets import split_by_class, tables
from zskl.datasets.dataset import Dataset
from zskl.datasets.own import folder
from zskl.datasets.own.new_folder import new_folder
from zskl.datasets.tables import Labels, Source
from zskl.parameters import did_you_mean, listed

PathLike = str | os.PathLike[str]


def make(
    out: PathLike,
    features: PathLike,
    labels: PathLike,
    signatures: PathLike,
    *,
    unseen: Sequence[Any] | None = None,
    unseen_fraction: float = 0.25,
    seed: int = 0,
    name: str | None = None,
    force: bool = False,
) -> Dataset:
    """Write a dataset folder at `out` from files as `zskl.datasets.tables` reads them, and load it.

    `labels` is a column of the features file, or a file; where both files name their rows ("id"), these are matched.
    The `unseen` classes, or else a fraction of the classes drawn with `seed`, have no training rows. Of each other
    class a fifth of the rows is held out, and three folds of classes serve validation. The features are read in blocks
    and go to disk at once; a failure leaves nothing behind.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is {seed!r}: expected a whole number of at least 0")
    out = Path(out)
    for given in (features, signatures, labels):
        if out.resolve() in Path(given).resolve().parents:
            raise ValueError(f"{given} lies in {out}, which is to be written: choose another folder")
    column = _label_column(features, labels)
    table = tables.read_signatures(signatures, column)
    with new_folder(out, force) as place:
        source, found, ids = _store(place / folder.FEATURES, features, labels, column)
        if all(map(tables.is_whole, [*found.names, *table.index])):  # 1.0 in one file is 1 in the other
            found, table = found.plain(), table.set_axis([tables.plain(one) for one in table.index], axis=0)
            unseen = None if unseen is None else [tables.plain(str(one)) for one in unseen]
        classes = list(dict.fromkeys(table.index))
        _check_described(found, classes, features if column else labels, signatures)
        position = pd.Index(classes).get_indexer(pd.Index(found.names))
        codes = position[found.codes]
        sizes = np.bincount(codes, minlength=len(classes))
        hidden = split_by_class.choose_unseen(classes, sizes, unseen, unseen_fraction, seed)
        whole = tables.typed(classes, found.names).dtype.kind == "i"
        data = Dataset(
            name=name or out.resolve().name,
            X=np.load(place / folder.FEATURES, mmap_mode="r", allow_pickle=False),
            y=folder.as_labels(found, whole),
            signatures=table.set_axis([int(one) for one in table.index] if whole else table.index, axis=0),
            parts=split_by_class.divide(codes, hidden, seed),
            source=str(signatures),
            feature_names=source.names,
            checked=True,  # block by block, with the lines to blame
        )
        made = {
            "features": str(features),
            "labels": str(labels),
            "signatures": str(signatures),
            "unseen": None if unseen is None else [str(one) for one in unseen],
            "unseen_fraction": unseen_fraction if unseen is None else None,
            "seed": int(seed),
        }
        folder.write(place, data, made, ids)
        del data  # some systems do not rename a folder with a mapped file in it
    return folder.load(out)


def _label_column(features: PathLike, labels: PathLike) -> str | None:
    """The argument as a column, or array, of the features file, or None if it is a file."""
    known = tables.fields(features)
    if str(labels) in known:
        return str(labels)
    if not Path(labels).exists():
        raise ValueError(
            f"labels is {str(labels)!r}, which is neither a file nor a column of {features}"
            f"{did_you_mean(labels, known)}: its columns are {listed(known) or 'without names'}"
        )
    return None


def _store(
    target: Path, features: PathLike, labels: PathLike, column: str | None
) -> tuple[Source, Labels, list[str] | None]:
    """Copy the features block by block into an .npy file; the labels and the names of its rows."""
    found, label_ids = (Labels(), None) if column else tables.read_labels(labels)
    source = tables.open_features(features, labels=column, rows=None if column else len(found))
    ids: list[str] = []
    rows = 0
    with target.open("wb") as file:
        _write_header(file, 0, source.width)
        for block in source.blocks():
            file.write(block.X.tobytes())
            rows += len(block.X)
            ids += block.ids or []
            if column:
                found.extend(block.labels or [])
        file.seek(0)
        _write_header(file, rows, source.width)
    twice = tables.repeated(ids) if source.named_by is not None else []
    if twice:
        raise ValueError(
            f"{source.path}: in {source.named_by!r}, which names the rows, several have {listed(twice)}: expected each "
            "name once; number the rows anew, or leave that out"
        )
    if ids and label_ids is not None:
        found = tables.aligned(found, label_ids, ids, Path(labels), source.path)
    if len(found) != rows:
        raise ValueError(
            f"{source.path} has {rows} rows and {labels} {len(found)} labels: expected one label per row (a CSV file "
            "starts with a line of column names, a .txt file does not)"
        )
    return source, found, ids or None


def _write_header(file: Any, rows: int, width: int) -> None:
    """NumPy pads the header so that more rows do not make it longer: it can be written again over itself."""
    description = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(file, description)


def _check_described(labels: Labels, classes: Sequence[str], source: PathLike, signatures: PathLike) -> None:
    described = set(classes)
    missing = [name for name in labels.names if name not in described]
    if missing:
        raise ValueError(
            f"{signatures} has no row for the class {listed(missing)}{did_you_mean(missing[0], classes)}, which "
            f"{source} names: describe each class of the labels; those described are {listed(classes)}"
        )
