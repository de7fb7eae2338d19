"""Units: what decides their seed and key, and the record of each way to choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from swept import QUICK
from zskl import methods
from zskl.experiments import unit as experiment
from zskl.experiments.unit import Unit, seed_of


def stages(record):
    """Those that took time."""
    return set(record.to_json()["seconds"])


def test_seeds_derive_from_names_alone():
    assert seed_of("digits", "gaussian", 0) == 1619081162  # records of earlier runs rely on it
    assert len({seed_of(d, m, s) for d in ("a", "b") for m in methods.METHODS for s in range(5)}) == 10 * len(
        methods.METHODS
    )
    assert all(0 <= seed_of("x", "y", s) < 2**31 for s in range(100))


def test_a_key_names_what_decides_figures_and_not_the_device(digits):
    key = Unit("gaussian", 0, QUICK).key(digits)
    assert key == Unit("gaussian", 0, dict(QUICK), device="cpu").key(digits)
    assert len(key) == 64
    others = [
        Unit("gaussian-ort", 0, QUICK),
        Unit("gaussian", 1, QUICK),
        Unit("gaussian", 0),
        Unit("gaussian", 0, QUICK, tune=True),
        Unit("gaussian", 0, QUICK, calibrate=True),
        Unit("gaussian", 0, QUICK, tune=True, calibrate=True),
        Unit("gaussian", 0, QUICK, tune=True, scoring="gzsl"),
    ]
    assert len({key, *(unit.key(digits) for unit in others)}) == len(others) + 1


def test_records_from_before_a_default_changed_are_not_taken_for_new_ones(digits, monkeypatch):
    plain, tuned, other = (Unit("eszsl", 0, **how) for how in ({}, {"tune": True}, {"settings": {"targets": "signs"}}))
    for name, settings in experiment.REDEFINED.items():
        assert methods.build(name).get_params().items() >= settings.items()
    now = [unit.key(digits) for unit in (plain, tuned, other)]
    assert now[0] == Unit("eszsl", 0, {"targets": "zero-one"}).key(digits)
    monkeypatch.setattr(experiment, "REDEFINED", {})
    before = [unit.key(digits) for unit in (plain, tuned, other)]
    assert [old == new for old, new in zip(before, now, strict=True)] == [False, True, True]


def test_a_key_names_the_bounds_of_a_grid(digits, monkeypatch):
    unit = Unit("eszsl", 0, {"lam": 1.0}, tune=True)
    keys = {unit.key(digits)}
    for bounds in ({"gamma": (0.01, 1e3)}, {"gamma": (0.01, 1e4)}, {"gamma": (0.01, 1e4), "lam": (0.1, 5)}):
        changed = replace(methods.METHODS["eszsl"], bounds=bounds)
        monkeypatch.setattr(methods, "METHODS", {**methods.METHODS, "eszsl": changed})
        keys.add(unit.key(digits))
    assert len(keys) == 3  # what is fixed has no bounds
    assert unit.bounds == {"gamma": (0.01, 1e4)}
    assert Unit("eszsl", 0).bounds == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"scoring": "zsl"}, "without tune"), ({"tune": True, "scoring": "zls"}, "did you mean 'zsl'")],
)
def test_a_mistaken_unit_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Unit("gaussian", 0, **arguments)


def test_without_choosing_the_record_is_plain(digits):
    record = experiment.run(Unit("gaussian", 0, QUICK), digits)
    assert stages(record) == {"fit", "evaluate"}
    assert not {"tune", "calibration", "gzsl_calibrated", "probabilities"} & set(record.to_json())
    assert len(record.gzsl.curve.seen) <= 200


def test_tuning_by_both_scorings_takes_one_search_and_two_choices(digits, small):
    record = experiment.run(Unit("gaussian", 0, tune=True, calibrate=True), digits)
    tune = record.tune
    assert (tune.scoring, tune.settings, tune.folds) == ("both", 5, 3)  # the default is compared too
    assert tune.grid == {"sigma": (0.5, 1.0), "epochs": (1, 2)}
    for choice in (tune.choices.zsl, tune.choices.gzsl):
        assert choice.score == pytest.approx(np.mean(choice.fold_scores), rel=1e-12)
        assert choice.spread == pytest.approx(np.std(choice.fold_scores, ddof=1), rel=1e-9)
    assert {record.config[name] for name in ("sigma", "epochs")} == set(tune.choices.zsl.setting.values())
    assert record.calibration == record.gzsl_calibrated.calibration
    assert record.gzsl_calibrated.harmonic > record.gzsl.harmonic
    assert stages(record) == {"search", "fit", "evaluate"}
    assert 0 <= record.probabilities.zsl.ece <= 1


def test_one_scoring_is_one_model(digits, small):
    zsl = experiment.run(Unit("gaussian", 0, tune=True), digits)
    gzsl = experiment.run(Unit("gaussian", 0, tune=True, scoring="gzsl"), digits)
    both = experiment.run(Unit("gaussian", 0, tune=True, scoring="both"), digits)
    assert zsl.tune.choices.gzsl is None
    assert zsl.gzsl_calibrated is None
    assert both.zsl == zsl.zsl
    assert both.gzsl == zsl.gzsl
    assert both.gzsl_calibrated == gzsl.gzsl_calibrated
    assert gzsl.gzsl.ausuc == gzsl.gzsl_calibrated.ausuc


def test_settings_that_are_fixed_leave_the_grid(digits, small):
    record = experiment.run(Unit("gaussian", 0, {"sigma": 0.7}, tune=True), digits)
    assert record.tune.grid == {"epochs": (1, 2)}
    assert record.config["sigma"] == 0.7


def test_calibration_without_tuning(digits):
    record = experiment.run(Unit("gaussian", 0, QUICK, calibrate=True), digits)
    assert record.calibration > 0
    assert stages(record) == {"fit", "calibrate", "evaluate"}
