"""One image file → the array that a network reads: decode, orient, convert colours, crop, resize, normalise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

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
            return _rgb(image)
    except UnreadablePicture:
        raise
    except UnidentifiedImageError:
        empty = (os.path.getsize(source) if isinstance(source, str | os.PathLike) else source.seek(0, 2)) == 0
        raise UnreadablePicture(
            "the file is empty" if empty else "not an image, or of a kind that Pillow cannot read"
        ) from None
    except Exception as error:  # decoders raise anything for damaged files: OSError, SyntaxError, struct.error
        raise UnreadablePicture(str(error) or type(error).__name__) from error


def _rgb(image: Image) -> Image:
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
