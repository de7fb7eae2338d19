"""Explanations: how the difference between the scores of two classes splits into what each attribute adds.

By attributes as they were written (the default): one description is turned into the other along a straight line, all
attributes at the same pace, and each gets what its change adds to the score. An attribute in which the two agree does
not change, so it adds nothing.

By attributes as the model scales them: with P = Wᵀx and scaled signatures y, the arguments of a kernel are sums over
the attributes m:

    D1 = Σₘ (Pₘ − yₘ)²        D2 = ‖x‖² + Σₘ yₘ((WᵀWy)ₘ − 2Pₘ)        s = Σₘ Pₘyₘ

The same holds for the difference between two classes a and b. Each attribute's difference times the secant
(k(Dₐ) − k(D_b)) / (Dₐ − D_b) is its part in k(Dₐ) − k(D_b), for any kernel.
"""

from __future__ import annotations

import copy
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl._arrays import Array, NumPyArray, convert_like, is_sparse_rows, namespace, to_dense, to_numpy
from zskl._display import Shown, count_noun
from zskl._validation import check_count, check_flag, check_option, list_values, suggest
from zskl.estimators import _inputs
from zskl.estimators._blocks import BlockScaling
from zskl.estimators._candidates import CandidateScorer, top_columns
from zskl.kernels import Kernel, Pairs, kernel_score
from zskl.scaling import Scaling
from zskl.signatures.table import SignatureTable, unify_spelling

if TYPE_CHECKING:
    from zskl.estimators.base import ZeroShotClassifier

ScaledSignatures: TypeAlias = tuple[NumPyArray, NumPyArray | None]  # signatures y (n, p), and WᵀWy where there is a D2
NEAR = 1e-8  # of Σ|differences|: if their sum is smaller, rounding spoils the secant and the slope takes its place
UNDESCRIBED = "no description"
DENSE_VALUES = 1 << 20  # of sparse rows that are made dense at once
FORMS = ATTRIBUTES, CLASSES, SCALED = "attributes", "classes", "scaled"  # what contributions are of
NODES = 8, 32, 128  # places on the way from one description to the other, until what they add up to is near enough
ENOUGH = 1e-7  # of what is added up
PATH_VALUES = 1 << 21  # of slopes at all places that are held at once
GRAM_SIZE = 2048  # attributes, up to which WᵀW is kept
KEPT = 4  # sets of candidates that a model keeps prepared, so that one more row costs little
NUMBERED = re.compile(
    r"(attribute|attr|dimension|dim|feature|value|vector|column|col|component|unnamed|[defvwxz])?[ _.:-]*\d+",
    re.IGNORECASE,
)
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
    image_lengths: bool = False  # whether `classes` divides y by ‖Wy‖, not by ‖y‖

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

    @cached_property
    def gram(self) -> NumPyArray | None:
        """WᵀW (p, p) in float64; None if there are many attributes."""
        W = self.W.astype(np.float64)
        return np.asarray(W.T @ W) if W.shape[1] <= GRAM_SIZE else None

    def _mapped_images(self, Y: NumPyArray) -> NumPyArray:
        return self.images(Y) if self.gram is None else np.asarray(Y @ self.gram)

    def slopes(self, P: NumPyArray, norms: NumPyArray, Y: NumPyArray) -> NumPyArray:
        """(n, k, p): how the scores of rows with P (n, p) and ‖x‖² (n, 1) grow with each scaled value of Y (k, p)."""
        mapped = to_numpy(self.map_signatures(Y))
        S = P @ mapped.T
        found: NumPyArray
        if self.kernel is None:
            found = np.broadcast_to(P[:, None], (len(P), *Y.shape))
        elif not self.radial:
            found = to_numpy(self.kernel.slope(S))[:, :, None] * P[:, None]
        else:
            lengths = (P * P).sum(axis=1, keepdims=True)
            found = self._slope(lengths - 2 * S + (mapped * mapped).sum(axis=1)) * (mapped - P[:, None])
            if self.incoherence:
                images = self._mapped_images(mapped)
                found += self._slope(norms - 2 * S + (mapped * images).sum(axis=1)) * (images - P[:, None])
            found *= 2
        if self.classes is None:
            return found
        # The length ℓ(y) by which y is divided grows with y by N = y/ℓ, or by WᵀW of it.
        growth = self._mapped_images(mapped) if self.image_lengths else mapped
        along = (found * mapped).sum(axis=2, keepdims=True)
        return np.asarray((found - along * growth) * (inverse_lengths(Y) / inverse_lengths(mapped)))

    def _slope(self, D: NumPyArray) -> NumPyArray:
        assert self.kernel is not None
        return to_numpy(self.kernel.slope(D.clip(min=0)))[:, :, None]

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
    # What rows add: source → (n,) for the first class and for the second, of which the difference is a term
    sources: Mapping[str, tuple[NumPyArray, NumPyArray]] = field(default_factory=dict)
    blocks: Mapping[str, NumPyArray] = field(default_factory=dict)  # of features: name → (n,); apart from crowding


