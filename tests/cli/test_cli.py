"""What all commands share: start-up, help, errors, --quiet and --verbose, ~ in paths."""

from __future__ import annotations

import inspect
import logging
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from command import HEAVY, process, zskl
from user_files import MAKE
from zskl import _files as files
from zskl import cli
from zskl.cli import COMMANDS, DATA_COMMANDS, app
from zskl.cli._options import ALWAYS
from zskl.engines import EngineError
from zskl.version import __version__

FOUNDATIONS = {"numpy", "pandas", "scipy", "sklearn", "joblib", "narwhals", "safetensors", "array_api_compat"}


SELDOM = {  # of what zskl uses, that which most work never needs
    *("sklearn.metrics", "sklearn.model_selection"),
    *("platformdirs", "tokenizers"),
}


# What help takes, then what commands take: one process for both, since each costs seconds.
LOOK = """
import sys
from typer.testing import CliRunner
import zskl
from zskl.cli import app
from zskl.cli import COMMANDS, DATA_COMMANDS

paths = [[], ["data"], *([one.__name__.replace("_", "-")] for one in COMMANDS)]
paths += [["data", one.__name__] for one in DATA_COMMANDS]
for path in paths:
    done = CliRunner().invoke(app, [*path, "--help"])
    assert done.exit_code == 0 and "Usage" in done.output, (path, done.output)
assert CliRunner().invoke(app, ["--version"]).output == f"zskl {zskl.__version__}\\n"
sys.stdout.write(" ".join(sorted(NEVER_FOR_HELP & sys.modules.keys())))

import sklearn.base
theirs = set(sys.modules)
from zskl import *
from zskl.batch import fit, predict, teach
from zskl.cli import _options
from zskl.experiments import compare, run_folder, summary, sweep
from zskl.paper import evaluation, tables
sys.stdout.write(" ".join(sorted(NEVER_AT_ONCE & sys.modules.keys() - theirs)))
# Completion imports the registry of methods, so it comes last.
asked = {"_ZSKL_COMPLETE": "complete_bash", "COMP_WORDS": "zskl run digits --method c", "COMP_CWORD": "4"}
assert "cosine" in CliRunner().invoke(app, [], env=asked, prog_name="zskl").output
"""


def test_help_and_commands_import_only_what_they_need():
    at_once = HEAVY - {"pyarrow"} | SELDOM  # pandas imports pyarrow by itself where it is installed
    code = f"NEVER_FOR_HELP, NEVER_AT_ONCE = {HEAVY | FOUNDATIONS!r}, {at_once!r}\n{LOOK}"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.fixture(autouse=True)
