"""`kill PID` and a closed terminal end a command as Ctrl-C does: it stops its workers and says how to continue."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")  # Windows has the last in place of the second
SIGNALS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


class Ended(SystemExit):
    """By a signal; the exit code is 128 + its number, as in a shell."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


STOPS = (KeyboardInterrupt, Ended)  # what a command catches that can be continued


def raise_on_end_signals() -> None:
    """Raise `Ended` in the main thread on the first such signal; a second one ends the process at once.

    A signal that is ignored, as after `nohup`, or that a caller handles, is left alone.
    """
    for number in SIGNALS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    for other in SIGNALS:
        if signal.getsignal(other) is _end:
            signal.signal(other, signal.SIG_DFL)
    raise Ended(number)


def describe_stop(stop: BaseException) -> tuple[str, int]:
    """What ended a command, in words, and its exit code."""
    if isinstance(stop, Ended):
        return f"ended by {signal.Signals(stop.number).name}", 128 + stop.number
    return "interrupted", 130
