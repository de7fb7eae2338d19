"""A fitted model as the service uses it: its classes named by text, its columns known."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.signatures.table import SignatureTable


def by_text(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model with its classes named by text, so that a class "seven" can stand beside the classes 0 to 9."""
    named = copy.copy(model)
    table = model.signature_table_
    named.classes_, named.candidates_ = _texts(model.classes_), _texts(model.candidates_)
    for name in model.LABELLED:
        setattr(named, name, [str(label) for label in getattr(model, name)])
    if hasattr(model, "members_"):
        named.members_ = [by_text(member) for member in model.members_]
    named.signature_table_ = SignatureTable(_texts(table.labels), table.matrix, table.names)
    return named


def nameless(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model without names of features, for arrays whose columns are known to be right. With names, scikit-learn
    would warn of every array."""
    plain = copy.copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def _texts(labels: NDArray[Any]) -> NDArray[np.object_]:
    return np.array([str(label) for label in labels.tolist()], dtype=object)
