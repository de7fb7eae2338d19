"""Explanations: how the difference between the scores of two classes splits into what each attribute adds.

With P = Wᵀx and scaled signatures y, the arguments of a kernel are sums over the attributes m:

    D1 = Σₘ (Pₘ − yₘ)²        D2 = ‖x‖² + Σₘ yₘ((WᵀWy)ₘ − 2Pₘ)        s = Σₘ Pₘyₘ

The same holds for the difference between two classes a and b. Each attribute's difference times the secant
(k(Dₐ) − k(D_b)) / (Dₐ − D_b) is its part in k(Dₐ) − k(D_b), for any kernel.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl._arrays import Array, NumPyArray, convert_like, is_sparse_rows, namespace, to_dense, to_numpy
from zskl._display import Shown
from zskl._validation import check_count, check_flag, list_values, suggest
from zskl.estimators import _inputs
from zskl.estimators._candidates import CandidateScorer, top_columns
from zskl.kernels import Kernel, Pairs, kernel_score
from zskl.scaling import FITTED, LOOKED_UP, Scaling
from zskl.signatures.table import unify_spelling

if TYPE_CHECKING:
    from zskl.estimators.base import ZeroShotClassifier
    from zskl.signatures.table import SignatureTable

ScaledSignatures: TypeAlias = tuple[NumPyArray, NumPyArray | None]  # signatures y (n, p), and WᵀWy where there is a D2
NEAR = 1e-8  # of Σ|differences|: if their sum is smaller, rounding spoils the secant and the slope takes its place
UNDESCRIBED = "no description"
DENSE_VALUES = 1 << 20  # of sparse rows that are made dense at once
EXPLAINED = "the kernel methods, ale, cosine, devise, eszsl, eszsl-signs, sae and sje"


@dataclass(frozen=True)
class ScoreParts:
    """A score k(D1) + k(D2) with `incoherence`, k(D1) or k(s), or s itself without a kernel."""

    W: NumPyArray  # (d, p)
    kernel: Kernel | None = None
    incoherence: bool = False
    # (n, d) → P (n, p) and (rows, p) → (rows, p), for methods that compare not xᵀW and y but, say, their directions
    samples: Callable[[Array], Array] | None = None
    classes: Callable[[Array], Array] | None = None

    @property
    def radial(self) -> bool:
        return self.kernel is not None and self.kernel.radial

    @property
    def both(self) -> bool:
        """Whether there is a D2."""
        return self.radial and self.incoherence

    def project(self, X: Array) -> Array:
        return X @ convert_like(self.W, X) if self.samples is None else self.samples(X)

    def map_signatures(self, Y: Array) -> Array:
        """Scaled signatures Y (rows, p) as P meets them."""
        return Y if self.classes is None else self.classes(Y)

    def images(self, Y: NumPyArray) -> NumPyArray:
        """WᵀWy (rows, p), at the lower of two costs."""
        W = self.W.astype(Y.dtype)
        return np.asarray((Y @ W.T) @ W if len(Y) <= Y.shape[1] else Y @ (W.T @ W))

    def scores(self, P: Array, lengths: Array, norms: Array, Y: Array, image_norms: Array | None) -> Array:
        """(n, rows) of P (n, p) with ‖P‖² and ‖x‖² (n, 1), for Y (rows, p) with ‖Wy‖² (rows,) where there is a D2."""
        S = P @ Y.T
        if self.kernel is None:
            return S
        in_signatures = Pairs(lengths, S, namespace(Y).sum(Y * Y, axis=1)) if self.radial else None
        in_features = None if image_norms is None else Pairs(norms, S, image_norms)
        return kernel_score(self.kernel, S, in_signatures, in_features)

    def pair_scores(self, P: NumPyArray, norms: NumPyArray, Y: NumPyArray, images: NumPyArray | None) -> NumPyArray:
        """(n,) of rows and signatures one by one: P, Y and WᵀWy are (n, p)."""
        return reduce(add, map(self._value, self._arguments(self._addends(P, Y, images), norms)))

    def contributions(
        self, P: NumPyArray, norms: NumPyArray, first: ScaledSignatures, second: ScaledSignatures
    ) -> NumPyArray:
        """(n, p): what each attribute adds to score(first) − score(second), each y and WᵀWy (n, p), in float64."""
        return reduce(add, [gaps * secant for gaps, secant in self._secants(P, norms, first, second)])

    def weigh_differences(
        self,
        P: NumPyArray,
        norms: NumPyArray,
        first: ScaledSignatures,
        second: ScaledSignatures,
        differences: NumPyArray,
    ) -> NumPyArray:
        """(n, p): what each attribute adds if the two signatures differ by `differences` (n, p) in it.

        The difference of an argument is Σₘ (aₘ − bₘ) Fₘ with F = P, a + b − 2P for D1, or WᵀW(a + b) − 2P for D2.
        """
        slopes = [P]
        if self.radial:
            slopes = [one + other - 2 * P for one, other in zip(first, second, strict=True) if one is not None]
        secants = [secant for _, secant in self._secants(P, norms, first, second)]
        return differences * reduce(add, map(np.multiply, slopes, secants))

    def _addends(self, P: NumPyArray, Y: NumPyArray, images: NumPyArray | None) -> list[NumPyArray]:
        """(n, p) for each term: what each attribute adds to its argument."""
        if not self.radial:
            return [P * Y]
        return [(P - Y) ** 2] if images is None else [(P - Y) ** 2, Y * (images - 2 * P)]

    def _arguments(self, addends: list[NumPyArray], norms: NumPyArray) -> list[NumPyArray]:
        """(n,) for each term; what no attribute adds is ‖x‖² in D2."""
        return [u.sum(axis=1) + (norms[:, 0] if k == 1 else 0.0) for k, u in enumerate(addends)]

    def _value(self, t: NumPyArray) -> NumPyArray:
        if self.kernel is None:
            return t
        # Rounding can leave D2 below 0.
        return to_numpy(self.kernel.value(t.clip(min=0) if self.radial else t))

    def _secants(
        self, P: NumPyArray, norms: NumPyArray, first: ScaledSignatures, second: ScaledSignatures
    ) -> list[tuple[NumPyArray, NumPyArray]]:
        """For each term, what each attribute adds to the difference of its arguments (n, p), and the secant (n, 1)."""
        mine, theirs = self._addends(P, *first), self._addends(P, *second)
        terms = zip(mine, theirs, self._arguments(mine, norms), self._arguments(theirs, norms), strict=True)
        return [(u - v, self._secant(a, b, u - v)[:, None]) for u, v, a, b in terms]

    def _secant(self, a: NumPyArray, b: NumPyArray, differences: NumPyArray) -> NumPyArray:
        """(n,) (k(a) − k(b)) / (a − b), the slope if a = b; a − b is Σ `differences` (n, p), so that parts add up."""
        if self.kernel is None:
            return np.ones_like(a)
        gap = differences.sum(axis=1)
        near = np.abs(gap) <= NEAR * np.abs(differences).sum(axis=1)
        middle = 0.5 * (a + b)
        slope = to_numpy(self.kernel.slope(middle.clip(min=0) if self.radial else middle))
        return np.where(near, slope, (self._value(a) - self._value(b)) / np.where(near, 1.0, gap))


def get_score_parts(model: ZeroShotClassifier, wish: str = "cannot be explained by attributes") -> ScoreParts:
    check_is_fitted(model)
    _inputs.refuse_sparse_signatures(model.signature_table_, "an explanation or an attribute space")
    parts: ScoreParts | None = model._score_parts()
    if parts is None:
        raise ValueError(
            f"{type(model).__name__} {wish}: its score is not made of a projection xᵀW that meets a signature "
            f"attribute by attribute, as those of {EXPLAINED} are"
        )
    return parts


@dataclass(frozen=True, eq=False)
class Split:
    """Of n rows: the `difference` is the sum of all `contributions` and `terms`."""

    first: NumPyArray  # (n,) the signatures that are compared, among those of the table
    second: NumPyArray
    difference: NumPyArray  # (n,)
    contributions: NumPyArray  # (n, k)
    terms: Mapping[str, NumPyArray] = field(default_factory=dict)  # name → (n,)
    likeness: NumPyArray | None = None  # (n, k) to seen classes, if contributions are of these


class Explainer(Protocol):
    """A fitted model before candidates: `names` (k,) of contributions, `values` (rows, k) of them in each signature."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> NumPyArray: ...

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        """score(first) − score(second) of scaled rows (n, d) in float64; first and second (n,) are candidates."""


