"""`zskl methods` and `zskl datasets`."""

from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from zskl.cli import _options
from zskl.cli._tables import show_table
from zskl.cli._terminal import open_output


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One method: list all its settings and their values.", autocompletion=_options.complete_methods
        ),
    ] = None,
) -> None:
    """The methods by name, and what each sets other than the defaults; or all settings of one.

    Example: [b]zskl methods gaussian-ort[/b]
    """
    from zskl import methods

    if name is not None:
        entry = methods.find(name)
        settings = Table("setting", "value", "tried by --tune", "extended within", box=box.SIMPLE)
        for key, value in methods.build(name)._settings().items():
            tried, ends = methods.list_tried_values(entry.grid, key), entry.bounds.get(key, ())
            settings.add_row(key, str(value), ", ".join(map(str, tried)), " … ".join(f"{end:g}" for end in ends))
        show_table(settings)
        for part in methods.split_grid(entry.grid)[1:]:
            fewer = {key: values for key, values in part.items() if values != methods.split_grid(entry.grid)[0][key]}
            words = "; ".join(f"{key} {', '.join(map(str, values))}" for key, values in fewer.items())
            open_output().print(Text(f"also tried, with fewer values of the others: {words}"))
        return
    table = Table("method", "what it is", "sets", box=box.SIMPLE)
    for name, entry in methods.METHODS.items():
        table.add_row(name, entry.description, ", ".join(f"{key}={value}" for key, value in entry.overrides.items()))
    show_table(table)


def datasets() -> None:
    """The datasets by name.

    Example: [b]zskl datasets[/b]
    """
    from zskl import datasets

    table = Table("dataset", "what it is", box=box.SIMPLE)
    for name, description in datasets.names():
        table.add_row(name, description)
    show_table(table)
