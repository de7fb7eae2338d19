"""Small data for the baselines that are trained by descent, in single and in double precision."""

import numpy as np

from zskl import datasets
from zskl.estimators.estimator import Training

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
