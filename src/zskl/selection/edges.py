"""Choices at the edge of a grid: the step that leads further, how far it may go, and what stays at an edge.

A choice at the edge of what was tried says only that the best value may lie beyond. So the grid is continued there by
its own step, until the choice is inside or a bound is reached.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import did_you_mean
from zskl.selection.grid import check, with_setting

Setting = Mapping[str, Any]
Bounds = Mapping[str, tuple[float, float]]  # setting → lowest and highest value that a grid may be extended to
SIDES = ("lowest", "highest")
DIGITS = 4  # of a value that is not in the grid
ROUNDING = 1e-9  # values that differ by less, of their size, are the same: 0.3 and 3 * 0.1


@dataclass(frozen=True)
class Edge:
    """A number of a chosen setting beyond which nothing was tried.

    Parameters
    ----------
    name : str
        The name of the setting.
    value : float
        Its value.
    side : {"lowest", "highest"}
        At which end of the tried values it is.
    bound : float or None
        The bound that kept the search from going on; None where the grid was not extended.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> grid = {"gamma": [1.0, 1e6]}
    >>> selection.search(baselines.ESZSL(), X, y, data.signatures, grid).pick("zsl").edges
    (Edge(name='gamma', value=1.0, side='lowest', bound=None),)
    """

    name: str
    value: float
    side: str
    bound: float | None = None

    @property
    def why(self) -> str:
        """Why it stays there: "bound" or "not extended"."""
        return "not extended" if self.bound is None else "bound"

    def __str__(self) -> str:
        reason = "the grid was not extended" if self.bound is None else "its bound"
        return f"{self.name}={self.value:g} is the {self.side} value tried ({reason})"


def check_bounds(extend: Any, estimator: ZeroShotClassifier) -> Bounds:
    """Bounds as numbers by name; None has none."""
    if extend is None:
        return {}
    if not isinstance(extend, Mapping):
        raise ValueError(
            f"extend is {extend!r}: expected a mapping from a setting's name to (lowest, highest), or None"
        )
    known = estimator.get_params()
    found: dict[str, tuple[float, float]] = {}
    for name, pair in extend.items():
        if name not in known:
            raise ValueError(
                f"extend names {name!r}, which {type(estimator).__name__} does not have{did_you_mean(name, known)}: "
                f"expected some of {', '.join(known)}"
            )
        ends = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else []
        if len(ends) != 2 or not all(map(is_number, ends)) or ends[0] > ends[1]:
            raise ValueError(f"extend[{name!r}] is {pair!r}: expected (lowest, highest), two numbers in this order")
        found[name] = (ends[0], ends[1])
    return found


def is_number(value: Any) -> bool:
    """Whether a value can be at an edge."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def further(values: Sequence[float], value: float, side: str, bounds: tuple[float, float]) -> float | None:
    """The value one step beyond `value`, which is at or beyond that end of the grid's `values`; None at the bound.

    A grid of at least three equally distant values, or with one that is not positive, goes on by its last difference;
    another by the ratio of its last two values. Whole numbers stay whole. The last step ends at the bound.
    """
    up = side == "highest"
    last, before = (values[-1], values[-2]) if up else (values[0], values[1])
    limit = bounds[up]
    if _up_to(limit, value) if up else _up_to(value, limit):
        return None
    gaps = np.diff(values)
    even = len(gaps) > 1 and np.allclose(gaps, gaps[0], rtol=1e-6, atol=0)
    new = value + (last - before) if even or values[0] <= 0 else value * (last / before)
    if _whole(values):
        new = max(round(new), value + 1) if up else min(round(new), value - 1)
        return min(new, limit) if up else max(new, limit)
    rounded = float(f"{new:.{DIGITS}g}")
    return float(min(rounded, limit) if up else max(rounded, limit))


def _typed(ends: tuple[float, float], values: Sequence[float]) -> tuple[float, float]:
    """Bounds of the same kind as the values."""
    low, high = ends
    return (math.ceil(low), math.floor(high)) if _whole(values) else (float(low), float(high))


def _up_to(value: float, end: float) -> bool:
    """value ≤ end, but for rounding."""
    return value <= end or math.isclose(value, end, rel_tol=ROUNDING)


def _distinct(values: Sequence[float]) -> list[float]:
    """The values, rising, and of those that are the same but for rounding the lowest."""
    rising = sorted(set(values))
    return [value for k, value in enumerate(rising) if k == 0 or not _up_to(value, rising[k - 1])]


def _whole(values: Sequence[float]) -> bool:
    return all(isinstance(one, int | np.integer) for one in values)