Explainer: TypeAlias = Any  # has what `ScaledExplainer` has, and `count_rows` where rows of the model add to scores


class ScaledExplainer:
    """By attributes as the model scales them: `names` (k,) of contributions, `values` (rows, k) in each signature."""

    def __init__(self, model: ZeroShotClassifier, table: SignatureTable) -> None:
        self.parts = get_score_parts(model)
        self.names = attribute_names(model)
        self.values = read_only(table.matrix)
        self.rows = table.padded_rows()
        self.Y = to_numpy(self.parts.map_signatures(model.signature_scaling_.apply(table.matrix)))
        self.images = self.parts.images(self.Y) if self.parts.both else None

    def compare(
        self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray
    ) -> tuple[NumPyArray, NumPyArray, Split]:
        """P (n, p) and ‖x‖² (n, 1) of scaled rows, and which signatures differ by how much; no contributions yet."""
        scaled = scaled.astype(np.float64)
        P, norms = to_numpy(self.parts.project(scaled)), (scaled * scaled).sum(axis=1, keepdims=True)

        def score(rows: NumPyArray) -> NumPyArray:
            return self.parts.pair_scores(P, norms, *self.signatures(rows))

        (a, score_a), (b, score_b) = (best_signature_rows(self.rows[classes], score) for classes in (first, second))
        return P, norms, Split(a, b, score_a - score_b, np.empty((len(P), 0)))

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        """score(first) − score(second) of scaled rows (n, d); first and second (n,) are candidates."""
        P, norms, found = self.compare(scaled, first, second)
        pair = self.signatures(found.first), self.signatures(found.second)
        return replace(found, contributions=self.parts.contributions(P, norms, *pair))

    def signatures(self, rows: NumPyArray) -> ScaledSignatures:
        return self.Y[rows], None if self.images is None else self.images[rows]


class AttributeExplainer(ScaledExplainer):
    """By attributes as they were written."""

    def __init__(self, model: ZeroShotClassifier, table: SignatureTable) -> None:
        super().__init__(model, table)
        self._path = DescriptionPath(model.signature_scaling_, table.matrix)

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        P, norms, found = self.compare(scaled, first, second)
        contributions = np.zeros_like(P)
        for a, b, rows in group_pairs(found.first, found.second, P.shape[1]):

            def slopes(times: NumPyArray, a: int = a, b: int = b, rows: NumPyArray = rows) -> NumPyArray:
                Y, pull = self._path.points(a, b, times)
                return pull(self.parts.slopes(P[rows], norms[rows], Y))

            contributions[rows] = integrate_slopes(slopes, found.difference[rows], self._path.changes(a, b))
        return replace(found, contributions=contributions)


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


# From one description to another, along a straight line between the values as they were written. (Where a scaling takes
# roots, logarithms or other units first, the line is straight between these.) With z(t) on it, t from 0 to 1,
#
#     score(a) − score(b) = Σₘ (aₘ − bₘ) ∫ ∂score/∂zₘ dt
#
# holds for any smooth score. The integrals are sums over a few places (Gauss-Legendre).


