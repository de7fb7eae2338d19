"""Model files: a loaded model equals the saved one, and a file is written whole or not at all."""

import io
import os

import numpy as np
import pandas as pd
import pytest

import zskl
from model_files import parts
from zskl import ZeroShotKernelClassifier, kernels
from zskl.kernels import Cauchy, Gaussian, Polynomial


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
    for attribute in ("classes_", "candidates_"):
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
    assert header["version"] == 2
    assert header["estimator"] == "kernel"
    assert header["classes"]["values"] == ["ant", "cat", "dog"]
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
