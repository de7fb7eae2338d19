"""A committee is tuned member by member; weights and temperatures are chosen from scores of validation rows."""

import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from small_search import DATA as DATA_small_search
from small_search import FOLDS as FOLDS_small_search
from small_search import TRAINING as TRAINING_small_search
from tolerances import AFTER_FIT
from zskl import (
    ClassMeansClassifier,
    Committee,
    ZeroShotKernelClassifier,
    baselines,
    datasets,
    methods,
    metrics,
    selection,
)
from zskl.estimators._class_means_adapt import nearest_example_entry
from zskl.methods import MEMBER_MEANS, build, find, split_grid
from zskl.selection.class_folds import is_pipeline, prepare_fold_data, transform_folds
from zskl.selection.composite_search import divide_grid
from zskl.selection.tuning import default_grid_of

# Committee search

DATA = datasets.make_synthetic(12, 4, 15, 10, 6, noise=0.9)
TRAINING = (*DATA.samples("trainval"), DATA.signatures)
FOLDS = selection.folds(DATA.y[DATA.parts["trainval"]], 2)
GRID = {"means__shrinkage": [0.1, 0.8], "softmax__epochs": [1, 2]}


def committee(**settings):
    kernel = ZeroShotKernelClassifier(loss="softmax", batch_size=30)
    return Committee(
        [("means", ClassMeansClassifier(feature_scaling="sqrt-l2")), ("softmax", kernel)], random_state=0, **settings
    )


@pytest.fixture(scope="module")
def found():
    reported = []
    search = selection.search(committee(), *TRAINING, GRID, FOLDS, report=lambda *of: reported.append(of))
    assert reported == [(k, 4) for k in (1, 2, 3, 4)]  # per fold one run for both shrinkages, one for both epochs
    return search


def test_members_are_those_that_searches_of_their_own_pick(found):
    for name, member in committee(device=None)._clone_members():
        grid = {key.partition("__")[2]: values for key, values in GRID.items() if key.startswith(name)}
        alone = selection.search(member, *TRAINING, grid, FOLDS)
        picked = [alone.pick(scoring).setting for scoring in ("zsl", "gzsl")]
        tried = [{key: one[f"{name}__{key}"] for key in grid} for one in found.settings]
        assert {repr(one) for one in tried} == {repr(one) for one in picked}


def test_figures_are_those_of_committees_fitted_on_the_folds(found):
    """The slow twin: fit each committee on a fold, and count right answers class by class."""
    X, y, table = TRAINING
    for place in (0, len(found.settings) - 1):
        setting = found.settings[place]
        assert sum(setting["weights"]) == pytest.approx(1, rel=1e-9)
        for number, fold in enumerate(FOLDS):
            model = clone(committee()).set_params(**setting).fit(X[fold.train], y[fold.train], table)
            held = np.unique(y[fold.val_unseen])
            answers = model.predict(X[fold.val_unseen], candidates=held)
            mean = np.mean([np.mean(answers[y[fold.val_unseen] == label] == label) for label in held])
            assert found.zsl[place, number] == pytest.approx(mean, rel=1e-9)
            everyone = np.union1d(held, y[fold.train])
            model.calibration_ = float(found.constants[place])
            sides = []
            for rows in (fold.val_seen, fold.val_unseen):
                right = model.predict(X[rows], candidates=everyone) == y[rows]
                sides.append(np.mean([right[y[rows] == label].mean() for label in np.unique(y[rows])]))
            assert found.gzsl[place, number] == pytest.approx(metrics.harmonic_mean(*sides), rel=1e-9)


