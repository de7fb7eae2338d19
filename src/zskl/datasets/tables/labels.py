"""The class of each row, as text: a column of the features file, or a file of its own."""

import re
import warnings
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._display import count_noun
from zskl._validation import list_values
from zskl.datasets.tables import arrays, parquet, text
from zskl.datasets.tables.features import find_repeated_features, find_row_names
from zskl.datasets.tables.source import Source
from zskl.signatures.table import normalise_name

NUMBERS = "row"  # the column of a table of questions that numbers the rows of the features, from 0
NAMES = ("label", "labels", "class", "y")
WHOLE_NUMBER = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0)?")  # as Python writes an int or a float: "007" is a name


class _Codes(dict[str, int]):
    """Text → its position among the names, known or new. A text is brought into form NFC once."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        self[text] = self.names.setdefault(normalise_name(text), len(self.names))
        return self[text]


class Labels:
    """Texts, in form NFC, kept as numbers: `codes` (n,) are positions in `names`, in the order of first appearance."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._codes = array("i")
        self._known = _Codes()
        self.extend(texts)

    def extend(self, texts: Iterable[str]) -> None:
        self._codes.extend(map(self._known.__getitem__, texts))

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def names(self) -> list[str]:
        return list(self._known.names)

    @property
    def codes(self) -> NDArray[np.int32]:
        """(n,) the position of each row's label in `names`."""
        return np.array(self._codes, dtype=np.int32)

    def plain(self) -> "Labels":
        """The same labels with whole numbers as integers: "1.0" and "1" become one."""
        names = [plain_label(name) for name in self.names]
        return Labels(names[code] for code in self._codes)

    def select(self, rows: Sequence[int]) -> "Labels":
        names = self.names
        return Labels(names[self._codes[row]] for row in rows)


def read_label_file(path: Source, some: bool = False) -> tuple[Labels, list[str] | None, bool]:
    """The labels, the names of the rows if given, and whether these are numbers; with `some`, rows may lack a label."""
    ids: list[str] | None = None
    numbered = False
    if path.suffix == ".txt":
        with path.text() as file:
            texts = [line.strip() for line in file.read().rstrip().splitlines()]
        if "" in texts:
            raise ValueError(f"{path}, line {texts.index('') + 1} is empty: expected one label per line")
    elif path.suffix in text.SUFFIXES:
        texts, ids, numbered = _read_text_table(path, some)
        if some and not texts:
            raise ValueError(f"{path} has no labels: expected some in the column for them; fill in those that you know")
    elif path.suffix in parquet.SUFFIXES:
        columns = parquet.read_parquet_columns(path)
        label, key = _find_label_columns(path, list(columns))
        texts = list(map(_convert_label_to_text, columns[label]))
        ids = None if key is None else list(map(_convert_label_to_text, columns[key]))
    else:
        held = arrays.read_arrays(path, NAMES)
        vectors = {name: value for name, value in held.items() if arrays.is_vector(value)}
        named = [name for name in vectors if name.lower() in NAMES] or list(vectors)
        if len(named) != 1:
            raise ValueError(f"{path} holds {list_values(held)}: expected one vector, named 'labels' if there are more")
        texts = arrays.to_texts(path, named[0], held[named[0]])
    if not texts:
        raise ValueError(f"{path} has no labels: expected one per row of the features")
    if "" in texts:
        raise ValueError(f"{path} has no label in row {texts.index('')} (counted from 0): give each row a class")
    return Labels(texts), ids, numbered


def match_labels(
    labels: Labels, label_ids: list[str] | None, path: object, features: object, rows: int, ids: list[str]
) -> Labels:
    """The labels of the rows of the features, one for each; by the names of the rows if both files have them."""
    if ids and label_ids is not None:
        for where, names in ((path, label_ids), (features, ids)):
            if twice := find_repeated_features(names):
                advice = "rows are matched by id, so use each id once"
                raise ValueError(f"{where} uses an id twice ({list_values(twice)}): {advice}")
        at = {name: row for row, name in enumerate(label_ids)}
        missing = [name for name in ids if name not in at]
        if missing:
            raise ValueError(f"{path} has no label for the rows {list_values(missing)} of {features}: add them")
        return labels.select([at[name] for name in ids])
    if len(labels) != rows:
        raise ValueError(
            f"{features} has {rows} rows and {path} {len(labels)} labels: expected one label per row (a CSV file "
            "starts with a line of column names, a .txt file does not)"
        )
    return labels


def to_label_type(names: Sequence[str], *others: Sequence[str]) -> NDArray[np.generic]:
    """The names as integers if these and all others are whole numbers, as strings otherwise: "007" stays text."""
    whole = all(map(is_whole, chain(names, *others)))
    return np.array([int(plain_label(name)) for name in names], np.int64) if whole else np.array(names, dtype=np.str_)


def is_whole(name: str) -> bool:
    """Whether the text is a whole number, such as 3, or 3.0 as a column of floats is written."""
    return WHOLE_NUMBER.fullmatch(name) is not None


def plain_label(name: str) -> str:
    """A whole number without the ".0"; other text as it is."""
    return name.removesuffix(".0") if is_whole(name) else name


def _read_text_table(path: Source, some: bool) -> tuple[list[str], list[str] | None, bool]:
    records = text.read_text_lines(path)
    header = [name.strip() for name in next(records, (0, []))[1]]
    label, key = _find_label_columns(path, header)
    numbered = some and key is None and label.lower() in NAMES and NUMBERS in header
    key = NUMBERS if numbered else key
    at, key_at = header.index(label), None if key is None else header.index(key)
    texts: list[str] = []
    ids: list[str] = []
    left_out = 0
    for number, cells in records:
        text.check_text_width(path, (number, cells), len(header))
        if not cells[at].strip():
            if some and key is not None:
                left_out += 1
                continue
            raise ValueError(f"{path}, line {number} has no label: give each row a class")
        texts.append(cells[at].strip())
        if key_at is not None:
            ids.append(cells[key_at].strip())
    if left_out and texts:
        warnings.warn(f"{path}: {count_noun(left_out, 'row')} without a label left out", stacklevel=4)
    return texts, None if key_at is None else ids, numbered


def _find_label_columns(path: Source, header: Sequence[str]) -> tuple[str, str | None]:
    """The column of the labels, and the one that names the rows."""
    labels = {k for k, name in enumerate(header) if name.lower() in NAMES}
    key_at, dropped = find_row_names(header, labels) if len(header) > 1 else (None, set[int]())
    key = None if key_at is None else header[key_at]
    others = [name for k, name in enumerate(header) if k != key_at and k not in dropped]
    named = [name for name in others if name.lower() in NAMES] or others
    if len(named) != 1:
        raise ValueError(
            f"{path} has the columns {list_values(header)}: expected one with labels, named 'label' if there are more, "
            "under a line of column names"
        )
    return named[0], key


def _convert_label_to_text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else ""
    return str(value)
