"""Names of classes: none may be missing, and one name in two spellings is one class.

Unicode writes é as one sign (form NFC), or as e and an accent (form NFD). Files and datasets keep names in form NFC. An
estimator keeps the spelling of the labels it was fitted with, because scikit-learn compares what it predicts with them,
and finds other spellings of these names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def composed(name: str) -> str:
    """The name in form NFC.

    >>> composed("cafe\\u0301") == "caf\\u00e9"
    True
    """
    return unicodedata.normalize("NFC", name)


def all_composed(labels: NDArray[np.generic]) -> NDArray[np.generic]:
    """Labels with all text in form NFC."""
    if labels.dtype.kind not in "OUT":
        return labels
    names = dict.fromkeys(labels.tolist())
    return _renamed(labels, {name: composed(name) for name in names if isinstance(name, str)})


def one_spelling(labels: NDArray[np.generic], known: Iterable[Any] = ()) -> NDArray[np.generic]:
    """Labels in which each name has one spelling: that of `known`, else its own, or form NFC if it has several here."""
    if labels.dtype.kind not in "OUT":
        return labels
    names = [name for name in dict.fromkeys(labels.tolist()) if isinstance(name, str)]
    if all(map(str.isascii, names)):
        return labels
    theirs = {composed(name): name for name in known if isinstance(name, str)}
    mine: dict[str, set[str]] = {}
    for name in names:
        mine.setdefault(composed(name), set()).add(name)
    wanted = {form: theirs.get(form, form if len(ways) > 1 else next(iter(ways))) for form, ways in mine.items()}
    return _renamed(labels, {name: wanted[composed(name)] for name in names})


def _renamed(labels: NDArray[np.generic], to: dict[str, str]) -> NDArray[np.generic]:
    if all(old == new for old, new in to.items()):
        return labels
    renamed = [to.get(label, label) for label in labels.tolist()]
    return np.array(renamed, dtype=object if labels.dtype.kind == "O" else np.str_)


def refuse_missing(labels: NDArray[np.generic], where: str) -> None:
    """Say in which row there is none."""
    missing = [row for row, label in enumerate(labels.tolist()) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"{where} has no label in row {missing[0]}, counted from 0 ({len(missing)} such row(s) in all): every row "
            "needs a class; fill it in, or leave the row out"
        )


def _is_missing(label: Any) -> bool:
    return label is None or label is pd.NA or label is pd.NaT or (isinstance(label, float) and label != label)
