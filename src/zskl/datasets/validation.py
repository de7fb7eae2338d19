"""Validation folds: pairs of parts inside trainval, so that each one's val classes are unseen by its train rows."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.splits import Splits, class_list
from zskl.signatures import listed

FOLDS = 3
SEED = 0  # part of the definition of the folds, like a file's: two users get the same
Parts = dict[str, NDArray[np.int64]]


def folds(splits: Splits, labels: NDArray[np.int64], wish: str | None = None) -> Parts:
    """Parts fold1_train, fold1_val, ...: those of the class lists beside the splits, else three seeded ones.

    With wish "file" the one of train_loc and val_loc, where the file has them.
    """
    if wish not in (None, "file"):
        raise ValueError(
            f"folds is {wish!r}; expected None (the package's class lists, else three seeded ones) or 'file' "
            "(train_loc and val_loc of att_splits.mat)"
        )
    if wish == "file" and splits.train_loc is not None and splits.val_loc is not None:
        return _from_rows(splits, labels)
    lists = _class_lists(splits.source.parent)
    if lists:
        return _from_lists(splits, labels, lists)
    classes = np.array(splits.class_names)[np.unique(labels[splits.trainval])]
    return _parts(splits, labels, seeded(classes))


def seeded(classes: NDArray[Any]) -> list[tuple[set[Any], set[Any]]]:
    """(train, val) classes of three folds; each class is held out in one of them."""
    order = np.random.default_rng(SEED).permutation(np.sort(classes))
    held = [set(third.tolist()) for third in np.array_split(order, FOLDS)]
    everyone = set(order.tolist())
    return [(everyone - val, val) for val in held if val and len(everyone - val) > 1]


def _class_lists(folder: Path) -> dict[int, tuple[Path, Path]]:
    numbers = [re.fullmatch(r"trainclasses(\d+)\.txt", file.name) for file in folder.iterdir()]
    found = {}
    for number in sorted(int(match[1]) for match in numbers if match):
        train, val = (folder / f"{kind}classes{number}.txt" for kind in ("train", "val"))
        if not val.is_file():
            raise ValueError(f"{train} has no {val.name} beside it; a fold needs both: add the one or remove the other")
        found[number] = (train, val)
    return found


def _from_lists(splits: Splits, labels: NDArray[np.int64], lists: dict[int, tuple[Path, Path]]) -> Parts:
    seen = {splits.class_names[code] for code in np.unique(labels[splits.trainval])}
    pairs = []
    for train, val in lists.values():
        one, other = map(class_list, (train, val))
        for path, classes in ((train, one), (val, other)):
            unknown, unseen = classes - set(splits.class_names), classes & set(splits.class_names) - seen
            if unknown or unseen or not classes:
                fault = (
                    f"classes that {splits.source} does not know: {listed(sorted(unknown))}"
                    if unknown
                    else f"classes without rows in trainval: {listed(sorted(unseen))}"
                    if unseen
                    else "no class"
                )
                raise ValueError(
                    f"{path} lists {fault}; a validation fold is made of seen classes: mend or remove the list"
                )
        if one & other:
            raise ValueError(
                f"{train} and {val} share classes {listed(sorted(one & other))}; a fold must keep them apart"
            )
        pairs.append((one, other))
    return _parts(splits, labels, pairs)


def _parts(splits: Splits, labels: NDArray[np.int64], pairs: list[tuple[set[Any], set[Any]]]) -> Parts:
    mine = np.array(splits.class_names)[labels[splits.trainval]]
    parts = {}
    for number, (train, val) in enumerate(pairs, start=1):
        parts[f"fold{number}_train"] = splits.trainval[np.isin(mine, list(train))]
        parts[f"fold{number}_val"] = splits.trainval[np.isin(mine, list(val))]
    return parts


def _from_rows(splits: Splits, labels: NDArray[np.int64]) -> Parts:
    """Some copies in circulation hold rows of test_seen: what is not in trainval is dropped, and said."""
    assert splits.train_loc is not None
    assert splits.val_loc is not None
    kept, dropped = {}, []
    for field, given in (("train", splits.train_loc), ("val", splits.val_loc)):
        kept[field] = splits.trainval[np.isin(splits.trainval, given)]
        outside = np.setdiff1d(given, splits.trainval)
        if outside.size:
            of_seen = np.isin(outside, splits.test_seen).sum()
            dropped.append(
                f"{len(outside)} of the {len(given)} rows of {field}_loc ({of_seen} of them in test_seen_loc)"
            )
        if not kept[field].size:
            raise ValueError(f"{splits.source}: {field}_loc has no row of trainval_loc; leave out folds='file'")
    both = np.intersect1d(kept["train"], kept["val"])
    if both.size:
        raise ValueError(
            f"{splits.source}: train_loc and val_loc share rows {listed(both)} (counted from 0); leave out folds='file'"
        )
    remarks = [f"dropped {' and '.join(dropped)}, which are not in trainval_loc"] if dropped else []
    shared = np.intersect1d(labels[kept["train"]], labels[kept["val"]])
    if shared.size:
        names = [splits.class_names[code] for code in shared]
        remarks.append(f"train_loc and val_loc share classes {listed(names)}: the fold's val classes are not unseen")
    if remarks:
        warnings.warn(f"{splits.source}: {'; '.join(remarks)}", stacklevel=4)
    return {"fold1_train": kept["train"], "fold1_val": kept["val"]}
