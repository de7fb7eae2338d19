"""Zero-shot kernel learning: the estimator, and the training of stacks: K classifiers that differ only in numbers learn
their projections (K, d, p) in one run, which is how a search tries many settings at once. `fit` is a stack of one."""

import copy
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from zskl import kernels, metrics
from zskl._arrays import (
    Array,
    NumPyArray,
    convert_like,
    free_gpu_memory,
    is_torch,
    make_generator,
    namespace,
    resolve_seed,
    runs_on_gpu,
    to_numpy,
)
from zskl._validation import check_count, check_flag, check_option, check_positive, list_values
from zskl.estimators import search_vectors
from zskl.estimators._candidates import Question, best_row_scores, choose_candidates
from zskl.estimators._inputs import Training, check_features, refuse_weights
from zskl.estimators.base import Visit, ZeroShotClassifier
from zskl.estimators.explanation import ScoreParts
from zskl.kernels import Kernel
from zskl.metrics import Sides, best_scores
from zskl.signatures.table import to_labels
from zskl.training import _cuda, rows, solver
from zskl.training._cpu_step import CpuStep
from zskl.training._cuda import Tape
from zskl.training.objective import BALANCES, LOSSES, Objective
from zskl.training.rows import ScaledRows, StreamedRows
from zskl.training.solver import INITIALISATIONS, DivergenceError, Progress, State

logger = logging.getLogger(__name__)
STACKABLE = ("sigma", "bias", "repulsion", "temperature", "learning_rate", "incoherence_weight")
WEIGHTS = ("repulsion", "temperature", "incoherence_weight")
SHARE = 0.8  # of the free memory of a GPU that a stack may take
MATRICES = 12  # arrays (d, p) that a member needs while it trains, with what a step holds for a while
IMAGES = 4  # arrays (d, C)
AT_ONCE = 1 << 25  # scores that are on a device at a time, several such arrays of them
LAST_LOOK = 256  # training rows scored after training
Callback = Callable[[Progress], object]


@dataclass(frozen=True)
class History:
    """The objective of each iteration (steps,); for each monitored set its (iterations, accuracies)."""

    objective: NumPyArray
    accuracy: Mapping[str, tuple[NumPyArray, NumPyArray]] = field(default_factory=dict)


