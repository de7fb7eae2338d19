"""The command line: arguments → one call. No logic."""

from zskl.cli import catalogue, fetch, model, own, run
from zskl.cli.app import app, main

__all__ = ["app", "catalogue", "fetch", "main", "model", "own", "run"]
