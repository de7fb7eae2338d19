"""The list of commands says what they say themselves, and a command is imported only when somebody asks for it."""

import errno
import inspect
import io
import os
import subprocess
import sys

import pytest
import typer

from command import zskl
from zskl import __version__
from zskl.cli import app, main
from zskl.cli.later import Later
from zskl.cli.listing import COMMANDS, DATA_COMMANDS

EVERY = (*COMMANDS, *DATA_COMMANDS)

LOOK = """
import contextlib, io, sys
from zskl.cli import main
sys.argv[0] = "zskl"
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
sys.stdout.write(" ".join(sorted(sys.modules)))
"""


def imported(*arguments, **variables):
    """The modules that the command line has imported when it ends; what it says is dropped."""
    line = [sys.executable, "-c", LOOK, *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=True, env={**os.environ, **variables})
    return set(done.stdout.split())


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.home)
def test_the_line_in_the_list_is_the_first_paragraph_of_the_help(entry):
    first = inspect.getdoc(entry.function()).split("\n\n")[0]
    assert entry.summary == " ".join(first.split())


def test_a_command_has_its_options_once_it_is_asked_for():
    group = typer.main.get_command(app)
    assert list(group.commands) == [*(one.name for one in COMMANDS), "data"]
    assert list(group.commands["data"].commands) == [one.name for one in DATA_COMMANDS]
    later = group.commands["label-next"]
    assert isinstance(later, Later)
    assert later.params == []
    context = later.make_context("label-next", ["model", "rows"])
    assert context.command.name == "label-next"
    assert {"model", "features", "strategy", "quiet"} <= {one.name for one in context.command.params}


def of(package, modules):
    return {name for name in modules if name == package or name.startswith(f"{package}.")}


FILES = {f"zskl.cli.{one.home.partition('.')[0]}" for one in EVERY}


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["--help"], set()),
        (["data", "--help"], set()),
        (["nonsense"], set()),
        (["label-next", "--help"], {"zskl.cli.label"}),
        (["data", "check", "--help"], {"zskl.cli.own"}),
    ],
    ids=" ".join,
)
def test_help_imports_the_one_command_and_nothing_to_draw_what_it_has_not(arguments, files):
    modules = imported(*arguments)
    assert FILES & modules == files
    assert [of(one, modules) for one in ("rich.markdown", "rich.traceback", "markdown_it", "pygments")] == [set()] * 4
    assert "typer.rich_utils" in modules  # which draws it


def test_the_tab_key_imports_the_one_command_and_nothing_that_draws():
    asked = {"_ZSKL_COMPLETE": "complete_bash", "COMP_WORDS": "zskl run digits --method c", "COMP_CWORD": "4"}
    modules = imported(**asked)
    assert FILES & modules == {"zskl.cli.run"}
    assert "rich.console" not in modules


def test_the_version_imports_nothing():
    modules = imported("--version")
    assert of("zskl", modules) == {"zskl", "zskl.cli", "zskl.version"}
    assert of("typer", modules) | of("rich", modules) == set()
    assert zskl("--version").stdout == f"zskl {__version__}\n"


def test_a_version_that_cannot_be_written_is_told_as_any_error():
    class Full(io.StringIO):
        def flush(self):
            raise OSError(errno.ENOSPC, "no room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", Full())
        patch.setattr(sys, "argv", ["zskl", "--version"])
        with pytest.raises(SystemExit) as stop:
            main()
    assert stop.value.code == 2