class DescriptionPath:
    """Straight lines between the descriptions of a table, through the scaling that the model does to them."""

    def __init__(self, scaling: Scaling, matrix: NumPyArray) -> None:
        steps = scaling.steps
        cut = steps.index("l2") if "l2" in steps else len(steps)  # what comes before treats each column by itself
        self.ends = replace(scaling, steps=steps[:cut]).apply(np.asarray(matrix, dtype=np.float64))  # (rows, p)
        self._rest = [replace(scaling, steps=(step,)) for step in steps[cut:]]

    def points(self, a: int, b: int, times: NumPyArray) -> tuple[NumPyArray, Callable[[NumPyArray], NumPyArray]]:
        """Scaled descriptions (k, p) at `times` (k,) on the way from b to a; and what makes of slopes by scaled values
        (n, k, p) slopes by those that the line is straight between."""
        Y = self.ends[b] + times[:, None] * (self.ends[a] - self.ends[b])
        passed = []
        for step in self._rest:
            before, Y = Y, step.apply(Y)
            passed.append((step, before, Y))

        def pull(found: NumPyArray) -> NumPyArray:
            for step, before, after in reversed(passed):
                if step.steps == ("l2",):
                    found = (found - (found * after).sum(axis=2, keepdims=True) * after) * inverse_lengths(before)
                elif step.steps == ("sqrt",):
                    found = found / (2 * np.sqrt(np.maximum(np.abs(before), NEAR)))
                elif step.steps == ("standardize",):
                    found = found / step.deviation
            return found

        return Y, pull

    def changes(self, a: int, b: int) -> NumPyArray:
        """(p,) from b to a."""
        return self.ends[a] - self.ends[b]


class BlockPath:
    """The same where each block of columns has a scaling of its own."""

    def __init__(self, scaling: BlockScaling, matrix: NumPyArray) -> None:
        self._blocks = scaling.blocks
        pairs = zip(scaling.parts, self._blocks.split(np.asarray(matrix)), strict=True)
        self._paths = [DescriptionPath(part, block) for part, block in pairs]

    def points(self, a: int, b: int, times: NumPyArray) -> tuple[NumPyArray, Callable[[NumPyArray], NumPyArray]]:
        """As that of `DescriptionPath`."""
        found = [path.points(a, b, times) for path in self._paths]

        def pull(slopes: NumPyArray) -> NumPyArray:
            pairs = zip(found, self._blocks.split(slopes), strict=True)
            return np.asarray(self._blocks.join([one(part) for (_, one), part in pairs]))

        return np.asarray(self._blocks.join([Y for Y, _ in found])), pull

    def changes(self, a: int, b: int) -> NumPyArray:
        """(p,) from b to a."""
        return np.asarray(self._blocks.join([path.changes(a, b) for path in self._paths]))


def make_path(scaling: Any, matrix: NumPyArray) -> DescriptionPath | BlockPath:
    return BlockPath(scaling, matrix) if isinstance(scaling, BlockScaling) else DescriptionPath(scaling, matrix)


