"""Problems and fitted models that several files look at."""

import functools

import numpy as np
import pytest

from baseline_problems import trained
from zskl import datasets


@pytest.fixture(scope="session")
def small():
    """X (30, 6), codes (30,), Y (5, 4): an ordinary problem in which nothing is scaled."""
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(5, 4))
    codes = np.repeat(np.arange(5), 6)
    X = Y[codes] @ rng.normal(size=(4, 6)) + 0.5 * rng.normal(size=(30, 6))
    return X, codes, Y


@pytest.fixture(scope="session")
def data():
    return datasets.make_synthetic(
        n_seen=12, n_unseen=4, samples_per_class=12, n_features=24, n_attributes=10, noise=0.2
    )


@pytest.fixture(scope="session")
def fitted(data):
    """name → the model of a method with its usual settings, which no test changes."""
    return functools.cache(lambda name: trained(name, data))
