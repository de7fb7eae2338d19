"""Any network in an ONNX file, run by onnxruntime.

Input: one float32 tensor, (n, 3, height, width) or (n, height, width, 3), RGB. What the file does not say can be set in
a JSON file beside it, `model.json` for `model.onnx`, with any of

    size           one number, or [height, width]; default: what the model's input says, else 224
    crop           which part of the shorter side is kept, centred; default 0.875
    mean, std      of red, green and blue, on the scale of pixels from 0 to 1; default ImageNet's
    interpolation  "bicubic" (default) or "bilinear"
    output         which output to use; default: the first

Features: that output, (n, d); of a map (n, d, h, w) the mean over its positions; anything else is flattened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.images.backbones.backbone import Backbone, require
from zskl.datasets.images.decode import Preprocessing
from zskl.parameters import did_you_mean

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


def load(file: str, device: str | None = None) -> Backbone:
    """The network in `file`; device None or "cpu": the CPU, "cuda": the GPU build of onnxruntime."""
    name = f"onnx:{file}"
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"no ONNX file at {path}: check the path after 'onnx:'")
    runtime = require("onnxruntime", name, "onnx")
    session = _session(runtime, path, device)
    settings, described = _settings(path)
    given = session.get_inputs()
    if len(given) != 1 or given[0].type != "tensor(float)" or len(given[0].shape) != 4:
        found = ", ".join(f"{one.name} {one.type} {one.shape}" for one in given)
        raise ValueError(f"{path} takes {found}: expected one input, tensor(float) of 4 dimensions")
    shape = given[0].shape
    channels_last = shape[1] != 3 and shape[3] == 3
    size = _size(path, shape[1:3] if channels_last else shape[2:4], settings.size)
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
    return Backbone(name, f"onnx {digest}", prepare, run if rows is None else _in_blocks(run, rows))


def _session(runtime: Any, path: Path, device: str | None) -> Any:
    kind = str(device or "cpu").partition(":")[0]
    provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(kind)
    available = runtime.get_available_providers()
    if provider not in available:
        raise ValueError(f"device is {device!r}: this onnxruntime offers {', '.join(available)}; use device='cpu'")
    try:
        return runtime.InferenceSession(str(path), providers=[provider])
    except Exception as error:  # onnxruntime's own exceptions share no base class
        raise ValueError(f"{path} is not a usable ONNX model ({error}): export it again") from error


def _settings(path: Path) -> tuple[Settings, bytes]:
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
            raise ValueError(f"{beside} sets {key!r}{did_you_mean(key, NAMES)}: expected {', '.join(NAMES)}")
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


def _size(path: Path, fixed: list[int | str], asked: int | list[int] | None) -> tuple[int, int]:
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


def _in_blocks(run: Callable[..., NDArray[np.float32]], rows: int) -> Callable[..., NDArray[np.float32]]:
    """`run` for a model that takes exactly `rows` pictures at a time; the last block is filled up by repetition."""

    def features(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        blocks = [batch[start : start + rows] for start in range(0, len(batch), rows)]
        filled = [np.resize(block, (rows, *block.shape[1:])) for block in blocks]
        return np.concatenate([run(block) for block in filled])[: len(batch)]

    return features
