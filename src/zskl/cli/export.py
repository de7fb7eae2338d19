"""`zskl export`: a model file as an ONNX file, or its vectors as a search index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from zskl.cli import _options
from zskl.cli._terminal import mention
from zskl.cli._warnings import collect_warnings


def export(
    model: _options.ModelFile,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The ONNX file, or the index, to write.")],
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Fix the classes to those of the model: one input, less to compute.")
    ] = False,
    index: Annotated[
        Literal["usearch", "faiss"] | None,
        typer.Option(help="Instead: the class vectors of the model as a search index, their names in FILE.json."),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --index: the rows of this features file in place of the classes."),
    ] = None,
) -> None:
    """Write a model as an ONNX file, scaling included: features, and signatures of any classes, to raw scores.

    With --index, write vectors whose inner products order classes and rows as the model does.

    Example: [b]zskl export birds.zskl -o birds.onnx[/b]

    Example: [b]zskl export birds.zskl -o classes.usearch --index usearch[/b]
    """
    from zskl import _files, methods
    from zskl import export as exporting
    from zskl.batch.predict import write_row_index

    if index is None and rows is not None:
        raise ValueError(f"--rows {rows} was given without --index: say which library searches them, usearch or faiss")
    if index is not None and fixed:
        raise ValueError("--fixed and --index were both given: --fixed is for ONNX files; leave one out")
    _files.check_target(out, model, rows)
    loaded = methods.load(model)
    if index is not None:
        if rows is None:
            exporting.to_index(loaded, out, index)
            what = f"the vectors of the {len(loaded.candidates_)} classes of {model}"
        else:
            with collect_warnings():
                what = f"the vectors of {write_row_index(loaded, rows, out, index)} rows of {rows}"
        mention(f"wrote {out}: {what} for {index}; their names are in {out}.json")
        return
    exporting.to_onnx(loaded, out, signatures=not fixed)
    d, p, c = loaded.n_features_in_, loaded.signature_table_.matrix.shape[1], len(loaded.candidates_)
    inputs = f"features (n, {d})" if fixed else f"features (n, {d}) and signatures (c, {p})"
    mention(f"wrote {out}: {inputs} to scores{'' if fixed else ', by default'} of the {c} classes of {model}")
