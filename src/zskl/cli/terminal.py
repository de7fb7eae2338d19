"""What the command line says, and where: answers on standard output, the rest on standard error.

Rich is imported when a command runs or something is said: the TAB key has to be answered at once, and needs none of it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

_QUIET: list[bool] = [False]  # the last is what the command that runs was told


@contextmanager
def loudness(verbose: bool, quiet: bool) -> Iterator[None]:
    """How much is said in this block: if `quiet`, only results and errors; if `verbose`, also what the library logs."""
    from zskl.cli import consoles  # noqa: F401 (before the command says that start-up is over)

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
            from zskl.cli.consoles import escape, problems

            clock = f"{record.relativeCreated / 1000:7.2f} s  "
            problems.print(escape(clock + record.getMessage()), highlight=False, soft_wrap=True, style="dim")


def is_quiet() -> bool:
    """Whether the command that runs was told to be quiet."""
    return _QUIET[-1]


def shows_progress() -> bool:
    """Whether there is somebody to see a bar."""
    from zskl.cli.consoles import problems

    return problems.is_terminal and not is_quiet()


def say(sentence: str, wrapped: bool = False) -> None:
    """Plain text to standard output: no markup. Only where asked, and on a terminal, are lines broken between words."""
    from zskl.cli.consoles import console, escape

    console.print(escape(sentence), highlight=False, soft_wrap=not (wrapped and console.is_terminal))


def mention(sentence: str, wrapped: bool = False) -> None:
    """The same for what is not a result, such as the name of a file that was written: --quiet leaves it out."""
    if not is_quiet():
        say(sentence, wrapped)


def note(sentence: str) -> None:
    """A remark to standard error; --quiet leaves it out."""
    if not is_quiet():
        _remark("[yellow]note:[/]", sentence)


def complain(sentence: str) -> None:
    """Say what went wrong, without stopping."""
    _remark("[bold red]error:[/]", sentence)


def fail(sentence: str, code: int) -> NoReturn:
    """Say what went wrong, and stop with this exit code."""
    complain(sentence)
    sys.exit(code)


def _remark(kind: str, sentence: str) -> None:
    from zskl.cli.consoles import escape, problems

    problems.print(f"{kind} {escape(sentence)}", highlight=False, soft_wrap=True)
