"""Training steps on a GPU: a step captured as a CUDA graph, and one whose kernels are fused by Triton.

A captured step is replayed, so the host only says go: the order of the rows, the rates and the place in both lie on the
device, and the graph moves the place forward itself. A fused step leaves the matrix products to the library and does
the rest in five kernels, see `_triton_kernels`. It covers radial kernels in float32 and computes what `objective` and
`solver` compute; the tests compare them. Other cases, and machines without Triton, capture the plain step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zskl._arrays import Array, NumPyArray, is_torch
from zskl.kernels import Cauchy, Gaussian

if TYPE_CHECKING:
    from torch import Tensor

    from zskl.training.objective import Objective

WARM_UP = 3  # steps before the capture, undone afterwards: in the first one, libraries set themselves up
SMALLEST = 16  # the least side of a product of tiles
LARGEST = 16384  # entries of a tile (batch, classes) that one program holds
PRODUCT_BYTES = 1 << 28  # of the gradients of single rows, which are made for so many members at once
ALIGNED = 4  # numbers: matrix products are slow on rows that do not begin at a multiple of 16 bytes


def can_capture(W: Array) -> bool:
    return is_torch(W) and str(W.device).startswith("cuda")


@dataclass(frozen=True)
class Tape:
    """What the steps of an epoch read and write, on the device; `place` (1,) is the number of the next one."""

    order: Tensor  # (steps, batch) rows
    rates: Tensor  # (steps, K, 1, 1)
    objectives: Tensor  # (steps, K)
    place: Tensor


class Replay:
    """`step(tape)` moves W and V in place by the step at the tape's place and writes its objective there."""

    def __init__(self, step: Callable[[Tape], object], tape: Tape, W: Tensor, V: Tensor) -> None:
        import torch

        self.tape = tape

        def run() -> None:
            step(tape)
            tape.place.add_(1)

        before = W.clone(), V.clone()
        with torch.cuda.device(W.device):  # where streams are made and kernels launched
            try:
                aside = torch.cuda.Stream()
                aside.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(aside):
                    for _ in range(WARM_UP):
                        tape.place.zero_()
                        run()
                torch.cuda.current_stream().wait_stream(aside)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    run()
            finally:
                W.copy_(before[0])
                V.copy_(before[1])

    def begin(self, order: NumPyArray, rates: Tensor) -> None:
        """The rows (steps, batch) and rates (steps, K, 1, 1) of the next epoch."""
        self.tape.order.copy_(self.tape.order.new_tensor(order))
        self.tape.rates.copy_(rates)
        self.tape.place.zero_()

    def step(self, number: int) -> Tensor:
        """Replay the step; its objective (K,) is read from the place it will be written to."""
        self.graph.replay()
        return self.tape.objectives[number]


def make_tape(W: Tensor, steps: int, batch: int) -> Tape:
    K = W.shape[0]
    order = W.new_zeros((steps, batch)).long()
    return Tape(order, W.new_zeros((steps, K, 1, 1)), W.new_zeros((steps, K)), order.new_zeros(1))


def make_tape_step(move: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tape], None]:
    """A step of the tape from `move(rows, rate) → objective (K,)`."""

    def step(tape: Tape) -> None:
        objective = move(tape.order[tape.place][0], tape.rates[tape.place][0])
        tape.objectives.index_copy_(0, tape.place, objective[None].to(tape.objectives.dtype))

    return step


def can_fuse(objective: Objective, W: Tensor, n: int, C: int) -> bool:
    """Whether the kernels cover this case: (K, d, p) float32 on a GPU with tensor cores."""
    fits = _next_power_of_two(n) * _next_power_of_two(C) <= LARGEST
    return fits and type(objective.kernel) in (Gaussian, Cauchy) and _has_tensor_cores(W)


def _has_tensor_cores(W: Tensor) -> bool:
    try:
        import torch
        import triton  # noqa: F401
    except ImportError:
        return False
    return bool(W.dtype == torch.float32 and torch.cuda.get_device_capability(W.device) >= (8, 0))


