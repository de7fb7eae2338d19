"""Pictures → a file of features that every other command reads."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.images import backbones
from zskl.datasets.images.backbones.backbone import Backbone, require
from zskl.datasets.images.decode import UnreadablePicture, read_picture
from zskl.datasets.images.find import Picture, find_pictures
from zskl.datasets.images.resume import UnfinishedFeatures
from zskl.datasets.tables import TABLES
from zskl.parameters import count, listed

if TYPE_CHECKING:
    from PIL.Image import Image

OTHER_FILES = frozenset((*TABLES, ".txt", ".json", ".html", ".md", ".pdf", ".xls", ".xlsx", ".zip"))
READERS = min(8, os.cpu_count() or 1)


@dataclass(frozen=True)
class Skipped:
    """A picture without features, and the reason."""

    file: str
    reason: str


@dataclass(frozen=True, eq=False)
class Embedded:
    """What `embed` wrote.

    Parameters
    ----------
    path : Path
        The .npz file.
    rows : int
        How many pictures have features.
    dimension : int
        How many features each picture has.
    labels : array of shape (rows,) or None
        The class of each picture, if the pictures are in folders of classes.
    skipped : tuple of Skipped
        The pictures without features, each with the reason.
    resumed : int
        How many pictures an earlier call had done.

    Examples
    --------
    >>> from pathlib import Path
    >>> from zskl.datasets.images import Embedded
    >>> Embedded(Path("features.npz"), 300, 1280, None, (), 0).rows
    300
    """

    path: Path
    rows: int
    dimension: int
    labels: NDArray[np.str_] | None
    skipped: tuple[Skipped, ...]
    resumed: int


def embed(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    backbone: str | Backbone = "efficientnet-lite2",
    batch_size: int = 32,
    device: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Embedded:
    """Write the features of pictures to an .npz file, in the order of their paths.

    The file holds `features` (n, d) float32, `files` (n,), `labels` (n,) if the pictures are in folders of classes, and
    the name of the `backbone`. Pictures that cannot be read are left out and reported. An interrupted call leaves
    `out`.partial behind, and the next call with the same backbone continues from there.

    Parameters
    ----------
    sources : path-like or iterable of path-like
        Folders, flat or with one folder per class inside, or picture files.
    out : path-like
        The .npz file to write.
    backbone : str or Backbone, default="efficientnet-lite2"
        The network: efficientnet-lite0, -lite1 or -lite2, timm:NAME, onnx:FILE, or a `Backbone`.
    batch_size : int, default=32
        How many pictures the network gets at once.
    device : str, default=None
        "cpu" or "cuda". None takes a GPU if the backbone finds one, else the CPU.
    progress : callable, default=None
        Called with (pictures done, pictures in all) at the start and after each batch.

    Returns
    -------
    Embedded
        What was written, and which pictures were skipped.

    Raises
    ------
    ValueError
        If there are no pictures, none of them can be read, or the backbone needs a package that is not installed.

    Examples
    --------
    >>> from zskl.datasets.images import embed
    >>> done = embed("photos", "features.npz")  # doctest: +SKIP
    >>> done.rows, done.dimension  # doctest: +SKIP
    (300, 1280)
    """
    out = _checked_target(out)
    count("batch_size", batch_size)
    name, extra = (backbone, backbones.extra_of(backbone)) if isinstance(backbone, str) else (backbone.name, "images")
    pictures = {picture.key(): picture for picture in find_pictures(sources)}
    _check_pictures(pictures.values())
    require("PIL", name, extra)
    network = backbones.load(backbone, device) if isinstance(backbone, str) else backbone
    report = progress or (lambda done, total: None)
    unfinished = UnfinishedFeatures(out, network.key)
    todo = [key for key in pictures if key not in unfinished.rows and key not in unfinished.reasons]
    done = resumed = len(pictures) - len(todo)
    report(done, len(pictures))
    batches = [todo[start : start + batch_size] for start in range(0, len(todo), batch_size)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\b")  # about damaged metadata, for example
        for batch in _prepared(batches, pictures, network):
            _embed_batch(batch, network, unfinished)
            done += len(batch)
            report(done, len(pictures))
    skipped = tuple(
        Skipped(pictures[key].path.as_posix(), unfinished.reasons[key]) for key in pictures if key in unfinished.reasons
    )
    kept = {key: picture for key, picture in pictures.items() if key in unfinished.rows}
    if not kept:
        unfinished.remove()
        reasons = listed(f"{one.file}: {one.reason}" for one in skipped)
        raise ValueError(f"none of the {len(skipped)} pictures could be used ({reasons}): check the files")
    arrays = {"files": _texts(picture.path.as_posix() for picture in kept.values()), "backbone": np.array(network.name)}
    labels = [picture.label for picture in kept.values() if picture.label is not None]
    if labels:
        arrays["labels"] = _texts(labels)
    dimension = unfinished.finish(list(kept), **arrays)
    return Embedded(out, len(kept), dimension, arrays.get("labels"), skipped, resumed)


def _checked_target(out: str | os.PathLike[str]) -> Path:
    """The path, refused before the work starts if it cannot be written."""
    path = Path(out)
    if path.suffix.lower() != ".npz":
        raise ValueError(f"out is {str(path)!r}: expected a file name that ends in .npz")
    if path.is_dir() or not path.parent.is_dir():
        fault = "it is a folder" if path.is_dir() else f"the folder {path.parent} does not exist; create it first"
        raise ValueError(f"cannot write {path}: {fault}")
    return path


def _check_pictures(pictures: Iterable[Picture]) -> None:
    """Refuse files whose names say that they are not pictures; a file that you name may end in anything else."""
    other = [str(one.path) for one in pictures if one.path.suffix.lower() in OTHER_FILES]
    if other:
        raise ValueError(f"{listed(other)} is not a picture: expected folders of pictures, or picture files")


def _prepared(
    batches: list[list[str]], pictures: dict[str, Picture], network: Backbone
) -> Iterator[dict[str, NDArray[np.float32] | str]]:
    """Each batch: key → array or reason. The next batch is read while the network works on this one."""
    with ThreadPoolExecutor(READERS) as pool:
        ahead: dict[str, Future[NDArray[np.float32] | str]] | None = None
        for batch in [*batches, []]:
            coming = {key: pool.submit(_prepare, pictures[key].path, network.prepare) for key in batch}
            if ahead is not None:
                yield {key: future.result() for key, future in ahead.items()}
            ahead = coming


def _prepare(path: Path, prepare: Callable[[Image], NDArray[np.float32]]) -> NDArray[np.float32] | str:
    try:
        return prepare(read_picture(path))
    except UnreadablePicture as error:
        return str(error)


def _embed_batch(
    batch: dict[str, NDArray[np.float32] | str], network: Backbone, unfinished: UnfinishedFeatures
) -> None:
    reasons = {key: value for key, value in batch.items() if isinstance(value, str)}
    inputs = {key: value for key, value in batch.items() if not isinstance(value, str)}
    keys = list(inputs)
    features = np.empty((0, 0), np.float32)
    if keys:
        features = network.features(np.stack(list(inputs.values())))
        if features.ndim != 2 or len(features) != len(keys):
            raise ValueError(
                f"the backbone {network.name!r} returned an array of shape {features.shape} for {len(keys)} pictures: "
                f"expected ({len(keys)}, d)"
            )
        finite: NDArray[np.bool_] = np.asarray(np.isfinite(features).all(axis=1))
        reasons |= {
            key: "the network returned NaN or infinity" for key, good in zip(keys, finite, strict=True) if not good
        }
        keys, features = [key for key in keys if key not in reasons], features[finite]
    unfinished.add(keys, features.astype(np.float32, copy=False), reasons)


def _texts(values: Iterable[str]) -> NDArray[np.str_]:
    return np.array(list(values), dtype=np.str_)
