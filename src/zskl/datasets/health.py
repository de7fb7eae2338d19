"""The health of a dataset: counts, faults to mend, and notes to know about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zskl._validation import list_values
from zskl.datasets.dataset import REQUIRED_PARTS, Dataset
from zskl.signatures.strength import find_weak_table
from zskl.signatures.table import find_equal_classes, find_identifiers

SMALL = 5  # a class with fewer rows gets a note
BLOCK_VALUES = 1 << 18  # features read together: 2 MB as float64
BLOCKS = 16  # blocks, spread over the training rows, that tell the scales: a whole mapped file would fill the memory
NOISE = 1e-13  # of the largest standard deviation: what varies less is rounding, as in a dead column of an encoder
UNEVEN_FEATURES, UNEVEN_ATTRIBUTES = 100.0, 30.0  # the largest allowed ratio of two standard deviations


@dataclass(frozen=True)
class ClassCount:
    """One class: its rows in all and in the three parts."""

    label: str | int
    seen: bool
    rows: int
    trainval: int
    test_seen: int
    test_unseen: int


@dataclass(frozen=True)
class Health:
    """What `check` found. A dataset without faults is healthy, whatever the notes say.

    Parameters
    ----------
    name : str
        The name of the dataset.
    rows : int
        How many rows it has.
    features : int
        How many features each row has.
    attributes : int
        How many attributes describe each class.
    parts : mapping of str to int
        The number of rows of each part.
    classes : tuple of ClassCount
        Each class with its rows, in all and in the three parts.
    faults : tuple of str
        What is wrong and should be mended, a sentence each.
    notes : tuple of str
        What is good to know, a sentence each.

    Attributes
    ----------
    healthy : bool
        Whether there is no fault.

    Examples
    --------
    >>> from zskl import datasets
    >>> health = datasets.check(datasets.load("digits"))
    >>> health.rows, health.features, health.attributes
    (1797, 64, 7)
    >>> [one.label for one in health.classes if not one.seen]
    [3, 4, 6]
    """

    name: str
    rows: int
    features: int
    attributes: int
    parts: Mapping[str, int]
    classes: tuple[ClassCount, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Whether there is no fault."""
        return not self.faults


def check(data: Dataset) -> Health:
    """Check the class table, the class sizes and the features of a dataset.

    Parameters
    ----------
    data : Dataset
        The dataset to check.

    Returns
    -------
    Health
        Counts, faults and notes.

    Examples
    --------
    >>> from zskl import datasets
    >>> datasets.check(datasets.make_synthetic()).healthy
    True
    """
    number = len(data.class_names)
    counts = [np.bincount(data.codes, minlength=number)]
    counts += [np.bincount(data.codes[data.parts[part]], minlength=number) for part in REQUIRED_PARTS]
    classes = tuple(
        ClassCount(label, bool(column[1]), *map(int, column))
        for label, column in zip(data.class_names.tolist(), np.stack(counts, axis=1), strict=True)
    )
    return Health(
        name=data.name,
        rows=len(data.X),
        features=data.X.shape[1],
        attributes=len(data.attribute_names),
        parts={part: len(rows) for part, rows in data.parts.items()},
        classes=classes,
        faults=tuple(_find_faults(data)),
        notes=(*_attribute_notes(data), *_size_notes(data, classes), *_feature_notes(data), *weak_descriptions(data)),
    )


def _find_faults(data: Dataset) -> Iterator[str]:
    values, names = data.signatures.to_numpy(), np.array(data.attribute_names, dtype=object)
    constant = (values == values[:1]).all(axis=0)
    if constant.any():
        yield f"attribute {list_values(names[constant])} has the same value for every class: it tells nothing, drop it"
    groups: dict[bytes, list[int]] = {}
    for k, column in enumerate((values[:, ~constant] + 0.0).T):  # + 0.0: minus zero is zero
        groups.setdefault(column.tobytes(), []).append(k)
    for group in (group for group in groups.values() if len(group) > 1):
        yield f"attributes {list_values(names[~constant][group])} have the same values: keep one of them"
    for labels in find_equal_classes(data.signatures.index.to_numpy(), values):
        same = list_values(labels)
        yield f"classes {same} have the same signature, so nothing tells them apart: describe what differs"
    seen = data.signatures.index.isin(data.seen_classes)
    shared = values[:, (values[seen] != 0).any(axis=0)] != 0  # (rows, attributes that a seen class has)
    related = set(data.signatures.index[shared.any(axis=1)].tolist())
    related |= set(data.signatures.index[(values == 0).all(axis=1)].tolist())  # which has none, as a seen class may
    orphans = [label for label in data.unseen_classes.tolist() if label not in related]
    if orphans:
        yield (
            f"unseen class {list_values(orphans)} is described only by attributes that no seen class has: nothing can "
            "be learned about it; describe it by others too"
        )


