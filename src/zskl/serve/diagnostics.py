"""How a model does on the test rows of the loaded data: to look at, not to choose by."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zskl import metrics
from zskl.arrays import to_numpy
from zskl.estimators.candidates import calibrated
from zskl.serve import mistaken_pairs
from zskl.serve.attributes import Vocabulary
from zskl.serve.refusal import Refusal
from zskl.serve.rows import TESTS, LoadedRows
from zskl.serve.schemas.diagnostics import Balance, ClassAccuracy, Confusion

POINTS = 200  # of the seen–unseen curve
SCORES = 50_000_000  # test rows times classes that are scored; of more rows, every second or third and so on is taken


@dataclass(frozen=True)
class _Scored:
    """Test rows of the model's classes."""

    names: NDArray[np.object_]  # (c,) the model's classes
    seen: NDArray[np.bool_]  # (c,) which of them are seen
    true: NDArray[np.object_]  # (n,) the classes of the rows
    scores: NDArray[np.float32]  # (n, c)

    @property
    def mixed(self) -> bool:
        """Whether some classes are seen and some unseen."""
        return bool(self.seen.any() and not self.seen.all())


class Diagnostics:
    """The seen–unseen curve and the confusion of classes, worked out when first asked for."""

    def __init__(self, rows: LoadedRows, words: Vocabulary) -> None:
        self._rows, self._model, self._words, self._lock = rows, rows.model, words, threading.Lock()

    def balance(self) -> Balance:
        """Accuracy on seen and unseen classes, by the constant subtracted from scores of seen classes."""
        with self._lock:  # the first one to ask computes, the others wait
            return self._balance

    def confusion(self) -> Confusion:
        """For each class of the model with test rows: how many are recognised, and what the others are taken for."""
        with self._lock:
            return self._confusion

    @cached_property
    def _balance(self) -> Balance:
        found = self._scored
        if not found.mixed or len(set(np.isin(found.true, found.names[found.seen]).tolist())) < 2:
            raise Refusal(
                409, "the loaded data have no test rows of both seen and unseen classes, so there is no curve"
            )
        curve = metrics.seen_unseen_curve(found.scores, found.true, found.names, found.seen)
        constant, harmonic = curve.best()
        few = curve.thinned(POINTS)
        points = zip(few.calibration.tolist(), few.seen.tolist(), few.unseen.tolist(), strict=True)
        return {
            "points": [{"calibration": c, "seen": s, "unseen": u} for c, s, u in points],
            "current": float(self._model.calibration_),
            "best": {"calibration": constant, "harmonic": harmonic},
        }

    @cached_property
    def _confusion(self) -> Confusion:
        found = self._scored
        constant = float(self._model.calibration_) if found.mixed else 0.0
        scores = to_numpy(calibrated(found.scores, found.seen, constant))
        predicted = found.names[np.argmax(scores, axis=1)]
        right = metrics.per_class_accuracy(found.true, predicted)
        wrong = metrics.wrong_answers(found.true, predicted)
        rows = {label: int(count) for label, count in zip(*np.unique(found.true, return_counts=True), strict=True)}

        told = mistaken_pairs.Differences(self._words, self._model.signature_table_)

        def accuracy(name: str, seen: bool) -> ClassAccuracy:
            return {
                "class": name,
                "kind": "seen" if seen else "unseen",
                "rows": rows[name],
                "accuracy": right[name],
                "wrong": [
                    {"class": other, "share": part, "differ": told.between(name, other)} for other, part in wrong[name]
                ],
            }

        classes = zip(found.names.tolist(), found.seen.tolist(), strict=True)
        return {
            "classes": [accuracy(name, seen) for name, seen in classes if name in rows],
            "pairs": mistaken_pairs.largest(found.true, predicted, told),
        }

    @cached_property
    def _scored(self) -> _Scored:
        names = self._model.candidates_
        rows = np.concatenate([self._rows.data.parts[part] for part in TESTS])
        rows = rows[np.isin(self._rows.labels[rows], names)]
        if not len(rows):
            raise Refusal(409, "the loaded data have no test rows of the model's classes")
        rows = rows[:: -(-len(rows) * len(names) // SCORES)]
        scores = np.empty((len(rows), len(names)), np.float32)
        self._model.compatibility(self._rows.X[rows], self._model.signature_table_, out=scores)
        return _Scored(names, np.isin(names, self._model.classes_), self._rows.labels[rows], scores)
