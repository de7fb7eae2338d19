"""`zskl serve`: a model behind HTTP, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import _options
from zskl.cli._terminal import mention, say


def serve(
    model: Annotated[Path | None, typer.Argument(help="A model file.")] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATASET",
            help="A dataset folder or name: rows to look at and to rank.",
            autocompletion=_options.complete_datasets,
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Pictures of these rows, found by DIR/rows.csv (file, row) or by the rows' names."
        ),
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The network that made the features, to classify photos by: efficientnet-lite2, onnx:FILE, timm:NAME. "
            "Default: the one that the data's features name.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at. Any but this machine's own needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at; 0 picks a free one.")] = 8000,
    demo: Annotated[bool, typer.Option("--demo", help="Serve letters: a model and data that need no files.")] = False,
    token: Annotated[
        str | None,
        typer.Option(envvar="ZSKL_TOKEN", help="A secret that every request must send; better set in the environment."),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The address under which a proxy offers the service, such as https://birds.example/."
        ),
    ] = None,
    classes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The file that keeps added classes. Default: MODEL.classes.jsonl; --demo keeps none."
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many processes answer, for more requests a second than one core can serve. They share classes "
            "and examples. Not on Windows and macOS.",
        ),
    ] = 1,
    device: _options.Device = None,
    root: _options.Root = None,
    features: _options.Features = None,
    signatures: _options.Signatures = None,
) -> None:
    """Serve a model over HTTP, with a page to describe classes, classify rows and look at classes.

    Example: [b]zskl serve --demo[/b]

    Example: [b]zskl serve birds.zskl --data birds --images pictures --port 8080[/b]
    """
    from zskl import datasets, methods
    from zskl.cli import _datasets

    try:
        from zskl.serve import server
    except ImportError as error:
        raise ValueError(f"zskl serve needs the package {error.name}: pip install 'zskl[serve]'") from None
    if demo == (model is not None):
        raise ValueError("zskl serve takes a model file, or --demo" + (", not both" if demo else ""))
    if demo and any(given is not None for given in (data, images, device, root, features, signatures)):
        raise ValueError("--demo brings its own model and data: leave out --data, --images, --device and the like")
    if images is not None and data is None:
        raise ValueError("--images was given without --data: name the dataset whose rows the pictures show")
    address = server.Address(host, port, token, public_url)
    fitted = None if model is None else methods.load(model, device)
    loaded = None if data is None else _datasets.load_dataset(data, root, features, signatures)
    names = None if data is None else datasets.row_names(data, root, _datasets.pick_features(data, features or []))
    server.run_service(fitted, model, classes, loaded, names, images, backbone, address, say, workers)
    mention("stopped")
