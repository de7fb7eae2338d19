"""Networks that turn pictures into features, by name. To add one, write a file with a `load` and add a line here."""

from __future__ import annotations

from zskl.datasets.images.backbones import efficientnet_lite, onnx_file, timm_model
from zskl.datasets.images.backbones.backbone import Backbone
from zskl.parameters import did_you_mean

__all__ = ["Backbone", "extra_of", "implied", "load"]


def load(name: str, device: str | None = None) -> Backbone:
    """efficientnet-lite0, -lite1 or -lite2, "timm:NAME" or "onnx:FILE"."""
    extra = extra_of(name)
    kind, _, rest = str(name).partition(":")
    if extra == "timm":
        return timm_model.load(rest, device)
    return onnx_file.load(rest, device) if extra == "onnx" else efficientnet_lite.load(kind.lower(), device)


def implied(features: str) -> str | None:
    """The network that features are called after: efficientnet_lite2 is efficientnet-lite2."""
    name = features.lower().removesuffix(".mat").replace("_", "-")
    return name if name in efficientnet_lite.SIZES else None


def extra_of(name: str) -> str:
    """Which extra of zskl the backbone needs. An unknown name is refused, whatever is installed."""
    kind, _, rest = str(name).partition(":")
    if kind.lower() in efficientnet_lite.SIZES and not rest:
        return "images"
    if kind.lower() in ("timm", "onnx") and rest:
        return kind.lower()
    known = efficientnet_lite.SIZES
    raise ValueError(
        f"backbone is {name!r}{did_you_mean(name, known)}: expected {', '.join(known)}, timm:NAME or onnx:FILE"
    )
