"""Courses of training, against a fit and a loss written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paper_runs import SETTING, fitted, open_
from tolerances import AFTER_FIT, SUMS
from zskl import methods, metrics, protocols, selection
from zskl.paper import claims, evaluation, tables
from zskl.paper import results as resultss
from zskl.paper.results import Results, SettingCurve, problem_of


def test_objective_of_held_out_rows_is_the_same_in_torch(data):
    torch = pytest.importorskip("torch")
    part = data.parts["trainval"]
    model = fitted(data, part)
    W = model.projection_[None]
    found = [
        evaluation._ObjectiveMeter(model, data, part, place).objective(place) for place in (W, torch.from_numpy(W))
    ]
    assert found[0] == pytest.approx(found[1], rel=SUMS.single)


def test_convergence_ends_where_a_fit_ends(data):
    record = evaluation.ConvergenceUnit("gaussian-ort", 0, SETTING).run(data)
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


# A setting varied around the chosen one.


def test_a_varied_setting_is_fitted_on_folds_and_on_all_training_rows(data):
    record = evaluation.SensitivityUnit("gaussian-ort", 0, SETTING).run(data)
    assert record.curves["sigma"].values == (0.5, 0.7, 1.0, 2.0)
    rows_ = data.parts["trainval"]
    for setting, curve in record.curves.items():
        for value, validation, tested in zip(curve.values, curve.validation, curve.test, strict=True):
            model = fitted(data, rows_, **{setting: value})
            assert tested == pytest.approx(protocols.zsl(model, data).accuracy, rel=1e-12)
            for fold, score in zip(selection.folds(data), validation, strict=True):
                model, held = fitted(data, rows_[fold.train], **{setting: value}), rows_[fold.val_unseen]
                answers = model.predict(data.X[held], data.signatures.loc[np.unique(data.y[held])])
                assert score == pytest.approx(metrics.mean_per_class_accuracy(data.y[held], answers), rel=1e-12)


def test_validation_of_a_varied_setting_sees_no_test_row(data):
    X = data.X.copy()
    for part in ("test_seen", "test_unseen"):
        X[data.parts[part]] = np.random.default_rng(0).normal(size=X[data.parts[part]].shape)
    noise = replace(data, X=X)
    before, after = (evaluation.SensitivityUnit("gaussian-ort", 0, SETTING).run(one).curves for one in (data, noise))
    for setting in before:
        assert before[setting].validation == after[setting].validation
    assert [before[setting].test for setting in before] != [after[setting].test for setting in after]


def test_a_diverging_value_is_a_gap(data):
    setting = {"bias": 1.0, "repulsion": 1.0, "learning_rate": 1e4, "epochs": 1}
    record = evaluation.SensitivityUnit("polynomial-4", 0, setting).run(data)
    assert record.curves["bias"] == SettingCurve((0.5, 1.0), (None, None), (None, None))
    point = tables.curve_points([record], "bias")[1]
    assert (point.validation, point.test, point.diverged) == (None, None, 1)
    problem = problem_of(record)
    results = Results((problem,), resultss.ALL, {}, {(problem, "polynomial-4"): [record]})
    assert "diverged in 4 cases" in " ".join(next(tables.sensitivity_figures(results)).table.notes)
    assert claims.SMALL in {one.claim for one in claims.judge_claims(results) if one.answer == claims.UNTESTED}


def test_a_stack_gives_the_accuracies_of_single_fits(data, monkeypatch):
    """As on a GPU, where all values train at once."""
    settings = [{**SETTING, "sigma": sigma} for sigma in (0.5, 1.0, 2.0)]
    estimator = methods.build("gaussian-ort", {"random_state": 3})
    alone = evaluation._evaluate_settings(estimator, settings, data, None)
    monkeypatch.setattr(evaluation, "runs_on_gpu", lambda *given: True)
    stacked = evaluation._evaluate_settings(estimator, settings, data, None)
    for one, other, setting in zip(stacked, alone, settings, strict=True):
        model = methods.build("gaussian-ort", {"random_state": 3, **setting}).fit(
            *data.samples("trainval"), data.signatures
        )
        assert one == pytest.approx(other, abs=open_(model, data))
