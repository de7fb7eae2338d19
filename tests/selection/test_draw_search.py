"""The search of class means on draws of held-out classes: its rule, its figures, and that test rows play no part."""

import numpy as np
import pytest

from paper_runs import untried
from zskl import ClassMeansClassifier, datasets, metrics, selection
from zskl.selection.class_folds import find_shared_validation, prepare_fold_data
from zskl.selection.draw_search import DrawnModels, _compare_classes, _mean_of_known, list_neighbours

DATA = datasets.make_synthetic(n_seen=16, n_unseen=4, noise=0.9)
TRAINING = (*DATA.samples("trainval"), DATA.signatures)
GRID = {"shrinkage": [0.5, 0.7, 0.9], "noise": [0.1, 0.3], "description_weight": [2.0, 50.0]}


@pytest.fixture(scope="module")
def found():
    return selection.search(ClassMeansClassifier(), *TRAINING, GRID, with_default=True)


def scores_of(setting):
    shared = prepare_fold_data(ClassMeansClassifier(**setting), *TRAINING)
    model, draws = DrawnModels(shared).make({})
    return [draws.scores(model, number) for number in range(len(shared.folds))]


def test_draws_validate_on_the_same_rows_and_train_on_no_held_out_class():
    y = TRAINING[1]
    draws = selection.draws(y, 10)
    train, validation = find_shared_validation(draws)
    assert len(train) + len(validation) == len(y)
    share = [np.mean(np.isin(np.flatnonzero(y == one), validation)) for one in np.unique(y)]
    assert 0.1 < min(share) <= max(share) < 0.4
    for fold in draws:
        held = np.unique(y[fold.val_unseen])
        assert len(held) == 4
        assert not np.isin(y[fold.train], held).any()
        assert not np.isin(y[fold.val_seen], held).any()
    assert find_shared_validation(selection.folds(y)) is None
    assert [fold.train.tolist() for fold in selection.draws(y, 10)] == [fold.train.tolist() for fold in draws]


def test_draws_of_few_rows():
    """A class of a single row is trained on, and has none to validate on."""
    y = np.array(["a", "b", "b", "c", "c", "d", "d", "e", "e"])
    for fold in selection.draws(y, 6):
        assert 0 not in fold.validation
    assert selection.draws(np.array(list("abcdef"))) == []
    with pytest.raises(ValueError, match="at least 4 are needed"):
        selection.draws(np.repeat(list("abc"), 5))


def test_figures_are_those_of_the_scores(found):
    for number, (scores, own, seen) in enumerate(scores_of(found.settings[0])):
        held = np.flatnonzero(~seen)
        mine = ~seen[own]
        right = held[scores[mine][:, held].argmax(axis=1)] == own[mine]
        zsl = np.mean([right[own[mine] == one].mean() for one in held])
        assert found.zsl[0, number] == pytest.approx(zsl, rel=1e-6)


def test_settings_that_held_out_classes_cannot_tell_apart_share_a_figure(found):
    for place, setting in enumerate(found.settings[:-1]):
        other = next(
            k
            for k, one in enumerate(found.settings)
            if k != place and {**one, "description_weight": 0} == {**setting, "description_weight": 0}
        )
        np.testing.assert_array_equal(found.zsl[place], found.zsl[other])


def test_the_constant_of_a_choice_is_that_of_its_scores(found):
    choice = found.pick("gzsl")
    parts = [metrics.row_margins(*scored) for scored in scores_of(choice.setting)]
    figures = [metrics.harmonic_mean(*part.at(choice.calibration)) for part in parts]
    assert choice.fold_scores == pytest.approx(figures, abs=1e-6)


def test_neighbours_differ_by_one_step_in_one_number():
    settings = [{"a": a, "b": b, "k": k} for a in (1, 2, 3) for b in (0.1, 0.2) for k in ("x", "y")]
    for place, near in enumerate(list_neighbours(settings)):
        own = settings[place]
        slow = [
            k
            for k, one in enumerate(settings)
            if one["k"] == own["k"]
            and abs(one["a"] - own["a"]) + abs(one["b"] > own["b"]) + abs(one["b"] < own["b"]) <= 1
        ]
        assert sorted(near) == slow


def test_a_lead_must_be_beyond_luck():
    """One setting is better on every class, another on average only: with few classes that may be luck."""
    settings = [{"k": "default"}, {"k": "steady"}, {"k": "lucky"}]
    default = np.full(12, 0.5)
    lucky = default + np.where(np.arange(12) == 0, 0.9, 0.0)
    gains, doubts = _compare_classes(settings, np.array([default, default + 0.05, lucky]), 0)
    assert gains == pytest.approx([0.0, 0.05, 0.075])
    assert doubts[1] == pytest.approx(0.0, abs=1e-12)
    assert doubts[2] == pytest.approx((1 + (20 / 12) ** 2) * np.std(lucky - default, ddof=1) / np.sqrt(12))
    assert gains[2] < doubts[2]


