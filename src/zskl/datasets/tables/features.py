"""Excel workbooks: the first sheet as a CSV file whose lines are the rows of the sheet (extra `excel`)."""

from __future__ import annotations

import atexit
import csv
import gzip
import io
import math
import os
import re
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TextIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from zskl._files import is_special
from zskl._validation import list_values, suggest
from zskl.signatures import table

# Excel files ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def convert_to_csv(path: Path, folder: Path, size: int, changed: int) -> Path:
    """A CSV file in `folder`. `size` and `changed` tell a workbook from what it was before."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise ValueError(
            f"{path} is an Excel workbook, and reading those needs openpyxl: pip install 'zskl[excel]', or save a CSV"
        ) from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (InvalidFileException, BadZipFile, KeyError, ValueError, OSError) as error:
        raise ValueError(f"{path} is not an Excel workbook that can be read ({error}): save it again") from None
    try:
        sheets = book.worksheets
        if len(sheets) > 1:
            others = ", ".join(repr(sheet.title) for sheet in sheets[1:])
            warnings.warn(f"{path}: the first sheet, {sheets[0].title!r}, is read, and not {others}", stacklevel=2)
        with tempfile.NamedTemporaryFile(
            "w", suffix=".csv", dir=folder, delete=False, encoding="utf-8", newline=""
        ) as file:
            writer = csv.writer(file, lineterminator="\n")
            for cells in _sheet_rows(sheets[0]):
                writer.writerow(cells)
        return Path(file.name)
    finally:
        book.close()


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
    """The rows of a sheet without its empty columns at the right; a row without any cell is an empty line."""
    width = 0
    for cells in sheet.iter_rows(values_only=True):
        texts = ["" if cell is None else str(cell).strip() for cell in cells]
        filled = max((k for k, text in enumerate(texts, start=1) if text), default=0)
        width = width or filled  # that of the first row that is not empty
        yield [*texts[: max(width, filled)], *[""] * (width - len(texts))] if filled else []


# Source ---------------------------------------------------------------------------------------------------------------
# Where a table is read from: a file, a compressed file, standard input, or the first sheet of an Excel workbook.

STANDARD_INPUT = "-"
TEXTS = (".csv", ".tsv", ".txt")
PACKINGS = (".gz", ".zst")
WORKBOOKS = (".xlsx", ".xlsm")


@dataclass(frozen=True)
class Source:
    """The file at `path`, which messages call `name`. `suffix` says what is in it, `packing` how it is compressed."""

    path: Path
    name: str
    suffix: str
    packing: str = ""

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """The file as UTF-8 text. What is compressed is unpacked as it is read, never whole."""
        try:
            if not self.packing:
                with self.path.open(encoding="utf-8-sig", newline="") as file:
                    yield file
            else:
                with io.TextIOWrapper(_unpack_source(self), encoding="utf-8-sig", newline="") as file:
                    yield file
        except UnicodeDecodeError as error:
            raise ValueError(f"{self} is not UTF-8 text ({error}): save it as CSV in UTF-8") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{self} is not a whole {self.packing} file ({error}): write it again") from None
        except OSError as error:
            if not self.packing or error.errno is not None:  # the system's own: no such file, no permission
                raise
            raise ValueError(f"{self} is not a whole {self.packing} file ({error}): write it again") from None


def find_source(path: str | os.PathLike[str], what: str, suffixes: Sequence[str]) -> Source:
    """The table at `path`, which must be of one of these kinds; "-" is standard input, as CSV."""
    if os.fspath(path) == STANDARD_INPUT:
        return Source(_copy_stream(_read_pipe(what)), "standard input", ".csv")
    file = Path(path)
    if not file.exists():
        raise ValueError(f"no {what} file at {file}: check the path")
    if file.is_dir():
        raise ValueError(f"{file} is a folder: expected a {what} file")
    if is_special(file):
        raise ValueError(
            f"{file} is a pipe or a device, not a file: expected a {what} file; save it as one first, or pipe it into "
            "standard input, which is called -"
        )
    packing = file.suffix.lower() if file.suffix.lower() in PACKINGS else ""
    suffix = Path(file.stem).suffix.lower() if packing else file.suffix.lower()
    workbook = suffix in WORKBOOKS and not packing and ".csv" in suffixes
    if not workbook and (suffix not in suffixes or (packing and suffix not in TEXTS)):
        raise ValueError(
            f"{file} ends in {suffix + packing!r}: expected {what} in one of {', '.join(suffixes)}, "
            f"{', '.join('.csv' + end for end in PACKINGS)} or {WORKBOOKS[0]}"
        )
    if not file.stat().st_size:
        raise ValueError(f"{file} is empty: expected {what}")
    if workbook:
        state = file.stat()
        sheet = convert_to_csv(file, make_scratch_folder(), state.st_size, state.st_mtime_ns)
        return Source(sheet, str(file), ".csv")
    return Source(file, str(file), suffix, packing)


@cache
def make_scratch_folder() -> Path:
    """A folder for what can be read only once, or not as text; it is gone when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="zskl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _read_pipe(what: str) -> Any:
    stream = sys.stdin
    if stream is None or stream.isatty():
        raise ValueError(
            f"the {what} are to come from standard input, and nothing is piped into it: expected a table as CSV, as in "
            "cat rows.csv | zskl …; or name a file"
        )
    return stream


