"""What becomes of an error: a user's mistake is one sentence, a mistake of ours shows its traceback."""

from __future__ import annotations

import pytest

from command import process, zskl
from zskl.engines import EngineError


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
def test_what_a_user_can_mend_is_one_sentence(error, monkeypatch):
    monkeypatch.setattr("zskl.methods.build", raising(error))
    done = zskl("run", "digits")
    assert done.returncode == 2
    assert done.stderr == f"error: {error}\n"


@pytest.mark.parametrize("kind", [TypeError, RuntimeError, KeyError, AttributeError, IndexError, AssertionError])
def test_a_mistake_of_ours_is_not_hidden(kind, monkeypatch):
    monkeypatch.setattr("zskl.methods.build", raising(kind("planted")))
    with pytest.raises(kind, match="planted"):
        zskl("run", "digits")


def raising(error):
    def call(*arguments):
        raise error

    return call


def test_a_mistake_of_ours_shows_its_traceback():
    planted = "import zskl.cli.startup\ndef fail(): raise TypeError('planted')\nzskl.cli.startup.over = fail"
    done = process("datasets", before=planted)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "TypeError: planted" in done.stderr


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("ZSKL_DEBUG", "1")
    with pytest.raises(ValueError, match="no dataset is called 'digit'"):
        zskl("run", "digit")
