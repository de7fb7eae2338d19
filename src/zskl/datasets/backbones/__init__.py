"""Networks that turn pictures into features, by name. A new one is a file with a `load` and a line here."""

from __future__ import annotations

from zskl.datasets.backbones import efficientnet_lite, onnx_file, timm_model
from zskl.datasets.backbones.backbone import Backbone
from zskl.parameters import did_you_mean

__all__ = ["Backbone", "load"]


def load(name: str, device: str | None = None) -> Backbone:
    """efficientnet-lite0, -lite1 or -lite2, "timm:NAME" or "onnx:FILE"."""
    kind, _, rest = str(name).partition(":")
    if kind.lower() in efficientnet_lite.SIZES and not rest:
        return efficientnet_lite.load(kind.lower(), device)
    if kind.lower() == "timm" and rest:
        return timm_model.load(rest, device)
    if kind.lower() == "onnx" and rest:
        return onnx_file.load(rest, device)
    known = efficientnet_lite.SIZES
    raise ValueError(
        f"backbone={name!r}{did_you_mean(name, known)}: expected {', '.join(known)}, timm:NAME or onnx:FILE"
    )
