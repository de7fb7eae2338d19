"""Loss and exact gradient of the projection W for one batch (Eq. 6–11), for one W or a stack of them. No state.

Shapes: W (d, p) or a stack (K, d, p); X (n, d); Y (C, p), one signature per training class; codes (n,) in 0..C−1.
Settings are numbers, or arrays of shape (K, 1, 1) in a stack.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from zskl._arrays import Array, is_symbol, namespace
from zskl.kernels import Kernel, Pairs, kernel_score, squared_distances
from zskl.training import _cuda

LOSSES = ("squared", "linear", "softmax")
BALANCES = ("mean", "paper", "sizes", "printed")


class Evaluation(NamedTuple):
    """One batch: the objective (K,), its gradient (K, d, p), the mean of per-sample squared gradients if asked for."""

    objective: Array
    gradient: Array
    squares: Array | None


@dataclass(frozen=True)
class Objective:
    """The formulas are in `docs/math.md`; `repulsion` is λ, `incoherence_weight` α of the Polynomial penalty."""

    kernel: Kernel
    loss: str = "squared"
    balance: str = "mean"
    incoherence: bool = True
    repulsion: float | Array = 1.0
    temperature: float | Array = 0.05
    incoherence_weight: float | Array = 1.0

    def scores(self, W: Array, X: Array, Y: Array) -> Array:
        """Eq. 12: k(D1) + k(D2), or k(D1) without incoherence, or k(s); (K, n, C), larger is better."""
        return self.scorer(W, Y)(X)

    def scorer(self, W: Array, Y: Array) -> Callable[[Array], Array]:
        """`scores` of any X. ‖W yⱼ‖², which is most of the work that depends only on W and Y, is computed once."""
        norms = _image_norms(W, Y, _images(W, Y)) if self.kernel.radial and self.incoherence else None

        def scores(X: Array) -> Array:
            P = X @ W
            S = P @ Y.mT
            in_features = None if norms is None else Pairs(_row_norms(X), S, norms)
            in_signatures = _signature_pairs(P, S, Y) if self.kernel.radial else None
            return kernel_score(self.kernel, S, in_signatures, in_features)

        return scores

    def evaluate(
        self, W: Array, X: Array, Y: Array, codes: Array, sizes: Array, per_sample: bool = False
    ) -> Evaluation:
        """Objective and gradient on one batch; `sizes` (C,) are the class sizes of the whole training set. Y (C + n, p)
        ends in a signature for each row of the batch, which takes the place of that of its class (Eq. 9)."""
        step = _radial if self.kernel.radial else _polynomial
        return step(self, W, X, Y, codes, sizes, per_sample)


def _row_norms(X: Array) -> Array:
    """‖xᵢ‖² (..., n, 1)."""
    return namespace(X).sum(X * X, axis=-1, keepdims=True)


def _signature_pairs(P: Array, S: Array, Y: Array) -> Pairs:
    """What D1[i, j] = ‖Wᵀxᵢ − yⱼ‖² is made of."""
    return Pairs(_row_norms(P), S, namespace(Y).sum(Y * Y, axis=-1))


def _images(W: Array, Y: Array) -> Array | None:
    """Z = W Yᵀ (K, d, C) where going through it, at d·p·C, is cheaper than through WᵀW, at d·p²; else None."""
    # In a graph WᵀW is a constant, computed once.
    return None if is_symbol(Y) or Y.shape[0] > Y.shape[1] else W @ Y.mT


def _image_norms(W: Array, Y: Array, Z: Array | None) -> Array:
    """‖W yⱼ‖² (K, 1, C), through Z = W Yᵀ or, without it, through WᵀW."""
    xp = namespace(Y)
    if Z is not None:
        return xp.sum(Z * Z, axis=-2, keepdims=True)
    return xp.sum((Y @ (W.mT @ W)) * Y, axis=-1)[..., None, :]


def _pull(W: Array, Y: Array, Z: Array | None, b: Array) -> Array:
    """W Yᵀ diag(b) Y (K, d, p) for b (K, 1, C), through Z = W Yᵀ or, without it, through Yᵀ diag(b) Y."""
    return W @ ((Y.mT * b) @ Y) if Z is None else (Z * b) @ Y


def _gradient(W: Array, X: Array, Y: Array, Z: Array | None, U: Array, b: Array) -> Array:
    """Xᵀ U + W Yᵀ diag(b) Y (K, d, p); through Z in one product, [Xᵀ, Z] [U; diag(b) Y]: one pass over the result."""
    if Z is None:
        gradient = _pull(W, Y, Z, b)
        gradient += X.mT @ U
        return gradient
    xp = namespace(X)
    left = xp.concat([xp.broadcast_to(X.mT, (*Z.shape[:-1], X.shape[0])), Z], axis=-1)
    right = xp.concat([U, b.mT * Y], axis=-2)
    return left @ right


def _radial(o: Objective, W: Array, X: Array, Y: Array, codes: Array, sizes: Array, per_sample: bool) -> Evaluation:
    xp = namespace(X)
    n = X.shape[0]
    P = X @ W  # (K, n, p)
    S = P @ Y.mT  # (K, n, C)
    D1 = squared_distances(*_signature_pairs(P, S, Y))
    k1 = o.kernel.value(D1)
    values = [k1]
    if o.incoherence:
        Z = _images(W, Y)
        D2 = squared_distances(_row_norms(X), S, _image_norms(W, Y, Z))
        values.append(o.kernel.value(D2))
    objective, slopes = _loss(o, values, codes, sizes)
    A = slopes[0] * o.kernel.slope(D1, k1)  # ∂(n·loss)/∂D1
    if not o.incoherence:
        U = xp.sum(A, axis=-1, keepdims=True) * P - A @ Y  # (K, n, p)
        squares = (X * X).mT @ ((4 / n) * (U * U)) if per_sample else None
        return Evaluation(objective, X.mT @ ((2 / n) * U), squares)  # the factor goes to the small matrix
    B = slopes[1] * o.kernel.slope(D2, values[1])  # ∂(n·loss)/∂D2
    U = xp.sum(A, axis=-1, keepdims=True) * P - (A + B) @ Y
    gradient = _gradient(W, X, Y, Z, (2 / n) * U, (2 / n) * xp.sum(B, axis=-2, keepdims=True))
    squares = None
    if per_sample:
        squares = None if Z is None else _cuda.fused_squares(X, U, Z, B, Y)
        squares = _squares(W, X, Y, Z, U, B) if squares is None else squares
    return Evaluation(objective, gradient, squares)


def _squares(W: Array, X: Array, Y: Array, Z: Array | None, U: Array, B: Array) -> Array:
    """(1/n) Σ_i G_i² (K, d, p) of the gradients G_i = 2 (x_i u_iᵀ + W Yᵀ diag(B_i) Y) of single rows."""
    xp, n = namespace(X), X.shape[0]
    squares = xp.zeros_like(W)
    for i in range(n):  # all n matrices (d, p) of the batch at once would not fit for a large stack
        G = _pull(W, Y, Z, B[..., i : i + 1, :])
        G += X[i][:, None] * U[..., i : i + 1, :]
        G *= G
        squares += G
    squares *= 4 / n
    return squares


def _polynomial(o: Objective, W: Array, X: Array, Y: Array, codes: Array, sizes: Array, per_sample: bool) -> Evaluation:
    xp = namespace(X)
    n = X.shape[0]
    S = (X @ W) @ Y.mT
    k = o.kernel.value(S)
    objective, slopes = _loss(o, [k], codes, sizes)
    U = (slopes[0] * o.kernel.slope(S, k)) @ Y  # (K, n, p)
    M = W.mT @ W  # (K, p, p)
    one, alpha = xp.eye(M.shape[-1], dtype=M.dtype, device=M.device), o.incoherence_weight
    penalty = xp.sum(M * M, axis=(-2, -1), keepdims=True) - xp.sum(M * one, axis=(-2, -1), keepdims=True)
    R = W @ (alpha * (4 * M - 2 * one))  # gradient of α‖WᵀW‖² − α tr(WᵀW)
    # Arrays (K, d, p) are moved through memory as few times as possible: for a stack this is most of the work.
    data = X.mT @ ((1 / n) * U)
    gradient, squares = data + R, None
    if per_sample:  # (1/n) Σ_i (x_i u_iᵀ + R)²
        squares = (X * X).mT @ ((1 / n) * (U * U))
        data += gradient
        data *= R
        squares += data
    return Evaluation(objective + (alpha * penalty)[..., 0, 0], gradient, squares)


def _loss(o: Objective, values: list[Array], codes: Array, sizes: Array) -> tuple[Array, list[Array]]:
    """The loss (K,) of the kernel values, and ∂(n·loss)/∂k (K, n, C) for each of them."""
    xp = namespace(values[0])
    n, C, columns = values[0].shape[-2], sizes.shape[0], xp.arange(values[0].shape[-1], device=codes.device)
    own: Any = codes[:, None] == columns  # (n, C), True at the sample's class
    counted = None  # (n, C + n) where rows have their own: not that of their class, nor those of other rows
    if len(columns) > C:
        kept = columns == C + xp.arange(n, device=codes.device)[:, None]
        own, counted = kept, xp.where(columns < C, ~own, kept)
    if o.loss == "softmax":
        logits = sum(values[1:], start=values[0]) / o.temperature
        if counted is not None:
            logits = xp.where(counted, logits, xp.zeros_like(logits) - float("inf"))
        shifted = logits - xp.max(logits, axis=-1, keepdims=True)
        e = xp.exp(shifted)
        others = xp.sum(xp.where(own, xp.zeros_like(e), e), axis=-1, keepdims=True)
        mine = xp.sum(xp.where(own, shifted, xp.zeros_like(shifted)), axis=-1, keepdims=True)
        total = others + xp.exp(mine)
        losses = xp.where(mine == 0, xp.log1p(others), xp.log(total) - mine)  # mine is 0 where the true class leads
        slope = xp.where(own, -others, e) / (total * o.temperature)  # q − 1 as −Σ of the other q: no cancellation
        return xp.sum(losses, axis=(-2, -1)) / n, [slope for _ in values]
    mine, others = class_weights(o.balance, sizes)
    if counted is not None:
        mine, others = (xp.concat([one, one[codes]], axis=0) for one in (mine, others))
    w = xp.where(own, mine, o.repulsion * others)  # of class j for sample i, (n, C) or (K, n, C)
    if counted is not None:
        w = xp.where(counted, w, xp.zeros_like(w))
    if o.loss == "linear":
        signed = xp.where(own, -w, w)
        return xp.sum(signed * sum(values[1:], start=values[0]), axis=(-2, -1)) / n, [signed for _ in values]
    target = xp.astype(own, values[0].dtype)
    errors = [k - target for k in values]
    terms = [xp.sum(w * error * error, axis=(-2, -1)) for error in errors]
    return sum(terms[1:], start=terms[0]) / n, [2 * w * error for error in errors]


def class_weights(balance: str, sizes: Array) -> tuple[Array, Array]:
    """What each class weighs for its own samples, and for those of others at λ = 1; (C,) from the sizes (C,)."""
    xp = namespace(sizes)
    ones, N, C = xp.ones_like(sizes), xp.sum(sizes), sizes.shape[0]
    if balance == "mean":
        return ones, ones / max(1, C - 1)
    if balance == "paper":  # N/C for every class
        return ones * (N / C), ones
    if balance == "sizes":
        return sizes, ones
    return N * sizes, N * sizes  # "printed": Σ over all rows is N times a mean over a batch, in expectation
