"""CNZSL: a network from signatures to prototypes in feature space, whose layers are standardised over the classes."""

import math
from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from zskl._arrays import Array, convert_like, make_generator, namespace, to_numpy
from zskl._validation import check_flag
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import DescentClassifier, Learned
from zskl.baselines._linear_models import class_membership, class_signatures, log_sum_exp, scale_to_unit_length
from zskl.estimators._candidates import softmax
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized

FIRST_DECAY, SECOND_DECAY, ADAM_EPSILON = 0.9, 0.999, 1e-8
VARIANCE_FLOOR = 1e-5  # added to variances
DROP = 0.1  # factor of the rate after every `drop_every` epochs
LAYERS = ("first_", "first_bias_", "second_", "second_bias_", "output_", "output_bias_")


class Adam:
    """Steps in units of a gradient's own size, entry by entry; M and V are moments of the gradients of one array of
    weights: M ← β₁M + (1 − β₁) G,   V ← β₂V + (1 − β₂) G²,   W ← W − η (M / (1 − β₁ᵗ)) / (√(V / (1 − β₂ᵗ)) + ε)"""

    def __init__(self, W: Array, weight_decay: float) -> None:
        self.weight_decay, self.steps = weight_decay, 0
        self.mean, self.square = namespace(W).zeros_like(W), namespace(W).zeros_like(W)

    def direction(self, W: Array, gradient: Array) -> Array:
        """What to subtract from W, times the rate; `gradient` is used up. Weights decay as part of the gradient."""
        self.steps += 1
        gradient += self.weight_decay * W
        self.mean *= FIRST_DECAY
        self.mean += (1 - FIRST_DECAY) * gradient
        gradient *= gradient
        gradient *= 1 - SECOND_DECAY
        self.square *= SECOND_DECAY
        self.square += gradient
        size = namespace(W).sqrt(self.square)
        size /= math.sqrt(1 - SECOND_DECAY**self.steps)
        size += ADAM_EPSILON
        size *= 1 - FIRST_DECAY**self.steps
        return self.mean / size


