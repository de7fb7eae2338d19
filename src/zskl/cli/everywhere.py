"""What every command has: --quiet and --verbose, ~ for your home folder, and help in plain words."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from zskl.cli.streams import read_to_the_end
from zskl.cli.terminal import loudness

PATHS = ("backbone", "data", "dataset", "labels", "path", "signatures")  # text that may be the path of a file or folder
WORDS = (  # for types of values, which Typer names as Python does
    (re.compile(r"<(list\[)?(str|text)\]?>", re.IGNORECASE), "TEXT"),
    (re.compile(r"<(list\[)?(int|float)( range)?\]?>", re.IGNORECASE), "NUMBER"),
    (re.compile(r"<(list\[)?(path|file|dir(ectory)?)\]?>", re.IGNORECASE), "PATH"),
    (re.compile(r"<bool>", re.IGNORECASE), ""),
    (re.compile(r"<(list\[)?([^<>\[\]]+)\]?>"), r"\2"),
)
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more: sizes, choices and times, as they come.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say less: results and errors only.")]


class Command(TyperCommand):
    """A command whose help calls values TEXT, NUMBER or PATH."""

    def get_params(self, ctx: Any) -> Any:
        return [in_words(one) for one in super().get_params(ctx)]


class Group(TyperGroup):
    """A group whose flags are off unless given: without a default, Typer imports Pydantic to look at what is absent."""

    def get_params(self, ctx: Any) -> Any:
        params = [in_words(one) for one in super().get_params(ctx)]
        for one in params:
            if getattr(one, "is_flag", False) and not isinstance(one.default, bool):
                one.default = False
        return params


def in_words(parameter: Any) -> Any:
    """The same parameter; help gives the type of its value in everyday words."""
    usual = getattr(parameter, "display_type", None)  # Typer's; earlier versions have words of their own
    if usual is not None and "display_type" not in vars(parameter):
        parameter.display_type = lambda ctx: plain(usual(ctx))
    return parameter


def plain(kind: str) -> str:
    """Typer's name of a type in everyday words.

    >>> plain("<list[str]>"), plain("<int range>"), plain("<zsl|gzsl>")
    ('TEXT', 'NUMBER', 'zsl|gzsl')
    """
    for pattern, word in WORDS:
        kind = pattern.sub(word, kind)
    return kind


def offered(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the two options that all have, and with ~ as the home folder in every path."""

    @functools.wraps(command)
    def run(*, verbose: bool, quiet: bool, **given: Any) -> None:
        if verbose and quiet:
            raise ValueError("--verbose and --quiet were both given: leave one of them out")
        with read_to_the_end(), loudness(verbose, quiet):
            command(**{name: at_home(value, name in PATHS) for name, value in given.items()})

    kind = inspect.Parameter.KEYWORD_ONLY
    further = [
        inspect.Parameter("verbose", kind, default=False, annotation=Verbose),
        inspect.Parameter("quiet", kind, default=False, annotation=Quiet),
    ]
    known = inspect.signature(command, eval_str=True)
    run.__signature__ = known.replace(parameters=[*known.parameters.values(), *further])  # type: ignore[attr-defined]
    return run


def at_home(value: Any, text_too: bool = False) -> Any:
    """A path, or each of a list of paths, with the home folder in place of ~; text only if it may be a path."""
    if isinstance(value, list):
        return [at_home(one, text_too) for one in value]
    if isinstance(value, Path):
        return value.expanduser()
    if not text_too or not isinstance(value, str):
        return value
    kind = "onnx:" if value.startswith("onnx:") else ""
    return kind + os.path.expanduser(value.removeprefix(kind))
