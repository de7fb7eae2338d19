"""What the command line says arrives whatever the terminal can show, and whoever stops to read.

Warnings and log messages are shown once by a command, from this process, its threads or its workers.
"""

import ast
import io
import logging
import os
import re
import sys
import warnings
from dataclasses import replace
from operator import add
from pathlib import Path

import pytest

from command import zskl
from user_files import MAKE
from zskl import engines, methods
from zskl.cli import _terminal, main
from zskl.engines import Engine

pytestmark = pytest.mark.filterwarnings("default:odd rows")  # elsewhere in tests a warning is an error
LOG = logging.getLogger("zskl.selection.calibration")


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", "σ = 0.5 × ő"), ("cp1252", "? = 0.5 × ?"), ("ascii", "? = 0.5 x ?")]
)
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # the second in the C locale
def test_unencodable_letters_are_replaced(monkeypatch, encoding, errors, shown):
    files = captured(monkeypatch, encoding, errors)
    _terminal.replace_unencodable()
    _terminal.say("σ = 0.5 × ő")
    _terminal.complain("σ = 0.5 × ő")
    sys.stdout.flush(), sys.stderr.flush()
    assert files["stdout"].getvalue().decode(encoding) == f"{shown}\n"
    assert files["stderr"].getvalue().decode(encoding) == f"error: {shown}\n"


def captured(monkeypatch, encoding, errors="strict"):
    files = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, file in files.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(file, encoding, errors, newline="\n"))
    return files


def test_file_name_that_is_not_text_is_shown_as_it_is(monkeypatch):
    files = captured(monkeypatch, "ascii", "surrogateescape")
    _terminal.replace_unencodable()
    _terminal.say("no file at \udcff × 2")
    sys.stdout.flush()
    assert files["stdout"].getvalue() == b"no file at \xff x 2\n"


COMMANDS = [
    (*MAKE, "--unseen", "fox"),
    ("data", "check", "birds"),
    ("run", "birds", "--method", "eszsl", "--verbose"),
    ("methods",),
    ("run", "--help"),
]


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_commands_work_where_only_ascii_can_be_shown(here, monkeypatch, errors):
    for arguments in COMMANDS if errors == "surrogateescape" else COMMANDS[:1]:
        with monkeypatch.context() as patch:
            files = captured(patch, "ascii", errors)
            patch.setattr(sys, "argv", ["zskl", *arguments])
            with pytest.raises(SystemExit) as stop:
                main()
            sys.stdout.flush()
            assert stop.value.code in (0, None), files["stderr"].getvalue()
    assert (here / "birds").is_dir()


