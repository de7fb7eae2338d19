"""The command line itself, and what becomes of an error.

A mistake of the user becomes one sentence and exit code 2; ZSKL_DEBUG=1 in the environment shows its traceback instead.
A mistake in our code shows its traceback.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from zskl.cli import drawing, signals
from zskl.cli.later import Data, Main
from zskl.cli.streams import forgive_letters
from zskl.cli.terminal import fail, say
from zskl.version import __version__

drawing.defer()
app = typer.Typer(
    cls=Main,
    help="Zero-shot kernel learning: recognise classes without a training example, from a description of each.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(typer.Typer(cls=Data, help="Get, make and check data.", no_args_is_help=True), name="data")


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        say(f"zskl {__version__}")
        raise typer.Exit()


def start() -> None:
    """Run the command that the arguments name; what a user can mend is told in one sentence."""
    forgive_letters()
    try:
        app()
    except signals.STOPS as stop:
        fail(*signals.told(stop))
    except (ImportError, SystemError) as error:  # what compiled modules make of Ctrl-C while they are imported
        if not _interrupted(error):
            raise
        fail("interrupted", 130)
    except Exception as error:
        from zskl.engines import is_user_error

        if os.environ.get("ZSKL_DEBUG") or not is_user_error(error):
            raise
        fail(str(error) or type(error).__name__, 2)


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind this error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
