"""SSE: semantic similarity embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from zskl.arrays import Array, like, seed_from
from zskl.baselines.similarity import EMBEDDINGS, SimilarityProblem, parts, similarities
from zskl.baselines.simplex import mixtures
from zskl.estimators.default_grid import with_standardized
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.row_weights import without_weights
from zskl.parameters import count, one_of, positive
from zskl.training import solver
from zskl.training.solver import DivergenceError, Progress

SMOOTHING, EPSILON = 0.9, 1e-12  # of RMSprop


class SSE(ZeroShotClassifier):
    """Semantic similarity embedding: classes and samples are mixtures of seen classes.

    A class is a point z of the simplex, a sample is described by the features it has in common with each seen
    class::

        z_c = argmin over the simplex of ½‖y_c − Σ_s z_s y_s‖² + γ/2 ‖z‖²
        f(x, c) = Σ_s z_cs ⟨w, φ_s(x)⟩,   φ_s(x) = min(x, v_s) ("intersection") or max(0, x − v_s) ("relu")

    With Δ(c, c') = 1 − z_cᵀz_c', the vectors w (d,) and v_s (d,) of the seen classes minimise::

        mean_{i,c} max(0, Δ(y_i, c) − f(x_i, y_i) + f(x_i, c))
        + alignment · mean_{k,c} max(0, Δ(k, c) − mean_{i of class k} (f(x_i, k) − f(x_i, c)))
        + ½ ridge (‖w‖² + Σ_s ‖v_s‖²)

    The two embeddings differ only by ⟨w, x⟩ and the sign of w, so they rank alike if training starts alike.
    Features are split into max(0, x) and, if training rows have negative values, max(0, −x): then two samples have
    in common what both have much of, or little.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight γ > 0 of the squared length of a mixture. The larger it is, the more seen classes mix.
    embedding : {"intersection", "relu"}, default="intersection"
        How a sample is compared with a seen class.
    alignment : float, default=1.0
        Weight ≥ 0 of the margins of class means against those of rows.
    ridge : float, default=1e-4
        Weight ≥ 0 of the squared lengths of w and v.
    batch_size : int, default=64
        Rows in a batch. A short last batch is left out.
    epochs : int, default=5
        Passes over the training rows.
    learning_rate : float, default=0.1
        Length of a step, in units of what w and v start from.
    feature_scaling : str, default="l2"
        Scaling of the features, see `zskl.scaling`. Use "none" inside a pipeline that scales.
    signature_scaling : str, default="center-l2"
        Scaling of the signatures, see `zskl.scaling`.
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes, or of all classes in the table.
    device : str or None, default=None
        Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.
    random_state : int, RandomState or None, default=None
        Seed of the batches. None takes another seed in every fit.

    Attributes
    ----------
    weights_ : ndarray of shape (h, d)
        w, in float32; h is 2 with negative parts, else 1.
    thresholds_ : ndarray of shape (C, h, d)
        v, in float32.
    seen_ : ndarray of shape (C, p)
        Scaled signatures of the seen classes, in float32.
    gamma_ : float
        The γ of the fit.
    embedding_ : str
        The embedding of the fit.
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table: the default candidates of `predict`.

    Notes
    -----
    Differs from the paper: w and v are learned together, by mini-batch RMSprop from class means v and constant w;
    the paper learns them in turns. The means of the alignment are over the rows of a class in the batch. The mean
    over the last epoch is kept.

    References
    ----------
    .. [1] Z. Zhang and V. Saligrama, "Zero-shot learning via semantic similarity embedding", ICCV 2015.

    Examples
    --------
    >>> from zskl import baselines, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
    >>> X, y = data.samples("trainval")
    >>> model = baselines.SSE(random_state=0).fit(X, y, data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
    True
    """

    kind: ClassVar[str] = "sse"
    SUMMARY: ClassVar[str] = "Semantic similarity embedding: classes and samples as mixtures of seen classes"
    GRID: ClassVar = with_standardized(
        {
            "gamma": (0.3, 1.0),
            "alignment": (1.0, 10.0),
            "epochs": (3, 6, 12),
            "feature_scaling": ("sqrt-l2",),
        },
        {"gamma": (1.0,), "alignment": (1.0,), "epochs": (3, 6)},
    )
    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {
        "gamma": (0.01, 30.0),
        "alignment": (0.1, 100.0),
        "epochs": (1, 24),
    }
    LEARNED: ClassVar = {
        "weights_": ("*", "d"),
        "thresholds_": ("C", "*", "d"),
        "seen_": ("C", "p"),
        "gamma_": None,
        "embedding_": None,
    }
    FREE: ClassVar = ("epochs",)

    def __init__(
        self,
        gamma: float = 1.0,
        embedding: str = "intersection",
        *,
        alignment: float = 1.0,
        ridge: float = 1e-4,
        batch_size: int = 64,
        epochs: int = 5,
        learning_rate: float = 0.1,
        feature_scaling: str = "l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.gamma = gamma
        self.embedding = embedding
        self.alignment = alignment
        self.ridge = ridge
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    @without_weights
    def fit(
        self, X: Array, y: Any, signatures: Any = None, *, callback: Callable[[Progress], object] | None = None
    ) -> Self:
        """Learn w and v from training rows, their classes and the signatures of the classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class: a data frame with a row per class, a mapping from class to vector, or an
            array with a row per class of sorted(set(y)). None stands for one-hot rows. Classes that are not in y become
            further candidates.
        callback : callable, default=None
            Called with a `Progress` after each step. Its projection is (w, v) in units of where they started.

        Returns
        -------
        self
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._train([self], X, y, signatures, callback=callback)
        return self

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        """One run that serves every number of epochs among the settings."""
        models = [clone(self).set_params(**setting) for setting in settings]
        per_epoch = len(y) // min(count("batch_size", self.batch_size), len(y))
        try:
            self._train(models, X, y, signatures, visit)
        except DivergenceError as error:
            for place, model in enumerate(models):
                if error.step < model.epochs * per_epoch:
                    visit(place, error)

    def _check_parameters(self) -> None:
        positive("gamma", self.gamma)
        one_of("embedding", self.embedding, EMBEDDINGS)
        positive("alignment", self.alignment, zero_allowed=True)
        positive("ridge", self.ridge, zero_allowed=True)
        count("batch_size", self.batch_size)
        count("epochs", self.epochs)
        positive("learning_rate", self.learning_rate)

    def _train(
        self,
        models: Sequence[Self],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object] | None = None,
        callback: Callable[[Progress], object] | None = None,
    ) -> None:
        """One run that fits all models, which differ in epochs only."""
        for model in models:
            model._check_parameters()
        last = max(models, key=lambda model: model.epochs)
        training = last._prepare(X, y, signatures)
        prepared = {name: value for name, value in vars(last).items() if name.endswith("_")}
        seed = seed_from(last.random_state)
        problem = SimilarityProblem(training, last.gamma, last.embedding, last.alignment, last.ridge)
        total, steps = 0 * problem.start, 0

        def after_step(progress: Progress) -> None:
            nonlocal total, steps
            total, steps = total + progress.projection, steps + 1
            if callback is not None:
                callback(progress)
            if not progress.epoch_ends:
                return
            for place, model in enumerate(models):
                if model.epochs == progress.epoch + 1:
                    model.__dict__.update(prepared | problem.learned(total / steps))
                    if visit is not None:
                        visit(place, model)
            total, steps = 0 * problem.start, 0

        solution = solver.minimise(
            problem.step,
            solver.start(problem.start),
            n_rows=training.X.shape[0],
            batch_size=last.batch_size,
            epochs=last.epochs,
            seed=seed,
            learning_rate=last.learning_rate,
            smoothing=SMOOTHING,
            epsilon=EPSILON,
            callback=after_step,
        )
        if solution.diverged[0] >= 0:
            raise DivergenceError(int(solution.diverged[0]), last.learning_rate)

    def _scores(self, X: Array, Y: Array) -> Array:
        w, V = self.weights_.reshape(-1), self.thresholds_.reshape(len(self.thresholds_), -1)
        X = parts(X, signed=len(self.weights_) > 1)
        found = similarities(X, like(w, X), like(V, X), self.embedding_)
        return found @ like(mixtures(Y, like(self.seen_, Y), self.gamma_), X).T

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        if name == "embedding_":
            one_of("embedding", value, EMBEDDINGS)
        return positive("gamma", value) if name == "gamma_" else super()._unstored(name, value)
