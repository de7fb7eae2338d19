"""Pipelines in selection: transformers learn from the training rows of each fold, and the last step is searched."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from small_search import DATA, FOLDS, TRAINING
from tolerances import AFTER_FIT
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines, methods, selection
from zskl.selection import pipelines
from zskl.selection.material import is_pipeline, material
from zskl.selection.own_grid import own_grid

X, y, TABLE = TRAINING
GRID = {"standardscaler__with_mean": [True, False], "eszsl__gamma": [0.1, 1.0, 10.0]}


def test_a_pipeline_is_known_from_others(monkeypatch):
    class Own(Pipeline):
        pass

    assert is_pipeline(make_pipeline(StandardScaler()))
    assert is_pipeline(Own([("scaler", StandardScaler())]))
    assert not is_pipeline(StandardScaler())
    monkeypatch.delitem(sys.modules, "sklearn.pipeline")  # as long as nobody has imported it
    assert not is_pipeline(StandardScaler())


class Noted(StandardScaler):
    """Notes the rows that each fit saw."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None, sample_weight=None):
        Noted.seen.append(np.array(X))
        return super().fit(X, y, sample_weight)


def pipeline(scaler=None, **settings):
    return make_pipeline(scaler or StandardScaler(), baselines.ESZSL(feature_scaling="none", **settings))


@pytest.fixture(scope="module")
def tuned():
    return selection.tune(pipeline(), *TRAINING, GRID, FOLDS, scoring="gzsl", engine=None)


def test_figures_are_those_of_pipelines_fitted_on_the_folds(tuned):
    """The slow twin: each pipeline by scikit-learn's own fit, on each fold."""
    assert len(tuned.settings) == 6  # the default, with_mean and gamma 1, is among them
    assert tuned.settings[tuned.search.default] == {"standardscaler__with_mean": True, "eszsl__gamma": 1.0}
    for place in (0, 4):
        for number, fold in enumerate(FOLDS):
            alone = pipeline().set_params(**tuned.settings[place])
            alone.fit(X[fold.train], y[fold.train], eszsl__signatures=TABLE)
            held = np.unique(y[fold.val_unseen])
            right = alone.predict(X[fold.val_unseen], candidates=held) == y[fold.val_unseen]
            mean = np.mean([right[y[fold.val_unseen] == label].mean() for label in held])
            assert tuned.search.zsl[place, number] == pytest.approx(mean, rel=1e-9)


def test_the_result_is_a_fitted_pipeline_with_the_chosen_constant(tuned):
    model = tuned.model
    assert isinstance(model, Pipeline)
    assert model[-1].calibration_ == tuned.calibration
    assert {name: model.get_params()[name] for name in tuned.best} == dict(tuned.best)
    rows = DATA.X[DATA.parts["test_unseen"]]
    alone = pipeline().set_params(**tuned.best).fit(X, y, eszsl__signatures=TABLE)
    scores = [one[-1].compatibility(one[:-1].transform(rows)) for one in (model, alone)]
    np.testing.assert_array_equal(*scores)
    alone[-1].calibration_ = tuned.calibration
    np.testing.assert_array_equal(model.predict(rows), alone.predict(rows))
    assert model.predict_proba(rows, candidates=model[-1].candidates_).sum(axis=1) == pytest.approx(1.0, rel=1e-6)


def test_a_pipeline_is_calibrated_as_its_last_step_would_be():
    plain = Pipeline([("same", "passthrough"), ("eszsl", baselines.ESZSL())]).fit(X, y, eszsl__signatures=TABLE)
    assert selection.calibrate(plain, *TRAINING, FOLDS) is plain
    twin = selection.calibrate(baselines.ESZSL().fit(*TRAINING), *TRAINING, FOLDS)
    assert (plain[-1].calibration_, plain[-1].temperatures_) == (twin.calibration_, twin.temperatures_)
    scaled = selection.calibrate(pipeline().fit(X, y, eszsl__signatures=TABLE), *TRAINING, FOLDS)
    found = selection.search(pipeline(), *TRAINING, {}, FOLDS)
    assert scaled[-1].calibration_ == pytest.approx(found.constants[0], rel=AFTER_FIT.single)
    with pytest.raises(NotFittedError):
        selection.calibrate(pipeline(), *TRAINING, FOLDS)


def test_transformers_see_the_training_rows_of_a_fold_alone_and_once():
    Noted.seen.clear()
    grid = {"noted__with_std": [True, False], "eszsl__gamma": [0.1, 1.0, 10.0], "eszsl__lam": [1.0, 3.0]}
    selection.search(pipeline(Noted()), *TRAINING, grid, FOLDS)
    assert len(Noted.seen) == 2 * len(FOLDS)  # for each setting of the scaler, not for each of twelve
    for rows, fold in zip(Noted.seen, [*FOLDS, *FOLDS], strict=True):
        np.testing.assert_array_equal(rows, X[fold.train])


