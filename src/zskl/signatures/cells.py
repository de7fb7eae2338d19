"""What the text in a cell says: a number, a truth value, a date, a word, or nothing. A `Preparation` says what becomes
of columns with holes and words: it is learned once and kept, for new rows and new classes."""

import json
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-"})
TRUTH = {"true": 1.0, "false": 0.0}
LARGEST = float(np.finfo(np.float32).max)
YES_UNIT = "yes or no"
YES_OR_NO = {"yes": 1.0, "no": 0.0}
_UNITS = r"%|‰|°[CFcf]?|[€$£]|[kcdmµun]?[mglLsVWA][²³]?|k?Hz|ha|kt|lbs?|oz|in|ft|yd|mi|km/h|m/s|min|h|d|years?|yrs?"
_QUANTITY = re.compile(rf"([+-]?[\d.]+(?:[eE][+-]?\d+)?)(?:\s*({_UNITS})|\s+([^\W\d]\S{{0,9}}))")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?(\s*[^\W\d_]{1,10}|\s*%)?")
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


def parse_quantity(cell: str) -> tuple[float | None, str]:
    """What `parse_number` finds, also in front of a unit, or in yes and no; and the unit.

    >>> parse_quantity("12.5 cm"), parse_quantity("3"), parse_quantity("Yes"), parse_quantity("2nd")
    ((12.5, 'cm'), (3.0, ''), (1.0, 'yes or no'), (None, ''))
    """
    value = parse_number(cell)
    if value is None and cell.lower() in YES_OR_NO:
        return YES_OR_NO[cell.lower()], YES_UNIT
    match = _QUANTITY.fullmatch(cell) if value is None else None
    return (value, "") if match is None else (parse_number(match[1]), match[2] or match[3])


def cell_text(value: Any) -> str:
    """The text of a cell that may also hold a number, a truth value, or nothing; whole numbers without a point."""
    if isinstance(value, str):
        return value.strip()
    if value is None or value != value or type(value).__name__ == "NAType":
        return ""
    return f"{value:.17g}" if isinstance(value, float | np.floating) else str(value)


@dataclass(frozen=True)
class Column:
    """A column of numbers, perhaps with a `unit` behind them, whose holes become `fill` (None: there may be none), or
    one of these `categories`, of which a column that is left out has none."""

    name: str
    fill: float | None = None
    categories: tuple[str, ...] | None = None
    unit: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name,) if self.categories is None else tuple(f"{self.name}={word}" for word in self.categories)

    @property
    def left_out(self) -> bool:
        return self.categories == ()

    @property
    def plain(self) -> bool:
        return self.fill is None and self.categories is None and not self.unit

    def apply(self, raw: NDArray[Any], words: Sequence[str] | None = None) -> NDArray[Any]:
        """(n,) → (n, features). A category is its place in `words`, by default in `categories`; others become zeros."""
        if self.categories is not None:
            at = {word: place for place, word in enumerate(words or self.categories)}
            places = np.array([at[word] for word in self.categories], dtype=raw.dtype)
            return np.equal(raw[:, None], places).astype(raw.dtype)
        return raw[:, None] if self.fill is None else np.where(np.isnan(raw), raw.dtype.type(self.fill), raw)[:, None]


@dataclass(frozen=True)
class Preparation:
    """The columns that are read, in this order, and what becomes of each."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.features)

    @property
    def is_mixed(self) -> bool:
        """Whether there are words beside numbers."""
        return self.has_words and any(one.categories is None and one.unit != YES_UNIT for one in self.columns)

    def leave_out(self, names: Collection[str]) -> "Preparation":
        return Preparation(tuple(replace(one, categories=()) if one.name in names else one for one in self.columns))

    @property
    def has_words(self) -> bool:
        return any(column.categories for column in self.columns)

    def apply(self, raw: NDArray[Any], words: Sequence[Sequence[str] | None] = ()) -> NDArray[Any]:
        """What `encode_cells` gives (n, columns) → features (n, d); `words` are the categories it got, if others."""
        words = words or [None] * len(self.columns)
        return np.hstack([column.apply(raw[:, k], words[k]) for k, column in enumerate(self.columns)])

    def text(self) -> str:
        return json.dumps([asdict(column) for column in self.columns], ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> "Preparation":
        try:
            columns = tuple(
                Column(
                    str(one["name"]),
                    None if one["fill"] is None else float(one["fill"]),
                    None if one["categories"] is None else tuple(map(str, one["categories"])),
                    str(one.get("unit", "")),  # earlier versions kept none
                )
                for one in json.loads(text)
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"the preparation of features is damaged ({error!r}): make it again") from None
        return cls(columns)
