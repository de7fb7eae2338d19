"""Any model of `timm` that has pretrained weights, with the input that its own configuration asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.images.backbones.backbone import Backbone, on_torch, require

if TYPE_CHECKING:
    from PIL.Image import Image


def load(model_name: str, device: str | None = None) -> Backbone:
    """The pooled features that timm gives without the classifier (`num_classes=0`); weights come over the network."""
    name = f"timm:{model_name}"
    timm = require("timm", name, "timm")
    data = require("timm.data", name, "timm")
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

    return Backbone(name, f"{name} {timm.__version__}", prepare, on_torch(model, device))
