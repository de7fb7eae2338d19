"""Small datasets that are always available: hand-written digits, described by the segments of a seven-segment display,
and synthetic classes whose features are a linear map of their signatures, which a zero-shot learner should get right.
"""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from zskl._arrays import make_generator
from zskl.datasets import split
from zskl.datasets.dataset import REQUIRED_PARTS, Dataset

SEGMENTS = ("top", "upper right", "lower right", "bottom", "lower left", "upper left", "middle")  # a b c d e f g
LIT = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")  # of 0 to 9
JITTER = 0.05  # spread of the descriptions of one synthetic class around its vector


def load_digits(unseen: Iterable[int] = (3, 4, 6), seed: int = 0) -> Dataset:
    """X (1797, 64) pixels, 0 to 16; signatures (10, 7), 1 for a lit segment; rows divided alike for any `unseen`."""
    from sklearn.datasets import load_digits  # takes seconds to import

    digits = list(unseen)
    if not 1 <= len(set(digits)) == len(digits) <= 8 or not set(digits) <= set(range(10)):
        raise ValueError(f"unseen is {digits}: expected 1 to 8 different digits between 0 and 9")
    split.check_seed(seed)
    X, y = load_digits(return_X_y=True)
    parts: dict[str, list[int]] = {"trainval": [], "test_seen": [], "test_unseen": []}
    for digit in range(10):
        rows = np.flatnonzero(y == digit)
        if digit in digits:
            parts["test_unseen"] += rows.tolist()
            continue
        drawn = make_generator(seed, digit).permutation(rows)
        fifth = round(len(rows) / 5)
        parts["test_seen"] += drawn[:fifth].tolist()
        parts["trainval"] += drawn[fifth:].tolist()
    table = np.array([[segment in lit for segment in "abcdefg"] for lit in LIT], dtype=np.float32)
    signatures = pd.DataFrame(table, index=pd.RangeIndex(10, name="digit"), columns=list(SEGMENTS))
    ordered = {part: np.sort(np.array(rows, dtype=np.int64)) for part, rows in parts.items()}
    return Dataset("digits", X, y, signatures, ordered, source="scikit-learn's load_digits")


def make_synthetic(
    n_seen: int = 20,
    n_unseen: int = 5,
    samples_per_class: int = 30,
    n_features: int = 64,
    n_attributes: int = 16,
    noise: float = 0.0,
    shift: float = 0.0,
    descriptions: int = 1,
    seed: int = 0,
) -> Dataset:
    """Make classes whose features are a noisy linear map of their signatures.

    A row of a class with the vector y is x = yM + noise · ε, for unseen classes + shift · v. Here y and ε are standard
    normal, M is standard normal divided by √n_attributes, so that features have unit variance, and v is one random
    direction of length √n_features, the length of a typical x. Of every seen class a fifth of the rows, at least one,
    is test_seen.

    Parameters
    ----------
    n_seen : int, default=20
        How many classes have training rows; at least 2.
    n_unseen : int, default=5
        How many classes have none.
    samples_per_class : int, default=30
        How many rows each class has; at least 2.
    n_features : int, default=64
        The length of x.
    n_attributes : int, default=16
        The length of y.
    noise : float, default=0.0
        How much noise is added to each row.
    shift : float, default=0.0
        How far the rows of unseen classes are shifted along v.
    descriptions : int, default=1
        How many rows of the class table describe each class. If there are several, each is its vector plus a jitter
        of 0.05.
    seed : int, default=0
        Seed of all draws. Changing another argument leaves the other draws as they are.

    Returns
    -------
    Dataset
        The classes "class 0", "class 1" and so on; the last `n_unseen` are unseen.

    Examples
    --------
    >>> from zskl import datasets
    >>> datasets.make_synthetic(n_seen=4, n_unseen=2, noise=0.5)
    Dataset('synthetic', 180 rows × 64 features, 4 seen and 2 unseen classes, 16 attributes)
    """
    for name, value, least in (
        ("n_seen", n_seen, 2),
        ("n_unseen", n_unseen, 1),
        ("samples_per_class", samples_per_class, 2),
        ("n_features", n_features, 1),
        ("n_attributes", n_attributes, 1),
        ("descriptions", descriptions, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} is {value!r}: expected a whole number of at least {least}")
    split.check_seed(seed)
    if not 0 <= noise < math.inf or not math.isfinite(shift):
        raise ValueError(f"noise is {noise} and shift {shift}: expected finite numbers, noise at least 0")
    classes, rows = n_seen + n_unseen, samples_per_class
    signature_draw, map_draw, shift_draw, noise_draw, jitter_draw = make_generator(seed).spawn(5)
    Y = signature_draw.standard_normal((classes, n_attributes), dtype=np.float32)
    M = map_draw.standard_normal((n_attributes, n_features), dtype=np.float32) / np.float32(n_attributes**0.5)
    means = Y @ M  # (classes, n_features)
    direction = shift_draw.standard_normal(n_features, dtype=np.float32)
    means[n_seen:] += np.float32(shift * n_features**0.5) * direction / np.linalg.norm(direction)
    X = np.zeros((classes, rows, n_features), dtype=np.float32)
    if noise > 0:
        noise_draw.standard_normal(dtype=np.float32, out=X)
        X *= np.float32(noise)
    X += means[:, None, :]
    names = np.array([f"class {k}" for k in range(classes)])
    table = Y.repeat(descriptions, axis=0)
    if descriptions > 1:
        table += np.float32(JITTER) * jitter_draw.standard_normal(table.shape, dtype=np.float32)
    index, columns = pd.Index(names.repeat(descriptions), name="class"), [f"attribute {k}" for k in range(n_attributes)]
    signatures = pd.DataFrame(table, index, columns)
    numbers = np.arange(classes * rows).reshape(classes, rows)
    held = max(1, rows // 5)
    blocks = numbers[:n_seen, held:], numbers[:n_seen, :held], numbers[n_seen:]
    parts = {part: block.ravel() for part, block in zip(REQUIRED_PARTS, blocks, strict=True)}
    return Dataset("synthetic", X.reshape(-1, n_features), names.repeat(rows), signatures, parts, "make_synthetic")
