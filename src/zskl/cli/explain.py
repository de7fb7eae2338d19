"""`zskl explain`: which attributes support the predicted class of each row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zskl.cli import _options
from zskl.cli._terminal import is_quiet, mention, say
from zskl.cli._warnings import collect_warnings

if TYPE_CHECKING:
    from zskl.batch.predict import Explained

FIRST = 5  # rows that the terminal shows unless others are asked for


def explain(
    model: Annotated[Path, typer.Argument(help="A model file of class means, a kernel method or a bilinear one.")],
    features: Annotated[Path, typer.Argument(help=f"A row per sample: {_options.TABLES}.")],
    signatures: _options.ClassTable = None,
    with_known: _options.WithKnown = False,
    candidates: _options.Candidates = None,
    top: Annotated[int, typer.Option(min=1, help="How many attributes per row, strongest first.")] = 5,
    label: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class to explain. Default: the predicted one.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="The class to compare it with. Default: the best of the others.")
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Go by attributes as you wrote them: one in which both classes agree adds nothing. What centring and "
            "lengths add is one line.",
        ),
    ] = False,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N or N-M",
            help=f"Which rows, counted from 0; repeatable. Default: the first {FIRST}; all with -o or --json.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="The CSV file to write (default: the terminal).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON per row in place of text or CSV.")] = False,
    device: _options.Device = None,
) -> None:
    """Show which attributes support the class of each row against the runner-up; they add up to the difference.

    Class means with a Gaussian kernel name seen classes that the row is like or unlike, and what else adds to it; with
    --raw they name attributes.

    Example: [b]zskl explain birds.zskl new.csv --signatures new_classes.csv --rows 0-9 --top 3[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import predict

    _options.check_with_known(with_known, signatures)
    _arrays.check_device(device)
    if out is not None:
        _files.check_target(out, model, features, signatures)
    with collect_warnings():
        found = predict.explain_file(
            methods.load(model, device),
            features,
            signatures=signatures,
            with_known=with_known,
            candidates=candidates or None,
            top=top,
            label=label,
            against=against,
            rows=predict.parse_row_numbers(rows) if rows else None,
            raw=raw,
        )
        _write(found, bool(rows), out, as_json)


def _write(found: Iterator[Explained], chosen: bool, out: Path | None, as_json: bool) -> None:
    """Write explanations to a file, or the terminal."""
    from zskl import _files
    from zskl.batch import predict

    if as_json:
        lines = (json.dumps(one.record(), ensure_ascii=False) for one in found)
        if out is None:
            for line in lines:
                typer.echo(line)
            return
        text = "".join(f"{line}\n" for line in lines)
        _files.write_atomically(out, text.encode())
        mention(f"wrote {out}: {text.count(chr(10))} rows")
    elif out is not None:
        mention(f"wrote {out}: {predict.write_predictions(out, predict.explanation_lines(found))} lines")
    else:
        for one in found if chosen else islice(found, FIRST):
            say(f"{one.named_by} {one.row}: {one.explanation}")
        if not chosen and not is_quiet() and next(found, None) is not None:
            typer.echo(f"the first {FIRST} rows; --rows shows others, -o FILE writes all", err=True)
