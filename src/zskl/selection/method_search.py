"""search: a grid, or the grids of a committee's members, on folds of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zskl.engines import Engine
from zskl.estimators.committee.classifier import Committee
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.selection.class_folds import Fold
from zskl.selection.committee_search import search_members
from zskl.selection.grid import Grid
from zskl.selection.grid_search import Report, Search, plan, search_grid
from zskl.selection.material import Material, material


def search(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    signatures: Any,
    grid: Grid,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | None = None,
    report: Report | None = None,
) -> Search:
    """Try every setting of a grid on every fold of the training rows.

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
        Called after each run with the runs done and the runs in all.

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
    return search_checked(material(estimator, X, y, signatures, folds), grid, engine, report)


def search_checked(shared: Material, grid: Grid, engine: Engine | None = None, report: Report | None = None) -> Search:
    """`search` on rows, signatures and folds that are checked already."""
    if isinstance(shared.estimator, Committee):
        return search_members(shared, shared.estimator, grid, engine, report)
    return search_grid(plan(shared, grid), engine, report)
