"""Courses of training, against a fit and a loss written out."""

from __future__ import annotations

import numpy as np
import pytest

from evaluated import SETTING, fitted, open_
from tolerances import AFTER_FIT, SUMS
from zskl import protocols, selection
from zskl.paper import convergence_run


def test_the_objective_of_watched_rows_is_the_same_in_torch(data):
    torch = pytest.importorskip("torch")
    part = data.parts["trainval"]
    model = fitted(data, part)
    W = model.projection_[None]
    found = [convergence_run._Measure(model, data, part, place).objective(place) for place in (W, torch.from_numpy(W))]
    assert found[0] == pytest.approx(found[1], rel=SUMS.single)


def test_a_watched_course_ends_where_a_fit_does(data):
    record = convergence_run.Watching("gaussian-ort", 0, SETTING).run(data)
    assert record.epochs == 3
    part = data.parts["trainval"]
    model = fitted(data, part, epochs=3)
    phase = record.phases["test"]
    assert phase.accuracy["held out"][-1] == pytest.approx(protocols.zsl(model, data).accuracy, abs=open_(model, data))
    for side, held in (("training", part), ("held out", data.parts["test_unseen"])):
        assert phase.objective[side][-1] == pytest.approx(objective(model, data, held), rel=AFTER_FIT.single)
    fold = selection.folds(data)[0]
    model, held = fitted(data, part[fold.train], epochs=3), part[fold.val_unseen]
    assert record.phases["validation"].objective["held out"][-1] == pytest.approx(
        objective(model, data, held), rel=AFTER_FIT.single
    )


def objective(model, data, held):
    """The squared loss of the Gaussian kernel, written out."""
    W = np.asarray(model.projection_, np.float64)
    X = model.feature_scaling_.apply(data.X[held]).astype(np.float64)
    classes = np.unique(data.y[held])
    Y = model.signature_scaling_.apply(data.signatures.loc[classes].to_numpy(dtype=np.float32)).astype(np.float64)
    total = 0.0
    for x, label in zip(X, data.y[held], strict=True):
        for name, y in zip(classes, Y, strict=True):
            weight = 1.0 if name == label else SETTING["repulsion"] / (len(classes) - 1)
            for distance in (np.sum((W.T @ x - y) ** 2), np.sum((x - W @ y) ** 2)):
                k = np.exp(-distance / (2 * SETTING["sigma"] ** 2))
                total += weight * (k - (name == label)) ** 2
    return total / len(X)