class Reach:
    """How far the numbers of a grid go, and how far they may."""

    def __init__(self, estimator: ZeroShotClassifier, settings: Sequence[Setting], bounds: Bounds) -> None:
        self.estimator = estimator
        names = dict.fromkeys(name for setting in settings for name in setting)
        found = {name: [setting[name] for setting in settings if name in setting] for name in names}
        numbers = {name: _distinct(values) for name, values in found.items() if all(map(is_number, values))}
        self.values = {name: values for name, values in numbers.items() if len(values) > 1}  # rising
        self.bounds = {name: _typed(bounds[name], values) for name, values in self.values.items() if name in bounds}
        for name, ends in self.bounds.items():
            for end in ends:
                check(estimator, {**settings[0], name: end})
        on_any_device = with_setting(estimator, {"device": None}) if hasattr(estimator, "device") else estimator
        self.free = on_any_device._free(np.empty((0, 0)))  # a stack of a GPU must not try more than a CPU

    def edges(self, settings: Sequence[Setting]) -> dict[int, tuple[Edge, ...]]:
        """For each place with a number at an edge these numbers, and what kept the search from going on."""
        lines = _Lines(settings, self.values)
        found = {}
        for place, setting in enumerate(settings):
            mine = tuple(
                Edge(name, value, side, self._limit(name, value, side))
                for name, value, side in self._open(setting, lines)
            )
            if mine:
                found[place] = mine
        return found

    def steps(self, settings: Sequence[Setting], places: Sequence[int]) -> list[dict[str, Any]]:
        """The settings at these places one step further in each number that is at an edge.

        The values of each other free setting ride along: the same fit serves them.
        """
        lines = _Lines(settings, self.values)
        tried = set(map(self._effect, settings))
        new: dict[str, dict[str, Any]] = {}
        for place in dict.fromkeys(places):
            best = settings[place]
            for name, value, side in self._open(best, lines):
                to = further(self.values[name], value, side, self.bounds[name]) if name in self.bounds else None
                if to is None:
                    continue
                for setting in settings:
                    if setting.get(name) == value and self._rides(setting, best):
                        one = {**setting, name: to}
                        new.setdefault(self._effect(one), one)
        return [setting for key, setting in new.items() if key not in tried]

    def _open(self, setting: Setting, lines: _Lines) -> Iterator[tuple[str, float, str]]:
        """(name, value, side) of each number beyond which nothing was tried with these other values."""
        for name, values in self.values.items():
            if not is_number(setting.get(name)):
                continue
            value = setting[name]
            ends = [
                side
                for side, out in zip(SIDES, (_up_to(value, values[0]), _up_to(values[-1], value)), strict=True)
                if out
            ]
            for side in ends:
                lowest, highest = lines.ends(name, setting)
                last = _up_to(value, lowest) if side == SIDES[0] else _up_to(highest, value)
                if last and self._counts(setting, name, values[-1] if side == SIDES[0] else values[0]):
                    yield name, value, side

    def _counts(self, setting: Setting, name: str, other: float) -> bool:
        """Whether another value of a name changes anything beside the other settings."""
        return self._effect(setting) != self._effect({**setting, name: other})

    def _effect(self, setting: Setting) -> str:
        return repr(with_setting(self.estimator, setting)._effective())

    def _limit(self, name: str, value: float, side: str) -> float | None:
        """The bound, where the value is at it."""
        low, high = self.bounds.get(name, (-math.inf, math.inf))
        if side == SIDES[0]:
            return low if _up_to(value, low) else None
        return high if _up_to(high, value) else None

    def _rides(self, setting: Setting, best: Setting) -> bool:
        """Whether two settings are the same, or differ in one free name."""
        if setting.keys() != best.keys():
            return False
        different = [name for name, value in best.items() if setting[name] != value]
        return not different or (len(different) == 1 and different[0] in self.free)


class _Lines:
    """The lowest and highest value tried of each name, beside equal values of all others."""

    def __init__(self, settings: Sequence[Setting], names: Mapping[str, object]) -> None:
        self._ends: dict[tuple[str, str], tuple[float, float]] = {}
        for setting in settings:
            for name in names:
                if is_number(setting.get(name)):  # a default may be none, as that of a seed
                    key, value = (name, _key(setting, name)), setting[name]
                    low, high = self._ends.get(key, (value, value))
                    self._ends[key] = min(low, value), max(high, value)

    def ends(self, name: str, setting: Setting) -> tuple[float, float]:
        return self._ends[name, _key(setting, name)]


def _key(setting: Setting, without: str | None = None) -> str:
    return repr(sorted((name, value) for name, value in setting.items() if name != without))
