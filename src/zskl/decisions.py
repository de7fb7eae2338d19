"""Answers that one can act on: sets that hold the class, "unknown", and a tree of classes to back off to.

All three rest on the validation rows of `zskl.selection.calibrate`, where held-out training classes play the unseen
ones. A threshold is a quantile over these, kept for all candidates and for half of them: with more candidates the best
rival of a row is better, by about as much with every doubling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import make_generator
from zskl._validation import suggest, to_plain

if TYPE_CHECKING:  # below imported where they are used: a `zskl.Scorer` does without them
    import pandas as pd

__all__ = ["Hierarchy"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Scored = tuple[NDArray[Any], NDArray[np.int64], Mask]  # scores (n, c) of rows, own columns (n,), seen ones (c,)
PARENTS = "hierarchy"  # under this name a class table holds the tree it came with, as JSON
UNKNOWN = "unknown"  # the answer for a row of none of the candidates, or where the tree has no safe node
SHARES = tuple(float(one) for one in np.round([0.001, 0.002, 0.005, *np.arange(0.01, 1, 0.01), 0.995, 0.998, 0.999], 3))
RISKS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
LEADS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
MIXES = (1 / 3, 2 / 3)  # shares of rows of unseen classes between which the risk of an answer holds
MOST_DOUBLINGS = 6.0  # of the candidates, over which a threshold is carried on
_THIN, _PLAYED = 21, 22  # streams of the seed
_TINY = 1e-12


@dataclass(frozen=True)
class Hierarchy:
    """The parents of classes, from the nearest to the farthest.

    Parameters
    ----------
    levels : tuple of str
        Names of the levels above the classes, such as ("genus", "family").
    parents : dict
        The parents of each class, one for each level; None where a class has none.

    See Also
    --------
    zskl.ZeroShotClassifier.predict : With `risk` it answers a parent where the class is in doubt.

    Examples
    --------
    >>> from zskl.decisions import Hierarchy
    >>> tree = Hierarchy.read({"crow": "Corvus", "raven": "Corvus", "Corvus": "Corvidae", "jay": [None, "Corvidae"]})
    >>> tree.parents["jay"], tree.parents["crow"]
    ((None, 'Corvidae'), ('Corvus', 'Corvidae'))
    """

    levels: tuple[str, ...]
    parents: Mapping[Any, tuple[str | None, ...]]

    def __post_init__(self) -> None:
        places: dict[str, int] = {}
        names = {str(one) for one in self.parents}
        for above in self.parents.values():
            for level, name in enumerate(above):
                if name is None:
                    continue
                if name in names or name == UNKNOWN:
                    raise ValueError(f"hierarchy calls a parent {name!r}, as a class or a rejected row is: rename it")
                if places.setdefault(name, level) != level:
                    raise ValueError(f"hierarchy has {name!r} on two levels: give each parent a name of its own")

    @classmethod
    def read(cls, given: Any, signatures: Any = None) -> Hierarchy:
        """Read a tree as users write it.

        Parameters
        ----------
        given : Hierarchy, DataFrame, mapping or list of str
            A table with a row for each class (the index, or a column "class") and a column for each level, the nearest
            parent first; class → parent or list of parents; or names of columns of `signatures`. A parent may have a
            parent of its own, as a row or key of its own.
        signatures : DataFrame, default=None
            The class table, for names of columns.

        Returns
        -------
        Hierarchy
            The tree.
        """
        if isinstance(given, Hierarchy):
            return given
        if isinstance(given, str) or (isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)):
            given = read_parent_columns(signatures, [given] if isinstance(given, str) else list(given))
        levels: list[str] = []
        import pandas as pd

        if isinstance(given, pd.DataFrame):
            table = given.set_index("class") if "class" in given.columns else given
            levels = [str(one) for one in table.columns]
            table = table[~table.index.duplicated()]
            given = dict(zip(table.index.tolist(), table.to_numpy(object).tolist(), strict=True))
        if not isinstance(given, Mapping) or not given:
            raise ValueError(
                f"hierarchy is {str(given)[:60]!r}: expected a table with a row for each class and its parents, or a "
                "mapping from class to parents"
            )
        above = {to_plain(one): _read_parents(value) for one, value in given.items()}
        parents = {one: _climb(one, above) for one in above}
        inner = {name for line in parents.values() for name in line if name is not None}
        parents = {one: line for one, line in parents.items() if one not in inner}
        if not parents:
            raise ValueError("hierarchy goes round in a circle: expected classes that are no parents")
        depth = max(map(len, parents.values()))
        levels += [f"level {k + 1}" for k in range(len(levels), depth)]
        return cls(tuple(levels[:depth]), {one: line + (None,) * (depth - len(line)) for one, line in parents.items()})

    def _select(self, classes: Iterable[Any]) -> list[tuple[list[Any], NDArray[np.int64]]]:
        """For each level, the classes themselves first: its nodes, and which one each class is below, or −1."""
        labels = list(classes)
        found: list[tuple[list[Any], NDArray[np.int64]]] = [(labels, np.arange(len(labels)))]
        for level in range(len(self.levels)):
            mine = [self.parents[one][level] if one in self.parents else None for one in labels]
            nodes = list(dict.fromkeys(one for one in mine if one is not None))
            places = {name: place for place, name in enumerate(nodes)}
            found.append((nodes, np.array([-1 if one is None else places[one] for one in mine], dtype=np.int64)))
        return found

    def report(self, y: Any, answers: Any, classes: Any) -> pd.DataFrame:
        """Say how good answers are, level by level.

        Parameters
        ----------
        y : array-like of shape (n,)
            True classes.
        answers : array-like of shape (n,)
            What `predict` said: classes, parents or "unknown".
        classes : array-like
            The candidates, against which information is measured.

        Returns
        -------
        DataFrame
            A row for each level, for "unknown", and for all. `answered` is the share of rows that are answered there,
            `wrong` the share of these that are not below the answer, `accuracy` how many of the rows answered there or
            deeper are right on this level, and `information` the bits that an answer gains, 0 for a wrong one, as a
            share of those of naming the class.
        """
        true, told = np.asarray(y).tolist(), np.asarray(answers, dtype=object).tolist()
        labels = list(dict.fromkeys(np.asarray(classes).tolist()))
        lines: dict[Any, tuple[Any, ...]] = {}  # what each name is on every level; None below its own
        for one in (*labels, *true, *self.parents):
            above = self.parents.get(one, (None,) * len(self.levels))
            for k, name in enumerate((one, *above)):
                lines.setdefault(name, (*(None,) * k, name, *above[k:]))
        sizes = Counter(name for one in labels for name in lines[one])
        places = np.array([-1 if one not in lines else lines[one].index(one) for one in told])
        pairs = [(lines.get(answer, ()), lines[one]) for one, answer in zip(true, told, strict=True)]
        right = np.array([at >= 0 and a[at] == b[at] for at, (a, b) in zip(places, pairs, strict=True)], dtype=bool)
        whole = np.log2(max(len(labels), 2))
        gains = np.array([np.log2(len(labels) / max(sizes[one], 1)) / whole for one in told]) * right
        rows = {}
        for k, name in enumerate(("class", *self.levels)):
            mine, deep = places == k, [a[k] == b[k] for at, (a, b) in zip(places, pairs, strict=True) if 0 <= at <= k]
            rows[name] = mine.mean(), _mean(~right[mine]), _mean(deep), _mean(gains[mine])
        rows[UNKNOWN] = (places < 0).mean(), np.nan, np.nan, 0.0
        rows["all"] = 1.0, float((~right & (places >= 0)).mean()), np.nan, float(gains.mean())
        import pandas as pd

        return pd.DataFrame.from_dict(rows, orient="index", columns=["answered", "wrong", "accuracy", "information"])

    def _to_json(self) -> dict[str, Any]:
        return {"levels": self.levels, "classes": list(self.parents), "parents": list(self.parents.values())}

    @classmethod
    def _from_json(cls, stored: Mapping[str, Any]) -> Hierarchy:
        levels = tuple(str(one) for one in stored["levels"])
        lines = [tuple(None if one is None else str(one) for one in line) for line in stored["parents"]]
        if len(lines) != len(stored["classes"]) or any(len(line) != len(levels) for line in lines):
            raise ValueError("a hierarchy that is not whole")
        return cls(levels, dict(zip(stored["classes"], lines, strict=True)))


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def read_parent_columns(signatures: Any, columns: Sequence[str]) -> pd.DataFrame:
    """The columns of a class table that name parents."""
    import pandas as pd

    if not isinstance(signatures, pd.DataFrame):
        raise ValueError(
            f"hierarchy is {columns!r}, and signatures is no data frame: expected one with these columns, or a table "
            "of classes and parents"
        )
    missing = [one for one in columns if one not in signatures.columns]
    if missing:
        known = [str(one) for one in signatures.columns]
        raise ValueError(
            f"hierarchy names {missing[0]!r}, which is no column of signatures{suggest(missing[0], known)}"
        )
    return signatures[list(columns)]


def take_parents(signatures: Any, hierarchy: Any) -> tuple[Any, Hierarchy | None]:
    """The class table without the columns that name parents, and the tree: also that which came with the table."""
    if hierarchy is None:
        stored = getattr(signatures, "attrs", {}).get(PARENTS)
        if stored is None:
            return signatures, None
        # Files name classes by text; the table may know them as integers.
        names = {str(one): one for one in map(to_plain, signatures.index)}
        found = Hierarchy._from_json({**stored, "classes": [names.get(str(one), one) for one in stored["classes"]]})
        return signatures, found
    found = Hierarchy.read(hierarchy, signatures)
    import pandas as pd

    if isinstance(signatures, pd.DataFrame) and isinstance(hierarchy, str | list | tuple):
        signatures = signatures.drop(
            columns=[hierarchy] if isinstance(hierarchy, str) else list(hierarchy), errors="ignore"
        )
    return signatures, found


def _read_parents(value: Any) -> tuple[str | None, ...]:
    line = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    return tuple(None if one is None or one != one or str(one).strip() == "" else str(one) for one in line)


def _climb(name: Any, above: Mapping[Any, tuple[str | None, ...]]) -> tuple[str | None, ...]:
    line, last = list(above[name]), next((one for one in reversed(above[name]) if one is not None), None)
    passed = {name}
    while last in above and last not in passed:
        passed.add(last)
        line += above[last]
        last = next((one for one in reversed(above[last]) if one is not None), None)
    if last in passed:
        raise ValueError(f"hierarchy goes round in a circle at {last!r}: expected a tree")
    return tuple(line)


@dataclass(frozen=True)
class Curve:
    """A threshold for each level that one may ask for, with so many candidates and with half of them."""

    levels: tuple[float, ...]
    whole: tuple[float, ...]
    half: tuple[float, ...]
    candidates: float

    def at(self, level: float, candidates: int, up: bool) -> float | None:
        """The threshold of the next level up or down, on the careful side; None beyond the ends."""
        grid = np.asarray(self.levels)
        place = int(np.searchsorted(grid, level - 1e-9) if up else np.searchsorted(grid, level + 1e-9) - 1)
        if not 0 <= place < len(grid):
            return None
        whole, half = self.whole[place], self.half[place]
        if not np.isfinite(whole) or not np.isfinite(half):
            return whole
        doublings = float(np.clip(np.log2(candidates / self.candidates), -1.0, MOST_DOUBLINGS))
        return whole + doublings * max(whole - half, 0.0)

    def _to_json(self) -> dict[str, Any]:
        def numbers(values: Sequence[float]) -> list[float | None]:
            return [float(f"{one:.5g}") if np.isfinite(one) else None for one in values]

        return {
            "levels": self.levels,
            "whole": numbers(self.whole),
            "half": numbers(self.half),
            "candidates": self.candidates,
        }

    @classmethod
    def _from_json(cls, stored: Mapping[str, Any]) -> Curve:
        levels = tuple(float(one) for one in stored["levels"])
        whole, half = (
            tuple(np.inf if one is None else float(one) for one in stored[name]) for name in ("whole", "half")
        )
        if not len(levels) == len(whole) == len(half) or sorted(levels) != list(levels) or stored["candidates"] < 1:
            raise ValueError("a curve of thresholds that is not whole")
        return cls(levels, whole, half, float(stored["candidates"]))


@dataclass(frozen=True)
class Decisions:
    """Thresholds that `zskl.selection.calibrate` fits on validation rows; a fitted model's `decisions_`.

    Names are "seen", "unseen" and "mixed", for what candidates are. `sets` has how far below the best score the true
    class is, in units of the temperature, for either side where both compete ("mixed_seen", "mixed_unseen"). `known`
    has how low the best score and `lead` times its lead over the second fall. `depths` has, for each level of the tree,
    the log odds above which an answer of a risk is given.
    """

    sets: Mapping[str, Curve]
    known: Mapping[str, Curve]
    lead: float
    depths: Mapping[str, tuple[Curve, ...]]

    def _to_json(self) -> dict[str, Any]:
        return {
            "sets": {name: one._to_json() for name, one in self.sets.items()},
            "known": {name: one._to_json() for name, one in self.known.items()},
            "lead": self.lead,
            "depths": {name: [one._to_json() for one in some] for name, some in self.depths.items()},
        }

    @classmethod
    def _from_json(cls, stored: Mapping[str, Any]) -> Decisions:
        return cls(
            {str(name): Curve._from_json(one) for name, one in stored["sets"].items()},
            {str(name): Curve._from_json(one) for name, one in stored["known"].items()},
            float(stored["lead"]),
            {str(name): tuple(map(Curve._from_json, some)) for name, some in stored["depths"].items()},
        )


class Decider:
    """Thresholds at work on scores of candidates, from which the model's constant is already subtracted. `seen` (c,)
    says which of the candidates `labels` were trained on. See `ZeroShotClassifier.predict` for the rest."""

    def __init__(
        self,
        model: Any,
        labels: Any,
        seen: Any,
        coverage: float | None = None,
        reject: float | None = None,
        risk: float | None = None,
        hierarchy: Any = None,
    ) -> None:
        for name, value in (("coverage", coverage), ("reject", reject), ("risk", risk)):
            if value is not None:
                _check_fraction(name, value)
        found = model.decisions_
        if found is None or model.temperatures_ is None:
            raise ValueError(
                "the model has no thresholds, because nobody has tried it on validation classes: expected a calibrated "
                f"model; {model._calibration_advice}"
            )
        self.labels, self.seen = np.asarray(labels), np.asarray(seen, dtype=bool)
        if reject is not None or risk is not None:
            check_unknown_label(self.labels)
        self.situation = "seen" if self.seen.all() else "mixed" if self.seen.any() else "unseen"
        self.temperatures = model.temperatures_
        self.decisions: Decisions = found
        count = len(self.labels)
        self.limits = None if coverage is None else self._set_limits(coverage)
        self.least = None
        if reject is not None:
            curve = found.known.get(self.situation)
            least = None if curve is None else curve.at(reject, count, up=False)
            self.least = -np.inf if least is None else least
        self.depths: list[tuple[list[Any], NDArray[np.int64], float]] | None = None
        if risk is not None:
            self.depths = []
            tree = model.hierarchy_ or Hierarchy((), {})
            if hierarchy is not None:
                other = Hierarchy.read(hierarchy)
                if len(other.levels) != len(tree.levels):
                    raise ValueError(
                        f"hierarchy has {len(other.levels)} levels, the model was calibrated with {len(tree.levels)}: "
                        "pass hierarchy to fit or calibrate, so that each level has a threshold"
                    )
                tree = replace(other, parents={**tree.parents, **other.parents})
            curves = found.depths.get(self.situation, ())
            for (nodes, codes), curve in zip(tree._select(self.labels.tolist()), curves, strict=False):
                least = curve.at(risk, count, up=False)
                self.depths.append((nodes, codes, np.inf if least is None else least))

    def _set_limits(self, coverage: float) -> Floats:
        limits = np.full(len(self.seen), np.inf)
        for side in (True, False):
            name = self.situation if self.situation != "mixed" else "mixed_seen" if side else "mixed_unseen"
            curve = self.decisions.sets.get(name)
            limit = None if curve is None else curve.at(coverage, len(self.labels), up=True)
            if limit is not None:
                limits[self.seen == side] = limit * self.temperatures[self.situation]
        return limits

    def apply(self, scores: Any, answers: Any) -> None:
        """Put parents and "unknown" into the answers (n,) for rows of scores (n, c)."""
        if self.depths is not None:
            answers[:] = self.nodes(scores)
        if self.least is not None:
            answers[self.unknown(scores)] = UNKNOWN

    def members(self, scores: Any) -> Mask:
        """(n, c) which candidates the set of each row holds; the best one always is in it."""
        assert self.limits is not None  # coverage was asked for
        gaps = np.max(scores, axis=1, keepdims=True) - scores
        return np.asarray(gaps <= self.limits * (1 + 1e-6))

    def sets(self, scores: Any) -> list[tuple[Any, ...]]:
        """The set of each row, best first."""
        found = []
        for row, inside in zip(np.asarray(scores), self.members(scores), strict=True):
            places = np.flatnonzero(inside)
            found.append(tuple(self.labels[places[np.argsort(-row[places], kind="stable")]].tolist()))
        return found

    def unknown(self, scores: Any) -> Mask:
        """(n,) which rows are none of the candidates."""
        assert self.least is not None  # reject was asked for
        return np.asarray(measure_known(np.asarray(scores), self.decisions.lead) < self.least)

    def nodes(self, scores: Any) -> NDArray[np.object_]:
        """(n,) the deepest node of the tree that is safe enough; "unknown" where none is."""
        scores = np.asarray(scores, dtype=np.float64)
        found = np.full(len(scores), UNKNOWN, dtype=object)
        left = np.ones(len(scores), dtype=bool)
        chances = to_chances(scores, self.seen, self.temperatures)
        for depth, (nodes, codes, least) in enumerate(self.depths or []):
            if not nodes:
                continue
            sums = sum_nodes(chances, codes, len(nodes))
            # At the level of classes the answer is that of `predict`, also where chances are equal in their rounding.
            best = scores.argmax(axis=1) if depth == 0 else sums.argmax(axis=1)
            sure = left & (log_odds(sums.max(axis=1)) >= least)
            for row in np.flatnonzero(sure):
                found[row] = nodes[best[row]]
            left &= ~sure
        return found


def check_unknown_label(candidates: NDArray[Any]) -> None:
    """Refuse to call rows unknown where a class has that name."""
    if UNKNOWN in candidates.tolist():
        raise ValueError(
            f"a candidate class is called {UNKNOWN!r}, which is also the answer for a row that is rejected or in "
            "doubt: expected classes with other names; rename it, or leave it out of the candidates"
        )


def _check_fraction(name: str, value: Any) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 <= value < 1 or (value == 0 and name != "reject"):
        meaning = {
            "coverage": "how often the set of a row holds its class, such as 0.9",
            "reject": "the share of known rows that you accept to be called unknown, such as 0.05",
            "risk": "the share of answers that may be wrong, such as 0.1",
        }[name]
        raise ValueError(f"{name} is {value!r}: expected a number between 0 and 1, {meaning}")


def measure_known(scores: NDArray[Any], lead: float) -> Floats:
    """(n,) the best score, and `lead` times how far it lies above the second best."""
    if scores.shape[1] < 2:
        return np.asarray(scores[:, 0], dtype=np.float64)
    best = np.partition(scores, -2, axis=1)[:, -2:].astype(np.float64)
    # Where only one candidate is left, there is no lead.
    second = np.where(np.isfinite(best[:, 0]), best[:, 0], best[:, 1])
    return np.asarray(best[:, 1] + lead * (best[:, 1] - second))


def to_chances(scores: Floats, seen: Mask, temperatures: Mapping[str, float]) -> Floats:
    """softmax(scores / T) with the T of the side that answers, as in `predict_proba`."""
    from scipy.special import softmax

    if seen.all() or not seen.any():
        return np.asarray(softmax(scores / temperatures["seen" if seen.all() else "unseen"], axis=1))
    sides = [temperatures.get(f"mixed_{side}", temperatures["mixed"]) for side in ("seen", "unseen")]
    of_row = np.where(seen[scores.argmax(axis=1)], *sides)
    return np.asarray(softmax(scores / of_row[:, None], axis=1))


def sum_nodes(chances: Floats, codes: NDArray[np.int64], nodes: int) -> Floats:
    """(n, nodes) from (n, c): the sum over the classes below each node; a class of code −1 is below none."""
    below = np.zeros((len(codes), nodes))
    known = np.flatnonzero(codes >= 0)
    below[known, codes[known]] = 1.0
    return chances @ below


def log_odds(chances: Floats) -> Floats:
    inside = np.clip(chances, _TINY, 1 - _TINY)
    return np.asarray(np.log(inside) - np.log1p(-inside))


# How thresholds are fitted


@dataclass(frozen=True, eq=False)
class _Rows:
    """Validation rows of all draws or folds, for one situation. A candidate that is left out scores −∞."""

    scores: list[Floats]  # (n, c) of each draw
    own: list[NDArray[np.int64]]
    seen: list[Mask]  # (c,)
    columns: list[NDArray[np.int64]]  # (c,) which of the classes they are

    @property
    def sides(self) -> Mask:
        """(n,) whether the row is of a seen class."""
        return np.concatenate([seen[own] for seen, own in zip(self.seen, self.own, strict=True)])

    @property
    def weights(self) -> Floats:
        """(n,) so that every class of a draw counts the same."""
        return np.concatenate([1 / np.bincount(own)[own] for own in self.own])

    def count(self, side: bool) -> int:
        """How many things a quantile is over: rows of the same classes for seen ones, classes for unseen ones."""
        parts = zip(self.own, self.seen, self.columns, strict=True)
        mine = [columns[own[seen[own] == side]] for own, seen, columns in parts]
        return max(map(len, mine)) if side else len(np.unique(np.concatenate(mine)))

    def thin(self) -> _Rows:
        """With about half of the candidates, others for each row; its own class stays."""
        found = []
        for number, (scores, own) in enumerate(zip(self.scores, self.own, strict=True)):
            stays = make_generator(0, _THIN, number).random(scores.shape, dtype=np.float32) < 0.5
            stays[np.arange(len(own)), own] = True
            found.append(np.where(stays, scores, -np.inf))
        return replace(self, scores=found)


def fit_decisions(
    scored: Sequence[Scored],
    constant: float,
    temperatures: Mapping[str, float],
    classes: Sequence[Any],
    hierarchy: Hierarchy | None = None,
    none_of_these: Floats | None = None,
) -> Decisions:
    """Thresholds from scores of validation rows, of the columns `classes`; `none_of_these` (m, c) are calibrated."""
    mixed = [(np.asarray(scores, np.float64) - constant * seen, own, seen) for scores, own, seen in scored]
    situations = {
        "mixed": _gather_rows(mixed),
        "seen": _gather_rows(scored, True),
        "unseen": _gather_rows(scored, False),
    }
    lead = choose_lead(situations["mixed"], none_of_these)
    tree = (hierarchy or Hierarchy((), {}))._select(classes)
    sets: dict[str, Curve] = {}
    known: dict[str, Curve] = {}
    depths: dict[str, tuple[Curve, ...]] = {}
    for name, rows in situations.items():
        if rows is None:
            continue
        pair = (rows, rows.thin())
        candidates = float(np.mean([scores.shape[1] for scores in rows.scores]))
        gaps = [np.concatenate([_gaps(*one) for one in zip(some.scores, some.own, strict=True)]) for some in pair]
        sides, weights = rows.sides, rows.weights
        for side in (True, False):
            mine = sides == side
            if not mine.any():
                continue
            # One more row, or class, might lie anywhere: so a little more than the asked share of those that are known.
            levels = np.asarray(SHARES) * (1 + 1 / rows.count(side))
            ends = [_quantiles(one[mine] / temperatures[name], weights[mine], levels) for one in gaps]
            key = name if name != "mixed" else "mixed_seen" if side else "mixed_unseen"
            sets[key] = Curve(SHARES, tuple(ends[0]), tuple(ends[1]), candidates)
        balanced = _balance(weights, sides, 0.5)
        ends = [
            _quantiles(np.concatenate([measure_known(one, lead) for one in some.scores]), balanced, SHARES)
            for some in pair
        ]
        known[name] = Curve(SHARES, tuple(ends[0]), tuple(ends[1]), candidates)
        depths[name] = _fit_depths(pair, tree, temperatures, candidates)
    return Decisions(sets, known, lead, depths)


def _gather_rows(scored: Sequence[Scored], side: bool | None = None) -> _Rows | None:
    """All rows and columns, or those of one side alone."""
    found = _Rows([], [], [], [])
    for scores, own, seen in scored:
        columns = np.arange(len(seen)) if side is None else np.flatnonzero(seen == side)
        rows = np.flatnonzero(np.isin(own, columns))
        if len(rows) and len(columns) > 1:
            found.scores.append(np.asarray(scores, np.float64)[np.ix_(rows, columns)])
            found.own.append(np.searchsorted(columns, own[rows]))
            found.seen.append(seen[columns])
            found.columns.append(columns)
    return found if found.own else None


def _gaps(scores: Floats, own: NDArray[np.int64]) -> Floats:
    return np.asarray(scores.max(axis=1) - scores[np.arange(len(own)), own])


def _balance(weights: Floats, sides: Mask, unseen: float) -> Floats:
    """Weights whose sum over rows of unseen classes is the share `unseen`; of one side alone, 1."""
    if sides.all() or not sides.any():
        return np.asarray(weights / weights.sum())
    return np.asarray(np.where(sides, (1 - unseen) / weights[sides].sum(), unseen / weights[~sides].sum()) * weights)


def _quantiles(values: Floats, weights: Floats, levels: Any) -> Floats:
    """The least value at or below which a share of the weight lies; ∞ for a share above 1."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(reached, np.asarray(levels) - 1e-9)
    return np.append(values[order], np.inf)[np.minimum(places, len(values))]


