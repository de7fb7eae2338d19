"""The members of a committee as settings: names, nested parameters, weights and temperatures."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Bunch

from zskl.estimators.class_means.classifier import ClassMeansClassifier
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.parameters import positive

DROP = "drop"
CLASS_MEANS_TEMPERATURE = 1 / 40  # κ = 40, where validation classes usually put it
Member = ZeroShotClassifier | str  # "drop" leaves a member out
Pair = tuple[str, Member]


def default_members() -> list[Pair]:
    """Class means and the kernel of the method "gaussian-softmax"."""
    return [
        ("means", ClassMeansClassifier()),
        ("softmax", ZeroShotKernelClassifier(kernel="gaussian", loss="softmax")),
    ]


def usual_temperature(member: ZeroShotClassifier) -> float:
    """What the scores of a member are divided by if nobody has fitted it: its own temperature, where it has one."""
    if isinstance(member, ClassMeansClassifier):
        return CLASS_MEANS_TEMPERATURE
    if isinstance(member, ZeroShotKernelClassifier) and member.loss == "softmax":
        return float(member.temperature)
    return 1.0


class Composition(ZeroShotClassifier):
    """The settings of `Committee`, nested ones included."""

    members: Any
    weights: Any
    member_temperatures: Any
    random_state: int | np.random.RandomState | None
    feature_scaling: str = "none"  # members scale rows themselves, each its own way
    signature_scaling: str = "center-l2"  # for `nearest_classes` alone
    signature_mean: str = "seen"

    @property
    def named_members(self) -> Bunch:
        """The members by name, as they were given, not fitted."""
        return Bunch(**dict(self._listed()))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """
        Get the settings.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the members by name and their settings, such as `means__shrinkage`, too.

        Returns
        -------
        dict
            Values by name.

        Examples
        --------
        >>> from zskl import Committee
        >>> Committee().get_params()["means__shrinkage"]
        0.5
        """
        found = dict(super().get_params(deep=False))
        for name, member in self._listed() if deep else []:
            found[name] = member
            if not isinstance(member, str):
                found |= {f"{name}__{key}": value for key, value in member.get_params(deep=True).items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """
        Change settings.

        Parameters
        ----------
        **params : dict
            Values by name. `members` replaces all members, a member's name that member ("drop" leaves it out), and
            `means__shrinkage` is the setting `shrinkage` of the member `means`.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from zskl import Committee
        >>> Committee().set_params(means__shrinkage=0.3).named_members.means
        ClassMeansClassifier(shrinkage=0.3)
        """
        if "members" in params:
            self.members = params.pop("members")
        names = [name for name, _ in self._listed()]
        if self.members is None and any(key.partition("__")[0] in names for key in params):
            self.members = default_members()
        for name in names:
            if name in params:
                new = params.pop(name)
                self.members = [(one, new if one == name else member) for one, member in self._listed()]
        dropped = [name for name, member in self._listed() if isinstance(member, str)]
        for key in params:
            if key.partition("__")[0] in dropped:
                raise ValueError(f"{key} is set, but that member is dropped: set the member first")
        super().set_params(**params)
        return self

    def _settings(self) -> dict[str, Any]:
        members = dict(self._listed())
        shown = {name: value for name, value in self.get_params().items() if name != "members" and name not in members}
        return shown | {name: member for name, member in members.items() if isinstance(member, str)}

    def _listed(self) -> list[Pair]:
        """The members, as far as `members` is a list of pairs at all; `_check_members` says what is wrong with it."""
        if self.members is None:
            return default_members()
        if not isinstance(self.members, list | tuple):
            return []
        pairs = [pair for pair in self.members if isinstance(pair, list | tuple) and len(pair) == 2]
        return [(name, member) for name, member in pairs if isinstance(name, str)]

    def _check_parameters(self) -> None:
        example = "expected pairs of a name and an estimator, such as [('means', ClassMeansClassifier())]"
        pairs = self._listed()
        if not pairs or (self.members is not None and len(pairs) != len(self.members)):
            raise ValueError(f"members is {str(self.members)[:80]}: {example}")
        own = super().get_params(deep=False)
        for place, (name, member) in enumerate(pairs):
            if not name or "__" in name or name in own:
                raise ValueError(f"a member is called {name!r}: expected a name without '__' that is no setting")
            if name in [other for other, _ in pairs[:place]]:
                raise ValueError(f"two members are called {name!r}: expected a name of its own for each")
            if isinstance(member, Composition):
                raise ValueError(f"member {name!r} is a committee itself: list its members instead")
            if not isinstance(member, ZeroShotClassifier) and not (isinstance(member, str) and member == DROP):
                raise ValueError(f"member {name!r} is {str(member)[:60]!r}: expected an estimator of zskl, or 'drop'")
            if isinstance(member, ZeroShotClassifier):
                check = getattr(member, "_check_parameters", None)
                if check is not None:
                    check()
        if all(isinstance(member, str) for _, member in pairs):
            raise ValueError("every member is dropped: keep at least one")
        self._numbers("weights", zero_allowed=True)
        self._numbers("member_temperatures")
        if not self._weights().any():
            raise ValueError(f"weights is {self.weights!r}: expected at least one above 0, of a member that is kept")

    def _numbers(self, name: str, zero_allowed: bool = False) -> None:
        value, count = getattr(self, name), len(self._listed())
        if value is None:
            return
        if isinstance(value, str) or np.ndim(value) != 1 or len(value) != count:
            raise ValueError(f"{name} is {str(value)[:60]}: expected {count} numbers, one for each member")
        for number in value:
            positive(name, number, zero_allowed=zero_allowed)

    def _weights(self) -> NDArray[np.float64]:
        """(M,) of the members that are kept."""
        kept = [not isinstance(member, str) for _, member in self._listed()]
        return np.ones(sum(kept)) if self.weights is None else np.asarray(self.weights, np.float64)[kept]

    def _member_temperatures(self) -> NDArray[np.float64]:
        """(M,) of the members that are kept."""
        kept = [(k, member) for k, (_, member) in enumerate(self._listed()) if not isinstance(member, str)]
        if self.member_temperatures is None:
            return np.array([usual_temperature(member) for _, member in kept])
        return np.asarray(self.member_temperatures, np.float64)[[k for k, _ in kept]]

    def _hired(self) -> list[tuple[str, ZeroShotClassifier]]:
        """Clones of the members that are kept; the committee's device and seed are theirs where they have none."""
        found = []
        for name, member in self._listed():
            if isinstance(member, str):
                continue
            mine = member.get_params(deep=False)
            lent = {key: getattr(self, key) for key in ("device", "random_state") if key in mine and mine[key] is None}
            found.append((name, clone(member).set_params(**lent)))
        return found
