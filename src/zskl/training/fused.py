"""A whole training step of a stack on a GPU: matrix products by the library, the rest by four Triton kernels.

It covers radial kernels in float32, where C ≤ p. It computes what `objective.py` and `rmsprop.py` compute; the tests
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
LARGEST = 8192  # entries of a tile (batch, classes) that one program holds


def possible(objective: Objective, W: Tensor, n: int, C: int) -> bool:
    """Whether the kernels cover this case: (K, d, p) float32 on a GPU with tensor cores."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError:
        return False
    fits = _power(n) * _power(C) <= LARGEST and (not objective.incoherence or W.shape[2] >= C)
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
        empty, classes = W.new_empty, C if objective.incoherence else 0
        self.X, self.P, self.gradient, self.b = empty((n, d)), empty((K, n, p)), empty((K, d, p)), empty((K, C))
        self.left, self.right = empty((K, d, n + classes)), empty((K, n + classes, p))
        self.Z, self.z_norms = self.left[:, :, n:], W.new_zeros((K, C))
        self.x_norms, self.y_norms = (self.features**2).sum(dim=1), (self.Y**2).sum(dim=1)
        kernel: Any = objective.kernel
        self.width = self._column(-0.5 / kernel.sigma**2 if kernel.name == "gaussian" else kernel.sigma)
        self.repulsion, self.temperature = self._column(objective.repulsion), self._column(objective.temperature)
        self.mine, self.others = class_weights(objective.balance, sizes)  # (C,) each
        exact = torch.get_float32_matmul_precision() == "highest"  # what the user told PyTorch counts here too
        self.precision = "tf32x3" if exact else "tf32"

    def _column(self, setting: Any) -> Tensor:
        return (self.W.new_zeros((self.W.shape[0], 1, 1)) + setting).reshape(-1).contiguous()

    def __call__(self, smoothing: float, epsilon: float) -> None:
        import torch

        from zskl.training import triton_kernels as go

        o, tape, W = self.objective, self.tape, self.W
        K, n, d, p, C = self.shape
        height, incoherent, NB = self.right.shape[1], bool(o.incoherence), _power(n)
        go.gather[(-(-d // 64), K if incoherent else 1)](
            *(self.features, tape.order, tape.place, self.X, self.left, n, d, height),
            INCOHERENT=incoherent,
            NB=NB,
            DB=64,
        )
        torch.bmm(self.X.expand(K, n, d), W, out=self.P)
        if incoherent:
            torch.mm(W.view(K * d, p), self.Y.T, out=self.left.view(K * d, height)[:, n:])
            torch.linalg.vector_norm(self.Z, dim=1, out=self.z_norms)
        go.compare[(K,)](
            *(tape.order, tape.place, self.codes, self.x_norms, self.y_norms, self.z_norms, self.Y, self.P),
            *(self.width, self.repulsion, self.temperature, self.mine, self.others),
            *(self.right, height, self.b, tape.objectives, K, n, p, C),
            **{"KERNEL": o.kernel.name, "LOSS": o.loss, "INCOHERENT": incoherent},
            **{"PRECISION": self.precision, "NB": NB, "PB": 32, "CB": _power(C), "num_warps": 8},
        )
        if incoherent:
            go.weigh[(-(-C // 16), -(-p // 64), K)](self.Y, self.b, self.right, height, n, p, C, CB=16, PB=64)
            torch.bmm(self.left, self.right, out=self.gradient)
        else:
            torch.bmm(self.X.T.expand(K, d, n), self.right, out=self.gradient)
        go.descend[(-(-d * p // 1024), K)](
            *(W, self.V, self.gradient, tape.rates, tape.place, K, d * p, smoothing, 1 - smoothing, epsilon), BLOCK=1024
        )


def _power(size: int) -> int:
    """The least power of two that holds `size`, at least the smallest side of a product."""
    return max(SMALLEST, 1 << (size - 1).bit_length())