def choose_lead(rows: _Rows | None, none_of_these: Floats | None = None) -> float:
    """What tells rows of no candidate best from the others: half of the held-out classes play these, or given rows."""
    if rows is None:
        return 0.0
    merits = np.zeros(len(LEADS))
    for number, (scores, own, seen) in enumerate(zip(rows.scores, rows.own, rows.seen, strict=True)):
        held = make_generator(0, _PLAYED, number).permutation(np.flatnonzero(~seen))
        gone = held[: len(held) // 2]
        stays = np.setdiff1d(np.arange(len(seen)), gone)
        known = np.ones(len(own), dtype=bool) if none_of_these is not None else ~np.isin(own, gone)
        for place, lead in enumerate(LEADS):
            found = measure_known(scores if none_of_these is not None else scores[:, stays], lead)
            other = measure_known(none_of_these, lead) if none_of_these is not None else found[~known]
            merits[place] += area_under_curve(found[known], other)
    return float(LEADS[int(np.argmax(np.round(merits, 9)))])


def area_under_curve(known: Floats, unknown: Floats) -> float:
    """AUROC: how often a row of a candidate lies above one of none, where equal ones count half."""
    if not len(known) or not len(unknown):
        return float("nan")
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([known, unknown]))[: len(known)]
    return float((ranks.sum() - len(known) * (len(known) + 1) / 2) / (len(known) * len(unknown)))


