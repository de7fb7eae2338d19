"""The digits, and the segments that describe them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zskl.datasets import make_synthetic, toy

# Digits


def test_digits():
    data = toy.load_digits()
    assert data.X.shape == (1797, 64)
    assert data.y.tolist() == [int(label) for label in data.y]
    assert data.class_names.tolist() == list(range(10))
    assert data.seen_classes.tolist() == [0, 1, 2, 5, 7, 8, 9]
    assert data.unseen_classes.tolist() == [3, 4, 6]
    assert sum(map(len, data.parts.values())) == 1797
    assert data.signatures.dtypes.eq(np.float32).all()
    for digit in data.seen_classes:
        share = np.mean(data.y[data.parts["test_seen"]] == digit) * len(data.parts["test_seen"])
        assert share == round(np.sum(data.y == digit) / 5)


PICTURE = """
 _       _   _       _   _   _   _   _
| |   |  _|  _| |_| |_  |_    | |_| |_|
|_|   | |_   _|   |  _| |_|   | |_|  _|
""".splitlines()[1:]


PLACES = {"top": (0, 1), "upper left": (1, 0), "middle": (1, 1), "upper right": (1, 2)}


def test_segments_draw_the_digits():
    signatures = toy.load_digits().signatures
    assert signatures.columns.tolist() == list(toy.SEGMENTS)
    for digit in range(10):
        for segment, (row, column) in PLACES.items():
            lit = PICTURE[row].ljust(40)[4 * digit + column] != " "
            assert signatures.loc[digit, segment] == lit, (digit, segment)
    assert not signatures.duplicated().any()


@settings(max_examples=5)
@given(st.sets(st.integers(0, 9), min_size=1, max_size=8))
def test_a_digit_is_divided_in_the_same_way_for_any_unseen_digits(unseen):
    data, usual = toy.load_digits(unseen), toy.load_digits([0]) if 0 not in unseen else toy.load_digits()
    both = np.intersect1d(data.seen_classes, usual.seen_classes)
    for part in ("trainval", "test_seen"):
        mine, theirs = data.parts[part], usual.parts[part]
        np.testing.assert_array_equal(mine[np.isin(data.y[mine], both)], theirs[np.isin(usual.y[theirs], both)])


def test_digits_seed():
    assert toy.load_digits(seed=0).fingerprint == toy.load_digits().fingerprint != toy.load_digits(seed=1).fingerprint


@pytest.mark.parametrize("unseen", [(), (3, 3), (10,), (-1,), range(9), ("3",), (2.5,)])
def test_digits_refuses_wrong_arguments(unseen):
    with pytest.raises(ValueError, match="expected 1 to 8 different digits"):
        toy.load_digits(unseen)
    with pytest.raises(ValueError, match="seed is -1"):
        toy.load_digits(seed=-1)


# Synthetic classes: a linear map, noise, shift and descriptions.


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
