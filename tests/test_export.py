"""The ONNX file says what predict needs, appears whole or not at all, and what cannot be written is refused."""

import sys

import numpy as np
import pandas as pd
import pytest

from doc_blocks import ROOT, execute
from exported_models import TOLERANCE, about, both_precisions, exported, opened, scored
from zskl import _files as files
from zskl import export

onnx = pytest.importorskip("onnx", reason="onnx is not installed: exported models")


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


def test_the_page_runs(tmp_path, monkeypatch):
    """Its blocks are not marked as those that run everywhere, since they need two further packages."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "export.md").read_text("utf-8").split("## A search index")[0]  # see test_index.py
    marked = page.replace("```py\n", "```python\n").replace("```shell\n", "```console\n")
    assert marked.count("```python\n") >= 4
    assert "```console\n" in marked
    execute(marked, "export.md")
