"""The command line: arguments → one call. No logic."""

from zskl.cli import (
    catalogue,
    compare,
    embed,
    explain,
    export,
    fetch,
    model,
    own,
    paper,
    report,
    run,
    serve,
    words,
)
from zskl.cli.app import app, main

__all__ = [
    "app",
    "catalogue",
    "compare",
    "embed",
    "explain",
    "export",
    "fetch",
    "main",
    "model",
    "own",
    "paper",
    "report",
    "run",
    "serve",
    "words",
]
