"""`zskl data make` and `zskl data check`: a user's own data."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from zskl.cli import options, startup
from zskl.cli.layout import show
from zskl.cli.terminal import fail, mention, say

if TYPE_CHECKING:
    from zskl.datasets.health import ClassCount, Health

SHOWN = 30  # classes in a table; of more, the smallest and the largest


class Missing(StrEnum):
    """What becomes of empty cells."""

    mean = "mean"
    drop = "drop"


class Categories(StrEnum):
    """What becomes of columns of words."""

    onehot = "onehot"


class Format(StrEnum):
    """What `zskl data make` writes."""

    zskl = "zskl"
    xlsa17 = "xlsa17"


def make(
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    features: Annotated[
        Path,
        typer.Option(metavar="FILE", help=f"A row per sample: {options.TABLES}; 'id' names rows."),
    ],
    labels: Annotated[
        str, typer.Option(metavar="FILE|COLUMN", help="The classes: a column of the features, or a file, also .txt.")
    ],
    signatures: Annotated[
        Path,
        typer.Option(metavar="FILE", help="A row per class, the column 'class' naming it: the same kinds of files."),
    ],
    unseen: Annotated[list[str] | None, typer.Option(metavar="NAME", help="An unseen class, repeatable.")] = None,
    unseen_fraction: Annotated[
        float | None, typer.Option(help="Instead: the fraction of classes to hide, drawn with the seed. Default: 0.25.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits.")] = 0,
    format_: Annotated[
        Format, typer.Option("--format", help="zskl, or xlsa17 for the .mat files that other projects read.")
    ] = Format.zskl,
    name: Annotated[str | None, typer.Option(help="The name of the dataset. Default: that of the folder.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset that is there.")] = False,
    missing: Annotated[
        Missing | None,
        typer.Option(help="Empty cells of features: fill in the mean of training rows, or drop the row."),
    ] = None,
    categories: Annotated[
        Categories | None, typer.Option(help="Columns of words: a feature of 0 and 1 for each word of training rows.")
    ] = None,
    keep_column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Keep a column that looks like an identifier, repeatable."),
    ] = None,
) -> None:
    """Make a dataset folder from your own files: features, labels and a description of each class.

    Example: [b]zskl data make birds --features birds.csv --labels species --signatures traits.csv --unseen kiwi[/b]

    Example: [b]zskl data make birds --features rows.csv.gz --labels species --signatures traits.xlsx --missing mean[/b]
    """
    from tempfile import TemporaryDirectory

    from zskl import datasets
    from zskl.cli.heard import noted
    from zskl.datasets import folder, xlsa17
    from zskl.datasets.folder import open_new_folder

    startup.over()
    if unseen and unseen_fraction is not None:
        raise ValueError("--unseen and --unseen-fraction were both given: name the unseen classes, or have them drawn")
    how: dict[str, Any] = {
        "unseen": unseen or None,
        "unseen_fraction": 0.25 if unseen_fraction is None else unseen_fraction,
        "seed": seed,
        "name": name or out.resolve().name,
        "missing": None if missing is None else missing.value,
        "categories": None if categories is None else categories.value,
        "keep_columns": keep_column or (),
    }
    with noted():
        if format_ == Format.zskl:
            data = datasets.make(out, features, labels, signatures, force=force, **how)
            found = datasets.check(data)
        else:
            with (
                open_new_folder(out, force) as place,
                TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as scratch,
            ):
                made = Path(scratch) / out.name
                data = datasets.make(made, features, labels, signatures, **how)
                xlsa17.write_benchmark(data, place, folder.read_row_names(made))
                found = datasets.check(data)
                del data
    seen = sum(one.seen for one in found.classes)
    mention(
        f"wrote {out}: {found.rows} rows × {found.features} features, {seen} seen and {len(found.classes) - seen} "
        f"unseen classes, {found.attributes} attributes"
    )
    _list(found)


def check(
    path: options.Data,
    root: options.Root = None,
    features: options.Features = None,
    signatures: options.Signatures = None,
    folds: options.Folds = None,
) -> None:
    """Show what is in a dataset and list what is wrong with it; exit code 1 if there are faults.

    Example: [b]zskl data check birds[/b]
    """
    import statistics

    from zskl import datasets
    from zskl.cli import named
    from zskl.datasets import folder, xlsa17

    startup.over()
    try:
        if folder.is_dataset(path):
            folder.check_features(Path(path))
        found = datasets.check(named.load_dataset(path, root, features, signatures, folds))
    except ValueError as error:
        if Path(path).exists() or path.upper() in xlsa17.BENCHMARKS:  # the dataset is there, so this is a fault of it
            fail(f"{path} has 1 fault: {error}", 1)
        raise
    say(f"{found.name}: {found.rows} rows × {found.features} features, {found.attributes} attributes")
    parts = Table("part", "rows", box=box.SIMPLE)
    parts.columns[1].justify = "right"
    for part, rows in found.parts.items():
        parts.add_row(part, str(rows))
    show(parts)
    show(_class_table(found.classes))
    sizes = [one.rows for one in found.classes]
    say(f"rows per class: {min(sizes)} to {max(sizes)}, median {statistics.median(sizes):g}")
    _list(found)
    if not found.healthy:
        fail(f"{found.name} has {len(found.faults)} fault(s): {' | '.join(found.faults)}", 1)
    say("no faults")


def _list(found: Health) -> None:
    for sentence in found.faults:
        say(f"fault: {sentence}")
    for sentence in found.notes:
        mention(f"note: {sentence}")


def _class_table(classes: tuple[ClassCount, ...]) -> Table:
    table = Table("class", "", "rows", "trainval", "test seen", "test unseen", box=box.SIMPLE)
    for column in table.columns[2:]:
        column.justify = "right"
    shown: list[ClassCount | None] = list(classes)
    if len(classes) > SHOWN:
        ordered = sorted(classes, key=lambda one: one.rows)
        shown = [*ordered[: SHOWN // 2], None, *ordered[-SHOWN // 2 :]]
    for one in shown:
        if one is None:
            table.add_row(f"… {len(classes) - SHOWN} more", *[""] * 5)
            continue
        counts = (one.rows, one.trainval, one.test_seen, one.test_unseen)
        table.add_row(str(one.label), "seen" if one.seen else "unseen", *(str(count or "") for count in counts))
    return table
