"""What the tests of closed forms share: unscaled settings and central differences."""

import numpy as np
import pytest

from zskl import datasets, methods
from zskl.baselines import BASELINES
from zskl.estimators._inputs import Training

# Closed forms

RAW = {"feature_scaling": "none", "signature_scaling": "none"}


def central(function, x, step=1e-6):
    """The gradient of a function of an array by central differences."""
    x = np.array(x, dtype=np.float64)
    found = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        found[place] = (function(up) - function(down)) / (2 * step)
    return found


# Descent problems
# Small data for the baselines that are trained by descent, in single and in double precision.

DATA = datasets.make_synthetic(8, 4, 20, 12, 6, noise=0.3)
ROWS, UNSEEN = DATA.parts["trainval"], DATA.parts["test_unseen"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures
NEW = np.unique(DATA.y[UNSEEN])


MARGIN = 0.7


def finite_differences(function, W, step=1e-6):
    found = np.zeros_like(W)
    for place in np.ndindex(*W.shape):
        old = W[place]
        W[place] = old + step
        up = function()
        W[place] = old - step
        found[place] = (up - function()) / (2 * step)
        W[place] = old
    return found


def double_training(C=5, p=7, d=4, n=9):
    """A training set in float64; fewer classes than attributes make coordinates of their span."""
    rng = np.random.default_rng(1)
    codes = np.arange(n) % C
    return Training(
        X=rng.normal(size=(n, d)),
        codes=codes,
        Y=rng.normal(size=(C, p)),
        rows=np.arange(C)[:, None],
        counts=np.ones(C, dtype=int),
        sizes=np.bincount(codes, minlength=C),
    )


# Published methods
# Published methods, built and trained on small data.

QUICK = {"epochs": 20}  # where a method has them; of small data an epoch is a step or two
SMALL = {"cnzsl": {"hidden": 32, "batch_size": 32, "learning_rate": 0.01, "epochs": 10}}  # for few rows


def make(name, **settings):
    model = methods.build(name, {"random_state": 0, **SMALL.get(name, {})})
    known = model.get_params()
    return model.set_params(**{**{key: value for key, value in QUICK.items() if key in known}, **settings})


def trained(name, data, **settings):
    rows = data.parts["trainval"]
    return make(name, **settings).fit(data.X[rows], data.y[rows], data.signatures)


def learned(model):
    """What a fitted model scores with, as bytes."""
    return {name: np.asarray(getattr(model, name)).tobytes() for name, shape in model.LEARNED.items() if shape}


def unseen(data):
    return data.X[data.parts["test_unseen"]]


TRAINED = [name for name in BASELINES if name != "cosine"]  # which has a file of its own
each = pytest.mark.parametrize("name", TRAINED)
