"""The figures of records in every draw of classes and rows, from their answers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from zskl.experiments import given_figures
from zskl.experiments.answers import LEVELS, Answers, ClassRows, unpack
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Generalised, ZeroShot
from zskl.metrics import bootstrap
from zskl.metrics.seen_unseen import harmonic_means

Draws: TypeAlias = NDArray[np.float32]  # (draws,) a figure in each draw, as a fraction
_Case: TypeAlias = tuple[ClassRows, tuple[tuple[str, Answers], ...]]  # all that the draws of a record follow from
SIDES = ("unseen", "seen")
KEPT = 256  # records whose draws are remembered
AT_ONCE = 2**24  # entries of the outcomes that are drawn together
_FOUND: OrderedDict[_Case, Mapping[str, Draws]] = OrderedDict()


def prepare(records: Iterable[Record]) -> None:
    """Compute the draws of many records together, which is quicker than one by one, and remember them."""
    groups: dict[ClassRows, dict[_Case, None]] = {}
    wanted = dict.fromkeys(case for record in records if (case := _case(record)) is not None)
    for case in wanted:
        if case in _FOUND:
            _FOUND.move_to_end(case)  # what was asked for last is forgotten last
        else:
            groups.setdefault(case[0], {})[case] = None
    for rows, cases in groups.items():
        sizes = {side: unpack(getattr(rows, side)) for side in SIDES}
        most = max(int(size.sum()) for size in sizes.values())
        step = max(1, AT_ONCE // (most * (LEVELS + 3)))
        waiting = list(cases)
        for start in range(0, len(waiting), step):
            _FOUND.update(_drawn(waiting[start : start + step], sizes, bootstrap.how_many(most)))
    if groups:  # otherwise a comparison of more than KEPT would forget what it prepared, and draw it again
        while len(_FOUND) > max(KEPT, len(wanted)):
            _FOUND.popitem(last=False)


def mean_draws(records: Sequence[Record], column: str) -> NDArray[np.float64] | None:
    """The mean over records in each draw; None where one of them has no answers, or nothing is given."""
    prepare(records)
    cases = [_case(record) for record in records]
    found = [_FOUND[case].get(column) for case in cases if case is not None]
    if not found or len(found) < len(records) or any(one is None for one in found):
        return None
    mean: NDArray[np.float64] = np.mean([one for one in found if one is not None], axis=0, dtype=np.float64)
    return mean


def _case(record: Record) -> _Case | None:
    if record.class_rows is None:
        return None
    parts: dict[str, ZeroShot | Generalised] = {"zero-shot": record.zsl, "H": record.gzsl}
    if record.gzsl_calibrated is not None:
        parts["calibrated H"] = record.gzsl_calibrated
    parts |= given_figures.results(record)
    have = ((name, part.answers) for name, part in parts.items())
    return record.class_rows, tuple((name, answers) for name, answers in have if answers is not None)


def _drawn(
    cases: Sequence[_Case], sizes: Mapping[str, NDArray[np.int64]], draws: int
) -> Iterable[tuple[_Case, Mapping[str, Draws]]]:
    """Each case with its columns, all from the same draws."""
    means: dict[tuple[_Case, str, str], NDArray[np.float32]] = {}
    for seed, side in enumerate(SIDES):
        parts = {
            (case, column, side): _outcomes(answers, side, sizes[side])
            for case in cases
            for column, answers in case[1]
            if side == "unseen" or answers.seen is not None
        }
        ends = np.cumsum([part.shape[1] for part in parts.values()])
        together = np.concatenate(list(parts.values()), axis=1) if parts else np.empty((int(sizes[side].sum()), 0))
        found = np.split(bootstrap.draw_means(together, sizes[side], seed=seed, draws=draws), ends[:-1], axis=1)
        means |= dict(zip(parts, found, strict=True)) if parts else {}
    for case in cases:
        columns: dict[str, NDArray[np.float64]] = {}
        for column, answers in case[1]:
            unseen = means[case, column, "unseen"].astype(np.float64)
            if answers.seen is None:
                columns[column] = unseen[:, 0]
                continue
            seen = means[case, column, "seen"].astype(np.float64)
            columns[column] = harmonic_means(seen[:, 0], unseen[:, 0])
            if column != "H":  # seen, unseen and area are those of the plain model
                continue
            columns |= {"seen": seen[:, 0], "unseen": unseen[:, 0]}
            if answers.unseen_levels is not None:
                columns["area"] = bootstrap.area(seen[:, 1:], unseen[:, 1:])
        yield case, {column: values.astype(np.float32) for column, values in columns.items()}


def _outcomes(answers: Answers, side: str, sizes: NDArray[np.int64]) -> NDArray[np.float32]:
    """(n, 1) whether each row is right; with levels (n, 1 + LEVELS), which has 1 at the level of a row."""
    rows = int(sizes.sum())
    right = (unpack(getattr(answers, side), rows) == 0).astype(np.float32)
    if side == "unseen" and answers.examples is not None:
        right = _filled(right, unpack(answers.examples, rows) == 0, sizes)
    packed = answers.unseen_levels if side == "unseen" else answers.seen_levels
    if packed is None:
        return np.asarray(right[:, None], np.float32)
    levels = (unpack(packed, rows)[:, None] == np.arange(1, LEVELS + 1)).astype(np.float32)
    return np.concatenate([right[:, None], levels], axis=1)


def _filled(right: NDArray[np.float32], scored: NDArray[np.bool_], sizes: NDArray[np.int64]) -> NDArray[np.float32]:
    """A row that was an example counts as its class does on average, so that it moves nothing."""
    of_class = np.repeat(np.arange(len(sizes)), sizes)
    mean = np.bincount(of_class, right * scored) / np.maximum(1, np.bincount(of_class, scored))
    return np.where(scored, right, mean[of_class]).astype(np.float32)