@dataclass(repr=False, eq=False)  # makes the constructor from the settings
class ZeroShotKernelClassifier(ZeroShotClassifier):
    """Zero-shot kernel learning: a projection W under which samples meet the signatures of their classes.

    Scores are k(‖Wᵀx − y‖²) + k(‖x − Wy‖²) for a radial kernel (the second term only with `incoherence`), and k(xᵀWy)
    for the polynomial one. W minimises the objective of `docs/math.md` by mini-batch RMSprop.

    Parameters
    ----------
    kernel : {"gaussian", "cauchy", "polynomial"} or Kernel, default="gaussian"
        The kernel by name, with the parameters below, or a Kernel object, which brings its own.
    sigma : float, default=1.0
        Radius of the Gaussian kernel, or inverse squared radius of the Cauchy kernel.
    degree, bias : int and float, default=2 and 1.0
        Degree r ≥ 1 and bias c ≥ 0 of the polynomial kernel.
    repulsion : float, default=1.0
        Weight λ ≥ 0 of pairs of a sample and another class.
    incoherence : bool, default=True
        Whether radial kernels also compare in feature space (the paper's "-Ort").
    incoherence_weight : float, default=1.0
        Weight α ≥ 0 of the polynomial kernel's penalty.
    loss : {"squared", "linear", "softmax"}, default="squared"
        The loss. Softmax uses `temperature`, and neither `repulsion` nor `balance`.
    temperature : float, default=0.05
        Temperature of the softmax loss.
    balance : {"mean", "paper", "sizes", "printed"}, default="mean"
        How the true class is weighted against the others; each has its own scale of `repulsion`.
    batch_size, epochs : int, default=10 and 6
        Rows in a batch, and passes over the rows. A short last batch is left out.
    learning_rate : float, default=3e-4
        Step size of RMSprop.
    schedule : {"constant", "exponential", "inverse-time", "inverse-epochs"}, default="constant"
        How the step size falls with the step t: not at all, as e^(−decay·t), as 1 / (1 + decay·t), or as 1 / (1 + t/T)
        with T steps in an epoch.
    decay : float, default=3e-4
        How fast it falls.
    smoothing, epsilon : float, default=0.99 and 1e-6
        RMSprop's γ and ε.
    second_moment : {"batch", "per_sample"}, default="batch"
        Whether RMSprop squares the mean gradient of a batch, or takes the mean of the squares of its samples.
    init : {"polarised", "uniform", "orthogonal"}, default="polarised"
        Where W starts: in closed form, as in the authors' code, or at orthonormal columns.
    feature_scaling, signature_scaling : str, default="center-l2"
        Steps joined by dashes, see `zskl.scaling`. Use "none" inside a pipeline that scales.
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes or of all in the table.
    device : str, default=None
        Where to compute. None is where X lies; "cuda" moves NumPy arrays to the GPU.
    streaming : bool or "auto", default="auto"
        Whether to read training rows from X in pieces, in another order. "auto" does so if X is a memory-mapped array
        of more than 1 GiB as float32. Other rows are then scaled batch by batch, unless a scaled copy of them takes at
        most 32 MB; False always holds this copy, which is a little quicker.
    warm_start : bool, default=False
        Whether `fit` continues from the previous fit.
    random_state : int, RandomState or None, default=None
        Seed of initialisation, batches and drawn signatures.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_attributes)
        W, in float32.
    kernel_, incoherence_ : Kernel and bool
        What W was trained with.
    classes_, candidates_ : ndarray of shape (n_classes,)
        All classes, sorted: the seen ones and the further classes of the table.
    seen_classes_ : ndarray of shape (n_seen_classes,)
        The classes with training rows, sorted.
    history_ : History
        The objective of each iteration, and accuracies of monitored rows.
    calibration_ : float
        What `predict` subtracts from the scores of seen classes.
    diverged_ : int or None
        The step, counted from 0, at which a member of a stack diverged.

    Examples
    --------
    >>> from zskl import ZeroShotKernelClassifier
    >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
    >>> model = ZeroShotKernelClassifier(sigma=0.8, random_state=0)
    >>> model.fit([[0, 1], [1, 1]], ["ant", "bee"], table).predict([[0, 1], [1, 1]]).tolist()
    ['ant', 'bee']
    >>> model.feature_map(n_components=8).classes().shape[1] <= 8
    True
    >>> model.ranking_map().samples([[1, 0]]).shape
    (1, 3)
    """

    kind: ClassVar[str] = "kernel"
    LEARNED: ClassVar = {"projection_": ("d", "p"), "kernel_": None, "incoherence_": None}

    kernel: str | Kernel = "gaussian"
    _: KW_ONLY
    sigma: float = 1.0
    degree: int = 2
    bias: float = 1.0
    repulsion: float = 1.0
    incoherence: bool = True
    incoherence_weight: float = 1.0
    loss: str = "squared"
    temperature: float = 0.05
    balance: str = "mean"
    batch_size: int = 10
    epochs: int = 6
    learning_rate: float = 3e-4
    schedule: str = "constant"
    decay: float = 3e-4
    smoothing: float = 0.99
    epsilon: float = 1e-6
    second_moment: str = "batch"
    init: str = "polarised"
    feature_scaling: str = "center-l2"
    signature_scaling: str = "center-l2"
    signature_mean: str = "seen"
    device: str | None = None
    streaming: bool | str = "auto"
    warm_start: bool = False
    random_state: int | np.random.RandomState | None = None

    @refuse_weights
    def fit(
        self,
        X: Array,
        y: Any,
        signatures: Any = None,
        *,
        callback: Callback | None = None,
        monitor: Any = None,
        monitor_every: int = 100,
        row_signatures: Any = None,
    ) -> Self:
        """Learn the projection from rows, their classes and the signatures of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows as an array, a tensor or a data frame.
        y : array-like of shape (n_samples,)
            The class of each row.
        signatures : data frame, mapping or array, default=None
            Descriptions of the classes: a data frame with the classes as its index, a mapping from classes to vectors,
            or an array with a row for each class of sorted(set(y)). None describes each class by itself (one-hot).
            Classes that are not in y become further candidates.
        callback : callable, default=None
            Is handed a `Progress` after each step.
        monitor : pair (X, y) or mapping from names to such pairs, default=None
            Rows whose accuracy, among the classes they hold, is recorded in `history_`. They never influence W.
        monitor_every : int, default=100
            After how many iterations to look at them.
        row_signatures : array-like of shape (n_samples, n_attributes), default=None
            A signature of each training row, as in Eq. 9: a row is compared with its own, and with one of each other
            class, drawn from the rows of that class. `signatures` still describes the classes at prediction.

        Returns
        -------
        ZeroShotKernelClassifier
            The estimator itself.

        Raises
        ------
        DivergenceError
            If the objective leaves the finite range. The estimator stays as it was.
        """
        with self._all_or_nothing():
            train_stack([self], X, y, signatures, callback, monitor, monitor_every, row_signatures)
            if self.diverged_ is not None:
                radial = self._kernel().radial
                advice = ", or widen the kernel" if radial else ", lower degree, or raise incoherence_weight"
                raise DivergenceError(self.diverged_, self.learning_rate, advice)
        return self

    def feature_map(
        self,
        n_components: int = 256,
        *,
        X: Array | None = None,
        signatures: Any = None,
        candidates: Any = None,
        landmarks: int | None = None,
        random_state: int = 0,
    ) -> search_vectors.FeatureMap:
        """Map samples and classes so that inner products approximate scores.

        Landmarks are drawn from the candidate classes and, better, also from rows X. With at least as many components
        as candidates, all candidates are landmarks, and their scores are exact.

        Parameters
        ----------
        n_components : int, default=256
            At most so many dimensions.
        X : array-like of shape (n_samples, n_features), default=None
            Rows to draw landmarks from, such as those of `fit`.
        signatures : data frame, mapping or array, default=None
            Descriptions of the classes that you want to search; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to search; None takes all of them.
        landmarks : int, default=None
            How many landmarks; None takes four for each component.
        random_state : int, default=0
            Seed of the draw.

        Returns
        -------
        FeatureMap
            Its `samples` and `classes` are the two maps, its `quality` says how well they do.
        """
        return search_vectors.make_feature_map(self, n_components, X, signatures, candidates, landmarks, random_state)

    def ranking_map(self, rows: bool = False) -> search_vectors.RankingMap:
        """Map samples and classes so that inner products order classes as the scores do, if not in their size.

        The order is exact with `incoherence=False`, else to first order.

        Parameters
        ----------
        rows : bool, default=False
            Whether inner products also order the rows of a class, as when you look for the rows that fit a
            description. That takes one more dimension.

        Returns
        -------
        RankingMap
            Maps into as many dimensions as there are attributes, plus one, or plus two with `rows`.
        """
        check_flag("rows", rows)
        check_is_fitted(self)
        return search_vectors.RankingMap(copy.copy(self), bool(rows))

    def _free_settings(self, X: Array) -> tuple[str, ...]:
        return ("epochs", *STACKABLE) if runs_on_gpu(X, self.device) else ("epochs",)

    def _fit_together(
        self, settings: Sequence[Mapping[str, Any]], X: Array, y: Any, signatures: Any, visit: Visit
    ) -> None:
        """One run of one stack: settings that differ in epochs alone are the same member at several times."""
        wanted: dict[str, list[tuple[int, ZeroShotKernelClassifier]]] = {}
        for place, setting in enumerate(settings):
            # Quicker than a clone: a search makes thousands of these, and nobody changes what they share.
            model = copy.copy(self)
            model.__dict__.update(setting, warm_start=False)
            numbers = {name: getattr(model, name) for name in STACKABLE}
            wanted.setdefault(repr(numbers), []).append((place, model))
        last = max(check_count("epochs", model.epochs) for group in wanted.values() for _, model in group)
        members = [copy.copy(group[0][1]) for group in wanted.values()]
        for member in members:
            member.epochs = last
        groups = list(wanted.values())

        def visit_finished(progress: Progress) -> None:
            if not progress.epoch_ends:
                return
            part = slice(progress.first, progress.first + len(progress.projection))
            moment = StackMoment(members[part], progress.projection)
            for k, W in enumerate(progress.projection, start=progress.first):
                member = members[k]
                for place, model in groups[k]:
                    if model.epochs == progress.epoch + 1:
                        model.__dict__.update({name: value for name, value in vars(member).items() if name[-1] == "_"})
                        model.projection_, model.diverged_ = W, None
                        model.kernel_, model.incoherence_ = model._kernel(), bool(model.incoherence)
                        model._member = moment, k - progress.first
                        visit(place, model)

        train_stack(members, X, y, signatures, visit_finished)
        per_epoch = len(y) // min(members[0].batch_size, len(y))
        for member, group in zip(members, groups, strict=True):
            for place, model in group:
                if member.diverged_ is not None and member.diverged_ < model.epochs * per_epoch:
                    visit(place, DivergenceError(member.diverged_, member.learning_rate))

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        return Objective(self.kernel_, incoherence=self.incoherence_).scorer(convert_like(self.projection_, Y), Y)

    def _objective(self) -> Objective:
        return Objective(
            self._kernel(),
            loss=self.loss,
            balance=self.balance,
            incoherence=bool(self.incoherence),
            repulsion=float(self.repulsion),
            temperature=float(self.temperature),
            incoherence_weight=float(self.incoherence_weight),
        )

    def _kernel(self) -> Kernel:
        if isinstance(self.kernel, Kernel):
            return self.kernel
        return kernels.build(self.kernel, {"sigma": self.sigma, "degree": self.degree, "bias": self.bias})

    def _score_parts(self) -> ScoreParts:
        return ScoreParts(self.projection_, self.kernel_, self.incoherence_)

    def _check_parameters(self) -> None:
        self._kernel()
        for name in ("degree", "batch_size", "epochs"):
            check_count(name, getattr(self, name))
        for name in ("sigma", "temperature", "learning_rate", "epsilon"):
            check_positive(name, getattr(self, name))
        for name in ("bias", "repulsion", "incoherence_weight", "decay", "smoothing"):
            check_positive(name, getattr(self, name), zero_allowed=True)
        if self.smoothing >= 1:
            raise ValueError(f"smoothing is {self.smoothing!r}: expected a number in [0, 1)")
        check_option("loss", self.loss, LOSSES)
        check_option("balance", self.balance, BALANCES)
        check_option("schedule", self.schedule, solver.SCHEDULES)
        check_option("second_moment", self.second_moment, solver.SECOND_MOMENTS)
        check_option("init", self.init, INITIALISATIONS)
        if not isinstance(self.streaming, bool | np.bool_) and self.streaming != "auto":
            raise ValueError(f"streaming is {self.streaming!r}: expected True, False or 'auto'")
        check_flag("incoherence", self.incoherence)
        check_flag("warm_start", self.warm_start)

    def _to_json(self, name: str, value: Any) -> Any:
        return kernels.to_json(value) if isinstance(value, Kernel) else super()._to_json(name, value)

    @classmethod
    def _from_json(cls, name: str, value: Any) -> Any:
        return kernels.from_json(value) if name == "kernel_" or isinstance(value, dict) else value


