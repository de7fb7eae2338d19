"""Classes that fit a description, best first, and what the description would be as a class.

A class agrees with a given attribute by 1 − |its value − the given value| / (range over all classes). How well it fits
is the mean over the attributes that were given; what was left open does not count. A sentence fits a class by the
cosine of their vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.nearest_classes import nearest_classes
from zskl.serve.attributes import Vocabulary
from zskl.serve.class_book import Book
from zskl.serve.schemas.fits import Agreement
from zskl.signatures.table import SignatureTable

REASONS = 3  # attributes that say why
DESCRIBED = "\n"  # no class has this name


def agreements(
    book: Book, words: Vocabulary, vector: NDArray[np.float64], given: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far each class agrees (c, m) with the m given attributes of a description (p,), and its values of these. A
    class with several descriptions agrees as its best one does."""
    names, matrix = list(book.kinds), book.table.matrix[:, given]
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)[given]
    each = np.clip(1 - np.abs(matrix - vector[given]) / spread, 0.0, 1.0)
    place = {name: k for k, name in enumerate(names)}
    found, values = np.zeros((2, len(names), each.shape[1]))
    best = np.full(len(names), -1.0)
    for label, row, own in zip(book.table.labels.tolist(), each, matrix, strict=True):
        k = place[str(label)]
        if row.mean() > best[k]:
            best[k], found[k], values[k] = row.mean(), row, own
    return found, values


def similarities(book: Book, vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """(c,) the cosine of a description (p,) and each class, as GET /classes/NAME tells it of two classes."""
    names = list(book.kinds)
    labels = np.array([*book.table.labels, DESCRIBED], dtype=object)
    table = SignatureTable(labels, np.vstack([book.table.matrix, vector]), book.table.names)
    place = np.array([len(names)])
    order, cosines = nearest_classes(book.model.signature_scaling_, table, place, len(names))
    found = np.empty(len(names))
    found[order[0]] = cosines[0]
    return found


def reasons(
    words: Vocabulary,
    vector: NDArray[np.float64],
    given: NDArray[np.bool_],
    agreed: NDArray[np.float64],
    values: NDArray[np.float64],
) -> list[Agreement]:
    """The given attributes that count most for a class: those that are far from the mean, and that it agrees with."""
    places = np.flatnonzero(given)
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)[places]
    weight = (0.1 + np.abs(vector - words.mean)[places] / spread) * agreed
    order = np.argsort(-weight, kind="stable")[:REASONS]
    return [
        {"attribute": words.names[places[k]], "value": float(values[k]), "agreement": float(agreed[k])} for k in order
    ]
