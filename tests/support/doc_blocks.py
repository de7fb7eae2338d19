"""The code blocks of a page of documentation, found and executed; what it shows as output is what they print."""

from __future__ import annotations

import io
import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest

from zskl.cli import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|console|output)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?%?")


def blocks(text: str) -> list[tuple[str, str, int]]:
    """(language, code, line number) of the executable blocks."""
    return [(found[1], found[2], text[: found.start(2)].count("\n")) for found in BLOCK.finditer(text)]


def execute(text: str, name: str) -> None:
    module = ModuleType("executed_docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        _execute(text, name, module)


def _execute(text: str, name: str, module: ModuleType) -> None:
    printed = ""
    for language, code, line in blocks(text):
        if language == "python":
            with redirect_stdout(io.StringIO()) as said:
                exec(compile("\n" * line + code, name, "exec"), vars(module))
            printed = said.getvalue()
        elif language == "output":
            assert alike(printed, code), f"{name}, line {line}: the block above prints\n{printed}"
        else:
            _command_lines(code, name)


def _command_lines(code: str, name: str) -> None:
    for command in re.findall(r"^\$ (.*)$", code, re.MULTILINE):
        program, *arguments = shlex.split(command)
        assert program == "zskl", f"{name}: only zskl commands are executed, found {command!r}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["zskl", *arguments])
            with pytest.raises(SystemExit) as stop:
                main()
            assert not stop.value.code, f"{name}: {command}"


def alike(printed: str, shown: str) -> bool:
    """The same words, and numbers that differ by at most one in the last place shown, percentages by three.

    Machines round differently, and other versions of matplotlib draw the letters a little differently.
    """
    found, expected = NUMBER.findall(printed), NUMBER.findall(shown)
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (printed, shown)]
    return words[0] == words[1] and all(
        abs(float(one.strip("%")) - float(other.strip("%"))) < (3.5 if "%" in other else 1.5 * 0.1 ** _places(other))
        for one, other in zip(found, expected, strict=True)
    )


def _places(number: str) -> int:
    """Digits behind the point."""
    return len(number.partition(".")[2])