@lru_cache(maxsize=1)
def _copy_stream(stream: Any) -> Path:
    """A copy of a stream, which a table is read from several times."""
    handle, name = tempfile.mkstemp(suffix=".csv", dir=make_scratch_folder())
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(getattr(stream, "buffer", stream), file)
    if not os.path.getsize(name):
        raise ValueError("standard input is empty: expected a table as CSV")
    return Path(name)


def _unpack_source(source: Source) -> Any:
    if source.packing == ".gz":
        return gzip.open(source.path, "rb")
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore] # Python 3.14 has it

        return zstd.open(source.path, "rb")
    except ImportError:
        pass
    try:
        import pyarrow
    except ImportError:
        raise ValueError(
            f"{source} is compressed by Zstandard, and reading it needs Python 3.14, or pyarrow: "
            "pip install 'zskl[parquet]', or compress it as .gz"
        ) from None
    return pyarrow.input_stream(str(source.path), compression="zstd")


# Cells ----------------------------------------------------------------------------------------------------------------
# What the text in a cell says: a number, a truth value, a date, a word, or nothing.

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-"})
TRUTH = {"true": 1.0, "false": 0.0}
LARGEST = float(np.finfo(np.float32).max)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
_DATE = re.compile(
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}}))([T ]+{_CLOCK}.*)?|{_CLOCK}"
)
TOO_LARGE = (
    f"is too large: features are kept as float32, whose largest number is {LARGEST:.2g}; give the column in another "
    "unit, or drop it"
)
DATES = (
    "a date is not a number: put what matters of it into columns of numbers, such as the month or the days since a "
    "first day, and drop it"
)
_FILLED = (
    "fill it in, or have the dataset made with missing='mean' (--missing mean), which takes the mean of training rows, "
    "or missing='drop' (--missing drop), which leaves such rows out; in Python a SimpleImputer before the model does it"
)
_NAMED = (
    "if the column holds the labels, say so with labels= (--labels), if it names the rows, call it 'id'; if it holds "
    "categories, have the dataset made with categories='onehot' (--categories onehot), in Python put a OneHotEncoder "
    "before the model; else repair or drop it"
)


def is_number(cell: str) -> bool:
    """Whether the text is a finite number as people write it: 1_000, which Python takes, is not one."""
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def is_numeral(cell: str) -> bool:
    """Whether the text is a number of any size, also infinity."""
    try:
        return not math.isnan(float(cell))
    except ValueError:
        return False


def is_missing(cell: str) -> bool:
    """Whether the text stands for a value that nobody knows."""
    return cell.strip().lower() in MISSING


def is_date(cell: str) -> bool:
    """Whether the text is a date or a time of day."""
    return _DATE.fullmatch(cell.strip()) is not None


def parse_number(cell: str) -> float | None:
    """The number that a cell says, within float32; NaN if it says nothing, None if it says something else."""
    text = cell.strip()
    if is_number(text):
        value = float(text)
        return value if abs(value) <= LARGEST else None
    lower = text.lower()
    return TRUTH.get(lower, math.nan if lower in MISSING else None)


def parse_numbers(cells: Sequence[str]) -> tuple[NDArray[np.float64], list[int]]:
    """The numbers of a column, NaN where there is none, and the places of cells that say something else."""
    try:
        values = np.array([float(cell) for cell in cells])  # the usual case, and quick
    except ValueError:
        values = np.array([np.inf])
    if (np.abs(values) <= LARGEST).all() and not any("_" in cell for cell in cells):
        return values, []
    found = [parse_number(cell) for cell in cells]
    other = [place for place, value in enumerate(found) if value is None]
    return np.array([math.nan if value is None else value for value in found]), other


def advise(cell: str) -> str:
    """What to do about a cell that is not a number: the end of a sentence that says what was found."""
    if is_missing(cell):
        return f"; {_FILLED}"
    if is_date(cell):
        return f"; {DATES}"
    if is_numeral(cell) and "_" not in cell:  # infinity
        return "; repair it, or leave out the row"
    return f"{hint_decimal_comma(cell)}; {_NAMED}"


def hint_decimal_comma(cell: object) -> str:
    """What to say about a number with a decimal comma, or nothing."""
    hint = " (numbers need a decimal point, not a comma: 1.5)"
    return hint if isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell.strip()) else ""


def cell_error(where: str, cell: str) -> ValueError:
    """The error for a cell that should hold a number. `where` names the file, the line and the column."""
    found = repr(cell) if cell else "nothing"
    if is_number(cell) or (is_numeral(cell) and "e" in cell.lower()):  # 1e39, 1e400
        return ValueError(f"{where}: found {found}, which {TOO_LARGE}")
    return ValueError(f"{where}: found {found}, expected a finite number{advise(cell)}")


