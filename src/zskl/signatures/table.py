"""The signatures that a user gives, a data frame, a mapping or an array → class labels and a matrix, checked.

A data frame (pandas, polars or any other that narwhals knows) has one row, or several, per class. A column named
"class" gives the class; without one the pandas index does, or the only column of text. The others are attributes.

No class may be without a name, and one name in two spellings is one class. Unicode writes é as one sign (form NFC), or
as e and an accent (form NFD). Files and datasets keep names in form NFC. An estimator keeps the spelling of the labels
it was fitted with, because scikit-learn compares what it predicts with them, and finds other spellings of these names.
"""

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from zskl._arrays import SparseRows, is_sparse, is_sparse_rows, is_torch, stack_rows, to_dense, to_numpy
from zskl._display import count_noun
from zskl._validation import SHOWN, check_option, find_caller_level, list_values, to_plain
from zskl.signatures.cells import (
    DATES,
    Column,
    Preparation,
    advise_on_cell,
    cell_text,
    hint_decimal_comma,
    is_date,
    is_missing,
    is_numeral,
    parse_quantity,
)

CLASS_COLUMN = "class"
FEWEST = 5  # rows: of fewer, whole numbers in order may well be an attribute
EXACT = float(1 << 24)  # float32 holds all whole numbers below it
SEPARATORS = ("=", "::", ":", "_")  # between the parts of an attribute's name
SENTENCE = 4  # words, on average, from which a text is no category
PREPARED = "zskl_preparation"  # where a data frame of numbers keeps what its columns were made from
SENTENCES = (
    "if sentences describe the classes, zskl data words makes a table of vectors of them; in Python "
    "TextClassifier and ImageClassifier take them as they are, and sentence_vectors(sentences, 'minilm') makes a table"
)
Place: TypeAlias = Callable[[int, str], str]  # a row and a column → how a message begins
_NAMES = re.compile(
    r"#|(ids?|nr|no|idx|index|code|key|number|uid|uuid|guid|row)\.?|.+[_\-. ](id|nr|uuid)|class[_\-. ]code",
    re.IGNORECASE,
)
_CAMEL = re.compile(r".*[a-z]I[dD]")  # classId
_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool, np.bool_),
    "integer": (int, np.integer),
    "string": (str,),
    "float": (float, np.floating),
}


@dataclass(frozen=True)
class SignatureTable:
    """`labels` (rows,), one or several per class; `matrix` (rows, p) float64, may be sparse; `names` of its columns.
    `preparation` says what columns of words or with gaps became: new classes are read in the same way."""

    labels: NDArray[np.generic]
    matrix: Any  # NDArray[np.float64] or SparseRows
    names: tuple[str, ...] | None
    preparation: Preparation | None = None

    @property
    def classes(self) -> NDArray[np.generic]:
        """The classes, each once, in the order of their first rows."""
        return unique_in_order(self.labels)

    def select(self, classes: Sequence[Any] | NDArray[np.generic]) -> "SignatureTable":
        rows = rows_by_label(self.labels)
        order = [row for label in map(to_plain, classes) for row in rows[label]]
        return replace(self, labels=self.labels[order], matrix=self.matrix[order])

    @property
    def counts(self) -> NDArray[np.int64]:
        """(classes,) how many rows each class has."""
        return np.array([len(group) for group in rows_by_label(self.labels).values()])

    def to_dense(self) -> "SignatureTable":
        return replace(self, matrix=to_dense(self.matrix)) if is_sparse_rows(self.matrix) else self

    def padded_rows(self) -> NDArray[np.int64]:
        """(classes, m) row indices; m is the largest number of rows of a class. One with fewer repeats its first."""
        rows = rows_by_label(self.labels)
        most = max(len(group) for group in rows.values())
        return np.array([group + [group[0]] * (most - len(group)) for group in rows.values()])


