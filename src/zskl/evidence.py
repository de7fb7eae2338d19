"""What a model is given beside descriptions before it is scored: labelled examples, or the unlabelled test rows.

shots         k rows of each unseen class, drawn by a seed, are taught with their labels. They are never scored.
unlabelled    the model adapts to test rows without their labels, and is scored on the same rows: "unseen" are those of
              unseen classes, "all" those of all classes.

Both start from the fitted model and leave it as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.datasets.dataset import Dataset
from zskl.parameters import count, one_of

UNLABELLED: Mapping[str, tuple[str, ...]] = {"unseen": ("test_unseen",), "all": ("test_seen", "test_unseen")}
_SHOTS = 5  # the stream of the seed that draws examples


@dataclass(frozen=True)
class Given:
    """A model with what it was given.

    `drawn` are the rows of "test_unseen" that were its examples. `short` names classes with fewer than `shots` of
    them. `declined` says why a model did not adapt; the model is then the one that was handed in.
    """

    model: Any
    shots: int = 0
    unlabelled: str | None = None
    drawn: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    short: tuple[Any, ...] = ()
    declined: str | None = None

    @property
    def adaptation(self) -> Mapping[str, object] | None:
        """What the model says about its adaptation, if it adapted and says something."""
        adapted = self.unlabelled is not None and self.declined is None
        return getattr(self.model, "adaptation_", None) if adapted else None

    def scored(self, data: Dataset, part: str) -> NDArray[np.int64]:
        """The rows of a part that were not drawn."""
        rows = rows_of(data, part)
        return rows[~np.isin(rows, self.drawn)] if len(self.drawn) else rows


def give(model: Any, data: Dataset, shots: int = 0, seed: int = 0, unlabelled: str | None = None) -> Given:
    """The model with `shots` examples of each unseen class, or adapted to the `unlabelled` rows; never both."""
    if shots and unlabelled is not None:
        raise ValueError(
            f"shots is {shots} and unlabelled is {unlabelled!r}: expected one of them, since their figures answer "
            "different questions; ask for each by itself"
        )
    if shots:
        return _taught(model, data, count("shots", shots), seed)
    if unlabelled is not None:
        return _adapted(model, data, unlabelled)
    return Given(model)


def rows_of(data: Dataset, part: str) -> NDArray[np.int64]:
    """The rows of a part, of which there must be some."""
    rows = data.parts[part]
    if not len(rows):
        raise ValueError(f"dataset {data.name!r} has no rows in {part!r}: this protocol needs at least one")
    return rows


def features(model: Any, data: Dataset, rows: NDArray[np.int64]) -> Any:
    """The rows of X; under their column names where the model was fitted with names and the data have them."""
    if data.feature_names is None or getattr(model, "feature_names_in_", None) is None:
        return data.X[rows]
    return pd.DataFrame(data.X[rows], columns=data.feature_names, copy=False)


def draw(data: Dataset, shots: int, seed: int) -> NDArray[np.int64]:
    """Of each unseen class `shots` rows of "test_unseen", or all but one where there are not more.

    Each class has a draw of its own, and more shots add to the same rows.
    """
    rows = rows_of(data, "test_unseen")
    labels, drawn = data.y[rows], []
    for place, label in enumerate(data.unseen_classes):
        mine = generator(seed, _SHOTS, place).permutation(rows[labels == label])
        drawn.append(mine[: min(shots, max(0, len(mine) - 1))])
    return np.concatenate(drawn).astype(np.int64)


def _taught(model: Any, data: Dataset, shots: int, seed: int) -> Given:
    if not hasattr(model, "add_examples"):
        raise ValueError(
            f"{type(model).__name__} cannot learn from examples: expected a model with add_examples; leave shots out, "
            "or take a method that has it, such as class-means"
        )
    drawn = draw(data, shots, seed)
    if not len(drawn):
        raise ValueError(
            f"every unseen class of dataset {data.name!r} has at most one test row, which is to be scored: expected 2 "
            "rows of some class; leave shots out"
        )
    labels, tested = data.y[drawn], np.unique(data.y[rows_of(data, "test_unseen")])
    short = tuple(label for label in tested.tolist() if np.sum(labels == label) < shots)
    return Given(model.add_examples(features(model, data, drawn), labels), shots, drawn=drawn, short=short)


def _adapted(model: Any, data: Dataset, unlabelled: str) -> Given:
    one_of("unlabelled", unlabelled, tuple(UNLABELLED))
    if not hasattr(model, "adapt"):
        raise ValueError(
            f"{type(model).__name__} cannot adapt to unlabelled rows: expected a model with adapt; leave unlabelled "
            "out, or take a method that has it, such as class-means"
        )
    rows = np.concatenate([rows_of(data, part) for part in UNLABELLED[unlabelled]])
    try:
        return Given(model.adapt(features(model, data, rows), candidates=unlabelled), unlabelled=unlabelled)
    except ValueError as error:  # no clear gain on validation classes, or too few rows: the fit is not thrown away
        return Given(model, unlabelled=unlabelled, declined=str(error))
