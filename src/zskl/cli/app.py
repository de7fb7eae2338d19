"""The application, its two consoles, and what becomes of an error: one sentence and exit code 2.

ZSKL_DEBUG=1 in the environment shows the traceback instead.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from zskl.cli import signals
from zskl.version import __version__

app = typer.Typer(
    help="Zero-shot kernel learning: recognise classes nobody has trained on, from a description of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
console = Console()
problems = Console(stderr=True)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        say(f"zskl {__version__}")
        raise typer.Exit()


def say(sentence: str) -> None:
    """Plain text to standard output: no markup, no wrapping."""
    console.print(escape(sentence), highlight=False, soft_wrap=True)


def progress_display() -> Progress:
    """Bars on standard error that vanish when done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=problems, transient=True)


def main() -> None:
    """The entry point: what a user can mend is told in one sentence."""
    signals.heed()
    try:
        app()
    except (ValueError, TypeError, ArithmeticError, OSError, MemoryError, RuntimeError) as error:
        if os.environ.get("ZSKL_DEBUG"):
            raise
        fail(str(error) or type(error).__name__, 2)
    except signals.STOPS as stop:
        fail(*signals.told(stop))


def fail(sentence: str, code: int) -> NoReturn:
    problems.print(f"[bold red]error:[/] {escape(sentence)}", highlight=False, soft_wrap=True)
    sys.exit(code)
