"""The command line: arguments → one call. No logic.

A user's mistake becomes one sentence and exit code 2; ZSKL_DEBUG=1 in the environment shows its traceback instead.
A mistake in our code shows its traceback.
"""

import functools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from zskl.cli import _options, data, inference, learning, paper, runs
from zskl.cli._terminal import (
    STOPS,
    fail,
    fail_on_stop,
    loudness,
    raise_on_end_signals,
    read_to_the_end,
    replace_unencodable,
    say,
)
from zskl.version import __version__

__all__ = ["app", "main"]

# Command files import Typer and Rich at their top and anything heavier inside commands, so that help is quick.
# Help lists commands in this order, in two panels; `zskl data` comes first.
EVERYDAY = (
    learning.fit,
    inference.predict,
    inference.explain,
    learning.teach,
    learning.adapt,
    learning.label_next,
    inference.serve,
    runs.expect,
    runs.report,
    inference.export,
)
RESEARCH = (runs.run, runs.compare, paper.paper, runs.methods, runs.datasets)
COMMANDS = (*EVERYDAY, *RESEARCH)
DATA_COMMANDS = (data.make, data.check, data.embed, data.words, data.fetch)
DAILY_PANEL, RESEARCH_PANEL = "Everyday commands", "Commands for research"
PATHS = ("backbone", "data", "dataset", "labels", "path", "signatures")  # text that may be the path of a file or folder
TYPES = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "path": "PATH", "file": "PATH", "dir": "PATH", "bool": ""}
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Say more: sizes, choices and times, as they come.", rich_help_panel=_options.ALWAYS
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say less: results and errors only.", rich_help_panel=_options.ALWAYS)
]


def describe_type(kind: str) -> str:
    """Typer's name of a type, which is Python's, in everyday words.

    >>> describe_type("<list[str]>"), describe_type("<int range>"), describe_type("<zsl|gzsl>")
    ('TEXT', 'NUMBER', 'zsl|gzsl')
    """
    bare = re.sub(r"^<(list\[)?|( range)?\]?>$", "", kind)
    return TYPES.get(bare.lower(), bare)


class _PlainTypes:
    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            usual = getattr(one, "display_type", None)  # older versions of Typer use other words, and have none
            if usual is not None and "display_type" not in vars(one):
                one.display_type = lambda ctx, usual=usual: describe_type(usual(ctx))
            if one.name == "help" and not isinstance(self, TyperGroup):
                one.rich_help_panel = _options.ALWAYS
        return params

    def make_context(self, *args: Any, **more: Any) -> Any:
        try:
            return super().make_context(*args, **more)  # type: ignore[misc]
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # newer versions of Typer begin with it
            raise


class Command(_PlainTypes, TyperCommand):
    """A command whose help calls values TEXT, NUMBER or PATH."""


class Group(_PlainTypes, TyperGroup):
    """The same of a group of commands. Groups in it come before its commands; Typer would list them last."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: not isinstance(self.commands[name], TyperGroup))


def add_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with --verbose and --quiet, with ~ as the home folder in every path, and with its way to end."""

    @functools.wraps(command)
    def call(*, verbose: bool, quiet: bool, **given: Any) -> None:
        if verbose and quiet:
            raise ValueError("--verbose and --quiet were both given: leave one of them out")
        try:
            with read_to_the_end(), loudness(verbose, quiet):
                command(**{name: expand_home(value, name in PATHS) for name, value in given.items()})
        except STOPS as stop:
            fail_on_stop(stop)

    _options.add_options(call, command, verbose=(False, Verbose), quiet=(False, Quiet))
    return call


def expand_home(value: Any, text_too: bool = False) -> Any:
    """A path, or each of a list of paths, with the home folder in place of ~; text only if it may be a path."""
    if isinstance(value, list):
        return [expand_home(one, text_too) for one in value]
    if isinstance(value, Path):
        return value.expanduser()
    if not text_too or not isinstance(value, str):
        return value
    kind = "onnx:" if value.startswith("onnx:") else ""
    return kind + os.path.expanduser(value.removeprefix(kind))


app = typer.Typer(
    cls=Group,
    help="Zero-shot kernel learning: recognise classes without a training example, from a description of each.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
data_app = typer.Typer(cls=Group, help="Get, make and check data.", no_args_is_help=True)
app.add_typer(data_app, name="data", rich_help_panel=DAILY_PANEL)
for group, commands, panel in (
    (app, EVERYDAY, DAILY_PANEL),
    (app, RESEARCH, RESEARCH_PANEL),
    (data_app, DATA_COMMANDS, None),
):
    for one in commands:
        # each option of a service can be set in the environment, too: ZSKL_PORT
        about = {"auto_envvar_prefix": "ZSKL"} if one is inference.serve else {}
        group.command(cls=Command, rich_help_panel=panel, context_settings=about)(add_common_options(one))


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        say(f"zskl {__version__}")
        raise typer.Exit()


def main() -> None:
    """Run the command that the arguments name."""
    replace_unencodable()
    raise_on_end_signals()
    try:
        app()
    except STOPS as stop:
        fail_on_stop(stop)
    except Exception as error:
        from zskl.engines import is_user_error

        if os.environ.get("ZSKL_DEBUG") or not is_user_error(error):
            raise
        fail(str(error) or type(error).__name__, 2)
