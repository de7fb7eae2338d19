"""How the command line starts: help imports nothing heavy, and Ctrl-C never prints a traceback."""

import ast
import inspect
import signal
import subprocess
import sys
import textwrap

import pytest

from command import HEAVY, process, zskl
from zskl.cli.listing import COMMANDS, DATA_COMMANDS

EVERY = (*COMMANDS, *DATA_COMMANDS)
FOUNDATIONS = {"numpy", "pandas", "scipy", "sklearn", "joblib", "narwhals", "safetensors", "array_api_compat"}
SELDOM = {  # of what zskl uses, that which most work never needs
    *("sklearn.metrics", "sklearn.model_selection", "sklearn.pipeline", "sklearn.preprocessing"),
    *("platformdirs", "zskl.signatures.sentences"),
}

# What help takes, then what commands take: one process for both, since each costs seconds.
LOOK = """
import sys
from typer.testing import CliRunner
import zskl
from zskl.cli import app
from zskl.cli.listing import COMMANDS, DATA_COMMANDS

paths = [[], ["data"], *([one.name] for one in COMMANDS), *(["data", one.name] for one in DATA_COMMANDS)]
for path in paths:
    done = CliRunner().invoke(app, [*path, "--help"])
    assert done.exit_code == 0 and "Usage" in done.output, (path, done.output)
asked = {"_ZSKL_COMPLETE": "complete_bash", "COMP_WORDS": "zskl run digits --method c", "COMP_CWORD": "4"}
assert "cosine" in CliRunner().invoke(app, [], env=asked, prog_name="zskl").output
assert CliRunner().invoke(app, ["--version"]).output == f"zskl {zskl.__version__}\\n"
sys.stdout.write(" ".join(sorted(NEVER_FOR_HELP & sys.modules.keys())))

import sklearn.base
theirs = set(sys.modules)
from zskl import *
from zskl.cli import fitting, shards, sweeping
from zskl.paper import run, write
sys.stdout.write(" ".join(sorted(NEVER_AT_ONCE & sys.modules.keys() - theirs)))
"""


def test_help_imports_no_array_library_and_no_command_imports_more_than_it_needs():
    at_once = HEAVY - {"pyarrow"} | SELDOM  # pandas imports pyarrow by itself where it is installed
    code = f"NEVER_FOR_HELP, NEVER_AT_ONCE = {HEAVY | FOUNDATIONS!r}, {at_once!r}\n{LOOK}"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


# Ctrl-C at the moment when a module is imported, and what becomes of the exception if one is raised there.
INTERRUPT = """
import os, signal, sys

def interrupt():
    signal.raise_signal(signal.{number})

class Deleted:
    __del__ = lambda self: interrupt()

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name != {name!r}:
            return None
        if {fate!r} == "passed on":
            interrupt()
        elif {fate!r} == "printed":
            Deleted()
        else:
            try:
                interrupt()
            except KeyboardInterrupt:
                if {fate!r} == "another error":
                    raise ImportError("the module could not be initialised")
        raise SystemExit("Ctrl-C was swallowed")

sys.meta_path.insert(0, Interrupting())
"""


@pytest.fixture(autouse=True)
def hearing():
    """Ctrl-C counts here and in processes started here, also where the tests run in the background of a script."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def sent(number, name, fate):
    """Code that sends its own process that signal when a module of that name is imported."""
    return INTERRUPT.format(number=number, name=name, fate=fate)


@pytest.mark.parametrize(
    ("name", "fate"),
    [
        ("typer", "passed on"),
        ("zskl.cli.run", "another error"),
        ("numpy", "swallowed"),
        ("numpy", "printed"),
        ("zskl.experiments.sweep", "another error"),
    ],
)
def test_ctrl_c_during_an_import_ends_at_once_without_a_traceback(name, fate):
    done = process("run", "digits", before=sent("SIGINT", name, fate))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_to_end_during_an_import_does_so_at_once(number, code):
    heard = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    done = process("run", "digits", before=heard + sent(number, "numpy", "swallowed"))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"error: ended by {number}\n")


def test_the_interruption_above_would_print_a_traceback_otherwise():
    code = sent("SIGINT", "numpy", "printed") + "import numpy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr


def test_a_signal_that_the_caller_ignores_stays_ignored():
    """As after `nohup`, or in the background of a script."""
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = process("--help", before=ignore + sent("SIGINT", "typer", "swallowed"))
    assert done.stderr == "Ctrl-C was swallowed\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ImportError, SystemError])
def test_ctrl_c_in_a_command_that_has_started(monkeypatch, error):
    """An import inside the work may still turn Ctrl-C into another error."""

    def interrupted():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        raise error from None if error is KeyboardInterrupt else KeyboardInterrupt()

    monkeypatch.setattr("zskl.datasets.names", interrupted)
    done = zskl("datasets")
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_import_that_fails_is_a_fault_and_shows_its_traceback(monkeypatch):
    monkeypatch.setattr("zskl.datasets.names", lambda: (_ for _ in ()).throw(ImportError("no such module")))
    with pytest.raises(ImportError, match="no such module"):
        zskl("datasets")


def late(source):
    """What a command imports after it has said that start-up is over."""
    (function,) = ast.parse(textwrap.dedent(source)).body
    lines = [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node) == "startup.over()"
    ]
    if len(lines) != 1:
        return [f"{function.name} says {len(lines)} times that start-up is over: expected once, after its imports"]
    found = (node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom))
    return [f"{function.name}: {ast.unparse(node)}" for node in found if node.lineno > lines[0]]


def test_every_command_imports_first():
    assert [fault for one in EVERY for fault in late(inspect.getsource(one.function()))] == []


@pytest.mark.parametrize("body", ["import os", "startup.over()\n    import os", "startup.over()\n    startup.over()"])
def test_a_command_that_does_not_is_found(body):
    assert len(late(f"def planted():\n    {body}")) == 1
