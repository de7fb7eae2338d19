"""The shapes that steps are measured at, made-up rows of these shapes, and how a ratio of times is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SHAPES = {"AWA1": (40, 85), "CUB": (150, 312), "SUN": (645, 102)}  # classes C, attributes p
FEATURES, BATCH, ROWS = 2048, 10, 2000


@dataclass(frozen=True)
class Problem:
    """Scaled rows X (N, d), signatures Y (C, p), codes (N,), a projection W (d, p): float32, from one seed."""

    X: Any
    Y: Any
    codes: Any
    W: Any


def problem(C: int, p: int, d: int = FEATURES, rows: int = ROWS, seed: int = 0) -> Problem:
    """Rows near their class: W of a plausible size, so that kernels are neither 0 nor 1."""
    rng = np.random.default_rng(seed)
    Y = _unit(rng.standard_normal((C, p)))
    codes = rng.integers(0, C, size=rows)
    X = _unit(Y[codes] @ rng.standard_normal((p, d)) / p**0.5 + 0.5 * rng.standard_normal((rows, d)))
    W = rng.standard_normal((d, p)) / d**0.5
    return Problem(X.astype(np.float32), Y.astype(np.float32), codes, W.astype(np.float32))


def _unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def times(ways: Mapping[str, Callable[[int], object]], steps: int = 50, rounds: int = 15) -> dict[str, float]:
    """Seconds a step of each way, which runs as many steps as it is told.

    The ways take turns, so that a busy moment of the machine meets all of them; the median over the rounds is kept.
    """
    for way in ways.values():
        way(steps)
    seen: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            way(steps)
            seen[name].append((time.perf_counter() - began) / steps)
    return {name: float(np.median(found)) for name, found in seen.items()}
