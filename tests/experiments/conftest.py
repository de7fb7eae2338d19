"""The digits, and grids that take no time."""

import pytest

from zskl import datasets, methods


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


@pytest.fixture
def small(monkeypatch):
    """Grids of two settings."""
    for name in ("gaussian", "gaussian-ort"):
        method = methods.METHODS[name]
        grid = {"sigma": (0.5, 1.0), "epochs": (1, 2)}
        changed = {**methods.METHODS, name: type(method)(method.estimator, method.description, method.overrides, grid)}
        monkeypatch.setattr(methods, "METHODS", changed)
