"""A user's own files → features, labels and class descriptions. An error gives the line and column of what is wrong.

features     .csv .tsv .xlsx .parquet .npy .npz .mat    a row per sample; a column called "id" names the rows
labels       a column of the features file, or a file: also .txt (a label per line)
signatures   .csv .tsv .xlsx .parquet .npz .mat         one row, or several, per class; the column "class" names it

Features in Parquet may be one column of vectors. Text may be compressed (.csv.gz, .csv.zst), and "-" is CSV from
standard input. A `TextFile` in place of a path says that its text is not UTF-8, or has decimal commas.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._validation import list_values, suggest
from zskl.datasets.tables import arrays, descriptions, parquet, text
from zskl.datasets.tables.features import ID_COLUMN, Block, FeatureFile, Head, Wanted, find_repeated_features
from zskl.datasets.tables.labels import Labels, read_label_file
from zskl.datasets.tables.preparation import prepared_blocks
from zskl.datasets.tables.source import STANDARD_INPUT, find_table_source, list_files, name_files
from zskl.decisions import PARENTS
from zskl.signatures.cells import Column, Preparation, hint_semicolons
from zskl.signatures.table import PREPARED, normalise_name

TEXT_COLUMNS = ("text", "texts", "sentence", "sentences")
ARRAYS = arrays.SUFFIXES  # of files without words
TABLES = (*text.SUFFIXES, *parquet.SUFFIXES, *arrays.SUFFIXES)


def read_header(path: str | os.PathLike[str]) -> Head:
    """The names of the columns, or arrays, in a features file, without reading its rows."""
    files = list_files(path)
    if len(files) > 1:
        return _put_heads_side_by_side(str(path), dict(zip(name_files(files), map(read_header, files), strict=True)))
    file = find_table_source(path, "features", TABLES)
    if file.suffix in text.SUFFIXES:
        return text.read_text_header(file)
    return parquet.read_parquet_schema(file) if file.suffix in parquet.SUFFIXES else arrays.read_array_names(file)


def _put_heads_side_by_side(path: str, heads: Mapping[str, Head]) -> Head:
    """Several files as one: the columns of each, row by row."""

    def open_all(wanted: Wanted) -> FeatureFile:
        if wanted.loose:
            raise ValueError(
                f"{path} are several files, and words and empty cells are for one: expected numbers alone; mend each "
                "file first, or put them together in one"
            )
        files = {}
        for name, head in heads.items():
            labels = wanted.labels if wanted.labels in head.fields else None
            columns = None if wanted.columns is None else [one for one in wanted.columns if one in head.fields]
            files[name] = head.open(Wanted(labels, columns, wanted.rows, keep=wanted.keep))
        first, listed = next(iter(files.values())), [file.names for file in files.values()]
        names = None if None in listed else tuple(name for one in listed for name in one or ())
        twice = find_repeated_features(names or ())
        if twice:
            raise ValueError(f"{path} have the column {list_values(twice)} several times: rename it in one of them")
        if wanted.columns is not None and names != tuple(wanted.columns):
            raise ValueError(
                f"{path} have the features {list_values(names or ())}, the model {list_values(wanted.columns)}: "
                "expected the same files in the same order"
            )
        return FeatureFile(
            replace(first.source, name=path),
            sum(file.width for file in files.values()),
            names,
            lambda: _put_blocks_side_by_side(files),
            first.cells,  # of loose files, which are refused
            next((file.named_by for file in files.values() if file.named_by), None),
            tuple(name for file in files.values() for name in file.left_out),
            {name: file.width for name, file in files.items()},
        )

    return Head(list(dict.fromkeys(name for head in heads.values() for name in head.fields)), open_all)


def _put_blocks_side_by_side(files: Mapping[str, FeatureFile]) -> Iterator[Block]:
    streams, row = [file.blocks() for file in files.values()], 0
    held = [next(stream, None) for stream in streams]
    while there := [one for one in held if one is not None]:
        if len(there) < len(held):
            short = list(files)[held.index(None)]
            raise ValueError(f"{short} has {row} rows, and another file has more: expected the same rows in each file")
        height = min(len(one.X) for one in there)
        now = [one.cut(slice(height)) for one in there]
        ids, labels = (
            _same_lists({name: getattr(one, what) for name, one in zip(files, now, strict=True)}, row)
            for what in ("ids", "labels")
        )
        yield Block(np.hstack([one.X for one in now]), ids, labels)
        row += height
        held = [
            one.cut(slice(height, None)) if len(one.X) > height else next(stream, None)
            for one, stream in zip(there, streams, strict=True)
        ]


def _same_lists(given: Mapping[str, list[str] | None], row: int) -> list[str] | None:
    """What those files that name their rows, or label them, say of the rows from number `row` on."""
    said = {name: one for name, one in given.items() if one is not None}
    first = next(iter(said), "")
    for name, one in said.items():
        for place, (mine, theirs) in enumerate(zip(said[first], one, strict=True), start=row):
            if mine != theirs:
                raise ValueError(
                    f"row {place} (counted from 0) is {mine!r} in {first} and {theirs!r} in {name}: expected the same "
                    "rows in the same order; sort one of the files"
                )
    return said.get(first)


def find_networks(path: str | os.PathLike[str], parts: Mapping[str, int]) -> tuple[str | None, dict[str, int]]:
    """The network that made the features, if `zskl data embed` wrote them (A+B of several files); and network or file →
    how many columns are its own, if there are several. `parts` are the files' widths."""
    networks, blocks = list[str | None](), dict[str, int]()
    for name, file in zip(parts or [""], list_files(path), strict=True):
        network, inside = None, dict[str, int]()
        if str(file).lower().endswith(".npz"):
            network, inside = arrays.read_networks(find_table_source(file, "features", TABLES))
        networks.append(network)
        blocks |= inside or ({name: parts[name]} if parts else {})
    return None if None in networks else "+".join(map(str, networks)), blocks


