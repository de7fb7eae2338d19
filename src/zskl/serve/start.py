"""From what the command line names to a running service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve import class_file, demo, photos, row_pictures, sentences, server
from zskl.serve.limits import Limits
from zskl.serve.rows import LoadedRows
from zskl.serve.schemas.model import Example
from zskl.serve.served_model import by_text
from zskl.serve.server import Address
from zskl.serve.service import Service

__all__ = ["Address", "run"]


def run(
    model: ZeroShotClassifier | None,
    path: Path | None,
    kept: Path | None,
    data: Dataset | None,
    names: Sequence[str] | None,
    images: Path | None,
    backbone: str | None,
    address: Address,
    say: Callable[[str], object],
) -> None:
    """Serve a model loaded from `path`, or the letters if there is none, until it is stopped.

    Added classes are kept in the file `kept`, by default beside the model; of the letters only if you name a
    file. `names` are the names of the rows of the data, `images` the folder of their pictures.
    `backbone` is the network that turns photos into features.
    """
    with ExitStack() as stack:
        listening = stack.enter_context(server.bound(address))  # a taken port is noticed before anything is trained
        examples: list[Example] = []
        if model is None or path is None:
            shown, title = demo.build(), "letters"
            model, data, examples = shown.model, shown.data, shown.examples
        else:
            title, kept = path.name, kept or path.with_name(f"{path.name}.classes.jsonl")
        rows = None
        if data is not None:
            rows = LoadedRows(data, by_text(model), row_pictures.of(data, images, names), names)
        notes: list[str] = []  # said once the service is ready
        network = photos.load(backbone, data, model, notes.append)
        file = None if kept is None else stack.enter_context(class_file.opened(kept))
        service = Service(model, title, Limits(), file, rows, examples, network, sentences.of(data, model))

        def ready(at: str) -> None:
            say(f"zskl serves {title} at {at}")
            for note in notes:
                say(note)
            if address.public is not None and address.token is None:
                say(f"whoever reaches {address.public} can use it and add classes: give a token, or let the proxy ask")
            if rows is not None and path is not None:
                say(f"rows of {rows.data.name}: {len(rows.X)}, with pictures: {int(rows.pictured.sum())}")
            if kept is not None:
                say(f"added classes are kept in {kept}; there now: {len(service.book.added)}")

        server.run(service, listening, address, ready)
