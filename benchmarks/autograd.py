"""The same training as a PyTorch user would write it, with automatic differentiation: what we are measured by.

Gaussian-Ort with the squared loss, float32: kernels of `cdist`, class images Y Wᵀ by a product, `torch.optim.RMSprop`.
Kept straightforward and never slowed: nothing here waits, copies to the host or checks. Not part of the library.
"""

from __future__ import annotations

from typing import Any

import torch


class Autograd:
    """K projections W (K, d, p), or one (d, p), trained eagerly; `step` moves them by one batch."""

    def __init__(
        self,
        W: Any,
        X: Any,
        Y: Any,
        codes: Any,
        *,
        sigma: float = 1.0,
        repulsion: float = 1.0,
        learning_rate: float = 3e-4,
        smoothing: float = 0.99,
        epsilon: float = 1e-6,
    ) -> None:
        self.W = W.clone().requires_grad_(True)
        self.X, self.Y, self.codes = X, Y, codes
        self.gamma = -0.5 / sigma**2
        self.others = repulsion / (len(Y) - 1)
        self.optimiser = torch.optim.RMSprop([self.W], lr=learning_rate, alpha=smoothing, eps=epsilon)

    def step(self, rows: Any) -> Any:
        """One batch of row indices (n,); the loss, still on its device."""
        X, Y, W = self.X[rows], self.Y, self.W
        target = torch.nn.functional.one_hot(self.codes[rows], len(Y)).to(X.dtype)
        weight = target + (1 - target) * self.others
        k1 = torch.exp(self.gamma * torch.cdist(X @ W, Y.expand(*W.shape[:-2], *Y.shape)) ** 2)
        k2 = torch.exp(self.gamma * torch.cdist(X.expand(*W.shape[:-2], *X.shape), Y @ W.mT) ** 2)
        losses = (weight * ((k1 - target) ** 2 + (k2 - target) ** 2)).sum(dim=(-2, -1)) / len(rows)
        self.optimiser.zero_grad()
        losses.sum().backward()
        self.optimiser.step()
        return losses
