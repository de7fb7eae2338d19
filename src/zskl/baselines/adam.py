"""Adam: steps in units of a gradient's own size, entry by entry.

M ← β₁M + (1 − β₁) G,    V ← β₂V + (1 − β₂) G²,    W ← W − η (M / (1 − β₁ᵗ)) / (√(V / (1 − β₂ᵗ)) + ε)
"""

from __future__ import annotations

import math

from zskl.arrays import Array, namespace

FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """The moments of the gradients of one array of weights."""

    def __init__(self, W: Array, weight_decay: float) -> None:
        self.weight_decay, self.steps = weight_decay, 0
        self.mean, self.square = namespace(W).zeros_like(W), namespace(W).zeros_like(W)

    def direction(self, W: Array, gradient: Array) -> Array:
        """What to subtract from W, times the rate; `gradient` is used up. Weights decay as part of the gradient."""
        xp = namespace(W)
        self.steps += 1
        gradient += self.weight_decay * W
        self.mean *= FIRST
        self.mean += (1 - FIRST) * gradient
        gradient *= gradient
        gradient *= 1 - SECOND
        self.square *= SECOND
        self.square += gradient
        size = xp.sqrt(self.square)
        size /= math.sqrt(1 - SECOND**self.steps)
        size += EPSILON
        size *= 1 - FIRST**self.steps
        return self.mean / size
