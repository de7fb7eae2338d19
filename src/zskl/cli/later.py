"""Commands that are imported when somebody asks for them: `zskl --help` needs only their names and one line of each."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from zskl.cli.everywhere import Command, Group, offered
from zskl.cli.listing import COMMANDS, DATA_COMMANDS, Entry


class Later(TyperCommand):
    """Stands in a group for a command; whoever calls it, or asks for its help or its options, gets the command."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.name, help=entry.summary)
        self.entry = entry

    def command(self) -> Any:
        """The command itself."""
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(self.name, cls=Command)(offered(self.entry.function()))
        return typer.main.get_command(alone)

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Called before anything else is done with a command of a group."""
        return self.command().make_context(*given, **more)


class Listing(Group):
    """A group with the commands of a list."""

    entries: tuple[Entry, ...] = ()

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {**{one.name: Later(one) for one in self.entries}, **self.commands}


class Main(Listing):
    """`zskl`."""

    entries = COMMANDS


class Data(Listing):
    """`zskl data`."""

    entries = DATA_COMMANDS
