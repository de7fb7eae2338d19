"""The five benchmarks in the layout of the public xlsa17 package: a folder each, with these files.

::

    res101.mat       features (d, n) single, labels (n, 1) counted from 1, image_files (n, 1) the names of the rows
    att_splits.mat   att and original_att (p, C), allclasses_names (C, 1), and row numbers counted from 1:
                     trainval_loc, test_seen_loc, test_unseen_loc, and of the first fold train_loc and val_loc
    *.txt            allclasses, trainvalclasses, testclasses, trainclasses1…, valclasses1…, attribute_names:
                     a name per line

MATLAB counts from 1. Only `to_zero_based` turns the numbers of a file into numbers that count from 0.
"""

import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._arrays import make_generator
from zskl._files import (
    cache_folder,
    describe_encoding_error,
    file_digest,
    find_leftovers,
    plain_encoding,
    replace_file,
    write_atomically,
)
from zskl._validation import list_values
from zskl.datasets.dataset import REQUIRED_PARTS, Dataset, place_blocks
from zskl.datasets.fetch import SPLITS, Roots, benchmark_folders, check_fetched
from zskl.datasets.split import hold_out_thirds
from zskl.datasets.tables import arrays
from zskl.datasets.tables.descriptions import drop_identifiers
from zskl.datasets.tables.source import TextFile
from zskl.decisions import PARENTS, Hierarchy
from zskl.signatures import table as tables

__all__ = ["BENCHMARKS", "DEFAULT_FEATURES", "Splits", "load", "read_folder", "read_splits"]

BENCHMARKS = {
    "AWA1": "animals, 50 classes, 85 attributes (xlsa17)",
    "AWA2": "animals, 50 classes, 85 attributes, with public images (xlsa17)",
    "SUN": "scenes, 717 classes, 102 attributes (xlsa17)",
    "CUB": "birds, 200 classes, 312 attributes (xlsa17)",
    "APY": "Pascal and Yahoo objects, 32 classes, 64 attributes (xlsa17)",
}
DEFAULT_FEATURES = "res101"  # the ResNet-101 features, which published figures were measured on
PACKAGE_ROWS = {"AWA1": 30475, "AWA2": 37322, "SUN": 14340, "CUB": 11788, "APY": 15339}
PACKAGE_COLUMNS, PACKAGE_NORMS = 2048, (20.0, 50.0)  # mean length of rows: of pooled activations of such a network
SAMPLED = 1000  # rows whose lengths are looked at
SEED = 0  # of the folds; fixed, so that every user gets the same
DEPTH = 3  # how many nested folders may form a class name: SUN has church/indoor for church_indoor
LIMIT = 2**31 - 1  # bytes of one variable in a MATLAB v5 file

# The cache of features
FORMAT = 1
SMALLEST = 1 << 23  # bytes; a smaller file is read about as fast as it is mapped
BLOCK_VALUES = 1 << 22  # converted and checked together: 16 MB
SETTLED = 2_000_000_000  # nanoseconds
ABANDONED = 24 * 3600  # seconds after which nobody writes a temporary file any more

Parts = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Splits:
    """The classes of a benchmark and the published division of its rows; rows and classes count from 0.

    Parameters
    ----------
    source : Path
        The file that this was read from.
    class_names : tuple of str
        The C names, in the order of the labels.
    att : array of shape (C, p)
        The signatures as published.
    original_att : array of shape (C, p) or None
        The signatures before they were normalised, if the file has them.
    trainval : array
        Row numbers of the training part.
    test_seen : array
        Row numbers of the test part with seen classes.
    test_unseen : array
        Row numbers of the test part with unseen classes. No row is in two parts.
    train_loc : array, default=None
        Training rows of one validation fold, if given, as in the file: not always inside trainval.
    val_loc : array, default=None
        Validation rows of that fold.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from zskl.datasets.xlsa17 import Splits
    >>> rows = np.arange(6)
    >>> splits = Splits(Path("att_splits.mat"), ("owl", "cat"), np.eye(2), None, rows[:2], rows[2:3], rows[3:])
    >>> {part: len(numbers) for part, numbers in splits.parts.items()}
    {'trainval': 2, 'test_seen': 1, 'test_unseen': 3}
    """

    source: Path
    class_names: tuple[str, ...]
    att: NDArray[np.float64]
    original_att: NDArray[np.float64] | None
    trainval: NDArray[np.int64]
    test_seen: NDArray[np.int64]
    test_unseen: NDArray[np.int64]
    train_loc: NDArray[np.int64] | None = None
    val_loc: NDArray[np.int64] | None = None

    @property
    def parts(self) -> dict[str, NDArray[np.int64]]:
        """The three parts by name."""
        return {"trainval": self.trainval, "test_seen": self.test_seen, "test_unseen": self.test_unseen}

    @property
    def rows(self) -> int:
        """How many rows the three parts have in all."""
        return sum(map(len, self.parts.values()))


