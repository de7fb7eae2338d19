"""From what the command line names to a running service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from uvicorn import Config, Server

from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve import class_file, demo, photos, row_pictures, sentences, server, shared_class_file, workers
from zskl.serve.class_file import ClassFile
from zskl.serve.limits import Limits
from zskl.serve.rows import LoadedRows
from zskl.serve.schemas.model import Example
from zskl.serve.served_model import by_text
from zskl.serve.server import Address
from zskl.serve.service import Service
from zskl.serve.shared_class_file import SharedClassFile
from zskl.serve.shared_socket import Seats, Sharing

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
    count: int = 1,
) -> None:
    """Serve a model loaded from `path`, or the letters if there is none, until it is stopped.

    Added classes are kept in the file `kept`, by default beside the model; of the letters only if you name a
    file. `names` are the names of the rows of the data, `images` the folder of their pictures.
    `backbone` is the network that turns photos into features. `count` processes answer.
    """
    workers.check(count, getattr(model, "device", None))
    title = "letters" if path is None else path.name
    if path is not None:
        kept = kept or path.with_name(f"{path.name}.classes.jsonl")

    def serve(
        opened: Callable[[], ClassFile | SharedClassFile | None],
        tell: workers.Tell,
        over: workers.Over = lambda: False,
        sharing: Callable[[Config], Server] | None = None,
    ) -> None:
        """In this process, until it is over."""
        shown, loaded, examples = model, data, list[Example]()
        if shown is None:
            letters = demo.build()
            shown, loaded, examples = letters.model, letters.data, letters.examples
        rows = None
        if loaded is not None:
            rows = LoadedRows(loaded, by_text(shown), row_pictures.of(loaded, images, names), names)
        notes: list[str] = []  # said once the service is ready
        network = photos.load(backbone, loaded, shown, notes.append)
        service = Service(shown, title, Limits(), opened(), rows, examples, network, sentences.of(loaded, shown))

        def ready(at: str) -> None:
            lines = [f"zskl serves {title} at {at}", *notes]
            if address.public is not None and address.token is None:
                lines.append(
                    f"whoever reaches {address.public} can use it and add classes: give a token, or let the proxy ask"
                )
            if rows is not None and path is not None:
                lines.append(f"rows of {rows.data.name}: {len(rows.X)}, with pictures: {int(rows.pictured.sum())}")
            if kept is not None:
                lines.append(f"added classes are kept in {kept}; there now: {len(service.book.added)}")
            tell(lines)

        server.run(service, listening, address, ready, over, sharing)

    with ExitStack() as stack:
        listening = stack.enter_context(server.bound(address))  # a taken port is noticed before anything is trained
        if count == 1:
            serve(
                lambda: None if kept is None else stack.enter_context(class_file.opened(kept)),
                lambda lines: [say(line) for line in lines],
            )
            return
        place = kept or Path(stack.enter_context(TemporaryDirectory(prefix="zskl-"))) / "classes.jsonl"
        file, seats = stack.enter_context(shared_class_file.opened(place)), Seats(count)

        def work(place: int, tell: workers.Tell, over: workers.Over) -> None:
            serve(file.in_worker, tell, over, lambda config: Sharing(config, seats, place))

        workers.run(count, work, say, file.tend, listening.close)
