"""Exported models, run by onnxruntime on the CPU, score as `compatibility` does; their files say what predict needs."""

import json
import os
import sys
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from command import zskl
from executed import ROOT, execute
from tolerances import FORMULA, SUMS
from zskl import ZeroShotKernelClassifier, datasets, export, files, kernels, methods
from zskl import scaling as scalings

onnx = pytest.importorskip("onnx", reason="onnx is not installed: exported models")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: exported models")

TOLERANCE = SUMS.single  # of scores up to 1, and of the largest score where that is above 1
SCALINGS = [
    *scalings.SCALINGS,
    *("sqrt", "l2", "center", "standardize", "sqrt-l2", "l2-standardize", "sqrt-standardize-l2", "center-sqrt-l2"),
]
KERNELS = {
    "gaussian": {"kernel": "gaussian", "sigma": 0.7},
    "gaussian-ort": {"kernel": "gaussian", "sigma": 0.7, "incoherence": True},
    "cauchy": {"kernel": "cauchy", "sigma": 1.5},
    "cauchy-ort": {"kernel": "cauchy", "sigma": 1.5, "incoherence": True},
    "polynomial-1": {"kernel": "polynomial", "degree": 1, "bias": 0.0},
    "polynomial-2": {"kernel": "polynomial", "degree": 2},
    "polynomial-3": {"kernel": "polynomial", "degree": 3, "bias": 0.5},
    "polynomial-6": {"kernel": "polynomial", "degree": 6},
}


def opened(file):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def exported(model, tmp_path, signatures=True):
    export.to_onnx(model, tmp_path / "model.onnx", signatures=signatures)
    return opened(tmp_path / "model.onnx")


def scored(session, X, signatures=None):
    inputs = {"features": np.asarray(X, dtype=np.float32)}
    if signatures is not None:
        inputs["signatures"] = np.asarray(signatures, dtype=np.float32)
    (scores,) = session.run(None, inputs)
    assert scores.dtype == np.float32
    return scores


def about(session):
    return json.loads(session.get_modelmeta().custom_metadata_map["zskl"])


def apart(found, expected):
    """The largest difference, in units of the largest score where that is above 1."""
    assert found.shape == expected.shape
    assert np.isfinite(expected).all()
    return np.abs(found - expected).max() / max(1, np.abs(expected).max())


def both_precisions(model, session, X, table=None):
    """The same rows as float32 and, as they came, as float64."""
    found = scored(session, X, None if table is None else table.to_numpy())
    X = np.asarray(X, dtype=np.float64)
    return max(
        apart(found, model.compatibility(X.astype(np.float32), table)), apart(found, model.compatibility(X, table))
    )


def hard_rows(model, toy):
    """Rows of all kinds: of seen and unseen classes, drawn, zeros, the mean itself, and of any size."""
    rng = np.random.default_rng(0)
    steps = model.feature_scaling_.steps
    rows = [toy.X, toy.X_new, rng.normal(size=(20, 6)), np.zeros((1, 6))]
    if steps[:1] in (("center",), ("standardize",)):
        rows += [model.feature_scaling_.mean[None]]
    if "l2" in steps:
        rows += [toy.X[:5] * 1e30, toy.X[:5] * 1e-30, toy.X[:5] * 1e-3, toy.X[:5] + 1e3]
    return np.concatenate(rows)


# Agreement ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_under_every_scaling(toy, tmp_path, kernel, scaling):
    settings = {"incoherence": False, "init": "polarised", **KERNELS[kernel]}
    model = toy.fitted(feature_scaling=scaling, signature_scaling=scaling, **settings)
    X = hard_rows(model, toy)
    if "l2" not in scaling:
        X = X / np.abs(X).max()  # scores of order 1
    two, one = exported(model, tmp_path), exported(model, tmp_path, signatures=False)
    new = toy.table.loc[["emu", "dog"]] * np.array([[1.0], [0.3]]) + 0.2
    assert both_precisions(model, two, X) < TOLERANCE
    assert both_precisions(model, two, X, new) < TOLERANCE
    assert both_precisions(model, one, X) < TOLERANCE