def read_splits(path: str | os.PathLike[str]) -> Splits:
    """Read an att_splits.mat and check it as far as possible without the labels.

    Parameters
    ----------
    path : path-like
        The file, in the format of MATLAB v5 or v7.3.

    Returns
    -------
    Splits
        Classes, signatures and parts.

    Raises
    ------
    ValueError
        If the file is damaged, or parts share rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl import datasets
    >>> with TemporaryDirectory() as folder:
    ...     datasets.xlsa17.write_benchmark(datasets.make_synthetic(), Path(folder))
    ...     splits = datasets.xlsa17.read_splits(Path(folder) / "att_splits.mat")
    >>> splits.rows, splits.att.shape
    (750, (25, 16))
    """
    path = Path(path)
    wanted = ["allclasses_names", "att", *(f"{part}_loc" for part in REQUIRED_PARTS)]
    found = arrays.read_mat(path, wanted, optional=("original_att", "train_loc", "val_loc"))
    names = found["allclasses_names"]
    if not isinstance(names, list) or not names or not all(names):
        raise ValueError(f"{path}: allclasses_names is not a list of class names: expected a cell array of strings")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: allclasses_names repeats {list_values(twice)}; give each class one name of its own")
    parts = {}
    for part in REQUIRED_PARTS:
        rows = parts[part] = to_zero_based(found[f"{part}_loc"], path, f"{part}_loc")
        unique, times = np.unique(rows, return_counts=True)
        if not rows.size:
            raise ValueError(f"{path}: {part}_loc is empty: expected row numbers")
        if len(unique) < len(rows):
            again = list_values(unique[times > 1])
            raise ValueError(f"{path}: {part}_loc repeats rows {again} (counted from 0); name each once")
    for one, other in combinations(REQUIRED_PARTS, 2):
        shared = np.intersect1d(parts[one], parts[other])
        if shared.size:
            where = f"{path}: {one}_loc and {other}_loc"
            raise ValueError(f"{where} share rows {list_values(shared)} (counted from 0); a row belongs to one")
    return Splits(
        path,
        tuple(names),
        _orient_by_class(found["att"], len(names), path, "att"),
        _orient_by_class(found["original_att"], len(names), path, "original_att") if "original_att" in found else None,
        **parts,
        **{name: to_zero_based(found[name], path, name) for name in ("train_loc", "val_loc") if name in found},
    )


