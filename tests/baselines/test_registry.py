"""Every method to compare with passes scikit-learn's checks, and has a name, a grid and a section in the docs."""

import re
from pathlib import Path

import pytest
from sklearn.model_selection import ParameterGrid
from sklearn.utils.estimator_checks import parametrize_with_checks

from published_methods import SMALL
from zskl import baselines, methods
from zskl.baselines import BASELINES
from zskl.estimators.default_grid import parts

FEWEST = {"eszsl": 64}  # settings of a default grid; 12 for others
PAGE = Path(__file__).parents[2] / "docs" / "baselines.md"


@pytest.mark.filterwarnings("ignore::zskl.estimators.estimator.UncalibratedWarning")
@parametrize_with_checks([baseline(**SMALL.get(name, {})) for name, baseline in BASELINES.items()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", BASELINES)
def test_a_name_is_a_method_with_a_grid_of_its_own(name):
    baseline, method = BASELINES[name], methods.METHODS[name]
    assert method == methods.Method(baseline, baseline.SUMMARY, {}, baseline.GRID, getattr(baseline, "BOUNDS", {}))
    assert getattr(baselines, baseline.__name__) is baseline
    assert baseline.__name__ in baselines.__all__
    settings = [*ParameterGrid([{key: list(values) for key, values in part.items()} for part in parts(baseline.GRID)])]
    assert len(settings) >= FEWEST.get(name, 12)
    assert any("feature_scaling" in setting for setting in settings)
    for setting in settings:
        estimator = methods.build(name, setting)
        if name != "cosine":  # which has only scalings
            estimator._check_parameters()


@pytest.mark.parametrize("name", BASELINES)
def test_the_page_of_the_baselines_lists_the_grid(name):
    """A section `## name …` for each method; its line "Default grid: …" has every setting with all its values."""
    section = re.search(rf"^## `{name}`.*?(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert section, f"docs/baselines.md has no section for {name}"
    listed = " ".join(re.search(r"Default grid: (.*?)\.\n", section[0] + "\n", re.DOTALL)[1].split())
    first, *others = parts(BASELINES[name].GRID)
    for setting, values in first.items():
        assert f"`{setting}` {', '.join(map(shown, values))}" in listed
    for part in others:
        assert "; and with fewer values of the others " in listed
        for setting, values in part.items():
            if values != first[setting]:
                assert f"`{setting}` {', '.join(map(shown, values))}" in listed.split("; and with fewer values")[1]
    for setting, ends in getattr(BASELINES[name], "BOUNDS", {}).items():
        assert f"`{setting}` {ends[0]:g} to {ends[1]:g}" in " ".join(section[0].split())
    assert "$$" in section[0] or "```text" in section[0]  # its equation


def shown(value):
    return f"{value:g}" if isinstance(value, float) else str(value)
