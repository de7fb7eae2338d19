"""Which classes are described most alike: cosines of signatures as a model scales them."""

from __future__ import annotations

import numpy as np

from zskl.arrays import NumPyArray, to_numpy
from zskl.estimators.candidates import best_of_rows
from zskl.estimators.ranking import BLOCK_BYTES, best_first
from zskl.scaling import Scaling
from zskl.signatures.table import SignatureTable


def nearest_classes(
    scaling: Scaling, table: SignatureTable, places: NumPyArray, top: int
) -> tuple[NumPyArray, NumPyArray]:
    """For the classes at `places` (k,) of a table, the places of the `top` classes nearest to each, and the cosines.

    Both are (k, top), most similar first, or as many as there are other classes. Of classes with several signatures
    the best pair counts. Classes are taken in blocks, so that many do not need all their cosines at once.
    """
    rows = table.padded_rows()  # (c, m)
    c, m = rows.shape
    top = min(top, c - 1)
    if top < 1:
        return np.empty((len(places), 0), dtype=np.int64), np.empty((len(places), 0))
    Y = Scaling(("l2",)).apply(scaling.apply(table.matrix))
    order, similarity = np.empty((len(places), top), dtype=np.int64), np.empty((len(places), top))
    height = max(1, BLOCK_BYTES[0] // (8 * m * len(Y)))
    for start in range(0, len(places), height):
        some = places[start : start + height]
        cosines = to_numpy(best_of_rows(Y[rows[some].ravel()] @ Y.T, rows)).reshape(-1, m, c).max(axis=1)
        cosines[np.arange(len(some)), some] = -np.inf
        order[start : start + height], similarity[start : start + height] = best_first(cosines, top)
    return order, similarity
