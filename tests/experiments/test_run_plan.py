"""The units of one command: some methods tuned, others at defaults, and more given only to those that can learn."""

import pytest

from zskl.experiments.run_plan import Plan, units

NAMES = ["class-means", "eszsl", "gaussian-ort"]


def test_some_methods_are_tuned_and_others_stay_at_defaults():
    found, said = units(Plan({}, tune=True, calibrate=True), NAMES, 2, ["Gaussian-Ort"])
    assert [(one.method, one.tune, one.calibrate, one.scoring, one.seed) for one in found] == [
        ("class-means", True, True, "both", 0),
        ("eszsl", True, True, "both", 0),
        ("gaussian-ort", False, True, None, 0),
        ("gaussian-ort", False, True, None, 1),
    ]
    assert said == [
        "class-means, eszsl: run once, since every seed gives the same model",
        "gaussian-ort: not tuned, at default settings",
    ]
    by_h, _ = units(Plan({}, tune=True, scoring="gzsl"), NAMES, 1, ["gaussian-ort"])
    assert [one.calibrate for one in by_h] == [True] * 3  # what is chosen by H is calibrated, so the others are too


def test_examples_go_to_those_that_can_learn_from_them():
    found, said = units(Plan({}, shots=(1, 5), unlabelled=("all",)), NAMES, 1)
    assert [(one.shots, one.unlabelled) for one in found] == [((1, 5), ("all",)), ((), ()), ((), ())]
    assert said == ["eszsl, gaussian-ort: scored without examples and unlabelled rows, from which they cannot learn"]
    with pytest.raises(ValueError, match="method 'eszsl' cannot learn from examples: expected one of class-means"):
        units(Plan({}, shots=(1,)), NAMES[1:], 1)


def test_defaults_names_a_method_that_is_run_and_tuned():
    with pytest.raises(ValueError, match=r"--defaults gausian-ort \(did you mean 'gaussian-ort'\?\): expected one of"):
        units(Plan({}, tune=True), NAMES, 1, ["gausian-ort"])
    with pytest.raises(ValueError, match="--defaults eszsl was given without --tune"):
        units(Plan({}), NAMES, 1, ["eszsl"])
    with pytest.raises(ValueError, match="without tune"):
        units(Plan({}, scoring="gzsl"), NAMES, 1)
