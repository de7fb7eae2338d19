"""Models as ONNX files, and their scores by onnxruntime."""

import json

import numpy as np
import pytest

from tolerances import SUMS
from zskl import export

pytest.importorskip("onnx", reason="onnx is not installed: exported models")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: exported models")
TOLERANCE = SUMS.single  # of scores up to 1, and of the largest score where that is above 1


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