def to_zero_based(values: Any, path: Path, field: str) -> NDArray[np.int64]:
    """A vector of numbers counted from 1, as MATLAB does, as integers counted from 0."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" or (array.size and array.size != max(array.shape)):
        raise ValueError(f"{path}: {field} is {array.dtype} of shape {array.shape}: expected a vector of numbers")
    array = array.ravel()
    if array.dtype.kind == "f" and (array != np.floor(array)).any():  # NaN too
        where = np.flatnonzero(array != np.floor(array))
        wrong, at = list_values(array[where]), list_values(where)
        raise ValueError(f"{path}: {field} holds {wrong} at rows {at} (counted from 0): expected whole numbers")
    below = np.flatnonzero(array < 1)
    if below.size:
        found = np.unique(array[below]).astype(np.int64)
        raise ValueError(
            f"{path}: {field} holds {list_values(found)} at rows {list_values(below)} (counted from 0); the file's "
            "numbers count from 1: if they were written counting from 0, add 1 to all of them"
        )
    return array.astype(np.int64) - 1


def _orient_mat_matrix(matrix: Any, n: int, where: str, each: str, beside: str = "") -> NDArray[np.generic]:
    """(n, m) from m × n, the package's layout, or n × m; a square matrix is read in the package's layout."""
    array = np.asarray(matrix)
    if array.dtype.kind not in "iufb" or array.ndim != 2 or n not in array.shape or not array.size:
        found = f"{array.dtype} of shape {array.shape}{beside}"
        raise ValueError(f"{where} is {found}: expected numbers, one column for each {each}")
    return array.T if array.shape[1] == n else array


def _orient_by_class(matrix: Any, classes: int, path: Path, field: str) -> NDArray[np.float64]:
    array = _orient_mat_matrix(matrix, classes, f"{path}: {field}", f"of the {classes} classes")
    return np.ascontiguousarray(array, dtype=np.float64)


def read_class_list(path: Path) -> set[str]:
    return {line.strip() for line in path.read_text(encoding="utf-8").splitlines()} - {""}


@dataclass(frozen=True)
class CachedMatrix:
    """X (n, d) float32 and finite, mapped if it could be kept; and what else the reader gave, as JSON values."""

    X: NDArray[np.float32]
    notes: dict[str, Any]


def load_matrix(source: Path, read: Callable[[Path], tuple[NDArray[np.generic], dict[str, Any]]]) -> CachedMatrix:
    """What `read(source)` gives; a large matrix (n, d) is kept as .npy while size and times, or hash, stay equal."""
    source = source.resolve()
    now = source.stat()
    if now.st_size < SMALLEST:
        return _read_into_memory(source, *read(source))
    path = hashlib.sha256(os.fsencode(source)).hexdigest()[:16]
    folder = cache_folder() / "mapped" / f"{source.parent.name}-{source.stem}-{path}"
    kept = _read_cached(folder, source, now)
    if kept is not None:
        return kept
    matrix, notes = read(source)
    with suppress(OSError):  # no folder, no permission, a full disk
        kept = _write_cache(folder, source, now, matrix, notes)
    return kept or _read_into_memory(source, matrix, notes)


def _read_cached(folder: Path, source: Path, now: os.stat_result) -> CachedMatrix | None:
    """What the cache has for the source as it is now; None if there is nothing, or it is older or damaged."""
    try:
        entry = json.loads((folder / "source.json").read_bytes())
        if entry["format"] != FORMAT or entry["size"] != now.st_size:
            return None
        if not entry["settled"] or entry["times"] != _file_times(now):
            fresh = _describe_source(source, now)
            if fresh is None or fresh["sha256"] != entry["sha256"]:
                return None
            with suppress(OSError):  # if it cannot be written, the source is hashed again next time
                write_atomically(folder / "source.json", json.dumps(entry | fresh).encode())
        X = np.load(folder / entry["matrix"], mmap_mode="r", allow_pickle=False)
        whole = X.dtype == np.float32 and list(X.shape) == entry["shape"]
        return CachedMatrix(X, entry["notes"]) if whole else None
    except (OSError, ValueError, TypeError, KeyError, EOFError):
        return None


def _write_cache(
    folder: Path, source: Path, now: os.stat_result, matrix: NDArray[np.generic], notes: dict[str, Any]
) -> CachedMatrix | None:
    """Two processes may do this at once, because each file is replaced whole, and equal content has equal names."""
    described = _describe_source(source, now)
    if described is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{described['sha256'][:16]}.{FORMAT}.npy"
    with replace_file(target) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": matrix.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in _float_blocks(source, matrix):
            file.write(np.ascontiguousarray(block, dtype="<f4").data)
    entry = {"format": FORMAT, "source": str(source), **described, "matrix": target.name}
    entry |= {"shape": list(matrix.shape), "notes": notes}
    write_atomically(folder / "source.json", json.dumps(entry).encode())
    X = np.load(target, mmap_mode="r", allow_pickle=False)
    with suppress(OSError):  # another process may do the same
        abandoned = [part for part in find_leftovers(folder) if part.stat().st_mtime < time.time() - ABANDONED]
        for old in [*abandoned, *(matrix for matrix in folder.glob("*.npy") if matrix != target)]:
            old.unlink(missing_ok=True)
    return CachedMatrix(X, notes)


def _describe_source(source: Path, now: os.stat_result) -> dict[str, Any] | None:
    """Size, times and checksum; None if the file changes while it is hashed."""
    # Clocks of file systems are coarse: a file that changed just now could change again without a new time.
    settled = time.time_ns() - max(_file_times(now)) > SETTLED
    digest = file_digest(source)
    after = source.stat()
    if _file_times(after) != _file_times(now) or after.st_size != now.st_size:
        return None
    return {"size": now.st_size, "times": _file_times(now), "settled": settled, "sha256": digest}


def _file_times(status: os.stat_result) -> list[int]:
    return [status.st_mtime_ns, status.st_ctime_ns]


def _read_into_memory(source: Path, matrix: NDArray[np.generic], notes: dict[str, Any]) -> CachedMatrix:
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused
        X = np.ascontiguousarray(matrix, dtype=np.float32)
    for _ in _float_blocks(source, X):
        pass  # each block is checked
    return CachedMatrix(X, notes)


def _float_blocks(source: Path, matrix: NDArray[np.generic]) -> Iterator[NDArray[np.float32]]:
    """The rows as float32, in blocks. A value that is not finite as float32 is refused."""
    height = max(1, BLOCK_VALUES // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), height):
        with np.errstate(over="ignore"):
            block = np.asarray(matrix[start : start + height], dtype=np.float32)
        finite = np.isfinite(block)
        if not finite.all():
            rows, columns = np.nonzero(~finite)
            raise ValueError(
                f"{source}: features is NaN or infinite (as float32) in rows {list_values(np.unique(rows) + start)} "
                f"(counted from 0), the first of them in columns {list_values(columns[rows == rows[0]])}; repair the "
                "file"
            )
        yield block


@dataclass(frozen=True, eq=False)
class Features:
    """X (n, d) float32 and finite; labels (n,) class numbers from 0; the folder of each image, where given. `blocks`
    says how many columns each file has, of features that come from several."""

    source: Path
    X: NDArray[np.float32]
    labels: NDArray[np.int64]
    folders: list[str] | None
    blocks: dict[str, int]


BESIDE = "+"  # joins the names of several feature files, or class tables, that stand side by side


def choose_feature_files(folders: Sequence[Path], name: str | None = None) -> list[Path]:
    """The feature files that `name` asks for, "A+B" for two, each from the first folder that has it."""
    files = []
    for one in _split_names("features", name) if name else [None]:
        wanted = f"{one}".removesuffix(".mat").lower() + ".mat"
        there = [folder for folder in folders if one and wanted in (file.name.lower() for file in folder.iterdir())]
        files.append(choose_features((there or folders)[0], one))
    return files


def _split_names(field: str, text: str) -> list[str]:
    """The names in "A+B", each of them once."""
    names = [one.strip() for one in text.split(BESIDE)]
    if not all(names) or len(set(map(str.lower, names))) < len(names):
        raise ValueError(f"{field} is {text!r}: expected NAME, or different names such as A{BESIDE}B")
    return names


def has_published_features(data: Dataset) -> bool | None:
    """Whether features named as the published ones have the shape and norms of the package; None under another name."""
    if data.features != DEFAULT_FEATURES:
        return None
    if data.X.shape != (PACKAGE_ROWS.get(data.name), PACKAGE_COLUMNS):
        return False
    some = np.asarray(data.X[:: max(1, len(data.X) // SAMPLED)], np.float64)
    low, high = PACKAGE_NORMS
    return bool(some.min() >= 0 and low <= np.linalg.norm(some, axis=1).mean() <= high)


def choose_features(folder: Path, name: str | None = None) -> Path:
    """The file `name`.mat of the folder; by default res101.mat, else the only other feature file there."""
    files = sorted(file for file in folder.glob("*.mat") if not file.stem.lower().endswith("_splits"))
    wanted = (name or DEFAULT_FEATURES).removesuffix(".mat")
    for file in files:
        if file.stem.lower() == wanted.lower():
            return file
    if name is None:
        likely = files if len(files) == 1 else [file for file in files if _has_features(file)]
        if len(likely) == 1:
            return likely[0]
        files = likely
    there = ", ".join(file.stem for file in files)
    if there:
        raise ValueError(f"{folder} has no {wanted}.mat: choose with features= (--features) one of {there}")
    raise ValueError(
        f"{folder} has no feature file, neither {wanted}.mat nor another: get the package with zskl data fetch xlsa17, "
        f"or put a file with features and labels beside {SPLITS}"
    )


def read_features(path: Path) -> Features:
    """Features, labels and image folders of a file, from the cache if it holds them."""
    found = load_matrix(path, _read_matrix)
    labels = np.array(found.notes["labels"], dtype=np.int64)
    names, codes = found.notes["folders"], found.notes["folder_codes"]
    folders = [names[code] for code in codes] if names else None
    return Features(path, found.X, labels, folders, {path.stem: found.X.shape[1]})


def read_feature_files(paths: Sequence[Path]) -> Features:
    """The features of several files side by side; refused unless all have the same rows."""
    parts = [read_features(path) for path in paths]
    first = parts[0]
    if len(parts) == 1:
        return first
    for other in parts[1:]:
        same = np.array_equal(first.labels, other.labels)
        # An image of the same class in another place of the file shows in the names of the images alone.
        images = [read_image_names(part.source) for part in (first, other)] if same else []
        # Folders differ from machine to machine.
        images = [[name.rpartition("/")[2] for name in some or ()] for some in images]
        if not same or (all(images) and images[0] != images[1]):
            raise ValueError(
                f"{other.source} has other rows than {first.source} ({len(other.labels)} and {len(first.labels)}, or "
                "in another order): expected the same images in the same order, to put their features side by side"
            )
    blocks = {part.source.stem: part.X.shape[1] for part in parts}
    return Features(first.source, np.hstack([part.X for part in parts]), first.labels, first.folders, blocks)


def read_image_names(path: Path) -> list[str] | None:
    """The file of each row's image, where a file of features names them."""
    images = arrays.read_mat(path, (), optional=("image_files",)).get("image_files")
    return [str(image).replace("\\", "/") for image in images] if isinstance(images, list) else None


