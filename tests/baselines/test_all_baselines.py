"""What every published method promises: candidates, seeds, precision, files, and refusals of bad input."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.estimator_checks import parametrize_with_checks

import zskl
from baseline_problems import SMALL, each, learned, make, trained, unseen
from tolerances import AFTER_FIT, SUMS, assert_close
from zskl import baselines, datasets, methods, protocols
from zskl.baselines import BASELINES
from zskl.methods import split_grid

# Contract


@each
def test_it_recognises_classes_never_trained_on(name):
    data = datasets.make_synthetic(n_seen=30, samples_per_class=10, n_features=24, n_attributes=10, noise=0.2)
    model = trained(name, data, **({"epochs": 10} if "epochs" in make(name).get_params() else {}))
    accuracy, result = protocols.zsl(model, data).accuracy, protocols.gzsl(model, data)
    assert accuracy > 0.6  # chance is 0.2
    assert result.unseen <= accuracy
    assert result.seen > 0.6


@each
def test_several_candidate_sets(name, data, fitted):
    model = fitted(name)
    X, labels = unseen(data), model.candidates_.tolist()
    scores = model.compatibility(X)
    assert scores.shape == (len(X), len(labels))
    assert np.isfinite(scores).all()
    for chosen in (data.unseen_classes[::-1], data.seen_classes[:3], data.unseen_classes[:1], labels[::-1]):
        columns = [labels.index(label) for label in chosen]
        some = model.compatibility(X, candidates=chosen)
        assert_close(some, scores[:, columns], SUMS.single)
        if len(chosen) > 1:
            with pytest.raises(AssertionError):  # columns in another order
                assert_close(some[:, ::-1], scores[:, columns], SUMS.single)
    one = np.concatenate([model.compatibility(row[None]) for row in X[:5]])
    assert_close(one, scores[:5], SUMS.single)


@each
def test_other_names_for_the_classes_change_nothing_else(name, data, fitted):
    """A permutation changes which class comes first, and so the order of sums, but no answer."""
    rows, table = data.parts["trainval"], data.signatures
    names = data.class_names
    renamed = dict(
        zip(names, np.random.default_rng(1).permutation([f"kind {k:02}" for k in range(len(names))]), strict=True)
    )
    other = make(name).fit(data.X[rows], [renamed[label] for label in data.y[rows]], table.rename(index=renamed))
    model = fitted(name)
    expected = [renamed[label] for label in model.predict(unseen(data), candidates=data.unseen_classes)]
    found = other.predict(unseen(data), candidates=[renamed[label] for label in data.unseen_classes])
    assert (found == expected).mean() > 0.97
    assert (
        model.seen_classes_.tolist()
        != [k for k, _ in sorted(renamed.items(), key=lambda item: item[1])][: len(model.seen_classes_)]
    )


@each
def test_the_same_seed_gives_the_same_model(name, data, fitted):
    one, two = fitted(name), trained(name, data)
    assert learned(one) == learned(two)
    np.testing.assert_array_equal(one.compatibility(unseen(data)), two.compatibility(unseen(data)))
    state = np.random.RandomState(0)
    assert learned(trained(name, data, random_state=state)).keys() == learned(one).keys()


@each
def test_a_model_file_gives_bit_identical_scores(name, data, fitted, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    for X in (unseen(data), unseen(data).astype(np.float64)):
        np.testing.assert_array_equal(loaded.compatibility(X), model.compatibility(X))
        assert loaded.predict(X).tolist() == model.predict(X).tolist()
    loaded.save(tmp_path / "b.zskl")
    assert (tmp_path / "b.zskl").read_bytes() == (tmp_path / "a.zskl").read_bytes()


@each
def test_bad_input_is_refused_with_a_sentence_and_leaves_the_model_as_it_was(name, data):
    model = trained(name, data)
    before = {key: value for key, value in vars(model).items() if key.endswith("_")}
    rows = data.parts["trainval"]
    X, y, table = data.X[rows], data.y[rows], data.signatures
    holes = X.copy()
    holes[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN in column 2, first at row 3"):
        model.fit(holes, y, table)
    with pytest.raises(ValueError, match=r"no signature for class .*: every label in y needs a row"):
        model.fit(X[:, :5], y, table.iloc[1:])
    with pytest.raises(ValueError, match=r"1 class only"):
        model.fit(X[:, :5], [table.index[0]] * len(y), table)
    for setting in set(split_grid(BASELINES[name].GRID)[0]) & set(model.get_params()):
        with pytest.raises(ValueError, match=rf"{setting} is 'nonsense': expected"):
            clone(model).set_params(**{setting: "nonsense"}).fit(X, y, table)
    with pytest.raises(ValueError, match="it must have the 10 attribute columns of fit"):
        model.predict(X, table.iloc[:, :3])
    after = {key: value for key, value in vars(model).items() if key.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[key] is before[key] for key in before)


@each
def test_precision_and_callback(name, data, fitted):
    model = fitted(name)
    single, double = (model.compatibility(unseen(data).astype(dtype)) for dtype in (np.float32, np.float64))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert_close(single, double, SUMS.single)
    with pytest.raises(AssertionError):  # half precision
        assert_close(single * (1 + 2**-10), double, SUMS.single)
    rows = data.parts["trainval"]
    again = make(name).fit(data.X[rows], data.y[rows], data.signatures, callback=lambda progress: None)
    assert learned(again) == learned(model)
    for array in (getattr(model, key) for key, shape in model.LEARNED.items() if shape):
        assert isinstance(array, np.ndarray)
        assert array.dtype.kind == "f"


@each
def test_tensors(name, data, fitted):
    torch = pytest.importorskip("torch")
    rows = data.parts["trainval"]
    model = make(name).fit(torch.from_numpy(data.X[rows].copy()), data.y[rows], data.signatures)
    assert all(isinstance(getattr(model, key), np.ndarray) for key, shape in model.LEARNED.items() if shape)
    scores = model.compatibility(torch.from_numpy(unseen(data).copy()))
    assert isinstance(scores, torch.Tensor)
    assert scores.dtype is torch.float32
    expected = model.compatibility(unseen(data))
    assert_close(scores.numpy(), expected, SUMS.single)
    by_numpy = fitted(name)
    same = model.predict(unseen(data)) == by_numpy.predict(unseen(data))
    assert same.mean() > 0.95


@each
def test_without_signatures_it_is_a_classifier(name, data):
    rows = data.parts["trainval"]
    X, codes = data.X[rows], pd.Series(data.y[rows]).astype("category").cat.codes.to_numpy()
    assert make(name).fit(X, codes).score(X, codes) > 0.8


# Leaks
# No published method learns anything from test rows or unseen classes.


def after_changes(name, data, **settings):
    """What is learned where everything about the test rows and the unseen classes is another."""
    rows = data.parts["trainval"]
    X, y, table = data.X.copy(), data.y.copy(), data.signatures.copy()
    others = np.setdiff1d(np.arange(len(X)), rows)
    X[others], y[others] = -7.0, data.unseen_classes[0]
    table.loc[data.unseen_classes] = 3.0 - 2 * table.loc[data.unseen_classes]
    return learned(make(name, **settings).fit(X[rows], y[rows], table))


@each
def test_nothing_is_learned_from_test_rows_and_unseen_classes(name, data, fitted):
    assert after_changes(name, data) == learned(fitted(name))


def test_a_planted_leak_is_found(data):
    settings = {"signature_mean": "all"}  # the mean of all signatures knows the unseen ones
    assert after_changes("eszsl", data, **settings) != learned(trained("eszsl", data, **settings))


# Registry
# Every method to compare with passes scikit-learn's checks, and has a name, a grid and a section in the docs.

FEWEST = {"eszsl": 64}  # settings of a default grid; 12 for others
PAGE = Path(__file__).parents[2] / "docs" / "baselines.md"


@pytest.mark.filterwarnings("ignore::zskl.estimators.base.UncalibratedWarning")
@parametrize_with_checks([baseline(**SMALL.get(name, {})) for name, baseline in BASELINES.items()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", BASELINES)
def test_a_name_is_a_method_with_a_grid_of_its_own(name):
    baseline, method = BASELINES[name], methods.METHODS[name]
    assert method == methods.Method(baseline, baseline.SUMMARY, {}, baseline.GRID, baseline.BOUNDS)
    assert getattr(baselines, baseline.__name__) is baseline
    where = "in src/zskl/baselines/__init__.py"
    assert baseline.__name__ in baselines.__all__, f"add {baseline.__name__!r} to __all__ {where}"
    settings = [
        *ParameterGrid([{key: list(values) for key, values in part.items()} for part in split_grid(baseline.GRID)])
    ]
    assert len(settings) >= FEWEST.get(name, 12)
    assert any("feature_scaling" in setting for setting in settings)
    for setting in settings:
        estimator = methods.build(name, setting)
        if name != "cosine":  # which has only scalings
            estimator._check_parameters()


def check_page(name, baseline, page):
    """A section `## name …` for each method, with its equation and its grid."""
    lines = grid_lines(baseline)
    wanted = "\n".join([f"## `{name}` – …", "```text", "score = …", "```", *lines])
    section = re.search(rf"^## `{name}`.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section, f"docs/baselines.md has no section for {name}: add\n{wanted}"
    found = " ".join(section[0].split())
    for line in lines:
        assert line in found, f"the section on {name} in docs/baselines.md lacks the line\n{line}"
    assert "$$" in section[0] or "```text" in section[0], f"the section on {name} in docs/baselines.md has no equation"


@pytest.mark.parametrize("name", BASELINES)
def test_the_page_of_the_baselines_lists_the_grid(name):
    check_page(name, BASELINES[name], PAGE.read_text("utf-8"))


def test_what_the_page_lacks_is_named():
    with pytest.raises(AssertionError, match=r"(?s)no section for eszsl: add.*Default grid: `gamma` 0\.3, 1, 3, 10; "):
        check_page("eszsl", BASELINES["eszsl"], "## `sae` – semantic auto-encoder")
    with pytest.raises(AssertionError, match=r"on eszsl in docs/baselines\.md lacks the line\s+Default grid: `gamma`"):
        check_page("eszsl", BASELINES["eszsl"], "## `eszsl`\n```text\nDefault grid: `gamma` 0.3, 1.\n")


def grid_lines(baseline):
    """The default grid and its bounds in words."""
    first, *others = split_grid(baseline.GRID)
    text = "; ".join(f"`{setting}` {', '.join(map(shown, values))}" for setting, values in first.items())
    for part in others:
        fewer = [setting for setting in part if part[setting] != first[setting]]
        fewer.sort(key=lambda setting: setting != "feature_scaling")
        listed = (f"`{setting}` {', '.join(map(shown, part[setting]))}" for setting in fewer)
        text += f"; and with fewer values of the others {'; '.join(listed)}"
    bounds = ", ".join(f"`{setting}` {low:g} to {high:g}" for setting, (low, high) in baseline.BOUNDS.items())
    return [f"Default grid: {text}.", *([f"Bounds: {bounds}"] if bounds else [])]


def shown(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


# Settings
# Several settings and several descriptions of a class, for every published method.

# Where 24 columns make all values of a grid the same, and where a linear kernel has no width.
FEW = {"n_components": (3, 6, 12), "kernel": ("gaussian",)}


@each
def test_a_class_with_several_signatures_scores_the_best_of_them(name):
    data = datasets.make_synthetic(
        n_seen=8, n_unseen=3, samples_per_class=10, n_features=16, n_attributes=8, noise=0.2, descriptions=3
    )
    model = trained(name, data)
    assert protocols.zsl(model, data).accuracy > 0.4
    table = data.signatures.loc[data.unseen_classes]
    single = np.stack([model.compatibility(unseen(data), table.groupby(level=0, sort=False).nth(k)) for k in range(3)])
    assert_close(model.compatibility(unseen(data), table), single.max(axis=0), SUMS.single)
    with pytest.raises(AssertionError):
        assert_close(model.compatibility(unseen(data), table), single[0], SUMS.single)


@each
def test_settings_fitted_together_equal_those_fitted_alone(name, data):
    rows = data.parts["trainval"]
    X, y = data.X[rows], data.y[rows]
    estimator = make(name)
    free = estimator._free_settings(X)
    whole = split_grid(BASELINES[name].GRID)[0]
    grid = {key: list(FEW.get(key, values))[:3] for key, values in whole.items() if key in free}
    settings = list(ParameterGrid(grid))[:9]
    found = {}

    def visit(place, model):
        found[place] = model.compatibility(unseen(data)), clone(model).get_params()

    estimator._fit_together(settings, X, y, data.signatures, visit)
    assert sorted(found) == list(range(len(settings)))
    for place, setting in enumerate(settings):
        alone = clone(estimator).set_params(**setting).fit(X, y, data.signatures)
        expected = alone.compatibility(unseen(data))
        assert_close(found[place][0], expected, AFTER_FIT.single)
        assert found[place][1] == alone.get_params()
        if place:
            with pytest.raises(AssertionError):  # the model of another setting
                assert_close(found[0][0], expected, AFTER_FIT.single)


@each
def test_a_fitted_model_scores_by_what_it_was_fitted_with(name, data, fitted):
    model = fitted(name)
    before = model.compatibility(unseen(data))
    for setting, values in split_grid(BASELINES[name].GRID)[0].items():
        for value in values:
            np.testing.assert_array_equal(
                clone_fitted(model).set_params(**{setting: value}).compatibility(unseen(data)), before
            )


def clone_fitted(model):
    twin = clone(model)
    vars(twin).update({key: value for key, value in vars(model).items() if key.endswith("_")})
    return twin
