"""A whole training step of a stack on a GPU, by four Triton kernels that read and write as little as they can.

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
BLOCK = 64  # features of a program's tile of W
PROJECT = {"PB": 32, "num_warps": 4, "num_stages": 3}  # the other sides of tiles, and how a program runs
DESCEND = {"PB": 64, "CB": 32, "num_warps": 4, "num_stages": 3}


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
        self.X, self.Y, self.codes = X.contiguous(), Y.contiguous(), codes
        self.shape, parts = (K, n, d, p, C), -(-d // BLOCK)
        self.images, self.pulls = bool(objective.incoherence) and p >= C, bool(objective.incoherence) and p < C
        empty, some = W.new_empty, C if self.images else 0
        self.P, self.U, self.b, self.z_norms = empty((K, n, p)), empty((K, n, p)), empty((K, C)), W.new_zeros((K, C))
        self.P_parts, self.Z, self.z_parts = empty((K, parts, n, p)), empty((K, d, some)), empty((K, parts, some))
        self.pull = empty((K, d, p) if self.pulls else (0,))
        self.x_norms, self.y_norms = (self.X**2).sum(dim=1), (self.Y**2).sum(dim=1)
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

        o, tape, W, Y = self.objective, self.tape, self.W, self.Y
        K, n, d, p, C = self.shape
        parts, batch = self.P_parts.shape[1], (self.X, tape.order, tape.place)
        CB = 128 if -(-C // 128) * 2 == -(-C // 64) else 64  # whichever leaves less of a tile empty
        tiles = {"PRECISION": self.precision, "NB": _power(n), "DB": BLOCK}
        go.project[(parts, -(-C // CB) if self.images else 1, K)](
            *(*batch, W, Y, self.P_parts, self.Z, self.z_parts, n, d, p, C), IMAGES=self.images, CB=CB, **tiles, **PROJECT
        )
        go.add_up[(-(-n * p // 128), K)](self.P_parts, self.P, parts, n * p, BLOCK=128)
        if self.images:
            go.add_up[(-(-C // 128), K)](self.z_parts, self.z_norms, parts, C, BLOCK=128)
        if self.pulls:
            torch.sum((Y @ torch.bmm(W.mT, W)) * Y, dim=-1, out=self.z_norms)
        go.compare[(K,)](
            *(tape.order, tape.place, self.codes, self.x_norms, self.y_norms, self.z_norms, Y, self.P),
            *(self.width, self.repulsion, self.temperature, self.mine, self.others),
            *(self.U, self.b, tape.objectives, K, n, p, C),
            **{"KERNEL": o.kernel.name, "LOSS": o.loss, "INCOHERENT": bool(o.incoherence)},
            **{"PRECISION": self.precision, "NB": _power(n), "PB": 32, "CB": _power(C)},
            num_warps=8 if _power(n) * _power(C) <= LARGEST // 2 else 16,
        )
        if self.pulls:
            torch.bmm(W, (Y.mT * self.b[:, None, :]) @ Y, out=self.pull)
        go.descend[(-(-p // DESCEND["PB"]), -(-d // BLOCK), K)](
            *(*batch, W, self.V, self.U, self.Z, self.b, Y, self.pull, tape.rates),
            *(K, n, d, p, C, smoothing, 1 - smoothing, epsilon),
            **{"IMAGES": self.images, "PULL": self.pulls, **tiles, **DESCEND},
        )


def _power(size: int) -> int:
    """The least power of two that holds `size`, at least the smallest side of a product."""
    return max(SMALLEST, 1 << (size - 1).bit_length())
