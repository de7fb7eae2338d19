"""What a fitted model of class means learns later: from labelled examples and from unlabelled rows.

An unlabelled row counts for a class as far as the model believes that it, and the rows most like it, are of that class.
What it believed at first stays in its logits l⁰ through all rounds:

    l⁰ = κ(score − shift of seen classes),   l = (1 − t) l⁰ + t κ(x̂·u_c − a·r_c)
    l̄_i = (1 − s) l_i + s · mean of l_j over the three rows j most like i
    q_ic ∝ π_c^p exp(l̄_ic),   π_c = mean of q_ic,   u_c = unit(base_c + v_c Σᵢ q_ic (x̂ᵢ − o)),   and again

With p > 0 classes may be absent: those that seem to have few of the rows get fewer still. With p > 0 or s = 0, v_c =
Σᵢ q²_ic / Σᵢ q_ic, which is near 1 where a class has rows of its own, and small where its mass is crumbs of rows of
others; else v_c = 1. o is the gap between rows and descriptions that are compared as they are, else 0. Only classes
without training rows move. Optionally q is balanced instead: classes with much mass give some of it away.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import (
    Array,
    NumPyArray,
    convert_like,
    is_sparse_rows,
    largest_places,
    namespace,
    stack_rows,
    to_dense,
    to_numpy,
)
from zskl._validation import SHOWN, check_option, find_near_name, list_values
from zskl.estimators import _candidates, _inputs
from zskl.estimators._blocks import Spectrum, scale_to_unit_length
from zskl.estimators._candidates import best_row_scores, choose_candidates, match_label_dtype, softmax
from zskl.estimators._class_means_fit import LeftOutClasses, mean_of_largest
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, label_kind

if TYPE_CHECKING:
    from zskl.estimators.class_means import ClassMeansClassifier
    from zskl.estimators.committee import Committee

log = logging.getLogger(__name__)

FULL_ROUNDS, PARTIAL_ROUNDS = 10, 3  # that balance rows and classes: fully, and by a part
STILL = 1e-3  # a round that turns no direction by more (1 − cosine) is the last
TINY = 1e-30
LEAST_GAIN = 0.01  # that validation classes must promise, more than
LOSS, MOST_LOSING = 0.01, 0.05  # so many of the batches like the rows at hand may lose more
FEWER_ROWS = 1.5  # what was tried with at most so many times as many rows per class still counts
REFINING_KAPPA, REFINING_STEP, REFINING_ROUNDS = 20.0, 0.08, 20
LIKE = 0.35  # how far batches are alike: the width of a Gaussian over log rows per class and log odds of presence
PRESENCE, MOST_PRESENT = 0.5, 0.98  # what log odds of presence count beside log rows per class, and where they end
HARDLY_LIKE = 0.1  # of the weight of the batch that is most like the rows: below it one bad batch is not named
NEAR = 3  # rows that are most like a row
PIECE = 4096  # rows among which these are looked for
FIRST_ROUNDS, LATER_ROUNDS = 10, 4  # in which the shares π of the classes are found
SHARPER = 2.0  # κ in units of 1/T, the sharpness of calibrated probabilities
LEAST_SHARE = 1e-4  # of an equal share: a class that is ruled out can come back
SAME_ROW = 1e-4  # by which a coordinate of an example that is removed may differ from the one that was added

Rows = NDArray[np.float32]
Teachable: TypeAlias = "ClassMeansClassifier | Committee"


def check_example_labels(model: Any, y: Any, n: int) -> NumPyArray:
    if y is None:
        raise ValueError("y is None: expected a class name for each row of X")
    labels: NumPyArray = tables.to_labels(y, "y", model.candidates_.tolist())
    if len(labels) != n:
        raise ValueError(f"X has {n} rows but y has {len(labels)} labels: expected one label for each row")
    mine, theirs = label_kind(model.seen_classes_, "y"), label_kind(labels, "y")
    if mine != theirs:
        raise ValueError(
            f"y names classes by {theirs}s such as {list_values(labels)}, the model by {mine}s: use its type"
        )
    return labels


def check_wrong_mask(wrong: Any, n: int) -> NDArray[np.bool_]:
    marked = np.asarray(wrong)
    if marked.dtype != np.bool_ or marked.shape not in ((), (n,)):
        raise ValueError(f"wrong is {str(wrong)[:60]}: expected True, False, or one of them for each of the {n} rows")
    return np.broadcast_to(marked, (n,))


def find_examples(rows: Rows, labels: NumPyArray, examples: Rows, classes: list[Any]) -> NDArray[np.bool_]:
    """(m,) which of the `examples` (m, d) of these `classes` (m,) are the rows (n, d) of `labels` (n,), each once."""
    found = np.zeros(len(classes), dtype=bool)
    places = {label: np.array(rows) for label, rows in tables.rows_by_label(np.array(classes, object)).items()}
    for number, (row, label) in enumerate(zip(rows, labels.tolist(), strict=True)):
        mine = places.get(label, np.empty(0, dtype=int))
        mine = mine[~found[mine]]
        mine = mine[np.abs(examples[mine] - row).max(axis=1, initial=0.0) < SAME_ROW]
        if not len(mine):
            raise ValueError(
                f"row {number} of X is not among the examples of {label!r}: hand over rows as they were added, "
                "or leave X out to remove all examples of the classes in y"
            )
        found[mine[0]] = True
    return found


def choose_kept_examples(model: Any, X: Any, y: Any) -> NDArray[np.bool_]:
    """Which examples stay where those of rows X (n, d), of classes y (n,), are removed; for None see the callers."""
    if X is None:
        known = model.example_classes_
        wanted = set(known if y is None else tables.to_labels(y, "y", known).tolist())
        unknown = sorted(map(str, wanted - set(known)))
        if unknown or not known:
            raise ValueError(
                f"there are no examples of {list_values(unknown) if unknown else 'any class'} to remove: the model "
                f"has examples of {list_values(dict.fromkeys(known)) if known else 'none'}"
            )
        return np.array([label not in wanted for label in known])
    X = _inputs.check_features(model, X, dense_for=None)
    labels = check_example_labels(model, y, X.shape[0])
    rows = to_numpy(to_dense(model._row_directions(model._scale_rows(X)))).astype(np.float32)
    return ~find_examples(rows, labels, model.examples_, model.example_classes_)


def drop_unknown_classes(model: Any) -> None:
    """Forget classes that had nothing but examples that are gone."""
    gone = set(model.undescribed_) - set(model.example_classes_)
    if gone:
        model.undescribed_ = [label for label in model.undescribed_ if label not in gone]
        model._set_table(model.signature_table_.select([one for one in model.classes_.tolist() if one not in gone]))


def add_classes(
    model: Any, given: Any, labels: NumPyArray, wrong: NDArray[np.bool_], insisted: bool = False
) -> tuple[SignatureTable, list[Any]]:
    """The model's table with new classes, `given` or of examples alone, and all classes without a description.

    A new name that may be a slip of another one is refused unless it is `insisted` upon.
    """
    table, undescribed = model.signature_table_, model.undescribed_
    if given is not None:
        more = choose_candidates(model, given, None)
        new = more.classes.tolist()
        _candidates.warn_no_signatures(model, new, stacklevel=3)
        known = set(table.classes.tolist()) - set(undescribed)
        again = [label for label in new if label in known]
        if again:
            raise ValueError(
                f"signatures describes {list_values(again)}, which the model knows already: describe only new classes"
            )
        kept = [label for label in table.classes.tolist() if label not in set(new)]
        table = join_tables(table.select(kept), more)
        undescribed = [label for label in undescribed if label not in set(new)]
    have, right = set(table.classes.tolist()), set(labels[~wrong].tolist())
    fresh = [label for label in dict.fromkeys(labels.tolist()) if label not in have]
    if not insisted:
        refuse_near_names(fresh, table.classes.tolist())
    only_wrong = [label for label in fresh if label not in right]
    if only_wrong:
        raise ValueError(
            f"class {list_values(only_wrong)} has no description, no training rows and only examples marked as wrong: "
            "give it a description or a right example"
        )
    if fresh:
        log.info("no description of %s: known by examples alone", list_values(fresh))
        rows = np.repeat(mean_signature(model)[None], len(fresh), axis=0)
        names = match_label_dtype(model.seen_classes_, tables.to_labels(fresh, "y"))
        table = join_tables(table, SignatureTable(names, rows, table.names))
    return table, [*undescribed, *fresh]


def refuse_near_names(fresh: list[Any], known: list[Any]) -> None:
    """Refuse new names of classes that may be slips of known ones, or of each other."""
    near = [(label, find_near_name(label, [*known, *fresh[:place]])) for place, label in enumerate(fresh)]
    slips = [f"{label!r} (did you mean {other!r}?)" for label, other in near if other is not None]
    if slips:
        more = f" and {len(slips) - SHOWN} more" if len(slips) > SHOWN else ""
        raise ValueError(
            f"y has names that are new to the model and much like others: {', '.join(slips[:SHOWN])}{more}; correct "
            "them, or say that they are new classes with new_classes=True (--new-classes)"
        )


def mean_signature(model: Any) -> NDArray[np.float64]:
    """(p,) of the seen classes: what stands for the signature of a class that has none; 0 if no class is seen."""
    if not len(model.seen_classes_):
        return np.zeros(model.signature_table_.matrix.shape[1])
    return np.asarray(model.signature_table_.select(model.seen_classes_).matrix.mean(axis=0))


def find_undescribed(model: Any, table: SignatureTable) -> frozenset[Any]:
    if not model.undescribed_:
        return frozenset()
    placeholder, unknown = mean_signature(model), set(model.undescribed_)
    places = [place for place, label in enumerate(table.labels.tolist()) if label in unknown]
    pairs = zip(table.labels[places].tolist(), to_dense(table.matrix[places]), strict=True)
    return frozenset(label for label, row in pairs if np.array_equal(row, placeholder))


def join_tables(first: SignatureTable, second: SignatureTable) -> SignatureTable:
    labels = np.array([*first.labels.tolist(), *second.labels.tolist()], dtype=object)
    if first.labels.dtype.kind != "O":
        labels = tables.to_labels(labels.tolist(), "signatures")
    return replace(first, labels=labels, matrix=stack_rows(first.matrix, second.matrix))


def nearest_example_entry(practice: dict[str, Any] | None, count: float) -> dict[str, Any] | None:
    """What validation classes say about that many examples of a class: about the nearest number that was tried."""
    tried: dict[str, dict[str, Any]] = (practice or {}).get("examples") or {}
    nearest = min(tried, key=lambda k: abs(np.log(float(k)) - np.log(max(count, 1.0))), default="")
    return tried.get(nearest)


def weigh_description(entry: dict[str, Any] | None, worth: float) -> float:
    """n₀ of a class with examples, from what training classes say and the factor that validation classes chose."""
    if entry is None:
        return worth
    # Earlier versions chose the weight itself.
    return float(entry["weight"]) if "weight" in entry else float(entry["factor"]) * worth


def are_examples_refined(entry: dict[str, Any] | None) -> bool:
    """Whether examples are told apart: what validation chose; earlier versions, which chose a weight, did not."""
    return entry is None or bool(entry.get("refined", "weight" not in entry))


def refine_examples(base: Rows, x: Rows, own: NDArray[np.int64], rows: NumPyArray) -> Rows:
    """(c, d) what examples x̂ (n, d) of the classes `own` (n,) add beyond their sum, to be told apart from each other.

    Some steps of softmax regression from the directions v = `base` (R, d); `rows` (c, m) are those of each class:

        u = unit(v + ‖v‖ E),   q = softmax(κ x̂·u),   E_c += step · Σᵢ (1 − 1/k_i)(t_ic − q_ic) x̂ᵢ

    k_i is the number of examples of the class of i: a lone example is all that its class has, and it fits itself.
    """
    found: Rows = np.zeros((len(rows), base.shape[1]), np.float32)
    counts = np.bincount(own, minlength=len(rows))
    weights = (1 - 1 / counts[own]).astype(np.float32)[:, None]
    if not weights.any():
        return found
    length = np.linalg.norm(base, axis=1)
    length = np.where(length > 0, length, np.float32(1)).astype(np.float32)
    start = base / length[:, None]
    owner = np.zeros(len(base), dtype=np.int64)
    owner[rows.ravel()] = np.repeat(np.arange(len(rows)), rows.shape[1])
    target = (own[:, None] == np.arange(len(rows))).astype(np.float32)
    for _ in range(REFINING_ROUNDS):
        u = scale_to_unit_length(start + found[owner])
        q = softmax(np.float32(REFINING_KAPPA) * best_row_scores(x @ u.T, rows))
        found += np.float32(REFINING_STEP) * ((weights * (target - q)).T @ x)
    # Of a class with several signatures all rows take up the same.
    found *= length[rows].mean(axis=1)[:, None]
    return found


def interpolate_calibration(
    before: dict[str, Any], entry: dict[str, Any], share: float, factor: float = 1.0
) -> tuple[float, dict[str, float] | None]:
    """Constant and temperatures: a `share` of the way from those of `before` to `factor` times those of `entry`."""
    constant = float(before["calibration"])
    constant += share * (factor * float(entry["calibration"]) - constant)
    old, new = before["temperatures"], entry["temperatures"]
    if old is None or new is None:
        return constant, old
    # Temperatures are factors, so they are interpolated on a logarithmic scale.
    found = {name: float(old[name] ** (1 - share) * (factor * new[name]) ** share) for name in old if name in new}
    return constant, found


def match_constant(before: NumPyArray, constant: float, after: NumPyArray) -> float:
    """The constant that leaves as many rows to unseen classes as before, from gaps (n,) best seen − best unseen score.

    What adapting adds to scores of unseen classes depends on the rows. How many rows are of either side does not.
    """
    count = int(np.count_nonzero(before <= constant))
    edges = np.concatenate([[after.min() - 1e-6], np.sort(after), [after.max() + 1e-6]])
    return float((edges[count] + edges[count + 1]) / 2)


def score_gaps(scores: NumPyArray, seen: NDArray[np.bool_]) -> NumPyArray:
    """(n,) the best score of a seen class minus that of an unseen one, of (n, c)."""
    gaps: NumPyArray = scores[:, seen].max(axis=1) - scores[:, ~seen].max(axis=1)
    return gaps


def keep_answered_share(
    before: Teachable, after: Teachable, X: Array, candidates: Any, factor: float = 1.0
) -> float | None:
    """The calibration of an adapted model's record; None where that of validation classes stays.

    With it `interpolate_calibration`, by the same `factor`, gives the constant of `match_constant` for rows X.
    """
    record = after.adaptation_
    assert record is not None  # `after` has adapted
    assert after.untaught_ is not None
    if record["candidates"] != "all" or before.temperatures_ is None or not record["share"]:
        return None
    labels = choose_adaptation_table(before, candidates)[0].classes
    scorers = [_candidates.CandidateScorer(one, None, labels) for one in (before, after)]
    first, last = (score_gaps(to_numpy(one.scores(X)).astype(np.float64), one.seen) for one in scorers)
    start = float(after.untaught_["calibration"])
    constant = match_constant(first, float(before.calibration_), last)
    return float((start + (constant - start) / record["share"]) / factor)


def direction_changes(rows: Array, now: Array, then: Array) -> Array:
    """(n, R) how far one more example x̂ (n, d) would turn directions u `now` (R, d): to v′ + x̂, v′ `then` (R, d).

    ‖u′ − u‖ = √(2 − 2 u·u′),    u·u′ = (u·v′ + u·x̂) / √(‖v′‖² + 2 v′·x̂ + 1)
    """
    xp = namespace(rows)
    lengths = rows.squares()[:, None] if is_sparse_rows(rows) else xp.sum(rows * rows, axis=1, keepdims=True)
    squares = xp.sum(then * then, axis=1) + 2 * (rows @ then.T) + lengths
    products = xp.sum(now * then, axis=1) + rows @ now.T
    cosines = products / xp.sqrt(squares.clip(min=xp.finfo(squares.dtype).tiny))
    return xp.sqrt((2 - 2 * cosines).clip(min=0.0))


class NoClearGain(ValueError):
    """Raised by `adapt` where nothing says that unlabelled rows would help."""


@dataclass(frozen=True)
class AdaptationSettings:
    weight: float = 15.0  # n₀, what a description is worth in rows
    kappa: float = 40.0
    balance: float = 0.0  # 0 leaves the masses of classes as they come, 1 makes them equal
    rounds: int = 8
    shift: float = 0.0  # subtracted from the scores of seen classes
    crowding: float = 0.0  # a, what the adapted model subtracts, and its logits while it adapts
    shrinkage: float | None = None  # None: that of the model
    count: float = 1.0  # what a row counts: less where there are more rows than validation classes had
    proportion: float = 0.0  # p, how far the shares of the classes count
    turn: float = 0.9  # t, what the newest logits count beside the first
    smoothing: float = 0.7  # s, what the rows most like a row have a say in what it is

    @classmethod
    def from_entry(cls, entry: dict[str, Any], per_class: float) -> AdaptationSettings:
        # Earlier versions knew no neighbours.
        chosen = cls(**{"smoothing": 0.0, **{name: entry[name] for name in cls.__dataclass_fields__ if name in entry}})
        return replace(chosen, count=min(1.0, entry["per_class"] / per_class))


@dataclass(frozen=True)
class RowsAtHand:
    """What decides whether unlabelled rows help: how many there are, and of how many classes they seem to be."""

    rows: float  # those that seem to be of classes without training rows
    present: float  # how many of these classes there seem to be
    classes: int  # how many there are

    @property
    def per_class(self) -> float:
        return self.rows / self.present

    @property
    def place(self) -> NDArray[np.float64]:
        # Odds, because near 1 little changes much: to give each class equally many rows pays only where all are there.
        share = min(max(self.present / self.classes, 0.5 / self.classes), MOST_PRESENT)
        return np.array([np.log(self.per_class), PRESENCE * np.log(share / (1 - share))])

    @classmethod
    def from_logits(cls, logits: Array, moving: NDArray[np.bool_]) -> RowsAtHand:
        """`present` is exp of the entropy of the masses of the `moving` classes."""
        masses = to_numpy(namespace(logits).sum(softmax(logits), axis=0)).astype(np.float64)[moving]
        shares = masses / max(masses.sum(), TINY)
        present = float(np.exp(-(shares * np.log(np.maximum(shares, TINY))).sum()))
        return cls(float(max(masses.sum(), TINY)), max(present, 1.0), int(moving.sum()))


@dataclass(frozen=True, eq=False)
class KeptAdaptation:
    classes: list[Any]  # that moved
    sums: NDArray[np.float32]  # (c, d) what the rows add to each
    record: dict[str, Any]  # `adaptation_`

    def without(self, label: Any) -> KeptAdaptation:
        kept = [place for place, one in enumerate(self.classes) if one != label]
        return KeptAdaptation([self.classes[place] for place in kept], self.sums[kept], self.record)


@dataclass(frozen=True)
class OtherModels:
    """Models that have a say in what an unlabelled row is, beside class means in a committee."""

    logits: Callable[[Array, SignatureTable], Array | None]  # (n, c) for raw rows and a table of candidates
    factor: float  # what the scores of class means count beside these
    kappa: float  # the same where validation classes chose no κ

    def for_kappa(self, kappa: float, X: Array, table: SignatureTable) -> Array | None:
        """(n, c) what they add to κ·score; None where nobody else is there."""
        logits = self.logits(X, table)
        return None if logits is None else kappa / self.factor * logits


@dataclass(frozen=True, eq=False)
class AdaptationResult:
    sums: NDArray[np.float32]  # (c, d)
    masses: NDArray[np.float64]  # (c,)
    rounds: int
    turned: float  # 1 − cosine of the direction that the last round turned most

    def share(self, how: AdaptationSettings, moving: NDArray[np.bool_]) -> float:
        """How far the directions of the `moving` classes come from rows, on average: mass / (n₀ + mass)."""
        mass = how.count * self.masses[moving]
        return float(np.mean(mass / (how.weight + mass)))


def choose_adaptation_table(model: Teachable, candidates: Any) -> tuple[SignatureTable, str]:
    """Candidates of unlabelled rows, and whether these are "unseen" classes alone or "all"."""
    seen = set(model.seen_classes_.tolist())
    names: Any = candidates
    if candidates is None or isinstance(candidates, str):
        check_option("candidates", candidates or "unseen", ("unseen", "all"))
        unseen = [label for label in model.candidates_.tolist() if label not in seen]
        names = None if candidates == "all" else unseen or None
    table = choose_candidates(model, None, names)
    if seen >= set(table.labels.tolist()):
        raise ValueError(
            "every candidate has training rows, so there is no class that unlabelled rows could teach: name "
            "candidates without training rows, or describe further classes in fit"
        )
    return table, "all" if seen & set(table.labels.tolist()) else "unseen"


def find_adaptation_entry(
    practice: dict[str, Any] | None, mode: str, hand: RowsAtHand, n: int, classes: int
) -> dict[str, Any] | None:
    """What validation classes say about such rows, n of them for so many candidates; None where nobody has tried."""
    tried = ((practice or {}).get("unlabelled") or {}).get(mode) or []
    batched = [entry for entry in tried if "batches" in entry]
    if batched:
        return choose_entry(batched, hand)
    # Entries of earlier versions hold one number of rows per candidate and one gain.
    plain = [entry for entry in tried if entry["per_class"] <= FEWER_ROWS * n / classes]
    return max(plain, key=lambda entry: float(entry["per_class"]), default=None)


def choose_entry(entries: list[dict[str, Any]], hand: RowsAtHand) -> dict[str, Any] | None:
    """Of entries that hardly ever lost in batches like the rows at hand, else of all, the one that gained most there.

    Its gain, the spread of it, the least, and how often it was a loss, are those in such batches. None if nobody has
    tried so few rows.
    """
    batches = [RowsAtHand(*one[:3]) for one in entries[0]["batches"]]
    densities = np.array([one.per_class for one in batches])
    if hand.per_class * FEWER_ROWS < densities.min():
        return None
    # More rows than anybody tried count less, as if they were as many.
    most = float(densities.max())
    mine = replace(hand, rows=min(hand.per_class, most) * hand.present)
    distances = np.sum((np.array([one.place for one in batches]) - mine.place) ** 2, axis=1)
    weights = np.exp((distances.min() - distances) / (2 * LIKE**2))
    like = weights > HARDLY_LIKE
    weights /= weights.sum()
    found = []
    for entry in entries:
        gains = np.array([one[3] for one in entry["batches"]])
        gain = float(gains @ weights)
        figures = {
            "gain": gain,
            "spread": float(np.sqrt((gains - gain) ** 2 @ weights)),
            "least": float(gains[like].min()),
            "losing": float(weights[gains < -LOSS].sum()),
        }
        found.append({**entry, **figures, "per_class": most})
    return max(found, key=lambda one: (is_clear_gain(one), one["gain"]))


def is_clear_gain(entry: dict[str, Any]) -> bool:
    # Entries of earlier versions may hold no batches.
    rarely_lost = entry["losing"] <= MOST_LOSING if "losing" in entry else entry["gain"] > entry["spread"]
    return bool(entry["gain"] > LEAST_GAIN and rarely_lost)


def check_adaptation_gain(entry: dict[str, Any] | None, per_class: float, practised: bool, advice: str) -> None:
    """Refuse to adapt where validation classes promise nothing; `advice` is for a model that has tried nothing."""
    if entry is None:
        tried = (
            "as few on validation classes; collect more rows" if practised else f"any on validation classes; {advice}"
        )
        raise NoClearGain(
            f"nothing says that {per_class:.3g} unlabelled rows for each candidate would help this model: nobody has "
            f"tried {tried}, or use force=True (--force)"
        )
    if not is_clear_gain(entry):
        losing = entry.get("losing")
        often = "" if losing is None else f"; {100 * losing:.1f} % of batches like this one lost more than a point"
        raise NoClearGain(
            f"validation classes promise {100 * entry['gain']:+.1f} points ± {100 * entry['spread']:.1f} from "
            f"unlabelled rows, {100 * entry['least']:+.1f} at worst{often}: expected a gain of more than "
            f"{100 * LEAST_GAIN:.0f} and {100 * MOST_LOSING:.0f} % such losses at most, so the model stays as it is; "
            "use force=True (--force) to adapt all the same"
        )


def balance_columns(q: Array, part: float) -> Array:
    """q (n, c) with column masses drawn together: by a `part` of 1 to equal masses. Each row keeps its own mass."""
    xp = namespace(q)
    # A class that no row is like would divide 0 by 0.
    q = q + TINY
    share = xp.sum(q, axis=1, keepdims=True)  # of no row 0
    for _ in range(FULL_ROUNDS if part == 1 else PARTIAL_ROUNDS):
        q = q / xp.sum(q, axis=0, keepdims=True) ** part
        q = q * (share / xp.sum(q, axis=1, keepdims=True))
    return q


def weigh_by_shares(logits: Array, shares: Array, proportion: float, rounds: int) -> tuple[Array, Array]:
    """(n, c) and (c,): the softmax of logits + p log π, with shares π of the classes that agree with it."""
    xp = namespace(logits)
    e = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    q = e / xp.sum(e, axis=1, keepdims=True)
    for _ in range(rounds if proportion else 0):
        q = e * shares**proportion
        q = q / (xp.sum(q, axis=1, keepdims=True) + TINY)
        shares = xp.sum(q, axis=0).clip(min=LEAST_SHARE * len(q) / q.shape[1])
        shares = shares / xp.sum(shares)
    return q, shares


def nearest_rows(x: Array) -> Array:
    """(n, k) places of the `NEAR` rows x̂ (n, d) that are most like each, among those of the same piece."""
    xp, found = namespace(x), []
    ends = np.linspace(0, len(x), -(-len(x) // PIECE) + 1).astype(int).tolist()
    for start, end in pairwise(ends):
        own = convert_like(np.arange(end - start), x, "int64")
        cosines = x[start:end] @ x[start:end].T
        cosines[own, own] = -2.0  # a row is not its own neighbour
        found.append(start + largest_places(cosines, min(NEAR, end - start - 1)))
    return found[0] if len(found) == 1 else xp.concat(found, axis=0)


def smooth_over_neighbours(logits: Array, near: Array, part: float) -> Array:
    """(n, c) a `part` of each row's logits replaced by the mean of those of the rows (n, k) most like it."""
    k = near.shape[1]
    total = logits[near[:, 0]]
    for column in range(1, k):
        total += logits[near[:, column]]
    return (1 - part) * logits + part / k * total


