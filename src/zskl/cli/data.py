"""`zskl data`: the group to which the commands about data attach."""

from __future__ import annotations

import typer

from zskl.cli.app import app

data_app = typer.Typer(help="Get, make and check data.", no_args_is_help=True)
app.add_typer(data_app, name="data")
