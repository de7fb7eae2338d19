"""A committee is tuned member by member; weights and temperatures are chosen from scores of validation rows."""

import numpy as np
import pytest
from sklearn.base import clone

from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines, datasets, metrics, selection
from zskl.estimators.default_grid import parts
from zskl.methods import build, find
from zskl.selection.committee_search import divided

DATA = datasets.make_synthetic(12, 4, 15, 10, 6, noise=0.9)
TRAINING = (*DATA.samples("trainval"), DATA.signatures)
FOLDS = selection.folds(DATA.y[DATA.parts["trainval"]], 2)
GRID = {"means__shrinkage": [0.1, 0.8], "softmax__epochs": [1, 2]}


def committee(**settings):
    kernel = ZeroShotKernelClassifier(loss="softmax", batch_size=30)
    return Committee([("means", ClassMeansClassifier()), ("softmax", kernel)], random_state=0, **settings)


@pytest.fixture(scope="module")
def found():
    reported = []
    search = selection.search(committee(), *TRAINING, GRID, FOLDS, report=lambda *of: reported.append(of))
    assert reported == [(k, 4) for k in (1, 2, 3, 4)]  # per fold one run for both shrinkages, one for both epochs
    return search


def test_members_are_those_that_searches_of_their_own_pick(found):
    for name, member in committee(device=None)._hired():
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


def test_tuning_fits_calibrates_and_practises(found):
    tuned = selection.tune(committee(), *TRAINING, GRID, FOLDS, scoring="gzsl", engine=None)
    assert tuned.best == found.pick("gzsl").setting
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
    entry = model.named_members_.means._practised(np.median(np.unique(y, return_counts=True)[1]))
    assert taught.calibration_ == pytest.approx(factor * entry["calibration"], rel=1e-9)
    assert taught.remove_examples().calibration_ == model.calibration_


def test_the_practice_of_a_committee_sees_the_other_members():
    """The bench of a fold scores as the committee does, in units of the scores of class means."""
    X, y, table = TRAINING
    model = committee(weights=[0.3, 0.7], member_temperatures=[0.05, 0.2]).fit(X, y, table)
    rows, own = X[:20], np.searchsorted(model.classes_, y[:20])
    question = model._question(rows, model.signature_table_.select(model.classes_))
    bench = model._bench(rows, question, own, np.ones(len(model.classes_), dtype=bool))
    expected = model.compatibility(rows, candidates=model.classes_) / (0.3 / 0.05)
    np.testing.assert_allclose(bench.scores(2.0, bench.crowding), expected, rtol=1e-3, atol=1e-4)


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
    own, grids = divided(find("means-softmax").grid, build("means-softmax"))
    assert own == {}
    assert grids == {"means": [*parts(find("class-means").grid)], "softmax": [*parts(find("gaussian-softmax").grid)]}
    same = build("means-softmax").named_members.softmax.get_params()
    assert same == build("gaussian-softmax").get_params()
