"""Models that were fitted without signatures: ordinary classifiers, because one-hot rows describe nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from zskl.parameters import listed

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier

REMEDY = "pass signatures to fit (model__signatures=... to that of a Pipeline)"
SHOWN = "  # fitted without signatures: knows only the classes in y"


class NoSignaturesWarning(UserWarning):
    """
    Warns of classes that only a description could give, asked of a model that was fitted without signatures.

    A model says it once. Its answers for such classes mean nothing.

    See Also
    --------
    UncalibratedWarning : Warns of probabilities whose size is not right.

    Examples
    --------
    >>> import warnings
    >>> from zskl import NoSignaturesWarning
    >>> warnings.simplefilter("error", NoSignaturesWarning)
    """


def warn_once(model: ZeroShotClassifier, asked: Iterable[Any], stacklevel: int) -> None:
    """Say it of the classes `asked` for that have no training rows, unless there are none or it was said."""
    if model.described_ or "_warned" in vars(model):
        return
    known = {*model.candidates_.tolist(), *model.classes_.tolist()}
    new = [label for label in dict.fromkeys(asked) if label not in known]
    if new:
        model._warned = True
        warnings.warn(
            f"this {type(model).__name__} was fitted without signatures, so it can tell nothing of {listed(new)}: "
            f"{REMEDY}",
            NoSignaturesWarning,
            stacklevel=stacklevel + 1,
        )


def hint(model: ZeroShotClassifier) -> str:
    """What to add to an error that signatures in `fit` would have spared."""
    return "" if model.described_ else f"; the model was fitted without signatures: {REMEDY}"


def wrapped_as_usual(kind: type) -> None:
    """Let scikit-learn break long lines of an estimator whose `__repr__` is its own."""
    with suppress(ImportError, AttributeError):  # no part of scikit-learn's public names: without it lines stay long
        from sklearn.utils._pprint import _EstimatorPrettyPrinter as Printer

        Printer._dispatch.setdefault(kind.__repr__, Printer._pprint_estimator)
