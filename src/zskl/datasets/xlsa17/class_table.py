"""The class signatures of a benchmark: from att_splits.mat, another .mat file or a table."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets import matfile
from zskl.datasets.tables.signature_files import without_identifiers
from zskl.datasets.xlsa17.splits import Splits, by_class
from zskl.parameters import listed
from zskl.signatures import table as tables

NAMES_FILE = "attribute_names.txt"


def class_table(splits: Splits, choice: str | os.PathLike[str] = "att") -> pd.DataFrame:
    """Index = class, in the order of the splits. `choice` is "att", "original_att", or a file: FILE.mat (its variable
    att), FILE.mat:VARIABLE or FILE.csv, in the current folder or beside the splits."""
    text = os.fspath(choice)
    if text in ("att", "original_att"):
        values = splits.att if text == "att" else splits.original_att
        if values is None:
            raise ValueError(f"{splits.source} has no original_att; use signatures='att'")
        return _frame(splits, values, _attribute_names(splits, values.shape[1]), f"{splits.source}: {text}")
    file, _, field = text.rpartition(":") if re.search(r"\.mat:\w+$", text, re.IGNORECASE) else (text, "", "att")
    path = _found(Path(file).expanduser(), splits.source.parent)
    if path.suffix.lower() == ".mat":
        return _from_mat(splits, path, field)
    if path.suffix.lower() == ".csv":
        return _from_csv(splits, path)
    raise ValueError(f"signatures is {text!r}: expected 'att', 'original_att', FILE.mat, FILE.mat:VARIABLE or FILE.csv")


def _found(path: Path, beside: Path) -> Path:
    for file in (path, beside / path):
        if file.is_file():
            return file
    raise ValueError(
        f"signatures names {str(path)!r}, which is not a file here or in {beside}: expected 'att', "
        "'original_att', FILE.mat, FILE.mat:VARIABLE or FILE.csv"
    )


def _attribute_names(splits: Splits, p: int) -> list[str]:
    """The lines of attribute_names.txt beside the splits, without leading numbers; else "attribute 1" and so on."""
    path = splits.source.with_name(NAMES_FILE)
    if not path.is_file():
        return [f"attribute {k}" for k in range(1, p + 1)]
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    numbered = [re.match(r"(\d+)[.:]?\s+(.+)", line) for line in lines]
    if all(match and int(match[1]) == k for k, match in enumerate(numbered, start=1)):
        lines = [match[2] for match in numbered if match]
    if len(lines) != p:
        raise ValueError(f"{path} names {len(lines)} attributes, {splits.source} has {p}; correct or remove the list")
    return lines


def _from_mat(splits: Splits, path: Path, field: str) -> pd.DataFrame:
    """Classes in the order of the splits, unless the file has an allclasses_names of its own."""
    found = matfile.read(path, [field], optional=["allclasses_names"])
    names = found.get("allclasses_names") or splits.class_names
    values = by_class(found[field], len(names), path, field)
    missing = [name for name in splits.class_names if name not in names]
    if missing:
        raise ValueError(f"{path}: allclasses_names lacks {listed(missing)}, which {splits.source} names; add them")
    row_of = {name: row for row, name in enumerate(names)}
    values = values[[row_of[name] for name in splits.class_names]]
    return _frame(splits, values, [f"{field} {k}" for k in range(1, values.shape[1] + 1)], f"{path}: {field}")


def _from_csv(splits: Splits, path: Path) -> pd.DataFrame:
    """One row, or several, per class, named by a column "class" or the only text column. Other classes are dropped."""
    try:
        table = tables.read(pd.read_csv(path, dtype={tables.CLASS_COLUMN: str}))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from None
    missing = [name for name in splits.class_names if name not in table.labels]
    if missing:
        raise ValueError(f"{path} has no row for classes {listed(missing)}, which {splits.source} names; add them")
    mine = table.select(splits.class_names)
    frame = pd.DataFrame(mine.matrix, index=pd.Index(mine.labels, name="class"), columns=list(mine.names or ()))
    return without_identifiers(frame, path)


def _frame(splits: Splits, values: NDArray[np.generic], columns: list[str], where: str) -> pd.DataFrame:
    bad = ~np.isfinite(values)
    if bad.any():
        classes = np.array(splits.class_names)[bad.any(axis=1)]
        raise ValueError(
            f"{where} is NaN or infinite for classes {listed(classes)} in {int(bad.sum())} cells; fill in the values"
        )
    return pd.DataFrame(values, index=pd.Index(splits.class_names, name="class"), columns=columns)
