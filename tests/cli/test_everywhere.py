"""What every command has: ~ as the home folder, --quiet and --verbose, and help in plain words."""

import inspect
import logging
import re
from pathlib import Path

import pytest
import typer

from command import zskl
from user_files import MAKE
from zskl import _files as files
from zskl.cli import everywhere
from zskl.cli.commands import app
from zskl.cli.later import Later
from zskl.cli.listing import COMMANDS, DATA_COMMANDS

LISTED = (*COMMANDS, *DATA_COMMANDS)
EVERY = [one.function() for one in LISTED]


@pytest.fixture
def home(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.setenv("USERPROFILE", str(here))
    return here


def test_a_tilde_is_the_home_folder(home):
    options = ("--features=~/features.csv", "--labels", "label", "--signatures=~/traits.csv")
    assert zskl("data", "make", "~/birds", *options).returncode == 0
    assert (home / "birds" / "manifest.json").is_file()
    assert not (home / "~").exists()
    done = zskl("fit", "~/birds", "--out=~/m.zskl", "--method", "eszsl")
    assert done.returncode == 0, done.stderr
    assert files.find_leftovers(home) == []
    assert sorted(one.name for one in home.iterdir()) == ["birds", "features.csv", "m.zskl", "traits.csv"]


def test_a_tilde_counts_in_every_option_that_takes_a_path(home):
    """Those of type Path do by themselves. Of the others, the help says which may name a file or a folder."""
    text = {
        name
        for command in EVERY
        for name, one in inspect.signature(command, eval_str=True).parameters.items()
        if "Path" not in str(one.annotation) and re.search(r"FILE|DIR|folder", str(_about(one)))
    }
    assert text - {"name", "index"} == set(everywhere.PATHS)
    assert everywhere.at_home([Path("~/a"), Path("b")]) == [home / "a", Path("b")]
    assert everywhere.at_home("onnx:~/a", True) == f"onnx:{home / 'a'}"
    assert everywhere.at_home("~/a") == "~/a"  # the name of a class, for example
    assert everywhere.at_home(None, True) is None


def _about(parameter):
    declared = next(one for one in parameter.annotation.__metadata__ if hasattr(one, "help"))
    return declared.metavar, declared.help


def test_quiet_leaves_results_and_errors(here):
    assert (zskl(*MAKE, "--unseen", "fox", "--quiet").stdout, (here / "birds").is_dir()) == ("", True)
    loud, quiet = (zskl("run", "birds", "--method", "eszsl", "--json", "r.jsonl", *more) for more in ((), ("-q",)))
    assert (loud.returncode, quiet.returncode, quiet.stderr) == (0, 0, "")
    assert "1 record written to r.jsonl" in loud.stdout
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


def test_verbose_tells_sizes_and_times(here):
    zskl(*MAKE, "--unseen", "fox")
    done = zskl("run", "birds", "--method", "eszsl", "--verbose")
    assert done.returncode == 0
    assert "Dataset('birds', 120 rows × 6 features" in done.stderr
    assert re.search(r"ESZSL fitted: 6 features, 9 classes seen of 10, \d+\.\d\d s", done.stderr)
    assert re.search(r"birds eszsl seed 0: fit \d", done.stderr)
    logger = logging.getLogger("zskl")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)  # as a library that was only imported
    assert "ESZSL fitted" not in zskl("run", "birds", "--method", "eszsl").stderr


def test_warnings_are_told_once_also_with_verbose(monkeypatch):
    def warned(*given, **more):
        logging.getLogger("zskl.planted").warning("few classes")
        logging.getLogger("zskl.planted").info("all is well")
        raise ValueError("planted")

    monkeypatch.setattr("zskl.selection.tune", warned)
    done = zskl("fit", "digits", "-o", "m.zskl", "--verbose")
    assert done.stderr.count("few classes") == 1
    assert done.stderr.count("all is well") == 1


def test_quiet_and_verbose_together_are_refused():
    done = zskl("datasets", "--quiet", "--verbose")
    assert (done.returncode, done.stderr.startswith("error: --verbose and --quiet were both given")) == (2, True)


def test_help_names_types_in_plain_words():
    text = zskl("run", "--help").stdout
    assert "--quiet" in text
    assert re.findall(r"<[^>]*>|list\[", text) == []


def test_no_parameter_of_any_command_has_a_type_of_python():
    root = typer.main.get_command(app)
    for command in (root, root.commands["data"], *(Later(one).command() for one in LISTED)):
        context = command.context_class(command, info_name="zskl")
        for one in command.get_params(context):
            assert not re.search(r"[<>\[]", " ".join(map(str, one.get_help_record(context)[:1]))), one.name


@pytest.mark.parametrize(
    ("kind", "word"),
    [("<list[str]>", "TEXT"), ("<int range>", "NUMBER"), ("<list[path]>", "PATH"), ("<a|b>", "a|b"), ("TEXT", "TEXT")],
)
def test_words_for_types(kind, word):
    assert everywhere.plain(kind) == word
