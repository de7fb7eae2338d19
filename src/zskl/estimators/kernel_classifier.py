"""ZeroShotKernelClassifier: kernel + objective + solver behind the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from zskl import kernels
from zskl.arrays import Array, like, on_gpu
from zskl.estimators import kernel_settings, stack, stacked_fits
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.row_weights import without_weights
from zskl.estimators.score_parts import ScoreParts
from zskl.estimators.search_maps import SearchMaps
from zskl.estimators.stack import Callback
from zskl.kernels import Kernel
from zskl.training.objective import Objective
from zskl.training.solver import DivergenceError


class ZeroShotKernelClassifier(SearchMaps, ZeroShotClassifier):
    """
    Zero-shot kernel learning: a projection W under which samples meet the signatures of their classes.

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
    schedule : {"constant", "exponential", "inverse-time"}, default="constant"
        How the step size falls with the step t: not at all, as e^(−decay·t), or as 1 / (1 + decay·t).
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
    classes_ : ndarray of shape (n_classes,)
        The seen classes, sorted.
    candidates_ : ndarray of shape (n_candidates,)
        The seen classes, then the further classes of the table.
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

    @without_weights
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
        """
        Learn the projection from rows, their classes and the signatures of the classes.

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

        Returns
        -------
        ZeroShotKernelClassifier
            The estimator itself.

        Raises
        ------
        DivergenceError
            If the objective leaves the finite range. The estimator stays as it was.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> model = ZeroShotKernelClassifier(random_state=0)
        >>> model.fit([[0, 1], [1, 1]], ["ant", "bee"], {"ant": [6, 0], "bee": [6, 2]}).projection_.shape
        (2, 2)
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
        stacked_fits.fit_together(self, settings, X, y, signatures, visit)

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        return Objective(self.kernel_, incoherence=self.incoherence_).scorer(like(self.projection_, Y), Y)

    def _objective(self) -> Objective:
        return kernel_settings.objective(self)

    def _kernel(self) -> Kernel:
        return kernel_settings.kernel(self)

    def _score_parts(self) -> ScoreParts:
        return ScoreParts(self.projection_, self.kernel_, self.incoherence_)

    def _check_parameters(self) -> None:
        kernel_settings.check(self)

    def _stored(self, name: str, value: Any) -> Any:
        return kernels.to_json(value) if isinstance(value, Kernel) else super()._stored(name, value)

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        if name == "kernel_" or isinstance(value, dict):
            return kernels.from_json(value)
        return value
