"""A dataset as a folder of plain files, which `zskl data make` writes and every command reads.

manifest.json    what it is, how it was made (from which texts, if any), and the size and checksum of each other file
features.npy     (n, d) float32, memory-mapped when loaded
labels.csv       the class of each row, and the id of the row if it has one
signatures.csv   the class table; numbers as Python writes them, so that they come back exactly
splits.json      part → row numbers, counted from 0
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets.dataset import Dataset
from zskl.datasets.own.free_memory import give_back
from zskl.datasets.tables.label_files import Labels
from zskl.datasets.tables.preparation import Preparation
from zskl.signatures.table import CLASS_COLUMN
from zskl.version import __version__

FORMAT = "zskl-dataset"
VERSION = 1
MANIFEST, FEATURES, LABELS, SIGNATURES, SPLITS = FILES = (
    "manifest.json",
    "features.npy",
    "labels.csv",
    "signatures.csv",
    "splits.json",
)


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """Whether there is a dataset folder at this path."""
    return (Path(path) / MANIFEST).is_file()


def write(
    folder: Path,
    data: Dataset,
    made: Mapping[str, Any],
    ids: Sequence[str] | None = None,
    preparation: Preparation | None = None,
) -> None:
    """Write all files except features.npy, which must be there; `made` tells how the dataset was made.

    `preparation` is what new rows need before they are features like these.
    """
    header = ["id", "label"] if ids is not None else ["label"]
    _write_csv(folder / LABELS, header, zip(ids, data.y, strict=True) if ids is not None else ([one] for one in data.y))
    values = data.signatures.to_numpy(dtype=np.float64).tolist()
    rows = ([label, *map(repr, row)] for label, row in zip(data.signatures.index.tolist(), values, strict=True))
    _write_csv(folder / SIGNATURES, [CLASS_COLUMN, *data.attribute_names], rows)
    (folder / SPLITS).write_text(_json(data.parts) + "\n", encoding="utf-8", newline="\n")
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "name": data.name,
        "rows": len(data.X),
        "features": data.X.shape[1],
        "classes": len(data.class_names),
        "attributes": len(data.attribute_names),
        "seen": data.seen_classes.tolist(),
        "unseen": data.unseen_classes.tolist(),
        "parts": {part: len(rows) for part, rows in data.parts.items()},
        "label_type": "integer" if data.y.dtype.kind in "iu" else "string",
        "feature_names": None if data.feature_names is None else list(data.feature_names),
        "attribute_names": data.attribute_names,
        "preparation": None if preparation is None else preparation.text(),
        "backbone": data.backbone,
        "made": {"by": f"zskl {__version__}", **made},
        "fingerprint": data.fingerprint,
        "files": {name: _size_and_checksum(folder / name) for name in FILES[1:]},
    }
    (folder / MANIFEST).write_text(_json(manifest) + "\n", encoding="utf-8", newline="\n")


def load(path: str | os.PathLike[str]) -> Dataset:
    """The dataset in a folder. A file that changed since it was written is refused by name."""
    folder = Path(path)
    manifest = read_manifest(folder)
    for name, recorded in manifest["files"].items():
        _check_unchanged(folder / name, recorded, whole=name != FEATURES)
    X = np.load(folder / FEATURES, mmap_mode="r", allow_pickle=False)
    if X.shape != (manifest["rows"], manifest["features"]) or X.dtype != np.float32:
        expected = f"({manifest['rows']}, {manifest['features']}) float32"
        raise ValueError(f"{folder / FEATURES} is {X.shape} {X.dtype}, its manifest says {expected}: {_AGAIN}")
    whole = manifest["label_type"] == "integer"
    labels = Labels(cells[-1] for cells in islice(_read_csv(folder / LABELS), 1, None))
    rows = list(_read_csv(folder / SIGNATURES))
    classes = [cells[0] for cells in rows[1:]]
    table = pd.DataFrame(
        np.array([list(map(float, cells[1:])) for cells in rows[1:]]),
        index=pd.Index([int(name) for name in classes] if whole else classes, name=CLASS_COLUMN),
        columns=rows[0][1:],
    )
    parts = json.loads((folder / SPLITS).read_text(encoding="utf-8"))
    names = manifest["feature_names"]
    data = Dataset(
        name=manifest["name"],
        X=X,
        y=as_labels(labels, whole),
        signatures=table,
        parts={part: np.array(rows, dtype=np.int64) for part, rows in parts.items()},
        source=str(folder),
        feature_names=None if names is None else tuple(names),
        backbone=manifest.get("backbone"),  # earlier versions kept none
        checked=True,  # the features were checked when the folder was made
    )
    del labels, parts
    give_back()  # what texts of many rows took, also before they were written: a fit needs the room
    return data


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder. Another kind of manifest, or a newer one, is refused."""
    if not is_dataset(folder):
        what = "has no manifest.json" if folder.is_dir() else "is not a folder"
        raise ValueError(f"{folder} {what}: make a dataset folder with zskl data make")
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        version = manifest["version"] if manifest["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / MANIFEST} is not the manifest of a dataset ({error!r}): {_AGAIN}") from None
    if version is None:
        raise ValueError(f"{folder / MANIFEST} is of format {manifest['format']!r}, expected {FORMAT!r}: {_AGAIN}")
    if version > VERSION:
        raise ValueError(f"{folder / MANIFEST} has version {version}, this zskl reads up to {VERSION}: upgrade zskl")
    lacking = [
        key for key in ("name", "rows", "features", "label_type", "feature_names", "files") if key not in manifest
    ]
    if lacking or set(manifest["files"]) != set(FILES[1:]):
        raise ValueError(f"{folder / MANIFEST} lacks {', '.join(lacking) or 'some of the files'}: {_AGAIN}")
    return dict(manifest)


