"""`zskl data embed`: pictures → features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import startup
from zskl.cli.signals import STOPS, told
from zskl.cli.terminal import fail, mention, say


def embed(
    pictures: Annotated[
        list[Path], typer.Argument(metavar="IMAGES...", help="Folders (one folder per class, or flat) or image files.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .npz file to write.")],
    backbone: Annotated[
        str, typer.Option(help="efficientnet-lite0, -lite1 or -lite2, timm:NAME or onnx:FILE.")
    ] = "efficientnet-lite2",
    batch_size: Annotated[int, typer.Option(min=1, help="Pictures that go through the network together.")] = 32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda. Default: a GPU if there is one.")] = None,
) -> None:
    """Compute the features of pictures. After an interruption, run it again; finished pictures are skipped.

    Example: [b]zskl data embed photos/ -o features.npz[/b]
    """
    from zskl import _files
    from zskl.cli.bars import progress_display
    from zskl.datasets import images

    startup.over()
    _files.check_target(out, *pictures)
    try:
        with progress_display() as bars:
            task = bars.add_task("pictures", total=None)
            done = images.embed(
                pictures,
                out,
                backbone,
                batch_size,
                device,
                progress=lambda done, total: bars.update(task, total=total, completed=done),
            )
    except STOPS as stop:
        how, code = told(stop)
        fail(f"{how}; the same command continues", code)
    for one in done.skipped:
        say(f"skipped {one.file}: {one.reason}")
    classes = "no classes" if done.labels is None else f"{len(set(done.labels.tolist()))} classes"
    resumed = f", {done.resumed} of them done before" if done.resumed else ""
    mention(
        f"{done.rows} pictures{resumed}, {done.dimension} features, {classes}, {len(done.skipped)} skipped: {done.path}"
    )
