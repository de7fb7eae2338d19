"""`zskl data`: the group of commands that make, look at and fetch datasets."""

from __future__ import annotations

import typer

from zskl.cli.app import app

data_app = typer.Typer(help="Make, check and fetch datasets.", no_args_is_help=True)
app.add_typer(data_app, name="data")
