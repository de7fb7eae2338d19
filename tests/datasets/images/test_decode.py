"""How image files are decoded: damage, colours, orientation, crop."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from drawn import colours, picture
from zskl.datasets.images.decode import Preprocessing, UnreadablePicture, read_picture
from zskl.datasets.images.embed import embed

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra images)")


def bomb(path, width, height):
    """A small PNG that claims to hold many pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def test_damaged_pictures_are_listed_and_left_out(tmp_path):
    folder = tmp_path / "pictures"
    good = picture(folder / "b-good.jpg", size=(64, 64))
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "a-truncated.jpg")
    (folder / "a-truncated.jpg").write_bytes((folder / "a-truncated.jpg").read_bytes()[:-1000])
    (folder / "c-empty.png").write_bytes(b"")
    (folder / "d-text.jpg").write_text("<html>404 not found</html>")
    (folder / "e-cut.png").write_bytes(picture(folder / "x.png", size=(64, 64)).read_bytes()[:60])
    bomb(folder / "f-bomb.png", 20_000, 20_000)
    bomb(folder / "g-big.png", 10_000, 9_000)  # above the limit, but only warned of by Pillow itself
    np.save(folder / "z.npy", [1])
    (folder / "x.png").unlink()
    done = embed(folder, tmp_path / "f.npz", colours()[0], batch_size=2)
    reasons = {Path(one.file).name: one.reason for one in done.skipped}
    assert list(reasons) == ["a-truncated.jpg", "c-empty.png", "d-text.jpg", "e-cut.png", "f-bomb.png", "g-big.png"]
    assert "truncated" in reasons["a-truncated.jpg"].lower()
    assert reasons["c-empty.png"] == "the file is empty"
    assert reasons["d-text.jpg"].startswith("not an image")
    assert "decompression bomb" in reasons["f-bomb.png"]
    assert "10000 × 9000 pixels, more than 89,478,485" in reasons["g-big.png"]
    with np.load(done.path) as saved:
        assert saved["files"].tolist() == [good.as_posix()]
        np.testing.assert_allclose(saved["features"], [[200, 100, 50]], atol=2)  # JPEG


def test_all_damaged_is_an_error_and_leaves_nothing(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"none of the 1 pictures could be used .*a\.jpg: not an image"):
        embed(tmp_path / "a.jpg", tmp_path / "f.npz", colours()[0])
    assert os.listdir(tmp_path) == ["a.jpg"]


@pytest.mark.parametrize(
    ("mode", "colour", "suffix", "expected"),
    [
        ("L", 120, ".png", (120, 120, 120)),
        ("1", 1, ".png", (255, 255, 255)),
        ("RGBA", (200, 100, 50, 255), ".png", (200, 100, 50)),
        ("RGBA", (0, 0, 0, 0), ".png", (255, 255, 255)),  # nothing but background
        ("LA", (100, 0), ".png", (255, 255, 255)),
        ("P", 0, ".gif", (0, 0, 0)),
        ("CMYK", (255, 0, 0, 0), ".jpg", (0, 255, 255)),
        ("CMYK", (255, 0, 0, 0), ".tif", (0, 255, 255)),
        ("I;16", 51_400, ".png", (200, 200, 200)),
    ],
)
def test_colour_modes(tmp_path, mode, colour, suffix, expected):
    path = tmp_path / f"a{suffix}"
    Image.new(mode, (16, 16), colour).save(path)
    image = read_picture(path)
    assert image.mode == "RGB"
    np.testing.assert_allclose(np.asarray(image).mean(axis=(0, 1)), expected, atol=2)


def test_floating_point_pixels_are_refused(tmp_path):
    Image.new("F", (4, 4), 0.5).save(tmp_path / "a.tif")
    with pytest.raises(UnreadablePicture, match="floating-point"):
        read_picture(tmp_path / "a.tif")


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_orientation_of_the_camera_is_respected(tmp_path, orientation):
    """A picture whose top left quarter is red is stored turned by each of the eight; it must be read upright."""
    upright = np.zeros((16, 32, 3), np.uint8)
    upright[:8, :16] = (255, 0, 0)
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(np.ascontiguousarray(stored)).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(np.asarray(read_picture(tmp_path / "a.png")), upright)


def test_preprocessing_is_a_centred_crop_resized_and_scaled():
    pixels = np.zeros((100, 200, 3), np.uint8)
    pixels[:, 60:140] = (255, 127, 0)  # the middle 80 columns; the crop keeps the middle 80 × 80
    prepare = Preprocessing((40, 40), 0.8, (127.0,) * 3, (128.0,) * 3)
    result = prepare(Image.fromarray(pixels))
    assert result.shape == (3, 40, 40)
    assert result.dtype == np.float32
    inner = result[:, :, 2:-2]
    for channel, value in enumerate((1.0, 0.0, -127 / 128)):
        np.testing.assert_allclose(inner[channel], value, atol=1e-6)
    flat = Preprocessing((20, 40), 1.0, (0.0,) * 3, (1.0,) * 3, "bilinear")(Image.fromarray(pixels))
    assert flat.shape == (3, 20, 40)
    np.testing.assert_allclose(flat[0, :, :10], 0, atol=1e-6)  # the whole width is kept: same shape
