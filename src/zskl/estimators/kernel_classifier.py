"""ZeroShotKernelClassifier: kernel + objective + solver behind the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from zskl import kernels
from zskl.arrays import Array, like, on_gpu
from zskl.estimators import ranking_map, stack
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.score_parts import ScoreParts
from zskl.estimators.stack import Callback
from zskl.kernels import Kernel
from zskl.parameters import count, flag, one_of, positive
from zskl.training import solver, streaming
from zskl.training.initialisation import INITIALISATIONS
from zskl.training.objective import BALANCES, LOSSES, Objective
from zskl.training.solver import DivergenceError, Progress


class ZeroShotKernelClassifier(ZeroShotClassifier):
    """Zero-shot kernel learning: a projection W (d, p) under which samples meet the signatures of their classes.

    Scores are k(‖Wᵀx − y‖²) + k(‖x − Wy‖²) for a radial kernel (the second term with `incoherence` only), and
    k(xᵀWy) for the polynomial one; W minimises the objective of `docs/math.md` by mini-batch RMSprop.

    Parameters
    ----------
    kernel : "gaussian", "cauchy", "polynomial", or a Kernel object, which brings its own parameters
    sigma : σ > 0, radius of the Gaussian, inverse squared radius of the Cauchy kernel
    degree, bias : r ≥ 1 and c ≥ 0 of the polynomial kernel
    repulsion : λ ≥ 0, weight of the between-class terms
    incoherence : whether radial kernels also compare in feature space (the paper's "-Ort")
    incoherence_weight : α ≥ 0, weight of the polynomial kernel's penalty
    loss : "squared", "linear" or "softmax" (which uses `temperature` > 0, and neither `repulsion` nor `balance`)
    balance : "mean", "paper" or "sizes": weights of the true class against the others
    batch_size, epochs, learning_rate : solver; a short last batch is left out
    schedule : "constant", "exponential" (e^(−decay·t)) or "inverse-time" (1/(1 + decay·t)) in the step t
    smoothing, epsilon, second_moment : γ, ε and G₂ of RMSprop; G₂ from the "batch" mean or "per_sample"
    init : "polarised" (closed form), "uniform" (the authors') or "orthogonal"
    feature_scaling, signature_scaling : see `zskl.scaling`; "none" inside a pipeline that scales
    signature_mean : whether signatures are centred on the mean of the "seen" classes or of "all" in the table
    device : None computes where X lies; "cuda" moves NumPy input to the GPU
    streaming : whether training rows are read from X in pieces rather than held in memory as a scaled copy, see
        `zskl.training.streaming`; "auto" does so if X is a memory-mapped array of more than 1 GiB as float32
    warm_start : go on from the previous fit
    random_state : seed of initialisation, batches and drawn signatures

    Attributes
    ----------
    projection_ : W (d, p) float32
    kernel_, incoherence_ : what it was trained with
    classes_ : seen classes, sorted
    candidates_ : the seen classes, then the further classes of the table
    history_ : objective per iteration and monitored accuracies
    calibration_ : subtracted from the scores of seen classes, see `predict`
    diverged_ : the step, counted from 0, at which a member of a stack diverged, else None
    """

    kind: ClassVar[str] = "kernel"
    LEARNED: ClassVar = {"projection_": ("d", "p"), "kernel_": None, "incoherence_": None}

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        *,
        sigma: float = 1.0,
        degree: int = 2,
        bias: float = 1.0,
        repulsion: float = 1.0,
        incoherence: bool = True,
        incoherence_weight: float = 1.0,
        loss: str = "squared",
        temperature: float = 0.05,
        balance: str = "mean",
        batch_size: int = 10,
        epochs: int = 6,
        learning_rate: float = 3e-4,
        schedule: str = "constant",
        decay: float = 3e-4,
        smoothing: float = 0.99,
        epsilon: float = 1e-6,
        second_moment: str = "batch",
        init: str = "polarised",
        feature_scaling: str = "center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        streaming: bool | str = "auto",
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree
        self.bias = bias
        self.repulsion = repulsion
        self.incoherence = incoherence
        self.incoherence_weight = incoherence_weight
        self.loss = loss
        self.temperature = temperature
        self.balance = balance
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.decay = decay
        self.smoothing = smoothing
        self.epsilon = epsilon
        self.second_moment = second_moment
        self.init = init
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.streaming = streaming
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(
        self,
        X: Array,
        y: Any,
        signatures: Any = None,
        *,
        callback: Callback | None = None,
        monitor: Any = None,
        monitor_every: int = 100,
    ) -> Self:
        """Learn the projection from rows X (n, d), their classes y (n,) and the classes' signatures.

        `signatures` is a data frame, a mapping class → vector, an array with a row per class of sorted(set(y)), or None
        for one-hot rows; classes that are not in y become further candidates. `callback` is handed a `Progress` after
        each step. `monitor` is (X, y), or a mapping from names to such pairs: rows whose mean per-class accuracy, among
        the classes they hold, is recorded every `monitor_every` iterations in `history_`; they never influence W.
        """
        with self._all_or_nothing():
            stack.train([self], X, y, signatures, callback, monitor, monitor_every)
            if self.diverged_ is not None:
                radial = self._kernel().radial
                advice = ", or widen the kernel" if radial else ", lower degree, or raise incoherence_weight"
                raise DivergenceError(self.diverged_, self.learning_rate, advice)
        return self

    def _free(self, X: Array) -> tuple[str, ...]:
        """Epochs; on a GPU also the settings of a stack."""
        return ("epochs", *stack.STACKABLE) if on_gpu(X, self.device) else ("epochs",)

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        """One run of one stack: settings that differ in epochs alone are the same member at several times."""
        wanted: dict[str, list[tuple[int, Self]]] = {}
        for place, setting in enumerate(settings):
            model = clone(self).set_params(**setting, warm_start=False)
            numbers = {name: getattr(model, name) for name in stack.STACKABLE}
            wanted.setdefault(repr(numbers), []).append((place, model))
        last = max(count("epochs", model.epochs) for group in wanted.values() for _, model in group)
        members = [clone(group[0][1]).set_params(epochs=last) for group in wanted.values()]

        groups = list(wanted.values())

        def look(progress: Progress) -> None:
            for k, W in enumerate(progress.projection if progress.epoch_ends else [], start=progress.first):
                member = members[k]
                for place, model in groups[k]:
                    if model.epochs == progress.epoch + 1:
                        model.__dict__.update({name: value for name, value in vars(member).items() if name[-1] == "_"})
                        model.projection_, model.diverged_ = W, None
                        model.kernel_, model.incoherence_ = model._kernel(), bool(model.incoherence)
                        visit(place, model)

        stack.train(members, X, y, signatures, look)
        per_epoch = len(y) // min(members[0].batch_size, len(y))
        for member, group in zip(members, groups, strict=True):
            for place, model in group:
                if member.diverged_ is not None and member.diverged_ < model.epochs * per_epoch:
                    visit(place, DivergenceError(member.diverged_, member.learning_rate))

    def feature_map(
        self,
        n_components: int = 256,
        *,
        X: Array | None = None,
        signatures: Any = None,
        candidates: Any = None,
        landmarks: int | None = None,
        random_state: int = 0,
    ) -> ranking_map.FeatureMap:
        """Maps of samples and classes into at most `n_components` dimensions, whose inner products approximate scores.

        Landmarks are drawn from the candidate classes (hand over those that are to be searched) and, better, also from
        rows X such as those of fit: `landmarks` in all, by default four for each component. With at least as many
        components as candidates, all of these are landmarks and their scores are exact: see
        `zskl.estimators.ranking_map`.
        """
        return ranking_map.feature_map(self, n_components, X, signatures, candidates, landmarks, random_state)

    def ranking_map(self) -> ranking_map.RankingMap:
        """Maps into p + 1 dimensions whose inner products order classes as the scores do, if not in their size:
        exactly with `incoherence=False`, else to first order."""
        return ranking_map.ranking_map(self)

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        return Objective(self.kernel_, incoherence=self.incoherence_).scorer(like(self.projection_, Y), Y)

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
        count("degree", self.degree)
        count("batch_size", self.batch_size)
        count("epochs", self.epochs)
        for name in ("sigma", "temperature", "learning_rate", "epsilon"):
            positive(name, getattr(self, name))
        for name in ("bias", "repulsion", "incoherence_weight", "decay", "smoothing"):
            positive(name, getattr(self, name), zero_allowed=True)
        if self.smoothing >= 1:
            raise ValueError(f"smoothing={self.smoothing!r}: expected a number in [0, 1)")
        one_of("loss", self.loss, LOSSES)
        one_of("balance", self.balance, BALANCES)
        one_of("schedule", self.schedule, solver.SCHEDULES)
        one_of("second_moment", self.second_moment, solver.SECOND_MOMENTS)
        one_of("init", self.init, INITIALISATIONS)
        streaming.check(self.streaming)
        flag("incoherence", self.incoherence)
        flag("warm_start", self.warm_start)

    def _stored(self, name: str, value: Any) -> Any:
        if isinstance(value, Kernel):
            if value.name not in kernels.names() or kernels.get(value.name) is not type(value):
                raise ValueError(
                    f"the kernel {type(value).__name__} is not registered, so a model file could not name it: call "
                    f"zskl.kernels.register({type(value).__name__}) before saving, and again before loading"
                )
            return {"name": value.name, "parameters": value.parameters()}
        return super()._stored(name, value)

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        if name == "kernel_" and not isinstance(value, dict):
            raise ValueError(f"its kernel is {value!r}")
        return kernels.build(value["name"], value["parameters"]) if isinstance(value, dict) else value


def fit_stack(
    estimator: ZeroShotKernelClassifier,
    settings: Sequence[Mapping[str, Any]],
    X: Array,
    y: Any,
    signatures: Any = None,
    callback: Callback | None = None,
) -> list[ZeroShotKernelClassifier]:
    """One fitted clone of `estimator` per setting, in order.

    Settings that differ in `stack.STACKABLE` parameters alone train at once, others in stacks of their own. All
    members share initialisation and batch order. A member that diverges has `diverged_` set, the others go on.
    """
    members = [clone(estimator).set_params(**setting) for setting in settings]
    groups: dict[str, list[ZeroShotKernelClassifier]] = {}
    for member in members:
        fixed = {name: value for name, value in member.get_params(deep=False).items() if name not in stack.STACKABLE}
        groups.setdefault(repr(sorted(fixed.items())), []).append(member)
    for group in groups.values():
        stack.train(group, X, y, signatures, callback)
    return members
