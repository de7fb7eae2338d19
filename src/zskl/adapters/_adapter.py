"""What every adapter starts from: the space that rows and descriptions share, examples, unlabelled rows, settings.

A method is one formula on unit vectors: rows x and descriptions t of one space. Where one encoder made features and
signatures, that is their space, and the score of a description is the plain cosine. Elsewhere it is the whitened space
of class means, and t is the direction that these expect from the description: the method starts from their scores.
"""

import copy
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from zskl._arrays import Array, NumPyArray, convert_like, is_sparse, make_generator, to_dense, to_numpy
from zskl._validation import check_flag, check_positive
from zskl.baselines._baseline import Baseline
from zskl.estimators import _class_means_adapt as teaching
from zskl.estimators import _inputs
from zskl.estimators._blocks import Blocks, scale_to_unit_length
from zskl.estimators._candidates import Question, best_row_scores, match_label_dtype, softmax
from zskl.estimators._class_means_fit import SignatureKernel, mean_of_largest
from zskl.estimators._inputs import refuse_weights
from zskl.estimators.class_means import ClassMeansClassifier, has_no_rows
from zskl.signatures.table import SignatureTable

log = logging.getLogger(__name__)

Rows = NDArray[np.float32]
Codes = NDArray[np.int64]
Answer = Callable[[Rows], Rows]  # rows x (n, d) → scores (n, c)
SPACES = ("auto", "shared", "learned")
CROWDING, CROWDED = 0.15, 0.01  # the defaults of class means, whose scores a learned space starts from
SHOTS, DRAWS, ENOUGH = (1, 2, 4, 8, 16), 1, 30  # numbers of examples that validation classes try; rows of a class
_DRAWN = 9  # stream of the seed
TAKEN = (  # from the class means that make the space
    *("n_features_in_", "feature_names_in_", "feature_scaling_", "signature_scaling_", "signature_table_"),
    *("classes_", "seen_classes_", "attribute_names_", "described_", "calibration_", "temperatures_", "decisions_"),
)
SHARED_SETTINGS = {
    "scale": (
        "float",
        "What cosines are multiplied by before a softmax, and where they stand beside other scores: 100 as in CLIP.",
    ),
    "space": (
        '{"auto", "shared", "learned"}',
        'Where rows and descriptions meet. "shared": as they are, by one encoder. "learned": in the whitened space of '
        'class means. "auto" takes "shared" where both have the same columns and agree far beyond chance.',
    ),
    "shrinkage": ("float", "That of class means, in (0, 1], where the space is learned."),
}
EXAMPLE_TEXT = """\
Examples
--------
>>> from zskl import adapters, datasets, protocols
>>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
>>> X, y = data.samples("trainval")
>>> model = adapters.{model}.fit(X, y, data.signatures)
>>> protocols.zsl(model, data, shots=5).accuracy > 0.5  # chance is 0.2
True"""


@dataclass(frozen=True, eq=False)
class Task:
    """What is known of the c classes that are asked; all rows are unit vectors."""

    directions: Rows  # (R, d) of the descriptions; 0 of a class that has none
    rows: NumPyArray  # (c, m) those of each class
    x: Rows  # (m, d) examples
    own: Codes  # (m,) columns of their classes
    unlabelled: Rows  # (n, d) rows of these classes that nobody has labelled
    scale: float
    crowding: Rows  # (R,) what is taken from the cosine of each description

    @property
    def classes(self) -> int:
        return len(self.rows)

    @cached_property
    def described(self) -> NDArray[np.bool_]:
        """(c,)"""
        return np.asarray(self.directions[self.rows[:, 0]].any(axis=1))

    @cached_property
    def texts(self) -> Rows:
        """t (c, d) of each class: the direction of the mean of its descriptions."""
        return np.asarray(scale_to_unit_length(self.directions[self.rows].mean(axis=1)))

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """(c,) examples of each class."""
        return np.bincount(self.own, minlength=self.classes).astype(np.float64)

    @cached_property
    def targets(self) -> Rows:
        """(m, c) of the examples: 1 in the column of the own class."""
        return np.eye(self.classes, dtype=np.float32)[self.own]

    @cached_property
    def means(self) -> Rows:
        """(c, d) of the examples of each class; 0 where there are none."""
        sums: Rows = self.targets.T @ self.x
        return sums / np.maximum(self.counts, 1).astype(np.float32)[:, None]

    def text_scores(self, x: Rows) -> Rows:
        """(n, c) scale · x·t, by the best of several descriptions; without one, the mean of the other classes."""
        best = best_row_scores(x @ self.directions.T - self.crowding, self.rows)
        found: Rows = np.float32(self.scale) * np.asarray(best)
        if self.described.any() and not self.described.all():
            found = np.where(self.described, found, found[:, self.described].mean(axis=1, keepdims=True))
        return found

    def text_probabilities(self, x: Rows) -> Rows:
        return softmax_rows(self.text_scores(x))


