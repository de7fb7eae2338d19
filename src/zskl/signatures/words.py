"""Signatures from words: class names → the mean of the vectors of their words; files of names and descriptions."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.parameters import listed, one_of
from zskl.signatures.table import CLASS_COLUMN
from zskl.signatures.word_files import Vector, read_vectors

_NUMBERING = re.compile(r"^(\d+\.|0\d*[\s_-])\s*(?=\S)")  # "001.", "12. ", "003_"; not the 3 of "3-toed"
_SEPARATORS = re.compile(r"[\s_+/,()\-‐‑–]+")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NAMES = (
    CLASS_COLUMN,
    "classes",
    "class_name",
    "label",
    "labels",
    "name",
    "names",
    "species",
)  # what headings call classes
_DESCRIPTIONS = ("", "definition", "description", "descriptions", "sentence", "sentences", "text", "texts")


def word_vectors(names: Iterable[str], path: str | os.PathLike[str], missing: str = "error") -> pd.DataFrame:
    r"""Describe each class by the mean of the vectors of the words in its name.

    "001.Black_footed_Albatross" has the words Black, footed and Albatross: a leading number is dropped, and spaces,
    underscores, hyphens, plus signs, slashes, commas and brackets separate words. A word is looked up as it is written,
    then in lower case. A word in camel case is then looked up by its parts: "GrizzlyBear" as grizzly and bear.

    Parameters
    ----------
    names : iterable of str
        The class names.
    path : path-like
        A file of word vectors as GloVe, word2vec or fastText write it: text, plain or gzip.
    missing : {"error", "skip"}, default="error"
        What to do with a word that has no vector. "error" raises an error that names all such words. "skip" takes the
        mean of the known words, and raises an error only for a class without any.

    Returns
    -------
    DataFrame
        One row per class; index: the names as given, columns: w0, w1 and so on.

    Raises
    ------
    ValueError
        If words have no vector, or the file is damaged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl.signatures import word_vectors
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "vectors.txt")
    ...     _ = file.write_text("polar 1 0\ngrizzly 0 1\nbear 1 1\n")
    ...     word_vectors(["polar bear", "GrizzlyBear"], file).T.to_dict("list")
    {'polar bear': [1.0, 0.5], 'GrizzlyBear': [0.5, 1.0]}
    """
    one_of("missing", missing, ("error", "skip"))
    classes = checked_names(names)
    words = {name: _words(name) for name in classes}
    spellings = {word: _spellings(word) for group in words.values() for word in group}
    known = read_vectors(path, {form for group in spellings.values() for option in group for form in option})
    vectors: dict[str, list[Vector]] = {name: [] for name in classes}
    lacking: dict[str, list[str]] = {}
    for name, group in words.items():
        for word in group:
            spelt = next((option for option in spellings[word] if all(form in known for form in option)), None)
            if spelt is None:
                lacking.setdefault(name, []).append(word)
            else:
                vectors[name] += [known[form] for form in spelt]
    unmet = {name: group for name, group in lacking.items() if missing == "error" or not vectors[name]}
    if unmet:
        each = "; ".join(f"{name!r} lacks {', '.join(map(repr, group))}" for name, group in unmet.items())
        advice = "rename these classes or use a file with more words"
        if missing == "error":
            advice += ", or average the known words with missing='skip' (--missing skip)"
        raise ValueError(f"{path} has no vector for words of {len(unmet)} of {len(classes)} classes: {each}; {advice}")
    return vector_table(classes, np.stack([np.mean(vectors[name], axis=0) for name in classes]))


def read_names(path: str | os.PathLike[str]) -> list[str] | pd.Series[Any]:
    r"""Read class names, and descriptions if there are any, from a file.

    Parameters
    ----------
    path : path-like
        A text file with a class per line. Or a .csv or .tsv file: the first column is the class, the second, if any,
        its description; commas, semicolons or tabs separate them. A first row such as "class", "name,text" or
        "label;description" is a heading.

    Returns
    -------
    list of str or Series
        The names, or class → description.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl.signatures import read_names
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "classes.csv")
    ...     _ = file.write_text("class,text\nowl,a bird that hunts at night\n")
    ...     read_names(file).to_dict()
    {'owl': 'a bird that hunts at night'}
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no file of class names at {path}: expected one class per line, or a .csv file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}): save it as UTF-8") from None
    if path.suffix.lower() not in (".csv", ".tsv"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    lines = text.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    separator = next((letter for letter in first if letter in ",;\t"), ",")
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator) if any(row)]
    if rows and _is_heading(*(cell.lower() for cell in rows[0])):
        rows = rows[1:]
    names, described = [row[0] for row in rows], [len(row) > 1 and row[1] != "" for row in rows]
    if not any(described):
        return names
    if not all(described):
        without = [name for name, given in zip(names, described, strict=True) if not given]
        raise ValueError(f"{path} has no description for {listed(without)}: describe all classes, or none")
    return pd.Series([row[1] for row in rows], index=names)


def _is_heading(first: str, second: str = "", *_: str) -> bool:
    return first == CLASS_COLUMN or (first in _NAMES and second in _DESCRIPTIONS)


def checked_names(names: Iterable[str]) -> list[str]:
    """The names, each a text that is not empty and is there once."""
    if isinstance(names, str):
        raise ValueError(f"names is the text {names!r}: expected a list of class names")
    classes = list(names)
    check_texts(classes, "class names")
    repeated = sorted({name for name in classes if classes.count(name) > 1})
    if repeated:
        raise ValueError(f"class names appear more than once: {listed(repeated)}; give each once")
    return classes


def check_texts(texts: Sequence[Any], what: str) -> None:
    """Refuse no texts at all, and what is not a text or is empty."""
    if not texts:
        raise ValueError(f"there are no {what}: expected at least one")
    wrong = [text for text in texts if not isinstance(text, str) or not text.strip()]
    if wrong:
        raise ValueError(f"{what} must be texts that are not empty, but found {listed(wrong)}")


def readable(name: str) -> str:
    """A class name as plain text: "Polar bear" for "001.Polar_bear", "Polar Bear" for "PolarBear"."""
    return " ".join(part for word in _words(name) for part in _HUMP.split(word))


def _words(name: str) -> list[str]:
    plain = _NUMBERING.sub("", unicodedata.normalize("NFC", name).strip())
    words = [word for word in _SEPARATORS.split(plain) if word]
    if not words:
        raise ValueError(f"the class name {name!r} contains no word: expected a name such as 'polar bear'")
    return words


def _spellings(word: str) -> list[tuple[str, ...]]:
    """How a word may be written in the file, best first; each option is one or several words."""
    parts = tuple(_HUMP.split(word))
    camel = [parts, tuple(part.lower() for part in parts)] if len(parts) > 1 else []
    return [(word,), (word.lower(),), *camel]


def vector_table(classes: Sequence[str], matrix: NDArray[np.generic]) -> pd.DataFrame:
    """Vectors (n, p) as a class table."""
    columns = [f"w{column}" for column in range(matrix.shape[1])]
    return pd.DataFrame(matrix, index=pd.Index(classes, name=CLASS_COLUMN), columns=columns)