def test_a_figure_that_one_kind_of_draw_lacks_is_that_of_the_other():
    nan = np.nan
    found = _mean_of_known([np.array([1.0, nan, 3.0, nan]), np.array([2.0, 5.0, nan, nan])])
    np.testing.assert_array_equal(found, [1.5, 5.0, 3.0, nan])


def test_held_out_rows_have_no_part_in_the_space_that_scores_them():
    """Rows of held-out classes moved far away change the shared space, and not the space of a draw apart."""
    X, y, table = TRAINING
    shared = prepare_fold_data(ClassMeansClassifier(), X, y, table)
    first = DrawnModels(shared).apart("l2")[0]
    moved = np.array(X, copy=True)
    out = np.isin(y, np.unique(y)[first.held[0]])
    moved[out] = moved[out] * np.linspace(-3, 3, X.shape[1]) + 5
    moved_data = prepare_fold_data(ClassMeansClassifier(), moved, y, table)
    other = DrawnModels(moved_data).apart("l2")[0]
    mine, theirs = first.model._fit_cache.space, other.model._fit_cache.space
    np.testing.assert_allclose(theirs.center, mine.center, rtol=0, atol=1e-9)
    np.testing.assert_allclose(theirs.spectrum.values, mine.spectrum.values, rtol=0, atol=1e-9)
    leaking = (DrawnModels(one).make({"feature_scaling": "l2"})[0]._fit_cache.space for one in (shared, moved_data))
    centers = [one.center for one in leaking]
    assert np.abs(centers[0] - centers[1]).max() > 1e-3


@pytest.fixture(scope="module")
def tuned():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zskl.selection.grid_search.FoldScorer.few_shot_trial", untried)
        return selection.tune(ClassMeansClassifier(), *TRAINING, GRID)


@pytest.mark.usefixtures("no_trials")
def test_the_default_stays_unless_another_is_clearly_better(found, tuned):
    against = tuned.against_default
    assert against.over == "classes"
    sure = found.gains - found.doubts
    assert against.kept == (np.delete(sure, found.default).max() <= 0)
    assert tuned.best == found.pick("zsl").setting
    # A default that is far from good is replaced.
    poor = selection.tune(ClassMeansClassifier(noise=1000.0, shrinkage=1e-9), *TRAINING, GRID)
    assert not poor.against_default.kept
    assert "more than what may be luck with these classes" in str(poor.against_default)


def test_test_rows_and_unseen_classes_change_nothing():
    rows, draw = DATA.parts["trainval"], np.random.default_rng(0)
    table = DATA.signatures.astype(float)
    table.loc[DATA.unseen_classes] = draw.standard_normal((len(DATA.unseen_classes), table.shape[1]))
    grid = {**GRID, "prior": ("zero", "identity"), "feature_scaling": ("l2", "center-l2")}
    first = selection.tune(ClassMeansClassifier(), DATA.X[rows], DATA.y[rows], DATA.signatures.astype(float), grid)
    other = selection.tune(ClassMeansClassifier(), DATA.X[rows], DATA.y[rows], table, grid)
    assert first.best == other.best
    assert first.model.calibration_ == other.model.calibration_
    assert first.model.temperatures_ == other.model.temperatures_
    np.testing.assert_array_equal(first.model.regression_, other.model.regression_)
    assert first.model.practice_ == other.model.practice_


def test_sparse_rows_are_searched_as_dense_ones_are():
    from scipy.sparse import csr_array

    X, y, table = TRAINING
    X = np.abs(X)
    grid = {"shrinkage": [0.9, 1.0]}
    dense, sparse = (
        selection.search(
            ClassMeansClassifier(feature_scaling="l2", shrinkage=1.0), rows, y, table, grid, with_default=True
        )
        for rows in (X, csr_array(X))
    )
    np.testing.assert_allclose(sparse.zsl[1], dense.zsl[1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(sparse.gains[1], dense.gains[1], rtol=0, atol=1e-9)


@pytest.mark.usefixtures("no_trials")
def test_plain_cosine_stands_beside_what_was_chosen_in_a_shared_space(tuned):
    other = tuned
    draw = np.random.default_rng(0)
    centres = draw.standard_normal((16, 24))
    y = np.repeat(np.arange(16), 10)
    X = centres[y] + 1.5 * draw.standard_normal((160, 24))
    table = dict(enumerate(centres + 0.3 * draw.standard_normal((16, 24))))
    tuned = selection.tune(ClassMeansClassifier(), X, y, table)
    assert "plain cosine: " in str(tuned)
    assert tuned.model.prior_ in ("identity", "cosine")
    assert f"prior: auto ({tuned.model.prior_})" in repr(tuned.model) or tuned.model.prior != "auto"
    assert not any(setting["prior"] == "zero" for setting in tuned.settings)
    assert "plain cosine" not in str(other)