def softmax_rows(logits: Rows) -> Rows:
    return np.asarray(softmax(logits), np.float32)


@dataclass(frozen=True)
class AdapterQuestion(Question):
    """Its `Y` are the directions of descriptions already."""

    crowding: Rows  # (R,)


@dataclass(frozen=True, eq=False)
class AdapterTrial:
    """Validation rows of a fold, to choose settings on."""

    model: Any
    task: Task  # of the held-out classes, without examples
    x: Rows  # (n, d) their rows
    own: Codes  # (n,) columns of their classes

    def accuracy(self, settings: Mapping[str, Any], given: Codes | None) -> float:
        """Mean over classes, after the examples `given` or, with None, after all rows without labels."""
        left = np.arange(len(self.x)) if given is None else np.setdiff1d(np.arange(len(self.x)), given)
        model = copy.copy(self.model).set_params(**settings)
        task = replace(self.task, scale=float(model.scale))
        if given is None:
            task = replace(task, unlabelled=self.x)
        else:
            task = replace(task, x=self.x[given], own=self.own[given])
        right = model._answer(task)(self.x[left]).argmax(axis=1) == self.own[left]
        counts = np.bincount(self.own[left], minlength=task.classes)
        hits = np.bincount(self.own[left], weights=right, minlength=task.classes)
        return float(np.mean(hits[counts > 0] / counts[counts > 0]))

    def draw(self, k: int, draw: int) -> Codes | None:
        """k rows of each class that has more; None if fewer than half of the classes do."""
        found = []
        for column in range(self.task.classes):
            mine = np.flatnonzero(self.own == column)
            if len(mine) > k:
                found.append(make_generator(draw, _DRAWN, k, column).permutation(mine)[:k])
        return np.sort(np.concatenate(found)) if len(found) >= max(2, self.task.classes / 2) else None


