"""Datasets of your own: made from your files, kept in a folder of plain files that every command reads.

manifest.json    what it is, how it was made (from which texts, if any), and the size and checksum of each other file
features.npy     (n, d) float32, memory-mapped when loaded
labels.csv       the class of each row, and the id of the row if it has one
signatures.csv   the class table; numbers as Python writes them, so that they come back exactly
splits.json      part → row numbers, counted from 0
"""

import csv
import ctypes
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._files import file_digest, replace_folder
from zskl._validation import list_values, suggest
from zskl.datasets import split, tables
from zskl.datasets.dataset import Dataset, place_blocks
from zskl.datasets.tables.features import Block, Head, Wanted, block_rows, find_repeated_features
from zskl.datasets.tables.labels import Labels, is_whole, match_labels, plain_label, to_label_type
from zskl.datasets.tables.preparation import encode_cells, learn_preparation, survey_columns
from zskl.datasets.tables.source import DECIMAL, ENCODING, STANDARD_INPUT, TextFile, list_files
from zskl.decisions import PARENTS
from zskl.signatures.cells import Column, Preparation
from zskl.signatures.table import CLASS_COLUMN, PREPARED, Numbering, check_preparation_options
from zskl.version import __version__

PathLike = str | os.PathLike[str]
EXAMPLES, MOST_TEXTS = 1000, 50_000  # texts that a manifest keeps, of the first so many
MANY = 5  # rows per class, on average: more than people describe a class by
FORMAT = "zskl-dataset"
VERSION = 1
FILES = ("manifest.json", "features.npy", "labels.csv", "signatures.csv", "splits.json")
MANIFEST, FEATURES, LABELS, SIGNATURES, SPLITS = FILES
REPLACEABLE = (MANIFEST, "att_splits.mat")  # a folder with one of these is a dataset, which may be replaced
_AGAIN = "make the dataset again"


def is_dataset(path: str | os.PathLike[str]) -> bool:
    return (Path(path) / MANIFEST).is_file()


def write_folder(
    folder: Path,
    data: Dataset,
    made: Mapping[str, Any],
    ids: Sequence[str] | None = None,
    preparation: Preparation | None = None,
    encoder: Mapping[str, Any] | None = None,
) -> None:
    """Write all but features.npy; `made` tells how it was made, `preparation` or `encoder` what new rows need."""
    header = ["id", "label"] if ids is not None else ["label"]
    _write_csv(folder / LABELS, header, zip(ids, data.y, strict=True) if ids is not None else ([one] for one in data.y))
    values = data.signatures.to_numpy(dtype=np.float64).tolist()
    rows = ([label, *map(repr, row)] for label, row in zip(data.signatures.index.tolist(), values, strict=True))
    _write_csv(folder / SIGNATURES, [CLASS_COLUMN, *data.attribute_names], rows)
    (folder / SPLITS).write_text(_format_json(data.parts) + "\n", encoding="utf-8", newline="\n")
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
        **{name: data.signatures.attrs[name] for name in (PREPARED, PARENTS) if name in data.signatures.attrs},
        "backbone": data.backbone,
        **{
            field: {name: len(columns) for name, columns in blocks.items()}
            for field, blocks in (("blocks", data.blocks or {}), ("signature_blocks", data.signature_blocks or {}))
            if len(blocks) > 1
        },
        **({} if encoder is None else {"encoder": dict(encoder)}),
        "made": {"by": f"zskl {__version__}", **made},
        "fingerprint": data.fingerprint,
        "files": {name: _size_and_checksum(folder / name) for name in FILES[1:]},
    }
    (folder / MANIFEST).write_text(_format_json(manifest) + "\n", encoding="utf-8", newline="\n")


