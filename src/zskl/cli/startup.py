"""Ctrl-C, or another signal to end, while Python still imports: nothing has been done yet, so leave at once.

An exception would be raised in the middle of somebody else's module. That module may swallow it, turn it into another
error, or print its traceback. So no exception is raised until a command has all that it needs.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

from zskl.cli import signals


def begin() -> None:
    """From here on, a signal to end does so at once, with exit code 128 + its number; 130 for Ctrl-C.

    A signal that is ignored, or that a caller handles, is left alone.
    """
    for number in (signal.SIGINT, *signals.SIGNALS):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _leave)


def over() -> None:
    """From here on, Ctrl-C is a KeyboardInterrupt again, and others are `Ended`: a command has made its imports."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in signals.SIGNALS:
        if signal.getsignal(number) is _leave:
            signals.heed(number)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    sentence, code = signals.told(KeyboardInterrupt() if number == signal.SIGINT else signals.Ended(number))
    os.write(2, f"error: {sentence}\n".encode())
    os._exit(code)
