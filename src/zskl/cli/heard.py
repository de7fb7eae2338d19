"""What the library logs or warns of during a command: each sentence once, when the display is gone."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zskl.cli.terminal import note
from zskl.engines import capture_logs


class Once(logging.Handler):
    """Counts sentences."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        self.counts[record.getMessage()] += 1

    def warned(self, message: Warning | str, *where: Any, **more: Any) -> None:
        """In place of `warnings.showwarning`."""
        self.counts[str(message)] += 1

    def tell(self) -> None:
        for sentence, times in self.counts.items():
            note(sentence if times == 1 else f"{sentence} ({times} times)")


@contextmanager
def told_once() -> Iterator[None]:
    """Hold back what is said in this block, also by workers, and tell each sentence once at its end."""
    once = Once()
    try:
        with capture_logs(once), warnings.catch_warnings():
            warnings.showwarning = once.warned
            yield
    finally:
        once.tell()


@contextmanager
def noted() -> Iterator[None]:
    """Tell what the library warns of in this block as notes, each once, at its end."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
    finally:
        for sentence in dict.fromkeys(str(warning.message) for warning in caught):
            note(sentence)