def _has_features(path: Path) -> bool:
    with suppress(ValueError, OSError):
        return {"features", "labels"} <= set(arrays.list_variables(path))
    return False


def _read_matrix(path: Path) -> tuple[NDArray[np.generic], dict[str, Any]]:
    """(n, d) features; the labels from 0 and the folders of `image_files`, each once, with each row's number."""
    found = arrays.read_mat(path, ("features", "labels"), optional=("image_files",))
    labels = to_zero_based(found["labels"], path, "labels")
    images = found.get("image_files")
    folders: dict[str, int] = {}
    codes: list[int] = []
    if isinstance(images, list) and len(images) == len(labels):
        parents = [str(image).replace("\\", "/").rpartition("/")[0] for image in images]
        codes = [folders.setdefault(parent, len(folders)) for parent in parents]
    notes = {"labels": labels.tolist(), "folders": list(folders), "folder_codes": codes}
    beside = f" and labels has {len(labels)} values"
    return _orient_mat_matrix(found["features"], len(labels), f"{path}: features", "label", beside), notes


def read_class_tables(
    splits: Splits, choice: str | os.PathLike[str] = "att", others: Sequence[Path] = ()
) -> tuple[pd.DataFrame, dict[str, int] | None]:
    """(C, p) by class, and how many columns each table has where `choice` names several, such as "att+sent"."""
    text = os.fspath(choice)
    if BESIDE not in text or Path(text).is_file():
        return read_class_table(splits, choice, others), None
    names = _split_names("signatures", text)
    found = {name: read_class_table(splits, name, others) for name in names}
    several = [name for name, table in found.items() if table.index.has_duplicates]
    if several:
        raise ValueError(f"signatures is {text!r}: {list_values(several)} has several rows for a class: expected one")
    columns = [column for table in found.values() for column in table.columns]
    if len(set(columns)) < len(columns):
        found = {name: table.add_prefix(f"{Path(name).stem}: ") for name, table in found.items()}
    return pd.concat(list(found.values()), axis=1), {name: table.shape[1] for name, table in found.items()}