def fused_squares(X: Array, U: Array, Z: Array, B: Array, Y: Array) -> Array | None:
    """(4/n) Σ_i (x_i u_iᵀ + Z diag(B_i) Y)² (K, d, p) by one kernel; None where there is none for these arrays."""
    return square_rows(X, U, Z, B, Y) if can_capture(Z) and _has_tensor_cores(Z) else None


def square_rows(X: Tensor, U: Tensor, Z: Tensor, B: Tensor, Y: Tensor) -> Tensor:
    from zskl.training import _triton_kernels

    (K, d, C), (n, p) = Z.shape, U.shape[1:]
    X, U = X.contiguous(), U.contiguous()
    squares = Z.new_empty((K, d, p))
    at_once = max(1, min(K, PRODUCT_BYTES // (4 * d * n * p)))
    for first in range(0, K, at_once):
        some = slice(first, min(first + at_once, K))
        right = B[some].mT[..., None] * Y[:, None, :]  # (k, C, n, p): all diag(B_i) Y side by side
        G = Z[some] @ right.reshape(len(right), C, n * p)
        _triton_kernels.sum_squares[(-(-d // 16), -(-p // 128), len(right))](
            *(X, U, G, squares, 4 / n, first, n, d, p), **{"DB": 16, "PB": 128}
        )
    return squares


def make_fused_update(W: Array, V: Array, smoothing: float, epsilon: float) -> Any:
    """RMSprop by one kernel, as `solver.make_update` has it; None where there is none for these arrays."""
    return update_by_kernel(W, V, smoothing, epsilon) if can_capture(W) and _has_tensor_cores(W) else None


def update_by_kernel(W: Tensor, V: Tensor, smoothing: float, epsilon: float) -> Callable[..., None]:
    from zskl.training import _triton_kernels

    K, size, first = len(W), W[0].numel(), W.new_zeros(1).long()

    def move(gradient: Tensor, squares: Tensor | None, rate: Any) -> None:
        rates = (W.new_zeros((K, 1, 1)) + rate).reshape(-1)
        G = gradient.contiguous()
        _triton_kernels.descend[(-(-size // 1024), K)](
            *(W, V, G, G if squares is None else squares.contiguous(), rates, first),
            *(K, size, smoothing, 1 - smoothing, epsilon),
            **{"OWN": squares is None, "BLOCK": 1024},
        )

    return move


def _precision() -> str:
    """Of products on tensor cores: what the user told PyTorch counts here too."""
    import torch

    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"


class FusedStep:
    """Moves W and V (K, d, p) in place by the step at `tape.place`, and writes the objective into `tape.objectives`."""

    def __init__(
        self, objective: Objective, X: Tensor, Y: Tensor, codes: Tensor, sizes: Tensor, W: Tensor, V: Tensor, tape: Tape
    ) -> None:
        from zskl.training.objective import class_weights

        K, d, p = W.shape
        C, n = len(Y), tape.order.shape[1]
        self.objective, self.W, self.V, self.tape = objective, W, V, tape
        self.features, self.Y, self.codes = X.contiguous(), Y.contiguous(), codes
        self.shape = K, n, d, p, C
        self.images, self.pulls = bool(objective.incoherence) and p >= C, bool(objective.incoherence) and p < C
        self.above = C if self.images else 0  # rows of `right` above U, columns of `left` before Xᵀ
        height = -(-(self.above + n) // ALIGNED) * ALIGNED
        self.left, self.right = W.new_zeros((K, d if self.images else 0, height)), W.new_zeros((K, height, p))
        self.Z, self.U = self.left[:, :, : self.above], self.right[:, self.above : self.above + n]
        self.X, self.P, self.S = W.new_empty((n, d)), W.new_empty((K, n, p)), W.new_empty((K, n, C))
        self.gradient, self.b, self.z_norms = W.new_empty((K, d, p)), W.new_empty((K, C)), W.new_zeros((K, C))
        self.x_norms, self.y_norms = (self.features**2).sum(dim=1), (self.Y**2).sum(dim=1)
        kernel: Any = objective.kernel
        self.width = self._column(-0.5 / kernel.sigma**2 if kernel.name == "gaussian" else kernel.sigma)
        self.repulsion, self.temperature = self._column(objective.repulsion), self._column(objective.temperature)
        self.mine, self.others = class_weights(objective.balance, sizes)  # (C,) each
        self.precision = _precision()

    def _column(self, setting: Any) -> Tensor:
        return (self.W.new_zeros((self.W.shape[0], 1, 1)) + setting).reshape(-1).contiguous()

    def _narrow(self, A: Tensor, B: Tensor, out: Tensor, subtract: bool = False) -> None:
        """out (K, n, m) = A (K, n, size) · B (K, size, m), or out − A · B; a stride of 0 in K is one for all."""
        from zskl.training import _triton_kernels

        K, n, size = A.shape
        m = B.shape[2]
        _triton_kernels.narrow[(-(-m // 32), K)](
            *(A, B, out, A.stride(0), B.stride(0), out.stride(0), n, m, size, B.stride(1), B.stride(2)),
            **{"ADD": subtract, "PRECISION": self.precision, "NB": _next_power_of_two(n), "MB": 32, "SB": 64},
        )

    def __call__(self, smoothing: float, epsilon: float) -> None:
        import torch

        from zskl.training import _triton_kernels

        o, tape, W, Y, X = self.objective, self.tape, self.W, self.Y, self.X
        K, n, d, p, C = self.shape
        height, NB, CB = self.right.shape[1], _next_power_of_two(n), _next_power_of_two(C)
        _triton_kernels.gather[(-(-d // 64), K if self.images else 1)](
            *(self.features, tape.order, tape.place, X, self.left, self.above, n, d, height),
            **{"IMAGES": self.images, "NB": NB, "DB": 64},
        )
        if K == 1 and p % ALIGNED == 0:  # then the library is quicker: it shares d out
            torch.bmm(X.expand(K, n, d), W, out=self.P)
        else:
            self._narrow(X.expand(K, n, d), W, self.P)
        self._narrow(self.P, Y.T.expand(K, p, C), self.S)
        if self.images:
            torch.mm(W.view(K * d, p), Y.T, out=self.left.view(K * d, height)[:, :C])
            torch.linalg.vector_norm(self.Z, dim=1, out=self.z_norms).square_()
        elif self.pulls:
            torch.sum((Y @ (W.mT @ W)) * Y, dim=-1, out=self.z_norms)
        _triton_kernels.compare[(K,)](
            *(tape.order, tape.place, self.codes, self.x_norms, self.y_norms, self.z_norms, self.S, self.P),
            *(self.width, self.repulsion, self.temperature, self.mine, self.others),
            *(self.U, height, self.b, tape.objectives, K, n, p, C),
            **{"KERNEL": o.kernel.name, "LOSS": o.loss, "INCOHERENT": bool(o.incoherence)},
            **{"NB": NB, "PB": 64, "CB": CB, "num_warps": 16 if NB * CB > LARGEST // 2 else 8},
        )
        self._narrow(self.S, Y.expand(K, C, p), self.U, subtract=True)
        if self.images:
            _triton_kernels.weigh[(-(-C // 16), -(-p // 64), K)](Y, self.b, self.right, height, p, C, CB=16, PB=64)
            torch.bmm(self.left, self.right, out=self.gradient)
        elif self.pulls:
            torch.bmm(W, (Y.mT * self.b[:, None, :]) @ Y, out=self.gradient)
            torch.baddbmm(self.gradient, X.T.expand(K, d, n), self.U, out=self.gradient)
        else:
            torch.bmm(X.T.expand(K, d, n), self.U, out=self.gradient)
        _triton_kernels.descend[(-(-d * p // 1024), K)](
            *(W, self.V, self.gradient, self.gradient, tape.rates, tape.place),
            *(K, d * p, smoothing, 1 - smoothing, epsilon),
            **{"OWN": True, "BLOCK": 1024},
        )


def _next_power_of_two(size: int) -> int:
    """The least power of two that holds `size`, at least the smallest side of a product."""
    return max(SMALLEST, 1 << (size - 1).bit_length())
