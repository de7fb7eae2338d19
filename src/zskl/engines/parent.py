"""A worker process that ends with the process that started it, however that one ended."""

from __future__ import annotations

import os
import threading
import time

LOOK = 0.5  # seconds between two looks


def watch(parent: int) -> None:
    """In a new worker, before its first task: end it at once when `parent` is gone. Files are written whole or not at
    all, so nothing half-written stays. Does nothing on Windows, which does not tell of a parent that has ended."""
    if os.name == "posix":
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:  # a process whose parent ends gets another one
        time.sleep(LOOK)
    os._exit(1)
