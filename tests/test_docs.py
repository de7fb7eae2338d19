"""Code blocks of README.md and docs/ are executed, `console` lines as commands; `output` is what was printed."""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest

import zskl
from evaluated import shortened
from executed import ROOT, blocks, execute

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zskl.kernels._registered", dict(zskl.kernels._registered))
    if page.name == "tutorial.md":  # seconds of trials that the page does not show
        monkeypatch.setattr("zskl.selection.fold_worker.Examiner.bench", lambda self, model: None)
    with shortened(tmp_path / "cache") if page.name == "paper.md" else nullcontext():  # grids of minutes otherwise
        execute(page.read_text(encoding="utf-8"), page.name)


def test_a_broken_block_is_caught(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        execute("```python\nassert 1 + 1 == 3\n```\n", "planted")
    with pytest.raises(AssertionError):
        execute("```console\n$ zskl run no-such-dataset\n```\n", "planted")
    with pytest.raises(AssertionError, match="prints\n80% right"):
        execute("```python\nprint('80% right')\n```\n```output\n84% right\n```\n", "planted")
    execute("```python\nprint('-0.04 of 80')\n```\n```output\n-0.05 of 81\n```\n", "rounded elsewhere")


def test_the_readme_has_blocks_to_run():
    languages = [language for language, _, _ in blocks((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert languages.count("python") >= 2
    assert "console" in languages


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if ":" in target:  # what answers there is for `make docs-links`
                assert re.fullmatch(r"https://[\w.-]+\.[a-z]+(/\S*)?", target), f"{page.name} links to {target}"
            else:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
