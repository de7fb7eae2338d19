"""Standard output and error as they come: letters that they lack, a reader who has gone, no room."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HUNG_UP = 141  # the exit code of a program whose reader has gone: 128 + SIGPIPE

# What a terminal without these signs shows in their place; "?" for any other.
PLAIN = {"×": "x", "±": "+-", "–": "-", "−": "-", "…": "...", "·": ".", "→": "->", "≥": ">=", "≤": "<=", "’": "'"}


def forgive_letters() -> None:
    """Write "x" for ×, and "?" for a letter that the terminal's encoding lacks, in place of an error.

    Where standard output is closed, as by `>&-`, nothing is written.
    """
    codecs.register_error("zskl", _replaced)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="zskl")


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start]
    if "\udc80" <= sign <= "\udcff":  # a byte of a file's name that is not text
        return bytes([ord(sign) - 0xDC00]), error.start + 1
    return PLAIN.get(sign, "?"), error.start + 1


@contextmanager
def read_to_the_end() -> Iterator[None]:
    """Leave without a word when the reader of standard output has gone, as in `zskl methods | head -1`."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EINVAL, errno.ENOSPC) or not _is_stuck():
            raise
        with suppress(OSError, ValueError):  # so that Python does not try again when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.ENOSPC:
            raise OSError("cannot write to standard output: the disk is full; make room there") from None
        sys.exit(HUNG_UP)


def _is_stuck() -> bool:
    """Whether standard output takes nothing more, rather than some other file or pipe."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False
