"""The command line as tests call it: in this process, or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from zskl.cli import app, main

# Command --------------------------------------------------------------------------------------------------------------

COLUMNS = 120  # the width of the terminal


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def zskl(*arguments: str) -> Done:
    """The entry point in this process: quick, and the same code up to the exit code."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["zskl", *arguments])
        patch.setenv("COLUMNS", str(COLUMNS))
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def invoke(*arguments: object) -> tuple[int, str]:
    """(exit code, results and remarks) of a command; its error is raised as it is."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def process(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, for what only that shows. `before` is code that runs first."""
    return subprocess.run(
        [sys.executable, "-c", f"{before}\nfrom zskl.cli import main\nmain()", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
        check=False,
    )


# Heavy ----------------------------------------------------------------------------------------------------------------
# Packages that take long to import: nothing imports them before it needs them.

HEAVY = {
    "torch",
    "dask",
    "distributed",
    "onnxruntime",
    "matplotlib",
    "fastapi",
    "uvicorn",
    "h5py",
    "pyarrow",
    "PIL",
    "timm",
    "onnx",
    "sentence_transformers",
    "tokenizers",
    "usearch",
    "faiss",
}
