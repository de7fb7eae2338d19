"""Code blocks of README.md and docs/ are executed: `python` ones in a module per file, `console` lines as commands."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

import zskl
from zskl.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zskl.kernels._registered", dict(zskl.kernels._registered))
    execute(page.read_text(encoding="utf-8"), page.name)


def test_a_broken_block_is_caught(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        execute("```python\nassert 1 + 1 == 3\n```\n", "planted")
    with pytest.raises(AssertionError):
        execute("```console\n$ zskl run no-such-dataset\n```\n", "planted")


def test_the_readme_has_blocks_to_run():
    languages = [language for language, _, _ in blocks((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert languages.count("python") >= 2
    assert "console" in languages


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
