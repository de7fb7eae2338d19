"""SSE: semantic similarity embedding (Zhang and Saligrama, ICCV 2015)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from zskl.arrays import Array, like, namespace, seed_from, to_numpy
from zskl.baselines.shared_fit import class_signatures, members
from zskl.baselines.similarity import EMBEDDINGS, gradients, margin_loss, parts, similarities
from zskl.baselines.simplex import mixtures
from zskl.estimators.estimator import Training, ZeroShotClassifier
from zskl.parameters import count, one_of, positive
from zskl.training import solver
from zskl.training.solver import DivergenceError, Progress

SMOOTHING, EPSILON = 0.9, 1e-12  # of RMSprop


class SSE(ZeroShotClassifier):
    """Classes and samples as mixtures of seen classes: z_c in the simplex, π(x) by features common to x and a class.

        z_c = argmin over the simplex of ½‖y_c − Σ_s z_s y_s‖² + γ/2 ‖z‖²
        f(x, c) = Σ_s z_cs ⟨w, φ_s(x)⟩,   φ_s(x) = min(x, v_s) ("intersection") or max(0, x − v_s) ("relu")

    w (d,) and the v_s (d,) of the seen classes minimise, with Δ(c, c') = 1 − z_cᵀz_c',

        mean_{i,c} max(0, Δ(y_i, c) − f(x_i, y_i) + f(x_i, c))
        + alignment · mean_{k,c} max(0, Δ(k, c) − mean_{i of class k} (f(x_i, k) − f(x_i, c)))
        + ½ ridge (‖w‖² + Σ_s ‖v_s‖²)

    The two embeddings differ by ⟨w, x⟩ and the sign of w alone, so they rank alike where training starts alike.

    Features are taken apart into max(0, x) and, where training rows have any, max(0, −x): what two have in common is
    then what both have much of, or little.

    Differs from the paper: w and v are learned together, by mini-batch RMSprop from v_s the class means and w constant,
    where the paper alternates; the means of the alignment are over a batch's rows of a class; what is kept is the mean
    over the last epoch.

    Parameters
    ----------
    gamma : γ > 0, the larger, the more seen classes mix
    embedding : "intersection" or "relu"
    alignment : weight ≥ 0 of the margins of class means against those of rows
    ridge : ≥ 0
    batch_size, epochs, learning_rate : solver; the rate is in units of what w and v start from
    feature_scaling, signature_scaling, signature_mean, device : see `ZeroShotKernelClassifier`
    random_state : seed of the batches

    Attributes
    ----------
    weights_, thresholds_ : w (h, d) and v (C, h, d) float32, h = 2 with negative parts, else 1
    seen_ : (C, p) scaled signatures of the seen classes, float32
    gamma_, embedding_ : what it was fitted with
    """

    kind: ClassVar[str] = "sse"
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

    def fit(
        self, X: Array, y: Any, signatures: Any = None, *, callback: Callable[[Progress], object] | None = None
    ) -> Self:
        """Learn w and v from rows X (n, d), their classes y (n,) and the classes' signatures.

        `callback` is handed a `Progress` after each step, whose projection is (w, v) in units of where they started.
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
        """One run, looked at after each wanted number of epochs."""
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
        """One run that sets what models differing in epochs have learned."""
        for model in models:
            model._check_parameters()
        last = max(models, key=lambda model: model.epochs)
        training = last._prepare(X, y, signatures)
        prepared = {name: value for name, value in vars(last).items() if name.endswith("_")}
        seed = seed_from(last.random_state)
        problem = Problem(training, last)
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


class Problem:
    """What the solver sees: one matrix (1, 1 + C, d), w over v, each in units of its size at the start."""

    def __init__(self, training: Training, model: SSE) -> None:
        xp = namespace(training.X)
        self.halves = 1 + bool(xp.any(training.X < 0))
        self.X, self.own, self.model = parts(training.X, self.halves > 1), members(training), model
        self.seen = class_signatures(training)
        self.Z = like(mixtures(self.seen, self.seen, model.gamma), self.X)  # (C, C)
        C = self.Z.shape[0]
        self.margins = (1 - self.Z @ self.Z.T) * (1 - like(np.eye(C), self.X))
        V = self.own.T @ self.X / like(training.sizes, self.X)[:, None]
        w = (1 if model.embedding == "intersection" else -1) * xp.ones_like(V[0, :])
        F = similarities(V, w, V, model.embedding) @ self.Z.T
        ahead = xp.sum(F * like(np.eye(C), F), axis=1, keepdims=True) - F
        fit = float(xp.sum(ahead * self.margins)), float(xp.sum(ahead * ahead))  # of what class means are ahead by
        size = fit[0] / fit[1] if min(fit) > 0 else 1.0
        spread = float(xp.mean(xp.abs(V))) or 1.0
        self.units = like(np.array([size] + [spread] * C)[:, None], self.X)  # (1 + C, 1)
        self.start = (xp.concat([size * w[None, :], V], axis=0) / self.units)[None]

    def step(self, W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]:
        xp, model = namespace(W), self.model
        now = W[0] * self.units
        w, V, X = now[0], now[1:], self.X[rows]
        F = similarities(X, w, V, model.embedding) @ self.Z.T
        value, slope = margin_loss(F, self.own[rows], self.margins, model.alignment)
        by_w, by_V = gradients(X, w, V, model.embedding, slope @ self.Z)
        gradient = xp.concat([by_w[None, :], by_V], axis=0) + model.ridge * now
        value = value + 0.5 * model.ridge * xp.sum(now * now)
        return xp.reshape(value, (1,)), (self.units * gradient)[None], None

    def learned(self, W: Array) -> dict[str, Any]:
        now = to_numpy(W[0] * self.units).reshape(len(self.units), self.halves, -1)
        return {
            "weights_": now[0].copy(),
            "thresholds_": now[1:].copy(),
            "seen_": to_numpy(self.seen),
            "gamma_": float(self.model.gamma),
            "embedding_": self.model.embedding,
        }