def test_tuning_a_committee_fits_and_calibrates_it(found):
    tuned = selection.tune(committee(), *TRAINING, GRID, FOLDS, scoring="gzsl", engine=None)
    compared = selection.search(committee(), *TRAINING, GRID, FOLDS, with_default=True)
    assert tuned.best == compared.pick("gzsl").setting
    assert len(compared.settings) == len(found.settings) + 1
    model = tuned.model
    assert model.weights == tuned.best["weights"]
    assert model.named_members_.means.shrinkage == tuned.best["means__shrinkage"]
    assert model.calibration_ == tuned.calibration
    assert sorted(model.practice_["unlabelled"]) == ["all", "unseen"]
    X, y = DATA.samples("test_unseen")
    adapted = model.adapt(X, force=True)
    factor = model.weights_[0] / model.member_temperatures_[0]
    entry = adapted.adaptation_
    assert adapted.calibration_ == pytest.approx(factor * entry["calibration"], rel=1e-9)
    assert adapted.temperatures_["unseen"] == pytest.approx(factor * entry["temperatures"]["unseen"], rel=1e-9)
    assert adapted.untaught_["calibration"] == model.calibration_
    taught = model.add_examples(X, y)  # of every unseen class
    entry = nearest_example_entry(model.practice_, np.median(np.unique(y, return_counts=True)[1]))
    assert taught.calibration_ == pytest.approx(factor * entry["calibration"], rel=1e-9)
    assert taught.remove_examples().calibration_ == model.calibration_


def test_few_shot_settings_of_a_committee_see_the_other_members():
    """The trial of a fold scores as the committee does, in units of the scores of class means."""
    X, y, table = TRAINING
    model = committee(weights=[0.3, 0.7], member_temperatures=[0.05, 0.2]).fit(X, y, table)
    rows, own = X[:20], np.searchsorted(model.seen_classes_, y[:20])
    question = model._question(rows, model.signature_table_.select(model.seen_classes_))
    trial = model._few_shot_trial(rows, question, own, np.ones(len(model.seen_classes_), dtype=bool))
    expected = model.compatibility(rows, candidates=model.seen_classes_) / (0.3 / 0.05)
    np.testing.assert_allclose(trial.scores(2.0, trial.crowding), expected, rtol=1e-3, atol=1e-4)


def test_what_you_set_stays_and_a_grid_may_name_weights():
    fixed = committee(weights=[2, 1], member_temperatures=[0.1, 0.2])
    search = selection.search(fixed, *TRAINING, {}, FOLDS)
    assert search.settings == ({"weights": [2.0, 1.0], "member_temperatures": [0.1, 0.2]},)
    search = selection.search(fixed, *TRAINING, {"weights": [[1, 1], [0, 1]]}, FOLDS)
    assert [one["weights"] for one in search.settings] == [[1.0, 1.0], [0.0, 1.0]]
    dropped = Committee([("a", baselines.ESZSL()), ("no", "drop"), ("b", ClassMeansClassifier())])
    search = selection.search(dropped, *TRAINING, {"a__gamma": 3.0}, FOLDS)
    assert all(one["a__gamma"] == 3.0 and one["weights"][1] == 0 for one in search.settings)
    assert len(search.settings) == 9


def test_three_members_share_the_weight():
    members = [("a", baselines.ESZSL()), ("b", baselines.SAE()), ("c", ClassMeansClassifier())]
    search = selection.search(Committee(members), *TRAINING, {}, FOLDS)
    weights = np.array([one["weights"] for one in search.settings])
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-3)
    assert (weights > 0).all()
    assert len({tuple(one) for one in weights.tolist()}) == len(weights) == 10


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"shrinkage": [1]}, r"the grid names 'shrinkage', which this committee does not have"),
        ({"means__shrinkige": [1]}, r"'means__shrinkige'.* \(did you mean 'means__shrinkage'\?\)"),
        ({"means__shrinkage": [-1]}, "shrinkage is -1"),
        ({"weights": [[1, 2, 3]]}, "weights is"),
        ({"weights": [[0, 0]]}, "expected at least one above 0"),
    ],
)
def test_a_wrong_grid_is_refused_before_any_work(grid, words):
    with pytest.raises(ValueError, match=words):
        selection.search(committee(), *TRAINING, grid, FOLDS)


