"""Model files: a loaded model equals the saved one, and a file is written whole or not at all."""

import ast
import io
import json
import os
import pickle
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

import zskl
from fits import parts
from toy import make_toy
from zskl import ZeroShotKernelClassifier, kernels
from zskl.estimators import model_file
from zskl.kernels import Cauchy, Gaussian, Polynomial

# Model file -----------------------------------------------------------------------------------------------------------


def integers(toy):
    codes = {label: 10 * k - 20 for k, label in enumerate(sorted(toy.table.index))}
    return toy.model().fit(toy.X, [codes[label] for label in toy.y], toy.table.rename(index=codes))


def several(toy):
    return toy.model().fit(toy.X, toy.y, pd.concat([toy.table, toy.table.iloc[::2] + 0.5]))


def calibrated(toy):
    model = toy.fitted()
    model.calibration_ = 0.1 + 0.2  # not a short decimal
    return model


MODELS = {
    "text labels": lambda t: t.fitted(),
    "object labels": lambda t: t.model().fit(t.X, t.y.astype(object), t.table),
    "one-hot": lambda t: t.model().fit(t.X, t.y),
    "integer labels": integers,
    "small integer labels": lambda t: t.model().fit(t.X, np.searchsorted(np.unique(t.y), t.y).astype(np.int8)),
    "boolean labels": lambda t: t.model().fit(t.X, t.y == "dog"),
    "float labels": lambda t: t.model().fit(t.X, (t.y == "dog") * 2.0),
    "labels in other scripts": lambda t: t.model().fit(t.X, np.char.add(t.y, "·猫\n\"'"), None),
    "nameless signatures": lambda t: t.model().fit(t.X, t.y, dict(zip(t.table.index, t.table.to_numpy(), strict=True))),
    "Gaussian object": lambda t: t.fitted(Gaussian(0.3)),
    "Cauchy object": lambda t: t.fitted(Cauchy(1 / 3), sigma=9.0),
    "Polynomial object": lambda t: t.fitted(Polynomial(3, 0.1)),
    "cauchy": lambda t: t.fitted("cauchy", sigma=0.3, incoherence=False),
    "polynomial": lambda t: t.fitted("polynomial", degree=3, bias=0.7, loss="softmax"),
    "NumPy numbers": lambda t: t.fitted(sigma=np.float32(0.1), epochs=np.int64(1), incoherence=np.bool_(False)),
    "RandomState": lambda t: t.fitted(random_state=np.random.RandomState(3)),
    "all signatures in the mean": lambda t: t.fitted(signature_mean="all"),
    "several descriptions": several,
    "calibrated": calibrated,
    "float32 rows": lambda t: t.model().fit(t.X.astype(np.float32), t.y, t.table),
    "feature names": lambda t: t.model().fit(pd.DataFrame(t.X, columns=list("uvwxyz")), t.y, t.table),
    "warm start": lambda t: t.fitted(warm_start=True),
    **{
        f"scaling {scaling}": lambda t, scaling=scaling: t.fitted(feature_scaling=scaling, signature_scaling=scaling)
        for scaling in ("none", "center-l2", "sqrt-center-l2", "l2-center-l2", "center", "l2", "sqrt")
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_loading_gives_bit_identical_scores(toy, tmp_path, name):
    model = MODELS[name](toy)
    path = tmp_path / "model.zskl"
    assert model.save(path) is None
    loaded = zskl.load(path)
    assert type(loaded) is ZeroShotKernelClassifier
    for X in (toy.X, toy.X_new.astype(np.float32)):
        X = pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X
        scores = loaded.compatibility(X)
        np.testing.assert_array_equal(scores, model.compatibility(X))
        assert scores.dtype == model.compatibility(X).dtype
        assert loaded.predict(X).tolist() == model.predict(X).tolist()
        assert loaded.predict(X).dtype == model.predict(X).dtype
        assert loaded.top_k(X, 2).tolist() == model.top_k(X, 2).tolist()
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    for attribute in ("classes_", "seen_classes_", "candidates_"):
        assert getattr(loaded, attribute).tolist() == getattr(model, attribute).tolist()
        assert getattr(loaded, attribute).dtype == getattr(model, attribute).dtype
    assert loaded.attribute_names_ == model.attribute_names_
    assert loaded.calibration_ == model.calibration_
    assert loaded.n_features_in_ == 6
    assert loaded.feature_scaling_.steps == model.feature_scaling_.steps
    expected = model.get_params()
    if name == "RandomState":  # a generator has no seed to keep
        expected["random_state"] = None
    assert loaded.get_params() == expected


def test_a_loaded_model_does_all_a_fitted_one_does(toy, tmp_path):
    model = toy.fitted()
    model.calibration_ = 10.0
    model.save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    shuffled = toy.table.loc[["emu", "bee"], ["fur", "wings", "size", "legs"]]
    np.testing.assert_array_equal(
        loaded.compatibility(toy.X_new, shuffled), model.compatibility(toy.X_new, toy.table.loc[["emu", "bee"]])
    )
    assert set(loaded.predict(toy.X)) <= {"emu", "bee"}
    loaded.save(tmp_path / "b.zskl")
    assert (tmp_path / "b.zskl").read_bytes() == (tmp_path / "a.zskl").read_bytes()
    np.testing.assert_array_equal(loaded.fit(toy.X, toy.y, toy.table).projection_, model.projection_)


def test_a_warm_start_goes_on_from_a_loaded_model(toy, tmp_path):
    toy.fitted(warm_start=True).save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    before = loaded.projection_.copy()
    loaded.set_params(learning_rate=1e-9).fit(toy.X, toy.y, toy.table)
    np.testing.assert_allclose(loaded.projection_, before, rtol=1e-3, atol=1e-6)


def test_paths_as_text_and_a_second_save(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toy.fitted(sigma=0.5).save("birds.zskl")
    toy.fitted().save("birds.zskl")
    assert zskl.load("birds.zskl").sigma == 1.0
    assert os.listdir(tmp_path) == ["birds.zskl"]
    assert os.stat("birds.zskl").st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask():
    umask = os.umask(0)
    os.umask(umask)
    return umask


def test_load_sets_the_device(toy, tmp_path):
    toy.fitted(device="cpu").save(tmp_path / "a.zskl")
    assert zskl.load(tmp_path / "a.zskl").device is None
    on_cpu = zskl.load(tmp_path / "a.zskl", device="cpu")
    assert on_cpu.device == "cpu"
    np.testing.assert_array_equal(on_cpu.compatibility(toy.X), toy.fitted().compatibility(toy.X))
    with pytest.raises(ValueError, match="device is 'nonsense'"):
        zskl.load(tmp_path / "a.zskl", device="nonsense").predict(toy.X)


def test_an_unregistered_kernel_is_refused_and_a_registered_one_kept(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_registered", dict(kernels._registered))

    class Narrow(Gaussian):
        name = "narrow"

    model = toy.fitted(Narrow(0.5))
    with pytest.raises(ValueError, match=r"Narrow is not registered.*zskl\.kernels\.register\(Narrow\)"):
        model.save(tmp_path / "a.zskl")
    assert os.listdir(tmp_path) == []
    kernels.register(Narrow)
    model.save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    assert loaded.kernel == Narrow(0.5)
    np.testing.assert_array_equal(loaded.compatibility(toy.X), model.compatibility(toy.X))
    del kernels._registered["narrow"]
    with pytest.raises(ValueError, match="unknown kernel 'narrow'"):
        zskl.load(tmp_path / "a.zskl")


def test_the_file_is_readable_by_safetensors_alone(toy, tmp_path):
    model = toy.fitted(Polynomial(3, 0.5))
    model.save(tmp_path / "a.zskl")
    header, arrays = parts(tmp_path / "a.zskl")
    assert header["format"] == "zskl-model"
    assert header["version"] == 3
    assert header["estimator"] == "kernel"
    assert header["classes"]["values"] == ["ant", "bee", "cat", "dog", "emu"]
    assert header["seen_classes"]["values"] == ["ant", "cat", "dog"]
    assert header["attribute_names"] == ["size", "legs", "wings", "fur"]
    assert (
        header["parameters"]["kernel"]
        == header["learned"]["kernel_"]
        == {"name": "polynomial", "parameters": {"degree": 3, "bias": 0.5}}
    )
    assert header["parameters"].keys() == model.get_params().keys()
    np.testing.assert_array_equal(arrays["learned.projection_"], model.projection_)
    np.testing.assert_array_equal(arrays["feature_scaling_"], toy.X.mean(axis=0))
    assert all(array.dtype.kind == "f" for array in arrays.values())


class Half(io.FileIO):
    """A file on a disk that fills up."""

    def write(self, content):
        super().write(content[: len(content) // 2])
        raise OSError("no space left")


def failing(error):
    def fail(*args, **kwargs):
        raise error("no space left")

    return fail


@pytest.mark.parametrize(
    ("call", "replacement"),
    [
        ("fdopen", Half),
        *((call, failing(error)) for call in ("fsync", "replace") for error in (OSError, KeyboardInterrupt)),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_write_that_fails_leaves_what_was_there(toy, tmp_path, monkeypatch, call, replacement, exists):
    path = tmp_path / "birds.zskl"
    if exists:
        toy.fitted(sigma=0.5).save(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    model = toy.fitted()
    with monkeypatch.context() as patch:
        patch.setattr(os, call, replacement)
        with pytest.raises((OSError, KeyboardInterrupt), match="no space left"):
            model.save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    model.save(path)
    np.testing.assert_array_equal(zskl.load(path).compatibility(toy.X), model.compatibility(toy.X))


def test_what_cannot_be_stored_leaves_what_was_there(toy, tmp_path):
    path = tmp_path / "birds.zskl"
    model = toy.fitted()
    model.save(path)
    before = path.read_bytes()
    model.calibration_ = float("nan")
    with pytest.raises(ValueError):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["birds.zskl"]


def test_a_missing_folder_and_an_unfitted_model(toy, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .*missing does not exist; create it first"):
        toy.fitted().save(tmp_path / "missing" / "a.zskl")
    with pytest.raises(ValueError, match="not fitted yet"):
        toy.model().save(tmp_path / "a.zskl")
    assert os.listdir(tmp_path) == []


# Damaged model file ---------------------------------------------------------------------------------------------------
# Files that are not a model, or a damaged one, are refused in one sentence.


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
    assert re.search(r"format version 4, this zskl reads up to 3: upgrade zskl", refusal(saved))
    for version in (None, "1", 1.5):
        saved.write_bytes(content)
        rewrite(saved, lambda header, version=version: header.update(version=version))
        assert f"version {version!r}" in refusal(saved)
    saved.write_bytes(content)
    rewrite(saved, lambda header: header.update(estimator="os.system"))
    assert "estimator 'os.system', this zskl knows kernel" in refusal(saved)


HEADER = [
    *("estimator", "parameters", "learned", "scaling", "classes", "seen_classes", "signature_labels"),
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
    ("classes", "values", ["ant", "cat", "dog", "emu", "bee"]),
    ("classes", "values", ["ant", "bee", "cat", "dog", "wasp"]),
    ("seen_classes", "values", ["cat", "ant", "dog"]),
    ("seen_classes", "values", ["ant", "cat", "wasp"]),
    *product(["classes", "seen_classes", "signature_labels"], ["dtype"], [None, "<i8", "M8", 3]),
    *product(["classes", "seen_classes", "signature_labels"], ["values"], [[], ["ant"], "ant", [["ant", "cat"]] * 5]),
]


@pytest.mark.parametrize(("key", "name"), sorted({(key, name) for key, name, _ in NESTED}))
def test_junk_deep_in_a_header_is_refused_or_does_no_harm(toy, saved, content, key, name):
    model = zskl.load(saved)
    for junk in [junk for *place, junk in NESTED if place == [key, name]]:
        saved.write_bytes(content)
        rewrite(saved, lambda header, junk=junk: header[key].update({name: junk}))
        refused_or_same(toy, saved, model)


@pytest.mark.parametrize(
    ("key", "name"),
    [*product(["learned"], ["kernel_", "incoherence_"]), *product(["classes", "seen_classes"], ["dtype", "values"])],
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
    assert loaded.seen_classes_.tolist() == model.seen_classes_.tolist()
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


# No pickle ------------------------------------------------------------------------------------------------------------
# Nothing in the library runs code from a file: no pickle, no evaluation of text.

SOURCE = Path(zskl.__file__).parent
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib.numpy_pickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "importlib.import_module", "torch.save", "joblib.load"}
NEEDED = {"np.load": "allow_pickle=False", "torch.load": "weights_only=True"}  # what makes such a call harmless
BY_NAME = {
    file: {"importlib.import_module("} for file in ("datasets/backbones.py", "pipelines.py")
}  # names out of a closed list


def runs_foreign_code(text):
    """What in a source text could turn data into code: `module` or `call` at line."""
    found = []
    for node in ast.walk(ast.parse(text)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        elif isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            needed = NEEDED.get(function)
            if function in FORBIDDEN_CALLS or (needed and needed not in map(ast.unparse, node.keywords)):
                found.append(f"{function}( at line {node.lineno}")
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            found.append(f"allow_pickle at line {node.value.lineno}")
        found += [f"{module} at line {node.lineno}" for module in modules if module in FORBIDDEN_MODULES]
    return found


def test_no_pickle_and_no_evaluation_anywhere_in_the_source():
    found = {str(file.relative_to(SOURCE)): runs_foreign_code(file.read_text("utf-8")) for file in SOURCE.rglob("*.py")}
    kinds = {file: {one.partition(" ")[0] for one in what} for file, what in found.items() if what}
    assert kinds == BY_NAME


@pytest.mark.parametrize(
    "planted",
    ["import pickle", "from pickle import loads", "def f(x):\n    return eval(x)", "import torch\ntorch.load('m')",
     "import numpy as np\nnp.load('m')", "load('m', allow_pickle=True)"],
)  # fmt: skip
def test_planted_pickle_is_found(planted):
    assert len(runs_foreign_code(planted)) == 1


def test_saving_and_loading_never_call_pickle(toy, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    toy.fitted(Gaussian(0.5)).save(tmp_path / "a.zskl")
    zskl.load(tmp_path / "a.zskl")
