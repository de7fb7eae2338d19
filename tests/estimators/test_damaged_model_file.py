"""Files that are not a model, or a damaged one, are refused in one sentence."""

import json
import re
from itertools import product

import numpy as np
import pytest
from safetensors.numpy import save_file

import zskl
from model_files import parts
from toy import make_toy
from zskl.estimators import model_file
from zskl.kernels import Gaussian


def refusal(path):
    """The one sentence with which the file is refused."""
    with pytest.raises(ValueError) as caught:
        zskl.load(path)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    return message


def rewrite(path, change_header=lambda header: None, change_arrays=lambda arrays: None):
    """The model file with a changed header or changed arrays, otherwise a sound safetensors file."""
    header, arrays = parts(path)
    change_header(header)
    change_arrays(arrays)
    save_file(arrays, path, metadata={"zskl": json.dumps(header)})


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a model file."""
    path = tmp_path_factory.mktemp("model") / "birds.zskl"
    make_toy().fitted(Gaussian(0.5)).save(path)
    return path.read_bytes()


@pytest.fixture
def saved(content, tmp_path):
    path = tmp_path / "birds.zskl"
    path.write_bytes(content)
    return path


def test_rewriting_without_change_is_harmless(toy, saved):
    rewrite(saved)
    np.testing.assert_array_equal(zskl.load(saved).compatibility(toy.X), toy.fitted(Gaussian(0.5)).compatibility(toy.X))


def test_a_missing_file(tmp_path):
    for path in (tmp_path / "none.zskl", tmp_path):
        with pytest.raises(FileNotFoundError, match=f"no model file at {re.escape(str(path))}: check the path"):
            zskl.load(path)


def test_truncated_at_any_length(saved, content):
    for length in [*range(24), *range(24, len(content) - 24, 97), *range(len(content) - 24, len(content))]:
        saved.write_bytes(content[:length])
        assert "truncated" in refusal(saved)


def test_longer_than_written(saved):
    saved.write_bytes(saved.read_bytes() + b"more")
    refusal(saved)


FOREIGN = {
    "empty": b"",
    "zip": b"PK\x03\x04" + b"\0" * 60,
    "pickle": b"\x80\x04\x95" + b"." * 100,
    "text": b"class,legs\nant,6\n" * 20,
    "ones": b"\xff" * 100,
    "zeros": b"\0" * 8,
    "no tensors": b"\2\0\0\0\0\0\0\0{}",
    "a list": b"\2\0\0\0\0\0\0\0[]",
    "no JSON": b"\3\0\0\0\0\0\0\0{x}",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file(tmp_path, content):
    path = tmp_path / "foreign.bin"
    path.write_bytes(content)
    refusal(path)


def raw_safetensors(dtype, size):
    """A safetensors file of one tensor of any type the format knows, without a library that does."""
    header = json.dumps({"a": {"dtype": dtype, "shape": [2], "data_offsets": [0, 2 * size]}}).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * (2 * size)


@pytest.mark.parametrize(
    ("dtype", "size"), [("F32", 4), ("I64", 8), ("BOOL", 1), ("BF16", 2), ("F16", 2), ("F8_E4M3", 1)]
)
def test_another_safetensors_file(tmp_path, dtype, size):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(raw_safetensors(dtype, size))
    assert "not one that zskl wrote" in refusal(path)


@pytest.mark.parametrize(
    "metadata", [{"format": "pt"}, {"zskl": "{"}, {"zskl": "[]"}, {"zskl": "null"}, {"zskl": "{}"}]
)
def test_a_safetensors_file_with_other_metadata(tmp_path, metadata):
    path = tmp_path / "weights.safetensors"
    save_file({"a": np.zeros(2)}, path, metadata=metadata)
    refusal(path)


def test_a_file_of_version_1_still_loads(saved):
    before = zskl.load(saved).compatibility(make_toy().X)
    rewrite(saved, lambda header: header.update(version=1))
    assert np.array_equal(zskl.load(saved).compatibility(make_toy().X), before)


def test_a_newer_format_and_an_unknown_estimator(saved, content):
    rewrite(saved, lambda header: header.update(version=model_file.VERSION + 1))
    assert re.search(r"format version 3, this zskl reads up to 2: upgrade zskl", refusal(saved))
    for version in (None, "1", 1.5):
        saved.write_bytes(content)
        rewrite(saved, lambda header, version=version: header.update(version=version))
        assert f"version {version!r}" in refusal(saved)
    saved.write_bytes(content)
    rewrite(saved, lambda header: header.update(estimator="os.system"))
    assert "estimator 'os.system', this zskl knows kernel" in refusal(saved)


HEADER = [
    *("estimator", "parameters", "learned", "scaling", "classes", "candidates", "signature_labels"),
    *("attribute_names", "feature_names", "n_features", "calibration", "temperatures"),
]


def test_the_header_has_no_other_keys(saved):
    assert sorted(parts(saved)[0]) == sorted(["format", "version", *HEADER])


@pytest.mark.parametrize("key", ["format", "version", *HEADER])
def test_a_header_without_a_key(saved, key):
    rewrite(saved, lambda header: header.pop(key))
    refusal(saved)


JUNK = [
    *(None, -1, 7, 0.5, "x", True, [], [1, "a"], {}, {"values": ["a"]}),
    {"dtype": "O", "values": None},
    {"dtype": "O", "values": ["ant", "cat", "cat"]},
    {"dtype": "<i8", "values": ["a", "b"]},
    {"dtype": "<i8", "values": [1]},
    {"dtype": "V3", "values": [[1]]},
]
SOUND = [("parameters", {}), *(("calibration", number) for number in (-1, 7, 0.5, True))]  # another model, but a model


@pytest.mark.parametrize("key", HEADER)
def test_junk_in_a_header_is_refused_or_does_no_harm(toy, saved, content, key):
    model = zskl.load(saved)
    for junk in JUNK:
        if (key, junk) not in SOUND:
            saved.write_bytes(content)
            rewrite(saved, lambda header, junk=junk: header.update({key: junk}))
            refused_or_same(toy, saved, model)


KERNELS = [
    *(None, 3, "gaussian", "laplace", ["gaussian"], {}, {"name": "gaussian"}),
    {"name": "gaussian", "parameters": {"sigma": "x"}},
    {"name": "gaussian", "parameters": {"sigma": -1}},
    {"name": ["gaussian"], "parameters": {}},
    {"name": "laplace", "parameters": {}},
]
NESTED = [
    *product(["parameters"], ["kernel"], KERNELS),
    *product(["learned"], ["kernel_"], KERNELS),
    *product(["learned"], ["predict", "unknown_"], [1]),
    *product(["parameters"], ["feature_scaling"], [None, 3, "center-center"]),
    *product(["parameters"], ["unknown"], [1]),
    *product(["scaling"], ["feature_scaling", "signature_scaling"], [None, 3, "l2", ["l3"], [["l2"]]]),
    ("candidates", "values", ["dog", "cat", "ant", "emu", "bee"]),
    ("classes", "values", ["cat", "ant", "dog"]),
    ("classes", "values", ["ant", "cat", "wasp"]),
    *product(["classes", "candidates", "signature_labels"], ["dtype"], [None, "<i8", "M8", 3]),
    *product(["classes", "candidates", "signature_labels"], ["values"], [[], ["ant"], "ant", [["ant", "cat"]] * 5]),
]


@pytest.mark.parametrize(("key", "name"), sorted({(key, name) for key, name, _ in NESTED}))
def test_junk_deep_in_a_header_is_refused_or_does_no_harm(toy, saved, content, key, name):
    model = zskl.load(saved)
    for junk in [junk for *place, junk in NESTED if place == [key, name]]:
        saved.write_bytes(content)
        rewrite(saved, lambda header, junk=junk: header[key].update({name: junk}))
        refused_or_same(toy, saved, model)


@pytest.mark.parametrize(
    ("key", "name"), [*product(["learned"], ["kernel_", "incoherence_"]), *product(["classes"], ["dtype", "values"])]
)
def test_a_header_without_a_nested_key(saved, key, name):
    rewrite(saved, lambda header: header[key].pop(name))
    refusal(saved)


def refused_or_same(toy, path, model):
    try:
        loaded = zskl.load(path)
    except ValueError:
        refusal(path)
        return
    np.testing.assert_array_equal(loaded.compatibility(toy.X), model.compatibility(toy.X))
    assert loaded.predict(toy.X).tolist() == model.predict(toy.X).tolist()
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.candidates_.tolist() == model.candidates_.tolist()


ARRAYS = ["learned.projection_", "signatures", "feature_scaling_", "signature_scaling_"]


def test_the_file_has_no_other_arrays(saved):
    assert sorted(parts(saved)[1]) == sorted(ARRAYS)


@pytest.mark.parametrize(
    "damage",
    [None, lambda a: a[:-1], lambda a: np.concatenate([a, a]), lambda a: a[..., :-1], lambda a: a[None],
     lambda a: a.ravel()[:1].reshape(()), lambda a: a[:0], lambda a: a * np.nan],
    ids=["missing", "a row less", "twice", "a column less", "a dimension more", "a number", "empty", "NaN"],
)  # fmt: skip
def test_damaged_arrays(saved, content, damage):
    for name in ARRAYS:

        def change(arrays, name=name):
            array = arrays.pop(name)
            if damage is not None:
                arrays[name] = np.ascontiguousarray(damage(array)).reshape(np.shape(damage(array)))

        saved.write_bytes(content)
        rewrite(saved, change_arrays=change)
        refusal(saved)


def test_an_unknown_array_cannot_replace_a_method(toy, saved):
    rewrite(saved, change_arrays=lambda arrays: arrays.update({"learned.predict": np.zeros(3)}))
    refused_or_same(toy, saved, toy.fitted(Gaussian(0.5)))