def fit_stack(
    estimator: ZeroShotKernelClassifier,
    settings: Sequence[Mapping[str, Any]],
    X: Array,
    y: Any,
    signatures: Any = None,
    callback: Callback | None = None,
) -> list[ZeroShotKernelClassifier]:
    """A fitted clone of `estimator` per setting; those that differ in `STACKABLE` parameters alone train at once, with
    one initialisation and batch order. One that diverges has `diverged_` set, the others go on."""
    members = [clone(estimator).set_params(**setting) for setting in settings]
    groups: dict[str, list[ZeroShotKernelClassifier]] = {}
    for member in members:
        fixed = {name: value for name, value in member.get_params(deep=False).items() if name not in STACKABLE}
        groups.setdefault(repr(sorted(fixed.items())), []).append(member)
    for group in groups.values():
        train_stack(group, X, y, signatures, callback)
    return members


def train_stack(
    members: Sequence[ZeroShotKernelClassifier],
    X: Array,
    y: Any,
    signatures: Any,
    callback: Callback | None = None,
    monitor: Any = None,
    monitor_every: int = 100,
    row_signatures: Any = None,
) -> None:
    for member in members:
        member._check_parameters()
    first = members[0]
    # Read now: below, the others take over all that the first has learned, the projection of an earlier fit too.
    earlier = [_earlier_fit(member) for member in members]
    training = first._prepare(X, y, signatures, rows.make_reader(first.streaming, X))
    if row_signatures is not None:
        training = replace_signatures(first, training, row_signatures)
    for member in members[1:]:
        member.__dict__.update({name: value for name, value in vars(first).items() if name.endswith("_")})
    seed = resolve_seed(first.random_state)
    size = members_at_once(len(members), training)
    for place in range(0, len(members), size):
        part = members[place : place + size]
        start = _starting_state(earlier[place : place + size], first.init, training, seed)
        _train_members(part, place, training, seed, start, callback, monitor, monitor_every)


