"""Signatures from words: class names → the mean of the vectors of their words; files of names and descriptions."""

import csv
import gzip
import os
import re
import unicodedata
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._display import count_noun
from zskl._files import describe_encoding_error, plain_encoding
from zskl._validation import check_option, list_values
from zskl.signatures.table import CLASS_COLUMN

Vector: TypeAlias = NDArray[np.float64]
_NUMBERING = re.compile(r"^(\d+\.|0\d*[\s_-])\s*(?=\S)")  # "001.", "12. ", "003_"; not the 3 of "3-toed"
_SEPARATORS = re.compile(r"[\s_+/,()\-‐‑–]+")
# Where "GrizzlyBear", "Area51Site" and "HTTPServer" have a new word, and "3D" has none
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=\d)(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])")
# What headings call classes and their descriptions
_NAMES = (CLASS_COLUMN, "classes", "class_name", "label", "labels", "name", "names", "species")
DESCRIPTION_COLUMNS = ("", "definition", "description", "descriptions", "sentence", "sentences", "text", "texts")


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
    check_option("missing", missing, ("error", "skip"))
    classes = check_names(names)
    words = {name: _split_words(name) for name in classes}
    spellings: dict[str, list[tuple[str, ...]]] = {}  # how a word may be written in the file, best first
    for word in (word for group in words.values() for word in group):
        parts = tuple(_HUMP.split(word))
        camel = [parts, tuple(part.lower() for part in parts)] if len(parts) > 1 else []
        spellings[word] = [(word,), (word.lower(),), *camel]
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