def test_no_validation_row_reaches_what_a_fold_trains_on():
    """Other validation rows: what the last step trains on is bit-identical; with other training rows it is not."""
    changed = X.copy()
    changed[FOLDS[0].validation] *= 1000
    before, after = (
        pipelines.prepared(material(pipeline(), rows, y, TABLE, FOLDS[:1])).prepared[0] for rows in (X, changed)
    )
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])
    changed[FOLDS[0].train[0]] += 1
    other = pipelines.prepared(material(pipeline(), changed, y, TABLE, FOLDS[:1])).prepared[0][0]
    assert not np.array_equal(before[0], other)


def test_steps_can_be_replaced_and_texts_can_be_rows():
    def numbers_of(texts):
        return np.array([[float(one) for one in text.split()] for text in texts])

    texts = [" ".join(map(str, row)) for row in X.tolist()]
    plain = make_pipeline(FunctionTransformer(numbers_of), StandardScaler(), baselines.ESZSL(feature_scaling="none"))
    grid = [{"standardscaler": ["passthrough", StandardScaler(with_std=False)], "eszsl__gamma": 1.0}]
    found = selection.search(plain, texts, y, TABLE, grid, FOLDS, with_default=True)
    assert len(found.settings) == 3
    assert repr(found.settings[found.default]["standardscaler"]) == "StandardScaler()"
    numbers = X.astype(np.float64)
    alone = selection.search(baselines.ESZSL(feature_scaling="none"), numbers, y, TABLE, {"gamma": 1.0}, FOLDS)
    np.testing.assert_array_equal(found.zsl[0], alone.zsl[0])


def test_a_grid_goes_on_beyond_its_edge_for_each_transformer():
    grid = {"standardscaler__with_mean": [True, False], "eszsl__gamma": [1e4, 1e5]}
    told = []
    found = selection.search(
        *(pipeline(), *TRAINING, grid, FOLDS),
        report=lambda *of: told.append(of),
        extend={"eszsl__gamma": (1.0, 1e5)},
    )
    assert found.extended > 0
    assert all(setting["eszsl__gamma"] < 1e4 for setting in found.settings[-found.extended :])
    assert all(edge.name == "eszsl__gamma" for edges in found.edges.values() for edge in edges)
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][0] == told[-1][1]


def test_without_a_grid_the_methods_own_is_searched(monkeypatch):
    eszsl = methods.METHODS["eszsl"]
    grid, bounds = own_grid(pipeline())
    assert grid == ({f"eszsl__{name}": values for name, values in eszsl.grid.items()},)
    assert bounds == {f"eszsl__{name}": ends for name, ends in eszsl.bounds.items()}
    for name in methods.METHODS:
        assert own_grid(methods.build(name)) == (methods.METHODS[name].grid, methods.METHODS[name].bounds), name
    members = Committee([("means", ClassMeansClassifier()), ("dap", baselines.DAP())])
    assert own_grid(members)[0][1]["dap__feature_scaling"] == ("standardize-l2",)
    with pytest.raises(ValueError, match=r"grid is None, and no method by name has .*'gaussian-ort'\).grid"):
        selection.tune(ZeroShotKernelClassifier(kernel="polynomial"), *TRAINING)
    small = type(eszsl)(eszsl.estimator, "small", {}, {"gamma": (3.0, 10.0)}, {"gamma": (3.0, 10.0)})
    monkeypatch.setitem(methods.METHODS, "eszsl", small)
    assert len(selection.tune(baselines.ESZSL(), *TRAINING, folds=FOLDS, engine=None).settings) == 3
    piped = selection.tune(pipeline(), *TRAINING, folds=FOLDS, engine=None)
    assert [setting["eszsl__gamma"] for setting in piped.settings] == [3.0, 10.0, 1.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"grid": {"eszsl__gama": [1]}}, r"names 'eszsl__gama'.*did you mean 'eszsl__gamma'"),
        ({"grid": {"gamma": [1]}}, r"names 'gamma'.*: expected a step of the pipeline and its parameter"),
        ({"grid": {"eszsl": [baselines.SAE()]}}, "names 'eszsl': expected a step of the pipeline and its parameter"),
        ({"grid": {"eszsl__gamma": [-1.0]}}, "gamma is -1.0"),
        ({"grid": {"standardscaler__with_mean": []}}, "no value for 'standardscaler__with_mean'"),
        ({"grid": 3}, "grid is 3: expected a mapping from step__parameter"),
        ({"grid": {}, "extend": {"gamma": (0, 1)}}, "extend names 'gamma': expected a setting of the last step"),
    ],
)
def test_a_wrong_grid_of_a_pipeline_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        selection.search(pipeline(), *TRAINING, folds=FOLDS, **given)


def test_a_pipeline_must_end_in_an_estimator_of_zskl():
    with pytest.raises(ValueError, match="last step of the pipeline is a LogisticRegression: expected an estimator of"):
        selection.tune(make_pipeline(StandardScaler(), LogisticRegression()), *TRAINING, {}, FOLDS)
    single = Pipeline([("eszsl", baselines.ESZSL())])
    alone = selection.tune(single, *TRAINING, {"eszsl__gamma": [3.0]}, FOLDS, engine=None)
    assert alone.model["eszsl"].temperatures_ is not None