def _fit_depths(
    pair: tuple[_Rows, _Rows],
    tree: list[tuple[list[Any], NDArray[np.int64]]],
    temperatures: Mapping[str, float],
    candidates: float,
) -> tuple[Curve, ...]:
    """Of each level of the tree the log odds that an answer needs, where no deeper level has answered."""
    ends = []
    for rows in pair:
        sides, weights = rows.sides, rows.weights
        mixes = [_balance(weights, sides, share) for share in (MIXES if 0 < sides.mean() < 1 else (0.5,))]
        everyone = [columns[own] for columns, own in zip(rows.columns, rows.own, strict=True)]
        slack = 1 / len(np.unique(np.concatenate(everyone)))  # one more class, all of it wrong
        left = np.ones((len(RISKS), len(sides)), dtype=bool)
        found = []
        chances = [to_chances(*one, temperatures) for one in zip(rows.scores, rows.seen, strict=True)]
        for nodes, codes in tree:
            sure, right = [], []
            for part, own, columns in zip(chances, rows.own, rows.columns, strict=True):
                mine = codes[columns]
                sums = sum_nodes(part, mine, max(len(nodes), 1))
                sure.append(log_odds(sums.max(axis=1)))
                right.append((sums.argmax(axis=1) == mine[own]) & (mine[own] >= 0))
            confidence, good = np.concatenate(sure), np.concatenate(right)
            order = np.argsort(-confidence, kind="stable")
            line = []
            for place, risk in enumerate(RISKS):
                mine = order[left[place, order]]
                least = max(_least_confidence(confidence[mine], good[mine], one[mine], risk, slack) for one in mixes)
                left[place] &= confidence < least
                line.append(least)
            found.append(line)
        ends.append(found)
    return tuple(Curve(RISKS, tuple(whole), tuple(half), candidates) for whole, half in zip(*ends, strict=True))


def _least_confidence(confidence: Floats, good: Mask, weights: Floats, risk: float, slack: float) -> float:
    """Down to which confidence, falling, at most a share `risk` of the answers is wrong."""
    wrong, all_of = np.cumsum(weights * ~good), np.cumsum(weights)
    fits = np.flatnonzero((wrong + slack) <= risk * (all_of + slack))
    return float(confidence[fits[-1]]) if len(fits) else np.inf
