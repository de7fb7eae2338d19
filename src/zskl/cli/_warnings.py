"""What the library logs or warns of during a command: each sentence is shown once, when any bars are gone."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zskl.cli._terminal import note


class _Collector(logging.Handler):
    """Counts sentences."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        self.counts[record.getMessage()] += 1

    def count_warning(self, message: Warning | str, *where: Any, **more: Any) -> None:
        """In place of `warnings.showwarning`."""
        self.counts[str(message)] += 1


@contextmanager
def collect_messages() -> Iterator[None]:
    """Hold back log messages and warnings of this block, also of workers; show each once at its end, with a count."""
    from zskl.engines import capture_logs

    collector = _Collector()
    try:
        with capture_logs(collector), warnings.catch_warnings():
            warnings.showwarning = collector.count_warning
            yield
    finally:
        for sentence, times in collector.counts.items():
            note(sentence if times == 1 else f"{sentence} ({times} times)")


@contextmanager
def collect_warnings() -> Iterator[None]:
    """Hold back warnings of this block, and show each once at its end, however often it came."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
    finally:
        for sentence in dict.fromkeys(str(warning.message) for warning in caught):
            note(sentence)
