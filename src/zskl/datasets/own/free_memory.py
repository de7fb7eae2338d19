"""Memory that is free, but that the libraries of this process keep for later."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Let the system have it, as far as the libraries can; call it after work that made many small blocks.

    The C library of Linux keeps pages between blocks that are in use, and Arrow, through which pandas reads texts, a
    pool. Elsewhere nothing happens.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:  # glibc has it, other C libraries do not
        trim(0)
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
