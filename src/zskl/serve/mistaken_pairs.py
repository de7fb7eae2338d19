"""Classes that are taken for each other, and the attributes in which two classes differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zskl.serve.attributes import Vocabulary
from zskl.serve.schemas.diagnostics import Difference, MistakenPair
from zskl.signatures.table import SignatureTable

PAIRS = 24  # pairs that are listed
TOLD = 3  # attributes that are named of a pair
ALIKE = 1e-9  # of the range of an attribute: a smaller difference is rounding
Labels = NDArray[np.object_]


class Differences:
    """Of the classes of a table: by their size if all attributes are shares from 0 to 1, otherwise as a part of the
    range of each attribute, so that units do not matter."""

    def __init__(self, words: Vocabulary, table: SignatureTable) -> None:
        self._names = words.names
        shares = words.low.min() >= 0 and words.high.max() <= 1
        spread = np.where(words.high > words.low, 1.0, 0.0) if shares else words.high - words.low
        self._weight = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(table.labels.tolist()):
            rows.setdefault(str(label), []).append(row)
        self._means = {label: table.matrix[mine].mean(axis=0) for label, mine in rows.items()}

    def between(self, one: str, other: str) -> list[Difference]:
        """The attributes in which two classes differ most, largest difference first; fewer if fewer differ."""
        values = self._means[one], self._means[other]
        apart = np.abs(values[0] - values[1]) * self._weight
        order = np.argsort(-apart, kind="stable")[:TOLD]
        return [
            {"attribute": self._names[m], "values": [float(values[0][m]), float(values[1][m])]}
            for m in order.tolist()
            if apart[m] > ALIKE
        ]


def largest(true: Labels, predicted: Labels, differences: Differences) -> list[MistakenPair]:
    """The pairs whose rows are most often taken for the other class, by their share of the rows of both."""
    rows = {name: int(count) for name, count in zip(*np.unique(true, return_counts=True), strict=True)}
    taken: dict[tuple[str, str], int] = {}
    for pair in zip(true.tolist(), predicted.tolist(), strict=True):
        if pair[0] != pair[1]:
            taken[pair] = taken.get(pair, 0) + 1
    found: list[MistakenPair] = []
    for one, other in sorted({(min(pair), max(pair)) for pair in taken}):
        counts = [rows.get(one, 0), rows.get(other, 0)]
        wrong = [taken.get((one, other), 0), taken.get((other, one), 0)]
        share = sum(wrong) / sum(counts)
        found.append({"classes": [one, other], "rows": counts, "mistaken": wrong, "share": share, "differ": []})
    best = sorted(found, key=lambda pair: -pair["share"])[:PAIRS]
    return [{**pair, "differ": differences.between(*pair["classes"])} for pair in best]