def default_interrupt_handler():
    """Ctrl-C counts here and in processes started here, also where the tests run in the background of a script."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def test_interrupted_command_ends_with_130(monkeypatch):
    monkeypatch.setattr("zskl.datasets.names", lambda: signal.raise_signal(signal.SIGINT))
    done = zskl("datasets")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("place", ["zskl.datasets.names", "zskl.cli.app"])
def test_sigterm_ends_a_command(monkeypatch, place):
    usual = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(place, lambda: signal.raise_signal(signal.SIGTERM))
    done = zskl("datasets")
    signal.signal(signal.SIGTERM, usual)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "error: ended by SIGTERM\n")


def test_failing_import_is_an_internal_error(monkeypatch):
    monkeypatch.setattr("zskl.datasets.names", lambda: (_ for _ in ()).throw(ImportError("no such module")))
    with pytest.raises(ImportError, match="no such module"):
        zskl("datasets")


EVERY = (*COMMANDS, *DATA_COMMANDS)


@pytest.fixture
def home(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.setenv("USERPROFILE", str(here))
    return here


def test_tilde_is_the_home_folder(home):
    options = ("--features=~/features.csv", "--labels", "label", "--signatures=~/traits.csv")
    assert zskl("data", "make", "~/birds", *options).returncode == 0
    assert (home / "birds" / "manifest.json").is_file()
    assert not (home / "~").exists()
    done = zskl("fit", "~/birds", "--out=~/m.zskl", "--method", "eszsl")
    assert done.returncode == 0, done.stderr
    assert files.find_leftovers(home) == []
    assert sorted(one.name for one in home.iterdir()) == ["birds", "features.csv", "m.zskl", "traits.csv"]


def test_tilde_is_expanded_in_every_option_that_takes_a_path(home):
    """Those of type Path do by themselves. Of the others, the help says which may name a file or a folder."""
    text = {
        name
        for command in EVERY
        for name, one in inspect.signature(command, eval_str=True).parameters.items()
        if "Path" not in str(one.annotation) and re.search(r"FILE|DIR|folder", str(_about(one)))
    }
    assert text - {"name", "index", "to"} == set(cli.PATHS)
    assert cli.expand_home([Path("~/a"), Path("b")]) == [home / "a", Path("b")]
    assert cli.expand_home("onnx:~/a", True) == f"onnx:{home / 'a'}"
    assert cli.expand_home("~/a") == "~/a"  # the name of a class, for example
    assert cli.expand_home(None, True) is None


def _about(parameter):
    declared = next(one for one in parameter.annotation.__metadata__ if hasattr(one, "help"))
    return declared.metavar, declared.help


def test_quiet_leaves_results_and_errors(here):
    assert (zskl(*MAKE, "--unseen", "fox", "--quiet").stdout, (here / "birds").is_dir()) == ("", True)
    loud, quiet = (zskl("run", "birds", "--method", "eszsl", "--json", "r.jsonl", *more) for more in ((), ("-q",)))
    assert (loud.returncode, quiet.returncode, quiet.stderr) == (0, 0, "")
    assert "1 record written to r.jsonl" in loud.stderr
    assert "written" not in quiet.stdout
    figures = [
        line.rpartition(" ")[0]  # without the seconds
        for done in (loud, quiet)
        for line in done.stdout.splitlines()
        if line.startswith("eszsl ")
    ]
    assert len(figures) == 2
    assert figures[0] == figures[1]
    assert "no dataset is called 'nowhere'" in zskl("fit", "nowhere", "-o", "m.zskl", "--quiet").stderr


def test_verbose_shows_sizes_and_times(here):
    zskl(*MAKE, "--unseen", "fox")
    done = zskl("run", "birds", "--method", "eszsl", "--verbose")
    assert done.returncode == 0
    assert "Dataset('birds', 120 rows × 6 features" in done.stderr
    assert re.search(r"ESZSL fitted: 6 features, 9 classes seen of 10, \d+\.\d\d s", done.stderr)
    assert re.search(r"birds eszsl seed 0: fit \d", done.stderr)
    logger = logging.getLogger("zskl")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)  # as a library that was only imported
    assert "ESZSL fitted" not in zskl("run", "birds", "--method", "eszsl").stderr


def test_warnings_appear_once_with_verbose(monkeypatch):
    def warned(*given, **more):
        logging.getLogger("zskl.planted").warning("few classes")
        logging.getLogger("zskl.planted").info("all is well")
        raise ValueError("planted")

    monkeypatch.setattr("zskl.selection.tune", warned)
    done = zskl("fit", "digits", "-o", "m.zskl", "--verbose")
    assert done.stderr.count("few classes") == 1
    assert done.stderr.count("all is well") == 1


def test_quiet_with_verbose_is_refused():
    done = zskl("datasets", "--quiet", "--verbose")
    assert (done.returncode, done.stderr.startswith("error: --verbose and --quiet were both given")) == (2, True)


def test_help_names_types_in_plain_words():
    text = zskl("run", "--help").stdout
    assert "--quiet" in text
    assert re.findall(r"<[^>]*>|list\[", text) == []


def test_everyday_commands_and_those_for_research_have_their_panels():
    everyday, research = zskl("--help").stdout.split(cli.RESEARCH_PANEL)
    everyday = everyday.split(cli.DAILY_PANEL)[1]
    rows = [re.findall(r"^│ ([a-z-]+) ", text, re.MULTILINE) for text in (everyday, research)]
    assert rows[0][:9] == ["data", "fit", "predict", "explain", "teach", "adapt", "label-next", "serve", "expect"]
    assert rows[1] == ["run", "compare", "paper", "methods", "datasets"]
    assert len(rows[0] + rows[1]) == len(COMMANDS) + 1


def test_a_long_help_page_starts_with_at_most_five_options():
    root = typer.main.get_command(app)
    pages = {**root.commands, **root.commands["data"].commands}
    long = 0
    for name, command in pages.items():
        if hasattr(command, "commands"):
            continue
        options = [one for one in command.get_params(typer.Context(command)) if one.param_type_name == "option"]
        panels = [one.rich_help_panel for one in options]
        assert {one.name for one in options if one.rich_help_panel == ALWAYS} == {"verbose", "quiet", "help"}, name
        if len(options) > 9:
            long += 1
            assert 2 <= panels.count(None) <= 5, f"{name}: {panels.count(None)} options have no panel of their own"
    assert long > 8


def test_no_parameter_shows_a_python_type():
    root = typer.main.get_command(app)
    data = root.commands["data"]
    for command in (root, *root.commands.values(), *data.commands.values()):
        context = command.context_class(command, info_name="zskl")
        for one in command.get_params(context):
            assert not re.search(r"[<>\[]", " ".join((one.get_help_record(context) or ())[:1])), one.name


@pytest.mark.parametrize(
    ("kind", "word"),
    [("<list[str]>", "TEXT"), ("<int range>", "NUMBER"), ("<list[path]>", "PATH"), ("<a|b>", "a|b"), ("TEXT", "TEXT")],
)
def test_describe_type(kind, word):
    assert cli.describe_type(kind) == word


class OutOfMemoryError(RuntimeError):
    """As PyTorch calls its own."""


@pytest.mark.parametrize(
    "error",
    [
        ValueError("sigma=-1: expected a number above 0"),
        ArithmeticError("training diverged"),
        FileNotFoundError("no file at x"),
        PermissionError("cannot write x"),
        MemoryError("no room"),
        EngineError("2 workers died in a row"),
        OutOfMemoryError("the GPU is full"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_user_error_is_one_sentence(error, monkeypatch):
    monkeypatch.setattr("zskl.methods.build", raising(error))
    done = zskl("run", "digits")
    assert done.returncode == 2
    assert done.stderr == f"error: {error}\n"


@pytest.mark.parametrize("kind", [TypeError, RuntimeError, KeyError, AttributeError, IndexError, AssertionError])
def test_internal_error_is_raised(kind, monkeypatch):
    monkeypatch.setattr("zskl.methods.build", raising(kind("planted")))
    with pytest.raises(kind, match="planted"):
        zskl("run", "digits")


def raising(error):
    def call(*arguments):
        raise error

    return call


def test_internal_error_shows_its_traceback():
    planted = "import zskl.datasets\ndef fail(): raise TypeError('planted')\nzskl.datasets.names = fail"
    done = process("datasets", before=planted)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "TypeError: planted" in done.stderr


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("ZSKL_DEBUG", "1")
    with pytest.raises(ValueError, match="no dataset is called 'digit'"):
        zskl("run", "digit")


def test_version_and_help():
    assert zskl("--version").stdout.strip() == f"zskl {__version__}"
    for command in ("run", "methods", "datasets"):
        text = zskl(command, "--help")
        assert text.returncode == 0
        assert f"Example: zskl {command}" in " ".join(text.stdout.split())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_version_that_cannot_be_written_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", open("/dev/full", "w", encoding="utf-8"))  # noqa: SIM115
    monkeypatch.setattr(sys, "argv", ["zskl", "--version"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    with suppress(OSError):
        sys.stdout.close()
    assert stop.value.code == 2


def test_python_dash_m():
    done = subprocess.run([sys.executable, "-m", "zskl", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, f"zskl {__version__}")