def read_table(
    signatures: Any,
    classes: Sequence[Any] | NDArray[np.generic] | None = None,
    names: Sequence[str] | None = None,
    known: Iterable[Any] | None = None,
    preparation: Preparation | None = None,
) -> SignatureTable:
    """A checked table; rows of an array are `classes`, `names` the columns to have, `known` decides spelling. Words
    become columns of 0 and 1: as a `preparation` says, or as is learned from a table with any columns."""
    learn = names is None
    if isinstance(signatures, SignatureTable):
        table = signatures
    elif isinstance(signatures, Mapping | pd.Series):
        table = _read_table_from_mapping(signatures, preparation, learn)
    elif isinstance(signatures, np.ndarray | list | tuple) or is_torch(signatures) or issparse(signatures):
        table = _read_table_from_array(signatures, classes)
    elif is_sparse(signatures):
        labels = to_labels(signatures.index.tolist(), "the class index of signatures")
        columns = tuple(str(name) for name in signatures.columns)
        table = SignatureTable(labels, _to_matrix(signatures, "signatures"), columns)
    else:
        table = _read_table_from_frame(signatures, preparation, learn)
    if names is not None and table.names is not None:
        table = _reorder_columns(table, tuple(names))
    _check_finite_table(table.labels, table.matrix, table.names)
    if known is None:
        known = () if classes is None else map(to_plain, classes)
    spelled = unify_spelling(table.labels, known)
    return table if spelled is table.labels else replace(table, labels=spelled)


def read_table_once(signatures: Any) -> Any:
    """What `read` takes in place of signatures, without reading them again where they name their classes."""
    nameless = signatures is None or isinstance(signatures, np.ndarray | list | tuple) or is_torch(signatures)
    nameless = nameless or issparse(signatures)
    return signatures if nameless else read_table(signatures)


def with_integer_labels(table: SignatureTable) -> SignatureTable:
    """The table with its float labels as integers. A label that is not whole is refused."""
    labels = table.labels.astype(np.int64)
    changed = table.labels[labels != table.labels]
    if len(changed):
        raise ValueError(f"signatures has class labels such as {list_values(changed)}, but labels in y are integers")
    return replace(table, labels=labels)


def one_hot(classes: NDArray[np.generic]) -> SignatureTable:
    """Each class is its own only attribute, as for an ordinary classifier."""
    return SignatureTable(classes, np.eye(len(classes)), None)


def label_kind(labels: NDArray[np.generic], where: str) -> str:
    """ "integer", "string", "float" or "boolean"; a mixture is refused."""
    kinds = {"b": "boolean", "i": "integer", "u": "integer", "f": "float", "U": "string", "T": "string"}
    if labels.dtype.kind in kinds:
        return kinds[labels.dtype.kind]
    found: dict[str, Any] = {}
    for label in labels.tolist():
        kind = next((name for name, types in _TYPES.items() if isinstance(label, types)), type(label).__name__)
        found.setdefault(kind, label)
    if found.keys() - {"string", "integer", "boolean"}:
        refuse_missing(labels, where)
    if len(found) > 1:
        shown = ", ".join(f"{kind} {label!r}" for kind, label in found.items())
        raise ValueError(f"{where} mixes label types ({shown}): make all class labels strings, or all integers")
    kind = next(iter(found))
    if kind not in _TYPES:
        raise ValueError(f"{where} holds labels of type {kind}: class labels must be all strings or all integers")
    return kind


def unique_in_order(labels: NDArray[np.generic]) -> NDArray[np.generic]:
    return labels[[group[0] for group in rows_by_label(labels).values()]]


def rows_by_label(labels: NDArray[np.generic]) -> dict[Any, list[int]]:
    rows: dict[Any, list[int]] = {}
    for index, label in enumerate(labels.tolist()):
        rows.setdefault(label, []).append(index)
    return rows


def to_labels(values: Any, where: str, known: Iterable[Any] = ()) -> NDArray[np.generic]:
    """A 1-D array of labels of one kind, each name in one spelling, that of `known` if it is there."""
    if isinstance(values, str):
        raise ValueError(f"{where} is {values!r}: expected a list of class names; write [{values!r}]")
    if not isinstance(values, np.ndarray):
        values = list(to_numpy(values).tolist()) if is_torch(values) else list(values)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        kind = label_kind(array, where) if len(array) else "string"
        return unify_spelling(array, known) if kind == "string" else np.array(values)
    if values.ndim != 1:
        raise ValueError(f"{where} has shape {values.shape}: expected one label per row, shape (n,)")
    if len(values):
        label_kind(values, where)
    return unify_spelling(values, known)


