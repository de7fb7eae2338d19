"""How the default grid of a method is written: a mapping from settings to values, or several of them, tried together.

Every default grid has standardised features. Where a setting costs a fit, they are tried with few values of the others.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Part: TypeAlias = Mapping[str, Sequence[Any]]  # all combinations of its values are tried
DefaultGrid: TypeAlias = Part | tuple[Part, ...]
FEATURES = "feature_scaling"
STANDARDIZED = "standardize-l2"  # for columns in different units
BATCH = "batch_size"  # in the grids of kernels alone: a search trains in larger batches than the paper's 10,
RATE = "learning_rate"  # at twice the rates: steps that are three times as few and less noisy may be larger


def add_standardized(grid: Part, few: Part) -> tuple[Part, Part]:
    """The grid, and beside it standardised features with a `few` values of the settings that cost a fit."""
    return grid, {**grid, **few, FEATURES: (STANDARDIZED,)}


def grid_parts(grid: DefaultGrid) -> tuple[Part, ...]:
    """The mappings of a grid, the largest first."""
    return (grid,) if isinstance(grid, Mapping) else tuple(grid)


def tried_values(grid: DefaultGrid, name: str) -> tuple[Any, ...]:
    """The values of a setting in all parts, each once."""
    return tuple(dict.fromkeys(value for part in grid_parts(grid) for value in part.get(name, ())))


def drop_fixed(grid: DefaultGrid, fixed: Container[str]) -> list[dict[str, list[Any]]]:
    """What is left to try where some settings are fixed; a part that tries nothing of its own is left out."""
    found: list[dict[str, list[Any]]] = []
    for part in grid_parts(grid):
        own_batch = any(name.endswith(BATCH) and name in fixed for name in part)
        tried = for_default_batches(part) if own_batch else part
        left = {name: list(values) for name, values in tried.items() if name not in fixed}
        if not any(_is_within(left, other) for other in found):
            found.append(left)
    return found


def trains_kernel(grid: DefaultGrid) -> bool:
    """Whether it is the grid of a kernel, or of a committee that has one."""
    return any(name.endswith(BATCH) for part in grid_parts(grid) for name in part)


def for_default_batches(part: Part) -> dict[str, tuple[Any, ...]]:
    """A part of a grid for the batches that an estimator has by itself: for kernels 10, at half the rates."""
    batched = [name.removesuffix(BATCH) for name in part if name.endswith(BATCH)]
    halved = {f"{name}{RATE}" for name in batched}
    return {
        name: tuple(value / 2 for value in values) if name in halved else tuple(values)
        for name, values in part.items()
        if not name.endswith(BATCH)
    }


def prefix_settings(name: str, settings: Mapping[str, T]) -> dict[str, T]:
    """Settings of a member or of a step under the names that the whole has for them, such as `means__shrinkage`."""
    return {f"{name}__{setting}": value for setting, value in settings.items()}


def nest_grids(members: Mapping[str, DefaultGrid]) -> tuple[Part, ...]:
    """The grids of several members as one, under nested names; each member keeps its parts."""
    lists = {name: grid_parts(grid) for name, grid in members.items()}
    found: list[dict[str, Sequence[Any]]] = [{} for _ in range(max(map(len, lists.values())))]
    for name, mine in lists.items():
        for k, part in enumerate(found):
            part.update(prefix_settings(name, mine[min(k, len(mine) - 1)]))
    return tuple(found)


def _is_within(part: Part, other: Part) -> bool:
    return part.keys() == other.keys() and all(set(part[name]) <= set(other[name]) for name in part)
