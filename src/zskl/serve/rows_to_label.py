"""GET /label-next: which loaded rows to label next."""

from __future__ import annotations

import numpy as np

from zskl.estimators.next_rows import pick
from zskl.serve.class_book import Book
from zskl.serve.rows import LoadedRows
from zskl.serve.schemas.teaching import Guess, RowsToLabel


def chosen(loaded: LoadedRows, book: Book, count: int, pictures: bool) -> RowsToLabel:
    """The rows whose labels would help most, by `label_next`, with the best two classes of each."""
    rows = loaded.unlabelled("all", book, pictures)
    if not len(rows) or len(book.kinds) < 2:
        return {"version": book.version, "rows": []}
    found = pick(book.model, loaded.features(rows.tolist()), min(count, len(rows)), "margin", book.table)
    likely = np.full(found.labels.shape, None) if found.probabilities is None else found.probabilities

    def guesses(place: int) -> list[Guess]:
        pairs = zip(found.labels[place].tolist(), likely[place].tolist(), strict=True)
        return [{"class": name, "kind": book.kinds[name], "probability": share} for name, share in pairs]

    chosen = enumerate(rows[found.rows].tolist())
    return {
        "version": book.version,
        "rows": [
            {"row": row, "picture": bool(loaded.pictured[row]), "guesses": guesses(place)} for place, row in chosen
        ],
    }
