"""Help without Markdown and tracebacks of Python: it looks the same, and whoever uses one of them still gets it."""

import sys

import pytest
from rich.markdown import Markdown
from rich.traceback import Traceback

from command import process
from zskl.cli import drawing

COLOURS = "import os; del os.environ['NO_COLOR']; os.environ['FORCE_COLOR'] = '1'\n"
USUAL = "import typer.rich_utils, rich.markdown, rich.traceback\n"


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["data", "nonsense"]], ids=" ".join)
def test_help_and_errors_are_those_of_typer(arguments):
    usual, light = (process(*arguments, before=COLOURS + before) for before in (USUAL, ""))
    assert (light.returncode, light.stdout, light.stderr) == (usual.returncode, usual.stdout, usual.stderr)
    assert "Usage" in light.stdout + light.stderr
    assert "\x1b[" in light.stdout + light.stderr


def test_a_stand_in_makes_the_real_thing():
    stand_in = drawing.stand_in("rich.markdown", "Markdown")
    made = stand_in("*a*", justify="left")
    assert type(made) is Markdown
    assert made.justify == "left"
    assert isinstance(made, stand_in)
    assert not isinstance("*a*", stand_in)
    try:
        raise ValueError("planted")
    except ValueError as error:
        found = drawing.stand_in("rich.traceback", "Traceback").from_exception(ValueError, error, error.__traceback__)
    assert type(found) is Traceback


def test_stand_ins_are_there_only_while_the_drawing_is_imported(monkeypatch):
    """Also where that fails; what is imported already is left alone."""
    seen = {}

    class Failing:
        def exec_module(self, module):
            seen.update({name: sys.modules[name] for name in drawing.UNUSED})
            raise ImportError("planted")

    monkeypatch.delitem(sys.modules, "rich.markdown")
    with pytest.raises(ImportError, match="planted"):
        drawing.Light(Failing()).exec_module(None)
    assert "rich.markdown" not in sys.modules
    assert type(seen["rich.markdown"].Markdown).__name__ == "Kind"
    assert seen["rich.traceback"] is sys.modules["rich.traceback"]
    assert sys.modules["rich.traceback"].Traceback is Traceback
