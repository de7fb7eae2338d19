"""Ctrl-C while Python is still importing: nothing has been done yet, so leave at once.

A KeyboardInterrupt would rise in the middle of somebody else's module. That module may swallow it, turn it into another
error, or print its traceback. So no exception is raised until a command has all that it needs.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def begin() -> None:
    """From here on, Ctrl-C ends the process with exit code 130. A caller's own way with the signal is left alone."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def over() -> None:
    """From here on, Ctrl-C is a KeyboardInterrupt again. A command calls this when its imports are done."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"error: interrupted\n")
    os._exit(130)