def read_class_table(splits: Splits, choice: str | os.PathLike[str], others: Sequence[Path] = ()) -> pd.DataFrame:
    """(C, p) by class. `choice` is "att", "original_att", NAME of NAME_splits.mat, FILE.mat, FILE.mat:VARIABLE or .csv.

    Of a file without a VARIABLE it is att. NAME_splits.mat may lie in one of the `others`, folders of the same rows.
    """
    text = os.fspath(choice)
    written = (choice.encoding, choice.decimal) if isinstance(choice, TextFile) else ()
    if text in ("att", "original_att"):
        values = splits.att if text == "att" else splits.original_att
        if values is None:
            raise ValueError(f"{splits.source} has no original_att; use signatures='att'")
        return _class_frame(splits, values, _attribute_names(splits, values.shape[1]), f"{splits.source}: {text}")
    tables = {file.name: file for one in (*others[::-1], splits.source.parent) for file in one.glob("*_splits.mat")}
    if re.fullmatch(r"\w+", text) and f"{text}_splits.mat" in tables:
        table = _read_mat_table(splits, tables[f"{text}_splits.mat"], "att")
        return table.set_axis([f"{text} {k}" for k in range(1, table.shape[1] + 1)], axis=1)
    file, _, field = text.rpartition(":") if re.search(r"\.mat:\w+$", text, re.IGNORECASE) else (text, "", "att")
    known = list(dict.fromkeys(["att", "original_att", *(name.removesuffix("_splits.mat") for name in sorted(tables))]))
    expected = f"expected {list_values(known)}, FILE.mat, FILE.mat:VARIABLE or FILE.csv"
    given, beside = Path(file).expanduser(), splits.source.parent
    path = next((path for path in (given, beside / given) if path.is_file()), None)
    if path is None:
        raise ValueError(f"signatures names {str(given)!r}, which is not a file here or in {beside}: {expected}")
    if path.suffix.lower() == ".mat":
        return _read_mat_table(splits, path, field)
    if path.suffix.lower() == ".csv":
        return _read_csv_table(splits, TextFile(str(path), *written))
    raise ValueError(f"signatures is {text!r}: {expected}")


def _attribute_names(splits: Splits, p: int) -> list[str]:
    """The lines of attribute_names.txt beside the splits, without leading numbers; else "attribute 1" and so on."""
    path = splits.source.with_name("attribute_names.txt")
    if not path.is_file():
        return [f"attribute {k}" for k in range(1, p + 1)]
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    numbered = [re.match(r"(\d+)[.:]?\s+(.+)", line) for line in lines]
    if all(match and int(match[1]) == k for k, match in enumerate(numbered, start=1)):
        lines = [match[2] for match in numbered if match]
    if len(lines) != p:
        raise ValueError(f"{path} names {len(lines)} attributes, {splits.source} has {p}; correct or remove the list")
    return lines


def _read_mat_table(splits: Splits, path: Path, field: str) -> pd.DataFrame:
    """Classes in the order of the splits, unless the file has an allclasses_names of its own."""
    found = arrays.read_mat(path, [field], optional=["allclasses_names"])
    names = found.get("allclasses_names") or splits.class_names
    values = _orient_by_class(found[field], len(names), path, field)
    absent = [name for name in splits.class_names if name not in names]
    if absent:
        raise ValueError(f"{path}: allclasses_names lacks {list_values(absent)}, which {splits.source} names; add them")
    row_of = {name: row for row, name in enumerate(names)}
    values = values[[row_of[name] for name in splits.class_names]]
    return _class_frame(splits, values, [f"{field} {k}" for k in range(1, values.shape[1] + 1)], f"{path}: {field}")


def _read_csv_table(splits: Splits, path: TextFile) -> pd.DataFrame:
    """One row, or several, per class, named by a column "class" or the only text column. Other classes are dropped."""
    try:
        separator = "," if path.decimal == "." else ";"
        encoding = plain_encoding(path.encoding)
        kinds = {tables.CLASS_COLUMN: str}
        frame = pd.read_csv(path.path, dtype=kinds, encoding=encoding, decimal=path.decimal, sep=separator)
        table = tables.read_table(frame)
    except UnicodeError as error:
        raise ValueError(describe_encoding_error(path, path.encoding, Path(path).read_bytes()[:3], error)) from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from None
    missing = [name for name in splits.class_names if name not in table.labels]
    if missing:
        raise ValueError(f"{path} has no row for classes {list_values(missing)}, which {splits.source} names; add them")
    return drop_identifiers(tables.to_frame(table.select(splits.class_names)), path)


def _class_frame(splits: Splits, values: NDArray[np.generic], columns: list[str], where: str) -> pd.DataFrame:
    bad = ~np.isfinite(values)
    if bad.any():
        classes = list_values(np.array(splits.class_names)[bad.any(axis=1)])
        raise ValueError(f"{where} is NaN or infinite for classes {classes} in {bad.sum()} cells; fill in the values")
    return pd.DataFrame(values, index=pd.Index(splits.class_names, name="class"), columns=columns)


def read_folds(splits: Splits, labels: NDArray[np.int64], choice: str | None = None) -> Parts:
    """fold1_train, fold1_val and so on, of class lists, else three seeded ones; "file": of train_loc and val_loc."""
    if choice not in (None, "file"):
        raise ValueError(
            f"folds is {choice!r}: expected None (the package's class lists, else three seeded ones) or 'file' "
            "(train_loc and val_loc of att_splits.mat)"
        )
    if choice == "file" and splits.train_loc is not None and splits.val_loc is not None:
        return _file_fold(splits, labels)
    mine = labels[splits.trainval]
    classes = np.array(splits.class_names)[np.unique(mine)]
    folds = _listed_folds(splits, set(classes.tolist()))
    if not folds:
        pairs = hold_out_thirds(np.sort(classes), make_generator(SEED))
        # Of fewer than four classes some folds are not left with enough.
        folds = [(set(train.tolist()), set(val.tolist())) for train, val in pairs if len(val) and len(train) > 1]
    parts = {}
    for number, pair in enumerate(folds, start=1):
        for kind, held in zip(("train", "val"), pair, strict=True):
            chosen = np.array([name in held for name in splits.class_names])
            parts[f"fold{number}_{kind}"] = splits.trainval[chosen[mine]]
    return parts


