"""What the command line says, and where: answers on standard output, the rest on standard error."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape


class Terminal(Console):
    """Rich's console, which leaves it to the command what to do when nobody reads any more."""

    def print(self, *objects: Any, **how: Any) -> None:
        """The same. What could not be written is not written with the next words either."""
        try:
            super().print(*objects, **how)
        except BaseException:
            del self._buffer[:]
            raise

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


console = Terminal()
problems = Terminal(stderr=True)
_QUIET: list[bool] = [False]  # the last is what the command that runs was told


@contextmanager
def loudness(verbose: bool, quiet: bool) -> Iterator[None]:
    """How much is said in this block: if `quiet`, only results and errors; if `verbose`, also what the library logs."""
    logger, handler = logging.getLogger("zskl"), Told()
    before = logger.level
    _QUIET.append(quiet)
    if verbose:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        _QUIET.pop()
        logger.removeHandler(handler)
        logger.setLevel(before)


class Told(logging.Handler):
    """Tells what the library logs, above any bars. Warnings are left to whoever collects them in the meantime."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING or logging.getLogger("zskl").propagate:
            clock = f"{record.relativeCreated / 1000:7.2f} s  "
            problems.print(escape(clock + record.getMessage()), highlight=False, soft_wrap=True, style="dim")


def is_quiet() -> bool:
    """Whether the command that runs was told to be quiet."""
    return _QUIET[-1]


def shows_progress() -> bool:
    """Whether there is somebody to see a bar."""
    return problems.is_terminal and not is_quiet()


def say(sentence: str, wrapped: bool = False) -> None:
    """Plain text to standard output: no markup. Only where asked, and on a terminal, are lines broken between words."""
    console.print(escape(sentence), highlight=False, soft_wrap=not (wrapped and console.is_terminal))


def mention(sentence: str, wrapped: bool = False) -> None:
    """The same for what is not a result, such as the name of a file that was written: --quiet leaves it out."""
    if not is_quiet():
        say(sentence, wrapped)


def note(sentence: str) -> None:
    """A remark to standard error; --quiet leaves it out."""
    if not is_quiet():
        problems.print(f"[yellow]note:[/] {escape(sentence)}", highlight=False, soft_wrap=True)


def complain(sentence: str) -> None:
    """Say what went wrong, without stopping."""
    problems.print(f"[bold red]error:[/] {escape(sentence)}", highlight=False, soft_wrap=True)


def fail(sentence: str, code: int) -> NoReturn:
    """Say what went wrong, and stop with this exit code."""
    complain(sentence)
    sys.exit(code)
