"""Published methods, built and trained on small data."""

import numpy as np
import pytest

from zskl import methods
from zskl.baselines import BASELINES

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
