"""What looks wrong in a class table that can be used: attributes that number the classes, equal descriptions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.parameters import listed
from zskl.signatures import identifiers
from zskl.signatures.table import SignatureTable


class SignatureWarning(UserWarning):
    """
    Warns of descriptions that look wrong: two classes have the same one, or an attribute only numbers the classes.

    Examples
    --------
    >>> import warnings
    >>> from zskl import SignatureWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SignatureWarning)  # where you know, and mean it
    """


def warn_of(table: SignatureTable, given: Any) -> None:
    """Warn of attributes that identify classes, and of classes that nothing tells apart, in the signatures `given`.

    Nothing is said of one-hot rows, of a table that was read before, and of a matrix that is not dense.
    """
    if given is None or isinstance(given, SignatureTable) or not hasattr(table.matrix, "tobytes"):
        return
    named = table.names is not None
    numbering = identifiers.among(table.names or (), table.matrix, table.labels) if named else []
    if numbering:
        warnings.warn(
            f"the attribute {listed(numbering)} of signatures numbers or names the classes: expected attributes that "
            "describe them; drop it, since no new class shares it",
            SignatureWarning,
            stacklevel=5,
        )
    for classes in equal_classes(table.labels, table.matrix):
        warnings.warn(
            f"classes {listed(classes)} have the same signature, so nothing tells them apart: describe what differs",
            SignatureWarning,
            stacklevel=5,
        )


def equal_classes(labels: NDArray[np.generic], matrix: NDArray[np.floating]) -> list[list[Any]]:
    """Groups of classes that share a description."""
    groups: dict[bytes, dict[Any, None]] = {}
    for label, row in zip(labels.tolist(), matrix + 0.0, strict=True):  # + 0.0: minus zero is zero
        groups.setdefault(row.tobytes(), {})[label] = None
    return [list(group) for group in groups.values() if len(group) > 1]
