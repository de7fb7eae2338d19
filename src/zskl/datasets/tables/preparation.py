"""How columns with holes and words become features: means in place of holes, a column of 0 and 1 for each category. All
of it is learned from training rows and kept, as a `Preparation`."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zskl._validation import list_values
from zskl.datasets.tables.features import Block, Cells, FeatureFile, block_rows
from zskl.signatures.cells import (
    LARGEST,
    Column,
    Preparation,
    cell_error,
    hint_decimal_comma,
    is_date,
    is_missing,
    is_numeral,
    parse_numbers,
)
from zskl.signatures.table import FEWEST, Numbering, has_identifier_name

MOST_CATEGORIES = 1000


def encode_cells(
    file: FeatureFile, cells: Cells, names: Sequence[str], categories: Sequence[tuple[str, ...] | None]
) -> NDArray[np.float32]:
    """(n, columns) a number, or the place of a category, for each cell; NaN for a hole or another category."""
    raw = np.empty((len(cells.where), len(names)), dtype=np.float32)
    for k, (name, column, words) in enumerate(zip(names, cells.columns, categories, strict=True)):
        if words is not None:
            places = {word: place for place, word in enumerate(words)}
            raw[:, k] = [places.get(text, np.nan) for text in _column_texts(column)]
            continue
        values, other = (column, list[int]()) if isinstance(column, np.ndarray) else parse_numbers(column)
        other = other or np.flatnonzero(np.abs(values) > LARGEST).tolist()
        if other:
            raise cell_error(file.place(cells.where[other[0]], name), str(column[other[0]]))
        raw[:, k] = values
    return raw


def _column_texts(column: Sequence[str] | NDArray[np.float64]) -> list[str]:
    """The cells of a column as texts, without spaces around them; whole numbers without a point."""
    if isinstance(column, np.ndarray):
        return ["" if value != value else f"{value:.17g}" for value in column.tolist()]
    return [cell.strip() for cell in column]


def learn_preparation(
    raw: NDArray[np.float32],
    rows: NDArray[np.int64],
    names: Sequence[str],
    categories: Sequence[tuple[str, ...] | None],
    fill: bool,
    droppable: bool,
) -> tuple[list[Column], list[str]]:
    """What to do with each column of `raw` (n, columns), learned from `rows`; and those empty there, if `droppable`."""
    sums, counts = np.zeros(len(names)), np.zeros(len(names), dtype=np.int64)
    places: list[set[float]] = [set() for _ in names]
    height = block_rows(raw.shape[1])
    for start in range(0, len(rows), height):
        block = np.asarray(raw[rows[start : start + height]], dtype=np.float64)
        known = ~np.isnan(block)
        sums += np.where(known, block, 0.0).sum(axis=0)
        counts += known.sum(axis=0)
        for k, words in enumerate(categories):
            if words is not None:
                places[k].update(np.unique(block[known[:, k], k]).tolist())
    columns, empty = [], []
    for k, (name, words) in enumerate(zip(names, categories, strict=True)):
        if not counts[k] and droppable:
            empty.append(name)
        elif words is not None:
            columns.append(Column(name, None, tuple(words[int(place)] for place in sorted(places[k]))))
        else:
            columns.append(Column(name, float(sums[k] / max(counts[k], 1)) if fill or not counts[k] else None))
    return columns, empty


@dataclass
class ColumnSummary:
    name: str
    rows: int = 0
    words: dict[str, None] = field(default_factory=dict)  # different texts, until there are too many
    first_word: tuple[int, str] | None = None  # where a cell holds neither a number nor nothing, and what it holds
    first_hole: tuple[int, str] | None = None
    more_numbers: int = 0  # than words
    _seen: set[str] | None = field(default_factory=set)  # None as soon as a text comes twice

    def __post_init__(self) -> None:
        self._numbering = Numbering([self.name])

    def update(self, cells: Sequence[str] | NDArray[np.float64], where: Sequence[int]) -> NDArray[np.bool_]:
        """Take in some rows; whether each has a hole."""
        texts = _column_texts(cells)
        values, other = (cells, list[int]()) if isinstance(cells, np.ndarray) else parse_numbers(cells)
        holes = np.isnan(values)
        holes[other] = False
        self.more_numbers += len(texts) - int(holes.sum()) - 2 * len(other)
        if other and self.first_word is None:
            self.first_word = where[other[0]], texts[other[0]]
        if holes.any() and self.first_hole is None:
            self.first_hole = where[int(holes.argmax())], texts[int(holes.argmax())]
        if len(self.words) <= MOST_CATEGORIES:
            self.words.update(dict.fromkeys(text for text in texts if not is_missing(text)))
        if self._seen is not None and has_identifier_name(self.name):
            before = len(self._seen)
            given = [text for text in texts if not is_missing(text)]
            self._seen.update(given)
            self._seen = self._seen if len(self._seen) == before + len(given) else None
        if not holes.all():
            self._numbering.update(values[~holes, None])
        self.rows += len(texts)
        return holes

    @property
    def has_categories(self) -> bool:
        """Whether it holds words: not dates, not decimal commas, and not numbers with a few mistakes among them."""
        word = "" if self.first_word is None else self.first_word[1]
        return self.more_numbers <= 0 and not (is_date(word) or is_numeral(word) or hint_decimal_comma(word))

    @property
    def is_identifier(self) -> bool:
        """Whether it counts the rows or names them: by another word for each, or another value under such a name."""
        if self.rows < FEWEST or (self.first_word is not None and is_date(self.first_word[1])):
            return False
        names = has_identifier_name(self.name) and self._seen is not None
        if self.first_word is not None:
            return names or (self.has_categories and len(self.words) == self.rows)
        return bool(self._numbering.counts[0] or (names and self._numbering.whole[0]))


@dataclass(frozen=True)
class Survey:
    """The columns to read, neither empty nor identifiers; their categories, None for numbers; and the rows to keep."""

    names: tuple[str, ...]
    places: tuple[int, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    identifiers: tuple[str, ...]
    empty: tuple[str, ...]
    rows: NDArray[np.bool_]


def survey_columns(file: FeatureFile, missing: str | None, categories: str | None, keep: Sequence[str]) -> Survey:
    """Read a table once; refuse the first hole without `missing` and the first word without `categories`."""
    found = [ColumnSummary(name) for name in file.names or map(str, range(file.width))]
    holes: list[NDArray[np.bool_]] = []
    for block in file.cells():
        some = [one.update(column, block.where) for one, column in zip(found, block.columns, strict=True)]
        holes.append(np.stack(some) if missing == "drop" else np.zeros((file.width, len(block.where)), dtype=bool))
    named = file.names is not None  # of a matrix without names every column stays
    going = tuple(one.name for one in found if named and one.is_identifier and one.name not in keep)
    empty = tuple(one.name for one in found if named and not one.words)
    places = tuple(k for k, one in enumerate(found) if one.name not in {*going, *empty})
    kept = [found[k] for k in places]
    for one in kept:
        if one.first_word is not None and (categories is None or not one.has_categories):
            raise cell_error(file.place(one.first_word[0], one.name), one.first_word[1])
        if one.first_word is not None and len(one.words) > MOST_CATEGORIES:
            raise ValueError(
                f"{file.source}, column {one.name!r} has more than {MOST_CATEGORIES} different words, such as "
                f"{one.first_word[1]!r}: expected categories that rows share; call it 'id' if it names the rows, or "
                "drop it"
            )
        if one.first_hole is not None and missing is None:
            raise cell_error(file.place(one.first_hole[0], one.name), one.first_hole[1])
    complete = ~np.concatenate([block[list(places)].any(axis=0) for block in holes])
    words = tuple(None if one.first_word is None else tuple(sorted(one.words)) for one in kept)
    return Survey(tuple(one.name for one in kept), places, words, going, empty, complete)


def prepared_blocks(file: FeatureFile, preparation: Preparation) -> Iterator[Block]:
    """The rows of a file, opened with holes and words allowed, prepared as the training rows were."""
    names, categories = preparation.names, [column.categories for column in preparation.columns]
    new: dict[str, dict[str, None]] = {}
    for cells in file.cells():
        raw = encode_cells(file, cells, names, categories)
        for k, column in enumerate(preparation.columns):
            holes = np.flatnonzero(np.isnan(raw[:, k]))
            if len(holes) and column.categories is not None:
                texts = _column_texts(cells.columns[k])
                found = (texts[row] for row in holes if not is_missing(texts[row]))
                new.setdefault(column.name, {}).update(dict.fromkeys(found))
            elif len(holes) and column.fill is None:
                raise ValueError(
                    f"{file.place(cells.where[holes[0]], column.name)}: found nothing, and the model was fitted on "
                    "rows without holes: fill it in, or fit it on a dataset made with --missing mean"
                )
        yield Block(preparation.apply(raw), cells.ids, cells.labels)
    for name, words in new.items():
        if words:
            warnings.warn(
                f"{file.source}: column {name!r} holds {list_values(words)}, which no training row did: it counts as "
                "none of the categories",
                stacklevel=2,
            )
