"""CMT, cross-modal transfer: a two-layer network into signature space, where the nearest signature wins."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from zskl.arrays import Array, generator, like, namespace, to_numpy
from zskl.baselines.descent import DescentClassifier, Learned, coordinates
from zskl.baselines.linear import blocks
from zskl.baselines.shared_fit import class_signatures
from zskl.estimators.default_grid import with_standardized
from zskl.estimators.estimator import Training
from zskl.kernels.kernel import squared_distances
from zskl.parameters import count

START = 0.3  # size of the input of tanh at the start, where tanh is nearly linear


class NetworkProblem:
    """(1/n) Σ_i ‖tanh(x_i A) B / √h − y_i‖² over A (d, h) and B (h, r)."""

    def __init__(self, training: Training, seed: int, hidden: int) -> None:
        xp = namespace(training.Y)
        self.X, (Z, self.basis) = training.X, coordinates(class_signatures(training))
        self.targets = Z[training.codes]
        self.scale = hidden**-0.5  # not part of B, so that both layers learn at one rate
        d, p = self.X.shape[1], self.basis.shape[0]
        squares = xp.concat([xp.sum(block * block, axis=1) for _, block in blocks(self.X)])
        length = float(xp.sqrt(xp.mean(squares))) or 1.0
        draw = generator(seed, 1)
        A = like(draw.standard_normal((d, hidden)) * (START / length), self.basis)
        B = like(draw.standard_normal((hidden, p)) * (hidden * p) ** -0.5, self.basis) @ self.basis
        self.weights, self.gradients = [A, B], [xp.zeros_like(A), xp.zeros_like(B)]

    def step(self, rows: Array) -> Array:
        (A, B), X = self.weights, self.X[rows]
        xp = namespace(X)
        H = xp.tanh(X @ A)
        E = (H @ B) * self.scale - self.targets[rows]
        value: Array = xp.sum(E * E) / X.shape[0]
        E *= 2 * self.scale / X.shape[0]
        xp.matmul(H.mT, E, out=self.gradients[1])
        xp.matmul(X.mT, (E @ B.mT) * (1 - H * H), out=self.gradients[0])
        return value

    def keep(self, epochs: int) -> None:
        return None

    def learned(self) -> Learned:
        A, B = self.weights
        return {"hidden_": to_numpy(A).copy(), "output_": to_numpy((B * self.scale) @ self.basis.mT)}


def embed(X: Array, A: Array, B: Array) -> Array:
    """f(x) = tanh(xA)B (n, p) of scaled samples X (n, d)."""
    return namespace(X).tanh(X @ like(A, X)) @ like(B, X)


def distances(F: Array, Y: Array) -> Array:
    """(n, c) ‖f_i − y_j‖² of embedded rows F (n, p) and signatures Y (c, p)."""
    xp = namespace(F)
    return squared_distances(xp.sum(F * F, axis=1)[:, None], F @ Y.mT, xp.sum(Y * Y, axis=1)[None, :])


class CMT(DescentClassifier):
    """Cross-modal transfer: a two-layer network into signature space, where the nearest signature wins.

    Scores are −‖f(x) − y‖² with f(x) = tanh(xA)B. A and B minimise ‖f(x) − y‖² over the training rows.

    Parameters
    ----------
    hidden : int, default=128
        Units h of the hidden layer.
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
        A, in float32.
    output_ : ndarray of shape (h, p)
        B, in float32.
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table: the default candidates of `predict`.

    Notes
    -----
    Differs from the paper: mini-batch descent with momentum instead of L-BFGS.

    References
    ----------
    .. [1] R. Socher, M. Ganjoo, C. D. Manning and A. Y. Ng, "Zero-shot learning through cross-modal transfer", NIPS
       2013.

    Examples
    --------
    >>> from zskl import baselines, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
    >>> X, y = data.samples("trainval")
    >>> model = baselines.CMT(random_state=0).fit(X, y, data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
    True
    """

    kind: ClassVar[str] = "cmt"
    SUMMARY: ClassVar[str] = "Cross-modal transfer: a two-layer network into signature space"
    GRID: ClassVar = with_standardized(
        {
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
            "hidden": (128, 256),
            "learning_rate": (0.3, 1.0),
            "epochs": (5, 10, 20),
        },
        {"signature_scaling": ("center-l2",), "hidden": (128,)},
    )
    BOUNDS: ClassVar = {"hidden": (32, 512), "learning_rate": (0.03, 10.0), "epochs": (1, 160)}
    LEARNED: ClassVar = {"hidden_": ("d", "*"), "output_": ("*", "p")}

    def __init__(
        self,
        *,
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
        self.hidden = hidden
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        count("hidden", self.hidden)

    def _problem(self, training: Training, seed: int) -> NetworkProblem:
        return NetworkProblem(training, seed, self.hidden)

    def _scores(self, X: Array, Y: Array) -> Array:
        return -distances(embed(X, self.hidden_, self.output_), Y)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]], known: Any = None) -> Self:
        model = super()._restore(header, arrays, known)
        if model.hidden_.shape[1] != len(model.output_):
            raise ValueError(f"layers of shapes {model.hidden_.shape} and {model.output_.shape} do not fit together")
        return model

    hidden_: Any
    output_: Any
