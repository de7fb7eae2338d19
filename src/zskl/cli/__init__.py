"""The command line: arguments → one call. No logic."""

from zskl.cli import catalogue, model, own, run
from zskl.cli.app import app, main

__all__ = ["app", "catalogue", "main", "model", "own", "run"]
