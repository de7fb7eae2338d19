"""The page of the command line, from its own declarations: every command with all its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

TITLE = """# Command line

`zskl COMMAND --help` says the same in a terminal. [The command line](../command-line.md) tells what all commands share.
"""
EXTRA = re.compile(r"\s*\[((?:default|required|env var|\d|x)[^\]]*)\]$")


def text() -> str:
    """The page, in Markdown."""
    from zskl.cli import app

    return "\n".join([TITLE, *_commands(typer.main.get_command(app), "zskl")])


def _commands(group: Any, program: str) -> Iterator[str]:
    for name, command in group.commands.items():
        path = f"{program} {name}"
        if hasattr(command, "commands"):
            yield from _commands(command, path)
        else:
            yield _command(command, path)


def _command(command: Any, path: str) -> str:
    context = command.context_class(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    lines = [f"## `{path}`", "", _markdown(command.help or ""), "", "```text", usage, "```", ""]
    entries: dict[str, list[str]] = {"argument": [], "option": []}
    for one in command.get_params(context):
        record = one.get_help_record(context)  # what is hidden has none
        if record and one.name != "help":
            names, about = record
            entries[one.param_type_name].append(_entry(names if names[0] == "-" else names.split()[0], about))
    for kind, found in entries.items():
        lines += [f"**{kind.capitalize()}s**", "", *found] if found else []
    return "\n".join(lines)


def _entry(names: str, about: str) -> str:
    """What `--help` prints in a line; the default and the like stand at its end."""
    found = EXTRA.search(about)
    about = _markdown(about[: found.start()] if found else about).replace("\n", " ")
    extra = found[1].replace("x>=", "at least ") if found else ""
    return f"`{names}`\n: {about}{f' *({extra})*' if extra else ''}\n"


def _markdown(text: str) -> str:
    """Rich's bold text, which here is always code, as code; options too."""
    text = re.sub(r"\[b\](.*?)\[/b\]", r"`\1`", text, flags=re.DOTALL)
    text = re.sub(r"(`[^`]*`)|((?<!\w)--?[a-z][\w-]*)", lambda found: found[1] or f"`{found[2]}`", text)
    return "\n".join(line.strip() for line in text.strip().splitlines())
