"""What a network that turns pictures into features must offer."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import check_device

if TYPE_CHECKING:
    from PIL.Image import Image

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


def require(package: str, name: str, extra: str) -> Any:
    """The imported package, or a sentence that says what to install for the backbone `name`."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ValueError(
            f"the backbone {name!r} needs the package {error.name or package}, which is not installed: "
            f"pip install 'zskl[{extra}]'"
        ) from error


def on_torch(model: Any, device: str | None) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
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
