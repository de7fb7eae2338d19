"""Pictures → features: find the files, decode them, and embed them with a backbone."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from zskl._files import replace_file, write_atomically
from zskl._validation import check_count, list_values
from zskl.datasets.backbones import Backbone, backbone_of_features, extra_of, import_or_explain, load_backbone
from zskl.datasets.tables import TABLES

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Backbone", "Embedded", "backbone_of_features", "embed", "extra_of", "load_backbone"]

# What counts as a picture inside a folder. A file that you name yourself may end in anything but in OTHER_FILES.
EXTENSIONS = frozenset(
    (
        *(".avif", ".bmp", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpeg", ".jpg"),
        *(".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"),
    )
)
OTHER_FILES = frozenset((*TABLES, ".txt", ".json", ".html", ".md", ".pdf", ".xls", ".xlsx", ".zip"))
FOLDER_DEPTH = 8  # deep enough to find misplaced pictures; ends the walk if links form a circle
READERS = min(8, os.cpu_count() or 1)
MAX_PIXELS = 89_478_485  # Pillow's own limit: 1/4 GB of RGB; a larger picture may be a decompression bomb
BACKGROUND = (255, 255, 255)  # what shows through transparent pixels


class UnreadablePicture(Exception):
    """The file is not a picture that can be used; the text says why."""


def read_picture(
    source: str | os.PathLike[str] | BinaryIO, formats: Sequence[str] | None = None, most: int = MAX_PIXELS
) -> Image:
    """The picture as it should look, in RGB; of an animation, its first frame. `formats` are Pillow's names."""
    from PIL import ImageOps, UnidentifiedImageError
    from PIL.Image import open as open_image

    try:
        with open_image(source, formats=formats) as image:
            width, height = image.size
            if width * height > most:
                raise UnreadablePicture(f"{width} × {height} pixels, more than {most:,}: a decompression bomb?")
            image.load()
            # A copy would take a hundred megabytes of a large photo.
            ImageOps.exif_transpose(image, in_place=True)
            return convert_to_rgb(image)
    except UnreadablePicture:
        raise
    except UnidentifiedImageError:
        empty = (os.path.getsize(source) if isinstance(source, str | os.PathLike) else source.seek(0, 2)) == 0
        fault = "the file is empty" if empty else "not an image, or of a kind that Pillow cannot read"
        raise UnreadablePicture(fault) from None
    except Exception as error:  # decoders raise anything for damaged files: OSError, SyntaxError, struct.error
        raise UnreadablePicture(str(error) or type(error).__name__) from error


