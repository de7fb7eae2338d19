"""Every script in `examples/` runs, ends with a figure on the way, and is quick."""

import runpy

import pytest

from executed import ROOT
from zskl.plots.display import Display

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_example_runs_and_draws(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    left = runpy.run_path(str(script))
    drawn = [value for value in left.values() if isinstance(value, Display)]
    assert drawn, f"{script.name} keeps no figure of zskl.plots in a variable: the site would show none"
    assert all(one._repr_png_().startswith(b"\x89PNG") for one in drawn)
