"""`zskl export`: a model file as an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import startup
from zskl.cli.terminal import mention


def export(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The ONNX file to write.")],
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Fix the classes to those of the model: one input, less to compute.")
    ] = False,
) -> None:
    """Write a model as an ONNX file, scaling included: features, and signatures of any classes, to raw scores.

    Example: [b]zskl export birds.zskl -o birds.onnx[/b]
    """
    from zskl import export as exporting
    from zskl import files, methods

    startup.over()
    files.check_target(out, model)
    loaded = methods.load(model)
    exporting.to_onnx(loaded, out, signatures=not fixed)
    d, p, c = loaded.n_features_in_, loaded.signature_table_.matrix.shape[1], len(loaded.candidates_)
    inputs = f"features (n, {d})" if fixed else f"features (n, {d}) and signatures (c, {p})"
    mention(f"wrote {out}: {inputs} to scores{'' if fixed else ', by default'} of the {c} classes of {model}")