@dataclass(repr=False, eq=False)
class Adapter(Baseline):
    """A published way to adapt one encoder's cosines to examples or unlabelled rows: a subclass writes `_answer`."""

    RANDOM: ClassVar[bool] = False
    SEES_NONE: ClassVar[bool] = True
    GRID: ClassVar = {
        "shrinkage": (0.3, 0.5, 0.7, 0.9),
        "signature_scaling": ("auto", "standardize-l2"),
        "feature_scaling": ("auto", "center-l2"),
    }
    TRIED: ClassVar[Mapping[str, Sequence[Any]]] = {}  # what validation classes choose from for each number of examples
    FURTHER_SETTINGS: ClassVar = SHARED_SETTINGS
    EXAMPLE: ClassVar[str] = ""
    TEMPLATE: ClassVar[str] = EXAMPLE_TEXT
    OPTIONS: ClassVar = {"space": SPACES}
    LEARNED: ClassVar = {
        "center_": ("d",),
        "whitening_": ("d", "*"),
        "regression_": ("?", "d"),
        "kept_rows_": ("?", "d"),
        "examples_": ("?", "d"),
        "unlabelled_": ("?", "d"),
        "width_": None,
        "space_": None,
        "example_classes_": None,
        "undescribed_": None,
        "adaptation_": None,
        "practice_": None,
    }
    LABELLED: ClassVar = ("example_classes_", "undescribed_")

    _: KW_ONLY
    scale: float = 100.0
    space: str = "auto"
    shrinkage: float = 0.7
    feature_scaling: str = "auto"
    signature_scaling: str = "auto"

    def _answer(self, task: Task) -> Answer:
        """The method itself, with the settings of this estimator."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_positive("shrinkage", self.shrinkage) > 1:
            raise ValueError(f"shrinkage is {self.shrinkage!r}: expected a number above 0, at most 1")

    @refuse_weights
    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Any = None) -> Self:
        """Learn the space from training rows. In a shared space there is nothing to learn, and X may have no rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows. They count as no examples: hand these to `add_examples`.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class, as for every estimator.
        callback : callable, default=None
            Never called, because the method has no steps.

        Returns
        -------
        self
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._check_parameters()
            if is_sparse(X):
                _inputs.check_sparse_rows(self, X)  # refuses them
            model = self._fit_space(X, y, signatures)
            _inputs.check_sparse_signatures(self, model.signature_table_)
            for name in ("preparation_", "backbone_", *TAKEN):  # of rows before
                self.__dict__.pop(name, None)
            self.__dict__.update({name: one for name, one in vars(model).items() if name in TAKEN})
            self.space_ = "shared" if model.prior_ == "cosine" else "learned"
            d = self.n_features_in_
            learned = self.space_ == "learned"
            self.center_ = model.center_
            self.whitening_ = model.whitening_ if learned else np.ones((d, 1), np.float32)
            self.regression_ = model.regression_ if learned else np.empty((0, d), np.float32)
            self.kept_rows_ = model.kept_rows_ if learned else np.empty((0, d), np.float16)
            self.width_ = float(model.width_)
            self.examples_ = self.unlabelled_ = np.empty((0, d), np.float32)
            self.example_classes_: list[Any] = []
            self.undescribed_: list[Any] = []
            self.adaptation_: dict[str, Any] | None = None
            self.practice_: dict[str, Any] | None = None
        return self

    def _fit_space(self, X: Any, y: Any, signatures: Any) -> ClassMeansClassifier:
        shared = ClassMeansClassifier(
            shrinkage=self.shrinkage,
            prior="cosine",
            description_weight=2.0,
            crowding=0.0,
            feature_scaling="l2" if self.feature_scaling == "auto" else self.feature_scaling,
            signature_scaling=self.signature_scaling,
            signature_mean=self.signature_mean,
            device=self.device,
        )
        if self.space == "shared" or has_no_rows(X, y):
            return shared.fit(X, y, signatures)
        learned: ClassMeansClassifier = copy.copy(shared)
        settings = {"prior": "zero", "crowding": CROWDING, "feature_scaling": self.feature_scaling}
        learned.set_params(**settings).fit(X, y, signatures)
        same = learned.n_features_in_ == learned.signature_table_.matrix.shape[1] and learned.described_
        if self.space == "auto" and same and learned._make_fit_cache().signatures_agree:
            return shared.fit(X, y, signatures)
        return learned

    def _tell_automatic(self) -> list[str]:
        told = super()._tell_automatic()
        return [*told, f"space: auto ({self.space_})"] if self.space == "auto" and "space_" in vars(self) else told

    def _question(self, scaled: Array, table: SignatureTable) -> AdapterQuestion:
        if self.space_ == "shared":
            found: Any = to_numpy(to_dense(self.feature_scaling_.apply(table.matrix)))
        else:
            seen = self.signature_table_.select(self.seen_classes_)
            kernel = SignatureKernel("gaussian", (self.width_,), Blocks.single(table.matrix.shape[1]))
            pairs = (to_numpy(to_dense(self.signature_scaling_.apply(one.matrix))) for one in (table, seen))
            found = kernel(*(one.astype(np.float64) for one in pairs)) @ self.regression_
        unit: Rows = np.asarray(scale_to_unit_length(np.asarray(found, np.float64)), np.float32)
        missing = teaching.find_undescribed(self, table)
        if missing:
            unit[[label in missing for label in table.labels.tolist()]] = 0
        crowding: Any = np.zeros(len(unit), np.float32)
        if len(self.kept_rows_):
            crowding = CROWDING * np.asarray(mean_of_largest(self.kept_rows_.astype(np.float32) @ unit.T, CROWDED))
        labels = match_label_dtype(self.seen_classes_, table.classes)
        return AdapterQuestion(unit, table.padded_rows(), labels, crowding)

    def _row_directions(self, scaled: Array) -> Array:
        centred = scaled - convert_like(self.center_, scaled)
        whole = Blocks.single(int(self.n_features_in_))
        return scale_to_unit_length(whole.whiten(centred, convert_like(self.whitening_, centred)))

    def _candidate_scorer(self, question: Question) -> Callable[[Array], Array]:
        task = self._make_task(question)
        settings = self._settings_for(task)
        answer = copy.copy(self).set_params(**settings)._answer(replace(task, scale=settings.get("scale", task.scale)))
        return lambda X: convert_like(answer(to_numpy(self._row_directions(X))), X)

    def _make_task(self, question: Question) -> Task:
        assert isinstance(question, AdapterQuestion)  # `_question` makes no other
        columns = {label: column for column, label in enumerate(question.labels.tolist())}
        mine = [place for place, label in enumerate(self.example_classes_) if label in columns]
        own = np.array([columns[self.example_classes_[place]] for place in mine], dtype=np.int64)
        return Task(
            to_numpy(question.Y),
            question.rows,
            self.examples_[mine],
            own,
            self.unlabelled_,
            float(self.scale),
            question.crowding,
        )

    def _settings_for(self, task: Task) -> dict[str, Any]:
        """What validation classes chose for as many examples, or for unlabelled rows; else nothing."""
        practice = self.practice_ or {}
        if practice.get("unlabelled"):
            return dict(practice["unlabelled"]["settings"])
        if len(task.x):
            entry = teaching.nearest_example_entry(practice, float(np.median(task.counts[task.counts > 0])))
            return dict((entry or {}).get("settings", {}))
        return {}

    # Teaching gives a new model; this one never changes

    def add_examples(
        self, X: Array, y: Any, signatures: Any = None, *, wrong: Any = False, new_classes: bool = False
    ) -> Self:
        """Give a new model that also has these labelled rows. This one stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The examples.
        y : array-like of shape (n,)
            Their classes: seen, unseen or new ones.
        signatures : DataFrame, mapping or array-like, default=None
            Descriptions of new classes, as for `fit`. A new class without one is known by its examples alone.
        wrong : bool or array-like of shape (n,), default=False
            True for rows that are marked as not of their class. These methods have no use for them: they are left out,
            with a warning in the log.
        new_classes : bool, default=False
            A new name much like another one is refused. True takes it as a new class.

        Returns
        -------
        Adapter
            The new model.

        Examples
        --------
        >>> from zskl import adapters
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = adapters.GDA().fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.add_examples([[5, 0], [4, 0]], ["cow", "cow"]).classes_.tolist()
        ['ant', 'bee', 'cow', 'emu']
        """
        check_is_fitted(self)
        X = _inputs.check_features(self, X, dense_for=None)
        labels = teaching.check_example_labels(self, y, X.shape[0])
        marked = teaching.check_wrong_mask(wrong, X.shape[0])
        check_flag("new_classes", new_classes)
        new = copy.copy(self)
        table, new.undescribed_ = teaching.add_classes(self, signatures, labels, marked, new_classes)
        new._set_table(table)
        if marked.any():
            log.warning("%s learns from right examples alone: %d wrong ones are left out", self.kind, marked.sum())
        new.examples_ = np.concatenate([self.examples_, self._read_rows(X)[~marked]])
        new.example_classes_ = [*self.example_classes_, *labels[~marked].tolist()]
        return new

    def remove_examples(self, X: Array | None = None, y: Any = None) -> Self:
        """Give a new model without some of the examples. This one stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d), default=None
            The examples to remove, as they were added. None removes all examples of the classes in y.
        y : array-like, default=None
            The class of each row in X, or, without X, the classes. None and no X removes all examples.

        Returns
        -------
        Adapter
            The new model. A class that had nothing but these examples is no longer a candidate.
        """
        check_is_fitted(self)
        keep, new = teaching.choose_kept_examples(self, X, y), copy.copy(self)
        new.examples_ = self.examples_[keep]
        new.example_classes_ = [label for label, kept in zip(self.example_classes_, keep, strict=True) if kept]
        teaching.drop_unknown_classes(new)
        return new

    def _read_rows(self, X: Array) -> Rows:
        """x of checked rows."""
        found: Rows = to_numpy(to_dense(self._row_directions(self._scale_rows(X)))).astype(np.float32)
        return found

    # What `zskl.selection` calls

    def _few_shot_trial(self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray) -> Any:
        columns = np.flatnonzero(~seen)
        if len(columns) < 2 or not self.TRIED:
            return None
        task = self._make_task(question)
        signatures = np.unique(task.rows[columns])
        task = replace(
            task,
            directions=task.directions[signatures],
            crowding=task.crowding[signatures],
            rows=np.searchsorted(signatures, task.rows[columns]),
        )
        x, places = to_numpy(self._row_directions(scaled)).astype(np.float32), np.flatnonzero(~seen[own])
        mine = np.searchsorted(columns, own[places])
        order = make_generator(0, _DRAWN).permutation(len(mine))
        kept = np.sort(np.concatenate([order[mine[order] == column][:ENOUGH] for column in range(len(columns))]))
        return AdapterTrial(self, task, x[places[kept]], mine[kept])

    def _choose_few_shot(self, trials: Sequence[AdapterTrial]) -> dict[str, Any]:
        """`practice_`: for each number of examples, and for unlabelled rows, the settings with the best accuracy."""
        given = {name: getattr(self, name) for name in self.TRIED}
        names = sorted(self.TRIED)
        tried = (dict(zip(names, values, strict=True)) for values in product(*(self.TRIED[name] for name in names)))
        options = [given, *(one for one in tried if one != given)]

        def choose(tasks: Sequence[tuple[AdapterTrial, Codes | None]]) -> dict[str, Any]:
            scores = [float(np.mean([trial.accuracy(one, rows) for trial, rows in tasks])) for one in options]
            best = int(np.argmax(scores))
            return {"settings": {**options[best]}, "zsl": scores[best], "default": scores[0]}

        if hasattr(self, "adapt"):
            return {"examples": {}, "unlabelled": choose([(trial, None) for trial in trials])}
        found: dict[str, Any] = {}
        for k in SHOTS:
            tasks = [(trial, trial.draw(k, draw)) for trial in trials for draw in range(DRAWS)]
            if all(rows is not None for _, rows in tasks):
                found[str(k)] = choose(tasks)
        return {"examples": found, "unlabelled": None}

    def _store_few_shot(self, found: dict[str, Any]) -> None:
        self.practice_ = found

    def _count_examples(self) -> Counter[Any]:
        return Counter(self.example_classes_)
