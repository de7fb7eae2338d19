"""docs/results.md, docs/paper-tables.md, their figures and the README's tables are what the stored records give."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

from command import zskl
from zskl.paper.pages import BEGIN, END

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not os.environ.get("ZSKL_DATA"), reason="seconds of draws again: done where ZSKL_DATA has the data")
def test_results_page_is_made_from_the_records_beside_it(tmp_path, monkeypatch):
    """They are never edited by hand."""
    monkeypatch.setattr("zskl.plots._style.to_png", lambda figure: b"")  # which nobody compares
    shutil.copytree(ROOT / "benchmarks" / "results" / "paper", tmp_path / "out")
    kept = (ROOT / "README.md").read_text("utf-8")
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}{END}" + kept.partition(END)[2], "utf-8")
    places = ("--out", str(tmp_path / "out"), "--docs", str(tmp_path / "docs"), "--readme", str(readme))
    done = zskl("paper", "all", "--offline", *places)
    assert done.returncode == 0, done.stderr
    assert_same_numbers(readme.read_text("utf-8"), BEGIN + kept.partition(BEGIN)[2])
    figures = [f"figures/{figure.name}" for figure in (tmp_path / "docs" / "figures").glob("*.svg")]
    assert len(figures) > 5
    made, kept = (
        [(folder / name).read_text("utf-8") for name in figures] for folder in (tmp_path / "docs", ROOT / "docs")
    )
    for mine, theirs in zip(made, kept, strict=True):
        if f"<metadata>Matplotlib {matplotlib.__version__}<" in theirs:
            assert_same_numbers(mine, theirs)
        else:  # another version may place lines and words otherwise
            assert_same_numbers(words_of(mine), words_of(theirs))
    for page in ("results.md", "paper-tables.md"):
        assert_same_numbers(*((folder / page).read_text("utf-8") for folder in (tmp_path / "docs", ROOT / "docs")))


def words_of(svg):
    return " / ".join(ElementTree.fromstring(svg).itertext())


NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def assert_same_numbers(found, expected):
    """The same words, and numbers that differ by one in their last place at most: sums may be rounded otherwise."""
    assert NUMBER.split(found) == NUMBER.split(expected)
    for mine, theirs in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        place = min(len(one.partition(".")[2]) for one in (mine, theirs))
        assert mine == theirs or (place and abs(float(mine) - float(theirs)) < 1.01 * 10.0**-place), (mine, theirs)


def test_a_planted_edit_of_results_is_found():
    assert_same_numbers("H 54.9 of 10", "H 55.0 of 10")
    for edited in ("H 55.1 of 10", "H 54.9 of 11", "U 54.9 of 10", "H 54.9"):
        with pytest.raises(AssertionError):
            assert_same_numbers(edited, "H 54.9 of 10")