def label_column(head: Head, features: str | os.PathLike[str], labels: str | os.PathLike[str]) -> str | None:
    """The column, or array, of the features file that `labels` names; None if it names a file."""
    if str(labels) in head.fields:
        return str(labels)
    if str(labels) != STANDARD_INPUT and not Path(labels).exists():
        raise ValueError(
            f"labels is {str(labels)!r}, which is neither a file nor a column of {features}"
            f"{suggest(str(labels), head.fields)}: its columns are {list_values(head.fields) or 'without names'}"
            f"{hint_semicolons(head.fields)}"
        )
    return None


def open_features(path: str | os.PathLike[str], *choice: Any, **named: Any) -> FeatureFile:
    """The features file at `path`, ready to be read block by block; the options are those of `Wanted`."""
    return read_header(path).open(Wanted(*choice, **named))


def open_prepared(
    path: str | os.PathLike[str], preparation: Preparation, labels: str | None = None, rows: int | None = None
) -> FeatureFile:
    """The features file at `path`, its holes and words turned into numbers as was learned from training rows."""
    file = read_header(path).open(Wanted(labels, preparation.names, rows, loose=True))
    features = preparation.features
    return replace(file, width=len(features), names=features, blocks=lambda: prepared_blocks(file, preparation))


def encode_texts_of(
    head: Head, column: str, encode: Callable[[list[str]], NDArray[np.float32]] | None, width: int
) -> Head:
    """A features file whose rows are texts in a `column`: it reads as if it held vectors of `width` numbers. Without
    `encode` rows are empty, and texts are beside them."""

    def open_encoded(wanted: Wanted) -> FeatureFile:
        file = head.open(Wanted(wanted.labels, [column], wanted.rows, loose=True))

        def blocks() -> Iterator[Block]:
            for part in file.cells():
                texts = [str(cell) if isinstance(cell, str) else "" for cell in part.columns[0]]
                empty = next((place for place, text in enumerate(texts) if not text.strip()), None)
                if empty is not None:
                    raise ValueError(
                        f"{file.place(part.where[empty], column)}: found {part.columns[0][empty]!r}, expected a text; "
                        "leave the row out, or name another column"
                    )
                yield Block(
                    np.empty((len(texts), 0), np.float32) if encode is None else encode(texts),
                    part.ids,
                    part.labels,
                    texts,
                )

        return replace(file, width=width, names=None, blocks=blocks)

    return Head(head.fields, open_encoded)


