"""A whole training step of a stack on a GPU: matrix products by the library, the rest by five Triton kernels.

It covers radial kernels in float32. It computes what `objective.py` and `rmsprop.py` compute; the tests
compare them. Other cases, and machines without Triton, use these two; on a GPU they are captured and replayed as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zskl.kernels import Cauchy, Gaussian
from zskl.training.objective import Objective, class_weights

if TYPE_CHECKING:
    from torch import Tensor

    from zskl.training.cuda_graph import Tape

SMALLEST = 16  # the least side of a product of tiles
LARGEST = 16384  # entries of a tile (batch, classes) that one program holds
ALIGNED = 4  # numbers: matrix products are slow on rows that do not begin at a multiple of 16 bytes


def possible(objective: Objective, W: Tensor, n: int, C: int) -> bool:
    """Whether the kernels cover this case: (K, d, p) float32 on a GPU with tensor cores."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError:
        return False
    fits = _power(n) * _power(C) <= LARGEST
    known = type(objective.kernel) in (Gaussian, Cauchy)
    return fits and known and W.dtype == torch.float32 and torch.cuda.get_device_capability(W.device) >= (8, 0)


class FusedStep:
    """Moves W and V (K, d, p) in place by the step at `tape.place`, and writes the objective into `tape.objectives`."""

    def __init__(
        self, objective: Objective, X: Tensor, Y: Tensor, codes: Tensor, sizes: Tensor, W: Tensor, V: Tensor, tape: Tape
    ) -> None:
        import torch

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
        exact = torch.get_float32_matmul_precision() == "highest"  # what the user told PyTorch counts here too
        self.precision = "tf32x3" if exact else "tf32"

    def _column(self, setting: Any) -> Tensor:
        return (self.W.new_zeros((self.W.shape[0], 1, 1)) + setting).reshape(-1).contiguous()

    def _narrow(self, A: Tensor, B: Tensor, out: Tensor, subtract: bool = False) -> None:
        """out (K, n, m) = A (K, n, size) · B (K, size, m), or out − A · B; a stride of 0 in K is one for all."""
        from zskl.training import triton_kernels as go

        K, n, size = A.shape
        m = B.shape[2]
        go.narrow[(-(-m // 32), K)](
            *(A, B, out, A.stride(0), B.stride(0), out.stride(0), n, m, size, B.stride(1), B.stride(2)),
            **{"ADD": subtract, "PRECISION": self.precision, "NB": _power(n), "MB": 32, "SB": 64},
        )

    def __call__(self, smoothing: float, epsilon: float) -> None:
        import torch

        from zskl.training import triton_kernels as go

        o, tape, W, Y, X = self.objective, self.tape, self.W, self.Y, self.X
        K, n, d, p, C = self.shape
        height, NB = self.right.shape[1], _power(n)
        go.gather[(-(-d // 64), K if self.images else 1)](
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
        go.compare[(K,)](
            *(tape.order, tape.place, self.codes, self.x_norms, self.y_norms, self.z_norms, self.S, self.P),
            *(self.width, self.repulsion, self.temperature, self.mine, self.others),
            *(self.U, height, self.b, tape.objectives, K, n, p, C),
            **{"KERNEL": o.kernel.name, "LOSS": o.loss, "INCOHERENT": bool(o.incoherence)},
            **{"NB": NB, "PB": 64, "CB": _power(C), "num_warps": 16 if NB * _power(C) > LARGEST // 2 else 8},
        )
        self._narrow(self.S, Y.expand(K, C, p), self.U, subtract=True)
        if self.images:
            go.weigh[(-(-C // 16), -(-p // 64), K)](Y, self.b, self.right, height, p, C, CB=16, PB=64)
            torch.bmm(self.left, self.right, out=self.gradient)
        elif self.pulls:
            torch.bmm(W, (Y.mT * self.b[:, None, :]) @ Y, out=self.gradient)
            torch.baddbmm(self.gradient, X.T.expand(K, d, n), self.U, out=self.gradient)
        else:
            torch.bmm(X.T.expand(K, d, n), self.U, out=self.gradient)
        go.descend[(-(-d * p // 1024), K)](
            *(W, self.V, self.gradient, tape.rates, tape.place, K, d * p, smoothing, 1 - smoothing, epsilon), BLOCK=1024
        )


def _power(size: int) -> int:
    """The least power of two that holds `size`, at least the smallest side of a product."""
    return max(SMALLEST, 1 << (size - 1).bit_length())
