"""A small problem and the fits of it that several tests share."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from tolerances import FIT, assert_close, distance
from zskl import ZeroShotKernelClassifier, datasets, kernels, methods
from zskl.methods import METHODS

# Fits -----------------------------------------------------------------------------------------------------------------

DATA = datasets.make_synthetic(6, 3, 25, 20, 8, noise=0.3)  # 120 training rows
ROWS = DATA.parts["trainval"]
UNSEEN = DATA.parts["test_unseen"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures


def estimator(kernel="gaussian", **settings):
    return ZeroShotKernelClassifier(kernel, **{"random_state": 0, "epochs": 3, **settings})


def fitted(kernel="gaussian", **settings):
    return estimator(kernel, **settings).fit(*TRAINING)


KERNEL_METHODS = [name for name, method in METHODS.items() if method.estimator is ZeroShotKernelClassifier]
STEPS_40 = {"batch_size": 6, "epochs": 2}
ONE_ROW = 1.01 / 75  # what one of the 75 unseen rows, 25 of each class, counts in an accuracy
WILD = {"kernel": "polynomial", "degree": 6, "loss": "linear"}


def check_members(members, lone, moved=None):
    """Each member equals the fit of its own settings alone; `moved` are the same members from `shaken` rows.

    Among many settings some have an entry of W whose first gradient is next to nothing, and so a bad condition.
    """
    for member, alone, other in zip(members, lone, moved or members, strict=True):
        allowed = FIT.single + 2 * distance(other.projection_, member.projection_)
        assert_close(member.projection_, alone.projection_, allowed)
        assert_close(member.history_.objective, alone.history_.objective, 4 * allowed)
        scores = alone.compatibility(DATA.X[UNSEEN])
        assert_close(member.compatibility(DATA.X[UNSEEN]), scores, 4 * allowed)


def check_exchanged(members, lone, moved=None):
    """The planted fault: members that are exchanged are noticed."""
    with pytest.raises(AssertionError):
        check_members(members[::-1], lone, moved and moved[::-1])


def slow_problem():
    """27 rows of three classes of unequal size, and a table that describes a fourth."""
    rng = np.random.default_rng(4)
    y, Y = np.repeat([0, 1, 2], [12, 9, 6]), rng.standard_normal((4, 4)) + 0.3
    return Y[y] @ rng.standard_normal((4, 5)) + 0.5 * rng.standard_normal((27, 5)), y, Y


def described_twice():
    data = datasets.make_synthetic(6, 3, 25, 20, 8, noise=0.3, descriptions=2)
    rows = data.parts["trainval"]
    return data.X[rows], data.y[rows], data.signatures


# Model files ----------------------------------------------------------------------------------------------------------
# Reading and rewriting model files in tests.


def parts(path):
    """Header and arrays of a model file, by safetensors alone."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["zskl"])
    return header, load_file(path)


# Explained ------------------------------------------------------------------------------------------------------------
# Models that can be explained, for the tests of explanations.


@dataclass(frozen=True)
class Rational(kernels.Kernel):
    """k(D) = 1 / (1 + D)ᵃ: a kernel from outside, of which only value and slope are known."""

    name: ClassVar[str] = "rational of the tests"
    power: float = 1.5

    def value(self, t):
        return (1 + t) ** -self.power

    def slope(self, t, value=None):
        return -self.power * (1 + t) ** (-self.power - 1)


KERNELS = {
    "gaussian": {"kernel": "gaussian", "sigma": 0.7},
    "narrow gaussian": {"kernel": "gaussian", "sigma": 0.1},
    "cauchy": {"kernel": "cauchy", "sigma": 1.3},
    **{f"polynomial-{r}": {"kernel": "polynomial", "degree": r, "loss": "linear"} for r in (2, 4, 6)},
    "rational": {"kernel": Rational()},
}
BILINEAR = {
    **{name: (name, {}) for name in ("ale", "devise", "sje", "eszsl")},
    **{f"sae {way}": ("sae", {"direction": way}) for way in ("to-features", "to-signatures")},
}
ALL = {**{f"{name}, {flag}": (name, flag) for name in KERNELS for flag in (True, False)}, **BILINEAR}
SECANT = 64  # a quotient of two differences, each of which may be 1/64 of what is subtracted: that much is lost


def fit_explained(name, toy, table=None):
    table = toy.table if table is None else table
    if name in BILINEAR:
        method, settings = BILINEAR[name]
        return methods.build(method, {"random_state": 0, **settings}).fit(toy.X, toy.y, table)
    if name in ALL:
        kernel, incoherence = ALL[name]
        settings = {**KERNELS[kernel], "incoherence": incoherence, "learning_rate": 1e-2}
        return toy.model(**settings).fit(toy.X, toy.y, table)
    return methods.build(name, {"random_state": 0}).fit(toy.X, toy.y, table)


def raw_difference(model, X, found, signatures=None):
    """score(label) − score(against) as `compatibility` has it."""
    scores = np.asarray(model.compatibility(X, signatures), dtype=np.float64)
    classes = (model.candidates_ if signatures is None else signatures.index.unique()).tolist()
    at = [(classes.index(one.label), classes.index(one.against)) for one in found]
    return np.array([scores[i, a] - scores[i, b] for i, (a, b) in enumerate(at)])


def sums(found):
    return np.array([one.contributions.sum() for one in found])


def fit_digits(digits, name, **settings):
    rows = digits.parts["trainval"]
    model = methods.build(name, {"random_state": 0, **settings})
    return model.fit(digits.X[rows], digits.y[rows], digits.signatures)