def members_at_once(count: int, training: Training) -> int:
    """How many of `count` members train at once: all, or on a GPU as many as its free memory holds."""
    free = free_gpu_memory(training.Y)
    if free is None:
        return count
    (n, d), (C, p) = training.X.shape, training.Y.shape
    size = max(1, min(count, int(free * SHARE / (4 * (MATRICES * d * p + IMAGES * d * C)))))
    if size < count:
        logger.warning(
            "%d projections of %d × %d, on %d rows, do not fit into the %.1f GiB of GPU memory that are free: "
            "training %d at a time",
            *(count, d, p, n, free / 2**30, size),
        )
    return size


def _train_members(
    members: Sequence[ZeroShotKernelClassifier],
    place: int,
    training: Training,
    seed: int,
    start: State,
    callback: Callback | None,
    monitor: Any,
    monitor_every: int,
) -> None:
    first = members[0]
    objective = stacked_objective(members, training.Y)
    monitors = _make_monitors(monitor, first, objective, monitor_every, training.Y)

    def after_step(progress: Progress) -> None:
        for one in monitors:
            one.record(progress)
        if callback is not None:
            callback(replace(progress, first=place))

    streamed = training.X if isinstance(training.X, StreamedRows) else None
    per_sample = first.second_moment == "per_sample"
    # Numba's step knows one member, NumPy arrays, and no squares of the gradients of single samples.
    alone = len(members) == 1 and not is_torch(training.Y) and not per_sample and not training.own
    solution = solver.minimise(
        make_cpu_step(first, training, seed) if alone else make_step(objective, training, seed, per_sample),
        start,
        n_rows=training.X.shape[0],
        batch_size=first.batch_size,
        epochs=first.epochs,
        seed=seed,
        learning_rate=member_column([member.learning_rate for member in members], training.Y),
        schedule=first.schedule,
        decay=first.decay,
        smoothing=first.smoothing,
        epsilon=first.epsilon,
        callback=after_step if monitors or callback is not None else None,
        steady=training.rows.shape[1] == 1 and streamed is None and not training.own,
        fuse=None if per_sample or training.own else make_fused_step(objective, training),
        order_of=None if streamed is None else streamed.batches,
    )
    W = to_numpy(solution.state.W)
    V = to_numpy(solution.state.V) if any(member.warm_start for member in members) else None
    # The solver sees divergence by the objective, which stays finite where a radial kernel has underflowed to 0.
    scores = to_numpy(objective.scores(solution.state.W, training.X[:LAST_LOOK], training.Y))  # (K, n, rows)
    lost = ~scores.any(axis=(1, 2)) & objective.kernel.radial & (solution.diverged < 0)
    solution.diverged[lost] = solution.state.steps - 1
    for k, member in enumerate(members):
        member.projection_ = W[k].copy()
        member.kernel_, member.incoherence_ = member._kernel(), bool(member.incoherence)
        member.diverged_ = int(solution.diverged[k]) if solution.diverged[k] >= 0 else None
        member.history_ = History(solution.objective[:, k], {one.name: one.curve(k) for one in monitors})
        member._continuation = None if V is None else (V[k].copy(), solution.state.steps, solution.state.epochs)


