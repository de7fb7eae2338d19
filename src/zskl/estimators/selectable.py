"""What a search asks of a method; each method may answer in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import clone

from zskl.arrays import Array, NumPyArray
from zskl.estimators.candidates import Question
from zskl.training.solver import DivergenceError

if TYPE_CHECKING:
    pass


@cache
def _names(estimator: Any) -> tuple[str, ...]:
    """The settings of an estimator's class; scikit-learn looks them up each time."""
    return tuple(estimator._get_param_names())


class Selectable:
    """The part of `ZeroShotClassifier` that `zskl.selection` calls."""

    FREE: ClassVar[tuple[str, ...]] = ()  # settings whose values one fit serves all, such as the number of epochs

    def _free(self, X: Array) -> tuple[str, ...]:
        """Names of the settings in which those of one `_fit_together` on training rows X may differ."""
        return self.FREE

    def _applies(self, d: int, p: int) -> bool:
        """Whether these settings make sense for d features and p attributes; a search leaves others out."""
        return True

    def _effective(self) -> dict[str, Any]:
        """The settings that count: of several that differ in others alone, a search tries the first."""
        return self._settings()

    def _settings(self) -> dict[str, Any]:
        """All settings as a record lists them: those of members, where there are any, under nested names."""
        own: Any = type(self)
        return {name: getattr(self, name) for name in _names(own)}

    def _bench(self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray) -> Any:
        """Validation rows to try examples and unlabelled rows on, for a method that learns from these; else None."""
        return None

    def _take_practice(self, found: dict[str, Any]) -> None:
        """Store what validation rows said about them."""

    def _settle_again(self) -> None:
        """Take constant and temperatures, just set, as those of the untaught model; what it was taught comes on top."""

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        """Fit a clone for each setting, in any order, and hand it to `visit` with the setting's place.

        The settings differ in `_free(X)` alone. A model may change after the visit. If a place is visited again with
        a `DivergenceError`, forget what was seen there. Methods that can share work override this.
        """
        for place, setting in enumerate(settings):
            try:
                visit(place, clone(self).set_params(**setting).fit(X, y, signatures))
            except DivergenceError as error:
                visit(place, error)
