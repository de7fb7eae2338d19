"""Classes that fit a description, best first, with the rows of each that show it best.

A class agrees with a given attribute by 1 − |its value − the given value| / (range over all classes). How well it fits
is the mean over the attributes that were given; what was left open does not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zskl.serve.attributes import Vocabulary
from zskl.serve.class_book import Book
from zskl.serve.schemas.fits import Agreement

REASONS = 3  # attributes that say why


def agreements(
    book: Book, words: Vocabulary, vector: NDArray[np.float64], given: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.float64]]:
    """The names of all classes, and how far each agrees (c, m) with the m given attributes of a description (p,). A
    class with several descriptions agrees as its best one does."""
    names, matrix = list(book.kinds), book.table.matrix[:, given]
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)[given]
    each = np.clip(1 - np.abs(matrix - vector[given]) / spread, 0.0, 1.0)
    place = {name: k for k, name in enumerate(names)}
    found = np.zeros((len(names), each.shape[1]))
    best = np.full(len(names), -1.0)
    for label, row in zip(book.table.labels.tolist(), each, strict=True):
        k = place[str(label)]
        if row.mean() > best[k]:
            best[k], found[k] = row.mean(), row
    return names, found


def reasons(
    words: Vocabulary, vector: NDArray[np.float64], given: NDArray[np.bool_], agreed: NDArray[np.float64]
) -> list[Agreement]:
    """The given attributes that count most for a class: those that are far from the mean, and that it agrees with."""
    places = np.flatnonzero(given)
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)[places]
    weight = (0.1 + np.abs(vector - words.mean)[places] / spread) * agreed
    order = np.argsort(-weight, kind="stable")[:REASONS]
    return [{"attribute": words.names[places[k]], "agreement": float(agreed[k])} for k in order]