@lru_cache(len(NODES))
def _quadrature(nodes: int) -> tuple[NumPyArray, NumPyArray]:
    """Places between 0 and 1, and their weights."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return (places + 1) / 2, weights / 2


def integrate_slopes(slopes: Callable[[NumPyArray], NumPyArray], whole: NumPyArray, changes: NumPyArray) -> NumPyArray:
    """(n, p) what each of the `changes` (p,) adds to `whole` (n,); `slopes` tells (n, k, p) at times (k,)."""
    if not changes.any():
        return np.zeros((len(whole), len(changes)))
    for nodes in NODES:
        times, weights = _quadrature(nodes)
        found = np.einsum("k,nkp->np", weights, slopes(times)) * changes
        rest, size = whole - found.sum(axis=1), np.abs(found)
        total = size.sum(axis=1)
        if (np.abs(rest) <= ENOUGH * (np.abs(whole) + total)).all():
            break
    # What the sum over places misses goes to the attributes in proportion, so that they add up to the last digit. At a
    # kink, such as a description that is just the mean of all, it may be more than they have.
    share = np.where((np.abs(rest) < total)[:, None], size, np.abs(changes))
    return np.asarray(found + rest[:, None] * share / share.sum(axis=1, keepdims=True))


def group_pairs(first: NumPyArray, second: NumPyArray, width: int) -> Iterator[tuple[int, int, NumPyArray]]:
    """Each pair of signatures, and the places of some rows that have it."""
    most = max(1, PATH_VALUES // (NODES[-1] * max(width, 1)))
    pairs: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        pairs.setdefault(pair, []).append(place)
    for (a, b), places in pairs.items():
        for start in range(0, len(places), most):
            yield a, b, np.array(places[start : start + most])


def inverse_lengths(rows: NumPyArray) -> NumPyArray:
    """(n, 1) of rows (n, d); 1 for a row of zeros."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return 1 / np.where(length > 0, length, 1.0)