def replace_signatures(member: ZeroShotKernelClassifier, training: Training, given: Any) -> Training:
    """The training set with a signature for each row in place of those of the classes."""
    names = member.attribute_names_
    if hasattr(given, "columns") and names is not None:
        missing = [name for name in names if name not in given.columns]
        if missing:
            raise ValueError(f"`row_signatures` has no column {list_values(missing)}: expected those of `signatures`")
        given = given[list(names)]
    values, expected = np.asarray(given, np.float64), (len(training.codes), training.Y.shape[1])
    if values.shape != expected or not np.isfinite(values).all():
        raise ValueError(
            f"`row_signatures` has shape {values.shape}: expected {expected}, a row of finite numbers for each row of "
            "X and a column for each of `signatures`"
        )
    codes = to_numpy(training.codes)
    groups = [np.flatnonzero(codes == code) for code in range(len(training.sizes))]
    counts = np.array([len(group) for group in groups])
    padded = np.stack([np.resize(group, counts.max()) for group in groups])
    Y = convert_like(member.signature_scaling_.apply(values), training.Y)
    return replace(training, Y=Y, rows=padded, counts=counts, own=True)


def member_column(values: Sequence[float], place: Array) -> Array:
    """(K, 1, 1) where `place` is."""
    return convert_like(np.array(values, dtype=np.float64).reshape(-1, 1, 1), place)


