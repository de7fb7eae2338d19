"""Scores are the weighted sum of the members' own; settings are those of scikit-learn's VotingClassifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines


def members(**softmax):
    kernel = ZeroShotKernelClassifier(loss="softmax", epochs=2, temperature=0.2, feature_scaling="center", **softmax)
    return [("means", ClassMeansClassifier(shrinkage=0.3)), ("softmax", kernel), ("eszsl", baselines.ESZSL())]


def committee(**settings):
    return Committee(members(), **{"random_state": 0, **settings})


def slow_scores(toy, table, rows, factors):
    """Each member fitted and asked by itself, class by class and signature by signature, and the sum of w·score/T."""
    total = 0.0
    for (_, member), factor in zip(members(), factors, strict=True):
        alone = member.set_params(random_state=0).fit(toy.X, toy.y, table)
        scores = np.full((len(rows), len(alone.candidates_)), -np.inf)
        for column, label in enumerate(alone.candidates_):
            for signature in table.loc[[label]].to_numpy():
                one = alone.compatibility(rows, {label: signature})
                scores[:, column] = np.maximum(scores[:, column], one[:, 0])
        total = total + factor * scores
    return total


@pytest.mark.parametrize("several", [False, True])
def test_the_score_is_the_sum_of_the_members_logits(toy, several):
    table = pd.concat([toy.table, toy.table.iloc[::2] + 0.5]) if several else toy.table
    chosen = committee(weights=[1, 0.5, 2], member_temperatures=[0.1, 0.2, 4]).fit(toy.X, toy.y, table)
    rows = np.concatenate([toy.X, toy.X_new])
    assert_close(chosen.compatibility(rows), slow_scores(toy, table, rows, [10, 2.5, 0.5]), SUMS.double)
    usual = committee().fit(toy.X, toy.y, table)
    assert_close(usual.compatibility(rows), slow_scores(toy, table, rows, [40, 5, 1]), SUMS.double)
    with pytest.raises(AssertionError):  # the planted fault: another temperature
        assert_close(usual.compatibility(rows), slow_scores(toy, table, rows, [40, 5, 1.1]), SUMS.double)


def test_a_member_that_is_dropped_or_weighs_nothing_does_not_count(toy):
    whole = Committee(members()[:2], [1, 0.5], [0.1, 0.2], random_state=0).fit(toy.X, toy.y, toy.table)
    dropped = committee(weights=[1, 0.5, 2], member_temperatures=[0.1, 0.2, 4]).set_params(eszsl="drop")
    nothing = committee(weights=[1, 0.5, 0], member_temperatures=[0.1, 0.2, 4])
    for other in (dropped, nothing):
        np.testing.assert_array_equal(
            other.fit(toy.X, toy.y, toy.table).compatibility(toy.X_new), whole.compatibility(toy.X_new)
        )
    assert list(dropped.named_members_) == ["means", "softmax"]
    assert len(dropped.weights_) == len(dropped.member_temperatures_) == len(dropped.members_) == 2


def test_settings_of_members_have_nested_names():
    model = Committee()
    assert model.get_params()["softmax__loss"] == "softmax"
    assert model.members is None
    model.set_params(means__shrinkage=0.2, softmax__sigma=0.7, weights=[1, 2])
    assert (model.named_members.means.shrinkage, model.named_members.softmax.sigma) == (0.2, 0.7)
    copied = clone(model).set_params(means__shrinkage=0.9)
    assert model.named_members.means.shrinkage == 0.2
    assert copied.named_members.softmax.sigma == 0.7
    model.set_params(members=[("only", baselines.ESZSL())], only__gamma=3.0)
    assert model.get_params()["only__gamma"] == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'means' for estimator Committee"):
        model.set_params(means__shrinkage=0.2)
    with pytest.raises(ValueError, match=r"only__gamma is set, but that member is dropped"):
        model.set_params(only="drop", only__gamma=1.0)


def test_fit_clones_members_and_lends_them_seed_and_device(toy):
    mine = members()
    mine[2] = ("own", ZeroShotKernelClassifier(epochs=1, random_state=5))
    model = Committee(mine, random_state=3, device="cpu").fit(toy.X, toy.y, toy.table)
    assert [one.random_state for one in model.members_] == [3, 3, 5]
    assert [one.device for one in model.members_] == [None, None, None]
    assert not any(hasattr(one, "classes_") for _, one in mine)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"members": 3}, "members is 3: expected pairs of a name and an estimator"),
        ({"members": []}, r"members is \[\]: expected pairs"),
        ({"members": [ClassMeansClassifier()]}, r"members is \[ClassMeansClassifier\(\)\]: expected pairs"),
        ({"members": [("a__b", baselines.ESZSL())]}, "a member is called 'a__b': expected a name without '__'"),
        ({"members": [("weights", baselines.ESZSL())]}, "a member is called 'weights'"),
        ({"members": [("a", baselines.ESZSL()), ("a", baselines.SAE())]}, "two members are called 'a'"),
        ({"members": [("a", Committee())]}, "member 'a' is a committee itself: list its members instead"),
        ({"members": [("a", "dorp")]}, "member 'a' is 'dorp': expected an estimator of zskl, or 'drop'"),
        ({"members": [("a", "drop")]}, "every member is dropped: keep at least one"),
        ({"members": [("a", ClassMeansClassifier(noise=-1))]}, "noise is -1"),
        ({"weights": [1]}, r"weights is \[1\]: expected 2 numbers, one for each member"),
        ({"weights": [1, -1]}, "weights is -1: expected a finite number ≥ 0"),
        ({"weights": [0, 0]}, "expected at least one above 0"),
        ({"member_temperatures": [1, 0]}, "member_temperatures is 0: expected a finite number > 0"),
        ({"member_temperatures": "ab"}, "member_temperatures is ab: expected 2 numbers"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(toy, settings, words):
    model = Committee(**settings)
    with pytest.raises(ValueError, match=words):
        model.fit(toy.X, toy.y, toy.table)
    assert not hasattr(model, "classes_")


def test_data_frames_memory_mapped_rows_and_half_as_many_digits(toy, tmp_path):
    expected = committee().fit(toy.X, toy.y, toy.table).compatibility(toy.X_new)
    frame = pd.DataFrame(toy.X, columns=list("uvwxyz"))
    named = committee().fit(frame, toy.y, toy.table)
    new = pd.DataFrame(toy.X_new, columns=list("uvwxyz"))
    assert_close(named.compatibility(new), expected, SUMS.double)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(new.set_axis(list("zyxwvt"), axis=1))
    np.save(tmp_path / "rows.npy", toy.X)
    mapped = committee().fit(np.load(tmp_path / "rows.npy", mmap_mode="r"), toy.y, toy.table)
    assert_close(mapped.compatibility(toy.X_new), expected, SUMS.double)
    single = mapped.compatibility(toy.X_new.astype(np.float32))
    assert single.dtype == np.float32
    assert_close(single, expected, SUMS.single)


def test_tensors_stay_tensors(toy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = committee().fit(torch.from_numpy(toy.X), toy.y, toy.table)
    scores = model.compatibility(torch.from_numpy(toy.X_new))
    assert isinstance(scores, torch.Tensor)
    assert scores.dtype == torch.float64
    assert_close(scores.numpy(), model.compatibility(toy.X_new), SUMS.double)


def test_calibration_moves_seen_classes_and_doubtful_rows_are_rejected(toy):
    model = committee().fit(toy.X, toy.y, toy.table)
    model.calibration_, model.temperatures_ = 1e3, {"seen": 1.0, "unseen": 1.0, "mixed": 1.0}
    assert set(model.predict(toy.X)) <= {"emu", "bee"}
    assert set(model.predict(toy.X, reject=1.0)) <= {"unknown", "emu", "bee"}
    np.testing.assert_allclose(model.predict_proba(toy.X).sum(axis=1), 1, rtol=SUMS.double)


def test_explanations_are_asked_of_a_member(toy):
    model = committee().fit(toy.X, toy.y, toy.table)
    with pytest.raises(ValueError, match=r"call explain of a member, one of named_members_\.means, named_members_\.so"):
        model.explain(toy.X)
    assert len(model.named_members_.softmax.explain(toy.X[:2])) == 2
    np.testing.assert_array_equal(model.gallery(toy.X).scores(), model.compatibility(toy.X))
    assert len(model.nearest_classes(2)) == 10
