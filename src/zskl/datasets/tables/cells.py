"""What the text in a cell says: a number, a truth value, a date, a word, or nothing; and what to do about the last."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
COMMAS = "say so with decimal=',' (--decimal ,)"
POINT_AND_COMMA = (
    "which has a point, and the file was said to have decimal commas: write all numbers in one way, without signs "
    "between thousands, and say which with decimal= (--decimal)"
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


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether the text is a finite number as people write it: 1_000, which Python takes, is not one."""
    try:
        return math.isfinite(float(to_point(cell, decimal))) and "_" not in cell
    except ValueError:
        return False


def to_point(cell: str, decimal: str) -> str:
    """The cell with a decimal point where the file has a comma. A point in a number is then an error: 1.500 or 1.5?

    >>> to_point("1,5", ","), to_point("owl, barn", ","), to_point("1.5", ".")
    ('1.5', 'owl, barn', '1.5')
    """
    if decimal == ".":
        return cell
    if _DECIMAL_COMMA.fullmatch(cell.strip()):
        return cell.replace(",", ".")
    if "." in cell and is_number(cell):
        raise ValueError(f"found {cell!r}, {POINT_AND_COMMA}")
    return cell


def is_numeral(cell: str) -> bool:
    """Whether the text is a number of any size, also infinity."""
    try:
        return not math.isnan(float(cell))
    except ValueError:
        return False


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def is_date(cell: str) -> bool:
    return _DATE.fullmatch(cell.strip()) is not None


def parse_number(cell: str, decimal: str = ".") -> float | None:
    """The number that a cell says, within float32; NaN if it says nothing, None if it says something else."""
    try:
        text = to_point(cell.strip(), decimal)
    except ValueError:
        return None
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


def advise_on_cell(cell: str) -> str:
    """What to do about a cell that is not a number: the end of a sentence that says what was found."""
    if is_missing(cell):
        return f"; {_FILLED}"
    if is_date(cell):
        return f"; {DATES}"
    if is_numeral(cell) and "_" not in cell:  # infinity
        return "; repair it, or leave out the row"
    return hint_decimal_comma(cell) or hint_semicolons([cell]) or f"; {_NAMED}"


def hint_decimal_comma(cell: object) -> str:
    hint = f", with a decimal point, not a comma; if the file has decimal commas, {COMMAS}"
    return hint if isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell.strip()) else ""


def hint_semicolons(names: Sequence[str]) -> str:
    """What to do, at the end of a sentence, if a file's columns were told apart by commas and not by semicolons."""
    found = any(";" in name for name in names)
    return f"; if semicolons separate them, and fractions have commas, {COMMAS}" if found else ""


def cell_error(where: str, cell: str) -> ValueError:
    """The error for a cell that should hold a number. `where` names the file, the line and the column."""
    found = repr(cell) if cell else "nothing"
    if is_number(cell) and abs(float(cell)) <= LARGEST:  # a number, but for its point
        return ValueError(f"{where}: found {found}, {POINT_AND_COMMA}")
    if is_number(cell) or (is_numeral(cell) and "e" in cell.lower()):  # 1e39, 1e400
        return ValueError(f"{where}: found {found}, which {TOO_LARGE}")
    return ValueError(f"{where}: found {found}, expected a finite number{advise_on_cell(cell)}")
