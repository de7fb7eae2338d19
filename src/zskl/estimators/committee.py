"""A committee: several zero-shot classifiers whose logits are added."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl._validation import check_positive
from zskl.estimators import _class_means_adapt as teaching
from zskl.estimators import _inputs, model_file
from zskl.estimators._candidates import Question, match_label_dtype
from zskl.estimators._class_means_adapt import FewShotTrial, KeptAdaptation, OtherModels
from zskl.estimators._inputs import refuse_weights
from zskl.estimators.base import Labels, ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.signatures.table import SignatureTable
from zskl.training.rows import StreamedRows

DROP = "drop"
CLASS_MEANS_TEMPERATURE = 1 / 40  # κ = 40, where validation classes usually put it
MemberPair = tuple[str, ZeroShotClassifier | str]  # "drop" leaves a member out
KnownKinds = Mapping[str, type[ZeroShotClassifier]]
Scorer = Callable[[Array], Array]
M = TypeVar("M", bound=Callable[..., Any])


def default_members() -> list[MemberPair]:
    return [("means", ClassMeansClassifier()), ("softmax", ZeroShotKernelClassifier(kernel="gaussian", loss="softmax"))]


def default_temperature(member: ZeroShotClassifier) -> float:
    """What the scores of a member are divided by if nobody has fitted it: its own temperature, where it has one."""
    if isinstance(member, ClassMeansClassifier):
        return CLASS_MEANS_TEMPERATURE
    if isinstance(member, ZeroShotKernelClassifier) and member.loss == "softmax":
        return float(member.temperature)
    return 1.0


def _take_like_class_means(method: M) -> M:
    """A method that takes and returns what that of class means does, and so has the rest of its docstring."""
    theirs = inspect.getdoc(getattr(ClassMeansClassifier, method.__name__)) or ""
    rest = theirs.partition("\n\nParameters\n")[2].replace(f"{ClassMeansClassifier.__name__}\n", "Committee\n")
    method.__doc__ = f"{inspect.getdoc(method)}\n\nParameters\n{rest}"
    return method


class Committee(ZeroShotClassifier):
    """A committee: several zero-shot classifiers whose logits are added.

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
    classes_, candidates_ : ndarray
        All classes, sorted: the seen ones, the further classes of the table, and classes that only have examples.
    seen_classes_ : ndarray of shape (C,)
        The classes with training rows, sorted.

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
    >>> taught = model.add_examples([[5, 0], [4, 0]], ["cow", "cow"])
    >>> "cow" in taught.candidates_, "cow" in model.candidates_
    (True, False)
    >>> taught.remove_examples(y=["cow"]).candidates_.tolist()
    ['ant', 'bee', 'emu']
    >>> Committee().set_params(means__shrinkage=0.3).named_members.means
    ClassMeansClassifier(shrinkage=0.3)
    """

    kind: ClassVar[str] = "committee"
    LEARNED: ClassVar = {"weights_": ("*",), "member_temperatures_": ("*",), "member_names_": None, "untaught_": None}
    feature_scaling: str = "none"  # members scale rows themselves, each its own way
    signature_scaling: str = "center-l2"  # for `nearest_classes` alone
    signature_mean: str = "seen"

    members_: list[ZeroShotClassifier]
    member_names_: list[str]
    weights_: NDArray[np.float64]
    member_temperatures_: NDArray[np.float64]
    untaught_: dict[str, Any] | None  # calibration before the committee was taught

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

    @property
    def named_members(self) -> Bunch:
        """The members by name, as they were given, not fitted."""
        return Bunch(**dict(self._member_pairs()))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the settings.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the members by name and their settings, such as `means__shrinkage`, too.

        Returns
        -------
        dict
            Values by name.
        """
        found = dict(super().get_params(deep=False))
        for name, member in self._member_pairs() if deep else []:
            found[name] = member
            if not isinstance(member, str):
                found |= {f"{name}__{key}": value for key, value in member.get_params(deep=True).items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings.

        Parameters
        ----------
        **params : dict
            Values by name. `members` replaces all members, a member's name that member ("drop" leaves it out), and
            `means__shrinkage` is the setting `shrinkage` of the member `means`.

        Returns
        -------
        self
            The estimator.
        """
        if "members" in params:
            self.members = params.pop("members")
        names = [name for name, _ in self._member_pairs()]
        if self.members is None and any(key.partition("__")[0] in names for key in params):
            self.members = default_members()
        for name in names:
            if name in params:
                new = params.pop(name)
                self.members = [(one, new if one == name else member) for one, member in self._member_pairs()]
        dropped = [name for name, member in self._member_pairs() if isinstance(member, str)]
        for key in params:
            if key.partition("__")[0] in dropped:
                raise ValueError(f"{key} is set, but that member is dropped: set the member first")
        super().set_params(**params)
        return self

    def _settings(self) -> dict[str, Any]:
        members = dict(self._member_pairs())
        shown = {name: value for name, value in self.get_params().items() if name != "members" and name not in members}
        return shown | {name: member for name, member in members.items() if isinstance(member, str)}

    def _member_pairs(self) -> list[MemberPair]:
        """The members, as far as `members` is a list of pairs at all: `_check_parameters` says what is wrong."""
        if self.members is None:
            return default_members()
        if not isinstance(self.members, list | tuple):
            return []
        pairs = [pair for pair in self.members if isinstance(pair, list | tuple) and len(pair) == 2]
        return [(name, member) for name, member in pairs if isinstance(name, str)]

    def _check_parameters(self) -> None:
        example = "expected pairs of a name and an estimator, such as [('means', ClassMeansClassifier())]"
        pairs = self._member_pairs()
        if not pairs or (self.members is not None and len(pairs) != len(self.members)):
            raise ValueError(f"members is {str(self.members)[:80]}: {example}")
        own = super().get_params(deep=False)
        for place, (name, member) in enumerate(pairs):
            if not name or "__" in name or name in own:
                raise ValueError(f"a member is called {name!r}: expected a name without '__' that is no setting")
            if name in [other for other, _ in pairs[:place]]:
                raise ValueError(f"two members are called {name!r}: expected a name of its own for each")
            if isinstance(member, Committee):
                raise ValueError(f"member {name!r} is a committee itself: list its members instead")
            if not isinstance(member, ZeroShotClassifier) and not (isinstance(member, str) and member == DROP):
                raise ValueError(f"member {name!r} is {str(member)[:60]!r}: expected an estimator of zskl, or 'drop'")
            check = getattr(member, "_check_parameters", None)
            if check is not None:
                check()
        if all(isinstance(member, str) for _, member in pairs):
            raise ValueError("every member is dropped: keep at least one")
        for name in ("weights", "member_temperatures"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, str) or np.ndim(value) != 1 or len(value) != len(pairs):
                raise ValueError(f"{name} is {str(value)[:60]}: expected {len(pairs)} numbers, one for each member")
            for number in value:
                check_positive(name, number, zero_allowed=name == "weights")
        if not self._member_weights().any():
            raise ValueError(f"weights is {self.weights!r}: expected at least one above 0, of a member that is kept")

    def _member_weights(self) -> NDArray[np.float64]:
        """(M,) of the members that are kept."""
        kept = [not isinstance(member, str) for _, member in self._member_pairs()]
        return np.ones(sum(kept)) if self.weights is None else np.asarray(self.weights, np.float64)[kept]

    def _member_temperatures(self) -> NDArray[np.float64]:
        kept = [(k, member) for k, (_, member) in enumerate(self._member_pairs()) if not isinstance(member, str)]
        if self.member_temperatures is None:
            return np.array([default_temperature(member) for _, member in kept])
        return np.asarray(self.member_temperatures, np.float64)[[k for k, _ in kept]]

    def _clone_members(self) -> list[tuple[str, ZeroShotClassifier]]:
        """Clones of the members that are kept; the committee's device and seed are theirs where they have none."""
        found = []
        for name, member in self._member_pairs():
            if isinstance(member, str):
                continue
            mine = member.get_params(deep=False)
            lent = {key: getattr(self, key) for key in ("device", "random_state") if key in mine and mine[key] is None}
            found.append((name, clone(member).set_params(**lent)))
        return found

    @refuse_weights
    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Any = None) -> Self:
        """Fit every member on the same rows, classes and signatures.

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
        """
        with self._all_or_nothing():
            self._check_parameters()
            pairs = self._clone_members()
            self._prepare(X, y, signatures, StreamedRows, values=False)
            self.weights_, self.member_temperatures_ = self._member_weights(), self._member_temperatures()
            self.untaught_ = None
            self.member_names_ = [name for name, _ in pairs]
            self.members_ = [member.fit(X, y, self.signature_table_, callback=callback) for _, member in pairs]
            for name, member in pairs:
                # From now on rows come from where the committee computes.
                member.device = self.named_members[name].device
                # Members were handed one-hot rows where the committee has no descriptions.
                member.described_ = self.described_
        return self

    @property
    def named_members_(self) -> Bunch:
        """The fitted members by name."""
        return Bunch(**dict(zip(self.member_names_, self.members_, strict=True)))

    def _question(self, scaled: Array, table: SignatureTable) -> "CommitteeQuestion":
        labels = match_label_dtype(self.seen_classes_, table.classes)
        return CommitteeQuestion(table.matrix, table.padded_rows(), labels, table)

    def _candidate_scorer(self, question: Question) -> Scorer:
        assert isinstance(question, CommitteeQuestion)  # `_question` makes no other
        return sum_scorers(list(self._member_logits(question.table).values()))

    def _nameless_scorer(self, Y: Array) -> Scorer:
        pairs = zip(self._factors(), self.members_, strict=True)
        return sum_scorers([nameless_logits(member, factor, Y) for factor, member in pairs if factor])

    def _factors(self) -> list[float]:
        """w/T of each member."""
        return [float(one) for one in self.weights_ / self.member_temperatures_]

    def _member_logits(self, table: SignatureTable) -> dict[int, Scorer]:
        """Raw rows → logits (n, c) of the members that count, by their places, for a table of candidates."""
        taught = [member for member in self.members_ if isinstance(member, ClassMeansClassifier)]
        unknown = {label for member in taught for label in teaching.find_undescribed(member, table)}
        return {
            k: member_logits(member, factor, table, set() if member in taught else unknown)
            for k, (member, factor) in enumerate(zip(self.members_, self._factors(), strict=True))
            if factor
        }

    def _check_explainable(self) -> None:
        """Refuse: members see attributes in different ways."""
        check_is_fitted(self)
        names = ", ".join(f"named_members_.{name}" for name in self.member_names_)
        raise ValueError(f"a committee is not explained as a whole: call explain of a member, one of {names}")

    # Teaching: the members that can be taught give a new committee, this one never changes

    @_take_like_class_means
    def add_examples(
        self, X: Array, y: Any, signatures: Any = None, *, wrong: Any = False, new_classes: bool = False
    ) -> Self:
        """Give a new committee whose class means have also learned from labelled rows. This one stays as it is.

        Of a new class without a description, members that cannot be taught speak neither for nor against it.
        """
        means = self._teachable_or_refuse().items()
        return self._replace_members(
            {k: one.add_examples(X, y, signatures, wrong=wrong, new_classes=new_classes) for k, one in means}
        )

    @_take_like_class_means
    def remove_examples(self, X: Array | None = None, y: Any = None) -> Self:
        """Give a new committee without some of the examples. This one stays as it is."""
        means = self._teachable_or_refuse().items()
        return self._replace_members({k: one.remove_examples(X, y) for k, one in means})

    @_take_like_class_means
    def adapt(
        self, X: Array, candidates: Labels | str | None = None, *, force: bool = False, balance: float | None = None
    ) -> Self:
        """Give a new committee whose class means have also learned from unlabelled rows. This one stays as it is.

        Each row counts for a class as far as the whole committee believes that it is of that class.
        """
        before = self._replace_members({k: one._without_adaptation() for k, one in self._teachable_or_refuse().items()})
        means, X = before._teachable(), _inputs.check_features(self, X)
        scaled = self._scale_rows(X)
        new = before._replace_members(
            {k: one._adapt(scaled, candidates, force, balance, before._other_models(k)) for k, one in means.items()}
        )
        place, first = next(iter(new._teachable().items()))
        first._set_adapted_constant(teaching.keep_answered_share(before, new, X, candidates, new._factors()[place]))
        new._use_validation(place)
        return new

    def _kept_adaptation(self) -> list[KeptAdaptation]:
        return [kept for one in self._teachable_or_refuse().values() for kept in one._kept_adaptation()]

    def _with_adaptation(self, kept: Sequence[KeptAdaptation]) -> Self:
        pairs = zip(self._teachable_or_refuse().items(), kept, strict=True)
        return self._replace_members({k: means._with_adaptation([one]) for (k, means), one in pairs})

    def _adaptation_estimate(self, candidates: str, n: int) -> dict[str, Any] | None:
        return self._first_means()._adaptation_estimate(candidates, n)

    def _mover(self, scaled: Array, table: SignatureTable) -> Scorer | None:
        if not self._teachable():
            return None
        member = self._first_means()
        mover = member._mover(member._scale_rows(scaled), table)
        return lambda X: mover(member._scale_rows(X))

    def _row_directions(self, scaled: Array) -> Array:
        member = self.members_[next(iter(self._teachable()), 0)]
        return member._row_directions(member._scale_rows(scaled))

    @property
    def practice_(self) -> dict[str, Any] | None:
        """What validation classes say about examples and unlabelled rows, in units of the scores of class means."""
        return self._first_means().practice_

    @property
    def adaptation_(self) -> dict[str, Any] | None:
        """What `adapt` did, or None."""
        return self._first_means().adaptation_

    def _first_means(self) -> ClassMeansClassifier:
        return next(iter(self._teachable_or_refuse().values()))

    def _teachable(self) -> dict[int, ClassMeansClassifier]:
        pairs = zip(self.members_, self.weights_, strict=True)
        return {k: one for k, (one, w) in enumerate(pairs) if isinstance(one, ClassMeansClassifier) and w}

    def _teachable_or_refuse(self) -> dict[int, ClassMeansClassifier]:
        check_is_fitted(self)
        found = self._teachable()
        if not found:
            raise ValueError(
                f"no member of this committee can be taught ({', '.join(self.member_names_)}): expected a "
                "ClassMeansClassifier with a weight above 0 among its members"
            )
        return found

    def _other_models(self, place: int) -> OtherModels:
        def logits(X: Array, table: SignatureTable) -> Array | None:
            scorers = [scorer for k, scorer in self._member_logits(table).items() if k != place]
            return sum_scorers(scorers)(X) if scorers else None

        factor = self._factors()[place]
        sharpness = 1.0 if self.temperatures_ is None else 1 / self.temperatures_["unseen"]
        return OtherModels(logits, factor, sharpness * factor)

    def _replace_members(self, taught: dict[int, ClassMeansClassifier]) -> Self:
        new = copy.copy(self)
        new.members_ = [taught.get(k, member) for k, member in enumerate(self.members_)]
        first = next(iter(taught.values()))
        new.signature_table_, new.classes_ = first.signature_table_, first.classes_
        new.untaught_ = self.untaught_ or self._calibration()
        new._use_validation(next(iter(taught)))
        return new

    def _calibration(self) -> dict[str, Any]:
        return {"calibration": float(self.calibration_), "temperatures": self.temperatures_}

    def _use_validation(self, place: int) -> None:
        before = self.untaught_
        assert before is not None  # `_replace_members` has set it
        entry, share = self._teachable()[place]._validation_entry()
        self.calibration_, self.temperatures_ = before["calibration"], before["temperatures"]
        if entry is not None and entry.get("expected_gain", 0.0) is not None:  # somebody has tried it
            found = teaching.interpolate_calibration(before, entry, share, self._factors()[place])
            self.calibration_, self.temperatures_ = found

    # What `zskl.selection` calls

    def _few_shot_trial(
        self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray
    ) -> FewShotTrial | None:
        """That of class means, in units of its scores; the other members' logits are added."""
        assert isinstance(question, CommitteeQuestion)  # `_question` makes no other
        places = [k for k, member in enumerate(self.members_) if isinstance(member, ClassMeansClassifier)]
        if not places or not self.weights_[places[0]]:
            return None
        means, others = self._first_means(), self._other_models(places[0])
        rows = means._scale_rows(scaled)
        trial = means._few_shot_trial(rows, means._question(rows, question.table), own, seen)
        logits = others.logits(scaled, question.table)
        if trial is None or logits is None:
            return trial
        return replace(trial, other=(to_numpy(logits) / others.factor).astype(np.float32))

    def _store_few_shot(self, found: dict[str, Any]) -> None:
        for member in self._teachable_or_refuse().values():
            member._store_few_shot(found)

    def _accept_calibration(self) -> None:
        if self.untaught_ is not None:
            self.untaught_ = self._calibration()
            self._use_validation(next(iter(self._teachable_or_refuse())))

    # Model files: members' headers lie in the committee's, their arrays carry a prefix

    def _pack(self) -> tuple[dict[str, Any], dict[str, NumPyArray]]:
        header, arrays = super()._pack()
        header["members"] = []
        for place, (name, member) in enumerate(zip(self.member_names_, self.members_, strict=True)):
            of_member, own = member._pack()
            header["members"].append({"name": name, **of_member})
            arrays |= {f"members.{place}.{key}": array for key, array in own.items()}
        return header, arrays

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, NumPyArray], known: Any = None) -> Self:
        given = dict(header["parameters"])
        if given["members"] is not None:
            given["members"] = [(str(one["name"]), make_member(one, known)) for one in given["members"]]
        model = model_file.unpack_model(cls(**given), header, arrays)
        names, model.members_ = [str(one["name"]) for one in header["members"]], []
        for place, one in enumerate(header["members"]):
            start = f"members.{place}."
            own = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            # The device of a model file is whoever loads it to say.
            model.members_.append(_member_class(one, known)._restore(one, own).set_params(device=None))
        check_members(names, model.members_, model)
        if names != model.member_names_:
            raise ValueError(f"members {', '.join(names)}, expected {', '.join(model.member_names_)}")
        return model

    def _to_json(self, name: str, value: Any) -> Any:
        if name == "members":
            return None if value is None else [member_to_json(*pair) for pair in self._member_pairs()]
        if name in ("weights", "member_temperatures") and value is not None:
            return [float(number) for number in value]
        return super()._to_json(name, value)


