"""Classes whose features are a linear map of their signatures: what a zero-shot learner should get right."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from zskl.arrays import generator
from zskl.datasets.dataset import Dataset

JITTER = 0.05  # spread of the descriptions of one class around its vector


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
    """Rows x = yM + noise · ε of class vectors y, and for unseen classes + shift · v.

    y (n_attributes,) and ε (n_features,) are standard normal, M (n_attributes, n_features) is standard normal
    divided by √n_attributes, so that features have unit variance; v is one random direction of length
    √n_features, that of a typical x. With several `descriptions` a class has that many rows in the table, its
    vector plus a jitter of 0.05 each. Of every seen class a fifth of the rows, at least one, is test_seen.
    Each ingredient has its own generator: changing one argument leaves the other draws alone.
    """
    for name, value, least in (
        ("n_seen", n_seen, 2),
        ("n_unseen", n_unseen, 1),
        ("samples_per_class", samples_per_class, 2),
        ("n_features", n_features, 1),
        ("n_attributes", n_attributes, 1),
        ("descriptions", descriptions, 1),
        ("seed", seed, 0),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}")
    if not 0 <= noise < math.inf or not math.isfinite(shift):
        raise ValueError(f"noise is {noise} and shift {shift}; expected finite numbers, noise at least 0")
    classes, rows = n_seen + n_unseen, samples_per_class
    signature_draw, map_draw, shift_draw, noise_draw, jitter_draw = generator(seed).spawn(5)
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
    signatures = pd.DataFrame(
        table,
        index=pd.Index(names.repeat(descriptions), name="class"),
        columns=[f"attribute {k}" for k in range(n_attributes)],
    )
    numbers = np.arange(classes * rows).reshape(classes, rows)
    held = max(1, rows // 5)
    parts = {
        "trainval": numbers[:n_seen, held:].ravel(),
        "test_seen": numbers[:n_seen, :held].ravel(),
        "test_unseen": numbers[n_seen:].ravel(),
    }
    return Dataset("synthetic", X.reshape(-1, n_features), names.repeat(rows), signatures, parts, "make_synthetic")