def _read_table_from_frame(
    frame: Any,
    preparation: Preparation | None = None,
    learn: bool = True,
    missing: str | None = None,
    categories: str | None = "onehot",
) -> SignatureTable:
    if isinstance(frame, pd.DataFrame):
        names = [str(name) for name in frame.columns]
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        if repeated:
            raise ValueError(f"attribute columns appear more than once: {list_values(repeated)}; keep one of each")
        frame = frame.set_axis(names, axis=1)
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        if hasattr(frame, "collect"):  # a plan for rows, as polars has it
            kind = type(frame).__name__
            raise ValueError(f"signatures is a {kind}, which holds no rows yet: call its .collect() first") from None
        raise ValueError(
            f"signatures of type {type(frame).__name__}: expected a data frame (pandas or polars), "
            "a mapping from class to vector, or a 2-D array"
        ) from None
    text = [name for name, kind in table.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    given, given_by = _class_labels(frame, table, text)
    labels = to_labels(given, "the class index of signatures")
    attributes = [name for name in table.columns if name != given_by]
    wordy = [name for name in attributes if name in text]
    known = Preparation.from_text(getattr(frame, "attrs", {}).get(PREPARED, "[]"))  # of a frame made of words before
    prepared = preparation is not None and not (preparation.has_words and {*preparation.features} <= {*attributes})
    if not prepared and (not learn or (not wordy and missing is None)):
        if wordy:
            kinds = ", ".join(f"{name!r} is {table.schema[name]}" for name in wordy[:SHOWN])
            raise ValueError(
                f"attribute columns must be numbers, as in the table of fit, but {kinds}; convert them, as "
                f"astype(float) does in pandas, or drop them, or name the one that gives the class {CLASS_COLUMN!r}"
            )
        matrix = _numbers_of(frame, table, attributes) if attributes else np.empty((0, 0))
        return SignatureTable(labels, matrix, tuple(attributes), known if known.features == (*attributes,) else None)
    cells = {name: table[name].to_list() for name in attributes}
    for name, column in cells.items():
        if any(isinstance(cell, date | time | timedelta) for cell in column):
            raise ValueError(f"signatures holds dates in column {name!r}: expected numbers or words; {DATES}")

    def place(row: int, name: str) -> str:
        return f"signatures, class {to_plain(labels[row])!r}, column {name!r}"

    return prepare_table(labels, cells, place, missing, categories, preparation if prepared else None)


def _numbers_of(frame: Any, table: Any, attributes: list[Any]) -> NDArray[np.float64]:
    """(R, a) the columns as numbers; `table` is the frame seen through Narwhals."""
    if isinstance(frame, pd.DataFrame) and all(isinstance(kind, np.dtype) for kind in frame.dtypes):
        # All columns at once: Narwhals converts one by one, which takes longer than the rest of a small fit.
        return np.asarray(frame[attributes].to_numpy(np.float64, copy=True))
    return np.asarray(table.select(nw.col(attributes).cast(nw.Float64)).to_numpy())


def _class_labels(frame: Any, table: Any, text: list[Any]) -> tuple[Any, Any]:
    """The label of each row, and the column that gave it (None for a pandas index)."""
    is_pandas = isinstance(frame, pd.DataFrame)
    if CLASS_COLUMN in table.columns:
        return table[CLASS_COLUMN].to_list(), CLASS_COLUMN
    if len(text) == 1 and (not is_pandas or isinstance(frame.index, pd.RangeIndex)):
        return table[text[0]].to_list(), text[0]
    if is_pandas and not (len(text) > 1 and isinstance(frame.index, pd.RangeIndex)):
        return frame.index.tolist(), None
    raise ValueError(
        f"the signatures table does not say which class each row describes: name one column {CLASS_COLUMN!r} "
        f"(its columns are {list_values(table.columns)})"
    )


def _read_table_from_mapping(
    mapping: "Mapping[Any, Any] | pd.Series[Any]", preparation: Preparation | None = None, learn: bool = True
) -> SignatureTable:
    if not len(mapping):
        raise ValueError("signatures is an empty mapping: expected class → vector")
    rows = [(label, one) for label, given in mapping.items() for one in (given if isinstance(given, list) else [given])]
    texts = [(label, one) for label, one in rows if isinstance(one, str)]
    if texts:
        label, sentence = texts[0]
        raise ValueError(
            f"signatures describes class {to_plain(label)!r} by {sentence!r:.60}: expected numbers, or words with a "
            f"name, such as {{'colour': 'red'}}; {SENTENCES}"
        )
    if all(isinstance(one, Mapping | pd.Series) for _, one in rows) and (
        preparation is not None or any(isinstance(value, str) for _, one in rows for value in dict(one).values())
    ):
        frame = pd.DataFrame([dict(one) for _, one in rows], index=pd.Index([label for label, _ in rows], dtype=object))
        return _read_table_from_frame(frame, preparation, learn)
    names: tuple[str, ...] | None = None
    labels, blocks = list[Any](), list[Any]()
    for label, given in mapping.items():
        named = given if isinstance(given, Mapping) else given.to_dict() if isinstance(given, pd.Series) else None
        if named is not None:
            mine = tuple(str(name) for name in named)
            names = names or mine
            if set(mine) != set(names):
                raise ValueError(f"class {label!r} is described by {list_values(mine)}, others by {list_values(names)}")
            by_name = {str(name): value for name, value in named.items()}
            given = [by_name[name] for name in names]
        block = _to_matrix(given, f"the signature of class {label!r}")
        if block.ndim > 2:
            raise ValueError(f"the signature of class {label!r} has shape {block.shape}: expected (p,) or (rows, p)")
        if blocks and block.shape[1] != blocks[0].shape[1]:
            raise ValueError(
                f"the signature of class {label!r} has {block.shape[1]} values, that of class {labels[0]!r} "
                f"{blocks[0].shape[1]}: all classes need the same attributes"
            )
        labels += [label] * len(block)
        blocks.append(block)
    return SignatureTable(to_labels(labels, "signatures"), stack_rows(*blocks), names)


def _read_table_from_array(array: Any, classes: Sequence[Any] | NDArray[np.generic] | None) -> SignatureTable:
    matrix = _to_matrix(array, "signatures") if issparse(array) else _to_float64(array, "signatures")
    if matrix.ndim != 2:
        raise ValueError(f"signatures has shape {matrix.shape}: expected 2-D, one row per class")
    if classes is None:
        raise ValueError(
            f"signatures is an array of {len(matrix)} rows without class names: pass candidates=[name of each row], "
            "or a data frame or mapping that names them"
        )
    if len(classes) != len(matrix):
        raise ValueError(
            f"signatures has {len(matrix)} rows for {len(classes)} classes: an array needs one row per class, "
            "in order; use a data frame or a mapping to describe further classes"
        )
    return SignatureTable(to_labels(classes, "the classes of signatures"), matrix, None)


def _reorder_columns(table: SignatureTable, names: tuple[str, ...]) -> SignatureTable:
    assert table.names is not None
    if table.names == names:
        return table
    mine = {name: place for place, name in enumerate(table.names)}
    _check_columns(mine, names, names)
    return replace(table, matrix=table.matrix[:, [mine[name] for name in names]], names=names)


def _check_columns(mine: Collection[str], wanted: Collection[str], allowed: Collection[str]) -> None:
    missing = [name for name in wanted if name not in mine]
    extra = [name for name in mine if name not in set(allowed)]
    if missing or extra:
        faults = [f"lacks {list_values(missing)}"] if missing else []
        faults += [f"has the unknown {list_values(extra)}"] if extra else []
        expected = f"it must have the {len(wanted)} attribute columns of fit"
        raise ValueError(f"the signatures table {' and '.join(faults)}: {expected}")


# Tables as people keep them: words, gaps and units


def class_table(table: Any, missing: str | None = None, categories: str | None = "onehot") -> pd.DataFrame:
    """Turn a class table with words, gaps and units into numbers; `fit` does so by itself where there are no gaps.

    A column of words becomes a column of 0 and 1 for each word, "12 cm" becomes 12, and yes and no become 1 and 0. A
    column with another word for each of five classes or more describes nothing that they share, and is left out. The
    table remembers all this, and so does a model that is fitted with it: new classes may be described in words too.

    Parameters
    ----------
    table : data frame or mapping
        A row, or several, per class: its index, or the column "class", names the class.
    missing : {"mean", "drop"}, default=None
        What to do with an empty cell: fill in the mean of its column (among words it is none of them), or leave the row
        out. None refuses it.
    categories : {"onehot"}, default="onehot"
        What to do with a column of words. None refuses it.

    Returns
    -------
    DataFrame
        Numbers alone; index: the classes.

    Examples
    --------
    >>> from zskl.signatures import class_table
    >>> birds = {"owl": {"wing": "95 cm", "crest": "tufts"}, "wren": {"wing": "15 cm", "crest": None}}
    >>> class_table(birds, missing="mean").T.to_dict("list")
    {'owl': [95.0, 1.0], 'wren': [15.0, 0.0]}
    """
    check_preparation_options(missing, categories)
    if isinstance(table, Mapping):
        table = pd.DataFrame(list(table.values()), index=pd.Index(list(table), dtype=object))
    return to_frame(_read_table_from_frame(table, missing=missing, categories=categories))


def check_preparation_options(missing: str | None, categories: str | None) -> None:
    if missing is not None:
        check_option("missing", missing, ("mean", "drop"))
    if categories is not None:
        check_option("categories", categories, ("onehot",))


def to_frame(table: SignatureTable) -> pd.DataFrame:
    """The table as a data frame, which remembers what its columns were made from."""
    names = table.names or [f"attribute {k}" for k in range(table.matrix.shape[1])]
    frame = pd.DataFrame(to_dense(table.matrix), index=pd.Index(table.labels, name=CLASS_COLUMN), columns=list(names))
    if table.preparation is not None:
        frame.attrs[PREPARED] = table.preparation.text()
    return frame


def prepare_table(
    labels: NDArray[np.generic],
    columns: Mapping[str, Sequence[Any]],
    place: Place,
    missing: str | None,
    categories: str | None,
    preparation: Preparation | None = None,
) -> SignatureTable:
    """Cells of each column as numbers, as the `preparation` says, or, if there is none, as is learned from them."""
    cells = {name: [cell_text(cell) for cell in column] for name, column in columns.items()}
    if preparation is None:
        if missing == "drop":
            gaps = np.array([[is_missing(text) for text in column] for column in cells.values()]).any(axis=0)
            lost = sorted(set(labels[gaps].tolist()) - set(labels[~gaps].tolist()))
            if lost:
                raise ValueError(
                    f"each row of class {list_values(lost)} in the class table has an empty cell, so missing='drop' "
                    "(--missing drop) would leave no description: fill them in, or use missing='mean' (--missing mean)"
                )
            kept = np.flatnonzero(~gaps).tolist()
            labels, cells = labels[kept], {name: [column[row] for row in kept] for name, column in cells.items()}
        preparation = Preparation(
            tuple(_learn_column(name, texts, labels, place, missing, categories) for name, texts in cells.items())
        )
    else:
        needed = {column.name for column in preparation.columns if not column.left_out}
        _check_columns(cells, needed, {*preparation.names})
    if not preparation.features:
        raise ValueError(
            f"column {list_values(cells)} of the class table holds another text for each class, or none: expected "
            f"numbers, or words that classes share; {SENTENCES}"
        )
    raw = np.full((len(labels), len(preparation.columns)), np.nan)
    for k, column in enumerate(preparation.columns):
        if not column.left_out:
            raw[:, k] = _encode_column(column, cells[column.name], place)
    return SignatureTable(labels, preparation.apply(raw), preparation.features, preparation)


def _learn_column(
    name: str, texts: list[str], labels: NDArray[Any], place: Place, missing: str | None, categories: str | None
) -> Column:
    read = [parse_quantity(text) for text in texts]
    gaps = [row for row, text in enumerate(texts) if is_missing(text)]
    words = [row for row, (value, _) in enumerate(read) if value is None]
    units = list(dict.fromkeys(unit for _, unit in read if unit))
    if gaps and not missing:
        raise _cell_error(place(gaps[0], name), texts[gaps[0]])
    if len(gaps) == len(texts):
        return Column(name, None, ())
    if not words:
        if len(units) > 1:
            row = next(row for row, (_, unit) in enumerate(read) if unit == units[1])
            raise ValueError(
                f"{place(row, name)}: found {texts[row]!r}, and {units[0]!r} before: expected one unit in a column; "
                "write all its cells in the same one"
            )
        known = [value for value, _ in read if value is not None and value == value]
        return Column(name, float(np.mean(known)) if missing else None, None, units[0] if units else "")
    first = texts[words[0]]
    mistaken = is_date(first) or is_numeral(first) or hint_decimal_comma(first)
    if categories is None or mistaken or 2 * len(words) < len(texts) - len(gaps):
        raise _cell_error(place(words[0], name), first)
    given = [
        (_word_key(text), label) for text, label in zip(texts, labels.tolist(), strict=True) if not is_missing(text)
    ]
    spelled = {_word_key(text): text for text in reversed(texts) if not is_missing(text)}
    classes = len(set(labels.tolist()))
    sentences = sum(len(key.split()) for key in spelled) >= SENTENCE * len(spelled)
    if len(spelled) == classes == len(set(given)) and (classes >= FEWEST or sentences):
        return Column(name, None, ())  # another text for each class
    return Column(name, None, tuple(sorted(spelled.values())))


def _encode_column(column: Column, texts: Sequence[str], place: Place) -> list[float]:
    """Numbers, or places of words, NaN for none of them."""
    if column.categories is not None:
        places = {_word_key(word): float(k) for k, word in enumerate(column.categories)}
        new = dict.fromkeys(text for text in texts if not is_missing(text) and _word_key(text) not in places)
        if new:
            warnings.warn(
                f"column {column.name!r} of the class table holds {list_values(new)}, which no class of fit did: it "
                f"counts as none of {list_values(column.categories)}",
                SignatureWarning,
                stacklevel=find_caller_level(),
            )
        return [places.get(_word_key(text), np.nan) for text in texts]
    found = []
    for row, text in enumerate(texts):
        value, unit = parse_quantity(text)
        if unit and unit != column.unit:
            wanted = f"numbers in {column.unit!r}" if column.unit else "numbers without a unit"
            raise ValueError(f"{place(row, column.name)}: found {text!r}, expected {wanted}, as in the table of fit")
        if value is None or (value != value and column.fill is None):
            raise _cell_error(place(row, column.name), text, fitted=True)
        found.append(value)
    return found


def _word_key(text: str) -> str:
    """Words that differ in case and spaces alone are one."""
    return normalise_name(" ".join(text.split())).casefold()


def _cell_error(where: str, cell: str, fitted: bool = False) -> ValueError:
    advice = hint_decimal_comma(cell) or (advise_on_cell(cell) if is_date(cell) or is_numeral(cell) else "")
    if fitted:
        advice = advice or ", as in the table that the model was fitted with; fill it in, or correct it"
    elif is_missing(cell):
        advice = (
            "; fill it in, or say missing='mean' (--missing mean), which takes the mean of the column, or "
            "missing='drop' (--missing drop), which leaves such rows out; in Python class_table does so"
        )
    advice = advice or (
        "; if the column holds words, categories='onehot' (--categories onehot) makes columns of 0 and 1 of them, if "
        f"it names the classes, call it {CLASS_COLUMN!r}; else repair or drop it"
    )
    return ValueError(f"{where}: found {cell!r}, expected a finite number{advice}")


class SignatureWarning(UserWarning):
    """Warns of descriptions that look wrong: two classes have the same one, or an attribute only numbers the classes.

    Examples
    --------
    >>> import warnings
    >>> from zskl import SignatureWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SignatureWarning)  # where you know, and mean it
    """


def warn_about_signatures(table: SignatureTable, given: Any) -> None:
    """Warn of attributes that identify classes, and of equal ones, in dense signatures `given` for the first time."""
    if given is None or isinstance(given, SignatureTable) or not hasattr(table.matrix, "tobytes"):
        return
    named = table.names is not None
    numbering = find_identifiers(table.names or (), table.matrix, table.labels) if named else []
    faults = [
        f"classes {list_values(classes)} have the same signature, so nothing tells them apart: describe what differs"
        for classes in find_equal_classes(table.labels, table.matrix)
    ]
    made = None if PREPARED in getattr(given, "attrs", {}) else table.preparation
    left_out = [] if made is None else [column.name for column in made.columns if column.left_out]
    if left_out:
        faults.append(
            f"column {list_values(left_out)} of signatures was left out, because it holds another text for each class, "
            f"or none; {SENTENCES}"
        )
    if numbering:
        advice = "expected attributes that describe them; drop it, since no new class shares it"
        numbers = f"the attribute {list_values(numbering)} of signatures numbers or names the classes"
        faults.insert(0, f"{numbers}: {advice}")
    for fault in faults:
        warnings.warn(fault, SignatureWarning, stacklevel=5)


def find_equal_classes(labels: NDArray[np.generic], matrix: NDArray[np.floating]) -> list[list[Any]]:
    """Groups of classes that share a description."""
    groups: dict[bytes, dict[Any, None]] = {}
    for label, row in zip(labels.tolist(), matrix + 0.0, strict=True):  # + 0.0: minus zero is zero
        groups.setdefault(row.tobytes(), {})[label] = None
    return [list(group) for group in groups.values() if len(group) > 1]


def normalise_name(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def normalise_names(labels: NDArray[np.generic]) -> NDArray[np.generic]:
    if labels.dtype.kind not in "OUT":
        return labels
    names = dict.fromkeys(labels.tolist())
    return _rename_labels(labels, {name: normalise_name(name) for name in names if isinstance(name, str)})


def unify_spelling(labels: NDArray[np.generic], known: Iterable[Any] = ()) -> NDArray[np.generic]:
    """Labels in which each name has one spelling: that of `known`, else its own, or form NFC if it has several here."""
    if labels.dtype.kind not in "OUT":
        return labels
    names = [name for name in dict.fromkeys(labels.tolist()) if isinstance(name, str)]
    if all(map(str.isascii, names)):
        return labels
    theirs = {normalise_name(name): name for name in known if isinstance(name, str)}
    mine: dict[str, set[str]] = {}
    for name in names:
        mine.setdefault(normalise_name(name), set()).add(name)
    wanted = {form: theirs.get(form, form if len(ways) > 1 else next(iter(ways))) for form, ways in mine.items()}
    return _rename_labels(labels, {name: wanted[normalise_name(name)] for name in names})


def _rename_labels(labels: NDArray[np.generic], to: dict[str, str]) -> NDArray[np.generic]:
    if all(old == new for old, new in to.items()):
        return labels
    renamed = [to.get(label, label) for label in labels.tolist()]
    return np.array(renamed, dtype=object if labels.dtype.kind == "O" else np.str_)


def refuse_missing(labels: NDArray[np.generic], where: str) -> None:
    missing = [row for row, one in enumerate(labels.tolist()) if pd.isna(one) is True]
    if missing:
        others = count_noun(len(missing), "such row")
        raise ValueError(
            f"{where} has no label in row {missing[0]}, counted from 0 ({others} in all): "
            "every row needs a class; fill it in, or leave the row out"
        )


def _to_float64(values: Any, where: str) -> NDArray[np.float64]:
    try:
        return to_numpy(values).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{where} is not made of numbers in rows of equal length: {str(values)[:60]}") from None


def _to_matrix(values: Any, where: str) -> Any:
    """At least 2-D, in float64; sparse if the values are."""
    if is_sparse(values):
        return SparseRows.from_scipy(values).astype(np.float64)
    return np.atleast_2d(_to_float64(values, where))


def _check_finite_table(labels: NDArray[np.generic], rows: Any, names: tuple[str, ...] | None) -> None:
    """Refuse signatures (rows, p) that are empty or not finite; `names` are those of the columns."""
    if rows.size == 0:
        raise ValueError(f"signatures is empty (shape {rows.shape}): expected at least one class and one attribute")
    bad = rows.find_not_finite() if is_sparse_rows(rows) else np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0]
        name = repr(names[column]) if names else str(column)
        value = "NaN" if np.isnan(rows[row, column]) else "infinity"
        raise ValueError(
            f"signatures contains {value} at class {to_plain(labels[row])!r}, attribute {name} "
            f"({count_noun(len(bad), 'such value')} in all): fill in or drop them; in Python class_table(..., "
            "missing='mean') does"
        )


def open_frame(given: Any, where: str) -> nw.DataFrame[Any] | None:
    """The frame through narwhals; None for anything else. One that holds a plan in place of rows is refused."""
    if isinstance(given, np.ndarray | list | tuple) or is_torch(given):
        return None
    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        advice = "expected a data frame; call its .collect() first"
        raise ValueError(f"{where} is a {type(given).__name__}, which holds no rows yet: {advice}")
    return frame if isinstance(frame, nw.DataFrame) else None


def order_columns(X: Any, fitted: Sequence[str] | None) -> Any:
    """A frame with the columns of `fit` in their order, since scikit-learn refuses another; anything else as it is."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(f"X holds dates ({X.dtype}): expected numbers; {DATES}")
    if isinstance(X, np.ndarray) and X.dtype == object and any(isinstance(one, date | np.datetime64) for one in X.flat):
        raise ValueError(f"X holds dates: expected numbers; {DATES}")
    frame = open_frame(X, "X")
    if frame is None or len(set(frame.columns)) < len(frame.columns):
        return X
    check_numbers(frame, "X")
    names = frame.columns if fitted is None else list(fitted)
    return X if frame.columns == names or set(frame.columns) != set(names) else frame.select(names).to_native()


def order_sparse_columns(X: Any, fitted: Sequence[str] | None) -> Any:
    """A sparse pandas frame with the columns of `fit` in their order; anything else as it is."""
    if fitted is None or not hasattr(X, "columns") or set(X.columns) != set(fitted) or len(X.columns) != len(fitted):
        return X
    return X[list(fitted)]


def check_numbers(frame: nw.DataFrame[Any], where: str) -> None:
    """Refuse dates and words, by the names of their columns. A number may be written as text; it may be missing."""
    for column in frame.iter_columns():  # names need not be text
        name, kind = column.name, column.dtype
        if kind.is_numeric() or kind == nw.Boolean:
            continue
        if kind.is_temporal():
            raise ValueError(f"{where} holds dates in column {name!r}: expected numbers; {DATES}")
        for value in column.to_list():
            if isinstance(value, date | time | timedelta):
                raise ValueError(f"{where} holds dates in column {name!r}: expected numbers; {DATES}")
            if not _is_number(value):
                raise ValueError(
                    f"{where} holds {value!r} in column {name!r}: expected numbers; if it holds categories, put a "
                    "OneHotEncoder before the model, in a Pipeline, else drop it"
                )


def _is_number(value: Any) -> bool:
    try:
        float("nan" if value is None or value is pd.NA else value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


# Columns that number or name the rows of a table. As attributes or features they say nothing, and drown what does.


def has_identifier_name(name: str) -> bool:
    """Whether a column of that name is usually an identifier: id, nr, index, code, class_id."""
    return (_NAMES.fullmatch(name.strip()) or _CAMEL.fullmatch(name.strip())) is not None


class Numbering:
    """Finds columns, block by block, that count rows, or are named so and have another whole number in each row."""

    def __init__(self, names: Sequence[str]) -> None:
        self._rows = 0
        self._named = np.array([has_identifier_name(name) for name in names], dtype=bool)
        self._seen: dict[int, set[float]] = {int(k): set() for k in np.flatnonzero(self._named)}
        self.whole, self.counts = np.ones((2, len(names)), dtype=bool)
        self._last = np.full(len(names), np.nan)

    def update(self, X: NDArray[np.floating]) -> None:
        """Take in further rows (n, columns). NaN is not a whole number."""
        at = np.flatnonzero(self.whole & (self.counts | self._named))  # soon few, or none
        part = X[:, at]
        self.whole[at] = (part == np.round(part)).all(axis=0)
        self.counts[at] &= self.whole[at] & (np.diff(part, axis=0) == 1).all(axis=0)
        if self._rows:
            self.counts[at] &= part[0] == self._last[at] + 1
        self._last[at] = part[-1]
        self._rows += len(X)
        for k, seen in list(self._seen.items()):
            values = [value for value in X[:, k].tolist() if abs(value) < EXACT]
            before = len(seen)
            seen.update(values)
            if len(seen) < before + len(values):  # one comes twice
                del self._seen[k]

    def find(self) -> list[int]:
        distinct = np.isin(np.arange(len(self.whole)), list(self._seen))
        found = (self.counts & (self._rows >= FEWEST)) | (distinct & self.whole & (self._rows > 1))
        return [int(k) for k in np.flatnonzero(found)]


def find_identifiers(names: Sequence[str], matrix: NDArray[np.floating], labels: NDArray[np.generic]) -> list[str]:
    """The columns of a class table, with one row or several per class, that identify its rows or its classes."""
    first: dict[object, int] = {}
    own = np.array([first.setdefault(label, row) for row, label in enumerate(labels.tolist())])
    rows = Numbering(names)
    rows.update(matrix)
    found = set(rows.find())
    if len(first) < len(own):
        classes = Numbering(names)
        classes.update(matrix[list(first.values())])
        found |= {k for k in classes.find() if (matrix[:, k] == matrix[own, k]).all()}
    return [name for k, name in enumerate(names) if k in found]


def attribute_groups(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The columns that belong together: those with the same text before a separator that makes groups of several.

    >>> attribute_groups(["wing_red", "wing_blue", "size"])
    {'wing': (0, 1), 'size': (2,)}
    """
    for separator in SEPARATORS:
        for parted in (str.rpartition, str.partition):
            found = _group_names([parted(name, separator)[0] if separator in name else name for name in names])
            if 1 < len(found) < len(names):
                return found
    return _group_names(names)


def _group_names(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for column, name in enumerate(names):
        found[name] = (*found.get(name, ()), column)
    return found
