"""Seeded parts for data that come without any: which classes are unseen, which rows are tested, validation folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.parameters import did_you_mean, listed

FOLDS = 3
TESTED = 5  # one row in so many of each seen class is test_seen
LEAST_SEEN = 2 * FOLDS  # below that a fold would hold out a single class, and every answer were right
_UNSEEN, _ROWS, _FOLDS = range(3)  # streams of the seed: one draw does not move another


def choose_unseen(
    classes: Sequence[str], sizes: NDArray[np.int64], unseen: Sequence[str] | None, fraction: float, seed: int
) -> NDArray[np.bool_]:
    """(C,) whether each class is unseen: those named, else a seeded fraction of those with rows.

    A class without rows (its entry of `sizes` is 0) is always unseen. At least two classes stay seen.
    """
    hidden: NDArray[np.bool_] = np.asarray(sizes) == 0
    if unseen is not None:
        names = [str(name) for name in unseen]
        unknown = [name for name in names if name not in classes]
        if unknown:
            parts = [part.strip() for part in unknown[0].split(",")]
            if len(parts) > 1 and all(part in classes for part in parts):
                each = " ".join(f"--unseen {part}" for part in parts)
                raise ValueError(f"unseen names {unknown[0]!r}, which is no class: name each class itself, {each}")
            raise ValueError(
                f"unseen names {listed(unknown)}{did_you_mean(unknown[0], classes)}, which the signatures do not "
                f"describe: expected some of {listed(classes)}"
            )
        hidden |= np.isin(np.asarray(classes), names)
        asked = f"naming {len(set(names))} unseen class(es)"
    else:
        if not 0 < fraction < 1:
            raise ValueError(
                f"unseen_fraction is {fraction}: expected a number between 0 and 1, both excluded; or name the unseen "
                "classes"
            )
        full = np.flatnonzero(~hidden)
        number = max(round(fraction * len(full)), 0 if hidden.any() else 1)
        hidden[generator(seed, _UNSEEN).permutation(full)[:number]] = True
        asked = f"an unseen fraction of {fraction:g}"
    if hidden.all() or (~hidden).sum() < 2:
        raise ValueError(
            f"{asked} leaves {(~hidden).sum()} of {len(classes)} classes with rows to train on: at least 2 must be seen"
        )
    if not hidden.any():
        raise ValueError("no class is unseen: name at least one, or describe a class that has no rows")
    return hidden


def divide(codes: NDArray[np.integer], unseen: NDArray[np.bool_], seed: int) -> dict[str, NDArray[np.int64]]:
    """Row numbers of trainval, test_seen, test_unseen and, from `LEAST_SEEN` seen classes on, of three folds.

    Of each seen class a fifth of its rows, at least one but never the only one, is test_seen. Fold k trains on two
    thirds of the seen classes (fold1_train) and holds out the rest (fold1_val), a different third in each.
    """
    rows_of = _rows_of_classes(codes, len(unseen))
    parts: dict[str, list[NDArray[np.int64]]] = {"trainval": [], "test_seen": [], "test_unseen": []}
    kept: dict[int, NDArray[np.int64]] = {}
    for code, rows in enumerate(rows_of):
        if unseen[code]:
            parts["test_unseen"].append(rows)
            continue
        drawn = generator(seed, _ROWS, code).permutation(rows)
        held = max(1, round(len(rows) / TESTED)) if len(rows) > 1 else 0
        parts["test_seen"].append(drawn[:held])
        kept[code] = drawn[held:]
        parts["trainval"].append(kept[code])
    if len(kept) >= LEAST_SEEN:
        thirds = np.array_split(generator(seed, _FOLDS).permutation(list(kept)), FOLDS)
        for k, held_out in enumerate(thirds, start=1):
            away = set(held_out.tolist())
            parts[f"fold{k}_train"] = [rows for code, rows in kept.items() if code not in away]
            parts[f"fold{k}_val"] = [rows for code, rows in kept.items() if code in away]
    return {part: np.sort(np.concatenate([np.empty(0, dtype=np.int64), *rows])) for part, rows in parts.items()}


def _rows_of_classes(codes: NDArray[np.integer], classes: int) -> list[NDArray[np.int64]]:
    order = np.argsort(codes, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=classes))
    return np.split(order, ends[:-1])
