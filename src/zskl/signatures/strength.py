"""Whether descriptions explain anything: a Gaussian process predicts the direction of each training class from the
descriptions of the others, in closed form. If it does as well with the rows of the table permuted, the table tells
nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import NumPyArray, is_sparse_rows, to_numpy
from zskl.scaling import Scaling, fit_scaling

Floats = NDArray[np.float64]

LEAST_CLASSES = 15  # with fewer, a table that explains much may look like chance
MOST_CLASSES = 150  # that are compared
ROWS = 600  # that tell the classes of a dataset: more would be a second copy of a small one
BLOCK = 100  # of them that are scaled together
PERMUTATIONS = 49
NOISE = 0.1  # ν of the process
CLEAR = 2.0  # standard deviations over permuted tables: about 1 in 40 of these is so far above the others


def description_strength(K: Floats, directions: Floats) -> float:
    """How far descriptions predict better than permuted ones, in standard deviations of these.

    K (C, C) is the kernel between classes, `directions` (C, d) have unit length. What is compared is the mean cosine of
    each direction and its prediction from the other classes, −Σⱼ Aᵢⱼ mⱼ / Aᵢᵢ with A = (K + νI)⁻¹.
    """
    inverse = np.linalg.inv(K + NOISE * np.eye(len(K)))
    weights = -inverse / np.diag(inverse)[:, None]
    np.fill_diagonal(weights, 0.0)
    products = directions @ directions.T

    def mean_cosine(order: NDArray[np.int64]) -> float:
        G = products[np.ix_(order, order)]
        squares = ((weights @ G) * weights).sum(axis=1)
        return float(np.mean((weights * G).sum(axis=1) / np.sqrt(np.maximum(squares, 1e-12))))

    draw = np.random.default_rng(0)
    chance = [mean_cosine(draw.permutation(len(K))) for _ in range(PERMUTATIONS)]
    spread = float(np.std(chance))
    return (mean_cosine(np.arange(len(K))) - float(np.mean(chance))) / spread if spread > 0 else np.inf


def find_weak_descriptions(signatures: Any, owners: NDArray[np.int64], means: Floats) -> str:
    """One sentence if scaled signatures (R, p) of the classes `owners` (R,) with means (C, d) explain nothing."""
    C = len(means)
    if C < LEAST_CLASSES:
        return ""
    chosen = np.unique(np.linspace(0, C - 1, min(C, MOST_CLASSES)).round().astype(np.int64))
    mine = np.flatnonzero(np.isin(owners, chosen))
    Y, places = signatures[mine], np.searchsorted(chosen, owners[mine])
    squares = Y.squares() if is_sparse_rows(Y) else (Y * Y).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2 * to_numpy(Y @ Y.T), 0.0)
    apart = distances[places[:, None] != places[None, :]]
    width = float(np.median(apart[apart > 1e-12 * apart.max()])) if apart.any() else 1.0
    member = np.eye(len(chosen))[places]
    member /= member.sum(axis=0)
    directions = Scaling(("l2",)).apply(means[chosen] - means.mean(axis=0))
    strength = description_strength(member.T @ np.exp(-distances / width) @ member, directions)
    if strength >= CLEAR:
        return ""
    return (
        f"the descriptions explain nothing of the {C} training classes: in any other order they predict them as well; "
        "check that each row of the table is of its class, and that it describes what the features show"
    )


def find_weak_table(
    read: Callable[[NDArray[np.int64]], NumPyArray],
    codes: NDArray[np.int64],
    signatures: NumPyArray,
    owners: NDArray[np.int64],
) -> str:
    """The same of rows with class numbers (n,), of which some are read, and raw signatures (R, p) of classes (R,)."""
    places = np.unique(np.linspace(0, len(codes) - 1, min(len(codes), ROWS)).round().astype(np.int64))
    classes, mine = np.unique(codes[places], return_inverse=True)
    if len(classes) < LEAST_CLASSES:
        return ""
    rows = np.asarray(read(places))
    scaling = fit_scaling("auto", rows[::2], "feature_scaling")
    totals = np.zeros((len(classes), rows.shape[1]))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        np.add.at(totals, mine[part], scaling.apply(rows[part]))
    known = np.isin(owners, classes)
    Y = signatures[known].astype(np.float64)
    Y = fit_scaling("auto", Y, "signature_scaling").apply(Y)
    return find_weak_descriptions(Y, np.searchsorted(classes, owners[known]), totals / np.bincount(mine)[:, None])