class AttributeExplainer:
    def __init__(self, model: ZeroShotClassifier, table: SignatureTable) -> None:
        self.parts = get_score_parts(model)
        self.names = attribute_names(model)
        self.values = read_only(table.matrix)
        self.rows = table.padded_rows()
        self.Y = to_numpy(self.parts.map_signatures(model.signature_scaling_.apply(table.matrix)))
        self.images = self.parts.images(self.Y) if self.parts.both else None

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        P, norms = self.project(scaled)

        def score(rows: NumPyArray) -> NumPyArray:
            return self.parts.pair_scores(P, norms, *self.signatures(rows))

        (a, score_a), (b, score_b) = (best_signature_rows(self.rows[classes], score) for classes in (first, second))
        contributions = self.parts.contributions(P, norms, self.signatures(a), self.signatures(b))
        return Split(a, b, score_a - score_b, contributions)

    def project(self, scaled: NumPyArray) -> tuple[NumPyArray, NumPyArray]:
        """P (n, p) and ‖x‖² (n, 1) of scaled rows."""
        return to_numpy(self.parts.project(scaled)), (scaled * scaled).sum(axis=1, keepdims=True)

    def signatures(self, rows: NumPyArray) -> ScaledSignatures:
        return self.Y[rows], None if self.images is None else self.images[rows]


