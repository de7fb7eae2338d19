"""Bars on a terminal, and nothing elsewhere."""

import io

import pytest
from rich.console import Console

from zskl.cli import _terminal


@pytest.fixture(params=[True, False], ids=["terminal", "file"])
def shown(request, monkeypatch):
    """What is written to standard error, and whether that is a terminal."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=request.param, width=120)
    monkeypatch.setattr(_terminal, "errors", console)
    return file, request.param


def test_one_bar(shown):
    file, terminal = shown
    with _terminal.show_progress("pictures [of] birds") as report:
        report(1, 4)
        report(3, 4)
    text = file.getvalue()
    if terminal:
        assert "pictures [of] birds" in text
        assert "75%" in text
        assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # the cursor is there again
    else:
        assert text == ""


def test_rows_of_a_sweep(shown):
    file, terminal = shown
    with _terminal.SweepDisplay(["a", "b [x]", "c"], before=1) as display:
        display.finished(0)  # done before: there was no row of it
        display.started(1)
        display.started(1)
        display.moved(1, "fit", 1, 2)
        display.moved(2, "fit", 1, 2)  # not started: there is no row
        display._progress.refresh()
        display.finished(1)
        display.started(2)
        display.describe(2, "40 rows")
        display.describe(0, "never seen")
        display._progress.refresh()
        all_units = display._progress.tasks[0]
        assert (all_units.completed, all_units.total, all_units.fields["state"]) == (1, 2, "2 of 3 done")
        assert all_units.time_remaining is not None  # one unit is enough to tell
    text = file.getvalue()
    for words in ("all units", "b [x]", "40 rows", "2 of 3 done"):
        assert (words in text) is terminal
    assert "never seen" not in text
