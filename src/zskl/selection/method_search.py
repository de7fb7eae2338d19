"""search: a grid, or the grids of a committee's members, on folds of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zskl.engines import Engine
from zskl.estimators.committee.classifier import Committee
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.selection.class_folds import Fold
from zskl.selection.committee_search import search_members
from zskl.selection.edges import Bounds
from zskl.selection.grid import Grid
from zskl.selection.grid_search import Report, plan, search_grid
from zskl.selection.material import Material, material
from zskl.selection.search_results import Search


def search(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    signatures: Any,
    grid: Grid,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | None = None,
    report: Report | None = None,
    extend: Bounds | None = None,
) -> Search:
    """Try every setting of a grid on every fold of the training rows.

    With `extend`, a number that is chosen at the edge of what was tried is tried one step further, by the grid's own
    step and for either scoring, until the choice is inside or a bound is reached.

    On a GPU, settings that can train as one stack do. On the CPU the runs go through `engine`. All values of a free
    setting, such as epochs, cost one run together. Of a committee, each member is searched by itself, then weights and
    temperatures of the best ones are tried.

    Parameters
    ----------
    estimator : ZeroShotClassifier
        The estimator whose settings are tried. It is not changed.
    X : array-like of shape (n, d)
        Training rows.
    y : array-like of shape (n,)
        Their classes.
    signatures : DataFrame, mapping or array-like
        The signatures, as for `fit`. Those of classes that are not in y are ignored.
    grid : mapping of str to sequence, or list of such mappings
        The values of each setting. All combinations are tried.
    folds : list of Fold, Dataset, int or None, default=None
        See `selection.folds`. A number or None (three) makes seeded folds.
    engine : Engine or None, default=None
        Where the runs happen. None runs them one after the other in this process.
    report : callable, default=None
        Called after each run with the runs done and the runs in all; these grow where the grid is extended.
    extend : mapping of str to (float, float), default=None
        The lowest and the highest value to which each number may be extended, as in `Method.bounds`. None tries the
        grid alone; `Choice.edges` then says which numbers are at an edge.

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
    return search_checked(material(estimator, X, y, signatures, folds), grid, engine, report, extend)


def search_checked(
    shared: Material,
    grid: Grid,
    engine: Engine | None = None,
    report: Report | None = None,
    extend: Bounds | None = None,
    with_default: bool = False,
) -> Search:
    """`search` on rows, signatures and folds that are checked already; `with_default` as for `plan`."""
    if isinstance(shared.estimator, Committee):
        return search_members(shared, shared.estimator, grid, engine, report, extend)
    return search_grid(plan(shared, grid, extend, with_default), engine, report)