def _listed_folds(splits: Splits, seen: set[str]) -> list[tuple[set[str], set[str]]]:
    """(train, val) classes of trainclassesN.txt and valclassesN.txt; empty, with a warning, if they use other names."""
    pairs, folder = [], splits.source.parent
    matches = [re.fullmatch(r"trainclasses(\d+)\.txt", file.name) for file in folder.iterdir()]
    for number in sorted(int(match[1]) for match in matches if match):
        train, val = (folder / f"{kind}classes{number}.txt" for kind in ("train", "val"))
        if not val.is_file():
            raise ValueError(f"{train} has no {val.name} beside it; a fold needs both: add it, or remove the first")
        one, other = read_class_list(train), read_class_list(val)
        for path, classes in ((train, one), (val, other)):
            unknown = classes - set(splits.class_names)
            if unknown:
                warnings.warn(
                    f"{path} lists classes that {splits.source} does not know: {list_values(sorted(unknown))}; seeded "
                    "folds are used instead",
                    stacklevel=5,
                )
                return []
            if not classes or not classes <= seen:
                strange = list_values(sorted(classes - seen))
                fault = f"classes without rows in trainval: {strange}" if classes else "no class"
                raise ValueError(
                    f"{path} lists {fault}; a validation fold has only seen classes: the labels are shifted, or "
                    "the list belongs to other splits; then remove it"
                )
        both = sorted(one & other)
        if both:
            raise ValueError(f"{train} and {val} share classes {list_values(both)}; a fold must keep them apart")
        pairs.append((one, other))
    return pairs


def _file_fold(splits: Splits, labels: NDArray[np.int64]) -> Parts:
    """The fold of train_loc and val_loc. Some copies have rows of test_seen there, which are dropped with a warning."""
    kept, dropped = {}, []
    for field, given in (("train", splits.train_loc), ("val", splits.val_loc)):
        assert given is not None
        kept[field] = splits.trainval[np.isin(splits.trainval, given)]
        outside = np.setdiff1d(given, splits.trainval)
        if outside.size:
            seen = np.isin(outside, splits.test_seen).sum()
            dropped.append(f"{len(outside)} of the {len(given)} rows of {field}_loc ({seen} of them in test_seen_loc)")
        if not kept[field].size:
            raise ValueError(f"{splits.source}: {field}_loc has no row of trainval_loc; leave out folds='file'")
    both = np.intersect1d(kept["train"], kept["val"])
    if both.size:
        where = f"{splits.source}: train_loc and val_loc"
        raise ValueError(f"{where} share rows {list_values(both)} (counted from 0); leave out folds='file'")
    remarks = [f"dropped {' and '.join(dropped)}, which are not in trainval_loc"] if dropped else []
    shared = np.intersect1d(labels[kept["train"]], labels[kept["val"]])
    if shared.size:
        names = list_values(splits.class_names[code] for code in shared)
        remarks.append(f"train_loc and val_loc share classes {names}: the fold's val classes are not unseen")
    if remarks:
        warnings.warn(f"{splits.source}: {'; '.join(remarks)}", stacklevel=4)
    return {"fold1_train": kept["train"], "fold1_val": kept["val"]}


def check_labels_match(splits: Splits, features: Features) -> None:
    """Refuse labels, such as those off by one, that contradict the splits, the images' folders or the class lists."""
    names, labels = np.array(splits.class_names), features.labels
    where = f"{features.source}: labels"
    beyond = np.flatnonzero(labels >= len(names))
    if beyond.size:
        raise ValueError(
            f"{where} holds class numbers up to {labels.max() + 1} (rows {list_values(beyond)}, counted from 0), but "
            f"{splits.source} names {len(names)} classes: the labels are shifted, or belong to another dataset"
        )
    absent = np.setdiff1d(np.arange(len(names)), labels)
    if absent.size:
        raise ValueError(
            f"{where} has no row of classes {list_values(names[absent])}, which {splits.source} names: the labels are "
            "shifted, or rows are missing"
        )
    n = len(labels)
    for part, rows in splits.parts.items():
        beyond = rows[rows >= n]
        if beyond.size:
            raise ValueError(
                f"{splits.source}: {part}_loc holds {list_values(beyond + 1)}, but {features.source} has {n} rows: the "
                "two files do not belong together, or one is damaged"
            )
    if splits.rows < n:
        unused = f"{n - splits.rows} of the {n} rows of {features.source} are in no part and stay unused"
        warnings.warn(f"{splits.source}: {unused}", stacklevel=3)
    trained = np.unique(labels[splits.trainval])
    for part, wrong, fault in (
        ("test_unseen", np.isin(labels[splits.test_unseen], trained), "are in trainval_loc too, yet test_unseen_loc"),
        ("test_seen", ~np.isin(labels[splits.test_seen], trained), "are not in trainval_loc, yet test_seen_loc"),
    ):
        rows = splits.parts[part][wrong]
        if rows.size:
            raise ValueError(
                f"{where} and {splits.source} contradict each other: classes "
                f"{list_values(names[np.unique(labels[rows])])} {fault} has {len(rows)} rows of them "
                f"({list_values(np.sort(rows))}, counted from 0). Labels shifted by one, or of another order of "
                "classes, look like this; use the labels that belong to these splits"
            )
    _check_folders(names, features)
    for file, rows in (("trainvalclasses.txt", splits.trainval), ("testclasses.txt", splits.test_unseen)):
        path = splits.source.with_name(file)
        if not path.is_file():
            continue
        theirs, mine = read_class_list(path), set(names[np.unique(labels[rows])].tolist())
        if theirs != mine and theirs <= set(splits.class_names):  # a list with other names tells nothing
            more, fewer = (list_values(sorted(some)) or "none" for some in (theirs - mine, mine - theirs))
            raise ValueError(
                f"{where} gives {splits.source} other classes than {path} lists: the list alone has {more}, the labels "
                f"alone {fewer}. The labels are shifted, or the list belongs to other splits; then remove it"
            )