def convert_to_rgb(image: Image) -> Image:
    """Any mode → RGB: 16-bit gray is scaled down, transparent pixels are drawn over white."""
    from PIL.Image import alpha_composite, fromarray, new

    # 16 bits per pixel, also where Pillow holds them in 32.
    if image.mode.startswith("I"):
        gray = np.asarray(image).astype(np.int64)
        if gray.min() < 0 or gray.max() > 65535:
            raise UnreadablePicture(f"pixels from {gray.min()} to {gray.max()}: expected at most 16 bits")
        return fromarray((gray // 256).astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise UnreadablePicture("pixels are floating-point numbers: expected 8 or 16 bits per channel")
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        layer = image.convert("RGBA")
        base = new("RGBA", layer.size, (*BACKGROUND, 255))
        return alpha_composite(base, layer).convert("RGB")
    return image.convert("RGB")


@dataclass(frozen=True)
class Picture:
    """A file, and its class if it is in the folder of a class."""

    path: Path
    label: str | None

    def key(self) -> str:
        """Path, size and time of the file: it changes when the file does."""
        state = self.path.stat()
        return f"{self.path.resolve()}|{state.st_size}|{state.st_mtime_ns}"


def find_pictures(sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Picture]:
    """The pictures of all sources, files or folders, flat or with a folder per class; by path, each file once."""
    paths = [Path(sources)] if isinstance(sources, str | os.PathLike) else [Path(source) for source in sources]
    found: dict[Path, Picture] = {}
    for picture in sorted((one for path in paths for one in _list_pictures(path)), key=lambda one: one.path.as_posix()):
        found.setdefault(picture.path.resolve(), picture)
    pictures = list(found.values())
    if not pictures:
        raise ValueError(
            f"no pictures in {', '.join(map(str, paths)) or 'an empty list of sources'}: expected files that end in "
            f"{' '.join(sorted(EXTENSIONS))}"
        )
    bare = next((one.path for one in pictures if one.label is None), None)
    classed = next((one.path for one in pictures if one.label is not None), None)
    if bare is not None and classed is not None:
        advice = "either all pictures have a class, or none; embed them separately"
        raise ValueError(f"{classed} is in the folder of a class and {bare} is not: {advice}")
    return pictures


def _list_pictures(source: Path) -> Iterator[Picture]:
    if source.is_file():
        yield Picture(source, None)
        return
    if not source.is_dir():
        raise FileNotFoundError(f"no picture or folder at {source}: check the path")
    for folder, below, files in os.walk(source, followlinks=True):
        inside = Path(folder).relative_to(source).parts
        below[:] = [name for name in below if not name.startswith(".") and len(inside) < FOLDER_DEPTH]
        pictures = [name for name in files if not name.startswith(".") and Path(name).suffix.lower() in EXTENSIONS]
        if pictures and len(inside) > 1:
            raise ValueError(
                f"{Path(folder, pictures[0])} is {len(inside)} folders deep in {source}: expected "
                f"{source}/CLASS/PICTURE; name the folder that contains the classes, such as {Path(folder).parent}"
            )
        for name in pictures:
            yield Picture(Path(folder, name), inside[0] if inside else None)


class UnfinishedFeatures:
    """Features or reasons by key, in shards beside `target`, each written whole; those of another backbone go."""

    def __init__(self, target: Path, backbone_key: str) -> None:
        folder = self.folder = target.with_name(f"{target.name}.partial")
        self.target = target
        self.rows: dict[str, tuple[Path, int]] = {}
        self.reasons: dict[str, str] = {}
        note = folder / "maker.txt"
        empty = folder.is_dir() and not any(folder.iterdir())
        if folder.exists() and not note.is_file() and not empty:
            raise ValueError(f"{folder} holds something else than unfinished features: move it, or name another file")
        if note.is_file() and note.read_text(encoding="utf-8") != backbone_key:
            self.remove()
        folder.mkdir(exist_ok=True)
        write_atomically(note, backbone_key.encode())
        self._shards = 0
        for shard in sorted(folder.glob("shard-*.npz")):
            self._shards = int(shard.stem.removeprefix("shard-")) + 1
            self._register(shard)

    def add(self, keys: Sequence[str], features: NDArray[np.float32], reasons: Mapping[str, str]) -> None:
        """Keep a batch: `features` (len(keys), d), and the keys without features with their reasons."""
        shard = self.folder / f"shard-{self._shards:06d}.npz"
        self._shards += 1
        good, bad, why = (np.array(list(texts), dtype=np.str_) for texts in (keys, reasons, reasons.values()))
        with replace_file(shard) as file:
            np.savez(file, features=features, keys=good, bad_keys=bad, reasons=why)
        self._register(shard)

    def finish(self, keys: Sequence[str], **arrays: NDArray[np.generic]) -> int:
        """Write the target: `features`, whose row i belongs to keys[i], and further arrays. Returns the dimension d."""
        row_of = {key: row for row, key in enumerate(keys)}
        features: NDArray[np.float32] | None = None
        for shard in dict.fromkeys(self.rows[key][0] for key in keys):
            with np.load(shard, allow_pickle=False) as content:
                block, names = content["features"], content["keys"].tolist()
            # On disk: all shards together may not fit in memory.
            if features is None:
                shape = (len(keys), block.shape[1])
                features = np.lib.format.open_memmap(self.folder / "all.npy", mode="w+", dtype=np.float32, shape=shape)
            for row, name in enumerate(names):
                if name in row_of and self.rows[name] == (shard, row):
                    features[row_of[name]] = block[row]
        assert features is not None
        dimension = int(features.shape[1])
        with replace_file(self.target) as file:
            np.savez(file, features=features, **arrays)  # type: ignore[arg-type]
        del features
        self.remove()
        return dimension

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    def _register(self, shard: Path) -> None:
        try:
            with shard.open("rb") as file, np.load(file, allow_pickle=False) as content:
                names, shape = content["keys"].tolist(), content["features"].shape
                reasons = dict(zip(content["bad_keys"].tolist(), content["reasons"].tolist(), strict=True))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            # Damaged, for example by a full disk: its pictures are embedded again.
            return
        if len(shape) == 2 and shape[0] == len(names):
            self.rows.update({name: (shard, row) for row, name in enumerate(names)})
            self.reasons.update(reasons)


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
        The network: efficientnet-lite0, -lite1 or -lite2, timm:NAME, onnx:FILE, or a `Backbone`. "A+B" stands for
        several, whose features lie side by side; the file says which are whose.
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
    out = Path(out)
    # Refused before the work starts.
    if out.suffix.lower() != ".npz":
        raise ValueError(f"out is {str(out)!r}: expected a file name that ends in .npz")
    if out.is_dir() or not out.parent.is_dir():
        fault = "it is a folder" if out.is_dir() else f"the folder {out.parent} does not exist; create it first"
        raise ValueError(f"cannot write {out}: {fault}")
    check_count("batch_size", batch_size)
    name, extra = (backbone, extra_of(backbone)) if isinstance(backbone, str) else (backbone.name, "images")
    pictures = {picture.key(): picture for picture in find_pictures(sources)}
    other = [str(one.path) for one in pictures.values() if one.path.suffix.lower() in OTHER_FILES]
    if other:
        raise ValueError(f"{list_values(other)} is not a picture: expected folders of pictures, or picture files")
    import_or_explain("PIL", name, extra)
    network = load_backbone(backbone, device) if isinstance(backbone, str) else backbone
    report = progress or (lambda done, total: None)
    unfinished = UnfinishedFeatures(out, network.key)
    todo = [key for key in pictures if key not in unfinished.rows and key not in unfinished.reasons]
    done = resumed = len(pictures) - len(todo)
    report(done, len(pictures))
    batches = [todo[start : start + batch_size] for start in range(0, len(todo), batch_size)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\b")  # about damaged metadata, for example
        for batch in _prepare_batches(batches, pictures, network):
            _embed_batch(batch, network, unfinished)
            done += len(batch)
            report(done, len(pictures))
    reasons = unfinished.reasons
    skipped = tuple(Skipped(pictures[key].path.as_posix(), reasons[key]) for key in pictures if key in reasons)
    kept = {key: picture for key, picture in pictures.items() if key in unfinished.rows}
    if not kept:
        unfinished.remove()
        why = list_values(f"{one.file}: {one.reason}" for one in skipped)
        raise ValueError(f"none of the {len(skipped)} pictures could be used ({why}): check the files")
    files = [picture.path.as_posix() for picture in kept.values()]
    arrays = {"files": np.array(files, dtype=np.str_), "backbone": np.array(network.name)}
    if network.blocks is not None:
        arrays["block_names"] = np.array(list(network.blocks), dtype=np.str_)
        arrays["block_widths"] = np.array(list(network.blocks.values()))
    labels = [picture.label for picture in kept.values() if picture.label is not None]
    if labels:
        arrays["labels"] = np.array(labels, dtype=np.str_)
    dimension = unfinished.finish(list(kept), **arrays)
    return Embedded(out, len(kept), dimension, arrays.get("labels"), skipped, resumed)


def _prepare_batches(
    batches: list[list[str]], pictures: dict[str, Picture], network: Backbone
) -> Iterator[dict[str, NDArray[np.float32] | str]]:
    """Each batch: key → array or reason. The next batch is read while the network works on this one."""
    with ThreadPoolExecutor(READERS) as pool:
        ahead: dict[str, Future[NDArray[np.float32] | str]] | None = None
        for batch in [*batches, []]:
            coming = {key: pool.submit(_prepare_picture, pictures[key].path, network.prepare) for key in batch}
            if ahead is not None:
                yield {key: future.result() for key, future in ahead.items()}
            ahead = coming


def _prepare_picture(path: Path, prepare: Callable[[Image], NDArray[np.float32]]) -> NDArray[np.float32] | str:
    try:
        return prepare(read_picture(path))
    except UnreadablePicture as error:
        return str(error)


def _embed_batch(batch: dict[str, NDArray[np.float32] | str], network: Backbone, target: UnfinishedFeatures) -> None:
    reasons = {key: value for key, value in batch.items() if isinstance(value, str)}
    inputs = {key: value for key, value in batch.items() if not isinstance(value, str)}
    keys, features = list(inputs), np.empty((0, 0), np.float32)
    if keys:
        features = network.features(np.stack(list(inputs.values())))
        if features.ndim != 2 or len(features) != len(keys):
            raise ValueError(
                f"the backbone {network.name!r} returned an array of shape {features.shape} for {len(keys)} pictures: "
                f"expected ({len(keys)}, d)"
            )
        finite: NDArray[np.bool_] = np.asarray(np.isfinite(features).all(axis=1))
        reasons |= {key: "the network returned NaN or infinity" for key, ok in zip(keys, finite, strict=True) if not ok}
        keys, features = [key for key in keys if key not in reasons], features[finite]
    target.add(keys, features.astype(np.float32, copy=False), reasons)
