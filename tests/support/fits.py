"""A small problem and the fits of it that several tests share."""

import numpy as np
import pytest

from tolerances import FIT, assert_close, distance
from zskl import ZeroShotKernelClassifier, datasets
from zskl.methods import METHODS

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