@dataclass(frozen=True)
class Evidence:
    """What rows of one class add to the difference of two scores, beyond what the descriptions say.

    Parameters
    ----------
    label : class name
        The class whose rows these are.
    source : {"training rows", "examples", "unlabelled rows"}
        Where they come from.
    rows : float or None
        How many there are, or what they weigh; None if nobody knows.
    adds : float
        What they add; below 0, they speak against the explained class.
    examples : tuple of (int, float)
        Of examples, which add most: the first example of the class is 1.

    Examples
    --------
    >>> from zskl.estimators.explanation import Evidence
    >>> print(Evidence("owl", "training rows", 12.0, 0.1))
    12 training rows of owl
    """

    label: Any
    source: str
    rows: float | None
    adds: float
    examples: tuple[tuple[int, float], ...] = ()

    def __str__(self) -> str:
        count = "" if self.rows is None else f"{self.rows:.4g} "
        return f"{count}{self.source[:-1] if self.rows == 1 else self.source} of {self.label}"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one sample scores `label` higher than `against`, or lower.

    `difference` is score(label) − score(against), raw: the sum of `contributions` (p,) and of the `offset`.
    `calibration` is what `calibration_` adds to it. There is a contribution for each of `attributes`. `values` and
    `values_against` (p,) are the two signatures before scaling; of a class with several, the one that scores best.

    `by` says what contributions are of: "attributes" as you wrote them, attributes as the model scales them
    ("scaled"), or "classes". In the last form `attributes` are names of seen classes, and values say how similar to
    each of them the two classes are described. `likeness` (p,) says how much the sample is like each of them; below 0,
    it is unlike it. Else `likeness` is None. `note` says why the form is not the usual one.

    Values of a class that has no description are NaN.

    `terms` are parts of the difference that no contribution carries, by name, such as what examples add. `evidence`
    says which rows of which class make up those that are about rows. `blocks` is the same difference by blocks of
    features, such as one for each network, without crowding; empty if there is a single block.
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
    by: str = ATTRIBUTES
    evidence: tuple[Evidence, ...] = ()
    note: str = ""
    blocks: Mapping[str, float] = field(default_factory=dict)

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
            "by": CLASSES if self.by == CLASSES else ATTRIBUTES,
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
            "form": self.by,
            "note": self.note,
            "evidence": [
                {
                    "class": one.label,
                    "source": one.source,
                    "rows": one.rows,
                    "adds": one.adds,
                    "examples": [{"example": number, "adds": adds} for number, adds in one.examples],
                }
                for one in self.evidence
            ],
            "blocks": dict(self.blocks),
            "text": str(self),
        }

    def __repr__(self) -> str:
        return f"Explanation({str(self.label)!r} against {str(self.against)!r}: {self.difference:+.4g})"

    def __str__(self) -> str:
        title, lines, note = self._told()
        width = max((len(head) for head, _ in lines), default=0)
        found = [title, *(f"  {head:<{width}}  {text}" for head, text in lines)]
        return "\n".join([*found, f"  ({note})"] if note else found)

    def _repr_html_(self) -> str:
        title, lines, note = self._told()
        return Shown(title, ("", ""), [*lines, *([("", note)] if note else [])]).html()

    def _told(self) -> tuple[str, list[tuple[str, str]], str]:
        """The title, (head, text) of each line, and a note. The numbers add up as they are printed."""
        names = [self._compared(m) for m in self.order]
        values = [float(self.contributions[m]) for m in self.order]
        kind = "class" if self.by == CLASSES else "attribute"
        further = [(count_noun(self.others, f"other {kind}"), self.rest)] if self.others and self.rest else []
        further += [(str(one), one.adds) for one in self.evidence]
        sources = {one.source for one in self.evidence}
        further += [(name, value) for name, value in self.terms.items() if name not in sources]
        printed = round_to_sum([*values, *(value for _, value in further)], self.difference)
        rest = f"{sum_printed(printed[len(values) :])}" if further else ""
        title = f"{self.label} rather than {self.against}: {sum_printed(printed)}"
        if self.calibration:
            title += f", calibration {self.calibration:+.{decimals([self.calibration])}f}"
        lines = []
        for head, sign in (("for it", 1), ("against it", -1)):
            told = [
                f"{name} {number} ({self._described(m)})"
                for m, name, number, value in zip(self.order, names, printed, values, strict=False)
                if value * sign > 0
            ]
            lines += [(head, "; ".join(told))] if told else []
        if further:
            told = [f"{name} {number}" for (name, _), number in zip(further, printed[len(values) :], strict=True)]
            lines.append(("everything else", f"{rest}: {'; '.join(told)}" if len(told) > 1 else told[0]))
        if self.blocks:
            printed = round_to_sum(list(self.blocks.values()), sum(self.blocks.values()))
            told = [f"{name} {number}" for name, number in zip(self.blocks, printed, strict=True)]
            lines.append(("by features", "; ".join(told)))
        return title, lines, self.note

    def _compared(self, m: int) -> str:
        """An attribute, with "no" or "less" before it where the explained class has less of it."""
        mine, theirs = self.values[m], self.values_against[m]
        column, _, word = self.attributes[m].partition("=")
        if column and word and self.by != CLASSES:  # a word of a column
            return f"{column} {'not' if mine < theirs else '='} {word}"
        if self.by == CLASSES or not mine < theirs:
            return self.told(m)
        return f"no {self.told(m)}" if mine == 0 else f"less {self.told(m)}"

    def _described(self, m: int) -> str:
        both = self.values[m], self.values_against[m]
        mine, theirs = (UNDESCRIBED if np.isnan(one) else f"{one:.3g}" for one in both)
        return f"{mine} in both" if mine == theirs else f"{mine} against {theirs}"


def decimals(values: Sequence[float]) -> int:
    """How many decimals show three digits of the largest of the values."""
    largest = max(map(abs, values), default=0.0)
    return min(max(2 - math.floor(math.log10(largest)), 0), 12) if largest > 0 and math.isfinite(largest) else 3


def round_to_sum(values: Sequence[float], whole: float) -> list[str]:
    """The values as they are printed, rounded so that they add up to `whole` as it would be printed.

    What rounding leaves goes to the values that it moved most.

    >>> round_to_sum([0.3334, 0.3334, 0.3332], 1.0)
    ['+0.334', '+0.333', '+0.333']
    """
    places = decimals([*values, whole])
    exact = [value * 10**places for value in values]
    units = [round(value) for value in exact]
    left = round(whole * 10**places) - sum(units)
    order = sorted(range(len(units)), key=lambda k: (exact[k] - units[k]) * (1 if left > 0 else -1), reverse=True)
    for k in order[: abs(left)]:
        units[k] += 1 if left > 0 else -1
    return [f"{unit / 10**places:+.{places}f}" for unit in units]


