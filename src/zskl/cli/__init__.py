"""The command line: arguments → one call. No logic."""

from zskl.cli import catalogue, fetch, run
from zskl.cli.app import app, main

__all__ = ["app", "catalogue", "fetch", "main", "run"]
