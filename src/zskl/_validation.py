"""Checks of settings: each error gives the value found and what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from numbers import Integral
from typing import Any

import numpy as np

LARGEST = 1e18  # value of a setting: its square and the inverse of the square are still single-precision numbers
SHOWN = 5  # how many offenders an error names


def check_positive(name: str, value: Any, zero_allowed: bool = False) -> float:
    """`value` as a float; refused if it is not a finite number above (or, if allowed, at) zero."""
    expected = f"a finite number {'≥' if zero_allowed else '>'} 0"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}: expected {expected}") from None
    if isinstance(value, bool | np.bool_ | str) or not (0 <= number < float("inf")) or not (number or zero_allowed):
        raise ValueError(f"{name} is {value!r}: expected {expected}")
    if number and not 1 / LARGEST <= number <= LARGEST:
        raise ValueError(f"{name} is {value!r}: expected {expected}, between {1 / LARGEST:g} and {LARGEST:g}")
    return number


def check_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} is {value!r}: expected an integer ≥ 1")
    return int(value)


def check_option(name: str, value: Any, options: Collection[str]) -> None:
    """Refuse a `value` that is not one of `options`, naming the nearest."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} is {value!r}: expected one of {', '.join(options)}{suggest(value, options)}")


def check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}: expected True or False")


def suggest(value: Any, options: Collection[str]) -> str:
    """ " (did you mean 'x'?)", or nothing when no option is near."""
    if not isinstance(value, str):
        return ""
    by_lower = {option.lower(): option for option in options}
    near = difflib.get_close_matches(value.lower(), by_lower, n=1, cutoff=0.5)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def list_values(values: Iterable[Any]) -> str:
    """The first few of `values` and how many more, for an error."""
    values = list(values)
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return ", ".join(repr(to_plain(value)) for value in values[:SHOWN]) + more


def to_plain(value: Any) -> Any:
    """A NumPy number or string as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