def sum_printed(printed: Sequence[str]) -> str:
    places = max((len(one.partition(".")[2]) for one in printed), default=0)
    return f"{sum(map(float, printed)):+.{places}f}"


class RowExplainer:
    """Explains any number of rows by one fitted model before its candidates. What no row decides is worked out once."""

    def __init__(self, scorer: CandidateScorer, by: str | None = None) -> None:
        self.scorer = scorer
        model = scorer.model
        model._check_explainable()
        if is_sparse_rows(model.signature_table_.matrix):
            model = copy.copy(model)
            model.signature_table_ = model.signature_table_.to_dense()
        self.by, self.note = choose_form(model, by)
        self._model, self._labels, self._row_labels = model, scorer.labels.tolist(), scorer.table.labels.tolist()

    @cached_property
    def _explainer(self) -> Explainer:
        return self._model._explainer(self.scorer.table.to_dense(), self.by)

    def explain_columns(
        self, rows: Array, first: NumPyArray, second: NumPyArray, top: int, constant: float
    ) -> list[Explanation]:
        """Explanations of checked rows (n, d): of the candidates `first` (n,) against `second` (n,)."""
        explainer, labels = self._explainer, self._labels
        scaled = to_numpy(to_dense(self._model._scale_rows(rows)))
        split = explainer.split(scaled, first, second)
        calibration = constant * self.scorer.seen
        return [
            Explanation(
                labels[first[i]],
                labels[second[i]],
                float(split.difference[i]),
                float(calibration[second[i]] - calibration[first[i]]),
                split.contributions[i],
                explainer.names,
                explainer.values[split.first[i]],
                explainer.values[split.second[i]],
                top,
                {name: float(values[i]) for name, values in split.terms.items() if values[i]},
                None if split.likeness is None else split.likeness[i],
                self.by,
                tuple(self._find_evidence(scaled, split, i)) if split.sources else (),
                self.note,
                {name: float(values[i]) for name, values in split.blocks.items()},
            )
            for i in range(len(first))
        ]

    def _find_evidence(self, scaled: NumPyArray, split: Split, i: int) -> Iterator[Evidence]:
        for source, both in split.sources.items():
            for row, adds, sign in zip((split.first[i], split.second[i]), both, (1, -1), strict=True):
                if adds[i]:
                    rows, examples = self._explainer.count_rows(source, int(row), scaled[i], sign)
                    yield Evidence(self._row_labels[row], source, rows, sign * float(adds[i]), examples)


def choose_form(model: ZeroShotClassifier, by: str | None) -> tuple[str, str]:
    """What contributions are of, and a note if that is not what is usual."""
    if by is not None:
        check_option("by", by, FORMS)
        if by == CLASSES and not model._compares_with_classes:
            raise ValueError(
                f"by is {CLASSES!r}: {type(model).__name__} does not compare a class with seen ones; use "
                f"{ATTRIBUTES!r} or {SCALED!r}"
            )
        return by, ""
    if model._compares_with_classes and not has_names(model.attribute_names_):
        return CLASSES, (
            "the columns of the descriptions have no names, so training classes stand for them; by='attributes' "
            "(--by attributes) shows the columns by number"
        )
    return ATTRIBUTES, ""


def has_names(names: Sequence[str] | None) -> bool:
    """Whether the attributes have names that say something to a reader, and not just numbers."""
    return names is not None and not all(NUMBERED.fullmatch(str(name).strip()) for name in names)