def load_folder(path: str | os.PathLike[str]) -> Dataset:
    """The dataset in a folder. A file that changed since it was written is refused by name."""
    folder = Path(path)
    manifest = read_manifest(folder)
    for name, recorded in manifest["files"].items():
        _check_folder_unchanged(folder / name, recorded, whole=name != FEATURES)
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
    table.attrs |= {name: manifest[name] for name in (PREPARED, PARENTS) if name in manifest}
    parts = json.loads((folder / SPLITS).read_text(encoding="utf-8"))
    names = manifest["feature_names"]
    data = Dataset(
        name=manifest["name"],
        X=X,
        y=parse_labels(labels, whole),
        signatures=table,
        parts={part: np.array(rows, dtype=np.int64) for part, rows in parts.items()},
        source=str(folder),
        feature_names=None if names is None else tuple(names),
        backbone=manifest.get("backbone"),  # earlier versions kept none
        blocks=manifest.get("blocks"),
        signature_blocks=manifest.get("signature_blocks"),
        checked=True,  # the features were checked when the folder was made
    )
    del labels, parts
    # What texts of many rows took, also before they were written: a fit needs the room.
    release_free_memory()
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
    needed = ("name", "rows", "features", "label_type", "feature_names", "files")
    lacking = [key for key in needed if key not in manifest]
    if lacking or set(manifest["files"]) != set(FILES[1:]):
        raise ValueError(f"{folder / MANIFEST} lacks {', '.join(lacking) or 'some of the files'}: {_AGAIN}")
    return dict(manifest)


def check_folder_features(folder: Path) -> None:
    """Compare features.npy with its checksum. `load` does not do this, because the file may be large."""
    _check_folder_unchanged(folder / FEATURES, read_manifest(folder)["files"][FEATURES], whole=True)


def read_preparation(path: str | os.PathLike[str]) -> Preparation | None:
    """What new rows need before they are features like those of a dataset folder; None for anything else."""
    text = read_manifest(Path(path)).get("preparation") if is_dataset(path) else None
    return None if text is None else Preparation.from_text(text)