def run_adaptation(
    x: Array,
    described: Array,
    known: Array,
    rows: NumPyArray,
    moving: NDArray[np.bool_],
    how: AdaptationSettings,
    other: Array | None = None,
    crowded: Array | None = None,
    offset: Array | None = None,
) -> AdaptationResult:
    """Run the rounds on rows x̂ (n, d): `described` n₀ m̂ and `known` sums of labelled rows are (R, d).

    `rows` (c, m) are the signature rows of each class; only classes in `moving` (c,) take rows up. From scores of the
    others `shift` is subtracted, from all scores the `crowded` (R,) places of the first directions. `other` (n, c) are
    logits of other models, which are added. `offset` (d,) is taken from rows before they are added up.
    """
    xp = namespace(x)
    free = np.flatnonzero(moving)
    mine = np.unique(rows[free])  # signature rows that move
    # Of a class with several signatures each has its own direction, and all take up the same rows.
    owner = np.zeros(described.shape[0], dtype=np.int64)
    owner[rows[free].ravel()] = np.repeat(np.arange(len(free)), rows.shape[1])
    chosen, places = convert_like(mine, x, "int64"), convert_like(owner[mine], x, "int64")
    columns = np.searchsorted(mine, rows[free])
    base, u = (described + known)[chosen], scale_to_unit_length(described + known)
    first = logits_of_rows(x, u, rows, moving, how, other, crowded)
    c = first.shape[1]
    place = convert_like(free, x, "int64")
    close = 0.0 if crowded is None else how.crowding * crowded[chosen]
    shares, logits = xp.ones_like(first[0]) / c, first
    u, turned, done = u[chosen], 1.0, 0
    q = found = x[:, :0]
    near = nearest_rows(x) if how.smoothing and len(x) > 1 else None
    while done < how.rounds and turned >= STILL:
        done += 1
        logits = logits if near is None else smooth_over_neighbours(logits, near, how.smoothing)
        if how.balance:
            q = balance_columns(softmax(logits)[:, place], how.balance)
        else:
            q, shares = weigh_by_shares(logits, shares, how.proportion, FIRST_ROUNDS if done == 1 else LATER_ROUNDS)
            q = q[:, place]
        masses = xp.sum(q, axis=0)
        sure = xp.sum(q * q, axis=0) / masses.clip(min=TINY) if how.proportion or near is None else xp.ones_like(masses)
        found = q.T @ x if offset is None else q.T @ x - masses[:, None] * offset
        found = how.count * sure[:, None] * found
        new = scale_to_unit_length(base + found[places])
        turned = float(xp.max(1 - xp.sum(new * u, axis=1)))
        u = new
        newest = how.kappa * best_row_scores(x @ u.T - close, columns)
        newest = newest if other is None else newest + other[:, place]
        logits = first + 0.0  # seen classes keep their first logits
        logits[:, place] = (1 - how.turn) * first[:, place] + how.turn * newest
    sums, all_masses = np.zeros((len(rows), x.shape[1]), np.float32), np.zeros(len(rows))
    sums[free], all_masses[free] = to_numpy(found), to_numpy(xp.sum(q, axis=0))
    return AdaptationResult(sums, all_masses, done, turned)