@pytest.mark.parametrize("name", methods.METHODS)
def test_every_method_on_digits(name, tmp_path):
    data = datasets.load("digits")
    rows = data.parts["trainval"]
    model = methods.build(name, {"random_state": 0}).fit(data.X[rows], data.y[rows], data.signatures)
    if model.kind in export.NEVER:
        for signatures in (True, False):
            with pytest.raises(
                ValueError, match=r"'sse' cannot be exported .*number of rows.*kinds that can are kernel"
            ):
                export.to_onnx(model, tmp_path / "model.onnx", signatures=signatures)
        assert list(tmp_path.iterdir()) == []
        return
    tolerance = 8 * TOLERANCE if name == "iap" else TOLERANCE  # sums of logarithms of numbers near 0
    assert both_precisions(model, exported(model, tmp_path, signatures=False), data.X) < tolerance
    if name == "cmt-star":
        with pytest.raises(ValueError, match="tells seen classes by their names: fix the classes"):
            exported(model, tmp_path)
        return
    session = exported(model, tmp_path)
    assert both_precisions(model, session, data.X) < tolerance
    assert both_precisions(model, session, data.X, data.signatures.iloc[[3]]) < tolerance


def test_the_row_that_is_the_mean_is_zero_in_both_inputs(toy, tmp_path, monkeypatch):
    """The mean, in the precision of the input, scales to zeros; without that rule its rounding would be a direction."""
    table = pd.concat([toy.table, pd.DataFrame([toy.table.loc[["ant", "cat", "dog"]].mean()], index=["mean"])])
    model = toy.model().fit(toy.X, toy.y, table)
    mean = model.feature_scaling_.mean[None]
    found = scored(exported(model, tmp_path), mean)
    assert apart(found, model.compatibility(mean)) < TOLERANCE
    assert apart(found, model.compatibility(mean.astype(np.float32))) < TOLERANCE
    last = np.flatnonzero(model.candidates_ == "mean")
    np.testing.assert_allclose(found[0, last], 2.0, rtol=FORMULA.single)  # 0 meets 0 in both spaces
    beside = np.nextafter(mean.astype(np.float32), np.float32(np.inf))  # the mean up to rounding
    expected = model.compatibility(beside)
    assert apart(scored(exported(model, tmp_path), beside), expected) < TOLERANCE
    monkeypatch.setattr(scalings, "ROUNDING", 0)  # the planted fault
    assert apart(scored(exported(model, tmp_path), beside), expected) > 0.1


@pytest.mark.parametrize("fault", ["clamp", "scaling", "entry"])
def test_a_planted_fault_is_seen(toy, tmp_path, monkeypatch, fault):
    model = toy.fitted(sigma=0.3, signature_scaling="none", feature_scaling="center")
    W, X = model.projection_, toy.X
    if fault == "clamp":  # only where a distance of 0 is rounded to below it
        model.projection_ = np.linalg.qr(W)[0].astype(np.float32) * 300
        X = (model.signature_table_.matrix @ np.linalg.pinv(model.projection_)) + model.feature_scaling_.mean
        model.kernel_, model.incoherence_ = kernels.Gaussian(1e-4), False
        assert scored(exported(model, tmp_path), X).max() <= 1  # the kernel's largest value
        monkeypatch.setattr("zskl.kernels.score.squared_distances", lambda a, s, b: a - 2 * s + b)
        assert scored(exported(model, tmp_path), X).max() > 1.5
        return
    expected = model.compatibility(X.astype(np.float32))
    assert apart(scored(exported(model, tmp_path), X), expected) < TOLERANCE
    if fault == "scaling":
        mean = model.feature_scaling_.mean + 1e-3
        model.feature_scaling_ = scalings.Scaling(model.feature_scaling_.steps, mean)
    else:
        model.projection_ = W + np.float32(3e-3) * (np.arange(W.size).reshape(W.shape) == 5)
    assert apart(scored(exported(model, tmp_path), X), expected) > TOLERANCE


def test_any_number_of_rows_and_classes(toy, tmp_path):
    model = toy.fitted()
    session, rng = exported(model, tmp_path), np.random.default_rng(0)
    for rows, classes in product([0, 1, 2, 700], [1, 3, 50]):
        X, Y = rng.normal(size=(rows, 6)), pd.DataFrame(rng.normal(size=(classes, 4)), columns=toy.table.columns)
        found = scored(session, X, Y)
        assert found.shape == (rows, classes)
        if rows:
            Y.index = [f"class {k}" for k in range(classes)]
            assert apart(found, model.compatibility(X, Y)) < TOLERANCE


