"""A setting varied around the chosen one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluated import SETTING, fitted, open_
from zskl import methods, metrics, protocols, selection
from zskl.paper import claims, sensitivity, sensitivity_run
from zskl.paper import methods as paper_methods
from zskl.paper.curve_records import Varied
from zskl.paper.results import Results, problem_of


def test_a_varied_setting_is_fitted_on_folds_and_on_all_training_rows(data):
    record = sensitivity_run.Varying("gaussian-ort", 0, SETTING).run(data)
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
    before, after = (sensitivity_run.Varying("gaussian-ort", 0, SETTING).run(one).curves for one in (data, noise))
    for setting in before:
        assert before[setting].validation == after[setting].validation
    assert [before[setting].test for setting in before] != [after[setting].test for setting in after]


def test_a_diverging_value_is_a_gap(data):
    setting = {"bias": 1.0, "repulsion": 1.0, "learning_rate": 1e4, "epochs": 1}
    record = sensitivity_run.Varying("polynomial-4", 0, setting).run(data)
    assert record.curves["bias"] == Varied((0.5, 1.0), (None, None), (None, None))
    point = sensitivity.points([record], "bias")[1]
    assert (point.validation, point.test, point.diverged) == (None, None, 1)
    problem = problem_of(record)
    results = Results((problem,), paper_methods.ALL, {}, {(problem, "polynomial-4"): [record]})
    assert "diverged in 4 case(s)" in " ".join(sensitivity.outputs(results)[0].table.notes)
    assert claims.SMALL in {one.claim for one in claims.judge(results) if one.answer == claims.UNTESTED}


def test_a_stack_tests_what_single_fits_do(data, monkeypatch):
    """As on a GPU, where all values train at once."""
    settings = [{**SETTING, "sigma": sigma} for sigma in (0.5, 1.0, 2.0)]
    estimator = methods.build("gaussian-ort", {"random_state": 3})
    alone = sensitivity_run._tested(estimator, settings, data, None)
    monkeypatch.setattr(sensitivity_run, "on_gpu", lambda *given: True)
    stacked = sensitivity_run._tested(estimator, settings, data, None)
    for one, other, setting in zip(stacked, alone, settings, strict=True):
        model = methods.build("gaussian-ort", {"random_state": 3, **setting}).fit(
            *data.samples("trainval"), data.signatures
        )
        assert one == pytest.approx(other, abs=open_(model, data))