def test_the_default_grid_is_that_of_its_members():
    own, grids = divide_grid(find("means-softmax").grid, build("means-softmax"))
    assert own == {}
    assert grids == {
        "means": [*split_grid(MEMBER_MEANS)],
        "softmax": [*split_grid(find("gaussian-softmax").grid)],
    }
    same = build("means-softmax").named_members.softmax.get_params()
    assert same == build("gaussian-softmax").get_params()


# Pipelines
# Pipelines in selection: transformers learn from the training rows of each fold, and the last step is searched.

X, y, TABLE = TRAINING_small_search
PIPELINES_GRID = {"standardscaler__with_mean": [True, False], "eszsl__gamma": [0.1, 1.0, 10.0]}


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
    return selection.tune(
        pipeline(), *TRAINING_small_search, PIPELINES_GRID, FOLDS_small_search, scoring="gzsl", engine=None
    )


def test_figures_are_those_of_pipelines_fitted_on_the_folds(tuned):
    """The slow twin: each pipeline by scikit-learn's own fit, on each fold."""
    assert len(tuned.settings) == 6  # the default, with_mean and gamma 1, is among them
    assert tuned.settings[tuned.search.default] == {"standardscaler__with_mean": True, "eszsl__gamma": 1.0}
    for place in (0, 4):
        for number, fold in enumerate(FOLDS_small_search):
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
    rows = DATA_small_search.X[DATA_small_search.parts["test_unseen"]]
    alone = pipeline().set_params(**tuned.best).fit(X, y, eszsl__signatures=TABLE)
    scores = [one[-1].compatibility(one[:-1].transform(rows)) for one in (model, alone)]
    np.testing.assert_array_equal(*scores)
    alone[-1].calibration_ = tuned.calibration
    np.testing.assert_array_equal(model.predict(rows), alone.predict(rows))
    assert model.predict_proba(rows, candidates=model[-1].candidates_).sum(axis=1) == pytest.approx(1.0, rel=1e-6)


def test_a_pipeline_is_calibrated_as_its_last_step_would_be():
    plain = Pipeline([("same", "passthrough"), ("eszsl", baselines.ESZSL())]).fit(X, y, eszsl__signatures=TABLE)
    assert selection.calibrate(plain, *TRAINING_small_search, FOLDS_small_search) is plain
    twin = selection.calibrate(
        baselines.ESZSL().fit(*TRAINING_small_search), *TRAINING_small_search, FOLDS_small_search
    )
    assert (plain[-1].calibration_, plain[-1].temperatures_) == (twin.calibration_, twin.temperatures_)
    scaled = selection.calibrate(
        pipeline().fit(X, y, eszsl__signatures=TABLE), *TRAINING_small_search, FOLDS_small_search
    )
    found = selection.search(pipeline(), *TRAINING_small_search, {}, FOLDS_small_search)
    assert scaled[-1].calibration_ == pytest.approx(found.constants[0], rel=AFTER_FIT.single)
    with pytest.raises(NotFittedError):
        selection.calibrate(pipeline(), *TRAINING_small_search, FOLDS_small_search)


def test_transformers_see_the_training_rows_of_a_fold_alone_and_once():
    Noted.seen.clear()
    grid = {"noted__with_std": [True, False], "eszsl__gamma": [0.1, 1.0, 10.0], "eszsl__lam": [1.0, 3.0]}
    selection.search(pipeline(Noted()), *TRAINING_small_search, grid, FOLDS_small_search)
    assert len(Noted.seen) == 2 * len(FOLDS_small_search)  # for each setting of the scaler, not for each of twelve
    for rows, fold in zip(Noted.seen, [*FOLDS_small_search, *FOLDS_small_search], strict=True):
        np.testing.assert_array_equal(rows, X[fold.train])