def logits_of_rows(
    x: Array,
    directions: Array,
    rows: NumPyArray,
    moving: NDArray[np.bool_],
    how: AdaptationSettings,
    other: Array | None = None,
    crowded: Array | None = None,
) -> Array:
    """(n, c) κ·score of rows x̂ before anything moves; for the rest see `run_adaptation`."""
    scores = x @ directions.T
    scores = scores if crowded is None else scores - how.crowding * crowded
    shift = convert_like(np.where(moving, 0.0, how.shift), x)
    logits = how.kappa * (best_row_scores(scores, rows) - shift)
    return logits if other is None else logits + other


def sum_by_class(x: Rows, columns: NDArray[np.int64], classes: int) -> Rows:
    """(c, d) the sums of rows (n, d) by the classes (n,) that they are counted for."""
    member = np.zeros((classes, len(columns)), np.float32)
    member[columns, np.arange(len(columns))] = 1
    return member @ x


@dataclass(frozen=True, eq=False)
class FewShotTrial:
    """Validation rows of a fold, to try examples and unlabelled rows on: only products of sizes that matter."""

    x: Rows  # x̂ (n, d)
    own: NDArray[np.int64]  # (n,) columns of their classes
    seen: NDArray[np.bool_]  # (c,) of the candidates
    described: Rows  # m̂ (R, d) of the signature rows
    certainty: NDArray[np.float64]  # (R,) of these
    means: Rows  # (R, d) whitened, of the classes; 0 for a held-out one
    counts: NDArray[np.float64]  # (R,) their training rows
    weight: float  # n₀ of the seen classes
    rows: NumPyArray  # (c, m) signature rows of each candidate
    kept: Rows
    spectrum: Spectrum
    shrinkage: float
    crowding: float
    share: float
    left_out: LeftOutClasses  # of the fold's model
    other: Rows | None = None  # (n, c) what other models add to the scores
    offset: Rows | None = None  # (d,) between rows and descriptions that are compared as they are
    _by_shrinkage: dict[float, FewShotTrial] = field(default_factory=dict, init=False)  # not that of `replace`

    def with_shrinkage(self, shrinkage: float) -> FewShotTrial:
        if shrinkage == self.shrinkage:
            return self
        if shrinkage not in self._by_shrinkage:
            ratio = self.spectrum.ratio(self.shrinkage, shrinkage).astype(np.float32)
            unit = self.spectrum.blocks.to_unit_length
            self._by_shrinkage[shrinkage] = replace(
                self,
                x=unit(self.x * ratio),
                described=unit(self.described * ratio),
                means=self.means * ratio,
                kept=unit(self.kept * ratio),
                shrinkage=shrinkage,
            )
        return self._by_shrinkage[shrinkage]

    @cached_property
    def known(self) -> Rows:
        """(R, d) what training rows add to the direction of each signature's class."""
        found: Rows = self.spectrum.sum_directions(self.means, self.counts, self.shrinkage).astype(np.float32)
        return found

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        found = np.zeros(len(self.described), dtype=np.int64)
        found[self.rows.ravel()] = np.repeat(np.arange(len(self.rows)), self.rows.shape[1])
        return found

    @cached_property
    def new(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self.seen)

    @cached_property
    def new_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self.seen[self.own])

    @cached_property
    def _products(self) -> tuple[Rows, Rows]:
        """(n, R) and (n, R): rows with what is described, and with what is known."""
        return self.x @ self.described.T, self.x @ self.known.T

    @cached_property
    def _kept_products(self) -> tuple[Rows, Rows]:
        return self.kept @ self.described.T, self.kept @ self.known.T

    def description_weights(self, weight: float) -> Rows:
        """(R,) n₀: `weight` for held-out classes."""
        return np.where(self.seen[self.owner], self.weight, weight).astype(np.float32)

    def example_weights(self, factor: float) -> Rows:
        """(R,) n₀ beside examples: for held-out classes `factor` times what their descriptions are worth."""
        new = factor * self.left_out.description_worth(self.shrinkage) * self.certainty
        return np.where(self.seen[self.owner], self.weight, new).astype(np.float32)

    def learn_examples(self, rows: NDArray[np.int64], factor: float, refine: bool = True) -> Rows:
        """(c, d) what these rows, all of held-out classes, add to the classes if they are examples."""
        own = self.own[rows]
        found = sum_by_class(self.x[rows], own, len(self.seen))
        if not refine:
            return found
        taught = np.unique(own)
        signatures = np.unique(self.rows[taught])
        base = self.example_weights(factor)[:, None] * self.described + found[self.owner]
        places = np.searchsorted(signatures, self.rows[taught])
        found[taught] += refine_examples(base[signatures], self.x[rows], np.searchsorted(taught, own), places)
        return found

    def scores(self, weight: float, crowding: float, added: Rows | None = None) -> Rows:
        return TaughtScores(self, self.description_weights(weight), added).scores(crowding)

    def select_rows(self, rows: NDArray[np.int64]) -> FewShotTrial:
        other = None if self.other is None else self.other[rows]
        return replace(self, x=self.x[rows], own=self.own[rows], other=other)

    def select_held_out(self) -> FewShotTrial:
        columns, rows = self.new, self.new_rows
        signatures = np.unique(self.rows[columns])
        return replace(
            self,
            x=self.x[rows],
            own=np.searchsorted(columns, self.own[rows]),
            seen=self.seen[columns],
            described=self.described[signatures],
            certainty=self.certainty[signatures],
            means=self.means[signatures],
            counts=self.counts[signatures],
            rows=np.searchsorted(signatures, self.rows[columns]),
            other=None if self.other is None else self.other[np.ix_(rows, columns)],
        )

    @cached_property
    def crowded(self) -> Rows | None:
        """(R,) r of each signature's class before it has learned anything; the weight of a description is any."""
        if not len(self.kept):
            return None
        total = self.description_weights(1.0)[:, None] * self.described + self.known
        return np.asarray(mean_of_largest(self.kept @ scale_to_unit_length(total).T, self.share))

    def adapt(self, how: AdaptationSettings) -> AdaptationResult:
        described = self.description_weights(how.weight)[:, None] * self.described
        other = None if self.other is None else np.float32(how.kappa) * self.other
        return run_adaptation(
            self.x, described, self.known, self.rows, ~self.seen, how, other, self.crowded, self.offset
        )

    def accuracy(self, scores: Rows, rows: NDArray[np.int64]) -> float:
        """Mean per-class accuracy of rows of held-out classes among themselves, from their scores for all classes."""
        own = self.own[rows]
        right = self.new[scores[:, self.new].argmax(axis=1)] == own
        counts = np.bincount(own, minlength=len(self.seen))
        hits = np.bincount(own, weights=right, minlength=len(self.seen))
        return float(np.mean(hits[counts > 0] / counts[counts > 0]))


