"""What speaks for a sample's class and against another. The parts add up to the difference of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import NumPyArray, to_numpy
from zskl.estimators import inputs, sparse_inputs
from zskl.estimators.panel import Panel, best_first
from zskl.parameters import count, did_you_mean, flag, listed
from zskl.shown.table import Shown
from zskl.signatures.labels import one_spelling

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier

UNDESCRIBED = "no description"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one sample scores `label` higher than `against`, or lower.

    `difference` is score(label) − score(against), raw: the sum of `contributions` (p,) and of the `offset`.
    `calibration` is what `calibration_` adds to it. There is a contribution for each of `attributes`. `values` and
    `values_against` (p,) are the two signatures before scaling; of a class with several, the one that scores best.

    Class means with a Gaussian kernel have a contribution for each seen class instead. `attributes` are then names of
    seen classes, and values say how similar to each of them the two classes are described. `likeness` (p,) says how
    much the sample is like each of them; below 0, it is unlike it. Else `likeness` is None.

    Values of a class that has no description are NaN.

    `terms` are parts of the difference that no contribution carries, by name, such as what examples add.
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
    terms: Mapping[str, float] = field(default_factory=dict)
    likeness: NumPyArray | None = None

    @property
    def offset(self) -> float:
        """What the terms add together."""
        return float(sum(self.terms.values()))

    @property
    def order(self) -> list[int]:
        """Places of the `shown` strongest attributes, for or against, strongest first; none that adds nothing."""
        strongest = np.argsort(-np.abs(self.contributions), kind="stable")[: self.shown]
        return [int(m) for m in strongest if self.contributions[m]]

    @property
    def top(self) -> list[tuple[str, float]]:
        """(attribute, contribution) of these."""
        return [(self.attributes[m], float(self.contributions[m])) for m in self.order]

    @property
    def rest(self) -> float:
        """What all others add together."""
        return float(np.delete(self.contributions, self.order).sum())

    @property
    def others(self) -> int:
        """How many others there are."""
        return len(self.contributions) - len(self.order)

    def like(self, m: int) -> bool | None:
        """Whether the sample is like the seen class m; None where contributions are of attributes."""
        return None if self.likeness is None else bool(self.likeness[m] > 0)

    def told(self, m: int) -> str:
        """The name of an attribute, or "like" or "unlike" a seen class."""
        return {None: "", True: "like ", False: "unlike "}[self.like(m)] + self.attributes[m]

    def record(self) -> dict[str, Any]:
        """The same for JSON. `by` says whether `attributes` are such, or seen classes that the sample is `like`."""
        return {
            "class": self.label,
            "against": self.against,
            "difference": self.difference,
            "calibration": self.calibration,
            "by": "attributes" if self.likeness is None else "classes",
            "attributes": [
                {
                    "attribute": self.attributes[m],
                    "contribution": float(self.contributions[m]),
                    "value": _known(self.values[m]),
                    "value_against": _known(self.values_against[m]),
                    "like": self.like(m),
                }
                for m in self.order
            ],
            "rest": self.rest,
            "others": self.others,
            "terms": dict(self.terms),
        }

    def __repr__(self) -> str:
        return f"Explanation({str(self.label)!r} against {str(self.against)!r}: {self.difference:+.4g})"

    def __str__(self) -> str:
        width = max(map(len, [*map(self.told, self.order), *self.terms]), default=0)
        lines = [self._title]
        for m, (_, contribution) in zip(self.order, self.top, strict=True):
            lines.append(f"  {self.told(m):<{width}}  {contribution:+.4g}  ({self._described(m)})")
        if self.others and self.rest:
            lines.append(f"  {self.others} more: {self.rest:+.4g}")
        lines += [f"  {name:<{width}}  {value:+.4g}" for name, value in self.terms.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(self.told(m), f"{self.contributions[m]:+.4g}", self._described(m)) for m in self.order]
        rows += [(f"{self.others} more", f"{self.rest:+.4g}", "")] if self.others and self.rest else []
        rows += [(name, f"{value:+.4g}", "") for name, value in self.terms.items()]
        return Shown(self._title, ("", "", ""), rows).html()

    @property
    def _title(self) -> str:
        calibration = f", calibration {self.calibration:+.4g}" if self.calibration else ""
        return f"{self.label} against {self.against}: {self.difference:+.4g}{calibration}"

    def _described(self, m: int) -> str:
        """The values of an attribute in both signatures."""
        mine, theirs = (
            UNDESCRIBED if np.isnan(one) else f"{one:.4g}" for one in (self.values[m], self.values_against[m])
        )
        return f"{mine} in both" if mine == theirs else f"{mine} against {theirs}"


def _known(value: float) -> float | None:
    """What JSON has for a value; null where there is none."""
    return None if np.isnan(value) else float(value)


def explain(
    model: ZeroShotClassifier,
    X: inputs.Rows,
    top: int = 5,
    signatures: Any = None,
    candidates: Any = None,
    label: Any = None,
    against: Any = None,
    calibrated: bool = True,
    raw: bool = False,
) -> list[Explanation]:
    """One for each row of X; see `Inspection.explain`."""
    check_is_fitted(model)
    model._check_explainable()
    top = count("top", top)
    X = inputs.sliceable(model, X, "an explanation")
    panel = Panel(model, signatures, candidates, calibrated)
    for table in (panel.table, model.signature_table_):
        sparse_inputs.refuse_signatures(table, "an explanation")
    if len(panel.labels) < 2:
        raise ValueError(
            f"the only candidate is {listed(panel.labels)}: an explanation compares two classes, so name another one"
        )
    mine, theirs = _place(panel, "label", label), _place(panel, "against", against)
    if mine is not None and mine == theirs:
        raise ValueError(f"label and against are both {listed([label])}: name two different classes")
    flag("raw", raw)
    explainer = model._raw_explainer(panel.table) if raw else model._explainer(panel.table)
    labels = panel.labels.tolist()
    constant = panel.constant * panel.seen
    found: list[Explanation] = []
    for rows, scores in panel.blocks(X):
        scaled = to_numpy(model._scaled(inputs.taken(model, X, rows))).astype(np.float64)
        first, second = _pairs(to_numpy(scores), mine, theirs)
        split = explainer.split(scaled, first, second)
        found += [
            Explanation(
                labels[first[i]],
                labels[second[i]],
                float(split.difference[i]),
                float(constant[second[i]] - constant[first[i]]),
                split.contributions[i],
                explainer.names,
                explainer.values[split.first[i]],
                explainer.values[split.second[i]],
                top,
                {name: float(values[i]) for name, values in split.terms.items() if values[i]},
                None if split.likeness is None else split.likeness[i],
            )
            for i in range(len(first))
        ]
    return found


def _place(panel: Panel, parameter: str, name: Any) -> int | None:
    """The column of a named class."""
    if name is None:
        return None
    labels = panel.labels.tolist()
    name = one_spelling(np.array([name], dtype=object), labels)[0]
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
