"""What a fitted committee learns later, through the members that can be taught. The committee itself never changes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, to_numpy
from zskl.estimators import inputs
from zskl.estimators.candidates import Question
from zskl.estimators.class_means.adaptation import KeptAdaptation, OtherModels
from zskl.estimators.class_means.bench import Bench
from zskl.estimators.class_means.classifier import ClassMeansClassifier
from zskl.estimators.class_means.taught import settled
from zskl.estimators.committee.composition import Composition
from zskl.estimators.committee.joint_scores import JointQuestion, Voice
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.ranking import Labels
from zskl.signatures.table import SignatureTable


class Teaching(Composition):
    """Methods of `Committee` that give a new fitted committee with more evidence."""

    members_: list[ZeroShotClassifier]
    member_names_: list[str]
    weights_: NDArray[np.float64]
    member_temperatures_: NDArray[np.float64]
    untaught_: dict[str, Any] | None

    @property
    def named_members_(self) -> Bunch:
        """The fitted members by name."""
        return Bunch(**dict(zip(self.member_names_, self.members_, strict=True)))

    def _voices(self, table: SignatureTable) -> dict[int, Voice]:
        """The logits of the members that count, by their places, for a table of candidates."""
        unknown: set[Any] = set()
        for member in self.members_:
            if isinstance(member, ClassMeansClassifier):
                unknown |= member._lacking(table)
        found = {}
        for k, factor in enumerate((self.weights_ / self.member_temperatures_).tolist()):
            member = self.members_[k]
            blind = frozenset[Any]() if isinstance(member, ClassMeansClassifier) else frozenset(unknown)
            if factor:
                found[k] = Voice(member, factor, table, blind)
        return found

    def add_examples(self, X: Array, y: Any, signatures: Any = None, *, wrong: Any = False) -> Self:
        """
        Give a new committee whose class means have also learned from labelled rows. This one stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The examples.
        y : array-like of shape (n,)
            Their classes: seen, unseen or new.
        signatures : DataFrame, mapping or array-like, default=None
            Descriptions of new classes, as for `fit`. A new class without one is known by its examples alone. Members
            that cannot be taught then speak neither for nor against it.
        wrong : bool or array-like of shape (n,), default=False
            True for rows that are marked as not of their class in y: they count against it.

        Returns
        -------
        Committee
            The new committee.

        Examples
        --------
        >>> from zskl import Committee
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = Committee(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> taught = model.add_examples([[5, 0], [4, 0]], ["cow", "cow"])
        >>> "cow" in taught.candidates_, "cow" in model.candidates_
        (True, False)
        """
        return self._with({k: self._means(k).add_examples(X, y, signatures, wrong=wrong) for k in self._taught()})

    def remove_examples(self, X: Array | None = None, y: Any = None) -> Self:
        """
        Give a new committee without some of the examples. This one stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d), default=None
            The examples to remove, as they were added. None removes all examples of the classes in y.
        y : array-like, default=None
            The class of each row in X, or, without X, the classes. None and no X removes all examples.

        Returns
        -------
        Committee
            The new committee.

        Examples
        --------
        >>> from zskl import Committee
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = Committee(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> taught = model.add_examples([[5, 0], [4, 0]], ["cow", "cow"])
        >>> taught.remove_examples(y=["cow"]).candidates_.tolist()
        ['ant', 'bee', 'emu']
        """
        return self._with({k: self._means(k).remove_examples(X, y) for k in self._taught()})

    def adapt(
        self,
        X: Array,
        candidates: Labels | str | None = None,
        *,
        force: bool = False,
        balance: float | None = None,
    ) -> Self:
        """
        Give a new committee whose class means have also learned from unlabelled rows. This one stays as it is.

        Each row counts for a class as far as the whole committee believes that it is of that class.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows whose classes nobody knows.
        candidates : {"unseen", "all"}, list of class names or None, default=None
            The classes that the rows may be of. None and "unseen" stand for the candidates without training rows,
            "all" for all candidates. Only classes without training rows take rows up.
        force : bool, default=False
            Whether to adapt even if nothing says that it helps.
        balance : float between 0 and 1, default=None
            How far to draw the masses of the classes together, as for class means.

        Returns
        -------
        Committee
            The new committee. Its `adaptation_` says what changed, and whether the rounds came to rest.

        Raises
        ------
        NoClearGain
            A ValueError: validation classes, or these rows, do not promise a gain.

        Examples
        --------
        >>> from zskl import Committee, datasets
        >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
        >>> model = Committee(random_state=0).fit(*data.samples("trainval"), data.signatures)
        >>> adapted = model.adapt(data.samples("test_unseen")[0], force=True)
        >>> adapted.adaptation_["rows"] == len(data.parts["test_unseen"])
        True
        """
        check_is_fitted(self)
        X = self._scaled(inputs.check_features(self, X))
        places = self._taught()
        return self._with({k: self._means(k)._adapt(X, candidates, force, balance, self._others(k)) for k in places})

    def _kept_adaptation(self) -> list[KeptAdaptation]:
        return [kept for k in self._taught() for kept in self._means(k)._kept_adaptation()]

    def _with_adaptation(self, kept: Sequence[KeptAdaptation]) -> Self:
        pairs = zip(self._taught(), kept, strict=True)
        return self._with({k: self._means(k)._with_adaptation([one]) for k, one in pairs})

    def _promise(self, candidates: str, n: int) -> dict[str, Any] | None:
        return self._means(self._taught()[0])._promise(candidates, n)

    def _mover(self, scaled: Array, table: SignatureTable) -> Callable[[Array], Array] | None:
        """What a label would move is the first member of class means."""
        places = self._teachable()
        if not places:
            return None
        member = self._means(places[0])
        mover = member._mover(member._scaled(scaled), table)
        return lambda X: mover(member._scaled(X))

    def _row_directions(self, scaled: Array) -> Array:
        member = self.members_[next(iter(self._teachable()), 0)]
        return member._row_directions(member._scaled(scaled))

    @property
    def practice_(self) -> dict[str, Any] | None:
        """What validation classes say about examples and unlabelled rows, in units of the scores of class means."""
        return self._means(self._taught()[0]).practice_

    @property
    def adaptation_(self) -> dict[str, Any] | None:
        """What `adapt` did, or None."""
        return self._means(self._taught()[0]).adaptation_

    def _means(self, place: int) -> ClassMeansClassifier:
        member = self.members_[place]
        assert isinstance(member, ClassMeansClassifier)  # as `_taught` says
        return member

    def _teachable(self) -> list[int]:
        """Places of the members that can be taught."""
        return [k for k, one in enumerate(self.members_) if isinstance(one, ClassMeansClassifier) and self.weights_[k]]

    def _taught(self) -> list[int]:
        """The same; refused if there are none."""
        check_is_fitted(self)
        found = self._teachable()
        if not found:
            raise ValueError(
                f"no member of this committee can be taught ({', '.join(self.member_names_)}): expected a "
                "ClassMeansClassifier with a weight above 0 among its members"
            )
        return found

    def _others(self, place: int) -> OtherModels:
        """What the members beside one of class means say, where its scores count `factor`."""
        factors = self.weights_ / self.member_temperatures_

        def logits(X: Array, table: SignatureTable) -> Array | None:
            voices = [voice for k, voice in self._voices(table).items() if k != place]
            return sum((voice(X) for voice in voices[1:]), start=voices[0](X)) if voices else None

        sharp = 1.0 if self.temperatures_ is None else 1 / self.temperatures_["unseen"]
        return OtherModels(logits, float(factors[place]), sharp * float(factors[place]))

    def _with(self, taught: dict[int, ClassMeansClassifier]) -> Self:
        """A copy with these members in their places."""
        new = copy.copy(self)
        new.members_ = [taught.get(k, member) for k, member in enumerate(self.members_)]
        first = next(iter(taught.values()))
        new.signature_table_, new.candidates_ = first.signature_table_, first.candidates_
        new.untaught_ = self.untaught_ or _constants(self)
        new._settle(next(iter(taught)))
        return new

    def _settle(self, place: int) -> None:
        """Set calibration and temperatures for what the member in this place was taught."""
        before = self.untaught_
        assert before is not None  # `_with` has set it
        entry, share = self._means(place)._standing()
        if entry is not None and entry.get("expected_gain", 0.0) is not None:  # somebody has tried it
            factor = float((self.weights_ / self.member_temperatures_)[place])
            self.calibration_, self.temperatures_ = settled(before, entry, share, factor)
        else:
            self.calibration_, self.temperatures_ = before["calibration"], before["temperatures"]

    def _settle_again(self) -> None:
        if self.untaught_ is not None:
            self.untaught_ = _constants(self)
            self._settle(self._taught()[0])

    # What selection asks ---------------------------------------------------------------------------------------------

    def _bench(self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray) -> Bench | None:
        """That of class means, in units of its scores; the other members' logits are added."""
        assert isinstance(question, JointQuestion)  # a committee asks no other
        places = [k for k, member in enumerate(self.members_) if isinstance(member, ClassMeansClassifier)]
        if not places or not self.weights_[places[0]]:
            return None
        means, others = self._means(places[0]), self._others(places[0])
        rows = means._scaled(scaled)
        bench = means._bench(rows, means._question(rows, question.table), own, seen)
        logits = others.logits(scaled, question.table)
        if bench is None or logits is None:
            return bench
        return replace(bench, other=(to_numpy(logits) / others.factor).astype(np.float32))

    def _take_practice(self, found: dict[str, Any]) -> None:
        for place in self._taught():
            self._means(place)._take_practice(found)


def _constants(model: Teaching) -> dict[str, Any]:
    return {"calibration": float(model.calibration_), "temperatures": model.temperatures_}