def _attribute_notes(data: Dataset) -> Iterator[str]:
    values, names = data.signatures.to_numpy(), np.array(data.attribute_names, dtype=object)
    seen = values[data.signatures.index.isin(data.seen_classes)]
    untaught = (seen == seen[:1]).all(axis=0) & ~(values == values[:1]).all(axis=0)
    if untaught.any():
        yield (
            f"attribute {list_values(names[untaught])} has the same value for all seen classes and another for an "
            "unseen one: training learns nothing of it"
        )
    numbering = list_values(find_identifiers(data.attribute_names, values, data.signatures.index.to_numpy()))
    if numbering:
        yield f"attribute {numbering} numbers or names the classes: if it does not describe them, leave it out"
    empty = data.signatures.index[(values == 0).all(axis=1)].unique()
    if len(empty):
        advice = "methods that do not centre signatures (signature_scaling) refuse it"
        yield f"class {list_values(empty)} is described by zeros alone: {advice}"
    if "unknown" in data.class_names.tolist():
        yield "a class is called 'unknown', as a rejected row is: reject (--reject) refuses such candidates; rename it"
    varied = ~(values == values[:1]).all(axis=0)
    spread = values[:, varied].astype(np.float64).std(axis=0)
    yield from _uneven_note("attribute", names[varied], spread, UNEVEN_ATTRIBUTES)


def weak_descriptions(data: Dataset) -> Iterator[str]:
    """A sentence if the descriptions of the seen classes explain nothing of their training rows."""
    number = {label: place for place, label in enumerate(data.class_names.tolist())}
    owners = np.array([number[label] for label in data.signatures.index.tolist()])
    rows = data.parts["trainval"]
    found = find_weak_table(lambda places: data.X[rows[places]], data.codes[rows], data.signatures.to_numpy(), owners)
    if found:
        yield found


def _size_notes(data: Dataset, classes: tuple[ClassCount, ...]) -> Iterator[str]:
    empty = [one.label for one in classes if not one.rows]
    if empty:
        yield f"no rows of class {list_values(empty)}: such a class can be predicted, not tested"
    small = [one.label for one in classes if 0 < one.rows < SMALL]
    if small:
        yield f"fewer than {SMALL} rows of class {list_values(small)}: its accuracy will be coarse"
    for part in ("test_seen", "test_unseen"):
        if not len(data.parts[part]):
            without = "zero-shot accuracy alone" if part == "test_seen" else "nothing to evaluate"
            yield f"no rows in {part}: zskl run has {without}, fit and predict can be used"
    if not any(part.endswith("_val") for part in data.parts):
        seen = len(data.seen_classes)
        coarse, none = "--tune makes seeded ones, coarse for so few classes", "too few for --tune to choose settings"
        few = coarse if seen >= 4 else none
        yield f"no validation folds of its own: {seen} seen classes; {few}"
    unused = len(data.X) - sum(len(data.parts[part]) for part in REQUIRED_PARTS)
    if unused:
        yield f"{unused} rows belong to no part"


def _feature_notes(data: Dataset) -> Iterator[str]:
    """Notes on the features of the training rows; of many rows, some blocks tell the scale of each column."""
    rows, width = data.parts["trainval"], data.X.shape[1]
    height = max(1, BLOCK_VALUES // width)
    starts = np.arange(0, len(rows), height)
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(BLOCKS, len(starts))).round().astype(int))
    first = data.X[rows[0]]
    constant, from_0, from_1 = (np.ones(width, dtype=bool) for _ in range(3))
    # Squares: sum of squared distances from the mean.
    mean, squares, done = np.zeros(width), np.zeros(width), 0
    for start in starts[chosen]:
        numbers = rows[start : start + height]
        block = data.X[numbers]
        constant &= (block == first).all(axis=0)
        from_0 &= (block == numbers[:, None].astype(np.float32)).all(axis=0)
        from_1 &= (block == (numbers[:, None] + 1).astype(np.float32)).all(axis=0)
        centre, total = block.mean(axis=0, dtype=np.float64), done + len(block)
        squares += np.square(block - centre).sum(axis=0) + (centre - mean) ** 2 * (done * len(block) / total)
        mean += (centre - mean) * (len(block) / total)
        done = total
    spread, varied = np.sqrt(squares / done), ~constant
    for start in np.delete(starts, chosen):
        if not constant.any():  # the usual case: the rest need not be read
            break
        constant &= (data.X[rows[start : start + height]] == first).all(axis=0)
    names = np.array(range(width) if data.feature_names is None else data.feature_names, dtype=object)
    if constant.any():
        yield f"feature {list_values(names[constant])} has the same value in every training row: it can be left out"
    counts = from_0 | from_1
    if counts.any() and len(rows) > 1:
        which = list_values(names[counts])
        yield f"feature {which} counts the rows: leave it out, or call the column 'id' if it names them"
    yield from _uneven_note("feature", names[varied], spread[varied], UNEVEN_FEATURES)


def _uneven_note(what: str, names: NDArray[np.generic], spread: NDArray[np.generic], limit: float) -> Iterator[str]:
    """A note if some columns vary far more than others; `spread` are their standard deviations, above zero."""
    varied = spread > NOISE * spread.max(initial=0.0)
    names, spread = names[varied], spread[varied]
    if not len(spread) or spread.max() <= limit * spread.min():
        return
    wide, narrow = names[spread.argmax()], names[spread.argmin()]
    setting = {"feature": "feature_scaling", "attribute": "signature_scaling"}[what]
    yield (
        f"the standard deviations of {what}s differ by more than {limit:g}×, from {spread.min():.3g} ({narrow!r}) to "
        f"{spread.max():.3g} ({wide!r}): large ones drown the others; class means see to it by themselves ('auto'), "
        f"for other methods consider {setting}='standardize-l2'"
    )
