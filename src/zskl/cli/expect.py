"""`zskl expect`: what accuracy to expect on new classes, before a row of them exists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from zskl.cli import _options
from zskl.cli._progress import show_progress
from zskl.cli._tables import show_table
from zskl.cli._terminal import mention, note, say
from zskl.cli._warnings import collect_messages

if TYPE_CHECKING:
    from zskl.experiments.expectation import Expectation, Figure


def expect(
    data: _options.Data,
    top: Annotated[int, typer.Option(min=1, help="How many groups of attributes to show, largest loss first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON in place of text.")] = False,
    device: _options.Device = None,
    root: _options.Root = None,
    features: _options.Features = None,
    signatures: _options.Signatures = None,
    folds: _options.Folds = None,
) -> None:
    """Say what accuracy class means will reach on new classes, and which attributes carry it; no test row is read.

    Example: [b]zskl expect birds[/b]
    """
    from zskl import _arrays
    from zskl.cli import _datasets
    from zskl.experiments import expectation

    _arrays.check_device(device)
    loaded = _datasets.load_dataset(data, root, features, signatures, folds)
    with collect_messages(), show_progress(f"{loaded.name} validation classes") as report:
        found = expectation.expect_accuracy(loaded, report=report, device=device)
    if as_json:
        typer.echo(json.dumps({"dataset": loaded.name, **found.to_json()}, ensure_ascii=False))
        return
    if len(found.held_out) == 1:
        note("there is a single validation fold, so settings were chosen where they are judged: expect a little less")
    say(f"{loaded.name}: expected zero-shot accuracy {_percent(found.zero_shot)} ({_folds(found)})")
    if found.harmonic is not None:
        say(f"expected H, with trained classes among the candidates, calibrated: {_percent(found.harmonic)}")
    table = Table("without", "attributes", "zero-shot", "loss", box=box.SIMPLE)
    for column in table.columns[1:]:
        column.justify = "right"
    for group in found.groups[:top]:
        loss = f"{100 * group.loss.mean:+.1f} ± {100 * group.loss.spread:.1f}"
        table.add_row(escape(group.name), str(group.attributes), f"{100 * group.without.mean:.1f}", loss)
    show_table(table)
    if len(found.groups) > top:
        mention(f"{len(found.groups) - top} more; --top shows them")


def _percent(figure: Figure) -> str:
    return f"{100 * figure.mean:.1f} ± {100 * figure.spread:.1f} %"


def _folds(found: Expectation) -> str:
    low, high = min(found.held_out), max(found.held_out)
    classes = str(low) if low == high else f"{low} to {high}"
    number = len(found.held_out)
    return f"{number} fold{'s' if number > 1 else ''} of {classes} held-out classes; chance {100 * found.chance:.1f} %"