class TextSource:
    """Rows that are texts: the column that has them, and the encoder that turns them and descriptions into vectors."""

    def __init__(self, encoder: str, template: str | Sequence[str] | None, column: str) -> None:
        self.name, self.template, self.column = encoder, template, column
        from zskl.signatures import sentences

        self._sentences = sentences  # imported where it is needed, with what it imports
        self.encoder = sentences.load_encoder(encoder)
        self._first: list[str] = []  # texts, to take examples from

    def describe(self, given: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The class table, and what it was made from."""
        texts = self._sentences.make_class_texts(given, self.template)
        told = {
            "encoder": self._sentences.encoder_identity(self.name) or self.name,
            "templates": list(texts.templates),
            "texts": {str(label): rows for label, rows in texts.by_class().items()},
        }
        return self._sentences.encode_class_texts(texts, self.encoder), told

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        self._sentences.warn_if_foreign(self.encoder, texts)
        self._first += texts[: MOST_TEXTS - len(self._first)]
        return np.asarray(self._sentences.encode_texts(self.encoder, texts), np.float32)

    def record(self, training: NDArray[np.int64], codes: NDArray[np.int64]) -> dict[str, Any]:
        """What the manifest says: how to encode new rows, and some training rows to show in explanations."""
        some = training[training < len(self._first)]
        chosen = some[self._sentences.choose_examples(codes[some], EXAMPLES)]
        return {
            "encoder": self.name,
            "identity": self._sentences.encoder_identity(self.name),
            "probe": self._sentences.encode_probe(self.encoder).tolist(),
            "template": self.template if self.template is None or isinstance(self.template, str) else [*self.template],
            "column": self.column,
            "example_rows": chosen.tolist(),
            "examples": [self._first[row] for row in chosen.tolist()],
        }


def read_text_source(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """How the texts of a dataset folder were encoded; None for anything else."""
    return read_manifest(Path(path)).get("encoder") if is_dataset(path) else None


def read_row_names(folder: Path) -> list[str] | None:
    """The ids of the rows, if the dataset was made from a file with ids."""
    records = _read_csv(folder / LABELS)
    return [cells[0] for cells in records] if len(next(records)) == 2 else None


def parse_labels(labels: Labels, whole: bool) -> NDArray[np.generic]:
    """(n,) integers or strings."""
    names = np.array([int(name) for name in labels.names]) if whole else np.array(labels.names, dtype=np.str_)
    return names[labels.codes]


def _format_json(values: Mapping[str, Any], indent: str = "  ") -> str:
    """JSON for readers: an entry per line, also of inner objects; a list stays on its line."""
    lines = []
    for key, value in values.items():
        value = value.tolist() if isinstance(value, np.ndarray) else value
        inner = isinstance(value, Mapping)
        text = _format_json(value, indent + "  ") if inner else json.dumps(value, ensure_ascii=False)
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
    return {"bytes": path.stat().st_size, "sha256": file_digest(path)}


def _check_folder_unchanged(path: Path, recorded: Mapping[str, Any], whole: bool) -> None:
    if not path.is_file():
        raise ValueError(f"{path} is missing: put it back, or {_AGAIN}")
    if path.stat().st_size != recorded["bytes"] or (whole and _size_and_checksum(path) != recorded):
        raise ValueError(f"{path} has changed since the dataset was made: put the original back, or {_AGAIN}")


def release_free_memory() -> None:
    """Give back what Linux's C library keeps between blocks in use, and Arrow, through which pandas reads, in pools."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:  # glibc has it, other C libraries do not
        trim(0)
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()


@dataclass(frozen=True)
class RawFeatures:
    """A first copy, of all columns that may be features: numbers, or places in `categories`, in the file at `path`."""

    path: Path
    source: object
    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...] | None  # None if there may be neither holes nor words
    identifiers: tuple[str, ...]
    labels: Labels
    ids: list[str] | None
    parts: Mapping[str, int]  # file → how many of the columns are its own, of several files

    def finish(
        self, target: Path, training: NDArray[np.int64], fill: bool
    ) -> tuple[tuple[str, ...] | None, Preparation | None]:
        """Write the features to `target`; their names, and what has to be done to new rows, if anything has."""
        raw = np.load(self.path, mmap_mode="r", allow_pickle=False)
        names = self.names or tuple(str(k) for k in range(raw.shape[1]))
        if self.categories is None:
            columns = [Column(name) for name in names if name not in self.identifiers]
        else:
            columns, empty = learn_preparation(raw, training, names, self.categories, fill, self.names is not None)
            if empty:
                _warn_left_out(self.source, empty, "it is empty in all training rows")
        if not columns:
            raise ValueError(f"{self.source} has no feature column left: its columns were {list_values(names)}")
        if self.categories is None and len(columns) == len(names):
            del raw
            os.replace(self.path, target)
            return self.names, None
        chosen = [names.index(column.name) for column in columns]
        words = () if self.categories is None else tuple(self.categories[k] for k in chosen)
        preparation = Preparation(tuple(columns))
        with target.open("wb") as file:
            _write_header(file, len(raw), len(preparation.features))
            for start in range(0, len(raw), block_rows(raw.shape[1])):
                block = raw[start : start + block_rows(raw.shape[1])]
                file.write(preparation.apply(block[:, chosen], words).tobytes())
        # Some systems cannot remove a file that is mapped.
        del raw, block
        self.path.unlink()
        return None if self.names is None else preparation.features, None if self.categories is None else preparation