class ClassNormalisedNetwork:
    """−(1/n) Σ_i log softmax_c(γ² cos(x_i, f(y_c))) over three layers, which lie in one vector."""

    def __init__(self, training: Training, seed: int, model: "CNZSL") -> None:
        Y, h = class_signatures(training), model.hidden
        p, d = Y.shape[1], training.X.shape[1]
        self.X, self.own = model.scale * scale_to_unit_length(training.X), class_membership(training)
        self.rectified = bool(namespace(self.X).all(self.X >= 0))
        self.Y, self.scale, self.drop_every = math.sqrt(p) * Y, model.scale, model.drop_every
        self.shapes = ((p, h), (1, h), (h, h), (1, h), (h, d), (1, d))
        bounds = (p**-0.5, p**-0.5, h**-0.5, h**-0.5, math.sqrt(3 / (h * d)), h**-0.5)
        draw = make_generator(seed, 1)
        start = [draw.uniform(-bound, bound, shape) for bound, shape in zip(bounds, self.shapes, strict=True)]
        W = convert_like(np.concatenate([layer.ravel() for layer in start]), self.X)
        self.weights, self.gradients = [W], [namespace(W).zeros_like(W)]
        self.adam, self.rate = Adam(W, model.weight_decay), 1.0

    def layers(self, flat: Array) -> list[Array]:
        """Views of weights, biases, weights, ... in one vector."""
        found, first = [], 0
        for shape in self.shapes:
            last = first + math.prod(shape)
            found.append(namespace(flat).reshape(flat[first:last], shape))
            first = last
        return found

    def step(self, rows: Array) -> Array:
        value, gradient = self.gradient(rows)
        direction = self.adam.direction(self.weights[0], gradient)
        direction *= self.rate
        self.gradients = [direction]
        return value

    def gradient(self, rows: Array) -> tuple[Array, Array]:
        """The objective () on a batch of rows (n,) and its gradient in one vector."""
        X, own = self.X[rows], self.own[rows]
        xp, n = namespace(X), X.shape[0]
        A, a, B, b, C, c = self.layers(self.weights[0])
        H = relu(self.Y @ A + a)
        S, _, first = standardise(H @ B + b)
        R = relu(S)
        T, _, second = standardise(R)
        P = T @ C + c
        if self.rectified:
            P = relu(P)
        length = xp.sqrt(xp.sum(P * P, axis=1, keepdims=True))
        length = xp.where(length > 0, length, xp.ones_like(length))
        U = P / length
        logits = self.scale * (X @ U.T)
        value: Array = (xp.sum(log_sum_exp(logits)) - xp.sum(own * logits)) / n

        back = xp.zeros_like(self.weights[0])
        dA, da, dB, db, dC, dc = self.layers(back)
        G = (self.scale / n) * ((softmax(logits) - own).T @ X)
        G = (G - U * xp.sum(U * G, axis=1, keepdims=True)) / length
        if self.rectified:
            G *= xp.astype(P > 0, P.dtype)
        dC += T.T @ G
        dc += xp.sum(G, axis=0, keepdims=True)
        G = backpropagate_standardise(G @ C.T, T, second) * xp.astype(R > 0, R.dtype)
        G = backpropagate_standardise(G, S, first)
        dB += H.T @ G
        db += xp.sum(G, axis=0, keepdims=True)
        G = (G @ B.T) * xp.astype(H > 0, H.dtype)
        dA += self.Y.T @ G
        da += xp.sum(G, axis=0, keepdims=True)
        return value, back

    def end_epoch(self, epochs: int) -> None:
        self.rate = DROP ** (epochs // self.drop_every)

    def learned_arrays(self) -> Learned:
        """The layers with the class statistics of the training classes inside: a plain network."""
        A, a, B, b, C, c = (to_numpy(layer).astype(np.float64) for layer in self.layers(self.weights[0]))
        S, *first = standardise(relu(to_numpy(self.Y).astype(np.float64) @ A + a) @ B + b)
        _, *second = standardise(relu(S))
        (mean, divisor), (last_mean, last_divisor) = map(to_numpy, first), map(to_numpy, second)
        A, B, b = A * math.sqrt(A.shape[0]), B / divisor, (b - mean) / divisor
        C, c = C / last_divisor.T, c - (last_mean / last_divisor) @ C
        found = zip(LAYERS, (A, a, B, b, C, c), strict=True)
        return {"rectified_": self.rectified, **{name: layer.astype(np.float32) for name, layer in found}}


def relu(A: Array) -> Array:
    return namespace(A).maximum(A, 0 * A)


def standardise(A: Array) -> tuple[Array, Array, Array]:
    """Columns of mean 0 and variance 1 over the classes; their means (1, h), and what divided them (1, h)."""
    xp = namespace(A)
    mean = xp.mean(A, axis=0, keepdims=True)
    gaps = A - mean
    divisor = xp.sqrt(xp.mean(gaps * gaps, axis=0, keepdims=True) + VARIANCE_FLOOR)
    return gaps / divisor, mean, divisor


def backpropagate_standardise(G: Array, S: Array, divisor: Array) -> Array:
    """The gradient by what went into `standardise`, from that by what came out, S."""
    xp = namespace(G)
    return (G - xp.mean(G, axis=0, keepdims=True) - S * xp.mean(G * S, axis=0, keepdims=True)) / divisor


@baseline
class CNZSL(DescentClassifier):
    """Class normalisation: a network maps signatures to prototypes in feature space, normalised over the classes.

    Three layers with ReLU; the inputs of the second ReLU and of the last layer are standardised over the classes::

        f(y) = S(relu(S(relu(√p y A + a) B + b))) C + c,   S(h) = (h − mean over classes) / deviation over classes
        min −(1/n) Σ_i log softmax_c(γ² cos(x_i, f(y_c)))  over the seen classes c,   score = cos(x, f(y))

    If no scaled feature is below 0, as after a ReLU, one more ReLU keeps f so. In training the means and deviations are
    those of the seen classes at the current weights, and afterwards those at the final ones. So a score does not depend
    on which other candidates there are.

    Parameters
    ----------
    hidden : int, default=512
        Units h of each hidden layer.
    scale : float, default=5.0
        The number γ > 0 whose square multiplies cosines in the loss.
    weight_decay : float, default=1e-4
        What is added to the gradient for each unit of a weight, ≥ 0.
    learning_rate : float, default=1e-3
        Length of a step of Adam at first.
    drop_every : int, default=25
        After every so many epochs the rate becomes a tenth.
    feature_scaling : str, default="sqrt-l2"
        Scaling of the features, see `zskl.scaling`. The cosine divides by the lengths in any case.

    Attributes
    ----------
    first_, first_bias_ : ndarray of shapes (p, h) and (1, h)
        A, with √p in it, and a, in float32.
    second_, second_bias_ : ndarray of shapes (h, h) and (1, h)
        B and b, with the first S in them.
    output_, output_bias_ : ndarray of shapes (h, d) and (1, d)
        C and c, with the second S in them.
    rectified_ : bool
        Whether prototypes are ≥ 0, as all training features were.

    Notes
    -----
    Differs from the published code: the statistics of S are those of the final weights, not running means over the last
    steps, and S divides by the standard deviation, as in the paper, not by the variance.

    References
    ----------
    .. [1] I. Skorokhodov and M. Elhoseiny, "Class normalization for (continual)? generalized zero-shot learning",
       ICLR 2021.
    """

    kind: ClassVar[str] = "cnzsl"
    EXAMPLE: ClassVar[str] = "hidden=64, random_state=0"
    SUMMARY: ClassVar[str] = "Class-normalised network from signatures to prototypes"
    GRID: ClassVar = add_standardized(
        {
            "hidden": (512, 2048),
            "scale": (4.0, 5.0),
            "learning_rate": (5e-4, 1e-3),
            "epochs": (5, 10, 20, 40),
            "feature_scaling": ("none", "sqrt-l2"),
        },
        {"hidden": (512,), "scale": (5.0,)},
    )
    BOUNDS: ClassVar = {"scale": (1.0, 20.0), "learning_rate": (1e-5, 1e-2), "epochs": (1, 80)}
    LEARNED: ClassVar = {
        "first_": ("p", "h"),
        "first_bias_": ("1", "h"),
        "second_": ("h", "h"),
        "second_bias_": ("1", "h"),
        "output_": ("h", "d"),
        "output_bias_": ("1", "d"),
        "rectified_": None,
    }
    CHECKS: ClassVar = {"rectified_": check_flag}
    DECAYS: ClassVar[bool] = False  # Adam does
    COPIES: ClassVar[bool] = True  # as rows of unit length
    momentum = 0.0  # that of Adam is its own

    _: KW_ONLY
    hidden: int = 512
    scale: float = 5.0
    weight_decay: float = 1e-4
    batch_size: int = 256
    epochs: int = 40
    learning_rate: float = 1e-3
    drop_every: int = 25
    feature_scaling: str = "sqrt-l2"
    signature_scaling: str = "l2"

    def _problem(self, training: Training, seed: int) -> ClassNormalisedNetwork:
        return ClassNormalisedNetwork(training, seed, self)

    def _scores(self, X: Array, Y: Array) -> Array:
        A, a, B, b, C, c = (convert_like(getattr(self, name), Y) for name in LAYERS)
        P = relu(relu(Y @ A + a) @ B + b) @ C + c
        return scale_to_unit_length(X) @ convert_like(scale_to_unit_length(relu(P) if self.rectified_ else P), X).T
