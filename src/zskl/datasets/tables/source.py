"""Where a table is read from: a file, a compressed file, standard input, or the first sheet of an Excel workbook."""

from __future__ import annotations

import atexit
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TextIO

from zskl.files import is_special

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
                with io.TextIOWrapper(_unpacked(self), encoding="utf-8-sig", newline="") as file:
                    yield file
        except UnicodeDecodeError as error:
            raise ValueError(f"{self} is not UTF-8 text ({error}): save it as CSV in UTF-8") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{self} is not a whole {self.packing} file ({error}): write it again") from None
        except OSError as error:
            if not self.packing or error.errno is not None:  # the system's own: no such file, no permission
                raise
            raise ValueError(f"{self} is not a whole {self.packing} file ({error}): write it again") from None


def find(path: str | os.PathLike[str], what: str, suffixes: Sequence[str]) -> Source:
    """The table at `path`, which must be of one of these kinds; "-" is standard input, as CSV."""
    if os.fspath(path) == STANDARD_INPUT:
        return Source(_kept(_piped(what)), "standard input", ".csv")
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
        from zskl.datasets.tables import excel_files

        state = file.stat()
        sheet = excel_files.as_csv(file, scratch_folder(), state.st_size, state.st_mtime_ns)
        return Source(sheet, str(file), ".csv")
    return Source(file, str(file), suffix, packing)


@cache
def scratch_folder() -> Path:
    """A folder for what can be read only once, or not as text; it is gone when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="zskl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _piped(what: str) -> Any:
    stream = sys.stdin
    if stream is None or stream.isatty():
        raise ValueError(
            f"the {what} are to come from standard input, and nothing is piped into it: expected a table as CSV, as in "
            "cat rows.csv | zskl …; or name a file"
        )
    return stream


@lru_cache(maxsize=1)
def _kept(stream: Any) -> Path:
    """A copy of a stream, which a table is read from several times."""
    handle, name = tempfile.mkstemp(suffix=".csv", dir=scratch_folder())
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(getattr(stream, "buffer", stream), file)
    if not os.path.getsize(name):
        raise ValueError("standard input is empty: expected a table as CSV")
    return Path(name)


def _unpacked(source: Source) -> Any:
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
