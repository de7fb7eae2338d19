"""Progress bars: in a notebook one display that moves, in a terminal a bar, elsewhere nothing."""

import io
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from small_search import TRAINING, estimator
from zskl import ProgressBar, selection
from zskl.shown import progress


@pytest.fixture
def notebook(monkeypatch):
    """What a kernel has: a shell with a kernel, and displays that can be updated. No widgets."""
    shown = []

    def display(page, display_id):
        assert display_id is True
        shown.append([page])
        return SimpleNamespace(update=shown[-1].append)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display, HTML=str))
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    return shown


def test_tuning_shows_bars_in_a_notebook(notebook):
    selection.tune(estimator(epochs=1), *TRAINING, {"sigma": [0.6]}, engine=None, progress=True)
    search, fit = notebook
    assert [page.partition(">")[2].partition(" ")[0] for page in (search[0], fit[0])] == ["search", "fit"]
    assert 'value="6" max="6"' in search[-1]  # two settings, the default is one of them, on three folds
    assert "taken" in search[-1]
    assert "left" in search[0]
    model = estimator(epochs=1).fit(*TRAINING, callback=ProgressBar("<fit>"))
    assert notebook[2][-1].startswith("<div>&lt;fit&gt; <progress ")
    selection.calibrate(model, *TRAINING, progress=True)
    assert len(notebook[3]) == 3
    with pytest.raises(ValueError, match="progress is 'yes': expected True or False"):
        selection.calibrate(model, *TRAINING, progress="yes")


def test_updates_in_a_notebook_are_few(notebook, monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", 1e9)
    bar = ProgressBar()
    for step in range(1, 101):
        bar(step, 100)
    assert len(notebook[0]) == 2  # the first and the last


@pytest.mark.parametrize("terminal", [True, False])
def test_outside_of_a_notebook_only_a_terminal_gets_a_bar(terminal, monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda stderr: Console(file=file, force_terminal=terminal))
    bar = ProgressBar("search")
    for step in range(3):
        bar(step, 2)
    bar(3, 4)  # a grid that was extended
    bar(4, 4)
    bar(1, 4)  # and then something fails
    bar.close()
    hidden, there = (file.getvalue().rfind(f"\x1b[?25{how}") for how in "lh")
    assert there > hidden or not terminal  # the cursor is there again
    assert ("search" in file.getvalue()) is terminal
    if not terminal:
        assert file.getvalue() == ""