# Feature file ---------------------------------------------------------------------------------------------------------
# What every kind of features file becomes: rows in blocks, so that no file has to fit into memory twice.

ID_COLUMN = "id"  # names the rows, in any position; otherwise a first column without a name does, as pandas writes it
ARROW_INDEX = "__index_level_0__"  # what pandas calls an index without a name in a Parquet file
_NO_NAME = re.compile(r"|index|unnamed: \d+(\.\d+)?", re.IGNORECASE)  # what pandas calls a column without a name
BLOCK_VALUES = 1 << 19  # features read together: 4 MB as float64


@dataclass(frozen=True)
class Block:
    """Some rows: X (k, d) float32, all finite; the name and the label of each row where the file gives them."""

    X: NDArray[np.float32]
    ids: list[str] | None = None
    labels: list[str] | None = None


@dataclass(frozen=True)
class Cells:
    """The same rows as they stand in the file: of each column its texts, or its numbers, NaN where one is missing.

    `where` are the lines, or rows, of the file.
    """

    columns: Sequence[Sequence[str] | NDArray[np.float64]]
    where: Sequence[int]
    ids: list[str] | None = None
    labels: list[str] | None = None


@dataclass(frozen=True)
class FeatureFile:
    """A features file, ready to be read: the `names` of its d = `width` feature columns, if any, and its `blocks`.

    `cells` reads the same rows with words and holes. `named_by` is the column (or array) that is there to name the
    rows; an index without a name does not count. `left_out` are columns of words that only number or name the rows.
    """

    source: Source
    width: int
    names: tuple[str, ...] | None
    blocks: Callable[[], Iterator[Block]]
    cells: Callable[[], Iterator[Cells]]
    named_by: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What a message counts in this file: lines, or rows from 0 on."""
        return "line" if self.source.suffix in (".csv", ".tsv") else "row"


@dataclass(frozen=True)
class Wanted:
    """What to read: the column (or array) of `labels`, and the feature `columns` in this order, None for all.

    `rows` and `width`, where known, tell which way round a matrix in a MATLAB file is. `loose` allows words and
    holes, for `cells`; otherwise columns of words that identify rows are left out, unless in `keep`.
    """

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


def choose_columns(path: Source, header: Sequence[str], wanted: Wanted, words: Collection[str] = ()) -> Columns:
    """Which column is what. Without `wanted.columns` all are features but labels, row names and identifiers in words.

    `words` are the columns that do not hold numbers.
    """
    twice = sorted({name for name in header if list(header).count(name) > 1}) if len(set(header)) < len(header) else []
    if twice:
        raise ValueError(
            f"{path} has several columns named {list_values(twice)}: rename or drop them; a CSV file starts with a line "
            "of column names"
        )
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
            left_out = [
                name for name in names if name in words and table.has_identifier_name(name) and name not in wanted.keep
            ]
        names = [name for name in names if name not in left_out]
        check_named(path, header, names)
    else:
        names = list(wanted.columns)
        missing = [name for name in names if name not in at]
        if missing:
            raise ValueError(
                f"{path} lacks the feature column(s) {list_values(missing)} that the model was fitted with; it has "
                f"{list_values(header)}: add them, or fit on the columns there are"
            )
    if not names:
        raise ValueError(f"{path} has no feature column: its columns are {list_values(header)}")
    named_by = header[ids] if ids is not None and header[ids].lower() == ID_COLUMN else None
    return Columns(tuple(at[name] for name in names), tuple(names), ids, label_at, named_by, tuple(left_out))


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


def check_named(path: object, header: Sequence[str], names: Sequence[str]) -> None:
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


def check_finite(
    path: Source,
    X: NDArray[np.float32],
    first_row: int,
    names: Sequence[str] | None,
    stored: Callable[[int, int], float | None],
) -> None:
    """Refuse missing and infinite values, by row and column, in a file without lines; `stored` gives a value of it."""
    if np.isfinite(X).all():
        return
    row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
    where = repr(names[column]) if names is not None else str(column)
    place, value = f"{path}, row {first_row + row} (counted from 0), column {where}", stored(row, column)
    check_range(place, value)
    found = "nothing" if value is None else str(value)
    advice = advise("") if value is None or np.isnan(value) else "; repair or leave out the row"
    raise ValueError(f"{place}: found {found}, expected a finite number{advice}")


def check_range(place: str, value: float | None, written: str = "") -> None:
    """Refuse a finite number that is too large for a feature; `written` is how a file has it."""
    if value is not None and LARGEST < abs(value) < float("inf"):
        raise ValueError(f"{place}: found {written or format(value, 'g')}, which {TOO_LARGE}")


def block_rows(width: int) -> int:
    """How many rows of that many values are read together."""
    return max(1, BLOCK_VALUES // max(1, width))