def explain_rows(
    model: ZeroShotClassifier,
    X: _inputs.Rows,
    top: int = 5,
    signatures: Any = None,
    candidates: Any = None,
    label: Any = None,
    against: Any = None,
    calibrated: bool = True,
    by: str | None = None,
    raw: bool | None = None,
) -> list[Explanation]:
    check_is_fitted(model)
    model._check_explainable()
    top = check_count("top", top)
    if raw is not None:
        by = _form_for_raw(model, raw, by)
    X = _inputs.as_sliceable(model, X, dense_for=None)
    key, prepared = find_prepared(model, X, signatures, candidates, calibrated, by)
    if key not in prepared:
        # A copy, since a model that is held by what it holds would stay in memory.
        scorer = CandidateScorer(copy.copy(model), signatures, candidates, calibrated)
        if "_warned" in vars(scorer.model):
            model._warned = True
        prepared[key] = RowExplainer(scorer, by)
    explainer: RowExplainer = prepared[key]
    scorer = explainer.scorer
    if len(scorer.labels) < 2:
        raise ValueError(
            f"the only candidate is {list_values(scorer.labels)}: an explanation compares two classes, so name another "
            "one"
        )
    mine, theirs = _find_explained_column(scorer, "label", label), _find_explained_column(scorer, "against", against)
    if mine is not None and mine == theirs:
        raise ValueError(f"label and against are both {list_values([label])}: name two different classes")
    found: list[Explanation] = []
    # An explanation is dense, so sparse rows come in blocks of the size of dense ones.
    for rows, scores in scorer.blocks(X, max(1, DENSE_VALUES // X.shape[1]) if is_sparse_rows(X) else None):
        first, second = pair_explained_columns(to_numpy(scores), mine, theirs)
        block = _inputs.take_input_rows(model, X, rows)
        found += explainer.explain_columns(block, first, second, top, scorer.constant)
    return found


def _form_for_raw(model: ZeroShotClassifier, raw: Any, by: str | None) -> str:
    """The form that `raw` of 0.2 stands for."""
    check_flag("raw", raw)
    form = ATTRIBUTES if raw else CLASSES if model._compares_with_classes else SCALED
    warnings.warn(
        f"raw={raw!r} of explain goes with 0.4: use by={form!r}"
        + (", which is the default for attributes with names" if raw else ""),
        FutureWarning,
        stacklevel=4,
    )
    if by is not None and by != form:
        raise ValueError(f"raw is {raw!r} and by is {by!r}, which contradict each other: leave out raw")
    return form


def find_prepared(
    model: ZeroShotClassifier, X: Array, signatures: Any, candidates: Any, calibrated: bool, by: str | None
) -> tuple[tuple[Any, ...], dict[tuple[Any, ...], Any]]:
    """What earlier calls prepared if nothing has changed since, so that one more row costs little, and the key of ours.
    Signatures of other kinds than a table that has been read may change behind our back."""
    names = candidates.tolist() if isinstance(candidates, np.ndarray) else candidates
    if not isinstance(signatures, SignatureTable | None) or not isinstance(names, list | None) or is_sparse_rows(X):
        return (), {}
    key = repr(names), calibrated, by, type(X).__name__, str(X.dtype), str(getattr(X, "device", ""))
    state = {name: value for name, value in vars(model).items() if name not in ("_explainers", "_warned")}
    state["signatures"] = signatures
    before, kept = vars(model).get("_explainers", ({}, {}))
    # All that a model has learned is compared by identity: a fit, a lesson or a new constant puts other objects there.
    if state.keys() != before.keys() or any(before[name] is not value for name, value in state.items()):
        kept = {}
    if key not in kept:
        kept = dict([*kept.items()][1 - KEPT :])
    model._explainers = state, kept
    return key, kept


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


def pair_explained_columns(scores: NumPyArray, mine: int | None, theirs: int | None) -> tuple[NumPyArray, NumPyArray]:
    """(n,) columns of the class and of the one against it: those named, else the best of the others."""
    if mine is None and theirs is None:
        order, _ = top_columns(scores, 2)
        return order[:, 0], order[:, 1]
    others = scores.copy()
    others[:, [column for column in (mine, theirs) if column is not None]] = -np.inf
    best = others.argmax(axis=1)
    first, second = (best if column is None else np.full(len(scores), column) for column in (mine, theirs))
    return first, second
