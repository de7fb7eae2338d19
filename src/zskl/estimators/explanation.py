"""Which attributes speak for a sample's class and against another: parts that add up to the difference of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl.arrays import Array, NumPyArray, to_numpy
from zskl.estimators import inputs, score_parts
from zskl.estimators.ranking import Panel, best_first
from zskl.parameters import count, did_you_mean, listed


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one sample scores `label` higher than `against`, or lower.

    `difference` is score(label) − score(against), raw, and the sum of `contributions` (p,), one for each of
    `attributes`; `calibration` is what `calibration_` adds to it. `values` and `values_against` (p,) are the two
    signatures as they were handed over; of a class with several, the one that scores best.
    """

    label: Any
    against: Any
    difference: float
    calibration: float
    contributions: NumPyArray
    attributes: tuple[str, ...]
    values: NumPyArray
    values_against: NumPyArray
    shown: int = 5

    @property
    def order(self) -> list[int]:
        """Of the `shown` strongest attributes, for or against, strongest first."""
        return [int(m) for m in np.argsort(-np.abs(self.contributions), kind="stable")[: self.shown]]

    @property
    def top(self) -> list[tuple[str, float]]:
        """(attribute, contribution) of these."""
        return [(self.attributes[m], float(self.contributions[m])) for m in self.order]

    @property
    def rest(self) -> float:
        """What all others add together."""
        return float(np.delete(self.contributions, self.order).sum())

    def __str__(self) -> str:
        calibration = f", calibration {self.calibration:+.4g}" if self.calibration else ""
        lines = [f"{self.label} against {self.against}: {self.difference:+.4g}{calibration}"]
        width = max(map(len, (name for name, _ in self.top)))
        for m, (name, contribution) in zip(self.order, self.top, strict=True):
            mine, theirs = f"{self.values[m]:.4g}", f"{self.values_against[m]:.4g}"
            values = f"{mine} in both" if mine == theirs else f"{mine} against {theirs}"
            lines.append(f"  {name:<{width}}  {contribution:+.4g}  ({values})")
        others = len(self.contributions) - len(self.order)
        return "\n".join([*lines, f"  {others} more: {self.rest:+.4g}"] if others else lines)


def explain(
    model: Any,
    X: Array,
    top: int = 5,
    signatures: Any = None,
    candidates: Any = None,
    label: Any = None,
    against: Any = None,
    calibrated: bool = True,
) -> list[Explanation]:
    """One for each row of X; see `Inspection.explain`."""
    body, top = score_parts.of(model), count("top", top)
    X = inputs.sliceable(model, X)
    panel = Panel(model, signatures, candidates, calibrated)
    if len(panel.labels) < 2:
        raise ValueError(
            f"the only candidate is {listed(panel.labels)}: an explanation compares two classes, so name another one"
        )
    mine, theirs = _place(panel, "label", label), _place(panel, "against", against)
    if mine is not None and mine == theirs:
        raise ValueError(f"label and against are both {listed([label])}: name two different classes")
    names, labels = attribute_names(model), panel.labels.tolist()
    matrix = panel.table.matrix.view()
    matrix.setflags(write=False)  # rows of it are handed out
    described = _CandidateSignatures(body, model.signature_scaling_.apply(matrix), panel.table.padded_rows())
    found: list[Explanation] = []
    for rows, scores in panel.blocks(X):
        scaled = to_numpy(model._scaled(inputs.taken(model, X, rows))).astype(np.float64)
        P, norms = to_numpy(body.projected(scaled)), (scaled * scaled).sum(axis=1, keepdims=True)
        first, second = _pairs(to_numpy(scores), mine, theirs)
        (a, score_a), (b, score_b) = described.best(P, norms, first), described.best(P, norms, second)
        parts = body.contributions(P, norms, described.taken(a), described.taken(b))
        constant = panel.constant * panel.seen
        found += [
            Explanation(
                labels[first[i]],
                labels[second[i]],
                float(score_a[i] - score_b[i]),
                float(constant[second[i]] - constant[first[i]]),
                parts[i],
                names,
                matrix[a[i]],
                matrix[b[i]],
                top,
            )
            for i in range(len(first))
        ]
    return found


class _CandidateSignatures:
    """Signatures Y (rows, p), their WᵀWy where the score needs it, and the rows (c, m) of each class among them."""

    def __init__(self, body: score_parts.ScoreParts, scaled: NumPyArray, rows: NumPyArray) -> None:
        self.body, self.rows, self.Y = body, rows, to_numpy(body.described(scaled))
        self.images = body.images(self.Y) if body.both else None

    def taken(self, rows: NumPyArray) -> tuple[NumPyArray, NumPyArray | None]:
        return self.Y[rows], None if self.images is None else self.images[rows]

    def best(self, P: NumPyArray, norms: NumPyArray, classes: NumPyArray) -> tuple[NumPyArray, NumPyArray]:
        """(n,) the signature of each sample's class that scores best, and its score."""
        rows = self.rows[classes]  # (n, m)
        scores = np.stack([self.body.pair_scores(P, norms, *self.taken(one)) for one in rows.T], axis=1)
        place = np.arange(len(rows)), scores.argmax(axis=1)
        return rows[place], scores[place]


def attribute_names(model: Any) -> tuple[str, ...]:
    """Those of fit, or "attribute 0" and so on."""
    p = model.signature_table_.matrix.shape[1]
    return tuple(model.attribute_names_ or (f"attribute {m}" for m in range(p)))


def _place(panel: Panel, parameter: str, name: Any) -> int | None:
    """The column of a named class."""
    if name is None:
        return None
    labels = panel.labels.tolist()
    if name not in labels:
        near = did_you_mean(name, [str(label) for label in labels])
        raise ValueError(
            f"{parameter} {listed([name])} is not among the candidates{near}: expected one of {listed(labels)}"
        )
    return int(labels.index(name))


def _pairs(scores: NumPyArray, mine: int | None, theirs: int | None) -> tuple[NumPyArray, NumPyArray]:
    """(n,) columns of the class and of the one against it: those named, else the best of the others."""
    if mine is None and theirs is None:
        order, _ = best_first(scores, 2)
        return order[:, 0], order[:, 1]
    others = scores.copy()
    others[:, [column for column in (mine, theirs) if column is not None]] = -np.inf
    best = others.argmax(axis=1)
    first, second = (best if column is None else np.full(len(scores), column) for column in (mine, theirs))
    return first, second
