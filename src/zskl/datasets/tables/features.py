"""What every kind of features file becomes: rows in blocks, so that no file has to fit into memory twice."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zskl._validation import list_values, suggest
from zskl.datasets.tables.source import Source
from zskl.signatures.cells import LARGEST, TOO_LARGE, advise_on_cell, hint_semicolons
from zskl.signatures.table import has_identifier_name

ID_COLUMN = "id"  # names the rows, in any position; otherwise a first column without a name does, as pandas writes it
ARROW_INDEX = "__index_level_0__"  # what pandas calls an index without a name in a Parquet file
_NO_NAME = re.compile(r"|index|unnamed: \d+(\.\d+)?", re.IGNORECASE)  # what pandas calls a column without a name
BLOCK_VALUES = 1 << 19  # features read together: 4 MB as float64


@dataclass(frozen=True)
class Block:
    """Some rows: X (k, d) float32, all finite; the name and the label of each row where the file gives them, and the
    `texts` that X was encoded from, if it was."""

    X: NDArray[np.float32]
    ids: list[str] | None = None
    labels: list[str] | None = None
    texts: list[str] | None = None

    def cut(self, rows: slice) -> "Block":
        lists = (None if one is None else one[rows] for one in (self.ids, self.labels, self.texts))
        return Block(self.X[rows], *lists)


@dataclass(frozen=True)
class Cells:
    """Rows as in the file: texts, or numbers with NaN for holes, of each column; `where` are their lines, or rows."""

    columns: Sequence[Sequence[str] | NDArray[np.float64]]
    where: Sequence[int]
    ids: list[str] | None = None
    labels: list[str] | None = None


@dataclass(frozen=True)
class FeatureFile:
    """A features file, ready to be read: the `names` of its d = `width` feature columns, if any, and its `blocks`.

    `cells` reads the same rows with words and holes. `named_by` is the column (or array) that is there to name the
    rows; an index without a name does not count. `left_out` are columns of words that only number or name the rows.
    `parts` are the widths of several files that stand side by side.
    """

    source: Source
    width: int
    names: tuple[str, ...] | None
    blocks: Callable[[], Iterator[Block]]
    cells: Callable[[], Iterator[Cells]]
    named_by: str | None = None
    left_out: tuple[str, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict)

    def place(self, where: int, column: str) -> str:
        """How a message names a cell: by its line, or its row from 0 on, and its column."""
        unit = "line" if self.source.suffix in (".csv", ".tsv") else "row"
        return f"{self.source}, {unit} {where}, column {column!r}"


@dataclass(frozen=True)
class Wanted:
    """What to read: the column (or array) of `labels`, and the feature `columns` in this order, None for all. `rows`
    and `width`, where known, tell which way round a matrix in a MATLAB file is. `loose` allows words and holes, for
    `cells`; otherwise columns of words that identify rows are left out, unless in `keep`."""

    labels: str | None = None
    columns: Sequence[str] | None = None
    rows: int | None = None
    width: int | None = None
    loose: bool = False
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Head:
    """The first look at a features file: the names of its columns (or arrays), and how to open it with a choice."""

    fields: list[str]
    open: Callable[[Wanted], FeatureFile]


@dataclass(frozen=True)
class Columns:
    """Positions of the features in a table, of the row names and of the labels, and the names of the features."""

    features: tuple[int, ...]
    names: tuple[str, ...]
    ids: int | None
    labels: int | None
    named_by: str | None = None
    left_out: tuple[str, ...] = ()


def choose_feature_columns(path: Source, header: Sequence[str], wanted: Wanted, words: Collection[str] = ()) -> Columns:
    """Which column is what. By default all are features but labels, row names and identifiers among the `words`."""
    twice = sorted(find_repeated_features(header))
    if twice:
        advice = "rename or drop them; a CSV file starts with a line of column names"
        raise ValueError(f"{path} has several columns named {list_values(twice)}: {advice}")
    at, labels = {name: position for position, name in enumerate(header)}, wanted.labels
    if labels is not None and labels not in at:
        raise ValueError(f"{path} has no column {labels!r}{suggest(labels, at)}: it has {list_values(header)}")
    taken = {at[name] for name in (labels, *(wanted.columns or ())) if name in at}
    ids, dropped = find_row_names(header, taken)
    label_at = None if labels is None else at[labels]
    left_out: list[str] = []
    if wanted.columns is None:
        names = [name for k, name in enumerate(header) if k not in (ids, label_at) and k not in dropped]
        if not wanted.loose:
            left_out = [one for one in names if one in words and has_identifier_name(one) and one not in wanted.keep]
        names = [name for name in names if name not in left_out]
        check_feature_names(path, header, names)
    else:
        names = list(wanted.columns)
        missing = [name for name in names if name not in at]
        if missing:
            raise ValueError(
                f"{path} lacks feature columns {list_values(missing)} that the model was fitted with; it has "
                f"{list_values(header)}: add them, or fit on the columns there are{hint_semicolons(header)}"
            )
    if not names:
        raise ValueError(f"{path} has no feature column: its columns are {list_values(header)}")
    named_by = header[ids] if ids is not None and header[ids].lower() == ID_COLUMN else None
    return Columns(tuple(at[name] for name in names), tuple(names), ids, label_at, named_by, tuple(left_out))


def find_repeated_features(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def find_row_names(header: Sequence[str], taken: Collection[int] = ()) -> tuple[int | None, set[int]]:
    """The column that names the rows, and further index columns to drop. Columns in `taken` are neither."""
    nameless = [k for k in find_unnamed_columns(header) if k not in taken]
    called = [k for k, name in enumerate(header) if name.lower() == ID_COLUMN and k not in taken]
    ids = next(iter([*called, *nameless]), None)
    return ids, set(nameless) - {ids}


def find_unnamed_columns(header: Sequence[str]) -> list[int]:
    """The first columns until one has a name (other than pandas' name for one without), and Parquet's index."""
    first = next((k for k, name in enumerate(header) if not _NO_NAME.fullmatch(name)), len(header))
    return [k for k, name in enumerate(header) if k < first or name == ARROW_INDEX]


def check_feature_names(path: object, header: Sequence[str], names: Sequence[str]) -> None:
    """Refuse an empty name among those of the features, or attributes, to be read."""
    if "" in names:
        raise ValueError(
            f"{path} has no name for column {list(header).index('') + 1} of {len(header)}: expected a name for each "
            "column, except a first one that counts the rows; name or drop it, or look for an extra separator"
        )


def to_float32(values: NDArray[np.generic]) -> NDArray[np.float32]:
    """The same numbers as float32. Too large ones become infinite, which the caller reports."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)


def check_finite_features(
    path: Source,
    X: NDArray[np.float32],
    first_row: int,
    names: Sequence[str] | None,
    stored: Callable[[int, int], float | None],
) -> None:
    """Refuse what is missing or infinite in a file without lines; `stored(row, column)` is the value there."""
    if np.isfinite(X).all():
        return
    row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
    row += first_row
    where = repr(names[column]) if names is not None else str(column)
    place, value = f"{path}, row {row} (counted from 0), column {where}", stored(row, column)
    check_range(place, value)
    found = "nothing" if value is None else str(value)
    advice = advise_on_cell("") if value is None or np.isnan(value) else "; repair or leave out the row"
    raise ValueError(f"{place}: found {found}, expected a finite number{advice}")


def check_range(place: str, value: float | None) -> None:
    """Refuse a finite number that is too large for a feature."""
    if value is not None and LARGEST < abs(value) < float("inf"):
        raise ValueError(f"{place}: found {value:g}, which {TOO_LARGE}")


def block_rows(width: int) -> int:
    return max(1, BLOCK_VALUES // max(1, width))
