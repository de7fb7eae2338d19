"""From what the command line names to a running service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve import class_book, demo, pictures, server
from zskl.serve.gallery import Gallery
from zskl.serve.limits import Limits
from zskl.serve.server import check
from zskl.serve.service import Service

__all__ = ["check", "run"]


def run(
    model: ZeroShotClassifier | None,
    path: Path | None,
    kept: Path | None,
    data: Dataset | None,
    names: Sequence[str] | None,
    images: Path | None,
    host: str,
    port: int,
    token: str | None,
    say: Callable[[str], object],
) -> None:
    """Serve a model loaded from `path`, or without one the digits, until it is stopped.

    Added classes are kept in the file `kept`, by default beside the model; those of the digits only if it is named.
    `names` are of the rows of the data, `images` the folder of their pictures.
    """
    if model is None or path is None:
        (model, data), title = demo.build(), "the digits"
    else:
        title, kept = path.name, kept or path.with_name(f"{path.name}.classes.jsonl")
    gallery = None
    if data is not None:
        gallery = Gallery(data, class_book.by_text(model), pictures.of(data, images, names), names)
    with class_book.kept_in(kept) if kept is not None else nullcontext() as file:
        service = Service(model, title, Limits(), file, gallery)

        def ready(address: str) -> None:
            say(f"zskl serves {title} at {address}")
            if gallery is not None and path is not None:
                say(f"rows of {gallery.data.name}: {len(gallery.X)}, with pictures: {int(gallery.pictured.sum())}")
            if kept is not None:
                say(f"added classes are kept in {kept}; there now: {len(service.book.added)}")

        server.run(service, host, port, token, ready)
