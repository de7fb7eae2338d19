"""Means and sums over classes."""

import numpy as np

from closed_forms import RAW
from tolerances import SUMS, assert_close
from zskl import baselines, datasets
from zskl.baselines.shared_fit import class_signatures, class_sums, members


def test_means_and_sums_over_classes():
    data = datasets.make_synthetic(
        n_seen=4, n_unseen=2, samples_per_class=5, n_features=3, n_attributes=3, descriptions=2
    )
    table = data.signatures.iloc[1:]  # the first class now has one description, the others two
    model = baselines.ESZSL(**RAW)
    rows = data.parts["trainval"]
    X, y = data.X[rows], data.y[rows]
    training = model._prepare(X, y, table)
    assert_close(class_signatures(training), [table.loc[[k]].mean() for k in model.classes_], SUMS.single)
    assert_close(class_sums(training), [X[y == k].sum(axis=0) for k in model.classes_], SUMS.single)
    assert (members(training).argmax(axis=1) == np.searchsorted(model.classes_, y)).all()
