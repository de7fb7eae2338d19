"""The temperature that turns scores into probabilities, and the warning if it was not fitted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping


class UncalibratedWarning(UserWarning):
    """
    Warns of probabilities whose temperature nobody has fitted: their order is right, their size is not.

    See Also
    --------
    zskl.selection.calibrate : Fits the temperatures of a fitted model.

    Examples
    --------
    >>> import warnings
    >>> from zskl import UncalibratedWarning
    >>> warnings.simplefilter("ignore", UncalibratedWarning)
    """


def temperature_of(temperatures: Mapping[str, float] | None, situation: str) -> float:
    """The fitted temperature for candidates that are "seen", "unseen" or "mixed"; 1 with a warning if none is."""
    if temperatures is not None:
        return temperatures[situation]
    warnings.warn(
        "the probabilities of this model are not calibrated: their order is right, their size is not; "
        "fit it by selection.tune, or call selection.calibrate on it",
        UncalibratedWarning,
        stacklevel=3,
    )
    return 1.0