def check_features(folder: Path) -> None:
    """Compare features.npy with its checksum. `load` does not do this, because the file may be large."""
    _check_unchanged(folder / FEATURES, read_manifest(folder)["files"][FEATURES], whole=True)


def preparation_of(path: str | os.PathLike[str]) -> Preparation | None:
    """What new rows need before they are features like those of a dataset folder; None for anything else."""
    text = read_manifest(Path(path)).get("preparation") if is_dataset(path) else None
    return None if text is None else Preparation.from_text(text)


def row_names(folder: Path) -> list[str] | None:
    """The ids of the rows, if the dataset was made from a file with ids."""
    records = _read_csv(folder / LABELS)
    return [cells[0] for cells in records] if len(next(records)) == 2 else None


def as_labels(labels: Labels, whole: bool) -> NDArray[np.generic]:
    """(n,) integers or strings."""
    names = np.array([int(name) for name in labels.names]) if whole else np.array(labels.names, dtype=np.str_)
    y: NDArray[np.generic] = names[labels.codes]
    return y


_AGAIN = "make the dataset again"


def _json(values: Mapping[str, Any], indent: str = "  ") -> str:
    """JSON for readers: an entry per line, also of inner objects; a list stays on its line."""
    lines = []
    for key, value in values.items():
        value = value.tolist() if isinstance(value, np.ndarray) else value
        text = _json(value, indent + "  ") if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{indent}{json.dumps(key, ensure_ascii=False)}: {text}")
    return "{\n" + ",\n".join(lines) + f"\n{indent[2:]}}}"


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _read_csv(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file)


def _size_and_checksum(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _check_unchanged(path: Path, recorded: Mapping[str, Any], whole: bool) -> None:
    if not path.is_file():
        raise ValueError(f"{path} is missing: put it back, or {_AGAIN}")
    if path.stat().st_size != recorded["bytes"] or (whole and _size_and_checksum(path) != recorded):
        raise ValueError(f"{path} has changed since the dataset was made: put the original back, or {_AGAIN}")
