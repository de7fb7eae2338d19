"""A photo in the body of a request → its features, by the network that made the features of the training rows."""

from __future__ import annotations

import io
import logging
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

log = logging.getLogger("zskl.serve")


@dataclass(frozen=True)
class Photos:
    """What turns photos into features. `name` is that of the network."""

    name: str
    _backbone: Backbone

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


def implied(data: Dataset | None) -> str | None:
    """The network whose features the data have, by their name: efficientnet_lite2 is efficientnet-lite2."""
    name = "" if data is None else (data.features or "").lower().removesuffix(".mat").replace("_", "-")
    return name if name.startswith("efficientnet-lite") else None


def load(
    wanted: str | None, data: Dataset | None, model: ZeroShotClassifier, say: Callable[[str], object]
) -> Photos | None:
    """The network that you name, or the one that the data imply if it is installed."""
    name = wanted or implied(data)
    if name is None:
        return None
    try:
        require("PIL", name, backbones.extra_of(name))
        backbone = backbones.load(name, model.device if hasattr(model, "device") else None)
    except ValueError as error:
        if wanted is not None:
            raise
        say(f"photos cannot be classified: {error}")
        return None
    photos = Photos(name, backbone)
    blank = _blank()
    width = photos.features(blank, "image/png").shape[1]
    if width != model.n_features_in_:
        raise ValueError(
            f"the backbone {name!r} makes {width} features: the model takes {model.n_features_in_}; "
            "name the backbone that made the training rows by --backbone"
        )
    say(
        f"photos are read by {name}" + ("" if wanted else f", which the features {data.features if data else ''} imply")
    )
    return photos


def _blank() -> bytes:
    from PIL.Image import new

    out = io.BytesIO()
    new("RGB", (64, 64), (127, 127, 127)).save(out, "PNG")
    return out.getvalue()
