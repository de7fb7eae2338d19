"""How image files are decoded: damage, colours, orientation, crop."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from image_files import colours, draw_birds, picture
from zskl.datasets.backbones import Backbone, Preprocessing
from zskl.datasets.images import UnreadablePicture, embed, find_pictures, read_picture

# Decode

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


# Which pictures are embedded, and how an interrupted run continues.


@pytest.fixture
def birds(tmp_path):
    return draw_birds(tmp_path / "birds")


def test_folder_per_class(birds, tmp_path):
    network, _ = colours()
    done = embed(birds, tmp_path / "f.npz", network)
    with np.load(done.path, allow_pickle=False) as saved:
        assert saved["features"].dtype == np.float32
        np.testing.assert_allclose(saved["features"][:, 0], [10, 11, 12, 0, 1, 2], rtol=1e-6)
        assert saved["labels"].tolist() == ["owl"] * 3 + ["wren"] * 3
        assert saved["files"].tolist() == [
            (birds / kind / f"{number}.png").as_posix() for kind in ("owl", "wren") for number in range(3)
        ]
        assert str(saved["backbone"]) == "colours"
    assert (done.rows, done.dimension, done.skipped, done.resumed) == (6, 3, (), 0)
    assert done.labels is not None
    assert done.labels.tolist() == ["owl"] * 3 + ["wren"] * 3
    assert sorted(os.listdir(tmp_path)) == ["birds", "f.npz"]


def test_flat_folder_and_files_have_no_labels(birds, tmp_path):
    done = embed(birds / "owl", tmp_path / "f.npz", colours()[0])
    assert done.labels is None
    with np.load(done.path) as saved:
        assert sorted(saved.files) == ["backbone", "features", "files"]
    files = [birds / "wren" / "2.png", birds / "wren" / "0.png", birds / "wren" / "2.png"]
    embed(files, tmp_path / "g.npz", colours()[0])
    with np.load(tmp_path / "g.npz") as saved:
        np.testing.assert_allclose(saved["features"][:, 0], [0, 2], rtol=1e-6)  # sorted, each file once


def test_linked_folders_are_followed_and_circles_end(birds):
    (birds / "dove").symlink_to(birds / "owl")
    assert {one.label for one in find_pictures(birds)} == {"dove", "wren"}  # each file once, under the first path
    (birds / "wren" / "round").symlink_to(birds)
    with pytest.raises(ValueError, match="folders deep"):
        find_pictures(birds)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda birds: birds / "nowhere", "no picture or folder at"),
        (lambda birds: birds.parent, "is 2 folders deep in .*: expected .*CLASS/PICTURE; name .* such as .*birds$"),
        (
            lambda birds: [birds, birds / "extra.png"],
            "wren.* is in the folder of a class and|owl.* is in the folder",
        ),
        (lambda birds: [], "no pictures in an empty list"),
        (lambda birds: birds / "empty", "no pictures in .*empty: expected files that end in .avif"),
    ],
)
def test_wrong_sources_are_refused(birds, make, sentence):
    (birds / "empty").mkdir()
    source = make(birds)
    if isinstance(source, list) and source:
        picture(birds.parent / "extra.png")
        source[1] = birds.parent / "extra.png"
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        find_pictures(source)


@pytest.mark.parametrize("out", ["f.npy", "nowhere/f.npz", "folder.npz"])
def test_a_target_that_cannot_be_written_is_refused_before_any_work(birds, tmp_path, out):
    (tmp_path / "folder.npz").mkdir()
    network, seen = colours()
    with pytest.raises(ValueError, match=r"ends in .npz|does not exist|it is a folder"):
        embed(birds, tmp_path / out, network)
    assert seen == []


def interrupted_after(pictures):
    def progress(done, total):
        if done >= pictures:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_run_continues(birds, tmp_path):
    (birds / "owl" / "9-broken.png").write_bytes(b"x")
    out = tmp_path / "f.npz"
    with pytest.raises(KeyboardInterrupt):
        embed(birds, out, colours()[0], batch_size=2, progress=interrupted_after(4))
    assert not out.exists()
    network, seen = colours()
    calls = []
    done = embed(birds, out, network, batch_size=2, progress=lambda *state: calls.append(state))
    assert sum(seen) == 3
    assert calls[0] == (4, 7)
    assert calls[-1] == (7, 7)
    assert (done.resumed, done.rows, len(done.skipped)) == (4, 6, 1)
    with np.load(out) as saved:
        np.testing.assert_allclose(saved["features"][:, 0], [10, 11, 12, 0, 1, 2], rtol=1e-6)
    assert sorted(os.listdir(tmp_path)) == ["birds", "f.npz"]


@pytest.mark.parametrize("change", ["touched", "other backbone", "shard damaged", "shard of another kind", "removed"])
def test_only_features_of_unchanged_files_and_the_same_backbone_are_reused(birds, tmp_path, change):
    out = tmp_path / "f.npz"
    with pytest.raises(KeyboardInterrupt):
        embed(birds, out, colours()[0], batch_size=2, progress=interrupted_after(4))
    first = tmp_path / "f.npz.partial" / "shard-000000.npz"
    if change == "touched":
        picture(birds / "owl" / "0.png", (99, 0, 0))
        os.utime(birds / "owl" / "0.png", (1, 1))
    elif change == "shard damaged":
        first.write_bytes(first.read_bytes()[:100])
    elif change == "shard of another kind":
        np.savez(first, other=np.ones(3))
    elif change == "removed":
        (birds / "owl" / "0.png").unlink()
    network, seen = colours("colours 2" if change == "other backbone" else "colours 1")
    embed(birds, out, network, batch_size=2)
    fresh = {"touched": 3, "other backbone": 6, "removed": 2}.get(change, 4)
    assert sum(seen) == fresh
    with np.load(out) as saved:
        expected = [99 if change == "touched" else 10, 11, 12, 0, 1, 2][1 if change == "removed" else 0 :]
        np.testing.assert_allclose(saved["features"][:, 0], expected, rtol=1e-6)


def test_a_folder_of_the_user_is_not_touched(birds, tmp_path):
    (tmp_path / "f.npz.partial").mkdir()
    (tmp_path / "f.npz.partial" / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="something else than unfinished features"):
        embed(birds, tmp_path / "f.npz", colours()[0])
    assert (tmp_path / "f.npz.partial" / "thesis.txt").exists()


def test_wrong_output_of_a_network_is_refused(birds, tmp_path):
    network, _ = colours()
    flat = Backbone("flat", "flat", network.prepare, lambda batch: batch.mean(axis=(1, 2, 3)))
    with pytest.raises(ValueError, match=r"'flat' returned an array of shape \(6,\) for 6 pictures: expected \(6, d\)"):
        embed(birds, tmp_path / "f.npz", flat)
    divides = Backbone("0/0", "0/0", network.prepare, lambda batch: np.where(batch > 11, np.nan, batch)[:, :, 0, 0])
    done = embed(birds, tmp_path / "g.npz", divides)
    assert [one.reason for one in done.skipped] == ["the network returned NaN or infinity"]
    assert done.rows == 5