def test_several_signatures_of_a_class(toy, tmp_path):
    table = pd.concat([toy.table, toy.table.loc[["emu", "dog", "dog"]] + np.array([[0.5], [1.0], [-0.7]])])
    model = toy.model().fit(toy.X, toy.y, table)
    best = model.compatibility(toy.X_new)
    two, one = exported(model, tmp_path), exported(model, tmp_path, signatures=False)
    found, labels = scored(two, toy.X_new), np.array(about(two)["labels"])
    assert found.shape == (len(toy.X_new), 8)
    joined = np.column_stack([found[:, labels == label].max(axis=1) for label in model.candidates_])
    assert apart(joined, best) < TOLERANCE
    assert apart(scored(one, toy.X_new), best) < TOLERANCE
    assert about(one)["labels"] == model.candidates_.tolist()
    assert labels.tolist() == ["ant", "cat", "dog", "dog", "dog", "emu", "emu", "bee"]


def test_a_kernel_of_your_own(toy, tmp_path):
    @dataclass(frozen=True)
    class Rational(kernels.Kernel):
        name: ClassVar[str] = "rational"
        power: float = 1.5

        def value(self, t):
            return (1 + t) ** -self.power

        def slope(self, t, value=None):
            return -self.power * (1 + t) ** (-self.power - 1)

    @dataclass(frozen=True)
    class Careless(Rational):
        name: ClassVar[str] = "careless"

        def value(self, t):
            return np.exp(-self.power * np.log1p(t))

    model = toy.fitted(Rational(1.2))
    session = exported(model, tmp_path)
    assert both_precisions(model, session, toy.X_new) < TOLERANCE
    assert about(session)["kernel"] == {"name": "rational", "power": 1.2}
    with pytest.raises(
        ValueError, match=r"kernel 'careless' cannot be exported .*ufunc.*write the kernel by operators"
    ):
        exported(toy.fitted(Careless()), tmp_path)


REAL = os.environ.get("ZSKL_DATA")


@pytest.mark.skipif(REAL is None, reason="ZSKL_DATA is not set: no real features")
def test_cub_at_full_width(tmp_path, monkeypatch, tmp_path_factory):
    """Sums of 2048 products and 312 attributes, and all classes: what the small problems above have not."""
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path_factory.getbasetemp() / "real-features"))
    data = datasets.load("CUB", root=REAL)
    rows = data.parts["trainval"][::16]
    X = np.asarray(data.X[np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])[::8]], dtype=np.float32)
    seen = np.asarray(data.X[rows])
    for kernel in ("gaussian", "cauchy", "polynomial"):
        model = ZeroShotKernelClassifier(kernel, epochs=1, random_state=0).fit(seen, data.y[rows], data.signatures)
        assert both_precisions(model, exported(model, tmp_path), X) < TOLERANCE


# The file -------------------------------------------------------------------------------------------------------------


def test_what_a_file_says_of_itself(toy, tmp_path):
    columns = [f"x{k}" for k in range(6)]
    model = toy.model("cauchy", sigma=0.5, feature_scaling="sqrt-center-l2")
    model.fit(pd.DataFrame(toy.X, columns=columns), toy.y, toy.table)
    model.calibration_, model.temperatures_ = 0.25, {"seen": 0.1, "unseen": 0.2, "mixed": 0.3}
    session = exported(model, tmp_path)
    assert about(session) == {
        "version": __import__("zskl").__version__,
        "method": "kernel",
        "kernel": {"name": "cauchy", "sigma": 0.5},
        "incoherence": True,
        "labels": ["ant", "cat", "dog", "emu", "bee"],
        "seen": ["ant", "cat", "dog"],
        "attribute_names": ["size", "legs", "wings", "fur"],
        "feature_names": columns,
        "feature_scaling": "sqrt-center-l2",
        "signature_scaling": "center-l2",
        "calibration": 0.25,
        "temperatures": {"seen": 0.1, "unseen": 0.2, "mixed": 0.3},
    }
    file = onnx.load(tmp_path / "model.onnx")
    assert (file.ir_version, file.opset_import[0].version, file.producer_name) == (8, 17, "zskl")
    assert [(one.name, one.shape) for one in session.get_inputs()] == [("features", ["n", 6])]
    assert [(one.name, one.shape) for one in session.get_overridable_initializers()] == [("signatures", ["c", 4])]
    assert [(one.name, one.shape) for one in session.get_outputs()] == [("scores", ["n", "c"])]


def test_whole_number_labels_without_names_or_table(toy, tmp_path):
    codes = np.unique(toy.y, return_inverse=True)[1]
    model = toy.model().fit(toy.X, codes)  # one-hot signatures
    session = exported(model, tmp_path, signatures=False)
    said = about(session)
    assert (said["labels"], said["seen"]) == ([0, 1, 2], [0, 1, 2])
    assert (said["attribute_names"], said["feature_names"], said["temperatures"]) == (None, None, None)
    assert (np.array(said["labels"])[scored(session, toy.X).argmax(axis=1)] == model.predict(toy.X)).all()


