"""The health of a dataset: counts, faults to mend, and notes to know about."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import release_pages
from zskl._validation import SHOWN, differ_in_spelling_alone, find_near_pairs, list_values
from zskl.datasets.dataset import REQUIRED_PARTS, Dataset
from zskl.signatures.strength import find_weak_table
from zskl.signatures.table import find_equal_classes, find_identifiers

SMALL = 5  # a class with fewer rows gets a note
BLOCK_VALUES = 1 << 18  # features read together: 2 MB as float64
BLOCKS = 16  # blocks, spread over the training rows, that tell the scales: a whole mapped file would fill the memory
NOISE = 1e-13  # of the largest standard deviation: what varies less is rounding, as in a dead column of an encoder
MANY = 0.01  # the share of rows above which equal rows are a fault
CLASSES_LOOKED_AT, ROWS_OF_A_CLASS = 100, 20  # for features that give the label away
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
    doubts = [*_doubt_names(data), *_doubt_descriptions(data), *_doubt_rows(data), *_doubt_features(data)]
    return Health(
        name=data.name,
        rows=len(data.X),
        features=data.X.shape[1],
        attributes=len(data.attribute_names),
        parts={part: len(rows) for part, rows in data.parts.items()},
        classes=classes,
        faults=(*_find_faults(data), *(sentence for fault, sentence in doubts if fault)),
        notes=(
            *_attribute_notes(data),
            *_size_notes(data, classes),
            *_feature_notes(data),
            *weak_descriptions(data),
            *(sentence for fault, sentence in doubts if not fault),
        ),
    )


def _find_faults(data: Dataset) -> Iterator[str]:
    values, names = data.signatures.to_numpy(), np.array(data.attribute_names, dtype=object)
    constant = (values == values[:1]).all(axis=0)
    to_drop = constant & ~_are_numbered(names)
    if to_drop.any():
        yield f"attribute {list_values(names[to_drop])} has the same value for every class: it tells nothing, drop it"
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


# What looks like a slip: whether it is a fault, and a sentence


def _doubt_names(data: Dataset) -> Iterator[tuple[bool, str]]:
    """Names of classes, or words of a column of the class table, that may be two spellings of one."""
    for one, other in find_near_pairs(data.class_names.tolist()):
        same = differ_in_spelling_alone(one, other)
        how = "case or spaces" if same else "one letter"
        yield same, f"classes {one!r} and {other!r} differ in {how} alone: if they are one class, give it one name"
    for column, places in _group_words(data.attribute_names).items():
        words = [data.attribute_names[place].partition("=")[2] for place in places]
        for one, other in find_near_pairs(words):
            yield False, f"words {one!r} and {other!r} of attribute {column!r} differ in one letter: are they one word?"


def _doubt_descriptions(data: Dataset) -> Iterator[tuple[bool, str]]:
    """Classes with several descriptions, where most have one."""
    index, names = data.signatures.index, np.array(data.attribute_names, dtype=object)
    several = index[index.duplicated()].unique()
    if 2 * len(several) > len(data.class_names):
        return
    for label in several.tolist():
        rows = data.signatures.to_numpy()[index == label]
        differ = list_values(names[(rows != rows[:1]).any(axis=0)]) or "nothing"
        told = f"class {label!r} has {len(rows)} descriptions, which differ in {differ}, and most classes have one"
        yield False, f"{told}: keep the right one, unless the class comes in several kinds"


def _doubt_rows(data: Dataset) -> Iterator[tuple[bool, str]]:
    """The same row in two classes, or in training and test."""
    groups = _find_equal_rows(data)
    if not groups:
        return
    repeated = sum(len(rows) - 1 for rows in groups)
    if 2 * repeated > len(data.X):
        why = "features have few different values, or a file holds its rows several times"
        yield False, f"{repeated} of {len(data.X)} rows repeat another one: {why}"
        return
    part = np.zeros(len(data.X), dtype=np.int64)
    part[data.parts["trainval"]] = 1
    part[np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])] = 2
    two = [rows for rows in groups if len(set(data.codes[rows].tolist())) > 1]
    if two:
        count, first = sum(map(len, two)), two[0][:SHOWN].tolist()
        labels = list_values(dict.fromkeys(data.y[two[0]].tolist()))
        told = f"rows with more than one label: {count}, such as rows {list_values(first)} (counted from 0) of classes"
        advice = "one of the labels is wrong: correct or leave out such rows"
        yield count > MANY * len(data.X), f"{told} {labels}; {advice}"
    tested = [int((part[rows] == 2).sum()) for rows in groups if (part[rows] == 1).any()]
    if sum(tested):
        shared = next(rows for rows in groups if set(part[rows].tolist()) >= {1, 2})
        told = f"test rows that are training rows, too: {sum(tested)}, such as rows {list_values(shared[:SHOWN])}"
        advice = "results on them are too good: leave one of each out"
        yield sum(tested) > MANY * int((part == 2).sum()), f"{told} (counted from 0); {advice}"


def _find_equal_rows(data: Dataset) -> list[NDArray[np.int64]]:
    """Groups of row numbers whose features are the same."""
    n, width = data.X.shape
    factors = np.random.default_rng(0).integers(1, 1 << 62, size=width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    keys, height = np.empty(n, dtype=np.uint64), max(1, BLOCK_VALUES // width)
    for start in range(0, n, height):
        block = np.ascontiguousarray(data.X[start : start + height]) + np.float32(0)  # minus zero is zero
        keys[start : start + height] = (block.view(np.uint32) * factors).sum(axis=1, dtype=np.uint64)
        release_pages(data.X)
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0, [True]]))
    runs = [order[edges[k] : edges[k + 1]] for k in np.flatnonzero(np.diff(edges) > 1)]
    same = [rows[(data.X[rows] == data.X[rows[0]]).all(axis=1)] for rows in runs]
    return [rows for rows in same if len(rows) > 1]


def _doubt_features(data: Dataset) -> Iterator[tuple[bool, str]]:
    """Features, or columns of words, that give the label away; first on some rows of some classes, then on all."""
    columns = _group_words(range(data.X.shape[1]) if data.feature_names is None else data.feature_names)
    by_class = np.split(np.argsort(data.codes, kind="stable"), np.cumsum(np.bincount(data.codes))[:-1])
    several = [rows[:ROWS_OF_A_CLASS] for rows in by_class if len(rows) > 1][:CLASSES_LOOKED_AT]
    if len(several) < 2:
        return
    some = np.sort(np.concatenate(several))
    X = np.asarray(data.X[some])
    likely = [name for name, places in columns.items() if any(_tells_label(X[:, [*places]], data.codes[some]))]
    if 2 * len(likely) > len(columns) > 1:
        return  # rows of a class are all the same, as rows without noise are
    told = {name: _tells_label(np.asarray(data.X[:, [*columns[name]]]), data.codes) for name in likely}
    same = [name for name, (label, value) in told.items() if label]
    if same:
        why = "since each of its values is of one class alone: leave it out, or results mean nothing"
        yield True, f"feature {list_values(same)} gives the label away, {why}"
    constant = [name for name, (label, value) in told.items() if value and not label]
    if constant:
        why = "if it describes the class and not the row, leave it out of the features"
        yield False, f"feature {list_values(constant)} has the same value in all rows of a class: {why}"


def _group_words(names: Iterable[Any]) -> dict[Any, list[int]]:
    """Columns by name; those of words, such as "colour=red", by what comes before."""
    found: dict[Any, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name.partition("=")[0] or name if isinstance(name, str) else name, []).append(place)
    return found


def _tells_label(values: NDArray[np.float32], codes: NDArray[np.int64]) -> tuple[bool, bool]:
    """Whether the value of a row says its class, and its class the value. (n, k) are the columns of k words, or one."""
    one = values[:, 0]
    if values.shape[1] > 1:  # words that no training row has are none of the columns
        one = values @ np.arange(1, values.shape[1] + 1, dtype=np.float32)
        one, codes = one[one > 0], codes[one > 0]
    different, place = np.unique(one, return_inverse=True)
    classes = len(np.unique(codes))
    pairs = len(np.unique(place * (int(codes.max(initial=0)) + 1) + codes))
    repeats = 1 < len(different) <= len(one) // 2
    return repeats and pairs == len(different), repeats and pairs == classes and len(one) >= 3 * classes


def _are_numbered(names: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Which are numbers of a vector, as "sent 20", and no attribute that somebody wrote down."""
    return np.array([re.fullmatch(r"\w+ \d+", str(name)) is not None for name in names])


def _attribute_notes(data: Dataset) -> Iterator[str]:
    values, names = data.signatures.to_numpy(), np.array(data.attribute_names, dtype=object)
    constant = (values == values[:1]).all(axis=0) & _are_numbered(names)
    if constant.any():
        count = f"{constant.sum()} of {len(names)} numbers" if constant.sum() > 1 else "one number"
        yield f"{count} of the class vectors ({list_values(names[constant])}) are the same for every class: no harm"
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
