"""Grids of settings: their combinations, groups that one fit serves, and steps beyond an edge of what was tried."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from zskl._validation import suggest
from zskl.estimators.base import ZeroShotClassifier

Grid = Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]
Setting = Mapping[str, Any]
Bounds = Mapping[str, tuple[float, float]]  # setting → lowest and highest value that a grid may be extended to
SIDES = ("lowest", "highest")
DIGITS = 4  # of a value that is not in the grid
ROUNDING = 1e-9  # values that differ by less, of their size, are the same: 0.3 and 3 * 0.1


def expand_grid(grid: Grid, estimator: ZeroShotClassifier) -> list[dict[str, Any]]:
    """Every setting of a grid, each once. A single value needs no list: {"sigma": 0.8} means {"sigma": [0.8]}."""
    if not isinstance(grid, Iterable):
        raise ValueError(
            f"grid is {grid!r}: expected a mapping from a setting's name to its values, or a list of mappings"
        )
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    known = estimator.get_params(deep=False)
    lists = []
    for part in parts:
        if not isinstance(part, Mapping):
            raise ValueError(f"the grid holds {part!r}: expected mappings from a setting's name to its values")
        for name in part:
            if name not in known:
                raise ValueError(
                    f"the grid names {name!r}, which {type(estimator).__name__} does not have"
                    f"{suggest(name, known)}: expected some of {', '.join(known)}"
                )
        lists.append({name: setting_values(name, values) for name, values in part.items()})
    settings = [setting for part in lists or [{}] for setting in combine_values(part)]
    unique = {repr(sorted(setting.items(), key=lambda item: item[0])): setting for setting in settings}
    for setting in unique.values():
        check_grid(estimator, setting)
    return list(unique.values())


def setting_values(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return [values]
    found = list(values)
    if not found:
        raise ValueError(f"the grid has no value for {name!r}: give at least one, or leave the name out")
    return found


def combine_values(part: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each name, in the order of scikit-learn's `ParameterGrid`: names by the alphabet.

    >>> list(combine_values({"b": [1, 2], "a": [3]}))
    [{'a': 3, 'b': 1}, {'a': 3, 'b': 2}]
    """
    names = sorted(part)
    return (dict(zip(names, values, strict=True)) for values in product(*(part[name] for name in names)))


def check_grid(estimator: ZeroShotClassifier, setting: Mapping[str, Any]) -> None:
    """Refuse a bad value before any work."""
    own = getattr(copy_with_setting(estimator, setting), "_check_parameters", None)
    if own is not None:
        own()


def copy_with_setting(estimator: ZeroShotClassifier, setting: Mapping[str, Any]) -> ZeroShotClassifier:
    """The estimator with these settings, to ask it about them: a light copy that shares everything else."""
    if any("__" in name for name in setting):
        nested: ZeroShotClassifier = clone(estimator).set_params(**setting)
        return nested
    model = copy.copy(estimator)
    model.__dict__.update(setting)
    return model


def group_settings(settings: Sequence[Mapping[str, Any]], free: Sequence[str]) -> list[list[int]]:
    """Groups of places: the settings of a group differ only in the `free` names."""
    groups: dict[str, list[int]] = {}
    for place, setting in enumerate(settings):
        fixed = sorted((name, value) for name, value in setting.items() if name not in free)
        names = sorted(name for name in setting if name in free)
        groups.setdefault(repr((fixed, names)), []).append(place)
    return list(groups.values())


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
                f"extend names {name!r}, which {type(estimator).__name__} does not have{suggest(name, known)}: "
                f"expected some of {', '.join(known)}"
            )
        ends = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else []
        if len(ends) != 2 or not all(map(is_number, ends)) or ends[0] > ends[1]:
            raise ValueError(f"extend[{name!r}] is {pair!r}: expected (lowest, highest), two numbers in this order")
        found[name] = (ends[0], ends[1])
    return found


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def next_value(values: Sequence[float], value: float, side: str, bounds: tuple[float, float]) -> float | None:
    """The value one step beyond `value`, which is at or beyond that end of the grid's `values`; None at the bound.

    A grid of at least three equally distant values, or with one that is not positive, goes on by its last difference;
    another by the ratio of its last two values. Whole numbers stay whole. The last step ends at the bound.
    """
    up = side == "highest"
    last, before = (values[-1], values[-2]) if up else (values[0], values[1])
    limit = bounds[up]
    if _at_most(limit, value) if up else _at_most(value, limit):
        return None
    gaps = np.diff(values)
    even = len(gaps) > 1 and np.allclose(gaps, gaps[0], rtol=1e-6, atol=0)
    new = value + (last - before) if even or values[0] <= 0 else value * (last / before)
    if _are_whole(values):
        new = max(round(new), value + 1) if up else min(round(new), value - 1)
        return min(new, limit) if up else max(new, limit)
    rounded = float(f"{new:.{DIGITS}g}")
    return float(min(rounded, limit) if up else max(rounded, limit))


