"""The default grid of an estimator that you hand over: that of the method whose settings it has, with its bounds.

A kernel is searched in batches of the grid's size, unless you gave it another size than it has by itself.
"""

from __future__ import annotations

from typing import Any

from zskl import methods
from zskl.estimators.committee.classifier import Committee
from zskl.estimators.default_grid import BATCH, DefaultGrid, nested, under, without
from zskl.selection.edges import Bounds
from zskl.selection.material import is_pipeline


def own_grid(estimator: Any) -> tuple[DefaultGrid, Bounds]:
    """Grid and bounds; for a pipeline those of its last step, for a committee those of its members, by nested names."""
    if is_pipeline(estimator):
        name, last = estimator.steps[-1]
        grid, bounds = own_grid(last)
        return nested({name: grid}), under(name, bounds)
    if isinstance(estimator, Committee):
        members = {name: own_grid(member) for name, member in estimator._hired()}
        ends = {key: pair for name, (_, bounds) in members.items() for key, pair in under(name, bounds).items()}
        return nested({name: grid for name, (grid, _) in members.items()}), ends
    method = methods.of(estimator)
    if method is not None:
        own = getattr(estimator, BATCH, None) == getattr(method.estimator(), BATCH, None)
        return method.grid if own else tuple(without(method.grid, {BATCH})), method.bounds
    kind = type(estimator)
    if hasattr(kind, "GRID"):
        return kind.GRID, getattr(kind, "BOUNDS", {})
    names = [name for name, one in methods.METHODS.items() if one.estimator is kind]
    example = f"methods.find({names[0]!r}).grid" if names else "{'name': [values]}"
    known = f"no method by name has the settings of {str(estimator)[:80]}"
    raise ValueError(f"grid is None, and {known}: expected a grid, such as {example}")