def stacked_objective(members: Sequence[ZeroShotKernelClassifier], place: Array) -> Objective:
    first = members[0]
    return Objective(
        kernels.stack([member._kernel() for member in members], lambda values: member_column(values, place)),
        loss=first.loss,
        balance=first.balance,
        incoherence=bool(first.incoherence),
        **{name: member_column([getattr(member, name) for member in members], place) for name in WEIGHTS},
    )


def make_fused_step(objective: Objective, training: Training) -> solver.Fuse:
    """What makes one function of a whole step, on a GPU that has the kernels for it."""

    def fuse(W: Array, V: Array, tape: Tape) -> Any:
        if not _cuda.can_fuse(objective, W, tape.order.shape[1], len(training.rows)):
            return None
        sizes = convert_like(training.sizes, training.Y)
        return _cuda.FusedStep(objective, training.X, training.Y, training.codes, sizes, W, V, tape)

    return fuse


def make_step(objective: Objective, training: Training, seed: int, per_sample: bool) -> solver.Step:
    """The objective on the rows of one batch, against one signature per class drawn again for each step."""
    sizes = convert_like(training.sizes, training.Y)

    def step(W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]:
        Y = _step_signatures(training, training.Y, seed, t)
        if training.own:
            Y = namespace(Y).concat([Y, training.Y[rows]], axis=0)
        return objective.evaluate(W, training.X[rows], Y, training.codes[rows], sizes, per_sample)

    return step


def make_cpu_step(member: ZeroShotKernelClassifier, training: Training, seed: int) -> solver.Step:
    """`make_step` of one classifier on NumPy arrays, in buffers made once."""
    n = min(member.batch_size, training.X.shape[0])
    Y, codes = to_numpy(training.Y), to_numpy(training.codes)
    shape, sizes = (training.X.shape[1], Y.shape[1]), convert_like(training.sizes, Y)
    evaluate = CpuStep(member._objective(), n, shape, len(training.rows), sizes, Y.dtype)

    def step(W: Any, rows: Any, t: int) -> tuple[Array, Array, Array | None]:
        return evaluate(W, training.X, rows, _step_signatures(training, Y, seed, t), codes[rows])

    return step


def _step_signatures(training: Training, Y: Any, seed: int, t: int) -> Any:
    """(C, p) the signatures that a step compares with: those drawn, where classes have several."""
    return Y if training.rows.shape[1] == 1 else Y[convert_like(draw_signatures(training, seed, t), Y, "int64")]


def draw_signatures(training: Training, seed: int, t: int) -> NumPyArray:
    """(C,) one row of `training.Y` per class, each of its rows equally likely; depends only on seed and step."""
    choice = make_generator(seed, 2, t).integers(training.counts)
    return training.rows[np.arange(len(choice)), choice]


def _earlier_fit(member: ZeroShotKernelClassifier) -> tuple[Any, Any, int, int] | None:
    """(W, V or None, steps, epochs) of the fit that a warm start continues."""
    if not member.warm_start or not hasattr(member, "projection_"):
        return None
    return (member.projection_, *(getattr(member, "_continuation", None) or (None, 0, 0)))


