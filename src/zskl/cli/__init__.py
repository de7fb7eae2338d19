"""The command line: arguments → one call. No logic."""

from zskl.cli import catalogue, data, embed, run, words
from zskl.cli.app import app, main

__all__ = ["app", "catalogue", "data", "embed", "main", "run", "words"]
