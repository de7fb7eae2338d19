"""Check that the labels of a feature file and the splits mean the same classes. Labels off by one are caught here."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.xlsa17.features import Features
from zskl.datasets.xlsa17.splits import Splits, class_list
from zskl.parameters import listed

DEPTH = 3  # how many nested folders may form a class name: SUN has church/indoor for church_indoor


def check(splits: Splits, features: Features) -> None:
    """Refuse labels that contradict the splits, the folders of the images or the package's lists of classes."""
    names, labels = np.array(splits.class_names), features.labels
    where = f"{features.source}: labels"
    beyond = np.flatnonzero(labels >= len(names))
    if beyond.size:
        raise ValueError(
            f"{where} holds class numbers up to {labels.max() + 1} (rows {listed(beyond)}, counted from 0), but "
            f"{splits.source} names {len(names)} classes: the labels are shifted, or belong to another dataset"
        )
    absent = np.setdiff1d(np.arange(len(names)), labels)
    if absent.size:
        raise ValueError(
            f"{where} has no row of classes {listed(names[absent])}, which {splits.source} names: the labels are "
            "shifted, or rows are missing"
        )
    _check_rows(splits, len(labels), features.source)
    _check_parts(splits, names, labels, where)
    _check_folders(names, features)
    _check_lists(splits, names, labels, where)


def _check_rows(splits: Splits, n: int, source: Path) -> None:
    for part, rows in splits.parts.items():
        beyond = rows[rows >= n]
        if beyond.size:
            raise ValueError(
                f"{splits.source}: {part}_loc holds {listed(beyond + 1)}, but {source} has {n} rows: the two "
                "files do not belong together, or one is damaged"
            )
    if splits.rows < n:
        warnings.warn(
            f"{splits.source}: {n - splits.rows} of the {n} rows of {source} are in no part and stay unused",
            stacklevel=4,
        )


def _check_parts(splits: Splits, names: NDArray[np.generic], labels: NDArray[np.int64], where: str) -> None:
    trained = np.unique(labels[splits.trainval])
    for part, wrong, fault in (
        ("test_unseen", np.isin(labels[splits.test_unseen], trained), "are in trainval_loc too, yet test_unseen_loc"),
        ("test_seen", ~np.isin(labels[splits.test_seen], trained), "are not in trainval_loc, yet test_seen_loc"),
    ):
        rows = splits.parts[part][wrong]
        if rows.size:
            raise ValueError(
                f"{where} and {splits.source} contradict each other: classes {listed(names[np.unique(labels[rows])])} "
                f"{fault} has {len(rows)} rows of them ({listed(np.sort(rows))}, counted from 0). Labels shifted "
                "by one, or of another order of classes, look like this; use the labels that belong to these splits"
            )


def _check_folders(names: NDArray[np.generic], features: Features) -> None:
    """If the folders of the images are named after most classes, each row must be in the folder of its label."""
    if features.folders is None:
        return
    known = {_key(name): code for code, name in enumerate(names)}
    class_of = {folder: _class_of(folder, known) for folder in set(features.folders)}
    if len(set(class_of.values()) - {-1}) < max(2, len(names) / 2):
        return
    told = np.array([class_of[folder] for folder in features.folders])
    wrong = np.flatnonzero((told >= 0) & (told != features.labels))
    if wrong.size:
        row, label = wrong[0], str(names[features.labels[wrong[0]]])
        raise ValueError(
            f"{features.source}: labels contradicts image_files in {len(wrong)} rows ({listed(wrong)}, counted from "
            f"0): row {row} is in folder {features.folders[row]!r} and is labelled {label!r}; the labels are "
            "shifted, or for another order of classes"
        )


def _class_of(folder: str, known: dict[str, int]) -> int:
    components = folder.split("/")
    for depth in range(DEPTH, 0, -1):
        code = known.get(_key("_".join(components[-depth:])))
        if code is not None:
            return code
    return -1


def _key(name: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", name.lower())


def _check_lists(splits: Splits, names: NDArray[np.generic], labels: NDArray[np.int64], where: str) -> None:
    """Compare with trainvalclasses.txt and testclasses.txt, if the package has them."""
    for file, rows in (("trainvalclasses.txt", splits.trainval), ("testclasses.txt", splits.test_unseen)):
        path = splits.source.with_name(file)
        if not path.is_file():
            continue
        theirs, mine = class_list(path), set(names[np.unique(labels[rows])].tolist())
        if theirs != mine and theirs <= set(splits.class_names):  # a list with other names tells nothing
            more, fewer = (listed(sorted(some)) or "none" for some in (theirs - mine, mine - theirs))
            raise ValueError(
                f"{where} gives {splits.source} other classes than {path} lists: the list alone has {more}, the labels "
                f"alone {fewer}. The labels are shifted, or the list belongs to other splits; then remove it"
            )