class TaughtScores:
    """Scores of a trial whose classes have learned rows that sum up to `added` (c, d), for all rows or some `rows`.

    `weights` (R,) are n₀ of each signature.
    """

    def __init__(
        self, trial: FewShotTrial, weights: Rows, added: Rows | None = None, rows: NDArray[np.int64] | None = None
    ) -> None:
        self.trial, self.weights, self.added = trial, weights, added
        self.rows = slice(None) if rows is None else rows

    @cached_property
    def _lengths(self) -> Rows:
        """(R,) of the directions."""
        trial = self.trial
        total = self.weights[:, None] * trial.described + trial.known
        length = np.linalg.norm(total if self.added is None else total + self.added[trial.owner], axis=1)
        return np.where(length > 0, length, np.float32(1))

    @cached_property
    def _cosines(self) -> Rows:
        """(n, R)"""
        described, known = self.trial._products
        added = None if self.added is None else self.trial.x[self.rows] @ self.added.T
        return self._add_up(described[self.rows], known[self.rows], added)

    @cached_property
    def _crowding(self) -> Rows:
        """(R,)"""
        added = None if self.added is None else self.trial.kept @ self.added.T
        return np.asarray(mean_of_largest(self._add_up(*self.trial._kept_products, added), self.trial.share))

    def scores(self, crowding: float) -> Rows:
        """(n, c)"""
        trial, cosines = self.trial, self._cosines
        if crowding and len(trial.kept):
            cosines = cosines - np.float32(crowding) * self._crowding
        best: Rows = np.asarray(best_row_scores(cosines, trial.rows))
        return best if trial.other is None else best + trial.other[self.rows]

    def _add_up(self, described: Rows, known: Rows, added: Rows | None) -> Rows:
        found: Rows = self.weights * described + known
        return (found if added is None else found + added[:, self.trial.owner]) / self._lengths
