"""What the command line says, and where: answers on standard output, the rest on standard error."""

from __future__ import annotations

import sys
from typing import NoReturn

from rich.console import Console
from rich.markup import escape

console = Console()
problems = Console(stderr=True)


def say(sentence: str) -> None:
    """Plain text to standard output: no markup, no wrapping."""
    console.print(escape(sentence), highlight=False, soft_wrap=True)


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
