"""search: a grid, or the grids of a committee's members, on folds of the training rows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zskl.engines import Engine
from zskl.estimators.committee.classifier import Committee
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import flag
from zskl.selection.class_folds import Fold
from zskl.selection.committee_search import search_members
from zskl.selection.edges import Bounds
from zskl.selection.grid import Grid
from zskl.selection.grid_search import Report, plan, search_grid
from zskl.selection.material import Material, is_pipeline, material
from zskl.selection.pipelines import search_pipeline
from zskl.selection.search_results import Search

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

log = logging.getLogger(__name__)
FEW_CLASSES = 12  # with fewer training classes a fold holds out so few that its figures are mostly luck


def search(
    estimator: ZeroShotClassifier | Pipeline,
    X: Any,
    y: Any,
    signatures: Any,
    grid: Grid,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | None = None,
    report: Report | None = None,
    extend: Bounds | None = None,
    with_default: bool = False,
    halving: bool | None = False,
) -> Search:
    """Try every setting of a grid on every fold of the training rows.

    With `extend`, a number that is chosen at the edge of what was tried is tried one step further, by the grid's own
    step and for either scoring, until the choice is inside or a bound is reached.

    On a GPU, settings that can train as one stack do. On the CPU the runs go through `engine`. All values of a free
    setting, such as epochs, cost one run together. Of a committee, each member is searched by itself, then weights and
    temperatures of the best ones are tried. Transformers of a pipeline are fitted on the training rows of each fold.

    Parameters
    ----------
    estimator : ZeroShotClassifier or Pipeline
        The estimator whose settings are tried, or a pipeline that ends in one. It is not changed.
    X : array-like of shape (n, d)
        Training rows.
    y : array-like of shape (n,)
        Their classes.
    signatures : DataFrame, mapping or array-like
        The signatures, as for `fit`. Those of classes that are not in y are ignored.
    grid : mapping of str to sequence, or list of such mappings
        The values of each setting. All combinations are tried. Names for a pipeline are `step__parameter`.
    folds : list of Fold, Dataset, int or None, default=None
        See `selection.folds`. A number or None (three) makes seeded folds.
    engine : Engine or None, default=None
        Where the runs happen. None runs them one after the other in this process.
    report : callable, default=None
        Called after each run with the runs done and the runs in all; these grow where the grid is extended.
    extend : mapping of str to (float, float), default=None
        The lowest and the highest value to which each number may be extended, as in `Method.bounds`. None tries the
        grid alone; `Choice.edges` then says which numbers are at an edge.
    with_default : bool, default=False
        Try the setting that the estimator has too, and choose it unless another is better beyond the spread of the
        folds, as `tune` does.
    halving : bool or None, default=False
        Make every run on the first fold with the fewest epochs, the better third there with all of them, and only the
        four best by either figure (and the default) on the others; beyond the grid, only runs that beat the choice on
        the first fold. A third of the work for methods that train; the choice is mostly the same. `Search.dropped` has
        the rest. None does so where `tune` does.

    Returns
    -------
    Search
        The figures of every setting on every fold.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> search = selection.search(baselines.ESZSL(), X, y, data.signatures, {"gamma": [0.1, 1.0, 10.0]})
    >>> search.zsl.shape  # settings by folds
    (3, 3)
    """
    if halving is not None:
        flag("halving", halving)
    shared = material(estimator, X, y, signatures, folds)
    return search_checked(shared, grid, engine, report, extend, with_default, halving)


def search_checked(
    shared: Material,
    grid: Grid,
    engine: Engine | None = None,
    report: Report | None = None,
    extend: Bounds | None = None,
    with_default: bool = False,
    halving: bool | None = False,
) -> Search:
    """`search` on rows, signatures and folds that are checked already."""
    if with_default and len(shared.table.classes) < FEW_CLASSES:
        log.warning("%s", _weakness(shared))
    return _searched(shared, grid, engine, report, extend, with_default, halving)


def _weakness(shared: Material) -> str:
    held = [len(np.unique(shared.y[fold.val_unseen])) for fold in shared.folds]
    some = f"{min(held)}" if min(held) == max(held) else f"{min(held)} to {max(held)}"
    return (
        f"validation is weak: there are {len(shared.table.classes)} training classes, and a fold holds out {some} of "
        "them; a setting that is chosen so may do worse on new classes than the default"
    )


def _searched(
    shared: Material,
    grid: Grid,
    engine: Engine | None,
    report: Report | None,
    extend: Bounds | None,
    with_default: bool,
    halving: bool | None,
) -> Search:
    if is_pipeline(shared.estimator):

        def inner(mine: Material, part: Grid, told: Report | None, bounds: Bounds, default: bool) -> Search:
            return _searched(mine, part, engine, told, bounds, default, halving)

        return search_pipeline(shared, grid, report, extend, with_default, inner)
    if isinstance(shared.estimator, Committee):
        return search_members(shared, shared.estimator, grid, engine, report, extend, with_default, halving)
    return search_grid(plan(shared, grid, extend, with_default, halving), engine, report)
