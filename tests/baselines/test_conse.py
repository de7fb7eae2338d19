"""ConSE by hand."""

import math

import numpy as np
import pytest

from baseline_problems import RAW
from zskl import baselines


@pytest.mark.parametrize("T", [1, 3, 5, 100])
def test_conse_by_hand(small, T):
    X, codes, Y = small
    model = baselines.ConSE(T, 1.0, **RAW).fit(X, codes, Y)
    scores = model.compatibility(X)
    for i in range(0, 30, 5):
        F = X[i] @ model.weights_.astype(float) + model.intercept_
        p = [math.exp(f) / sum(math.exp(g) for g in F) for f in F]
        best = sorted(range(5), key=lambda k: -p[k])[:T]
        f = sum(p[k] * Y[k] for k in best) / sum(p[k] for k in best)
        for c in range(5):
            assert scores[i, c] == pytest.approx(f @ Y[c] / np.linalg.norm(f) / np.linalg.norm(Y[c]), rel=1e-5)