def _at_most(value: float, end: float) -> bool:
    """value ≤ end, but for rounding."""
    return value <= end or math.isclose(value, end, rel_tol=ROUNDING)


def _distinct_values(values: Sequence[float]) -> list[float]:
    """The values, rising, and of those that are the same but for rounding the lowest."""
    rising = sorted(set(values))
    return [value for k, value in enumerate(rising) if k == 0 or not _at_most(value, rising[k - 1])]


def _are_whole(values: Sequence[float]) -> bool:
    return all(isinstance(one, int | np.integer) for one in values)


class GridRange:
    """How far the numbers of a grid go, and how far they may.

    A choice at the edge of what was tried says only that the best value may lie beyond: there the grid goes on.
    """

    def __init__(self, estimator: ZeroShotClassifier, settings: Sequence[Setting], bounds: Bounds) -> None:
        self.estimator = estimator
        names = dict.fromkeys(name for setting in settings for name in setting)
        found = {name: [setting[name] for setting in settings if name in setting] for name in names}
        numbers = {name: _distinct_values(values) for name, values in found.items() if all(map(is_number, values))}
        self.values = {name: values for name, values in numbers.items() if len(values) > 1}  # rising
        self.bounds: dict[str, tuple[float, float]] = {}
        for name, own in self.values.items():
            if name in bounds:
                low, high = bounds[name]
                self.bounds[name] = (math.ceil(low), math.floor(high)) if _are_whole(own) else (float(low), float(high))
                for end in self.bounds[name]:
                    check_grid(estimator, {**settings[0], name: end})
        # A stack on a GPU serves more settings than a fit on a CPU, but must not try more.
        on_any_device = copy_with_setting(estimator, {"device": None}) if hasattr(estimator, "device") else estimator
        self.free = on_any_device._free_settings(np.empty((0, 0)))

    def edges(self, settings: Sequence[Setting]) -> dict[int, tuple[Edge, ...]]:
        """For each place with a number at an edge these numbers, and what kept the search from going on."""
        tried = self._tried_ends(settings)
        found = {place: tuple(self._open_edges(setting, tried)) for place, setting in enumerate(settings)}
        return {place: edges for place, edges in found.items() if edges}

    def next_settings(self, settings: Sequence[Setting], places: Sequence[int]) -> list[dict[str, Any]]:
        """One step further in each number at an edge, with all values of other free settings: one fit serves them."""
        tried, effects = self._tried_ends(settings), set(map(self._effect, settings))
        new: dict[str, dict[str, Any]] = {}
        for place in dict.fromkeys(places):
            best = settings[place]
            for edge in self._open_edges(best, tried):
                name, bounds = edge.name, self.bounds.get(edge.name)
                to = None if bounds is None else next_value(self.values[name], edge.value, edge.side, bounds)
                for setting in settings if to is not None else ():
                    if setting.get(name) == edge.value and self._same_fit(setting, best):
                        further = {**setting, name: to}
                        new.setdefault(self._effect(further), further)
        return [setting for effect, setting in new.items() if effect not in effects]

    def _tried_ends(self, settings: Sequence[Setting]) -> dict[tuple[str, str], tuple[float, float]]:
        """The lowest and highest value tried of each name, beside equal values of all others."""
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for setting in settings:
            for name in self.values:
                # A default may be None, such as that of a seed.
                if is_number(setting.get(name)):
                    key, value = (name, _other_values(setting, name)), setting[name]
                    low, high = found.get(key, (value, value))
                    found[key] = min(low, value), max(high, value)
        return found

    def _open_edges(self, setting: Setting, tried: Mapping[tuple[str, str], tuple[float, float]]) -> Iterator[Edge]:
        """Each number beyond which nothing was tried with these other values, with the bound where it is at one."""
        for name, values in self.values.items():
            if not is_number(setting.get(name)):
                continue
            value = setting[name]
            lowest, highest = tried[name, _other_values(setting, name)]
            low, high = self.bounds.get(name, (-math.inf, math.inf))
            if _at_most(value, min(values[0], lowest)) and self._matters(setting, name, values[-1]):
                yield Edge(name, value, SIDES[0], low if _at_most(value, low) else None)
            if _at_most(max(values[-1], highest), value) and self._matters(setting, name, values[0]):
                yield Edge(name, value, SIDES[1], high if _at_most(high, value) else None)

    def _matters(self, setting: Setting, name: str, other: float) -> bool:
        return self._effect(setting) != self._effect({**setting, name: other})

    def _effect(self, setting: Setting) -> str:
        return repr(copy_with_setting(self.estimator, setting)._effective_settings())

    def _same_fit(self, setting: Setting, best: Setting) -> bool:
        """Whether two settings are the same, or differ in one free name."""
        if setting.keys() != best.keys():
            return False
        different = [name for name, value in best.items() if setting[name] != value]
        return not different or (len(different) == 1 and different[0] in self.free)


def _other_values(setting: Setting, without: str) -> str:
    return repr(sorted((name, value) for name, value in setting.items() if name != without))
