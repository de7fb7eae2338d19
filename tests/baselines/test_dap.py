"""DAP and IAP against the enumeration of attribute vectors, and the thresholds of attributes."""

import itertools
import math

import numpy as np
import pytest

from baseline_problems import RAW
from tolerances import FORMULA, SUMS, assert_close
from zskl import baselines
from zskl.baselines import dap
from zskl.estimators._candidates import softmax

BINARY = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0.0]])


def enumerated(p, prior, candidates):
    """p(class | x) for each candidate by the sum over all attribute vectors: Σ_a p(class | a) p(a | x)."""
    found = []
    for signature in candidates:
        total = 0.0
        for a in itertools.product([0, 1], repeat=len(p)):
            of_x = math.prod(p[m] if a[m] else 1 - p[m] for m in range(len(p)))
            of_all = math.prod(prior[m] if a[m] else 1 - prior[m] for m in range(len(p)))
            total += (1.0 if tuple(signature) == a else 0.0) / of_all * of_x
        found.append(total)
    return np.array(found) / sum(found)


@pytest.mark.parametrize("method", ["dap", "iap"])
def test_attribute_prediction_is_the_enumeration_of_attribute_vectors(small, method):
    X, codes, _ = small
    binary = np.hstack([BINARY, np.ones((6, 1))])  # and one attribute that all have
    table = binary[:5]
    model = {"dap": baselines.DAP, "iap": baselines.IAP}[method](C=1.0, **RAW).fit(X, codes, table)
    prior = table[:, :3].mean(axis=0)
    assert_close(model.prior_, [*prior, 0.0], FORMULA.double)  # the constant one counts as absent
    F = X @ model.weights_.astype(float) + model.intercept_
    if method == "dap":
        p = 1 / (1 + np.exp(-F))
    else:
        classes = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        p = np.array([[sum(row[k] for k in range(5) if table[k, m]) for m in range(4)] for row in classes])
    scores = model.compatibility(X, binary, candidates=list("abcdef"))
    for i in range(0, 30, 4):
        expected = enumerated(p[i, :3], prior, BINARY)  # the constant attribute does not matter
        assert_close(softmax(scores)[i], expected, SUMS.single)
        shares = [p[i, m] / prior[m] if BINARY[5, m] else (1 - p[i, m]) / (1 - prior[m]) for m in range(3)]
        assert scores[i, 5] == pytest.approx(sum(math.log(share) for share in shares), rel=1e-5, abs=1e-6)


def test_thresholds_separate_seen_classes_and_withstand_rounding():
    Y = np.array([[0, 5.0, 1, 0.1], [1, 5.0, 1, 0.2], [1, 5.0, 0, 0.3], [1, 5.0, 1, 0.9]])
    mean, median = dap.attribute_thresholds(Y, "mean"), dap.attribute_thresholds(Y, "median")
    assert_close(mean, [0.5, 5.0, 0.5, 0.6], FORMULA.double)
    assert_close(median, [0.5, 5.0, 0.5, 0.25], FORMULA.double)  # the median of mostly ones is not a threshold
    whole = dap.attribute_thresholds(Y, "matrix-mean")  # all classes have the second attribute, none has another
    assert_close(whole, [27.5 / 16] * 4, FORMULA.double)
    assert dap.binarise(Y, whole).tolist() == [[0.0, 1.0, 0.0, 0.0]] * 4
    assert_close(dap.attribute_thresholds(Y[:, 2:], "matrix-mean"), [0.5, 0.6], FORMULA.double)  # about 4.5 / 8
    for threshold in (mean, median):
        assert (dap.binarise(Y, threshold) == dap.binarise(Y.astype(np.float32), threshold))[:, [0, 2, 3]].all()
