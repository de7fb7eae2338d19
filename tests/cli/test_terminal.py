"""What the command line says arrives whatever the terminal can show, and whoever stops to read."""

import io
import os
import sys

import pytest

from user_files import MAKE
from zskl.cli import _terminal, main


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