def _check_folders(names: NDArray[np.generic], features: Features) -> None:
    """If the folders of the images are named after most classes, each row must be in the folder of its label."""
    if features.folders is None:
        return
    known = {_name_key(name): code for code, name in enumerate(names)}
    class_of = {}
    for folder in set(features.folders):
        components = folder.split("/")
        keys = [_name_key("_".join(components[-depth:])) for depth in range(DEPTH, 0, -1)]
        class_of[folder] = next((known[key] for key in keys if key in known), -1)
    if len(set(class_of.values()) - {-1}) < max(2, len(names) / 2):
        return
    by_folder = np.array([class_of[folder] for folder in features.folders])
    wrong = np.flatnonzero((by_folder >= 0) & (by_folder != features.labels))
    if wrong.size:
        row, label = wrong[0], str(names[features.labels[wrong[0]]])
        raise ValueError(
            f"{features.source}: labels contradicts image_files in {len(wrong)} rows ({list_values(wrong)}, counted "
            f"from 0): row {row} is in folder {features.folders[row]!r} and is labelled {label!r}; the labels are "
            "shifted, or for another order of classes"
        )


def _name_key(name: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", name.lower())


def load(
    name: str,
    root: Roots | None = None,
    features: str | None = None,
    signatures: str | os.PathLike[str] | None = None,
    folds: str | None = None,
) -> Dataset:
    """Load one of the five benchmarks.

    Parameters
    ----------
    name : str
        "AWA1", "AWA2", "SUN", "CUB" or "APY", in upper or lower case.
    root : path-like or list of these, default=None
        The folder that holds the dataset folders, or the unpacked package, or the folder that the package is in. None
        looks in $ZSKL_DATA, then in the user's cache. Of several, splits and class tables are those of the first that
        has the benchmark.
    features : str, default=None
        The name of the feature file, without ".mat". None takes res101, else the only feature file there. "A+B" puts
        the features of two networks side by side; `Dataset.blocks` says which columns are whose.
    signatures : str or path-like, default=None
        Where the class signatures come from: "att" (the default), "original_att", NAME for NAME_splits.mat such as
        "sent", FILE.mat, FILE.mat:VARIABLE or FILE.csv. "att+sent" puts two tables side by side;
        `Dataset.signature_blocks` says which columns are whose.
    folds : {"file"}, default=None
        Which validation folds to use. None takes the class lists of the package, else three seeded folds. "file" takes
        the fold of train_loc and val_loc.

    Returns
    -------
    Dataset
        The benchmark, with its published parts.

    Raises
    ------
    FileNotFoundError
        If the benchmark is not on this machine.
    ValueError
        If a file is damaged, or if labels and splits contradict each other.

    Examples
    --------
    A small dataset takes the place of the real files here:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl import datasets
    >>> with TemporaryDirectory() as root:
    ...     folder = Path(root) / "CUB"
    ...     folder.mkdir()
    ...     datasets.xlsa17.write_benchmark(datasets.make_synthetic(), folder)
    ...     datasets.xlsa17.load("cub", root)
    Dataset('CUB', 750 rows × 64 features, 20 seen and 5 unseen classes, 16 attributes)
    """
    key = name.upper()
    if key not in BENCHMARKS:
        raise ValueError(f"name is {name!r}: expected one of the benchmarks {', '.join(BENCHMARKS)}")
    first, *others = benchmark_folders(key, root)
    return read_folder(first, key, features, signatures, folds, others)


def read_folder(
    folder: Path,
    name: str,
    features: str | None = None,
    signatures: str | os.PathLike[str] | None = None,
    folds: str | None = None,
    others: Sequence[Path] = (),
) -> Dataset:
    """Load the dataset in any folder of the xlsa17 layout.

    `zskl data make --format xlsa17` writes such folders.

    Parameters
    ----------
    folder : Path
        The folder with att_splits.mat and at least one feature file.
    name : str
        The name that the dataset gets.
    features : str, default=None
        The name of the feature file; see `load`.
    signatures : str or path-like, default=None
        Where the class signatures come from; see `load`.
    folds : {"file"}, default=None
        Which validation folds to use; see `load`.
    others : sequence of Path, default=()
        Further folders of the same rows to look for feature files in.

    Returns
    -------
    Dataset
        The dataset in the folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl import datasets
    >>> with TemporaryDirectory() as folder:
    ...     datasets.xlsa17.write_benchmark(datasets.make_synthetic(), Path(folder))
    ...     datasets.xlsa17.read_folder(Path(folder), "mine").parts["trainval"].shape
    (480,)
    """
    files = choose_feature_files([folder, *others], features)
    check_fetched(folder / SPLITS)
    splits = read_splits(folder / SPLITS)
    table, tables_beside = read_class_tables(splits, signatures if signatures is not None else "att", others)
    found = read_feature_files(files)
    check_labels_match(splits, found)
    if name in ("CUB", "AWA1", "AWA2"):
        table.attrs[PARENTS] = find_families(splits.class_names)._to_json()
    return Dataset(
        name,
        found.X,
        np.array(splits.class_names)[found.labels],
        table,
        splits.parts | read_folds(splits, found.labels, folds),
        source=f"{folder / SPLITS} with {' and '.join(file.name for file in files)}",
        features=BESIDE.join(file.stem for file in files),
        blocks=place_blocks(found.blocks),
        signature_blocks=None if tables_beside is None else place_blocks(tables_beside),
        checked=True,
    )


def find_families(names: Iterable[str]) -> Hierarchy:
    """Families and orders of birds and mammals whose whole name, or its last word, says which they are."""
    known: dict[str, tuple[str | None, ...]] = {}
    for line in Path(__file__).with_name("families.txt").read_text("utf-8").splitlines():
        above, _, below = line.partition(": ")
        known |= {name: (above.split()[1], above.split()[0]) for name in below.split(", ")}
    plain = {name: re.sub(r"^\d+\.|[_+]", lambda found: " " * (len(found[0]) == 1), name).lower() for name in names}
    none: tuple[str | None, ...] = (None, None)
    found = {name: known.get(one, known.get(one.split(" ")[-1], none)) for name, one in plain.items()}
    return Hierarchy(("family", "order"), found)


def is_benchmark_name(name: str) -> bool:
    """Whether `root` and `features` apply to the dataset: it is a benchmark, or a folder in their layout."""
    return name.upper() in BENCHMARKS or (Path(name) / SPLITS).is_file()


def find_folders(name: str, root: Roots | None = None) -> list[Path]:
    return benchmark_folders(name.upper(), root) if name.upper() in BENCHMARKS else [Path(name)]


def write_benchmark(data: Dataset, folder: Path, ids: Sequence[str] | None = None) -> None:
    """Write the files of the xlsa17 layout; `ids` name the rows, signatures are not scaled, labels become text."""
    import scipy.io

    index = data.signatures.index
    if index.has_duplicates:
        raise ValueError(
            f"dataset {data.name!r} has several signatures for class "
            f"{list_values(index[index.duplicated()].unique())}; the xlsa17 format has one per class: average them "
            "first"
        )
    absent = np.setdiff1d(data.class_names, data.y)
    empty = [part for part in REQUIRED_PARTS if not len(data.parts[part])]
    if absent.size or empty:
        found = f"no rows of class {list_values(absent)}" if absent.size else f"no rows in {list_values(empty)}"
        raise ValueError(
            f"dataset {data.name!r} has {found}, but code that reads the xlsa17 format needs them: leave such classes "
            "out, or use the zskl format"
        )
    names = [str(name) for name in data.class_names.tolist()]
    bad = [name for name in [*names, *data.attribute_names] if name != name.strip() or "\n" in name]
    if bad:
        raise ValueError(f"the names {list_values(bad)} start or end with a space or contain a line break: rename them")
    size = data.X.nbytes
    if size > LIMIT:
        raise ValueError(f"the features take {size} bytes, a MATLAB v5 file holds {LIMIT}: use the zskl format")
    files = ids if ids is not None else [f"row{k}" for k in range(len(data.X))]
    features = {"features": data.X.T, "labels": _to_numbers(data.codes), "image_files": _to_cells(files)}
    scipy.io.savemat(folder / "res101.mat", features)
    table = data.signatures.to_numpy(dtype=np.float64).T
    splits = {"att": table, "original_att": table, "allclasses_names": _to_cells(names)}
    fields = {part: f"{part}_loc" for part in REQUIRED_PARTS} | {"fold1_train": "train_loc", "fold1_val": "val_loc"}
    splits |= {field: _to_numbers(data.parts[part]) for part, field in fields.items() if part in data.parts}
    scipy.io.savemat(folder / "att_splits.mat", splits)
    lists: dict[str, Iterable[object]] = {
        "allclasses": names,
        "trainvalclasses": data.seen_classes,
        "testclasses": data.unseen_classes,
        "attribute_names": data.attribute_names,
    }
    for part, rows in data.parts.items():
        if part.startswith("fold"):
            number, side = part.removeprefix("fold").split("_")
            lists[f"{side}classes{number}"] = data.class_names[np.unique(data.codes[rows])]
    for file, lines in lists.items():
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{file}.txt").write_text(text, encoding="utf-8", newline="\n")


def _to_numbers(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """A column of doubles, counted from 1, as MATLAB has them."""
    return (values + 1).astype(np.float64).reshape(-1, 1)


def _to_cells(texts: Sequence[str]) -> NDArray[np.generic]:
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    return cells
