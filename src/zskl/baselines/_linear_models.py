"""Linear maps of the features under a smooth loss and a ridge, in coordinates that make many of them cheap.

    min over W (d, k), b (k,) of  loss(XW + b) + ½ ridge ‖W‖²

One eigendecomposition XᵀX = U diag(a) Uᵀ serves every loss and every ridge on the same rows: with W = U diag(s) V and
s = 1/√(curvature · a / n + ridge) the problem in V is nearly round, and L-BFGS needs few passes over the rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize

from zskl._arrays import Array, NumPyArray, convert_like, is_sparse_rows, namespace, to_numpy
from zskl.estimators._candidates import softmax
from zskl.estimators._inputs import Training
from zskl.scaling import Scaling

Weights: TypeAlias = tuple[NumPyArray, NumPyArray]  # W (d, k), b (k,)
Loss: TypeAlias = Callable[[Array], tuple[float, Array]]  # outputs (n, k) → mean over the rows, gradient (n, k)
PASSES = 100  # over the rows, at most
TOLERANCE = 3e-3  # of the gradient's largest entry in the round coordinates, in units of the first one
BLOCK_VALUES = 1 << 19  # of rows multiplied together: 2 MB in float32
BLOCK_ROWS = 512  # or so many rows, if that is more: a product of few rows is slower than adding it
SMALL = 1 << 20  # values of rows that are computed with in float64, where it costs little


@dataclass(frozen=True)
class Rows:
    """Rows in the basis of their own spread: X = rotated @ basisᵀ."""

    rotated: Array  # (n, r)
    basis: NumPyArray  # (d, r) orthonormal columns, r = min(n, d)
    energy: NumPyArray  # (r,) eigenvalues of XᵀX ≥ 0
    weights: NumPyArray | None = None  # (n,) of the rows; None: 1 each

    @property
    def mass(self) -> float:
        """What the rows weigh together."""
        return float(self.rotated.shape[0]) if self.weights is None else float(self.weights.sum())

    @property
    def share(self) -> Array | None:
        """(n, 1) of each row in a mean over them; None: all the same."""
        return None if self.weights is None else convert_like(self.weights[:, None] / self.mass, self.rotated)


def row_blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Where some rows of X stand, and the rows, which may be scaled only now."""
    # Small ones are multiplied in float64, so that weights are as good as copies of rows.
    precision = "float64" if X.shape[0] * X.shape[1] <= SMALL else "float32"
    height = max(BLOCK_ROWS, BLOCK_VALUES // X.shape[1])
    for start in range(0, X.shape[0], height):
        rows = slice(start, min(start + height, X.shape[0]))
        block = X[rows]
        yield rows, convert_like(block, block, precision)


def row_spectrum(
    X: Any,
    weights: NumPyArray | None = None,
    center: NumPyArray | None = None,
    on_block: Callable[[slice, Array], object] = lambda rows, block: None,
) -> tuple[NumPyArray, NumPyArray]:
    """(basis (d, r), energy (r,)) with XᵀX = basis @ diag(energy) @ basisᵀ, r = min(n, d). `weights` (n,) are D of
    XᵀDX, `center` (d,) is subtracted, and `on_block` makes other sums from the same pass."""
    n, d = X.shape
    if n < d:
        for part, block in row_blocks(X):
            on_block(part, block)
        rows = to_numpy(X[:]).astype(np.float64) - (0.0 if center is None else center)
        root = 1.0 if weights is None else np.sqrt(weights)[:, None]
        _, singular, vectors = np.linalg.svd(root * rows, full_matrices=False)
        return vectors.T, singular**2
    products: Array | None = None
    for part, block in row_blocks(X):
        on_block(part, block)
        block = block if center is None else block - convert_like(center, block)
        heavy = block if weights is None else block * convert_like(weights[part, None], block)
        if products is None:
            products = heavy.T @ block
        else:
            products += heavy.T @ block
    assert products is not None  # there is at least one row
    energy, basis = np.linalg.eigh(to_numpy(products).astype(np.float64))
    return basis, np.maximum(energy, 0.0)


def rotate_rows(X: Any, weights: NumPyArray | None = None) -> Rows:
    basis, energy = row_spectrum(X, weights)
    rotated: Array | None = None
    for rows, block in row_blocks(X):
        if rotated is None:
            shape = (X.shape[0], basis.shape[1])
            rotated = namespace(block).empty(shape, dtype=block.dtype, device=block.device)
        rotated[rows] = block @ convert_like(basis, block)
    assert rotated is not None  # there is at least one row
    return Rows(rotated, basis, energy, weights)


def minimise_ridge(
    rows: Rows,
    loss: Loss,
    outputs: int,
    ridge: float,
    curvature: float,
    intercept: bool = True,
    start: NumPyArray | None = None,
    tolerance: float | None = None,
) -> tuple[NumPyArray, NumPyArray]:
    """(W (d, k), b (k,)) float32, from `start` or 0, to this `tolerance` of the gradient; `curvature` is about that of
    the loss in one output."""
    X = rows.rotated
    r = X.shape[1]
    scale = 1 / np.sqrt(curvature * rows.energy / rows.mass + ridge)  # (r,)
    shrinkage = ridge * scale[:, None] ** 2

    def evaluate(flat: NumPyArray) -> tuple[float, NumPyArray]:
        V, b = flat[: r * outputs].reshape(r, outputs), flat[r * outputs :]
        value, slope = loss(X @ convert_like(scale[:, None] * V, X) + (convert_like(b, X) if intercept else 0.0))
        gradient = scale[:, None] * to_numpy(X.T @ slope).astype(np.float64) + shrinkage * V
        steps = [gradient.ravel(), to_numpy(slope).sum(axis=0, dtype=np.float64)] if intercept else [gradient.ravel()]
        return value + 0.5 * float((shrinkage * V * V).sum()), np.concatenate(steps)

    begin = np.zeros(r * outputs + (outputs if intercept else 0))
    first = float(np.abs(evaluate(begin)[1]).max())
    if start is not None:
        begin[: r * outputs] = (rows.basis.T @ start / scale[:, None]).ravel()
    options = {
        "maxiter": PASSES,
        "maxfun": 2 * PASSES,
        "gtol": (TOLERANCE if tolerance is None else tolerance) * first,
        "ftol": 0.0,
        "maxcor": 10,
    }
    found = minimize(evaluate, begin, jac=True, method="L-BFGS-B", options=options).x
    W = rows.basis @ (scale[:, None] * found[: r * outputs].reshape(r, outputs))
    b = found[r * outputs :] if intercept else np.zeros(outputs)
    return W.astype(np.float32), b.astype(np.float32)


# Sums over classes

scale_to_unit_length = Scaling(("l2",)).apply  # rows of unit length; a row of zeros stays zero


def class_signatures(training: Training) -> Array:
    """(C, p) the mean of the signatures of each seen class."""
    return average_signatures(training.Y, training.rows, training.counts)


def average_signatures(Y: Array, rows: NumPyArray, counts: NumPyArray) -> Array:
    """(C, p) the mean of the signatures of each class: `rows` (C, m) of Y, of which `counts` (C,) are its own."""
    if rows.shape[1] == 1:
        return Y[convert_like(rows[:, 0], Y, "int64")]
    own = np.arange(rows.shape[1]) < counts[:, None]  # (C, m): not padding
    weights = np.zeros((len(counts), Y.shape[0]))
    np.add.at(weights, (np.arange(len(own))[:, None], rows), own / counts[:, None])
    return Y.combine(weights) if is_sparse_rows(Y) else convert_like(weights, Y) @ Y


def class_membership(training: Training) -> Array:
    """(n, C) 1 where a row is of a class, else 0."""
    classes = convert_like(np.arange(len(training.sizes)), training.Y, "int64")
    return namespace(training.Y).astype(training.codes[:, None] == classes[None, :], training.Y.dtype)


def sum_by_class(training: Training, transform: Callable[[Array, Array], Array] | None = None) -> Array:
    """(C, d) the weighted sum of the rows of each class, or of what `transform` makes of rows (m, d) and codes (m,)."""
    X = training.X
    if is_sparse_rows(X):
        assert transform is None  # methods that take sparse rows add these up as they are
        return X.sum_by_class(to_numpy(training.codes), len(training.sizes), training.weights)
    sums = ClassSums(training, transform)
    for rows, block in row_blocks(X):
        sums.add(rows, block)
    return sums.found


def class_sums_and_spectrum(training: Training) -> tuple[NumPyArray, NumPyArray, NumPyArray]:
    """`sum_by_class` (C, d), and basis and energy of `row_spectrum`, from one pass over the training rows."""
    sums = ClassSums(training)
    basis, energy = row_spectrum(training.X, training.weights, on_block=sums.add)
    return to_numpy(sums.found), basis, energy


class ClassSums:
    """`sum_by_class`, to which dense rows are added block by block."""

    def __init__(self, training: Training, transform: Callable[[Array, Array], Array] | None = None) -> None:
        self._training, self._transform = training, transform
        self._sums: Array | None = None

    def add(self, rows: slice, block: Array) -> None:
        weights, codes = self._training.weights, self._training.codes[rows]
        classes = convert_like(np.arange(len(self._training.sizes)), block, "int64")
        own = namespace(block).astype(classes[:, None] == codes[None, :], block.dtype)
        own = own if weights is None else own * convert_like(weights[None, rows], block)
        part = own @ (block if self._transform is None else self._transform(block, codes))
        self._sums = part if self._sums is None else self._sums + part

    @property
    def found(self) -> Array:
        assert self._sums is not None  # there is at least one row
        return self._sums


def logistic_path(training: Training) -> Callable[[float], Weights]:
    """C → the regression of seen classes, cached: min C Σ_i w_i · −log p(target_i | x_i) + ½ ‖W‖², p from XW + b."""
    rows = rotate_rows(training.X, training.weights)
    return cache(lambda C: fit_multinomial(rows, class_membership(training), C))


def fit_multinomial(rows: Rows, targets: Array, C: float) -> Weights:
    """(W (d, k), b (k,)) of the softmax of XW + b for targets (n, k), one 1 in each row."""
    k = targets.shape[1]
    return minimise_ridge(rows, cross_entropy(targets, rows.share), k, 1 / (C * rows.mass), 1 / k)


def fit_binary(rows: Rows, targets: Array, C: float) -> Weights:
    """(W (d, k), b (k,)) of the sigmoids of XW + b for targets (n, k) of zeros and ones."""
    return minimise_ridge(rows, sigmoid_loss(targets, rows.share), targets.shape[1], 1 / (C * rows.mass), 0.25)


def cross_entropy(targets: Array, share: Array | None = None) -> Loss:
    """−Σ_k t_k log softmax(F)_k and its gradient, for F (n, k), as a mean over rows; `share` (n, 1) of each in it."""
    xp = namespace(targets)
    each = 1 / targets.shape[0] if share is None else share

    def loss(F: Array) -> tuple[float, Array]:
        rows = log_sum_exp(F)[:, None] - xp.sum(targets * F, axis=1, keepdims=True)
        return float(xp.sum(each * rows, dtype=xp.float64)), each * (softmax(F) - targets)

    return loss


def sigmoid_loss(targets: Array, share: Array | None = None) -> Loss:
    """Σ over attributes of log(1 + e^F) − t F and its gradient, for F (n, k), as a mean over rows like the above."""
    xp = namespace(targets)
    each = 1 / targets.shape[0] if share is None else share

    def loss(F: Array) -> tuple[float, Array]:
        value = xp.sum(each * (softplus(F) - targets * F), dtype=xp.float64)
        return float(value), each * (sigmoid(F) - targets)

    return loss


def log_sum_exp(F: Array) -> Array:
    """log Σ_k e^F_k of (n, k), for numbers of any size: (n,)."""
    xp = namespace(F)
    top = xp.max(F, axis=1, keepdims=True)
    return top[:, 0] + xp.log(xp.sum(xp.exp(F - top), axis=1))


def softplus(F: Array) -> Array:
    """log(1 + e^F) for numbers of any size; −softplus(−F) is the logarithm of the sigmoid."""
    xp = namespace(F)
    return xp.maximum(F, 0 * F) + xp.log1p(xp.exp(-xp.abs(F)))


def sigmoid(F: Array) -> Array:
    return 0.5 * (1 + namespace(F).tanh(0.5 * F))
