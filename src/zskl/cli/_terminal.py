"""Standard output and standard error: results go to the first, remarks, errors and progress to the second.

Also what a terminal lacks (letters, room) and what becomes of a command whose reader has gone.
"""

from __future__ import annotations

import codecs
import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from rich.console import Console
from rich.text import Text

READER_GONE = 141  # the exit code of a program whose reader has gone: 128 + SIGPIPE

# What a terminal without these signs shows in their place; "?" for any other.
PLAIN = {"×": "x", "±": "+-", "–": "-", "−": "-", "…": "...", "·": ".", "→": "->", "≥": ">=", "≤": "<=", "’": "'"}

errors = Console(stderr=True)  # one for all, because lines are printed above the bars of the same console
_quiet: list[bool] = [False]  # the last is what the command that runs was given


class _Output(Console):
    """Standard output."""

    def on_broken_pipe(self) -> NoReturn:
        # Rich would end the process with exit code 1; `read_to_the_end` decides.
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def open_output(width: int | None = None) -> Console:
    """Standard output as a console. A new one each time, because Rich reads COLUMNS only when a console is made."""
    return _Output(width=width)


@contextmanager
def loudness(verbose: bool, quiet: bool) -> Iterator[None]:
    """How much is said in this block: if `quiet`, only results and errors; if `verbose`, also what the library logs."""
    logger, handler = logging.getLogger("zskl"), _LogPrinter()
    before = logger.level
    _quiet.append(quiet)
    if verbose:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        _quiet.pop()
        logger.removeHandler(handler)
        logger.setLevel(before)


class _LogPrinter(logging.Handler):
    """Prints what the library logs. Warnings are left to `_warnings` while it collects them."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING or logging.getLogger("zskl").propagate:
            line = f"{record.relativeCreated / 1000:7.2f} s  {record.getMessage()}"
            errors.print(Text(line, style="dim"), soft_wrap=True)


def is_quiet() -> bool:
    """Whether the command that runs was told to be quiet."""
    return _quiet[-1]


def shows_progress() -> bool:
    """Whether there is somebody to see a bar."""
    return errors.is_terminal and not is_quiet()


def say(sentence: str, wrapped: bool = False) -> None:
    """Write plain text to standard output. Only where asked, and on a terminal, are lines broken between words."""
    output = open_output()
    output.print(Text(sentence), soft_wrap=not (wrapped and output.is_terminal))


def mention(sentence: str, wrapped: bool = False) -> None:
    """The same for what is not a result, such as the name of a file that was written: --quiet leaves it out."""
    if not is_quiet():
        say(sentence, wrapped)


def note(sentence: str) -> None:
    """Write a remark to standard error; --quiet leaves it out."""
    if not is_quiet():
        errors.print(Text.assemble(("note:", "yellow"), f" {sentence}"), soft_wrap=True)


def complain(sentence: str) -> None:
    """Say what went wrong, without stopping."""
    errors.print(Text.assemble(("error:", "bold red"), f" {sentence}"), soft_wrap=True)


def fail(sentence: str, code: int) -> NoReturn:
    """Say what went wrong, and stop with this exit code."""
    complain(sentence)
    sys.exit(code)


def replace_unencodable() -> None:
    """Write "x" for ×, and "?" for a letter that the terminal's encoding lacks, in place of an error.

    Where standard output is closed, as by `>&-`, nothing is written.
    """
    codecs.register_error("zskl", _replace)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="zskl")


def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start]
    if "\udc80" <= sign <= "\udcff":  # a byte of a file's name that is not text: Python's surrogateescape
        return bytes([ord(sign) - 0xDC00]), error.start + 1
    return PLAIN.get(sign, "?"), error.start + 1


@contextmanager
def read_to_the_end() -> Iterator[None]:
    """Leave without a word when the reader of standard output has gone, as in `zskl methods | head -1`."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # Windows says EINVAL for a pipe that nobody reads.
        if error.errno not in (errno.EPIPE, errno.EINVAL, errno.ENOSPC) or not _is_stuck():
            raise
        with suppress(OSError, ValueError):  # so that Python does not try again when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.ENOSPC:
            raise OSError("cannot write to standard output: the disk is full; make room there") from None
        sys.exit(READER_GONE)


def _is_stuck() -> bool:
    """Whether standard output takes nothing more, rather than some other file or pipe."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False
