"""Photos over HTTP, with a small network of our own: what is read, and what is refused."""

import copy
import io
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from PIL import Image
from typer.testing import CliRunner

import served
from answers import refusal, same, sends
from served_models import strings
from zskl import cli, datasets, methods
from zskl.datasets.images.backbones import onnx_file
from zskl.datasets.images.backbones.backbone import Backbone
from zskl.serve import photos
from zskl.serve.limits import Limits
from zskl.serve.service import Service

SIZE = 8
WEIGHTS = np.random.default_rng(0).normal(size=(3 * SIZE * SIZE, 6)).astype(np.float32)


def prepare(image):
    return np.asarray(image.resize((SIZE, SIZE)), np.float32).transpose(2, 0, 1) / 255


def features(batch):
    return batch.reshape(len(batch), -1) @ WEIGHTS


NETWORK = photos.Photos("ours", Backbone("ours", "ours", prepare, features))


@pytest.fixture(scope="module")
def shown():
    """A model, and a client of a service that reads photos."""
    model, _ = strings()
    return model, served.client(Service(model, "m", Limits(), photos=NETWORK))


def picture(mode="RGB", size=(40, 30)):
    rng = np.random.default_rng(1)
    image = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))
    image.paste((250, 10, 10), (0, 0, size[0] // 2, size[1] // 2))
    return image.convert(mode)


def written(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def test_a_photo_is_answered_as_its_features_are(shown):
    model, client = shown
    assert client.get("/model").json()["photos"] == "ours"
    for mode in ("RGB", "L", "RGBA", "P"):
        for kind in ("PNG", "WEBP"):
            body = written(picture(mode), kind, **({"lossless": True} if kind == "WEBP" else {}))
            expected = features(prepare(Image.open(io.BytesIO(body)).convert("RGB"))[None])
            same(sends(client, body, f"image/{kind.lower()}"), model, expected, 5)
    for mode in ("RGB", "L", "CMYK"):
        body = written(picture(mode), "JPEG")
        same(
            sends(client, body, "image/jpeg"),
            model,
            features(prepare(Image.open(io.BytesIO(body)).convert("RGB"))[None]),
            5,
        )


def test_a_photo_is_turned_as_the_camera_was(shown):
    _, client = shown
    upright, turned = picture(), picture().transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it to the right to see it upright
    told = written(turned, "PNG", exif=exif)
    answers = [sends(client, body, "image/png").json()["predictions"] for body in (written(upright, "PNG"), told)]
    assert answers[0] == answers[1]


def test_photos_that_are_refused(shown):
    _, client = shown
    whole = written(picture(size=(400, 300)), "JPEG")
    wide = written(Image.new("1", (7100, 7100)), "PNG")
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    for body, kind, sentence in [
        (whole[: len(whole) // 2], "image/jpeg", "truncated"),
        (whole[:30], "image/jpeg", "cannot be read"),
        (b"", "image/jpeg", "empty"),
        (whole, "image/png", "not an image"),
        (svg, "image/png", "not an image"),
        (b"GIF89a" + b"x" * 100, "image/webp", "not an image"),
        (wide, "image/png", "decompression bomb"),
    ]:
        assert sentence in refusal(sends(client, body, kind), 422)
    for kind in ("image/svg+xml", "image/gif", "image/tiff", "image/*"):
        assert "Content-Type" in refusal(sends(client, svg, kind), 415)
    assert "make it smaller" in refusal(sends(client, bytes(photos.BYTES + 1), "image/png"), 413)
    frames = [picture(size=(20, 20)), Image.new("RGB", (20, 20))]
    moving = written(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    still = written(frames[0], "WEBP", lossless=True)
    assert sends(client, moving, "image/webp").json() == sends(client, still, "image/webp").json()  # the first frame
    moving = written(frames[0], "PNG", save_all=True, append_images=frames[1:])
    assert sends(client, moving, "image/png").json() == sends(client, written(frames[0], "PNG"), "image/png").json()
    assert "not an image" in refusal(sends(client, written(frames[0], "GIF"), "image/png"), 422)


def test_a_service_without_a_network_takes_no_photos(plain):
    assert "--backbone" in refusal(sends(plain[2], written(picture(), "PNG"), "image/png"), 409)


def test_the_network_is_named_or_implied(monkeypatch):
    plain, _ = strings()
    model = copy.copy(plain)
    _, data = served.small()
    said = []
    assert photos.load(None, data, model, said.append) is None
    with pytest.raises(ValueError, match="expected efficientnet-lite0"):
        photos.load("efficientnet-lite9", data, model, said.append)
    monkeypatch.setattr(photos.backbones, "load", lambda name, device: NETWORK._backbone)
    assert photos.load("onnx:some.onnx", None, model, said.append).name == "onnx:some.onnx"
    implied = replace(data, features="efficientnet_lite2")
    told = replace(implied, backbone="onnx:other.onnx")
    model.backbone_ = "efficientnet-lite1"
    for given, one in ((implied, model), (told, model), (told, plain), (implied, plain)):
        assert photos.load(None, given, one, said.append) is not None
    model.backbone_ = "timm:hf_hub:someone/net"  # a file may not send us anywhere
    assert photos.load(None, None, model, said.append) is None
    assert [line.removeprefix("photos are read by ") for line in said[:5]] == [
        "onnx:some.onnx, which --backbone names",
        "efficientnet-lite1, which the model file names",
        "efficientnet-lite1, which the model file names",
        "onnx:other.onnx, which the manifest of small names",
        "efficientnet-lite2, which the name of the features (efficientnet_lite2) names",
    ]
    assert "if you trust it, give it by --backbone" in said[5]


def test_the_network_travels_from_the_features_to_the_model_file(tmp_path, monkeypatch):
    X, y, table = served.toy()
    np.savez(tmp_path / "f.npz", features=X, labels=y, backbone="efficientnet-lite2")
    table.to_csv(tmp_path / "t.csv", index_label="class")
    data = datasets.make(tmp_path / "own", tmp_path / "f.npz", "labels", tmp_path / "t.csv", unseen=["dog"])
    assert data.backbone == datasets.load(tmp_path / "own").backbone == "efficientnet-lite2"
    run = CliRunner().invoke(cli.app, ["fit", str(tmp_path / "own"), "--no-tune", "-o", str(tmp_path / "m.zskl")])
    assert run.exit_code == 0, run.output
    model = methods.load(tmp_path / "m.zskl")
    assert model.backbone_ == "efficientnet-lite2"
    said = []
    monkeypatch.setattr(photos.backbones, "load", lambda name, device: onnx_file.load("not-here.onnx"))
    assert photos.load(None, None, model, said.append) is None  # the service runs without photos
    assert said[0].startswith("photos cannot be classified: ")
    assert not hasattr(model.fit(X, y, table), "backbone_")
