"""Classes as points of a plane on which those that are described alike lie near each other.

The directions are the two along which the descriptions of the model's own classes differ most (classical scaling of
their distances, in closed form). Added classes are put into the same plane, so that nothing moves when one comes.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import to_numpy
from zskl.estimators.nearest_classes import nearest_classes
from zskl.serve.class_book import Book
from zskl.serve.refusal import Refusal
from zskl.serve.schemas.diagnostics import MapOfClasses
from zskl.signatures.table import SignatureTable

MOST = 2000  # classes that a map can show
NEAREST = 3  # classes named beside each one
FLAT = 1e-12  # a direction with less than this share of all differences is none
Floats = NDArray[np.float64]


class ClassMap:
    """The map of the classes of one model, for any book of it. The newest book's is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plane: Plane | None = None
        self._last: MapOfClasses | None = None

    def of(self, book: Book) -> MapOfClasses:
        """The place of each class, and the classes most like it."""
        if len(book.kinds) > MOST:
            raise Refusal(409, f"there are {len(book.kinds)} classes: a map shows {MOST} at most, see GET /classes")
        with self._lock:  # the first one to ask computes, the others wait
            if self._last is None or self._last["version"] != book.version:
                self._last = self._drawn(book)
            return self._last

    def _drawn(self, book: Book) -> MapOfClasses:
        names = list(book.kinds)
        vectors = scaled_classes(book.model.signature_scaling_, book.table)
        if self._plane is None:
            self._plane = Plane(vectors[[kind != "added" for kind in book.kinds.values()]])
        places = self._plane.places(vectors)
        order, cosines = nearest_classes(book.model.signature_scaling_, book.table, np.arange(len(names)), NEAREST)
        return {
            "version": book.version,
            "kept": self._plane.kept.tolist(),
            "classes": [
                {
                    "class": name,
                    "kind": book.kinds[name],
                    "x": float(places[k, 0]),
                    "y": float(places[k, 1]),
                    "nearest": [
                        {"class": names[other], "kind": book.kinds[names[other]], "similarity": float(cosine)}
                        for other, cosine in zip(order[k], cosines[k], strict=True)
                    ],
                }
                for k, name in enumerate(names)
            ],
        }


class Plane:
    """The two directions (p, 2) along which rows (c, p) differ most; zero where there is none. The largest entry of
    each is positive. `kept` (2,) is the share of all squared differences along each."""

    def __init__(self, vectors: Floats) -> None:
        self._mean = vectors.mean(axis=0)
        centred = vectors - self._mean
        wide = centred.shape[0] < centred.shape[1]
        inner = centred @ centred.T if wide else centred.T @ centred  # the smaller of the two has the same eigenvalues
        values, found = np.linalg.eigh(inner)  # rising
        whole = max(float(np.trace(inner)), np.finfo(float).tiny)
        self._directions, self.kept = np.zeros((centred.shape[1], 2)), np.zeros(2)
        for k, value in enumerate(values[::-1][:2]):
            if value <= FLAT * whole:
                break
            direction = centred.T @ found[:, -1 - k] if wide else found[:, -1 - k]
            direction = direction / np.linalg.norm(direction)
            self._directions[:, k] = direction * np.sign(direction[np.argmax(np.abs(direction))])
            self.kept[k] = value / whole

    def places(self, vectors: Floats) -> Floats:
        """(n, 2) of any rows (n, p)."""
        found: Floats = (vectors - self._mean) @ self._directions
        return found


def scaled_classes(scaling: Any, table: SignatureTable) -> Floats:
    """(c, p) the descriptions as the model scales them, each of unit length; the mean of several of one class."""
    scaled: Floats = np.asarray(to_numpy(scaling.apply(table.matrix)), np.float64)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit = scaled / np.where(length > 0, length, 1.0)
    place = {label: k for k, label in enumerate(table.classes.tolist())}
    codes = np.array([place[label] for label in table.labels.tolist()])
    sums = np.zeros((len(place), unit.shape[1]))
    np.add.at(sums, codes, unit)
    return sums / np.bincount(codes)[:, None]
