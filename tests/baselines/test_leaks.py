"""No published method learns anything from test rows or unseen classes."""

import numpy as np

from published_methods import each, learned, make, trained


def after_changes(name, data, **settings):
    """What is learned where everything about the test rows and the unseen classes is another."""
    rows = data.parts["trainval"]
    X, y, table = data.X.copy(), data.y.copy(), data.signatures.copy()
    others = np.setdiff1d(np.arange(len(X)), rows)
    X[others], y[others] = -7.0, data.unseen_classes[0]
    table.loc[data.unseen_classes] = 3.0 - 2 * table.loc[data.unseen_classes]
    return learned(make(name, **settings).fit(X[rows], y[rows], table))


@each
def test_nothing_is_learned_from_test_rows_and_unseen_classes(name, data, fitted):
    assert after_changes(name, data) == learned(fitted(name))


def test_a_planted_leak_is_found(data):
    settings = {"signature_mean": "all"}  # the mean of all signatures knows the unseen ones
    assert after_changes("eszsl", data, **settings) != learned(trained("eszsl", data, **settings))
