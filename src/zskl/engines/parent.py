"""A worker process that ends when the process that started it has ended, in any way."""

from __future__ import annotations

import os
import signal
import threading
import time

LOOK = 0.5  # seconds between two looks


def watch(parent: int) -> None:
    """Called in a new worker: ends it at once when the process `parent` is gone. Files are written whole or not at all,
    so nothing half-written stays.

    Windows does not report that a parent has ended: there a worker ends when it next asks for a task. And Ctrl-C goes
    to workers too: they ignore it, since the process that started them ends them.
    """
    if os.name == "posix":
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:  # a process whose parent ends gets another one
        time.sleep(LOOK)
    os._exit(1)
