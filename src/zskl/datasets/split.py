"""Seeded parts for data without any: unseen classes, test rows, and validation folds, which hold out a third of the
seen classes each. Every such fold in this library comes from `folds_of_thirds`."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import make_generator
from zskl._display import count_noun
from zskl._validation import list_values, suggest
from zskl.signatures.table import normalise_name

FOLDS = 3
TESTED = 5  # one row in five of each seen class is test_seen
LEAST_HELD = 2  # with a single held-out class every answer would be right
LEAST_SEEN = LEAST_HELD * FOLDS
_UNSEEN, _ROWS, _FOLDS = range(3)  # streams of the seed: one draw does not move another

Class = TypeVar("Class", bound=np.generic)  # names or codes


def hold_out_thirds(classes: NDArray[Class], draw: np.random.Generator) -> list[tuple[NDArray[Class], NDArray[Class]]]:
    """(train, val) classes of three folds: each class is held out in one of them, and trains in the two others."""
    thirds = np.array_split(draw.permutation(classes), FOLDS)
    return [(np.concatenate([*thirds[:k], *thirds[k + 1 :]]), thirds[k]) for k in range(FOLDS)]


def check_seed(seed: object) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is {seed!r}: expected a whole number of at least 0")


def choose_unseen(
    classes: Sequence[str], sizes: NDArray[np.int64], unseen: Sequence[str | int] | None, share: float, seed: int
) -> NDArray[np.bool_]:
    """(C,) whether each class is unseen: the named ones, else a seeded `share` (fraction or number); and empty ones."""
    hidden: NDArray[np.bool_] = np.asarray(sizes) == 0
    if unseen is not None:
        names = [normalise_name(str(name)) for name in unseen]
        unknown = [name for name in names if name not in classes]
        if unknown:
            first = unknown[0]
            parts = [part.strip() for part in first.split(",")]
            if len(parts) > 1 and all(part in classes for part in parts):
                each = " ".join(f"--unseen {part}" for part in parts)
                raise ValueError(f"unseen names {first!r}, which is not a class: name each class on its own, {each}")
            raise ValueError(
                f"unseen names {list_values(unknown)}{suggest(first, classes)}, which the signatures do not "
                f"describe: expected some of {list_values(classes)}"
            )
        hidden |= np.isin(np.asarray(classes), names)
        asked = f"naming {count_noun(len(set(names)), 'unseen class')}"
    else:
        if not (share >= 1 if isinstance(share, int) else 0 < share < 1):
            expected = "a number above 0 and below 1; or name the unseen classes"
            raise ValueError(f"unseen_fraction is {share}: expected {expected}")
        full = np.flatnonzero(~hidden)
        number = share if isinstance(share, int) else max(round(share * len(full)), 0 if hidden.any() else 1)
        hidden[make_generator(seed, _UNSEEN).permutation(full)[:number]] = True
        drawn = f"drawing {count_noun(number, 'unseen class')}"
        asked = drawn if isinstance(share, int) else f"an unseen fraction of {share:g}"
    if hidden.all() or (~hidden).sum() < 2:
        raise ValueError(
            f"{asked} leaves {(~hidden).sum()} of {len(classes)} classes with rows to train on: at least 2 must be seen"
        )
    if not hidden.any():
        raise ValueError("no class is unseen: name at least one, or describe a class that has no rows")
    return hidden


def divide_rows(codes: NDArray[np.integer], unseen: NDArray[np.bool_], seed: int) -> dict[str, NDArray[np.int64]]:
    """Rows of the parts: of each seen class a fifth, never its only row, is test_seen; folds if classes suffice."""
    drawn: dict[str, list[NDArray[np.int64]]] = {"trainval": [], "test_seen": [], "test_unseen": []}
    by_class = np.argsort(codes, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=len(unseen)))
    for code, rows in enumerate(np.split(by_class, ends[:-1])):
        if unseen[code]:
            drawn["test_unseen"].append(rows)
            continue
        order = make_generator(seed, _ROWS, code).permutation(rows)
        held = max(1, round(len(rows) / TESTED)) if len(rows) > 1 else 0
        drawn["test_seen"].append(order[:held])
        drawn["trainval"].append(order[held:])
    parts = {part: np.sort(np.concatenate([np.empty(0, dtype=np.int64), *rows])) for part, rows in drawn.items()}
    seen, trainval = np.flatnonzero(~unseen), parts["trainval"]
    if len(seen) >= LEAST_SEEN:
        for k, pair in enumerate(hold_out_thirds(seen, make_generator(seed, _FOLDS)), start=1):
            for side, classes in zip(("train", "val"), pair, strict=True):
                parts[f"fold{k}_{side}"] = trainval[np.isin(codes[trainval], classes)]
    return parts
