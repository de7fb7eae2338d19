"""Validation folds: pairs of parts inside trainval, so that each one's val classes are unseen by its train rows."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.datasets.xlsa17.splits import Splits, class_list
from zskl.parameters import listed

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
    classes = np.array(splits.class_names)[np.unique(labels[splits.trainval])]
    return _parts(splits, labels, _listed(splits, set(classes.tolist())) or seeded(classes))


def seeded(classes: NDArray[Any]) -> list[tuple[set[Any], set[Any]]]:
    """(train, val) classes of three folds; each class is held out in one of them."""
    order = generator(SEED).permutation(np.sort(classes))
    held = [set(third.tolist()) for third in np.array_split(order, FOLDS)]
    everyone = set(order.tolist())
    return [(everyone - val, val) for val in held if val and len(everyone - val) > 1]


def _listed(splits: Splits, seen: set[str]) -> list[tuple[set[str], set[str]]]:
    """(train, val) classes of trainclassesN.txt and valclassesN.txt; none, with a warning, if they use other names."""
    pairs = []
    for train, val in _files(splits.source.parent):
        one, other = class_list(train), class_list(val)
        for path, classes in ((train, one), (val, other)):
            unknown = classes - set(splits.class_names)
            if unknown:
                warnings.warn(
                    f"{path} lists classes that {splits.source} does not know: {listed(sorted(unknown))}; seeded folds "
                    "take the place of the lists",
                    stacklevel=5,
                )
                return []
            if not classes or not classes <= seen:
                fault = f"classes without rows in trainval: {listed(sorted(classes - seen))}" if classes else "no class"
                raise ValueError(
                    f"{path} lists {fault}; a validation fold is made of seen classes: the labels are shifted, or "
                    "the list is of other splits; then remove it"
                )
        if one & other:
            raise ValueError(
                f"{train} and {val} share classes {listed(sorted(one & other))}; a fold must keep them apart"
            )
        pairs.append((one, other))
    return pairs


def _files(folder: Path) -> list[tuple[Path, Path]]:
    numbers = [re.fullmatch(r"trainclasses(\d+)\.txt", file.name) for file in folder.iterdir()]
    found = []
    for number in sorted(int(match[1]) for match in numbers if match):
        train, val = (folder / f"{kind}classes{number}.txt" for kind in ("train", "val"))
        if not val.is_file():
            raise ValueError(f"{train} has no {val.name} beside it; a fold needs both: add the one or remove the other")
        found.append((train, val))
    return found


def _parts(splits: Splits, labels: NDArray[np.int64], pairs: list[tuple[set[Any], set[Any]]]) -> Parts:
    mine, parts = labels[splits.trainval], {}
    for number, pair in enumerate(pairs, start=1):
        for kind, classes in zip(("train", "val"), pair, strict=True):
            chosen = np.array([name in classes for name in splits.class_names])
            parts[f"fold{number}_{kind}"] = splits.trainval[chosen[mine]]
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