def best_signature_rows(rows: NumPyArray, score: Callable[[NumPyArray], NumPyArray]) -> tuple[NumPyArray, NumPyArray]:
    """(n,) the best of the signatures (n, m) of each sample's class, and its score; `score` tells those of (n,)."""
    scores = np.stack([score(one) for one in rows.T], axis=1)
    place = np.arange(len(rows)), scores.argmax(axis=1)
    return rows[place], scores[place]


def attribute_names(model: ZeroShotClassifier) -> tuple[str, ...]:
    p = model.signature_table_.matrix.shape[1]
    return tuple(model.attribute_names_ or (f"attribute {m}" for m in range(p)))


def read_only(matrix: NumPyArray) -> NumPyArray:
    view = matrix.view()
    view.setflags(write=False)
    return view


# Explanations along attributes as you wrote them: one in which two descriptions agree adds nothing.
# Of a value r a scaling makes y = a·v + what centring adds. v is r, its root or logarithm if the scaling takes one,
# over the column's standard deviation or size if it divides by that; a is one number for a signature: what its length
# was divided by.
# Two signatures, one with a and v, the other with b and w, differ in attribute m by
#
#     yₘ − zₘ = (a + b)/2 · (vₘ − wₘ)  +  what centring and the two lengths make
#
# The difference of two scores is Σₘ (yₘ − zₘ) Fₘ with some factors F. So (a + b)/2 · (vₘ − wₘ) Fₘ is the attribute's
# own part, and all the rest is one term.

SCALING = "centring and lengths"
NOISE = 1e-12  # of what is added up: a smaller rest is rounding
Parts: TypeAlias = Callable[[NumPyArray, NumPyArray, NumPyArray], NumPyArray]  # scaled rows, two signatures → (n, p)


@dataclass(frozen=True, eq=False)
class RawValues:
    """v (rows, p) and a (rows, 1) of each signature."""

    values: NumPyArray
    factors: NumPyArray

    @classmethod
    def from_signatures(cls, scaling: Scaling, matrix: NumPyArray) -> RawValues:
        rows = values = np.asarray(matrix, dtype=np.float64)
        factors = np.ones((len(rows), 1))
        for place, step in enumerate(scaling.steps):
            if step == "sqrt":
                if any(one in FITTED for one in scaling.steps[:place]):
                    raise ValueError(
                        f"signatures are scaled by {'-'.join(scaling.steps)!r}, a square root of centred values: "
                        "contributions of raw values need the square root first; explain without raw"
                    )
                values, factors = np.sign(values) * np.sqrt(np.abs(values)), np.sqrt(factors)
            elif step in LOOKED_UP:  # always the first
                values = replace(scaling, steps=(step,)).apply(values)
            elif step == "l2":
                factors = factors * inverse_lengths(rows)
            elif step == "standardize":
                assert scaling.deviation is not None
                values = values / scaling.deviation
            rows = replace(scaling, steps=(step,)).apply(rows)
        return cls(values, factors)

    def times(self, factors: NumPyArray) -> RawValues:
        return RawValues(self.values, self.factors * factors)

    def differences(self, first: NumPyArray, second: NumPyArray) -> NumPyArray:
        """(n, p) (a + b)/2 · (v − w) of signatures first and second (n,)."""
        mean = 0.5 * (self.factors[first] + self.factors[second])
        return np.asarray(mean * (self.values[first] - self.values[second]))


