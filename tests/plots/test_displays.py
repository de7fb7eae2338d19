"""Displays: what they draw, in whose axes, and what they refuse."""

import doctest
import inspect
import sys
from dataclasses import replace
from importlib import import_module

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import records
from zskl import baselines, datasets, plots, protocols, selection
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.experiments.record import Record
from zskl.paper import results
from zskl.plots import unseen_classes
from zskl.plots._base import Display
from zskl.plots._style import COLOURS, line_styles

NAMES = ("ant", "bee", "cow")
CURVE = {"values": [0.0, 1.0, 10.0], "validation": [[0.4, 0.6], [0.5, 0.7], None], "test": [0.5, 0.6, None]}
VARIED = {
    "key": "k",
    "part": "sensitivity",
    "dataset": "CUB",
    "method": "gaussian-ort",
    "seed": 0,
    "setting": {"sigma": 1.0},
}
FROM_RECORDS = {  # how each display is made from one record
    plots.ClassAccuracyDisplay: {},
    plots.ComparisonDisplay: {"figures": ["unseen", "H"]},
    plots.ConfusionDisplay: {},
    plots.ConvergenceDisplay: {},
    plots.GramDisplay: {},
    plots.ReliabilityDisplay: {"protocol": "gzsl"},
    plots.SeenUnseenCurveDisplay: {},
    plots.SensitivityDisplay: {"setting": "sigma"},
    plots.ValidationGridDisplay: {"scoring": "gzsl"},
    plots.ValidationTestDisplay: {"scoring": "gzsl"},
}


def full(**more):
    return Record.from_json(records.full(**more))


def plain(**more):
    return Record.from_json(records.plain(**more))


def varied(seed=0, **curve):
    return results.curve_record_from_json({**VARIED, "seed": seed, "curves": {"sigma": {**CURVE, **curve}}})


def record(display):
    return varied() if display is plots.SensitivityDisplay else full(classes=NAMES)


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


@pytest.fixture(scope="module")
def model(digits):
    return baselines.ESZSL().fit(*digits.samples("trainval"), digits.signatures)


@pytest.fixture(scope="module")
def kernel(digits):
    fitted = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(*digits.samples("trainval"), digits.signatures)
    X, y = digits.samples("trainval")
    selection.calibrate(fitted, X, y, digits.signatures, selection.folds(digits))
    return fitted


def test_every_public_display_is_tested_here():
    assert {display.__name__ for display in FROM_RECORDS} == set(plots.__all__)


@pytest.mark.parametrize("display", FROM_RECORDS)
def test_a_display_draws_in_a_figure_of_its_own_or_in_your_axes(display):
    before = dict(matplotlib.rcParams)
    own = display.from_records([record(display)], **FROM_RECORDS[display])
    assert isinstance(own, Display)
    assert own.ax_ in own.figure_.axes
    assert own.ax_.get_xlabel()
    assert len(own.description) > 5
    ax = Figure().subplots()
    yours = display.from_records([record(display)], ax=ax, **FROM_RECORDS[display])
    assert (yours.ax_, yours.figure_) == (ax, ax.figure)
    assert ax.has_data()
    assert own.plot(ax) is own
    assert own.ax_ is ax
    assert dict(matplotlib.rcParams) == before


def test_axes_of_a_subfigure_belong_to_the_whole_figure():
    figure = Figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    assert plots.GramDisplay([[1.0]]).plot(ax).figure_ is figure


@pytest.mark.parametrize("display", [one for one in FROM_RECORDS if one.__name__ != "SensitivityDisplay"])
def test_records_without_what_is_drawn_are_refused(display):
    if display is plots.ComparisonDisplay:
        return  # every record has accuracies
    with pytest.raises(ValueError, match=r"the record digits gaussian seed 0 has no .*: expected .*; run "):
        display.from_records([plain()])
    with pytest.raises(ValueError, match="records is empty: expected at least one"):
        display.from_records([])


