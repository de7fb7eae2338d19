"""The digits, and the segments that describe them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zskl.datasets import digits


def test_digits():
    data = digits.load()
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
    signatures = digits.load().signatures
    assert signatures.columns.tolist() == list(digits.SEGMENTS)
    for digit in range(10):
        for segment, (row, column) in PLACES.items():
            lit = PICTURE[row].ljust(40)[4 * digit + column] != " "
            assert signatures.loc[digit, segment] == lit, (digit, segment)
    assert not signatures.duplicated().any()


@settings(max_examples=5)
@given(st.sets(st.integers(0, 9), min_size=1, max_size=8))
def test_a_digit_is_divided_in_the_same_way_for_any_unseen_digits(unseen):
    data, usual = digits.load(unseen), digits.load([0]) if 0 not in unseen else digits.load()
    both = np.intersect1d(data.seen_classes, usual.seen_classes)
    for part in ("trainval", "test_seen"):
        mine, theirs = data.parts[part], usual.parts[part]
        np.testing.assert_array_equal(mine[np.isin(data.y[mine], both)], theirs[np.isin(usual.y[theirs], both)])


def test_digits_seed():
    assert digits.load(seed=0).fingerprint == digits.load().fingerprint != digits.load(seed=1).fingerprint


@pytest.mark.parametrize("unseen", [(), (3, 3), (10,), (-1,), range(9), ("3",), (2.5,)])
def test_digits_refuses_wrong_arguments(unseen):
    with pytest.raises(ValueError, match="expected 1 to 8 different digits"):
        digits.load(unseen)
    with pytest.raises(ValueError, match="seed is -1"):
        digits.load(seed=-1)