def test_no_validation_row_reaches_what_a_fold_trains_on():
    """Other validation rows: what the last step trains on is bit-identical; with other training rows it is not."""
    changed = X.copy()
    changed[FOLDS_small_search[0].validation] *= 1000
    before, after = (
        transform_folds(prepare_fold_data(pipeline(), rows, y, TABLE, FOLDS_small_search[:1])).transformed[0]
        for rows in (X, changed)
    )
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])
    changed[FOLDS_small_search[0].train[0]] += 1
    other = transform_folds(prepare_fold_data(pipeline(), changed, y, TABLE, FOLDS_small_search[:1])).transformed[0][0]
    assert not np.array_equal(before[0], other)


def test_steps_can_be_replaced_and_texts_can_be_rows():
    def numbers_of(texts):
        return np.array([[float(one) for one in text.split()] for text in texts])

    texts = [" ".join(map(str, row)) for row in X.tolist()]
    plain = make_pipeline(FunctionTransformer(numbers_of), StandardScaler(), baselines.ESZSL(feature_scaling="none"))
    grid = [{"standardscaler": ["passthrough", StandardScaler(with_std=False)], "eszsl__gamma": 1.0}]
    found = selection.search(plain, texts, y, TABLE, grid, FOLDS_small_search, with_default=True)
    assert len(found.settings) == 3
    assert repr(found.settings[found.default]["standardscaler"]) == "StandardScaler()"
    numbers = X.astype(np.float64)
    alone = selection.search(
        baselines.ESZSL(feature_scaling="none"), numbers, y, TABLE, {"gamma": 1.0}, FOLDS_small_search
    )
    np.testing.assert_array_equal(found.zsl[0], alone.zsl[0])


def test_a_grid_goes_on_beyond_its_edge_for_each_transformer():
    grid = {"standardscaler__with_mean": [True, False], "eszsl__gamma": [1e4, 1e5]}
    told = []
    found = selection.search(
        *(pipeline(), *TRAINING_small_search, grid, FOLDS_small_search),
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
    grid, bounds = default_grid_of(pipeline())
    assert grid == ({f"eszsl__{name}": values for name, values in eszsl.grid.items()},)
    assert bounds == {f"eszsl__{name}": ends for name, ends in eszsl.bounds.items()}
    for name in methods.METHODS:
        assert default_grid_of(methods.build(name)) == (methods.METHODS[name].grid, methods.METHODS[name].bounds), name
    members = Committee([("means", ClassMeansClassifier()), ("dap", baselines.DAP())])
    assert default_grid_of(members)[0][1]["dap__feature_scaling"] == ("standardize-l2",)
    with pytest.raises(ValueError, match=r"grid is None, and no method by name has .*'gaussian-ort'\).grid"):
        selection.tune(ZeroShotKernelClassifier(kernel="polynomial"), *TRAINING_small_search)
    small = type(eszsl)(eszsl.estimator, "small", {}, {"gamma": (3.0, 10.0)}, {"gamma": (3.0, 10.0)})
    monkeypatch.setitem(methods.METHODS, "eszsl", small)
    assert (
        len(selection.tune(baselines.ESZSL(), *TRAINING_small_search, folds=FOLDS_small_search, engine=None).settings)
        == 3
    )
    piped = selection.tune(pipeline(), *TRAINING_small_search, folds=FOLDS_small_search, engine=None)
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
        selection.search(pipeline(), *TRAINING_small_search, folds=FOLDS_small_search, **given)


def test_a_pipeline_must_end_in_an_estimator_of_zskl():
    with pytest.raises(ValueError, match="last step of the pipeline is a LogisticRegression: expected an estimator of"):
        selection.tune(
            make_pipeline(StandardScaler(), LogisticRegression()), *TRAINING_small_search, {}, FOLDS_small_search
        )
    single = Pipeline([("eszsl", baselines.ESZSL())])
    alone = selection.tune(single, *TRAINING_small_search, {"eszsl__gamma": [3.0]}, FOLDS_small_search, engine=None)
    assert alone.model["eszsl"].temperatures_ is not None
