"""The code blocks of a page of documentation, found and executed."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from zskl.cli import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[str, str, int]]:
    """(language, code, line number) of the executable blocks."""
    return [(found[1], found[2], text[: found.start(2)].count("\n")) for found in BLOCK.finditer(text)]


def execute(text: str, name: str) -> None:
    module = ModuleType("executed_docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        _execute(text, name, module)


def _execute(text: str, name: str, module: ModuleType) -> None:
    for language, code, line in blocks(text):
        if language == "python":
            exec(compile("\n" * line + code, name, "exec"), vars(module))
            continue
        for command in re.findall(r"^\$ (.*)$", code, re.MULTILINE):
            program, *arguments = shlex.split(command)
            assert program == "zskl", f"{name}: only zskl commands are executed, found {command!r}"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sys, "argv", ["zskl", *arguments])
                with pytest.raises(SystemExit) as stop:
                    main()
                assert not stop.value.code, f"{name}: {command}"
