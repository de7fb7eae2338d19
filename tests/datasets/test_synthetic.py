"""Synthetic classes: a linear map, noise, shift and descriptions."""

import numpy as np
import pandas as pd
import pytest

from zskl.datasets import make_synthetic


def test_synthetic_without_noise_is_a_linear_map():
    data = make_synthetic(n_attributes=5, n_features=9)
    Y = data.signatures.loc[data.y].to_numpy()
    M = np.linalg.lstsq(Y, data.X, rcond=None)[0]
    np.testing.assert_allclose(Y @ M, data.X, rtol=1e-4, atol=1e-5)
    assert data.X.dtype == np.float32
    assert data.seen_classes.tolist() == [f"class {k}" for k in range(20)]
    assert data.unseen_classes.tolist() == [f"class {k}" for k in range(20, 25)]
    assert [len(data.parts[part]) for part in ("trainval", "test_seen", "test_unseen")] == [480, 120, 150]


def test_synthetic_noise_and_shift_have_their_sizes():
    size = {"n_features": 400, "n_attributes": 50, "n_seen": 60}
    plain, noisy, moved = (
        make_synthetic(**size),
        make_synthetic(noise=0.5, **size),
        make_synthetic(shift=2, **size),
    )
    np.testing.assert_allclose(np.std(noisy.X - plain.X), 0.5, rtol=0.01)
    np.testing.assert_allclose(np.mean(np.linalg.norm(plain.X, axis=1)), 20, rtol=0.05)
    rows = plain.parts["test_unseen"]
    step = moved.X - plain.X
    np.testing.assert_allclose(np.linalg.norm(step[rows], axis=1), 2 * 20, rtol=1e-4)
    np.testing.assert_allclose(step[rows], np.tile(step[rows[0]], (len(rows), 1)), rtol=0, atol=1e-4)
    assert not np.delete(step, rows, axis=0).any()
    pd.testing.assert_frame_equal(noisy.signatures, plain.signatures)


def test_synthetic_descriptions():
    one, three = make_synthetic(), make_synthetic(descriptions=3)
    np.testing.assert_array_equal(one.X, three.X)
    assert three.signatures.shape == (75, 16)
    jitter = three.signatures.to_numpy() - one.signatures.to_numpy().repeat(3, axis=0)
    np.testing.assert_allclose(np.std(jitter), 0.05, rtol=0.1)


def test_synthetic_smallest_and_seeded():
    data = make_synthetic(2, 1, 2, 1, 1)
    assert data.X.shape == (6, 1)
    assert len(data.parts["test_seen"]) == len(data.parts["trainval"]) == 2
    assert make_synthetic(seed=1).fingerprint != make_synthetic(seed=0).fingerprint
    np.testing.assert_array_equal(make_synthetic(noise=1).X, make_synthetic(noise=1).X)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_seen", 1),
        ("n_unseen", 0),
        ("samples_per_class", 1),
        ("n_features", 0),
        ("n_attributes", 2.5),
        ("descriptions", 0),
        ("seed", -1),
        ("n_unseen", True),
        ("noise", -0.1),
        ("noise", float("nan")),
        ("shift", float("inf")),
    ],
)
def test_synthetic_refuses_wrong_arguments(argument, value):
    with pytest.raises(ValueError, match=f"{argument} (is )?{value}.*expected"):
        make_synthetic(**{argument: value})
