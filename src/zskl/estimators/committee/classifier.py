"""The estimator: members are fitted on the same rows, and their logits are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray
from zskl.estimators import model_file
from zskl.estimators.candidates import Question, as_in
from zskl.estimators.committee import stored
from zskl.estimators.committee.joint_scores import JointQuestion
from zskl.estimators.committee.teaching import Teaching
from zskl.estimators.row_weights import without_weights
from zskl.signatures.table import SignatureTable
from zskl.training.streaming import StreamedRows


class Committee(Teaching):
    """
    A committee: several zero-shot classifiers whose logits are added.

    The score is::

        score(x, c) = Σ_m w_m · score_m(x, c) / T_m

    Members are fitted on the same rows, and scale features and signatures each its own way. Of a class with several
    signatures each member takes the one that it finds best. `zskl.selection` tunes each member by itself, then chooses
    weights w and temperatures T on validation classes.

    Parameters
    ----------
    members : list of (str, estimator) pairs, default=None
        The members by name, as the `estimators` of scikit-learn's `VotingClassifier`; "drop" in place of an estimator
        leaves it out. None stands for class means, `means`, and the kernel of the method `gaussian-softmax`, `softmax`.
    weights : list of float, default=None
        Weight w ≥ 0 of each member. None stands for 1 each.
    member_temperatures : list of float, default=None
        Temperature T > 0 of each member: what turns its scores into logits. None stands for 1/40 for class means, the
        parameter `temperature` for a kernel with softmax loss, and 1 for others.
    device : str or None, default=None
        Where to compute. None computes where X lies. Members with a device of their own keep it.
    random_state : int, RandomState or None, default=None
        The seed of members that have none.

    Attributes
    ----------
    members_ : list of estimators
        The fitted members, without those that are dropped.
    named_members_ : Bunch
        The same by name.
    weights_, member_temperatures_ : ndarray of shape (n_members,)
        Their weights w and temperatures T.
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table, then classes that only have examples.

    See Also
    --------
    ClassMeansClassifier : The member that learns from examples and unlabelled rows.

    Examples
    --------
    >>> from zskl import ClassMeansClassifier, Committee, baselines
    >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
    >>> model = Committee([("means", ClassMeansClassifier()), ("eszsl", baselines.ESZSL())], weights=[2, 1])
    >>> model.fit([[0, 1], [1, 1]], ["ant", "bee"], table).predict([[1, 1]], candidates=["ant", "bee"]).tolist()
    ['bee']
    >>> model.named_members_.eszsl
    ESZSL()
    """

    kind: ClassVar[str] = "committee"
    LEARNED: ClassVar = {
        "weights_": ("*",),
        "member_temperatures_": ("*",),
        "member_names_": None,
        "untaught_": None,
    }

    def __init__(
        self,
        members: Sequence[tuple[str, Any]] | None = None,
        weights: Sequence[float] | None = None,
        member_temperatures: Sequence[float] | None = None,
        *,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.members = members
        self.weights = weights
        self.member_temperatures = member_temperatures
        self.device = device
        self.random_state = random_state

    @without_weights
    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Any = None) -> Self:
        """
        Fit every member on the same rows, classes and signatures.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class, as for every estimator. None stands for one-hot rows.
        callback : callable, default=None
            Handed to the members' own `fit`.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from zskl import Committee
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> Committee(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table).candidates_.tolist()
        ['ant', 'bee', 'emu']
        """
        with self._all_or_nothing():
            self._check_parameters()
            hired = self._hired()
            self._prepare(X, y, signatures, StreamedRows, values=False)
            self.weights_, self.member_temperatures_ = self._weights(), self._member_temperatures()
            self.untaught_ = None
            self.member_names_ = [name for name, _ in hired]
            self.members_ = [member.fit(X, y, self.signature_table_, callback=callback) for _, member in hired]
            for name, member in hired:
                member.device = self.named_members[name].device  # rows come from where the committee computes
                member.described_ = self.described_  # what they were handed are one-hot rows where this has none
        return self

    # Scores ----------------------------------------------------------------------------------------------------------

    def _question(self, scaled: Array, table: SignatureTable) -> Question:
        labels = as_in(self.classes_, table.classes)
        return JointQuestion(table.matrix, table.padded_rows(), labels, table)

    def _answerer(self, question: Question) -> Callable[[Array], Array]:
        assert isinstance(question, JointQuestion)  # `_question` makes no other
        voices = list(self._voices(question.table).values())

        def answer(X: Array) -> Array:
            total = voices[0](X)
            for voice in voices[1:]:
                total = total + voice(X)
            return total

        return answer

    def _nameless_scorer(self, Y: Array) -> Callable[[Array], Array]:
        factors = (self.weights_ / self.member_temperatures_).tolist()
        pairs = [(f, member) for f, member in zip(factors, self.members_, strict=True) if f]
        scorers = [(f, member, member._nameless_scorer(Y)) for f, member in pairs]

        def scored(X: Array) -> Array:
            factor, member, scorer = scorers[0]
            total: Array = factor * scorer(member._scaled(X))
            for factor, member, scorer in scorers[1:]:
                total = total + factor * scorer(member._scaled(X))
            return total

        return scored

    def _check_explainable(self) -> None:
        """Refuse: members see attributes in different ways."""
        check_is_fitted(self)
        names = ", ".join(f"named_members_.{name}" for name in self.member_names_)
        raise ValueError(f"a committee is not explained as a whole: call explain of a member, one of {names}")

    # Model files -----------------------------------------------------------------------------------------------------

    def _packed(self) -> tuple[dict[str, Any], dict[str, NumPyArray]]:
        header, arrays = super()._packed()
        header["members"], of_members = stored.packed(self.member_names_, self.members_)
        return header, {**arrays, **of_members}

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, NumPyArray], known: Any = None) -> Self:
        given = dict(header["parameters"])
        given["members"] = stored.from_settings(given["members"], known)
        model = model_file.unpack(cls(**given), header, arrays, cls._unstored)
        names, model.members_ = stored.unpacked(header["members"], arrays, known)
        stored.check(names, model.members_, model)
        if names != model.member_names_:
            raise ValueError(f"members {', '.join(names)}, expected {', '.join(model.member_names_)}")
        return model

    def _stored(self, name: str, value: Any) -> Any:
        if name == "members":
            return None if value is None else stored.settings_of(self._listed())
        if name in ("weights", "member_temperatures") and value is not None:
            return [float(number) for number in value]
        return super()._stored(name, value)