def find_text_column(path: object, head: Head, wanted: str | None, labels: str | None = None) -> str:
    """The column of texts: the one that is `wanted`; None and "text" stand for the only one, or one called so."""
    names = [name for name in head.fields if name != labels and name.lower() != ID_COLUMN]
    if wanted is not None and wanted in head.fields:
        return wanted
    called = [name for name in names if name.lower() in TEXT_COLUMNS]
    found = names if len(names) == 1 else called
    if len(found) != 1 or (wanted is not None and wanted.lower() not in TEXT_COLUMNS):
        missing = "" if wanted is None else f" {wanted!r}{suggest(wanted, names)}"
        raise ValueError(
            f"{path} has no column of texts{missing}: its columns are {list_values(head.fields)}; expected one called "
            f"{wanted or 'text'}"
        )
    return found[0]


def read_labels(path: str | os.PathLike[str], some: bool = False) -> tuple[Labels, list[str] | None, bool]:
    """The labels in a file of their own, as text; the names of the rows, if it gives them; whether these are numbers.
    With `some` it may name some rows alone, as `zskl label-next` writes it."""
    return read_label_file(find_table_source(path, "labels", (".txt", *TABLES)), some)


def read_signatures(path: str | os.PathLike[str], **how: Any) -> pd.DataFrame:
    return read_class_tables(path, **how)[0]


def read_class_tables(path: str | os.PathLike[str], **how: Any) -> tuple[pd.DataFrame, dict[str, int]]:
    """Class descriptions: index = class, as text in form NFC, columns = attributes, values float64.

    Gaps and words become numbers as `missing` and `categories` say, or as a model's `preparation` does. A column that
    only numbers or names the classes is left out, with a warning, unless it is in `keep`, or in `known`, the attributes
    of a model: all options are those of `descriptions.read_descriptions`. Of several files, A+B, the columns stand side
    by side; beside the table stands how many each has.
    """
    files, found = list_files(path), {}
    if len(files) > 1 and how.get("preparation") is not None:
        raise ValueError(f"{path} are several files, and the model knows words or gaps: expected one table; join them")
    for name, file in zip(name_files(files), files, strict=True):
        source = find_table_source(file, "signatures", TABLES)
        table = descriptions.read_descriptions(source, **how)
        found[name] = table.set_axis(pd.Index(map(normalise_name, table.index), name=table.index.name), axis=0)
    trees = [table.attrs.pop(PARENTS) for table in found.values() if PARENTS in table.attrs]
    named = [name for tree in trees for name in tree["levels"]]
    if absent := [name for name in how.get("parents", ()) if name not in named]:
        raise ValueError(f"{path} has no column {absent[0]!r} for parents: expected the name of one of its columns")
    if len(trees) > 1:
        raise ValueError(f"{path}: parents are in {len(trees)} files: expected all of them in one")
    first, *others = found.values()
    for tree in trees:
        first.attrs[PARENTS] = {**tree, "classes": [normalise_name(one) for one in tree["classes"]]}
    if not others:
        return first, {}
    described = {label for table in found.values() for label in table.index}
    for name, table in found.items():
        lacking, twice = described - {*table.index}, table.index[table.index.duplicated()].tolist()
        if lacking or twice:
            fault = f"no row for class {list_values(sorted(lacking))}" if lacking else f"{twice[0]!r} several times"
            raise ValueError(f"{path}: {name} has {fault}: expected one row for each class in each table")
    made = [table.attrs.get(PREPARED) for table in found.values()]
    again = find_repeated_features([column for table in found.values() for column in table.columns])
    if again and any(made):
        raise ValueError(f"{path} both have the column {list_values(again)}: expected other names beside words; rename")
    if again:
        found = {name: table.add_prefix(f"{name}:") for name, table in found.items()}
    whole = pd.concat([table.loc[first.index] for table in found.values()], axis=1)
    whole.attrs = {PARENTS: first.attrs[PARENTS]} if trees else {}
    if any(made):
        read = [
            Preparation.from_text(text).columns if text else tuple(map(Column, map(str, table.columns)))
            for text, table in zip(made, found.values(), strict=True)
        ]
        whole.attrs[PREPARED] = Preparation(tuple(column for columns in read for column in columns)).text()
    return whole, {name: table.shape[1] for name, table in found.items()}
