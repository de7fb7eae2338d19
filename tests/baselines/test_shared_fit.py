"""Means and sums over classes."""

import numpy as np
import pytest

from closed_forms import RAW
from tolerances import SOLUTION, SUMS, assert_close
from zskl import baselines, datasets
from zskl.baselines import linear
from zskl.baselines.shared_fit import class_signatures, class_sums, members, sums_and_spectrum


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


@pytest.mark.parametrize("rows", [60, 4])
def test_one_pass_gives_class_sums_and_spectrum(monkeypatch, rows):
    monkeypatch.setattr(linear, "BLOCK_VALUES", 7 * 6)
    monkeypatch.setattr(linear, "BLOCK_ROWS", 1)
    rng = np.random.default_rng(0)
    X, y, Y = rng.normal(size=(rows, 6)), np.arange(rows) % 2, np.eye(2)
    weights = rng.uniform(0.5, 2, size=rows)
    training = baselines.ESZSL(**RAW)._prepare(X, y, Y, weights=(weights, None))
    sums, basis, energy = sums_and_spectrum(training)
    assert_close(sums, class_sums(training), SUMS.double)
    assert_close(basis * energy @ basis.T, (X * weights[:, None]).T @ X, SOLUTION.single)
    assert_close(sums, [(X * weights[:, None])[y == k].sum(axis=0) for k in range(2)], SUMS.single)
