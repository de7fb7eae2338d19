"""A photo in the body of a request → its features, by the network that made the features of the training rows."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from zskl.datasets import Dataset
from zskl.datasets.images import backbones
from zskl.datasets.images.backbones.backbone import Backbone, require
from zskl.datasets.images.decode import UnreadablePicture, read_picture
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.bodies import Body, Features
from zskl.serve.refusal import Refusal

BYTES = 20 << 20  # of a photo
PIXELS = 40_000_000  # of a photo: what a good camera makes
FORMATS = {"image/jpeg": ("JPEG",), "image/png": ("PNG",), "image/webp": ("WEBP",)}


@dataclass(frozen=True)
class Photos:
    """What turns photos of at most so many `bytes` into features. `name` is that of the network."""

    name: str
    _backbone: Backbone
    bytes: int = BYTES

    def features(self, body: Body, kind: str) -> Features:
        """(1, d) of a photo of a media type. Nothing of it is kept."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", module=r"PIL\b")  # about damaged metadata, for example
                image = read_picture(io.BytesIO(body), FORMATS[kind], PIXELS)
                found = self._backbone.features(self._backbone.prepare(image)[None])
        except UnreadablePicture as error:
            raise Refusal(422, f"the photo cannot be read: {error}; send a whole {kind} file") from None
        if not np.isfinite(found).all():
            raise Refusal(422, "the network gave no number for this photo: send another one")
        return np.ascontiguousarray(found, np.float32)


def named(wanted: str | None, data: Dataset | None, model: ZeroShotClassifier) -> tuple[str, str] | None:
    """The network that made the features of the training rows, and who names it."""
    if wanted is not None:
        return wanted, "--backbone"
    told = getattr(model, "backbone_", None)
    if told is not None:
        return told, "the model file"
    if data is not None and data.backbone is not None:
        return data.backbone, f"the manifest of {data.name}"
    name = None if data is None else backbones.implied(data.features)
    return None if data is None or name is None else (name, f"the name of the features ({data.features})")


def load(
    wanted: str | None, data: Dataset | None, model: ZeroShotClassifier, say: Callable[[str], object]
) -> Photos | None:
    """The network that you name; or the one that the model file or the data name, if it is installed."""
    found = named(wanted, data, model)
    if found is None:
        return None
    name, source = found
    try:
        if wanted is None and name.startswith("timm:") and set("/:") & set(name.removeprefix("timm:")):
            raise ValueError(f"{name!r} names a place to fetch weights from; if you trust it, give it by --backbone")
        require("PIL", name, backbones.extra_of(name))
        photos = Photos(name, backbones.load(name, model.device if hasattr(model, "device") else None))
        width = photos.features(_blank(), "image/png").shape[1]
        if width != model.n_features_in_:
            raise ValueError(
                f"the backbone {name!r} makes {width} features: the model takes {model.n_features_in_}; "
                "name the backbone that made the training rows by --backbone"
            )
    except (ValueError, OSError) as error:
        if wanted is not None:
            raise
        say(f"photos cannot be classified: {error} ({source} names {name})")
        return None
    say(f"photos are read by {name}, which {source} names")
    return photos


def _blank() -> bytes:
    from PIL.Image import new

    out = io.BytesIO()
    new("RGB", (64, 64), (127, 127, 127)).save(out, "PNG")
    return out.getvalue()
