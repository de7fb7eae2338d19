"""`zskl label-next`: the rows whose labels would help a model most."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from zskl.cli import options, startup
from zskl.cli.layout import show
from zskl.cli.terminal import mention

if TYPE_CHECKING:
    from zskl.batch.teach import Questions


class Strategy(StrEnum):
    """What makes a row worth a label."""

    margin = "margin"
    change = "change"


def label_next(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    features: Annotated[Path, typer.Argument(help=f"Unlabelled rows: {options.TABLES}.")],
    n: Annotated[int, typer.Option("-n", "--rows", metavar="N", min=1, help="How many rows to name.")] = 10,
    strategy: Annotated[
        Strategy,
        typer.Option(
            help="margin: rows where the best two classes are close; change: rows whose label would move the classes "
            "most, for models that learn from examples."
        ),
    ] = Strategy.margin,
    diversity: Annotated[
        float, typer.Option(min=0, help="How much it counts that rows differ from each other; 0: not at all.")
    ] = 1.0,
    signatures: options.ClassTable = None,
    with_known: options.WithKnown = False,
    candidates: options.Candidates = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="A CSV file to write too, with a column for your labels."),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
) -> None:
    """Name the rows whose labels would help a model most, in the order in which to ask.

    Fill in the column "label" of the file, and hand it to [b]zskl teach[/b] as --labels; rows are found by their id.

    Example: [b]zskl label-next birds.zskl new.csv -n 10 -o ask.csv[/b]

    Example: [b]zskl teach birds.zskl --features new.csv --labels ask.csv -o taught.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import predict, teach
    from zskl.cli.heard import noted

    startup.over()
    options.check_known(with_known, signatures)
    _arrays.check_device(device)
    if out is not None:
        _files.check_target(out, model, features, signatures)
    with noted():
        found = teach.choose_rows_to_label(
            methods.load(model, device),
            features,
            n,
            strategy.value,
            signatures=signatures,
            with_known=with_known,
            candidates=candidates or None,
            diversity=diversity,
        )
    if out is not None:
        written = predict.write_predictions(out, found.table())
    show(_drawn(found))
    if out is not None:
        mention(f"wrote {out}: {written} rows")


def _drawn(found: Questions) -> Table:
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    for name in (found.named_by, "best", found.value, "second", found.value, "why"):
        picture.add_column(name, justify="right" if name == found.value else "left")
    for one in found.rows:
        pairs = zip(one.guesses, one.values, strict=True)
        cells = [str(one.row), *(str(cell) for pair in pairs for cell in pair), one.why]
        picture.add_row(*map(escape, cells))
    return picture