def test_a_write_that_fails_leaves_the_old_file(toy, tmp_path, monkeypatch):
    model, file = toy.fitted(), tmp_path / "model.onnx"
    file.write_bytes(b"old")

    def full(*_, **__):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            export.to_onnx(model, file)
    with monkeypatch.context() as patch:
        patch.setattr(onnx.checker, "check_model", full)
        with pytest.raises(OSError, match="no space"):
            export.to_onnx(model, file)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
    export.to_onnx(model, file)
    assert both_precisions(model, opened(file), toy.X) < TOLERANCE


def test_what_is_refused_says_why(toy, tmp_path, monkeypatch):
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    model, file = toy.fitted(), tmp_path / "model.onnx"
    with pytest.raises(ValueError, match="LogisticRegression: expected a fitted estimator of zskl"):
        export.to_onnx(LogisticRegression(), file)
    with pytest.raises(NotFittedError):
        export.to_onnx(toy.model(), file)
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        export.to_onnx(model, tmp_path / "nowhere" / "model.onnx")
    large = toy.model().fit(toy.X, toy.y, toy.table * 1e300)
    with pytest.raises(ValueError, match="beyond the range of float32"):
        export.to_onnx(large, file)
    with monkeypatch.context() as patch:
        patch.setattr(export, "LIMIT", 100)
        with pytest.raises(ValueError, match="GiB, and an ONNX file holds"):
            export.to_onnx(model, file)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "onnx", None)
        with pytest.raises(
            ValueError, match=r"need the package onnx, which is not installed: pip install 'zskl\[onnx\]'"
        ):
            export.to_onnx(model, file)
    assert list(tmp_path.iterdir()) == []


def test_the_device_of_a_model_does_not_matter(toy, tmp_path):
    model = toy.fitted()
    expected = model.compatibility(toy.X)
    model.device = "cuda"
    for signatures in (True, False):
        assert apart(scored(exported(model, tmp_path, signatures=signatures), toy.X), expected) < TOLERANCE


# The command line and the page ----------------------------------------------------------------------------------------


def test_the_command(toy, tmp_path):
    model, saved, file = toy.fitted(), tmp_path / "toy.zskl", tmp_path / "toy.onnx"
    model.save(saved)
    done = zskl("export", str(saved), "-o", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert "features (n, 6) and signatures (c, 4) to scores, by default of the 5 classes of" in done.stdout
    assert both_precisions(model, opened(file), toy.X_new, toy.table) < TOLERANCE
    done = zskl("export", str(saved), "--out", str(file), "--fixed")
    assert "features (n, 6) to scores of the 5 classes of" in done.stdout
    assert [one.name for one in opened(file).get_inputs()] == ["features"]
    assert not opened(file).get_overridable_initializers()
    assert both_precisions(model, opened(file), toy.X_new) < TOLERANCE


def test_what_the_command_refuses(toy, tmp_path):
    saved, file = tmp_path / "toy.zskl", tmp_path / "toy.onnx"
    toy.fitted().save(saved)
    before = saved.read_bytes()
    (tmp_path / "text.txt").write_text("no model")
    methods.build("cmt-star", {"epochs": 1, "random_state": 0}).fit(toy.X, toy.y, toy.table).save(
        tmp_path / "star.zskl"
    )
    for source, target, sentence in [
        (saved, saved, "it is also what is read"),
        (tmp_path / "text.txt", file, "is not a readable zskl model file"),
        (tmp_path / "none.zskl", file, "no model file at"),
        (saved, tmp_path / "nowhere" / "toy.onnx", "does not exist; create it first"),
        (saved, tmp_path, "it is a folder; name a file"),
        (tmp_path / "star.zskl", file, "fix the classes, by signatures=False or --fixed"),
    ]:
        done = zskl("export", str(source), "-o", str(target))
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    assert saved.read_bytes() == before
    assert not file.exists()


def test_the_page_runs(tmp_path, monkeypatch):
    """Its blocks are not marked as those that run everywhere, since they need two further packages."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "export.md").read_text("utf-8")
    marked = page.replace("```py\n", "```python\n").replace("```shell\n", "```console\n")
    assert marked.count("```python\n") >= 4
    assert "```console\n" in marked
    execute(marked, "export.md")