@dataclass(frozen=True)
class CommitteeQuestion(Question):
    """Candidates as a committee hands them to its members: the table itself, as nobody has scaled it yet."""

    table: SignatureTable


def sum_scorers(scorers: Sequence[Scorer]) -> Scorer:
    return lambda X: reduce(add, (scorer(X) for scorer in scorers))


def member_logits(member: ZeroShotClassifier, factor: float, table: SignatureTable, unknown: set[Any]) -> Scorer:
    """Raw rows (n, d) → logits (n, c) of one member for a table of candidates. Of an `unknown` class, without a
    description, it says what it says of a seen one at random: log mean exp(logit)."""
    score = _member_scorer(member, table)
    is_unknown = np.array([label in unknown for label in table.classes.tolist()])
    if not is_unknown.any():
        return lambda X: factor * convert_like(score(X), X)
    score_seen = _member_scorer(member, member.signature_table_.select(member.seen_classes_))

    def logits(X: Array) -> Array:
        known, seen = (factor * convert_like(one(X), X) for one in (score, score_seen))
        xp = namespace(seen)
        most = xp.max(seen, axis=1, keepdims=True)
        typical = most + xp.log(xp.mean(xp.exp(seen - most), axis=1, keepdims=True))  # (n, 1)
        return xp.where(convert_like(is_unknown, known, "bool"), typical, known)

    return logits