def _starting_state(
    earlier: Sequence[tuple[Any, Any, int, int] | None], init: str, training: Training, seed: int
) -> State:
    X, Y = training.X, training.Y
    if earlier[0] is None:
        xp = namespace(Y)
        means = xp.stack([xp.mean(Y[convert_like(np.unique(rows), Y, "int64")], axis=0) for rows in training.rows])
        if isinstance(X, ScaledRows):
            W = rows.initial_projection(init, X, lambda codes: means[codes], training.codes, seed)
        else:
            W = INITIALISATIONS[init](X, means[training.codes], seed)
        return solver.start_state(xp.stack([W] * len(earlier)))
    past = [one for one in earlier if one is not None]
    found, expected = past[0][0].shape, (X.shape[1], Y.shape[1])
    if found != expected:
        raise ValueError(
            f"warm start from a projection of shape {found}, but the data need {expected} (features, attributes): "
            "keep both, or set warm_start=False"
        )
    W = convert_like(np.stack([one[0] for one in past]), Y)
    # Of a model that was loaded only the projection is known.
    if past[0][1] is None:
        return solver.start_state(W)
    return State(W, convert_like(np.stack([one[1] for one in past]), Y), past[0][2], past[0][3])


def member_batches(members: int, n: int, rows: int) -> Iterator[slice]:
    """Some members after others, so that their scores (members, n, rows) are not too many for a device."""
    size = max(1, AT_ONCE // max(1, n * rows))
    return (slice(first, first + size) for first in range(0, members, size))


@dataclass(frozen=True, eq=False)
class StackMoment:
    """The members of a stack at one moment of their training: their projections W (K, d, p) go on changing."""

    members: Sequence[ZeroShotKernelClassifier]
    W: Array

    def best_scores(self, scaled: Array, question: Question, sides: Sides) -> Array:
        """`zskl.metrics.best_scores` (4, K, n) of scaled rows, where they are."""
        parts = []
        for some in member_batches(len(self.members), len(scaled), len(question.Y)):
            scorer = stacked_objective(self.members[some], question.Y).scorer(self.W[some], question.Y)
            parts.append(best_scores(best_row_scores(scorer(scaled), question.rows), sides))
        return namespace(scaled).concat(parts, axis=1)


class Monitor:
    """Mean per-class accuracy of rows X with classes y, among the classes in y, every few iterations."""

    def __init__(
        self, name: str, X: Array, y: Any, estimator: ZeroShotClassifier, objective: Objective, every: int, place: Array
    ) -> None:
        self.name, self.every, self.objective = name, every, objective
        self.X = convert_like(estimator.feature_scaling_.apply(check_features(estimator, X)), place)
        self.y = to_labels(y, f"the labels of monitor {name!r}", estimator.candidates_.tolist())
        if len(self.y) != self.X.shape[0]:
            raise ValueError(f"monitor {name!r} has {self.X.shape[0]} rows but {len(self.y)} labels")
        table = choose_candidates(estimator, None, np.unique(self.y))
        self.classes, self.rows = table.classes, table.padded_rows()
        self.Y = convert_like(estimator.signature_scaling_.apply(table.matrix), self.X)
        self.iterations: list[int] = []
        self.accuracies: list[list[float]] = []

    def record(self, progress: Progress) -> None:
        if progress.step % self.every and progress.step != progress.steps:
            return
        scores = best_row_scores(self.objective.scores(progress.projection, self.X, self.Y), self.rows)
        best = to_numpy(namespace(scores).argmax(scores, axis=-1))  # (K, n)
        self.iterations.append(progress.step)
        self.accuracies.append([metrics.mean_per_class_accuracy(self.y, self.classes[row]) for row in best])

    def curve(self, member: int) -> tuple[NumPyArray, NumPyArray]:
        return np.array(self.iterations), np.array([row[member] for row in self.accuracies])


def _make_monitors(
    given: Any, estimator: ZeroShotClassifier, objective: Objective, every: int, place: Array
) -> list[Monitor]:
    if given is None:
        return []
    every = check_count("monitor_every", every)
    named = given if isinstance(given, Mapping) else {"monitor": given}
    for name, pair in named.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"monitor {name!r} is a {type(pair).__name__}: expected a pair (X, y)")
    return [Monitor(str(name), X, y, estimator, objective, every, place) for name, (X, y) in named.items()]
