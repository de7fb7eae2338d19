"""Examples: the direction with them, what a model keeps of them, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

import zskl
from slow_class_means import SlowClassMeans
from tolerances import SOLUTION, assert_close
from toy import make_toy
from zskl import ClassMeansClassifier


@pytest.fixture(scope="module")
def toy():
    return make_toy()


@pytest.fixture(scope="module")
def model(toy):
    return ClassMeansClassifier(crowding_share=0.2).fit(toy.X, toy.y, toy.table)


@pytest.fixture(scope="module")
def slow(toy, model):
    table = {name: [row] for name, row in zip(toy.table.index, toy.table.to_numpy(), strict=True)}
    return SlowClassMeans(model, toy.X, toy.y, table, range(len(toy.X)))


def slow_scores(slow, rows, directions):
    return np.array([[slow.score(x, u) for u in directions] for x in rows])


def test_the_direction_with_examples_is_that_of_the_textbook(toy, model, slow):
    emus = toy.X_new[toy.y_new == "emu"][:3]
    rows = np.concatenate([emus, toy.X[:1]])
    taught = model.add_examples(rows, ["emu"] * 3 + ["cat"])
    signature = dict(zip(toy.table.index, toy.table.to_numpy(), strict=True))
    weight = 2.0 * slow.firmness(signature["emu"])
    directions = [
        slow.direction("emu", signature["emu"], weight, [slow.hat(x) for x in emus]),
        slow.direction("cat", signature["cat"], rows=[slow.hat(toy.X[0])]),
        slow.direction("bee", signature["bee"]),
    ]
    found = taught.compatibility(toy.X_new, candidates=["emu", "cat", "bee"])
    assert_close(found, slow_scores(slow, toy.X_new, directions), SOLUTION.single)


def test_rows_marked_as_wrong_count_against_a_class_together(toy, model, slow):
    rows = toy.X_new[:2]
    taught = model.add_examples(rows, ["bee", "bee"], wrong=True)
    signature = dict(zip(toy.table.index, toy.table.to_numpy(), strict=True))["bee"]
    against = -0.35 * np.mean([slow.hat(x) for x in rows], axis=0)
    expected = slow_scores(slow, toy.X_new, [slow.direction("bee", signature, rows=[against])])
    assert_close(taught.compatibility(toy.X_new, candidates=["bee"]), expected, SOLUTION.single)
    assert (taught.compatibility(rows, candidates=["bee"]) < model.compatibility(rows, candidates=["bee"])).all()


def test_the_model_itself_never_changes(toy, model):
    before, candidates = model.compatibility(toy.X), model.candidates_.tolist()
    taught = model.add_examples(toy.X_new, toy.y_new)
    assert np.array_equal(model.compatibility(toy.X), before)
    assert taught.classes_.tolist() == model.classes_.tolist() == ["ant", "cat", "dog"]
    assert taught.candidates_.tolist() == candidates
    assert not clone(taught).__sklearn_is_fitted__()
    assert clone(taught).fit(toy.X, toy.y, toy.table).example_classes_ == []


def test_a_new_class_without_a_description_is_known_by_its_examples(toy, model):
    cows = np.array([[5.0, 0, 0, 0, 0, 9], [4, 0, 0, 0, 0, 8]])
    taught = model.add_examples(cows, ["cow", "cow"])
    assert taught.candidates_.tolist() == [*model.candidates_.tolist(), "cow"]
    assert taught.predict(cows + 0.1).tolist() == ["cow", "cow"]
    own = taught._hat(taught._scaled(cows)).sum(axis=0)
    found = taught._directions(taught._question(cows, taught.signature_table_))[-1]
    assert_close(found, own / np.linalg.norm(own), SOLUTION.single)
    described = {"cow": toy.table.loc["dog"].to_numpy()}  # a description that comes later joins the examples
    assert taught.compatibility(cows, described)[0, 0] != taught.compatibility(cows, candidates=["cow"])[0, 0]
    assert taught.remove_examples(y=["cow"]).candidates_.tolist() == model.candidates_.tolist()


def test_a_new_class_can_be_described_along_with_its_examples(toy, model):
    taught = model.add_examples(toy.X_new[:1], ["owl"], {"owl": toy.table.loc["emu"].to_numpy()})
    assert (taught.candidates_.tolist()[-1], taught.undescribed_) == ("owl", [])
    with pytest.raises(ValueError, match="signatures describes 'cat', which the model knows already"):
        model.add_examples(toy.X_new[:1], ["cat"], {"cat": toy.table.loc["emu"].to_numpy()})


def test_examples_that_are_removed_leave_no_trace(toy, model):
    taught = model.add_examples(toy.X_new, toy.y_new)
    for back in (
        taught.remove_examples(),
        taught.remove_examples(toy.X_new[::-1], toy.y_new[::-1]),
        taught.remove_examples(y=["emu"]).remove_examples(y=["bee"]),
    ):
        assert np.array_equal(back.compatibility(toy.X_new), model.compatibility(toy.X_new))
    with pytest.raises(ValueError, match="row 0 of X is not among the examples of 'emu'"):
        taught.remove_examples(toy.X[:1], ["emu"])
    with pytest.raises(ValueError, match="no examples of 'cat' to remove: the model has examples of 'emu', 'bee'"):
        taught.remove_examples(y=["cat"])
    with pytest.raises(ValueError, match="there are no examples of any class to remove"):
        model.remove_examples()


def test_a_model_file_keeps_what_was_taught(toy, model, tmp_path):
    rows = np.concatenate([toy.X_new[:4], toy.X[:1] + 5])
    taught = model.add_examples(rows, [*toy.y_new[:4], "cow"], wrong=[False, True, False, False, False])
    taught = taught.adapt(toy.X_new, force=True)
    taught.practice_ = {"examples": {}, "wrong_weight": 0.2, "unlabelled": {}}
    taught.save(tmp_path / "m.zskl")
    loaded = zskl.load(tmp_path / "m.zskl")
    assert np.array_equal(loaded.compatibility(toy.X), taught.compatibility(toy.X))
    assert loaded.adaptation_ == taught.adaptation_
    assert np.array_equal(
        loaded.remove_examples(y=["cow"]).compatibility(toy.X), taught.remove_examples(y=["cow"]).compatibility(toy.X)
    )


def test_what_validation_said_is_used_for_the_nearest_number_of_examples(toy):
    model = ClassMeansClassifier(shrinkage=0.4).fit(toy.X, toy.y, toy.table)
    model.calibration_, model.temperatures_ = 0.1, {"seen": 1.0, "unseen": 1.0, "mixed": 1.0}
    said = {"crowding": 0.0, "calibration": 0.3, "temperatures": {"seen": 4.0, "unseen": 4.0, "mixed": 4.0}, "zsl": 0.5}
    tried = {"1": {**said, "weight": 8.0, "shrinkage": 0.1}, "10": {**said, "weight": 1.0, "shrinkage": 0.2}}
    model.practice_ = {"examples": tried, "wrong_weight": 0.2, "unlabelled": {}}
    half = model.add_examples(toy.X_new[:2], ["emu", "emu"])  # one of the two unseen classes
    assert (half._worth(2), half._worth(9)) == (8.0, 1.0)
    assert half.calibration_ == pytest.approx(0.2)
    assert half.temperatures_["unseen"] == pytest.approx(2.0)
    assert half.shrinkage_ == pytest.approx(0.25)
    whole = half.add_examples(toy.X_new[-2:], ["bee", "bee"])
    assert (whole.calibration_, whole.shrinkage_, whole.crowding_) == pytest.approx((0.3, 0.1, 0.0))
    fresh = ClassMeansClassifier(shrinkage=0.1, crowding=0.0).fit(toy.X, toy.y, toy.table)
    assert_close(whole._hat(whole._scaled(toy.X)), fresh._hat(fresh._scaled(toy.X)), SOLUTION.single)
    assert_close(whole.class_sums_, fresh.class_sums_, SOLUTION.single)
    back = whole.remove_examples()
    assert (back.calibration_, back.shrinkage_) == pytest.approx((0.1, 0.4))


def test_bad_examples_are_refused_and_the_model_stays(toy, model):
    before = model.compatibility(toy.X)
    for X, y, options, sentence in (
        (toy.X_new, None, {}, "y is None: expected a class name for each row of X"),
        (toy.X_new, ["emu"], {}, "X has 10 rows but y has 1 labels"),
        (toy.X_new[:1], [3], {}, "y names classes by integers .* the model by strings"),
        (toy.X_new[:, :2], toy.y_new, {}, "X has 2 features"),
        (np.full((1, 6), np.nan), ["emu"], {}, "contains NaN"),
        (toy.X_new[:1], ["emu"], {"wrong": "yes"}, "wrong is yes: expected True, False"),
        (toy.X_new[:1], ["yak"], {"wrong": True}, "class 'yak' has no description, no training rows and only examples"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.add_examples(X, y, **options)
    assert np.array_equal(model.compatibility(toy.X), before)


def test_rows_marked_as_wrong_do_not_stand_for_examples_in_the_calibration(toy, model):
    entry = {"weight": 4.0, "shrinkage": 0.5, "crowding": 0.0, "calibration": 0.3, "temperatures": None}
    practised = model._copy()
    practised.practice_ = {"examples": {"1": entry}, "wrong_weight": 0.35, "unlabelled": {}}
    marked = practised.add_examples(toy.X_new[:2], ["emu", "emu"], wrong=True)
    assert (marked.calibration_, marked.crowding_) == (practised.calibration_, practised.crowding_)
    assert marked.add_examples(toy.X_new[2:3], ["emu"]).calibration_ > 0


def test_a_class_name_that_is_no_list_is_refused(toy, model):
    """Its letters are not class names."""
    for call in (lambda: model.add_examples(toy.X_new[:1], "emu"), lambda: model.remove_examples(y="emu")):
        with pytest.raises(ValueError, match=r"y is 'emu': expected a list of class names; write \['emu'\]"):
            call()
