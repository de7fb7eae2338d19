"""All commands, and what becomes of an error.

A mistake of the user becomes one sentence and exit code 2; ZSKL_DEBUG=1 in the environment shows its traceback instead.
A mistake in our code shows its traceback.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import typer

from zskl.cli import (
    catalogue,
    compare,
    embed,
    expect,
    explain,
    export,
    fetch,
    label,
    model,
    own,
    paper,
    report,
    run,
    serve,
    signals,
    teach,
    words,
)
from zskl.cli.everywhere import Command, Group, offered
from zskl.cli.streams import forgive_letters
from zskl.cli.terminal import fail, say
from zskl.version import __version__

COMMANDS: tuple[Callable[..., None], ...] = (
    *(run.run, compare.compare, report.report, expect.expect, model.fit, model.predict, teach.teach, teach.adapt),
    *(
        label.label_next,
        explain.explain,
        export.export,
        serve.serve,
        paper.paper,
        catalogue.methods,
        catalogue.datasets,
    ),
)
DATA_COMMANDS: tuple[Callable[..., None], ...] = (fetch.fetch, embed.embed, words.words, own.make, own.check)


app = typer.Typer(
    cls=Group,
    help="Zero-shot kernel learning: recognise classes without a training example, from a description of each.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
data_app = typer.Typer(cls=Group, help="Get, make and check data.", no_args_is_help=True)
for command in COMMANDS:
    app.command(cls=Command)(offered(command))
for command in DATA_COMMANDS:
    data_app.command(cls=Command)(offered(command))
app.add_typer(data_app, name="data")


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
        from zskl.engines.engine import can_be_mended

        if os.environ.get("ZSKL_DEBUG") or not can_be_mended(error):
            raise
        fail(str(error) or type(error).__name__, 2)


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind this error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