def test_pyplot_is_never_needed(monkeypatch):
    """It would pick a screen, and keep every figure alive."""
    monkeypatch.delattr(matplotlib, "pyplot", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # whoever imports it gets an error
    with pytest.raises(ImportError):
        from matplotlib import pyplot  # noqa: F401
    plots.GramDisplay([[1.0]]).plot()


def test_a_curve_has_the_points_of_the_protocol(digits, model):
    from zskl import protocols

    display = plots.SeenUnseenCurveDisplay.from_estimator(model, digits, name="mine")
    result = protocols.gzsl(model, digits)
    x, y = display.lines_[0].get_data()
    np.testing.assert_array_equal(x, 100 * result.curve.seen)
    np.testing.assert_array_equal(y, 100 * result.curve.unseen)
    assert display.description == (
        f"mine, unseen and seen accuracy: plain {100 * result.unseen:.1f} and {100 * result.seen:.1f} %"
    )
    assert display.calibrated == [None]


def test_a_calibrated_model_has_two_points(digits, kernel):
    assert kernel.calibration_ != 0
    display = plots.SeenUnseenCurveDisplay.from_estimator(kernel, digits)
    assert display.plain[0] != display.calibrated[0]
    rings = [line for line in display.ax_.lines if line.get_marker() == "o"]
    drawn = [np.ravel(ring.get_data())[::-1] / 100 for ring in rings]  # unseen classes are on the vertical axis
    np.testing.assert_allclose(drawn, [display.plain[0], display.calibrated[0]], rtol=1e-12)


def test_displays_of_estimators_and_records_agree(digits, kernel):
    from zskl.experiments import unit

    summary = unit.summarise_model(kernel, digits)
    sure = protocols.confidence(kernel, digits)
    probabilities = {"zsl": {"coverage": sure.coverage}}
    found = replace(plain(method="gaussian", seed=0), gram=summary["gram"], convergence=summary["convergence"])
    found = replace(
        found, probabilities=Record.from_json({**records.plain(), "probabilities": probabilities}).probabilities
    )
    for kind, arguments in (
        (plots.GramDisplay, ()),
        (plots.ConvergenceDisplay, ()),
        (plots.ReliabilityDisplay, (digits,)),
    ):
        one, other = kind.from_estimator(kernel, *arguments), kind.from_records([found])
        told = one.description.replace("ZeroShotKernelClassifier", "gaussian")
        assert told == other.description


def test_confusion_of_an_estimator_is_complete(digits, model):
    display = plots.ConfusionDisplay.from_estimator(model, digits)
    np.testing.assert_allclose(display.shares.sum(axis=1), 1, rtol=1e-12)
    accuracy = plots.ClassAccuracyDisplay.from_estimator(model, digits).accuracy
    assert dict(zip(display.classes, np.diag(display.shares), strict=True)) == pytest.approx(accuracy)


def test_wrong_answers_that_a_record_lacks_are_gaps_not_zeros():
    names = [f"class {k}" for k in range(6)]
    found = unseen_classes.read_confusion(full(classes=names))
    assert found.shares[0, 5] == 0.25
    assert np.isnan(found.shares[0, 1])
    assert np.isfinite(unseen_classes.read_confusion(full(classes=NAMES)).shares).all()
    answered = records.full(classes=NAMES)
    answered["zsl"]["mistaken"]["ant"] = [["newt", 0.1]]
    assert unseen_classes.read_confusion(Record.from_json(answered)).answers == [*NAMES, "newt"]


def test_many_classes_are_drawn_as_the_largest_shares():
    names = [f"class {k}" for k in range(50)]
    display = plots.ConfusionDisplay.from_records([full(classes=names)])
    assert not display.whole
    assert len(display.ax_.patches) == unseen_classes.PAIRS
    assert display.pairs[0][2] == 0.25


def test_sensitivity_is_the_mean_over_seeds():
    other = varied(1, test=[0.7, None, None])
    display = plots.SensitivityDisplay.from_records([varied(), other], setting="sigma")
    np.testing.assert_allclose(display.sides["test"], [0.6, 0.6, np.nan], rtol=1e-12)
    np.testing.assert_allclose(display.sides["validation"], [0.5, 0.6, np.nan], rtol=1e-12)
    assert display.chosen == 1.0
    assert display.description.startswith("validation is highest at 1 with 60.0 %; test is highest at ")
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["0", "1", "2", "5", "10"]
    x, y = display.lines_[0].get_data()
    np.testing.assert_allclose((x, y), [[-0.5, 0.0], [50, 60]], rtol=1e-12)


def test_grid_shows_the_two_settings_that_matter_most():
    display = plots.ValidationGridDisplay.from_records([full()], scoring="zsl")
    assert display.settings == ("epochs", "sigma")
    assert (display.rows, display.columns, display.chosen) == ([1, 10], [0.5, 1.0, 2.0], (1, 1))
    np.testing.assert_allclose(display.scores, [[0.36, 0.41, 0.51], [0.45, 0.5, 0.6]], rtol=1e-12)
    half = plots.ValidationGridDisplay.from_records([full()], scoring="gzsl")
    assert np.isnan(half.scores[:, 2]).all()


def test_one_setting_makes_one_row():
    tune = {"choices": {"zsl": {}}, "table": {"names": ["sigma"], "rows": [[0.5, 0.3, None], [1.0, 0.4, None]]}}
    display = plots.ValidationGridDisplay.from_records([full(tune=tune)])
    assert (display.settings, display.rows, display.chosen) == (("", "sigma"), [None], None)


def test_methods_are_compared_by_their_means():
    found = [plain(seed=seed, accuracy=0.5 + seed / 10) for seed in (0, 1)] + [plain(method="eszsl", accuracy=0.7)]
    display = plots.ComparisonDisplay.from_records(found)
    assert list(display.methods) == ["gaussian", "eszsl"]
    np.testing.assert_allclose(display.means, [[55, 70]], rtol=1e-12)
    assert display.description == "2 methods; zero-shot is highest for eszsl with 70.0"


def test_lines_of_many_methods_differ():
    made = line_styles([0, 0, 1, 7, 2])
    assert len({one["color"] for one in made}) == 5
    assert made[0]["color"] == COLOURS[0]
    assert len(line_styles(range(9))) == 9


def test_names_come_from_methods_and_seeds():
    display = plots.ConvergenceDisplay.from_records([full(seed=0), full(seed=1), full(method="cauchy")])
    assert display.names == ["gaussian, seed 0", "gaussian, seed 1", "cauchy"]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == display.names


@pytest.mark.parametrize("display", FROM_RECORDS)
def test_what_is_drawn_is_given_to_the_constructor(display):
    """No hidden state: the constructor names all that `plot` needs, and stores it."""
    assert not any(kind.kind is kind.VAR_KEYWORD for kind in inspect.signature(display).parameters.values())
    assert "plot" not in vars(display)


# Examples in docstrings of the displays and of the report run, and their parameters are documented.

MODULES = ["zskl.report.page", *sorted({getattr(plots, name).__module__ for name in plots.__all__})]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    failed, tried = doctest.testmod(import_module(name))
    assert (failed, tried > 0) == (0, True)
