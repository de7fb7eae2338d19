"""What a task on a worker logs or warns of travels back with its result, and is said again in the asking process.

A worker writes to nobody's log. Many workers would say the same thing many times, past any display.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

LIBRARY = "zskl"  # the logger above all of ours
_LOCK = threading.Lock()
_LISTENERS: list[Any] = []  # whether the logger passed on what it said before, then all who listen now


@dataclass(frozen=True)
class Remark:
    """A line of a log, or a warning of the given category."""

    text: str
    logger: str = LIBRARY
    level: int = logging.WARNING
    category: type[Warning] | None = None


class Listener(logging.Handler):
    """Keeps what our loggers say, from warnings upwards, and keeps it from anybody else."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[Remark] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:  # other tasks may run beside this one
            self.heard.append(Remark(record.getMessage(), record.name, record.levelno))


@contextmanager
def listening(listener: logging.Handler) -> Iterator[None]:
    """What our loggers say in this block goes to the listener alone."""
    logger = logging.getLogger(LIBRARY)
    with _LOCK:
        if not _LISTENERS:
            _LISTENERS.append(logger.propagate)
        _LISTENERS.append(listener)
        logger.propagate = False
        logger.addHandler(listener)
    try:
        yield
    finally:
        with _LOCK:
            logger.removeHandler(listener)
            _LISTENERS.remove(listener)
            if len(_LISTENERS) == 1:
                logger.propagate = bool(_LISTENERS.pop())


def heard(function: Any, shared: Any, task: Any) -> tuple[Any, Sequence[Remark]]:
    """Call it on a worker: what it returns, and each thing it remarked once.

    Python cannot keep the warnings of threads apart, so those of a cluster's threads stay there.
    """
    listener = Listener()
    alone = threading.current_thread() is threading.main_thread()
    with listening(listener), warnings.catch_warnings(record=True) if alone else nullcontext() as warned:
        value = function(shared, task)
    listener.heard += [Remark(str(one.message), category=one.category) for one in warned or ()]
    return value, tuple(dict.fromkeys(listener.heard))


def repeat(remarks: Sequence[Remark]) -> None:
    """Say them here."""
    for one in remarks:
        if one.category is None:
            logging.getLogger(one.logger).log(one.level, "%s", one.text)
        else:
            warnings.warn(one.text, one.category, stacklevel=4)
