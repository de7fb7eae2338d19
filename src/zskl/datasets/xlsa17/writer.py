"""A dataset in the layout of the xlsa17 package, which most published zero-shot code reads.

    res101.mat       features (d, n) single, labels (n, 1) counted from 1, image_files (n, 1) the names of the rows
    att_splits.mat   att and original_att (p, C), allclasses_names (C, 1), and row numbers counted from 1:
                     trainval_loc, test_seen_loc, test_unseen_loc, and of the first fold train_loc and val_loc
    *.txt            allclasses, trainvalclasses, testclasses, trainclasses1…, valclasses1…,
                     attribute_names: a name per line

The signatures are written as they are, not scaled; class labels become text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.dataset import Dataset
from zskl.datasets.dataset_checks import REQUIRED_PARTS
from zskl.parameters import listed

LIMIT = 2**31 - 1  # bytes of one variable in a MATLAB v5 file


def write(data: Dataset, folder: Path, ids: Sequence[str] | None = None) -> None:
    """Write all files into an existing folder; `ids` name the rows."""
    import scipy.io

    index = data.signatures.index
    if index.has_duplicates:
        raise ValueError(
            f"dataset {data.name!r} has several signatures for class {listed(index[index.duplicated()].unique())}; the "
            "xlsa17 format has one per class: average them first"
        )
    absent = np.setdiff1d(data.class_names, data.y)
    empty = [part for part in REQUIRED_PARTS if not len(data.parts[part])]
    if absent.size or empty:
        found = f"no rows of class {listed(absent)}" if absent.size else f"no rows in {listed(empty)}"
        raise ValueError(
            f"dataset {data.name!r} has {found}, but code that reads the xlsa17 format needs them: leave such classes "
            "out, or use the zskl format"
        )
    names = [str(name) for name in data.class_names.tolist()]
    broken = [name for name in [*names, *data.attribute_names] if name != name.strip() or "\n" in name]
    if broken:
        raise ValueError(f"the names {listed(broken)} start or end with a space or contain a line break: rename them")
    if data.X.nbytes > LIMIT:
        raise ValueError(
            f"the features take {data.X.nbytes} bytes, a MATLAB v5 file holds {LIMIT}: use the zskl format"
        )
    files = ids if ids is not None else [f"row{k}" for k in range(len(data.X))]
    features = {"features": data.X.T, "labels": _column(data.codes + 1), "image_files": _cells(files)}
    scipy.io.savemat(folder / "res101.mat", features)
    table = data.signatures.to_numpy(dtype=np.float64).T
    splits = {"att": table, "original_att": table, "allclasses_names": _cells(names)}
    fields = {part: f"{part}_loc" for part in REQUIRED_PARTS}
    fields |= {"fold1_train": "train_loc", "fold1_val": "val_loc"}
    splits |= {field: _column(data.parts[part] + 1) for part, field in fields.items() if part in data.parts}
    scipy.io.savemat(folder / "att_splits.mat", splits)
    _write_lines(folder / "allclasses.txt", names)
    _write_lines(folder / "trainvalclasses.txt", data.seen_classes)
    _write_lines(folder / "testclasses.txt", data.unseen_classes)
    _write_lines(folder / "attribute_names.txt", data.attribute_names)
    for part, rows in data.parts.items():
        if part.startswith("fold"):
            number, side = part.removeprefix("fold").split("_")
            classes = data.class_names[np.unique(data.codes[rows])]
            _write_lines(folder / f"{side}classes{number}.txt", classes)


def _column(values: NDArray[np.generic]) -> NDArray[np.float64]:
    return values.astype(np.float64).reshape(-1, 1)


def _cells(texts: Sequence[str]) -> NDArray[np.generic]:
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    return cells


def _write_lines(path: Path, names: Iterable[object]) -> None:
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8", newline="\n")