def _copy_features(
    path: Path,
    head: Head,
    labels: PathLike,
    column: str | None,
    missing: str | None,
    categories: str | None,
    keep: Sequence[str],
) -> RawFeatures:
    loose = missing is not None or categories is not None
    found, label_ids, _ = (Labels(), None, False) if column else tables.read_labels(labels)
    file = head.open(Wanted(column, rows=None if column else len(found), loose=loose, keep=keep))
    survey = survey_columns(file, missing, categories, keep) if loose else None
    names = file.names if survey is None or file.names is None else survey.names
    numbering = Numbering(names or ())
    ids: list[str] = []
    rows, written, source = 0, 0, file.source
    width = file.width if survey is None else len(survey.names)
    with path.open("wb") as target:
        _write_header(target, 0, width)
        for part in file.blocks() if survey is None else file.cells():
            if isinstance(part, Block):
                X, n = part.X, len(part.X)
                if names:
                    numbering.update(X)
            elif survey is not None:
                n = len(part.where)
                some = replace(part, columns=[part.columns[k] for k in survey.places])
                X = encode_cells(file, some, survey.names, survey.categories)[survey.rows[rows : rows + n]]
            target.write(X.tobytes())
            rows, written = rows + n, written + len(X)
            ids += part.ids or []
            if column:
                found.extend(part.labels or [])
        target.seek(0)
        _write_header(target, written, width)
    twice = find_repeated_features(ids) if file.named_by is not None else []
    if twice:
        raise ValueError(
            f"{source}: {file.named_by!r}, which names the rows, repeats {list_values(twice)}: expected each "
            "name once; number the rows, or leave it out"
        )
    found = match_labels(found, label_ids, labels, source, rows, ids)
    if survey is not None and written < rows:
        if not written:
            raise ValueError(f"{source}: every row lacks a value: expected some that are whole; use missing='mean'")
        warnings.warn(f"{source}: {rows - written} of {rows} rows were left out, since they lack a value", stacklevel=3)
        whole = np.flatnonzero(survey.rows).tolist()
        found, ids = found.select(whole), [ids[row] for row in whole] if ids else []
    left_out = file.left_out if survey is None else survey.identifiers
    left_out += tuple((names or ())[k] for k in numbering.find() if (names or ())[k] not in keep)
    if left_out:
        advice = "if it is a feature, keep it with keep_columns (--keep-column NAME)"
        vectors = names is None  # in one column, which has all features
        why = "another has vectors of features" if vectors else f"it numbers or names the rows; {advice}"
        _warn_left_out(source, left_out, why)
    if survey is not None and survey.empty:
        _warn_left_out(source, survey.empty, "it is empty")
    kinds = None if survey is None else survey.categories
    kept = {
        name: sum((names or [""] * width)[k] not in left_out for k in columns)
        for name, columns in place_blocks(file.parts).items()
    }
    return RawFeatures(path, source, names, kinds, left_out, found, ids or None, kept)


def _warn_left_out(source: object, names: Sequence[str], why: str) -> None:
    warnings.warn(f"{source}: column {list_values(names)} was left out, since {why}", stacklevel=4)


def _write_header(file: BinaryIO, rows: int, width: int) -> None:
    """NumPy pads the header, so more rows do not make it longer, and it can be written again in the same place."""
    description = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(file, description)


