"""Grids → settings → groups that one fit serves."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from sklearn.base import clone

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import did_you_mean

Grid = Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]


def expand(grid: Grid, estimator: ZeroShotClassifier) -> list[dict[str, Any]]:
    """Every setting of a grid: all combinations of a mapping from names to values, or those of each mapping in a list.

    A single value needs no list: {"sigma": 0.8} means {"sigma": [0.8]}.
    """
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
                    f"{did_you_mean(name, known)}: expected some of {', '.join(known)}"
                )
        lists.append({name: values_of(name, values) for name, values in part.items()})
    settings = [setting for part in lists or [{}] for setting in combined(part)]
    unique = {repr(sorted(setting.items(), key=lambda item: item[0])): setting for setting in settings}
    for setting in unique.values():
        check(estimator, setting)
    return list(unique.values())


def combined(part: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each name, in the order of scikit-learn's `ParameterGrid`: names by the alphabet.

    >>> list(combined({"b": [1, 2], "a": [3]}))
    [{'a': 3, 'b': 1}, {'a': 3, 'b': 2}]
    """
    names = sorted(part)
    return (dict(zip(names, values, strict=True)) for values in product(*(part[name] for name in names)))


def check(estimator: ZeroShotClassifier, setting: Mapping[str, Any]) -> None:
    """Refuse a bad value before any work."""
    own = getattr(with_setting(estimator, setting), "_check_parameters", None)
    if own is not None:
        own()


def with_setting(estimator: ZeroShotClassifier, setting: Mapping[str, Any]) -> ZeroShotClassifier:
    """The estimator with these settings, to ask it about them: a light copy that shares everything else."""
    if any("__" in name for name in setting):
        nested: ZeroShotClassifier = clone(estimator).set_params(**setting)
        return nested
    model = copy.copy(estimator)
    model.__dict__.update(setting)
    return model


def group(settings: Sequence[Mapping[str, Any]], free: Sequence[str]) -> list[list[int]]:
    """Groups of places: the settings of a group differ only in the `free` names."""
    groups: dict[str, list[int]] = {}
    for place, setting in enumerate(settings):
        fixed = sorted((name, value) for name, value in setting.items() if name not in free)
        names = sorted(name for name in setting if name in free)
        groups.setdefault(repr((fixed, names)), []).append(place)
    return list(groups.values())


def values_of(name: str, values: Any) -> list[Any]:
    """The values of one setting in a grid, as a list."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return [values]
    found = list(values)
    if not found:
        raise ValueError(f"the grid has no value for {name!r}: give at least one, or leave the name out")
    return found
