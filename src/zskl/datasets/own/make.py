"""A user's files → a dataset folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from zskl.datasets import split_by_class, tables
from zskl.datasets.dataset import Dataset
from zskl.datasets.own import folder
from zskl.datasets.own.new_folder import new_folder
from zskl.datasets.tables import FeatureFile, Head, Labels, Wanted
from zskl.parameters import did_you_mean, listed
from zskl.signatures import texts

PathLike = str | os.PathLike[str]


def make(
    out: PathLike,
    features: PathLike,
    labels: PathLike,
    signatures: PathLike,
    *,
    unseen: Sequence[str | int] | None = None,
    unseen_fraction: float = 0.25,
    seed: int = 0,
    name: str | None = None,
    force: bool = False,
) -> Dataset:
    r"""Make a dataset folder from your own files, and load it.

    The features are read in blocks and written at once, so they need not fit into memory. If anything fails, nothing is
    left behind.

    Parameters
    ----------
    out : path-like
        The folder to write.
    features : path-like
        A file with a row per sample: .csv, .tsv, .parquet, .npy, .npz or .mat. A column "id" names the rows.
    labels : path-like
        The class of each row: a column (or array) of the features file, or a file of its own, also .txt with a label
        per line. If both files name their rows, the rows are matched by name.
    signatures : path-like
        A file with one row, or several, per class. The column "class" names the class, the others are its attributes.
    unseen : sequence of labels, default=None
        The classes without training rows. None draws `unseen_fraction` of the classes.
    unseen_fraction : float, default=0.25
        The fraction of the classes to draw as unseen, if `unseen` is None.
    seed : int, default=0
        Seed of all draws: unseen classes, test rows and folds.
    name : str, default=None
        The name of the dataset. None takes the name of the folder.
    force : bool, default=False
        Whether to replace a dataset folder that is there.

    Returns
    -------
    Dataset
        The dataset, with its features mapped from the folder. A fifth of the rows of each seen class is test_seen. Of
        six seen classes or more, there are three validation folds.

    Raises
    ------
    ValueError
        If a file is not as expected; the message gives the line and column, and says what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl import datasets
    >>> with TemporaryDirectory() as here:
    ...     birds, traits = Path(here, "birds.csv"), Path(here, "traits.csv")
    ...     _ = birds.write_text("wing,species\n20,owl\n21,owl\n5,wren\n6,wren\n90,swan\n")
    ...     _ = traits.write_text("class,size,nocturnal\nowl,2,1\nwren,1,0\nswan,3,0\n")
    ...     datasets.make(Path(here, "birds"), birds, "species", traits, unseen=["swan"])
    Dataset('birds', 5 rows × 1 features, 2 seen and 1 unseen classes, 2 attributes)
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is {seed!r}: expected a whole number of at least 0")
    out = Path(out)
    for given in (features, signatures, labels):
        if out.resolve() in Path(given).resolve().parents:
            raise ValueError(f"{given} is inside {out}, the folder to write: choose another folder")
    head = tables.look(features)
    column = tables.label_column(head, features, labels)
    table = tables.read_signatures(signatures, column)
    read = texts.read(signatures)  # if the table was made from texts
    with new_folder(out, force) as temporary:
        file, found, ids = _store(temporary / folder.FEATURES, head, labels, column)
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
            X=np.load(temporary / folder.FEATURES, mmap_mode="r", allow_pickle=False),
            y=folder.as_labels(found, whole),
            signatures=table.set_axis([int(one) for one in table.index] if whole else table.index, axis=0),
            parts=split_by_class.divide(codes, hidden, seed),
            source=str(signatures),
            feature_names=file.names,
            checked=True,  # while it was read, block by block
        )
        made = {
            "features": str(features),
            "labels": str(labels),
            "signatures": str(signatures),
            "unseen": None if unseen is None else [str(one) for one in unseen],
            "unseen_fraction": unseen_fraction if unseen is None else None,
            "seed": int(seed),
            **({"texts": read} if read else {}),
        }
        folder.write(temporary, data, made, ids)
        del data  # some systems cannot rename a folder while a file in it is mapped
    return folder.load(out)


def _store(
    target: Path, head: Head, labels: PathLike, column: str | None
) -> tuple[FeatureFile, Labels, list[str] | None]:
    """Copy the features in blocks into an .npy file; returns the labels and the names of the rows too."""
    found, label_ids = (Labels(), None) if column else tables.read_labels(labels)
    features = head.open(Wanted(labels=column, rows=None if column else len(found)))
    ids: list[str] = []
    rows = 0
    with target.open("wb") as file:
        _write_header(file, 0, features.width)
        for block in features.blocks():
            file.write(block.X.tobytes())
            rows += len(block.X)
            ids += block.ids or []
            if column:
                found.extend(block.labels or [])
        file.seek(0)
        _write_header(file, rows, features.width)
    twice = tables.repeated(ids) if features.named_by is not None else []
    if twice:
        raise ValueError(
            f"{features.path}: {features.named_by!r}, which names the rows, repeats {listed(twice)}: expected each "
            "name once; number the rows, or leave it out"
        )
    found = tables.matched(found, label_ids, Path(labels), features.path, rows, ids)
    return features, found, ids or None


def _write_header(file: BinaryIO, rows: int, width: int) -> None:
    """NumPy pads the header, so more rows do not make it longer, and it can be written again in the same place."""
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
