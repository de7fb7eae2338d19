"""Loops in machine code, by numba where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(loop: Callable[..., Any], sums_in_any_order: bool = False) -> Any:
    """The function as machine code, kept on disk for the next process; None without numba.

    Operations stay as they are written, but for the order of sums where that is allowed: it lets several be made at
    once. What is not a number or infinite stays so.
    """
    try:
        import numba
    except ImportError:
        return None
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc"} if sums_in_any_order else False}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError:  # no folder to keep it in
        return numba.njit(**options)(loop)
