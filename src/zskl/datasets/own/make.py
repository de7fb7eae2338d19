"""A user's files → a dataset folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets import split_by_class, tables
from zskl.datasets.dataset import Dataset
from zskl.datasets.own import folder
from zskl.datasets.own.new_folder import new_folder
from zskl.datasets.own.store import Reading, store
from zskl.datasets.tables import Head, Labels
from zskl.parameters import did_you_mean, listed
from zskl.signatures import texts

PathLike = str | os.PathLike[str]
MANY = 5  # rows per class, on average: more than people describe a class by


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
    missing: str | None = None,
    categories: str | None = None,
    keep_columns: Sequence[str] = (),
) -> Dataset:
    r"""Make a dataset folder from your own files, and load it.

    The features are read in blocks and written at once, so they need not fit into memory. If anything fails, nothing is
    left behind.

    Parameters
    ----------
    out : path-like
        The folder to write.
    features : path-like
        A file with a row per sample: .csv, .tsv, .xlsx, .parquet, .npy, .npz or .mat, also .csv.gz and .csv.zst; "-" is
        CSV from standard input. A column "id" names the rows. True is 1 and False 0.
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
    missing : {"mean", "drop"}, default=None
        What to do with an empty cell of the features: fill in the mean of the training rows, or leave the row out. None
        refuses it.
    categories : {"onehot"}, default=None
        What to do with a column of words: make a feature of 0 and 1 for each word that training rows have, such as
        "colour=red". None refuses it.
    keep_columns : sequence of str, default=()
        Columns of features or signatures to keep although they look like identifiers. Others that do, because they
        count the rows, or have such a name (nr, index, code, class_id) and another value in each row, are left out.

    Returns
    -------
    Dataset
        The dataset, with its features mapped from the folder. A fifth of the rows of each seen class is test_seen. Of
        six seen classes or more, there are three validation folds.

    Raises
    ------
    ValueError
        If a file is not as expected; the message gives the line and column, and says what to do.

    Warns
    -----
    UserWarning
        If a column or a row is left out.

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
    split_by_class.check_seed(seed)
    out = Path(out)
    _check_outside(out, features, signatures, labels)
    how = Reading(missing, categories, keep_columns)
    _check_different(features, labels, signatures)
    head = tables.look(features)
    column = tables.label_column(head, features, labels)
    table = tables.read_signatures(signatures, column, keep_columns)
    _check_descriptions(table, head, features, signatures)
    _check_kept(keep_columns, [*head.fields, *table.columns])
    read = texts.read(signatures)  # if the table was made from texts
    with new_folder(out, force) as temporary:
        rows = store(temporary / "raw.npy", head, labels, column, how)
        found, table, unseen = _alike(rows.labels, table, unseen)
        classes = list(dict.fromkeys(table.index))
        _check_described(found, classes, features if column else labels, signatures)
        parts = _divided(found, classes, unseen, float(unseen_fraction), seed)
        names, preparation = rows.finish(temporary / folder.FEATURES, parts["trainval"], fill=missing == "mean")
        whole = tables.typed(classes, found.names).dtype.kind == "i"
        data = Dataset(
            name=name or out.resolve().name,
            X=np.load(temporary / folder.FEATURES, mmap_mode="r", allow_pickle=False),
            y=folder.as_labels(found, whole),
            signatures=table.set_axis([int(one) for one in table.index] if whole else table.index, axis=0),
            parts=parts,
            source=str(signatures),
            feature_names=names,
            backbone=tables.backbone_of(features),
            checked=True,  # while it was read, block by block
        )
        made = {
            "features": str(features),
            "labels": str(labels),
            "signatures": str(signatures),
            "unseen": None if unseen is None else [str(one) for one in unseen],
            "unseen_fraction": unseen_fraction if unseen is None else None,
            "seed": int(seed),
            "missing": missing,
            "categories": categories,
            "keep_columns": list(keep_columns),
            **({"texts": read} if read else {}),
        }
        folder.write(temporary, data, made, rows.ids, preparation)
        del data  # some systems cannot rename a folder while a file in it is mapped
    return folder.load(out)


def _alike(
    labels: Labels, table: pd.DataFrame, unseen: Sequence[str | int] | None
) -> tuple[Labels, pd.DataFrame, Sequence[str | int] | None]:
    """The names of classes, written alike where all are whole numbers: 1.0 in one file is 1 in the other."""
    if not all(map(tables.is_whole, [*labels.names, *table.index])):
        return labels, table, unseen
    plain = table.set_axis([tables.plain(one) for one in table.index], axis=0)
    return labels.plain(), plain, None if unseen is None else [tables.plain(str(one)) for one in unseen]


def _divided(
    labels: Labels, classes: Sequence[str], unseen: Sequence[str | int] | None, fraction: float, seed: int
) -> dict[str, NDArray[np.int64]]:
    """The rows of each part; the unseen classes are those given, or a fraction that is drawn."""
    codes = pd.Index(classes).get_indexer(pd.Index(labels.names))[labels.codes]
    sizes = np.bincount(codes, minlength=len(classes))
    hidden = split_by_class.choose_unseen(classes, sizes, unseen, fraction, seed)
    return split_by_class.divide(codes, hidden, seed)


def _check_outside(out: Path, *files: PathLike) -> None:
    """Refuse to write over what is read."""
    for given in files:
        if out.resolve() in Path(given).resolve().parents:
            raise ValueError(f"{given} is inside {out}, the folder to write: choose another folder")


def _check_different(*given: PathLike) -> None:
    """Refuse the same file, or standard input, for two things."""
    for (one, first), (other, second) in combinations(zip(("features", "labels", "signatures"), given, strict=True), 2):
        piped = str(first) == str(second) == tables.STANDARD_INPUT
        if piped or (other == "signatures" and _is_same_file(first, second)):
            raise ValueError(
                f"{other} is {second}, which is also what {one} is: expected a table of its own, "
                + ("with a row for each class that describes it" if other == "signatures" else "or a column")
            )


def _is_same_file(one: PathLike, other: PathLike) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def _check_descriptions(table: pd.DataFrame, head: Head, features: PathLike, signatures: PathLike) -> None:
    """Refuse another features file in place of the class table."""
    classes = table.index.nunique()
    if set(table.columns) <= set(head.fields) and len(table) >= MANY * classes:
        raise ValueError(
            f"{signatures} has the columns of {features} and {len(table) / classes:.0f} rows per class: expected a "
            "table that describes each class, in one row or a few; if it does, give its columns names of their own"
        )


def _check_kept(keep: Sequence[str], columns: Sequence[str]) -> None:
    unknown = [name for name in keep if name not in columns]
    if unknown:
        raise ValueError(
            f"keep_columns names {listed(unknown)}{did_you_mean(unknown[0], columns)}, which is not a column: expected "
            f"some of {listed(columns)}"
        )


def _check_described(labels: Labels, classes: Sequence[str], source: PathLike, signatures: PathLike) -> None:
    described = set(classes)
    missing = [name for name in labels.names if name not in described]
    if missing:
        raise ValueError(
            f"{signatures} has no row for the class {listed(missing)}{did_you_mean(missing[0], classes)}, which "
            f"{source} names: describe each class of the labels; those described are {listed(classes)}"
        )
