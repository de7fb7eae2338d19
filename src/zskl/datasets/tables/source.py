"""Where a table is read from: a file, a compressed file, standard input, or the first sheet of an Excel workbook."""

import atexit
import csv
import gzip
import io
import os
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TextIO
from zipfile import BadZipFile

from zskl._files import check_encoding, describe_encoding_error, is_special, plain_encoding
from zskl._validation import check_option

STANDARD_INPUT = "-"
TEXTS = (".csv", ".tsv", ".txt")
PACKINGS = (".gz", ".zst")
WORKBOOKS = (".xlsx", ".xlsm")
ENCODING, DECIMAL = "utf-8", "."
DECIMALS = (DECIMAL, ",")


@dataclass(frozen=True)
class TextFile:
    """The path of a table, and how its text is written. What takes the path of a table takes this in its place."""

    path: str
    encoding: str = ENCODING
    decimal: str = DECIMAL

    def __post_init__(self) -> None:
        check_option("decimal", self.decimal, DECIMALS)
        check_encoding(self.encoding)

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Source:
    """The file at `path`, which messages call `name`. `suffix` says what is in it, `packing` how it is compressed; of
    text, `encoding` says which bytes are which letters, and `decimal` how fractions are written."""

    path: Path
    name: str
    suffix: str
    packing: str = ""
    encoding: str = ENCODING
    decimal: str = DECIMAL

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """The file as text. What is compressed is unpacked as it is read, never whole."""
        try:
            with io.TextIOWrapper(_open_source(self), encoding=plain_encoding(self.encoding), newline="") as file:
                yield file
        except UnicodeError as error:  # UTF-16 without its mark is not a UnicodeDecodeError
            with _open_source(self) as plain:
                start = bytes(plain.read(3))
            raise ValueError(describe_encoding_error(self, self.encoding, start, error)) from None
        except (EOFError, OSError, zlib.error) as error:
            # An error of the system, such as no permission, has a number; one of a damaged file has none.
            if not self.packing or getattr(error, "errno", None) is not None:
                raise
            raise ValueError(f"{self} is not a whole {self.packing} file ({error}): write it again") from None


def list_files(path: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """The files that a path names: those of A+B, if all of them are there, and A+B is none itself."""
    parts = os.fspath(path).split("+")
    if len(parts) == 1 or Path(path).exists() or not all(Path(part).is_file() for part in parts):
        return [path]
    return [replace(path, path=part) if isinstance(path, TextFile) else part for part in parts]


def name_files(files: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Short names of files, without folder and suffix; a number tells equal ones apart."""
    stems = [Path(one).name.partition(".")[0] for one in files]
    return [one if stems.count(one) == 1 else f"{one} {k}" for k, one in enumerate(stems, start=1)]


def find_table_source(path: str | os.PathLike[str], what: str, suffixes: Sequence[str]) -> Source:
    """The table at `path`, which must be of one of these kinds; "-" is standard input, as CSV."""
    written = (path.encoding, path.decimal) if isinstance(path, TextFile) else (ENCODING, DECIMAL)
    if os.fspath(path) == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            raise ValueError(
                f"the {what} are to come from standard input, and nothing is piped into it: expected a table as CSV, "
                "as in cat rows.csv | zskl …; or name a file"
            )
        return Source(_copy_stream(sys.stdin), "standard input", ".csv", "", *written)
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
        sheet = _convert_to_csv(file, _scratch_folder(), state.st_size, state.st_mtime_ns)
        return Source(sheet, str(file), ".csv")  # its numbers were numbers
    return Source(file, str(file), suffix, packing, *written)


@cache
def _scratch_folder() -> Path:
    """A folder for what can be read only once, or not as text; it is gone when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="zskl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=1)
def _copy_stream(stream: Any) -> Path:
    handle, name = tempfile.mkstemp(suffix=".csv", dir=_scratch_folder())
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(getattr(stream, "buffer", stream), file)
    if not os.path.getsize(name):
        raise ValueError("standard input is empty: expected a table as CSV")
    return Path(name)


def _open_source(source: Source) -> Any:
    if not source.packing:
        return source.path.open("rb")
    if source.packing == ".gz":
        return gzip.open(source.path, "rb")
    with suppress(ImportError):
        from compression import zstd  # type: ignore[import-not-found, unused-ignore] # Python 3.14 has it

        return zstd.open(source.path, "rb")
    try:
        import pyarrow
    except ImportError:
        raise ValueError(
            f"{source} is compressed by Zstandard, and reading it needs Python 3.14, or pyarrow: "
            "pip install 'zskl[parquet]', or compress it as .gz"
        ) from None
    return pyarrow.input_stream(str(source.path), compression="zstd")


@lru_cache(maxsize=8)
def _convert_to_csv(path: Path, folder: Path, size: int, changed: int) -> Path:
    """The first sheet of a workbook as CSV, a line per row; `size` and `changed` tell the cache of a changed file."""
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
            csv.writer(file, lineterminator="\n").writerows(_sheet_rows(sheets[0]))
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
