"""Excel workbooks: the first sheet as a CSV file whose lines are the rows of the sheet (extra `excel`)."""

from __future__ import annotations

import csv
import tempfile
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile


@lru_cache(maxsize=8)
def as_csv(path: Path, folder: Path, size: int, changed: int) -> Path:
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
            for cells in _rows(sheets[0]):
                writer.writerow(cells)
        return Path(file.name)
    finally:
        book.close()


def _rows(sheet: Any) -> Iterator[list[str]]:
    """The rows of a sheet without its empty columns at the right; a row without any cell is an empty line."""
    width = 0
    for cells in sheet.iter_rows(values_only=True):
        texts = ["" if cell is None else str(cell).strip() for cell in cells]
        filled = max((k for k, text in enumerate(texts, start=1) if text), default=0)
        width = width or filled  # that of the first row that is not empty
        yield [*texts[: max(width, filled)], *[""] * (width - len(texts))] if filled else []
