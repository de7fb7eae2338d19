"""Checks of settings: each error gives the value found and what was expected."""

import difflib
import re
import sys
from collections.abc import Collection, Iterable
from numbers import Integral
from typing import Any

import numpy as np

LARGEST = 1e18  # value of a setting: its square and the inverse of the square are still single-precision numbers
SHOWN = 5  # how many offenders an error names
SHORT = 4  # letters, below which two words may differ in one and both be right: cat, bat
_BETWEEN_WORDS = re.compile(r"[\s_-]+")


def find_caller_level() -> int:
    """The `stacklevel` by which a warning shows the line that called this package, not one of ours."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "zskl":
        frame, level = frame.f_back, level + 1
    return level


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


def find_near_name(name: Any, known: Iterable[Any]) -> Any:
    """The first of the `known` names that `name` may be a slip of, by case, spaces or one letter, but not in a number
    ("type 1" and "type 2" are two names); None if none is."""
    if not isinstance(name, str):
        return None
    simple = _simplify_name(name)
    others = (one for one in known if isinstance(one, str) and one != name)
    return next((one for one in others if _are_near(simple, _simplify_name(one))), None)


def find_near_pairs(names: Iterable[Any]) -> list[tuple[str, str]]:
    """The pairs of names of which one may be a slip of the other, as `find_near_name` says, of any number of names."""
    found: list[tuple[str, str]] = []
    known: dict[str, list[str]] = {}
    for name in dict.fromkeys(one for one in names if isinstance(one, str)):
        simple = _simplify_name(name)
        # Words that differ in one letter, or in two that are turned round, are the same without one of them.
        shorter = {simple, simple.replace(" ", ""), *(simple[:k] + simple[k + 1 :] for k in range(len(simple)))}
        others = dict.fromkeys(other for variant in shorter for other in known.get(variant, ()))
        found += [(other, name) for other in others if _are_near(_simplify_name(other), simple)]
        for variant in shorter:
            known.setdefault(variant, []).append(name)
    return found


def differ_in_spelling_alone(name: str, other: str) -> bool:
    """Whether two names differ in case, spaces, dashes and underscores alone. One letter has a case of its own."""
    first, second = _simplify_name(name), _simplify_name(other)
    joined = first.replace(" ", ""), second.replace(" ", "")
    same = first == second or (joined[0] == joined[1] and joined[0].isalpha())
    return same and (len(first) > 1 or name.strip() == other.strip())


def _simplify_name(name: str) -> str:
    return _BETWEEN_WORDS.sub(" ", name).strip().casefold()


def _are_near(first: str, second: str) -> bool:
    if len(first) > 1 and differ_in_spelling_alone(first, second):
        return True
    if abs(len(first) - len(second)) > 1:
        return False
    pairs = list(zip(first.split(" "), second.split(" "), strict=False))
    changed = [(one, other) for one, other in pairs if one != other]
    if first.count(" ") != second.count(" ") or len(changed) != 1:
        return False
    one, other = sorted(changed[0], key=len)
    if len(other) < SHORT or not (one + other).isalpha():
        return False
    start = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    turned = one[start + 1 : start + 2] + one[start : start + 1]  # two letters in the wrong order
    return one[start + 1 :] == other[start + 1 :] or turned + one[start + 2 :] == other[start:]


def list_values(values: Iterable[Any]) -> str:
    """The first few of `values` and how many more, for an error."""
    values = list(values)
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return ", ".join(repr(to_plain(value)) for value in values[:SHOWN]) + more


def to_plain(value: Any) -> Any:
    """A NumPy number or string as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
