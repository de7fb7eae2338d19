"""`zskl teach`, `zskl adapt` and `zskl label-next`: what a fitted model learns later, and which labels help it most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from zskl.cli import _options
from zskl.cli._tables import show_table
from zskl.cli._terminal import fail, mention
from zskl.cli._warnings import collect_warnings

if TYPE_CHECKING:
    from zskl.batch.teach import Questions


def teach(
    model: _options.UnchangedModel,
    out: _options.ModelOut,
    features: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"The examples, a row each: {_options.TABLES}.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE|COLUMN", help="Their classes: a column of the features, or a file, also .txt."),
    ] = None,
    signatures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Descriptions of new classes, a row each, the column 'class' naming it."),
    ] = None,
    wrong: Annotated[
        bool, typer.Option("--wrong", help="The rows are not of these classes: they count against them.")
    ] = False,
    remove: Annotated[
        bool,
        typer.Option(
            "--remove",
            help="Remove these examples. Without --features: all of the classes in --labels; without both: all.",
        ),
    ] = False,
    device: _options.Device = None,
) -> None:
    """Give a model labelled examples of any classes, known or new, and write the new model. Nothing is trained again.

    Example: [b]zskl teach birds.zskl --features new.csv --labels species -o taught.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import teach

    if remove and (wrong or signatures is not None):
        raise ValueError("--remove was given with --wrong or --signatures: these are for new examples; leave them out")
    if not remove and (features is None or labels is None):
        raise ValueError("--features or --labels is missing: expected the examples and the class of each; give both")
    _arrays.check_device(device)
    _files.check_target(out, model, features, signatures, labels if labels and Path(labels).exists() else None)
    fitted = methods.load(model, device)
    teach.check_ability(fitted, model, "add_examples")
    with collect_warnings():
        if remove:
            change = teach.remove_examples(fitted, features, labels)
        else:
            assert features is not None
            assert labels is not None
            change = teach.teach_from_file(fitted, features, labels, signatures, wrong)
    change.after.save(out)
    for sentence in change.sentences():
        mention(sentence)
    mention(f"wrote {out}")


def adapt(
    model: _options.UnchangedModel,
    features: Annotated[Path, typer.Argument(help=f"Unlabelled rows: {_options.TABLES}.")],
    out: _options.ModelOut,
    candidates: Annotated[
        Literal["unseen", "all"],
        typer.Option(help="What the rows may be of: unseen classes, or all classes of the model."),
    ] = "unseen",
    balance: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="1 if you know that each class has about as many of the rows; 0 if not."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Adapt even if nothing says that it helps.")] = False,
    device: _options.Device = None,
) -> None:
    """Let a model learn from rows whose classes nobody knows, and write the new model.

    Exit code 1 if validation classes promise no gain: then nothing is written.

    Example: [b]zskl adapt birds.zskl new.csv -o adapted.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import teach
    from zskl.estimators._class_means_adapt import NoClearGain

    _arrays.check_device(device)
    _files.check_target(out, model, features)
    fitted = methods.load(model, device)
    teach.check_ability(fitted, model, "adapt")
    try:
        with collect_warnings():
            found = teach.adapt_to_file(fitted, features, candidates, force, balance)
    except NoClearGain as refusal:
        fail(f"{refusal} (here: --force); nothing was written", 1)
    found.after.save(out)
    for sentence in found.sentences():
        mention(sentence)
    mention(f"wrote {out}")


def label_next(
    model: _options.ModelFile,
    features: Annotated[Path, typer.Argument(help=f"Unlabelled rows: {_options.TABLES}.")],
    n: Annotated[int, typer.Option("-n", "--rows", metavar="N", min=1, help="How many rows to name.")] = 10,
    strategy: Annotated[
        Literal["margin", "change"],
        typer.Option(
            help="margin: rows where the best two classes are close; change: rows whose label would move the classes "
            "most, for models that learn from examples."
        ),
    ] = "margin",
    diversity: Annotated[
        float, typer.Option(min=0, help="How much it counts that rows differ from each other; 0: not at all.")
    ] = 1.0,
    signatures: _options.ClassTable = None,
    with_known: _options.WithKnown = False,
    candidates: _options.Candidates = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="A CSV file to write too, with a column for your labels."),
    ] = None,
    device: _options.Device = None,
) -> None:
    """Name the rows whose labels would help a model most, in the order in which to ask.

    Fill in the column "label" of the file, and hand it to [b]zskl teach[/b] as --labels; rows are found by their id.

    Example: [b]zskl label-next birds.zskl new.csv -n 10 -o ask.csv[/b]

    Example: [b]zskl teach birds.zskl --features new.csv --labels ask.csv -o taught.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import predict, teach

    _options.check_with_known(with_known, signatures)
    _arrays.check_device(device)
    if out is not None:
        _files.check_target(out, model, features, signatures)
    with collect_warnings():
        found = teach.choose_rows_to_label(
            methods.load(model, device),
            features,
            n,
            strategy,
            signatures=signatures,
            with_known=with_known,
            candidates=candidates or None,
            diversity=diversity,
        )
    if out is not None:
        written = predict.write_predictions(out, found.table())
    show_table(_draw_table(found))
    if out is not None:
        mention(f"wrote {out}: {written} rows")


def _draw_table(found: Questions) -> Table:
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    for name in (found.named_by, "best", found.value, "second", found.value, "why"):
        picture.add_column(name, justify="right" if name == found.value else "left")
    for one in found.rows:
        pairs = zip(one.guesses, one.values, strict=True)
        cells = [str(one.row), *(str(cell) for pair in pairs for cell in pair), one.why]
        picture.add_row(*map(escape, cells))
    return picture
