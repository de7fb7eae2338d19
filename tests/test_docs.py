"""Code blocks of README.md and docs/ are executed, `console` lines as commands; `output` is what was printed."""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest

import zskl
from evaluated import shortened, untried
from executed import ROOT, blocks, execute

SEARCHES = ("README.md", "own-data.md", "paper.md")  # that take long, and whose figures the page does not show
ENGINES = pytest.mark.xdist_group("engines")  # whose workers serve that page too
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize(
    "page",
    [pytest.param(one, marks=ENGINES) if one.name == "large.md" else one for one in PAGES],
    ids=lambda page: page.name,
)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zskl.kernels._registered", dict(zskl.kernels._registered))
    if page.name == "tutorial.md":  # its figures are those of the whole grids
        monkeypatch.setattr("zskl.selection.fold_worker.Examiner.bench", untried)
    with shortened(tmp_path / "cache") if page.name in SEARCHES else nullcontext():
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
