"""A first reading of a table with holes and words: columns of numbers, of categories, and those that identify rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.tables.cells import is_date, is_missing, is_numeral, numbers_in, refusal
from zskl.datasets.tables.feature_file import FeatureFile
from zskl.datasets.tables.preparation import texts_of
from zskl.signatures import identifiers

MOST_CATEGORIES = 1000


@dataclass
class Found:
    """What the cells of a column say, as far as it was read."""

    name: str
    rows: int = 0
    words: dict[str, None] = field(default_factory=dict)  # different texts, until there are too many
    first_word: tuple[int, str] | None = None  # where a cell holds neither a number nor nothing, and what it holds
    first_hole: tuple[int, str] | None = None
    more_numbers: int = 0  # than words
    _seen: set[str] | None = field(default_factory=set)  # None as soon as a text comes twice

    def __post_init__(self) -> None:
        self._numbering = identifiers.Numbering([self.name])

    def see(self, cells: Sequence[str] | NDArray[np.float64], where: Sequence[int]) -> NDArray[np.bool_]:
        """Take in some rows; whether each has a hole."""
        texts = texts_of(cells)
        values, other = (cells, list[int]()) if isinstance(cells, np.ndarray) else numbers_in(cells)
        holes = np.isnan(values)
        holes[other] = False
        self.more_numbers += len(texts) - int(holes.sum()) - 2 * len(other)
        if other and self.first_word is None:
            self.first_word = where[other[0]], texts[other[0]]
        if holes.any() and self.first_hole is None:
            self.first_hole = where[int(holes.argmax())], texts[int(holes.argmax())]
        if len(self.words) <= MOST_CATEGORIES:
            self.words.update(dict.fromkeys(text for text in texts if not is_missing(text)))
        if self._seen is not None and identifiers.is_named_so(self.name):
            before = len(self._seen)
            given = [text for text in texts if not is_missing(text)]
            self._seen.update(given)
            self._seen = self._seen if len(self._seen) == before + len(given) else None
        if not holes.all():
            self._numbering.see(values[~holes, None])
        self.rows += len(texts)
        return holes

    @property
    def has_categories(self) -> bool:
        """Whether it holds words: not dates, and not numbers with a few mistakes among them."""
        word = "" if self.first_word is None else self.first_word[1]
        return self.more_numbers <= 0 and not is_date(word) and not is_numeral(word)

    @property
    def is_identifier(self) -> bool:
        """Whether it counts the rows or names them: by another word for each, or another value under such a name."""
        if self.rows < identifiers.FEWEST or (self.first_word is not None and is_date(self.first_word[1])):
            return False
        names = identifiers.is_named_so(self.name) and self._seen is not None
        if self.first_word is not None:
            return names or (self.has_categories and len(self.words) == self.rows)
        return bool(self._numbering.counts[0] or (names and self._numbering.whole[0]))


@dataclass(frozen=True)
class Survey:
    """The columns to read, by `names` and `places`, with the categories of each, None for numbers; and rows to keep.

    Columns that are empty, or identify rows, are not among them.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    identifiers: tuple[str, ...]
    empty: tuple[str, ...]
    rows: NDArray[np.bool_]


def survey(file: FeatureFile, missing: str | None, categories: str | None, keep: Sequence[str]) -> Survey:
    """Read a table once; refuse the first hole without `missing` and the first word without `categories`."""
    names = file.names or tuple(str(k) for k in range(file.width))
    found = [Found(name) for name in names]
    holes: list[NDArray[np.bool_]] = []
    for block in file.cells():
        some = [one.see(column, block.where) for one, column in zip(found, block.columns, strict=True)]
        holes.append(np.stack(some) if missing == "drop" else np.zeros((file.width, len(block.where)), dtype=bool))
    named = file.names is not None  # of a matrix without names every column stays
    going = tuple(one.name for one in found if named and one.is_identifier and one.name not in keep)
    empty = tuple(one.name for one in found if named and not one.words)
    places = tuple(k for k, one in enumerate(found) if one.name not in {*going, *empty})
    kept = [found[k] for k in places]
    for one in kept:
        where = f"{file.source}, {file.unit} "
        if one.first_word is not None and (categories is None or not one.has_categories):
            raise refusal(f"{where}{one.first_word[0]}, column {one.name!r}", one.first_word[1])
        if one.first_word is not None and len(one.words) > MOST_CATEGORIES:
            raise ValueError(
                f"{file.source}, column {one.name!r} has more than {MOST_CATEGORIES} different words, such as "
                f"{one.first_word[1]!r}: expected categories that rows share; call it 'id' if it names the rows, or "
                "drop it"
            )
        if one.first_hole is not None and missing is None:
            raise refusal(f"{where}{one.first_hole[0]}, column {one.name!r}", one.first_hole[1])
    complete = ~np.concatenate([block[list(places)].any(axis=0) for block in holes])
    return Survey(
        tuple(one.name for one in kept),
        places,
        tuple(None if one.first_word is None else tuple(sorted(one.words)) for one in kept),
        going,
        empty,
        complete,
    )
