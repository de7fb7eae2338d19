"""The classes: Latin letters with at most one mark, described as Unicode takes them apart."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable

import numpy as np
import pandas as pd

from zskl.parameters import did_you_mean

BASES = string.ascii_uppercase + string.ascii_lowercase
PLAIN = "none"  # in place of a mark
BEYOND = "ƠơƯưẀẁẂẃẄẅỲỳ"  # of the later blocks: what every face has


def parted(letter: str) -> tuple[str, str]:
    """The base letter and the name of the mark, which is "none" for a plain letter.

    >>> parted("ő")
    ('o', 'double acute')
    """
    whole = unicodedata.normalize("NFD", letter)
    return whole[0], _named(whole[1]) if whole[1:] else PLAIN


def _named(mark: str) -> str:
    return unicodedata.name(mark).removeprefix("COMBINING ").removesuffix(" ACCENT").lower()


def _decomposed(first: int, last: int) -> Iterable[str]:
    for letter in map(chr, range(first, last + 1)):
        whole = unicodedata.normalize("NFD", letter)
        if whole[0] in BASES and len(whole) <= 2:
            yield letter


LETTERS = (*_decomposed(0x41, 0x17F), *BEYOND)  # basic Latin, Latin-1 and Latin Extended-A, then the others
COMBINING = {_named(mark): mark for letter in LETTERS for mark in unicodedata.normalize("NFD", letter)[1:]}
MARKS = (PLAIN, *COMBINING)
COLUMNS = (*(f"letter: {base}" for base in BASES), "case: upper", *(f"mark: {mark}" for mark in MARKS))


def describe(letter: str, mark: str = PLAIN) -> pd.Series:
    """Describe a letter with a mark, whether or not anybody writes it.

    Parameters
    ----------
    letter : str
        The base letter: a to z or A to Z.
    mark : str, default="none"
        The name of the mark, one of `MARKS`, such as "acute".

    Returns
    -------
    Series
        The signature: 1 for each attribute that applies, else 0. Its name is the letter with its mark.

    Raises
    ------
    ValueError
        If there is no such letter or mark.

    Examples
    --------
    >>> from zskl.datasets import letters
    >>> row = letters.describe("Q", "ring above")
    >>> row.name, row[row > 0].index.tolist()
    ('Q̊', ['letter: Q', 'case: upper', 'mark: ring above'])
    """
    if len(letter) != 1 or letter not in BASES:
        raise ValueError(f"letter is {letter!r}: expected one of a to z or A to Z; name its mark apart from it")
    if mark not in MARKS:
        raise ValueError(f"mark is {mark!r}{did_you_mean(mark, MARKS)}: expected one of {', '.join(MARKS)}")
    true = {f"letter: {letter}", f"mark: {mark}"} | ({"case: upper"} if letter.isupper() else set())
    name = unicodedata.normalize("NFC", letter + COMBINING.get(mark, ""))
    return pd.Series([float(column in true) for column in COLUMNS], index=COLUMNS, dtype=np.float32, name=name)


def table() -> pd.DataFrame:
    """The signatures of all classes."""
    return pd.DataFrame([describe(*parted(letter)) for letter in LETTERS]).rename_axis("letter")