class RawAttributeExplainer:
    """Gives the contributions of another explainer, and some of its `terms`, along raw attributes instead."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        table: SignatureTable,
        explainer: Explainer,
        parts: Parts,
        terms: tuple[str, ...] = (),
    ) -> None:
        self.names, self.values = attribute_names(model), read_only(table.matrix)
        self._explainer, self._parts, self._terms = explainer, parts, terms

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        found = self._explainer.split(scaled, first, second)
        parts = self._parts(scaled, found.first, found.second)
        told = found.contributions.sum(axis=1) + sum(found.terms.get(name, 0.0) for name in self._terms)
        others = {name: values for name, values in found.terms.items() if name not in self._terms}
        rest, size = told - parts.sum(axis=1), np.abs(told) + np.abs(parts).sum(axis=1)
        terms = {SCALING: np.where(np.abs(rest) > NOISE * size, rest, 0.0), **others}
        return Split(found.first, found.second, found.difference, parts, terms)


def explain_raw_score_parts(model: ZeroShotClassifier, table: SignatureTable) -> RawAttributeExplainer:
    explainer = AttributeExplainer(model, table)
    scaled = model.signature_scaling_.apply(table.matrix)
    raw = RawValues.from_signatures(model.signature_scaling_, table.matrix)
    raw = raw.times(inverse_lengths(scaled) / inverse_lengths(explainer.Y))  # what a cosine divides by

    def parts(rows: NumPyArray, first: NumPyArray, second: NumPyArray) -> NumPyArray:
        pair = explainer.signatures(first), explainer.signatures(second)
        return explainer.parts.weigh_differences(*explainer.project(rows), *pair, raw.differences(first, second))

    return RawAttributeExplainer(model, table, explainer, parts)


def inverse_lengths(rows: NumPyArray) -> NumPyArray:
    """(n, 1) of rows (n, d); 1 for a row of zeros."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return 1 / np.where(length > 0, length, 1.0)


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
                    "value": None if np.isnan(self.values[m]) else float(self.values[m]),
                    "value_against": None if np.isnan(self.values_against[m]) else float(self.values_against[m]),
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
        both = self.values[m], self.values_against[m]
        mine, theirs = (UNDESCRIBED if np.isnan(one) else f"{one:.4g}" for one in both)
        return f"{mine} in both" if mine == theirs else f"{mine} against {theirs}"


def explain_rows(
    model: ZeroShotClassifier,
    X: _inputs.Rows,
    top: int = 5,
    signatures: Any = None,
    candidates: Any = None,
    label: Any = None,
    against: Any = None,
    calibrated: bool = True,
    raw: bool = False,
) -> list[Explanation]:
    check_is_fitted(model)
    model._check_explainable()
    top = check_count("top", top)
    X = _inputs.as_sliceable(model, X, dense_for=None)
    scorer = CandidateScorer(model, signatures, candidates, calibrated)
    if is_sparse_rows(model.signature_table_.matrix):
        model = copy.copy(model)
        model.signature_table_ = model.signature_table_.to_dense()
    table = scorer.table.to_dense()
    if len(scorer.labels) < 2:
        raise ValueError(
            f"the only candidate is {list_values(scorer.labels)}: an explanation compares two classes, so name another "
            "one"
        )
    mine, theirs = _find_explained_column(scorer, "label", label), _find_explained_column(scorer, "against", against)
    if mine is not None and mine == theirs:
        raise ValueError(f"label and against are both {list_values([label])}: name two different classes")
    check_flag("raw", raw)
    explainer = model._raw_explainer(table) if raw else model._explainer(table)
    labels, constant = scorer.labels.tolist(), scorer.constant * scorer.seen
    found: list[Explanation] = []
    # An explanation is dense, so sparse rows come in blocks of the size of dense ones.
    for rows, scores in scorer.blocks(X, max(1, DENSE_VALUES // X.shape[1]) if is_sparse_rows(X) else None):
        scaled = to_numpy(to_dense(model._scale_rows(_inputs.take_input_rows(model, X, rows)))).astype(np.float64)
        first, second = _pair_explained_columns(to_numpy(scores), mine, theirs)
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


def _find_explained_column(scorer: CandidateScorer, parameter: str, name: Any) -> int | None:
    if name is None:
        return None
    labels = scorer.labels.tolist()
    name = unify_spelling(np.array([name], dtype=object), labels)[0]
    if name not in labels:
        near = suggest(name, [str(label) for label in labels])
        raise ValueError(
            f"{parameter} {list_values([name])} is not among the candidates{near}: expected one of "
            f"{list_values(labels)}"
        )
    return int(labels.index(name))


def _pair_explained_columns(scores: NumPyArray, mine: int | None, theirs: int | None) -> tuple[NumPyArray, NumPyArray]:
    """(n,) columns of the class and of the one against it: those named, else the best of the others."""
    if mine is None and theirs is None:
        order, _ = top_columns(scores, 2)
        return order[:, 0], order[:, 1]
    others = scores.copy()
    others[:, [column for column in (mine, theirs) if column is not None]] = -np.inf
    best = others.argmax(axis=1)
    first, second = (best if column is None else np.full(len(scores), column) for column in (mine, theirs))
    return first, second
