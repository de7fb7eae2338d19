"""What the command line says arrives whatever the terminal can show."""

import io
import sys

import pytest

from zskl.cli import terminal


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", "σ = 0.5 × ő"), ("cp1252", "? = 0.5 × ?"), ("ascii", "? = 0.5 ? ?")]
)
def test_letters_that_the_terminal_lacks_are_replaced(monkeypatch, encoding, shown):
    files = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, file in files.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(file, encoding, newline="\n"))
    terminal.forgive_letters()
    terminal.say("σ = 0.5 × ő")
    terminal.complain("σ = 0.5 × ő")
    sys.stdout.flush(), sys.stderr.flush()
    assert files["stdout"].getvalue().decode(encoding) == f"{shown}\n"
    assert files["stderr"].getvalue().decode(encoding) == f"error: {shown}\n"
