"""Rows in half precision are those rows in float32: they are scaled block by block, never held whole in it."""

import numpy as np
import pytest

from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, baselines
from zskl.baselines import linear
from zskl.training import scaled_rows

MODELS = [
    ClassMeansClassifier(),
    ZeroShotKernelClassifier(epochs=1, random_state=0),
    baselines.ESZSL(),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    X = rng.normal(size=(4, 8))[y] + 0.3 * rng.normal(size=(60, 8))
    return X.astype(np.float16), y, rng.normal(size=(4, 5))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "tensor float16", "tensor bfloat16"])
def test_the_same_model_as_in_float32(data, model, kind, monkeypatch):
    monkeypatch.setattr(scaled_rows, "BLOCK_BYTES", 400)  # several blocks
    X, y, table = data
    if kind == "bfloat16":
        half = X.astype(pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16)
    elif kind == "float16":
        half = X
    else:
        torch = pytest.importorskip("torch", reason="the extra torch is not installed")
        half = torch.from_numpy(X).to(getattr(torch, kind.split()[1]))
    single = half.float() if kind.startswith("tensor") else half.astype(np.float32)
    scores = model.fit(half, y, table).compatibility(half)
    assert scores.dtype == single.dtype
    expected = model.fit(single, y, table).compatibility(single)
    assert np.array_equal(np.asarray(scores), np.asarray(expected))
    bad = half.clone() if kind.startswith("tensor") else half.copy()
    bad[37, 2] = float("nan")
    for call in (lambda: model.fit(bad, y, table), lambda: model.predict(bad)):
        with pytest.raises(ValueError, match="NaN in column 2, first at row 37"):
            call()


def test_only_a_block_is_ever_in_another_type(data, monkeypatch):
    """The largest array that becomes float32 before it is scaled is a block, not X."""
    monkeypatch.setattr(scaled_rows, "BLOCK_BYTES", 400)
    for name, value in (("BLOCK_VALUES", 96), ("BLOCK_ROWS", 12)):  # of products, which scale their rows themselves
        monkeypatch.setattr(linear, name, value)
    sizes = []
    original = scaled_rows.computed
    monkeypatch.setattr(scaled_rows, "computed", lambda rows: sizes.append(len(rows)) or original(rows))
    baselines.ESZSL().fit(*data)
    assert max(sizes) == 12
    monkeypatch.setattr(linear, "BLOCK_ROWS", 60)  # a planted fault: all rows at once
    baselines.ESZSL().fit(*data)
    assert max(sizes) == 60