def nameless_logits(member: ZeroShotClassifier, factor: float, Y: Array) -> Scorer:
    scorer = member._nameless_scorer(Y)
    return lambda X: factor * scorer(member._scale_rows(X))


def _member_scorer(member: ZeroShotClassifier, table: SignatureTable) -> Scorer:
    """Raw rows → scores; what the table alone decides is worked out with the first rows."""
    ready: list[Scorer] = []

    def answer(X: Array) -> Array:
        scaled = member._scale_rows(X)
        if not ready:
            ready.append(member._candidate_scorer(member._question(scaled, table)))
        return ready[0](scaled)

    return answer


def member_to_json(name: str, member: ZeroShotClassifier | str) -> dict[str, Any]:
    if isinstance(member, str):
        return {"name": name, "estimator": DROP}
    parameters = {key: member._to_json(key, value) for key, value in member.get_params(deep=False).items()}
    return {"name": name, "estimator": member.kind, "parameters": parameters}


def make_member(header: dict[str, Any], known: KnownKinds) -> ZeroShotClassifier | str:
    if header["estimator"] == DROP:
        return DROP
    kind = _member_class(header, known)
    given = {key: kind._from_json(key, value) for key, value in header["parameters"].items()}
    return kind(**{**given, "device": None})


def check_members(names: list[str], members: list[ZeroShotClassifier], model: Committee) -> None:
    count = len(members)
    if not count or len(set(names)) < count or len(model.weights_) != count or len(model.member_temperatures_) != count:
        raise ValueError(f"{count} members with {len(model.weights_)} weights")
    if (model.weights_ < 0).any() or not model.weights_.any() or (model.member_temperatures_ <= 0).any():
        raise ValueError(f"weights {model.weights_.tolist()}, temperatures {model.member_temperatures_.tolist()}")
    p = model.signature_table_.matrix.shape[1]
    for name, member in zip(names, members, strict=True):
        alike = member.n_features_in_ == model.n_features_in_ and member.signature_table_.matrix.shape[1] == p
        if not alike or not np.array_equal(member.seen_classes_, model.seen_classes_):
            raise ValueError(f"the member {name!r} has other features, attributes or classes than the committee")


def _member_class(header: dict[str, Any], known: KnownKinds) -> type[ZeroShotClassifier]:
    kind = str(header["estimator"])
    if kind not in known or kind == "committee":
        raise ValueError(f"a member of the kind {kind!r}, which this zskl does not know as one")
    return known[kind]