@contextmanager
def open_new_folder(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `path` if nothing fails. `force` replaces a dataset, and nothing else."""
    path = Path(path)
    there = path.exists() or path.is_symlink()
    if there and not force:
        raise ValueError(f"{path} is there already: choose another folder, or replace it with force=True (--force)")
    ours = path.is_dir() and not path.is_symlink()
    ours = ours and (not any(path.iterdir()) or any((path / name).is_file() for name in REPLACEABLE))
    if there and not ours:
        advice = "choose another folder, or remove it"
        raise ValueError(f"{path} is not a dataset folder, so force does not replace it: {advice}")
    with replace_folder(path, new=not force) as temporary:
        yield temporary


def make(
    out: PathLike,
    features: PathLike | Sequence[PathLike],
    labels: PathLike,
    signatures: PathLike | Sequence[PathLike],
    *,
    unseen: Sequence[str | int] | None = None,
    unseen_fraction: float = 0.25,
    seed: int = 0,
    name: str | None = None,
    force: bool = False,
    missing: str | None = None,
    categories: str | None = None,
    keep_columns: Sequence[str] = (),
    encoding: str = ENCODING,
    decimal: str = DECIMAL,
    text_column: str | None = None,
    encoder: str = "minilm",
    template: str | Sequence[str] | None = None,
    parents: Sequence[str] = (),
) -> Dataset:
    r"""Make a dataset folder from your own files, and load it.

    The features are read in blocks and written at once, so they need not fit into memory. If anything fails, nothing is
    left behind.

    Parameters
    ----------
    out : path-like
        The folder to write.
    features : path-like or list of path-like
        A file with a row per sample: .csv, .tsv, .xlsx, .parquet, .npy, .npz or .mat, also .csv.gz and .csv.zst; "-" is
        CSV from standard input. A column "id" names the rows. True is 1 and False 0. Several files, such as the
        features of two networks, stand side by side: `Dataset.blocks` says which columns are whose.
    labels : path-like
        The class of each row: a column (or array) of the features file, or a file of its own, also .txt with a label
        per line. If both files name their rows, the rows are matched by name.
    signatures : path-like or list of path-like
        A file with one row, or several, per class. The column "class" names the class, the others are its attributes.
        Several tables of the same classes stand side by side, see `Dataset.signature_blocks`.
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
        refuses it. In the class table the mean is that of the column.
    categories : {"onehot"}, default=None
        What to do with a column of words: make a feature of 0 and 1 for each word that training rows have, such as
        "colour=red", or that the class table has. None refuses it.
    keep_columns : sequence of str, default=()
        Columns of features or signatures to keep although they look like identifiers. Others that do, because they
        count the rows, or have such a name (nr, index, code, class_id) and another value in each row, are left out.
    encoding : str, default="utf-8"
        How CSV and text files are encoded. Spreadsheets in Western Europe often write "cp1252".
    decimal : {".", ","}, default="."
        How fractions are written in CSV files: 1.5 or 1,5. With commas, semicolons or tabs separate the cells.
    text_column : str, default=None
        The column of `features` that holds texts, for rows that are texts: an encoder turns them into features. The
        file `signatures` then names each class and describes it by a sentence, see `zskl.signatures.read_names`. The
        dataset remembers the encoder, so that a model fitted on it takes texts, too.
    encoder : str, default="minilm"
        What encodes texts and descriptions, see `zskl.signatures.sentence_vectors`.
    template : str or list of str, default=None
        Text around each description, such as "a question about {}".
    parents : sequence of str, default=()
        Columns of the class table that name a parent of each class, such as its genus and family, the nearest first.
        They are no attributes; a model that is fitted and calibrated on the dataset knows them.

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
    from zskl.signatures.sentences import read_texts
    from zskl.signatures.words import read_names

    split.check_seed(seed)
    out = Path(out)
    features, labels, signatures = (
        TextFile(_join_paths(given), encoding, decimal) for given in (features, labels, signatures)
    )
    _check_folder_paths(out, features, labels, signatures)
    check_preparation_options(missing, categories)
    head = tables.read_header(features)
    column = tables.label_column(head, features, labels)
    source, table_widths = None, dict[str, int]()
    if parents and text_column is not None:
        raise ValueError("parents are columns of a table of signatures: leave them out where rows are texts")
    if text_column is None:
        table, table_widths = tables.read_class_tables(
            signatures,
            label_column=column,
            keep=keep_columns,
            missing=missing,
            categories=categories,
            parents=parents,
        )
        _check_folder_columns(table, head, keep_columns, features, signatures)
        # If a table was made from texts.
        texts = next(filter(None, map(read_texts, list_files(signatures))), None)
    else:
        if missing is not None or categories is not None:
            raise ValueError("missing and categories are for tables of numbers: leave them out where rows are texts")
        source = TextSource(encoder, template, tables.find_text_column(features, head, text_column, column))
        table, texts = source.describe(read_names(signatures, encoding))
        head = tables.encode_texts_of(head, source.column, source.encode, table.shape[1])
    with open_new_folder(out, force) as temporary:
        files = list_files(features)
        numbers = len(files) > 1 and all(str(one).lower().endswith(tables.ARRAYS) for one in files)
        how = (None, None) if numbers else (missing, categories)
        rows = _copy_features(temporary / "raw.npy", head, labels, column, *how, keep_columns)
        found = rows.labels
        if all(map(is_whole, [*found.names, *table.index])):  # 1.0 in one file is 1 in the other
            found, table = found.plain(), table.set_axis([plain_label(one) for one in table.index], axis=0)
            unseen = None if unseen is None else [plain_label(str(one)) for one in unseen]
        classes = list(dict.fromkeys(table.index))
        codes = pd.Index(classes).get_indexer(pd.Index(found.names))
        missing_classes = [name for name, code in zip(found.names, codes, strict=True) if code < 0]
        if missing_classes:
            raise ValueError(
                f"{signatures} has no row for the class {list_values(missing_classes)}"
                f"{suggest(missing_classes[0], classes)}, which {features if column else labels} names: describe each "
                f"class of the labels; those described are {list_values(classes)}"
            )
        codes = codes[found.codes]
        sizes = np.bincount(codes, minlength=len(classes))
        hidden = split.choose_unseen(classes, sizes, unseen, float(unseen_fraction), seed)
        parts = split.divide_rows(codes, hidden, seed)
        names, preparation = rows.finish(temporary / FEATURES, parts["trainval"], fill=missing == "mean")
        whole = to_label_type(classes, found.names).dtype.kind == "i"
        network, blocks = tables.find_networks(features, rows.parts)
        data = Dataset(
            name=name or out.resolve().name,
            X=np.load(temporary / FEATURES, mmap_mode="r", allow_pickle=False),
            y=parse_labels(found, whole),
            signatures=table.set_axis([int(one) for one in table.index] if whole else table.index, axis=0),
            parts=parts,
            source=str(signatures),
            feature_names=names,
            backbone=network,
            blocks=place_blocks(blocks),
            signature_blocks=place_blocks(table_widths),
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
            **({} if encoding == ENCODING else {"encoding": encoding}),
            **({} if decimal == DECIMAL else {"decimal": decimal}),
            **({"texts": texts} if texts else {}),
            **({"parents": list(parents)} if parents else {}),
        }
        recorded = None if source is None else source.record(parts["trainval"], codes)
        write_folder(temporary, data, made, rows.ids, preparation, recorded)
        # Some systems cannot rename a folder while a file in it is mapped.
        del data
    return load_folder(out)


def _join_paths(given: PathLike | Sequence[PathLike]) -> str:
    """A path, or A+B of several."""
    paths = [os.fspath(one) for one in ([given] if isinstance(given, str | os.PathLike) else given)]
    joined = "+".join(paths)
    if len(paths) > 1 and len(list_files(joined)) < len(paths):
        for path in paths:
            if not Path(path).is_file():
                raise ValueError(f"no file at {path}: check the path")
            if "+" in path:
                raise ValueError(f"{path} has a + in its path, which stands between files here: rename it")
    return joined


def _check_folder_paths(out: Path, features: PathLike, labels: PathLike, signatures: PathLike) -> None:
    """Refuse to write over what is read, and the same file, or standard input, for two things."""
    for given in [one for path in (features, signatures, labels) for one in list_files(path)]:
        if out.resolve() in Path(given).resolve().parents:
            raise ValueError(f"{given} is inside {out}, the folder to write: choose another folder")
    named = {"features": features, "labels": labels, "signatures": signatures}
    for (one, first), (other, second) in combinations(named.items(), 2):
        piped = str(first) == str(second) == STANDARD_INPUT
        same = Path(first).exists() and Path(second).exists() and Path(first).samefile(second)
        if piped or (other == "signatures" and same):
            raise ValueError(
                f"{other} is {second}, which is also what {one} is: expected a table of its own, "
                + ("with a row for each class that describes it" if other == "signatures" else "or a column")
            )


def _check_folder_columns(
    table: pd.DataFrame, head: Head, keep: Sequence[str], features: PathLike, signatures: PathLike
) -> None:
    """Refuse another features file in place of the class table, and columns to keep that are in neither."""
    classes = table.index.nunique()
    if set(table.columns) <= set(head.fields) and len(table) >= MANY * classes:
        raise ValueError(
            f"{signatures} has the columns of {features} and {len(table) / classes:.0f} rows per class: expected a "
            "table that describes each class, in one row or a few; if it does, give its columns names of their own"
        )
    prepared = table.attrs.get(PREPARED)
    columns = [*head.fields, *(table.columns if prepared is None else Preparation.from_text(prepared).names)]
    unknown = [name for name in keep if name not in columns]
    if unknown:
        raise ValueError(
            f"keep_columns names {list_values(unknown)}{suggest(unknown[0], columns)}, which is not a column: expected "
            f"some of {list_values(columns)}"
        )
