"""Counts of words in short texts: sparse rows, sparse descriptions of their classes, and the same as dense arrays."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

SEEN, UNSEEN = [*"abcdefgh"], [*"xyz"]
CLASSES = [*SEEN, *UNSEEN]


@dataclass(frozen=True, eq=False)
class Texts:
    X: sparse.csr_array  # (80, 50) rows of seen classes
    y: np.ndarray
    X_new: sparse.csr_array  # (21, 50) rows of unseen classes
    y_new: np.ndarray
    signatures: sparse.csr_array  # (11, 50) a row for each of CLASSES

    @property
    def table(self):
        """The descriptions as a mapping to sparse rows."""
        return {label: self.signatures[[row]] for row, label in enumerate(CLASSES)}

    @property
    def dense_table(self):
        return dict(zip(CLASSES, self.signatures.toarray(), strict=True))


@cache
def texts(dtype="float64"):
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(50, 0.08), len(CLASSES))

    def documents(labels, words):
        counts = np.array([rng.multinomial(words, 0.8 * topics[CLASSES.index(one)] + 0.2 / 50) for one in labels])
        return sparse.csr_array(counts * rng.uniform(0.5, 2.0, counts.shape)).astype(dtype)

    y, y_new = np.repeat(SEEN, 10), np.repeat(UNSEEN, 7)
    return Texts(documents(y, 12), y, documents(y_new, 12), y_new, documents(CLASSES, 30))


def dense(rows):
    return rows.toarray()
