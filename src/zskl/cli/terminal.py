"""What the command line says, and where: answers on standard output, the rest on standard error."""

from __future__ import annotations

import io
import sys
from typing import NoReturn

from rich.console import Console
from rich.markup import escape

console = Console()
problems = Console(stderr=True)


def forgive_letters() -> None:
    """Write "?" for a letter that the terminal's encoding lacks, such as σ in Windows' cp1252, in place of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def say(sentence: str, wrapped: bool = False) -> None:
    """Plain text to standard output: no markup. Only where asked, and on a terminal, are lines broken between words."""
    console.print(escape(sentence), highlight=False, soft_wrap=not (wrapped and console.is_terminal))


def note(sentence: str) -> None:
    """A remark to standard error."""
    problems.print(f"[yellow]note:[/] {escape(sentence)}", highlight=False, soft_wrap=True)


def complain(sentence: str) -> None:
    """Say what went wrong, without stopping."""
    problems.print(f"[bold red]error:[/] {escape(sentence)}", highlight=False, soft_wrap=True)


def fail(sentence: str, code: int) -> NoReturn:
    """Say what went wrong, and stop with this exit code."""
    complain(sentence)
    sys.exit(code)
