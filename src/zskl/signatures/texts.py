"""The texts that describe classes: made from names, descriptions and templates, and recorded beside their vectors.

The record of signatures.csv is signatures.texts.json. It has the encoder, the templates, the texts of each class, and
the checksum of the table, so that it is never taken for the record of another one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from zskl.files import write_atomically
from zskl.signatures.words import check_texts, checked_names, readable

FORMAT = "zskl-texts"


@dataclass(frozen=True)
class Texts:
    """`rows`: the texts that describe each row of a table, one for each template; `classes`: its class."""

    classes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    templates: tuple[str, ...]

    def by_class(self) -> dict[str, list[str]]:
        """Class → all its texts."""
        found: dict[str, list[str]] = {}
        for label, row in zip(self.classes, self.rows, strict=True):
            found.setdefault(label, []).extend(row)
        return found


def texts_of(
    descriptions: Iterable[str] | Mapping[str, str] | pd.Series[Any], template: str | Sequence[str] | None = None
) -> Texts:
    """What an encoder reads of class names, or of class → description; see `sentence_vectors`."""
    templates = ("{}",) if template is None else (template,) if isinstance(template, str) else tuple(template)
    if not templates:
        raise ValueError("template is an empty list: expected at least one text with {}, or None for the names alone")
    for one in templates:
        if not isinstance(one, str) or one.count("{}") != 1:
            raise ValueError(f"template is {one!r}: expected a text with one {{}}, such as 'a photo of a {{}}'")
    if isinstance(descriptions, Mapping | pd.Series):
        classes, texts = map(list, zip(*descriptions.items(), strict=True)) if len(descriptions) else ([], [])
        check_texts(texts, "descriptions")
    else:
        classes = checked_names(descriptions)
        texts = [readable(name) for name in classes]
    check_texts(classes, "class names")
    rows = tuple(tuple(one.replace("{}", text) for one in templates) for text in texts)
    return Texts(tuple(classes), rows, templates)


def record_of(table: str | os.PathLike[str]) -> Path:
    """Where the record of a table is."""
    return Path(table).with_suffix(".texts.json")


def write(table: str | os.PathLike[str], content: bytes, texts: Texts, encoder: str) -> None:
    """Write the `content` of a table, and beside it the texts that it was made from."""
    record = {
        "format": FORMAT,
        "table": hashlib.sha256(content).hexdigest(),
        "encoder": encoder,
        "templates": list(texts.templates),
        "texts": texts.by_class(),
    }
    lines = json.dumps(record, ensure_ascii=False, indent=1)
    write_atomically(record_of(table), f"{lines}\n".encode(errors="surrogatepass"))
    write_atomically(table, content)


def read(table: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The encoder, templates and texts that a table was made from; None if it has no record. A stale one is refused."""
    path = record_of(table)
    if not path.is_file():
        return None
    again = f"make the table again with zskl data words, or delete {path}"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        known = record["format"] == FORMAT
        kept = {key: record[key] for key in ("encoder", "templates", "texts")}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a record of texts ({error!r}): {again}") from None
    if not known or record["table"] != hashlib.sha256(Path(table).read_bytes()).hexdigest():
        raise ValueError(f"{path} says which texts {table} was made from, but the table has changed since: {again}")
    return kept