@pytest.mark.parametrize("arguments", [("methods",), ("data", "check", "digits")])
def test_reader_that_stops_early_ends_the_command_with_141(monkeypatch, capfd, arguments):
    """As in `zskl methods | head -1`: nobody has the other end of the pipe when the first line is written."""
    read, write = os.pipe()
    os.close(read)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(os.fdopen(write, "wb"), "utf-8"))
    monkeypatch.setattr(sys, "argv", ["zskl", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    sys.stdout.close()  # as when Python ends
    assert (stop.value.code, capfd.readouterr().err) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_full_disk_is_an_error(monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdout", open("/dev/full", "w", encoding="utf-8"))  # noqa: SIM115
    monkeypatch.setattr(sys, "argv", ["zskl", "datasets"])
    with pytest.raises(SystemExit) as stop:
        main()
    sys.stdout.close()
    assert stop.value.code == 2
    assert capfd.readouterr().err == "error: cannot write to standard output: the disk is full; make room there\n"


def noisy(shared, task):
    LOG.warning("few %s", "classes")
    LOG.warning("few %s", "classes")
    LOG.info("not of interest")
    warnings.warn("odd rows", UserWarning, stacklevel=1)
    return shared + task


@pytest.fixture
def workers(monkeypatch):
    """Engines whose workers are calls in this process, as a worker makes them."""

    def run(function, tasks, shared, engine, started):
        for position, task in tasks.items():
            with monkeypatch.context() as elsewhere:
                elsewhere.setattr(logging.getLogger("zskl"), "handlers", [])
                value = function(shared, task)
            yield position, value

    monkeypatch.setattr("zskl.engines.run_in_processes", run)
    return Engine(workers=2)


def test_each_message_is_shown_once_with_its_count(workers, capsys):
    with _terminal.collect_messages():
        assert dict(engines.each(noisy, [1, 2, 3], 10, workers)) == {0: 11, 1: 12, 2: 13}
        LOG.warning("alone")
        assert capsys.readouterr().err == ""  # nothing while a display is there
    lines = capsys.readouterr().err.splitlines()
    assert sorted(lines) == ["note: alone", "note: few classes (3 times)", "note: odd rows (3 times)"]


def test_messages_are_shown_when_a_command_is_interrupted(capsys):
    def stopped():
        with _terminal.collect_messages():
            LOG.warning("few classes")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert capsys.readouterr().err == "note: few classes\n"


def test_messages_of_a_worker_travel_to_the_main_process(workers, caplog):
    value, heard = engines.call_and_capture(noisy, 1, 2)
    assert value == 3
    assert [one.text for one in heard] == ["few classes", "odd rows"]
    assert caplog.messages == []
    with pytest.warns(UserWarning, match="odd rows"):
        engines.repeat_remarks(heard)
    assert caplog.messages == ["few classes"]
    assert engines.call_and_capture(add, 1, 2) == (3, ())
    assert logging.getLogger("zskl").propagate is True


def test_run_shows_a_warning_once_for_all_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
    settings = ("--set", "epochs=1", "--method", "gaussian", "--calibrate", "--seeds", "2")
    monkeypatch.setattr("zskl.selection.calibration.RANGE", (1e-4, 1e-3))  # the best is beyond the range
    done = zskl("run", "synthetic", *settings)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("probabilities among unseen classes will be nearly equal") == 1
    assert " (2 times)" in done.stderr
    assert [line for line in done.stderr.splitlines() if line and not line.startswith("note: ")] == []


# Results and remarks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("data", "check", "birds"),
        ("data", "make", "again", *MAKE[3:], "--unseen", "fox", "--force"),
        ("fit", "birds", "-o", "new.zskl", "--no-tune"),
        ("predict", "birds.zskl", "features.csv"),
        ("predict", "birds.zskl", "features.csv", "-o", "out.csv"),
        ("explain", "birds.zskl", "features.csv"),
        ("label-next", "birds.zskl", "features.csv", "-o", "ask.csv"),
        ("run", "birds", "--method", "eszsl", "--method", "sae", "--seeds", "2", "--json", "r.jsonl"),
        ("compare", "before.jsonl"),
        ("report", "before.jsonl"),
        ("expect", "birds"),
        ("export", "birds.zskl", "-o", "c.usearch", "--index", "usearch"),
        ("methods",),
        ("datasets",),
    ],
    ids=lambda one: "-".join(one[:2]),
)
def test_standard_output_has_results_alone_and_every_remark_is_a_note(model, here, monkeypatch, arguments):
    """What --quiet leaves out is a remark: each goes to standard error, once, as "note: …"."""
    if "expect" in arguments:  # in few settings: what it expects has tests of its own
        few = replace(methods.METHODS["class-means"], grid={"shrinkage": (0.1, 0.6)}, bounds={})
        monkeypatch.setitem(methods.METHODS, "class-means", few)
    if "before.jsonl" in arguments:
        zskl("run", "birds", "--method", "eszsl", "--json", "before.jsonl")
    if "usearch" in arguments:
        pytest.importorskip("usearch", reason="usearch is not installed")
    loud, quiet = zskl(*arguments), zskl(*arguments[:-1], arguments[-1], "--quiet")
    assert (loud.returncode, quiet.returncode) == (0, 0), loud.stderr
    timeless = [re.sub(r"\d+\.\d+ *$", "", done.stdout, flags=re.MULTILINE) for done in (loud, quiet)]
    assert timeless[0] == timeless[1]
    assert quiet.stderr == ""
    remarks = loud.stderr.splitlines()
    assert all(line.startswith("note: ") for line in remarks)
    assert len(set(remarks)) == len(remarks)
    assert "note: " not in loud.stdout
    if {"-o", "--json", "make", "report"} & set(arguments):  # they write a file, and say so
        assert remarks


def test_warnings_and_log_messages_are_notes_wherever_they_come_from(monkeypatch):
    def warned():
        for _ in range(2):
            warnings.warn("odd rows", UserWarning, stacklevel=1)
            LOG.warning("few classes")
        return []

    monkeypatch.setattr("zskl.datasets.names", warned)
    assert zskl("datasets").stderr == "note: odd rows\nnote: few classes\n"
    assert zskl("datasets", "--quiet").stderr == ""


# No message of a command gives advice in Python -----------------------------------------------------------------------

PYTHON = re.compile(
    r"\b(?:model|selection|datasets|methods|protocols|zskl|pd|np)\.[a-z]\w*|\b[a-z_]+=(?:True|False|None|['\"\[{\d]|\.\.\.)"
    r"|\b[a-z_]+\((?:\)|\.\.\.|[a-z_]+=)|\b[a-z]\w*\.[a-z_]+\(|\bset_params|\b(?:add|remove)_examples\b"
)
# What only those can meet who write Python: arrays that no file holds, kernels, folds and networks of their own.
FROM_PYTHON = re.compile(
    r"tensor|sparse|mask into one|reset_index|^out is|np\.memmap|warm_start|namespace\(|is not registered|^--set"
    r"|no attribute §|as selection\.folds|collect\(\)|without class names|set_params|model with add_examples"
    r"|selection\.Fold"
)


def messages():
    """Every text with a space in it of the modules that commands use, but docstrings; § stands for a value."""
    for path in sorted(Path(_terminal.__file__).parents[1].rglob("*.py")):
        if path.parent.name in ("serve", "routes", "schemas", "plots", "report", "paper", "baselines", "adapters"):
            continue
        tree, inner = ast.parse(path.read_text("utf-8")), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                inner |= {id(one) for one in ast.walk(node) if one is not node}
            if isinstance(node, ast.Expr):  # a docstring
                inner.add(id(node.value))
        for node in ast.walk(tree):
            if id(node) not in inner and isinstance(node, ast.Constant | ast.JoinedStr):
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                text = "".join(str(one.value) if isinstance(one, ast.Constant) else "§" for one in parts)
                if " " in text and "<" not in text:
                    yield f"{path.name}:{node.lineno}", text


def test_no_message_of_a_command_speaks_python():
    found = dict(messages())
    assert len(found) > 1200
    spoken = {place: _terminal.name_options(text) for place, text in found.items() if not FROM_PYTHON.search(text)}
    assert {place: text for place, text in spoken.items() if PYTHON.search(text)} == {}


@pytest.mark.parametrize(
    ("python", "options"),
    [
        ("say so with decimal=',' (--decimal ,)", "say so with --decimal ,"),
        ("with missing='mean' (--missing mean), or drop", "with --missing mean, or drop"),
        ("fit it by selection.tune, or call selection.calibrate on it", "fit it with zskl fit --tune or --calibrate"),
        ("use feature_scaling='auto' or 'l2'", "use --set feature_scaling=auto or 'l2'"),
        ("leaves such rows out; in Python a SimpleImputer does it", "leaves such rows out"),
        ("sigma=-1: expected a number above 0", "sigma=-1: expected a number above 0"),
    ],
)
def test_advice_in_python_becomes_options(python, options):
    assert _terminal.name_options(python) == options
