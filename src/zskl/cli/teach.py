"""`zskl teach` and `zskl adapt`: what a fitted model learns later, from labelled and from unlabelled rows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import options, startup
from zskl.cli.terminal import fail, mention


class Among(StrEnum):
    """The classes that unlabelled rows may be of."""

    unseen = "unseen"
    all = "all"


def teach(
    model: Annotated[Path, typer.Argument(help="A model file; the model itself stays as it is.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The model file to write.")],
    features: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"The examples, a row each: {options.TABLES}."),
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
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
) -> None:
    """Give a model labelled examples of any classes, known or new, and write the new model. Nothing is trained again.

    Example: [b]zskl teach birds.zskl --features new.csv --labels species -o taught.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import teach
    from zskl.cli.heard import noted

    startup.over()
    if remove and (wrong or signatures is not None):
        raise ValueError("--remove was given with --wrong or --signatures: these are for new examples; leave them out")
    if not remove and (features is None or labels is None):
        raise ValueError("--features or --labels is missing: expected the examples and the class of each; give both")
    _arrays.check_device(device)
    _files.check_target(out, model, features, signatures, labels if labels and Path(labels).exists() else None)
    fitted = methods.load(model, device)
    teach.check_ability(fitted, model, "add_examples")
    with noted():
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
    model: Annotated[Path, typer.Argument(help="A model file; the model itself stays as it is.")],
    features: Annotated[Path, typer.Argument(help=f"Unlabelled rows: {options.TABLES}.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The model file to write.")],
    candidates: Annotated[
        Among, typer.Option(help="What the rows may be of: unseen classes, or all classes of the model.")
    ] = Among.unseen,
    balance: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="1 if you know that each class has about as many of the rows; 0 if not."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Adapt even if nothing says that it helps.")] = False,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
) -> None:
    """Let a model learn from rows whose classes nobody knows, and write the new model.

    Exit code 1 if validation classes promise no gain: then nothing is written.

    Example: [b]zskl adapt birds.zskl new.csv -o adapted.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import teach
    from zskl.cli.heard import noted
    from zskl.estimators._class_means_adapt import NoClearGain

    startup.over()
    _arrays.check_device(device)
    _files.check_target(out, model, features)
    fitted = methods.load(model, device)
    teach.check_ability(fitted, model, "adapt")
    try:
        with noted():
            found = teach.adapt_to_file(fitted, features, candidates.value, force, balance)
    except NoClearGain as refusal:
        fail(f"{refusal} (here: --force); nothing was written", 1)
    found.after.save(out)
    for sentence in found.sentences():
        mention(sentence)
    mention(f"wrote {out}")