def read_names(path: str | os.PathLike[str], encoding: str = "utf-8") -> "list[str] | pd.Series[Any]":
    r"""Read class names, and descriptions if there are any, from a file.

    Parameters
    ----------
    path : path-like
        A text file with a class per line. Or a .csv or .tsv file: the first column is the class, the second, if any,
        its description; commas, semicolons or tabs separate them. A first row such as "class", "name,text" or
        "label;description" is a heading.
    encoding : str, default="utf-8"
        How the file is encoded, such as "cp1252".

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
        text = path.read_text(encoding=plain_encoding(encoding))
    except UnicodeError as error:
        raise ValueError(describe_encoding_error(path, encoding, path.read_bytes()[:3], error)) from None
    if path.suffix.lower() not in (".csv", ".tsv"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    lines = text.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    separator = next((letter for letter in first if letter in ",;\t"), ",")
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator) if any(row)]
    first, second, *_ = [cell.lower() for cell in rows[0]] + ["", ""] if rows else ("", "")
    if first == CLASS_COLUMN or (first in _NAMES and second in DESCRIPTION_COLUMNS):
        rows = rows[1:]
    names, described = [row[0] for row in rows], [len(row) > 1 and row[1] != "" for row in rows]
    if not any(described):
        return names
    if not all(described):
        without = [name for name, given in zip(names, described, strict=True) if not given]
        raise ValueError(f"{path} has no description for {list_values(without)}: describe all classes, or none")
    return pd.Series([row[1] for row in rows], index=names)


def check_names(names: Iterable[str]) -> list[str]:
    """The names, each a text that is not empty and is there once."""
    if isinstance(names, str):
        raise ValueError(f"names is the text {names!r}: expected a list of class names")
    classes = list(names)
    check_texts(classes, "class names")
    repeated = sorted({name for name in classes if classes.count(name) > 1})
    if repeated:
        raise ValueError(f"class names appear more than once: {list_values(repeated)}; give each once")
    return classes


def check_texts(texts: Sequence[Any], what: str) -> None:
    """Refuse no texts at all, and what is not a text or is empty."""
    if not texts:
        raise ValueError(f"there are no {what}: expected at least one")
    wrong = [text for text in texts if not isinstance(text, str) or not text.strip()]
    if wrong:
        raise ValueError(f"{what} must be texts that are not empty, but found {list_values(wrong)}")


def to_readable_name(name: str) -> str:
    """A class name as plain text: "Polar bear" for "001.Polar_bear", "Polar Bear" for "PolarBear"."""
    return " ".join(part for word in _split_words(name) for part in _HUMP.split(word))


def _split_words(name: str) -> list[str]:
    plain = _NUMBERING.sub("", unicodedata.normalize("NFC", name).strip())
    words = [word for word in _SEPARATORS.split(plain) if word]
    if not words:
        raise ValueError(f"the class name {name!r} contains no word: expected a name such as 'polar bear'")
    return words


def vector_table(classes: Sequence[str], matrix: NDArray[np.generic]) -> pd.DataFrame:
    columns = [f"w{column}" for column in range(matrix.shape[1])]
    return pd.DataFrame(matrix, index=pd.Index(classes, name=CLASS_COLUMN), columns=columns)


def read_vectors(path: str | os.PathLike[str], wanted: Collection[str]) -> dict[str, Vector]:
    """word → vector for the `wanted` words; the first line of a word counts. GloVe has no heading "count dimension"."""
    path = Path(path)
    keys = {word.encode(): word for word in wanted}
    found: dict[str, Vector] = {}
    dimension = promised = None
    number = rows = 0

    def fault(what: str, expected: str) -> ValueError:
        return ValueError(f"{path}, line {number}: found {what}, expected {expected}")

    for number, line in _read_lines(path):
        fields = line.rstrip()
        if not fields:
            continue
        if b"\0" in fields:
            raise fault("bytes that are not text", "text: convert the binary word2vec format first")
        if number == 1:
            heading = fields.split()
            if len(heading) == 2 and all(part.isdigit() for part in heading) and int(heading[1]):
                promised, dimension = map(int, heading)
                continue
        # How many values the first line has at its end; a field must remain for the word.
        if dimension is None:
            dimension = len(list(takewhile(_is_number, reversed(fields.split()[1:]))))
            if not dimension:
                raise fault(repr(fields.decode(errors="replace")[:40]), "a word and its values, separated by spaces")
        rows += 1
        word = fields[: fields.find(b" ")]
        # A tab, a space inside the word (". . ." in GloVe 840B), or a fault.
        if fields.count(b" ") != dimension:
            parts = fields.split()
            values = len(parts) - 1
            if values < dimension or (values > dimension and _is_number(parts[-dimension - 1])):
                raise fault(count_noun(max(values, 0), "value"), f"{dimension}, as the lines before it have")
            word = b" ".join(parts[:-dimension])
        if word in keys and keys[word] not in found:
            parts = fields.split()[-dimension:]
            wrong = next((part for part in parts if not _is_number(part)), None)
            if wrong is not None:
                raise fault(repr(wrong.decode(errors="replace")), "a finite number")
            found[keys[word]] = np.array([float(part) for part in parts])
    if rows == 0:
        raise ValueError(
            f"{path} holds no word vectors ({count_noun(number, 'line')}): expected lines 'word 0.1 0.2 ...'"
        )
    if promised is not None and rows != promised:
        advice = "the file is incomplete; fetch it again"
        raise ValueError(f"{path} holds {rows} words, its first line promises {promised}: {advice}")
    return found


def _read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.is_file():
        raise FileNotFoundError(f"no file of word vectors at {path}: expected a GloVe or word2vec text file")
    with path.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        number = 0
        try:
            for number, line in enumerate(gzip.GzipFile(fileobj=plain) if packed else plain, 1):
                yield number, line
        except (EOFError, OSError, zlib.error) as error:
            advice = "the file is damaged or incomplete; fetch it again"
            raise ValueError(f"{path} cannot be unpacked after line {number} ({error}): {advice}") from None


def _is_number(part: bytes) -> bool:
    try:
        return bool(np.isfinite(float(part)))
    except ValueError:
        return False
