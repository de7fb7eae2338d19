"""Scores and ranks, and the calibration constant that is subtracted from seen classes."""

import numpy as np
import pandas as pd
import pytest

from tolerances import SUMS, assert_close
from toy import CANDIDATES


def test_decision_function_has_the_shape_of_scikit_learn(toy):
    model = toy.fitted()
    assert_close(model.decision_function(toy.X), model.compatibility(toy.X)[:, :3], SUMS.double)
    two = toy.y != "cat"
    model = toy.model().fit(toy.X[two], toy.y[two], toy.table)
    scores = model.compatibility(toy.X)
    assert scores.shape == (len(toy.X), 5)
    assert_close(model.decision_function(toy.X), scores[:, 1] - scores[:, 0], SUMS.double)


@pytest.mark.parametrize("k", [1, 3, np.int64(5)])
def test_top_k(toy, k):
    model = toy.fitted()
    labels, scores = model.top_k(toy.X_new, k, return_scores=True)
    assert labels.shape == scores.shape == (len(toy.X_new), k)
    assert labels[:, 0].tolist() == model.predict(toy.X_new).tolist()
    assert (np.diff(scores, axis=1) <= 0).all()
    assert all(len(set(row)) == k for row in labels.tolist())
    raw = model.compatibility(toy.X_new)
    for row, column in np.ndindex(*labels.shape):
        assert scores[row, column] == raw[row, CANDIDATES.index(labels[row, column])]
    assert labels.tolist() == model.top_k(toy.X_new, k).tolist()


def test_top_k_is_five_by_default(toy):
    assert toy.fitted().top_k(toy.X).shape == (len(toy.X), 5)


@pytest.mark.parametrize("calibration", [0.05, 10.0, -10.0])
def test_calibration_is_taken_off_seen_classes_where_both_kinds_compete(toy, calibration):
    model = toy.fitted()
    before = model.compatibility(toy.X)
    model.calibration_ = calibration
    np.testing.assert_array_equal(model.compatibility(toy.X), before)  # always raw
    assert_close(model.decision_function(toy.X), before[:, :3], SUMS.double)
    lowered = before - calibration * np.array([1, 1, 1, 0, 0])
    assert model.predict(toy.X).tolist() == [CANDIDATES[best] for best in lowered.argmax(axis=1)]
    labels, scores = model.top_k(toy.X, return_scores=True)
    assert labels[:, 0].tolist() == model.predict(toy.X).tolist()
    assert_close(scores, -np.sort(-lowered, axis=1), SUMS.double)
    if abs(calibration) > 1:  # more than any difference of scores
        kind = {"emu", "bee"} if calibration > 0 else {"ant", "cat", "dog"}
        assert set(model.predict(toy.X)) <= kind


def test_calibration_can_be_switched_off_and_never_touches_one_kind_alone(toy):
    model = toy.fitted()
    plain = {
        kind: model.top_k(toy.X, 2, candidates=kind, return_scores=True) for kind in (("ant", "dog"), ("emu", "bee"))
    }
    mixed = model.predict(toy.X).tolist()
    model.calibration_ = 10.0
    assert model.predict(toy.X).tolist() != mixed
    assert model.predict(toy.X, calibrated=False).tolist() == mixed
    assert model.top_k(toy.X, 1, calibrated=False)[:, 0].tolist() == mixed
    for kind, (labels, scores) in plain.items():
        again, same = model.top_k(toy.X, 2, candidates=kind, return_scores=True)
        assert again.tolist() == labels.tolist()
        np.testing.assert_array_equal(same, scores)


def test_calibration_knows_seen_classes_in_a_table_at_predict_time(toy):
    model = toy.fitted()
    model.calibration_ = 10.0
    new = pd.concat([toy.table.loc[["dog"]], toy.table.loc[["bee"]].rename(index={"bee": "wasp"})])
    assert set(model.predict(toy.X, new)) == {"wasp"}
    assert set(model.predict(toy.X, new, candidates=["dog"])) == {"dog"}


def test_a_fit_forgets_the_calibration(toy):
    model = toy.fitted()
    model.calibration_ = 10.0
    assert model.fit(toy.X, toy.y, toy.table).calibration_ == 0.0


def test_score_is_the_accuracy_of_predict(toy):
    model = toy.fitted()
    assert model.score(toy.X, toy.y) == (model.predict(toy.X) == toy.y).mean()
    weights = np.arange(1.0, len(toy.y) + 1)
    hits = model.predict(toy.X) == toy.y
    assert model.score(toy.X, toy.y, weights) == pytest.approx(np.average(hits, weights=weights), rel=1e-12)
