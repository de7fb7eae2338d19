"""CMT*: cross-modal transfer that first asks whether a sample is of a seen class at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, ClassVar

import numpy as np

from zskl.arrays import Array, like, namespace, to_numpy
from zskl.baselines import logistic
from zskl.baselines.cmt import CMT, distances, embed
from zskl.baselines.descent import Callback, Learned
from zskl.baselines.novelty import Trial, best_threshold, hold_out, novelty, spreads
from zskl.baselines.shared_fit import class_signatures
from zskl.estimators.candidates import Question, best_of_rows
from zskl.estimators.default_grid import with_standardized
from zskl.estimators.estimator import Training
from zskl.parameters import positive
from zskl.training.solver import DivergenceError

USUAL = 0.95  # share of training rows below the threshold, if there are too few classes to hold one out


class CMTStar(CMT):
    """Cross-modal transfer that first asks whether a sample is of a seen class at all.

    A sample is novel if it lies outside the radius √(τ s_l) around every seen class l, where s_l is the mean
    squared distance of the class's training rows to its signature: ν = min_l ‖f(x) − y_l‖² / s_l > τ. If a sample
    is not novel, all seen classes come before the unseen ones, ranked by their probabilities p under a multinomial
    logistic regression. If it is novel, all unseen classes come first, ranked by −‖f(x) − y‖²::

        seen:    ±1 + (τ − ν)/(τ + ν) + 1 / (1 − log p)        unseen:    1 / (1 + ‖f(x) − y‖²)

    So a constant that is subtracted from the scores of seen classes moves the threshold. A class is seen by its
    name; how a table at predict time describes it does not matter.

    Parameters
    ----------
    C : float, default=10.0
        Inverse strength of the ridge of the logistic regression.
    hidden : int, default=128
        Units h of the hidden layer of the network.
    batch_size : int, default=64
        Rows in a batch. A short last batch is left out.
    epochs : int, default=20
        Passes over the training rows.
    learning_rate : float, default=0.3
        Length of a step, the same in the whole run.
    momentum : float, default=0.9
        Share of the previous step that goes into the next one, in [0, 1).
    feature_scaling : str, default="center-l2"
        Scaling of the features, see `zskl.scaling`. Use "none" inside a pipeline that scales.
    signature_scaling : str, default="center-l2"
        Scaling of the signatures, see `zskl.scaling`.
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes, or of all classes in the table.
    device : str or None, default=None
        Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.
    random_state : int, RandomState or None, default=None
        Seed of the start and of the batches. None takes another seed in every fit.

    Attributes
    ----------
    hidden_ : ndarray of shape (d, h)
        A of the network tanh(xA)B, in float32.
    output_ : ndarray of shape (h, p)
        B of the network, in float32.
    prototypes_ : ndarray of shape (C, p)
        Scaled signatures of the seen classes.
    spreads_ : ndarray of shape (C,)
        The mean squared distance s of each seen class.
    classifier_ : ndarray of shape (d, C)
        Weights of the logistic regression of the seen classes.
    intercepts_ : ndarray of shape (C,)
        Its intercepts.
    threshold_ : float
        τ.
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table: the default candidates of `predict`.

    Notes
    -----
    Differs from the paper: there is one τ for all classes, the one with the highest harmonic mean on classes held
    out of the training rows. The paper sets a fraction of training rows by hand. Training is by descent instead of
    L-BFGS.

    References
    ----------
    .. [1] R. Socher, M. Ganjoo, C. D. Manning and A. Y. Ng, "Zero-shot learning through cross-modal transfer", NIPS
       2013.

    Examples
    --------
    >>> from zskl import baselines, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
    >>> X, y = data.samples("trainval")
    >>> model = baselines.CMTStar(random_state=0).fit(X, y, data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
    True
    """

    kind: ClassVar[str] = "cmt-star"
    SUMMARY: ClassVar[str] = "Cross-modal transfer with novelty detection"
    GRID: ClassVar = with_standardized(
        {
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
            "hidden": (128, 256),
            "learning_rate": (1.0,),
            "epochs": (5, 10, 20),
        },
        {"signature_scaling": ("center-l2",), "hidden": (128,)},
    )
    COPIES: ClassVar[bool] = True  # it holds rows out, and turns them for its classifier
    BOUNDS: ClassVar = {"hidden": (32, 512), "epochs": (1, 160)}
    LEARNED: ClassVar = {
        **CMT.LEARNED,
        "prototypes_": ("C", "p"),
        "spreads_": ("C",),
        "classifier_": ("d", "C"),
        "intercepts_": ("C",),
        "threshold_": None,
    }

    def __init__(
        self,
        *,
        C: float = 10.0,
        hidden: int = 128,
        batch_size: int = 64,
        epochs: int = 20,
        learning_rate: float = 0.3,
        momentum: float = 0.9,
        feature_scaling: str = "center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            hidden=hidden,
            batch_size=batch_size,
            epochs=epochs,
            learning_rate=learning_rate,
            momentum=momentum,
            feature_scaling=feature_scaling,
            signature_scaling=signature_scaling,
            signature_mean=signature_mean,
            device=device,
            random_state=random_state,
        )
        self.C = C

    def _check_parameters(self) -> None:
        super()._check_parameters()
        positive("C", self.C)

    def _train(
        self, training: Training, seed: int, wanted: Collection[int], callback: Callback | None = None
    ) -> Iterator[tuple[int, Learned]]:
        trial = hold_out(training, seed)
        thresholds: dict[int, float] = {}
        failure: DivergenceError | None = None
        if trial is not None:
            W, b = logistic.path(trial.inner)(self.C)
            answers = to_numpy(namespace(trial.X).argmax(trial.X @ like(W, trial.X) + like(b, trial.X), axis=1))
            try:
                for epochs, learned in super()._train(trial.inner, seed, wanted):
                    thresholds[epochs] = _judge(trial, learned, answers)
            except DivergenceError as error:
                failure = error
        W, b = logistic.path(training)(self.C)
        prototypes = class_signatures(training)
        for epochs, learned in super()._train(training, seed, wanted, callback):
            if failure is not None and epochs not in thresholds:
                raise failure
            F = embed(training.X, learned["hidden_"], learned["output_"])
            spread = spreads(F, prototypes, training.codes)
            usual = np.quantile(to_numpy(novelty(F, prototypes, spread)), USUAL)
            learned |= {"prototypes_": to_numpy(prototypes).copy(), "spreads_": spread, "classifier_": W.copy()}
            yield epochs, learned | {"intercepts_": b.copy(), "threshold_": thresholds.get(epochs, float(usual))}

    def _answerer(self, question: Question) -> Callable[[Array], Array]:
        return lambda X: self._answer(X, question)

    def _answer(self, X: Array, question: Question) -> Array:
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        xp = namespace(X)
        F = embed(X, self.hidden_, self.output_)
        scores = best_of_rows(1 / (1 + distances(F, question.Y)), question.rows)
        codes = np.array([known.get(label, -1) for label in question.labels.tolist()])
        if (codes < 0).all():
            return scores
        nu, tau = novelty(F, self.prototypes_, self.spreads_), max(self.threshold_, 1e-12)
        logits = X @ like(self.classifier_, X) + like(self.intercepts_, X)
        logits = logits - xp.max(logits, axis=1, keepdims=True)
        log_p = logits - xp.log(xp.sum(xp.exp(logits), axis=1, keepdims=True))
        offset = xp.where(nu <= tau, xp.ones_like(nu), -xp.ones_like(nu)) + (tau - nu) / (tau + nu)
        of_class = offset[:, None] + 1 / (1 - log_p)  # (n, C)
        own = xp.take(of_class, like(np.maximum(codes, 0), X, "int64"), axis=1)  # (n, c)
        return xp.where(like(codes >= 0, X, "bool"), own, scores)

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        if name == "threshold_" and not (isinstance(value, float) and 0 <= value < float("inf")):
            raise ValueError(f"its threshold is {value!r}")
        return value

    prototypes_: Any
    spreads_: Any
    classifier_: Any
    intercepts_: Any
    threshold_: float


def _judge(trial: Trial, learned: Learned, answers: np.ndarray[Any, Any]) -> float:
    """The threshold for a network trained on the inner rows; `answers` (n,) are those of the inner classifier."""
    inner, weights = trial.inner, (learned["hidden_"], learned["output_"])
    prototypes = class_signatures(inner)
    spread = spreads(embed(inner.X, *weights), prototypes, inner.codes)
    F = embed(trial.X, *weights)
    nearest = to_numpy(namespace(F).argmin(distances(F, trial.Y), axis=1))
    right = np.where(trial.seen, answers, nearest) == trial.codes
    return best_threshold(to_numpy(novelty(F, prototypes, spread)), right, trial.codes, trial.seen)
