"""Scores are the weighted sum of the members' own; settings are those of scikit-learn's VotingClassifier."""

import copy
import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import zskl
from fits import parts
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines, datasets, protocols
from zskl.estimators._class_means_adapt import AdaptationSettings, NoClearGain
from zskl.kernels import Gaussian


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
def test_score_is_the_sum_of_member_logits(toy, several):
    table = pd.concat([toy.table, toy.table.iloc[::2] + 0.5]) if several else toy.table
    chosen = committee(weights=[1, 0.5, 2], member_temperatures=[0.1, 0.2, 4]).fit(toy.X, toy.y, table)
    rows = np.concatenate([toy.X, toy.X_new])
    assert_close(chosen.compatibility(rows), slow_scores(toy, table, rows, [10, 2.5, 0.5]), SUMS.double)
    usual = committee().fit(toy.X, toy.y, table)
    assert_close(usual.compatibility(rows), slow_scores(toy, table, rows, [40, 5, 1]), SUMS.double)
    with pytest.raises(AssertionError):  # the planted fault: another temperature
        assert_close(usual.compatibility(rows), slow_scores(toy, table, rows, [40, 5, 1.1]), SUMS.double)


def test_dropped_and_weightless_members_do_not_count(toy):
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
def test_bad_settings_are_refused(toy, settings, words):
    model = Committee(**settings)
    with pytest.raises(ValueError, match=words):
        model.fit(toy.X, toy.y, toy.table)
    assert not hasattr(model, "classes_")


def test_input_types_agree(toy, tmp_path):
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
    assert set(model.predict(toy.X, min_probability=1.0)) <= {"unknown", "emu", "bee"}
    np.testing.assert_allclose(model.predict_proba(toy.X).sum(axis=1), 1, rtol=SUMS.double)


def test_explain_names_the_members(toy):
    model = committee().fit(toy.X, toy.y, toy.table)
    with pytest.raises(ValueError, match=r"call explain of a member, one of named_members_\.means, named_members_\.so"):
        model.explain(toy.X)
    assert len(model.named_members_.softmax.explain(toy.X[:2])) == 2
    np.testing.assert_array_equal(model.gallery(toy.X).scores(), model.compatibility(toy.X))
    assert len(model.nearest_classes(2)) == 10


# scikit-learn
# scikit-learn's own checks, with no exemption.


@pytest.mark.filterwarnings("ignore::zskl.estimators.base.UncalibratedWarning")
@parametrize_with_checks([Committee(), Committee([("means", ClassMeansClassifier()), ("other", "drop")], [1, 2])])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# Model files
# A committee in a model file: whole, in plain arrays with prefixes, and refused in a sentence where damaged.


@pytest.fixture
def saved(toy, tmp_path):
    kernel = ZeroShotKernelClassifier(Gaussian(0.8), loss="softmax", epochs=1)
    members = [("means", ClassMeansClassifier()), ("none", "drop"), ("softmax", kernel)]
    model = Committee(members, [1, 1, 2], np.array([0.1, 1, 0.3]), random_state=0, device="cpu")
    model.fit(toy.X, toy.y, toy.table).save(tmp_path / "model.zskl")
    return model, tmp_path / "model.zskl"


def test_a_loaded_committee_equals_the_saved_one(toy, saved, tmp_path):
    model, path = saved
    loaded = zskl.load(path)
    np.testing.assert_array_equal(loaded.compatibility(toy.X_new), model.compatibility(toy.X_new))
    assert repr(loaded.set_params(device="cpu").get_params()) == repr(
        {**model.get_params(), "member_temperatures": [0.1, 1.0, 0.3], "weights": [1.0, 1.0, 2.0]}
    )
    assert list(loaded.named_members_) == ["means", "softmax"]
    loaded.save(tmp_path / "again.zskl")
    assert parts(tmp_path / "again.zskl")[0] == parts(path)[0]
    again = loaded.fit(toy.X, toy.y, toy.table)
    np.testing.assert_array_equal(again.compatibility(toy.X_new), model.compatibility(toy.X_new))


def test_members_arrays_carry_prefixes(saved):
    model, path = saved
    header, arrays = parts(path)
    assert header["estimator"] == "committee"
    assert [(one["name"], one["estimator"]) for one in header["members"]] == [
        ("means", "class-means"),
        ("softmax", "kernel"),
    ]
    np.testing.assert_array_equal(arrays["members.1.learned.projection_"], model.members_[1].projection_)
    assert all(array.dtype.kind == "f" for array in arrays.values())


def test_taught_committee_is_saved_with_its_examples(toy, saved, tmp_path):
    taught = saved[0].add_examples(toy.X_new[:2], ["yak", "emu"])
    taught.save(tmp_path / "taught.zskl")
    loaded = zskl.load(tmp_path / "taught.zskl")
    assert loaded.candidates_.tolist() == taught.candidates_.tolist()
    np.testing.assert_array_equal(loaded.compatibility(toy.X_new), taught.compatibility(toy.X_new))


def _other_member(header, arrays):
    header["members"][1]["estimator"] = "voodoo"


def _nested_committee(header, arrays):
    header["members"][1]["estimator"] = "committee"


def _no_members(header, arrays):
    header["members"] = []


def _renamed(header, arrays):
    header["members"][0]["name"] = "other"


def _lost_array(header, arrays):
    del arrays["members.1.learned.projection_"]


def _other_classes(header, arrays):
    member = header["members"][1]
    for key in ("classes", "seen_classes", "signature_labels"):
        member[key]["values"] = [label.upper() for label in member[key]["values"]]


def _negative_weight(header, arrays):
    arrays["learned.weights_"] = np.array([1.0, -1.0])


def _more_weights(header, arrays):
    arrays["learned.weights_"] = np.array([1.0, 1.0, 1.0])


def _no_pairs(header, arrays):
    header["parameters"]["members"] = {"means": 1}


DAMAGES = {
    _other_member: "a member of the kind 'voodoo'",
    _nested_committee: "a member of the kind 'committee'",
    _no_members: "0 members with 2 weights",
    _renamed: "members other, softmax, expected means, softmax",
    _lost_array: "the array learned.projection_ is missing",
    _other_classes: "the member 'softmax' has other features, attributes or classes than the committee",
    _negative_weight: "weights",
    _more_weights: "2 members with 3 weights",
    _no_pairs: "is damaged",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_is_refused(saved, damage):
    path = saved[1]
    header, arrays = parts(path)
    damage(header, arrays)
    save_file(arrays, path, metadata={"zskl": json.dumps(header)})
    with pytest.raises(ValueError, match=DAMAGES[damage]) as caught:
        zskl.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


# Teaching
# Examples and unlabelled rows reach the members that can be taught; the committee itself stays as it was.

DATA = datasets.make_synthetic(12, 4, 25, 20, 8, noise=1.0)
UNLABELLED = DATA.X[DATA.parts["test_unseen"]].astype(np.float64)


@pytest.fixture(scope="module")
def model():
    kernel = ZeroShotKernelClassifier(loss="softmax", epochs=1, temperature=0.1)
    members = [("means", ClassMeansClassifier()), ("softmax", kernel)]
    return Committee(members, [1, 0.7], [0.05, 0.2], random_state=0).fit(*DATA.samples("trainval"), DATA.signatures)


def test_examples_reach_class_means_and_no_other_member(model):
    X, y = DATA.samples("test_unseen")
    before = model.compatibility(X)
    taught = model.add_examples(X[:5], y[:5])
    np.testing.assert_array_equal(model.compatibility(X), before)
    parts = [one.compatibility(X) for one in taught.members_]
    assert_close(taught.compatibility(X), 20 * parts[0] + 3.5 * parts[1], SUMS.double)
    assert not np.array_equal(parts[0], model.members_[0].compatibility(X))
    np.testing.assert_array_equal(parts[1], model.members_[1].compatibility(X))
    np.testing.assert_array_equal(taught.remove_examples(X[:5], y[:5]).compatibility(X), before)


def test_untaught_member_treats_an_undescribed_class_as_a_typical_seen_one(model):
    X = UNLABELLED[:6]
    taught = model.add_examples(X[:2], ["zebra", "zebra"])
    assert taught.candidates_[-1] == "zebra"
    assert model.candidates_[-1] != "zebra"
    means, kernel = taught.members_
    column = 20 * means.compatibility(X, candidates=["zebra"])[:, 0]
    column += np.log(np.mean(np.exp(3.5 * kernel.compatibility(X, candidates=kernel.seen_classes_)), axis=1))
    assert_close(taught.compatibility(X)[:, -1], column, SUMS.double)
    assert_close(taught.compatibility(X, candidates=["zebra"])[:, 0], column, SUMS.double)
    assert taught.predict(X[:2]).tolist() == ["zebra", "zebra"]
    described = {"zebra": DATA.signatures.iloc[0].to_numpy()}  # a description makes it a class as others
    expected = 3.5 * kernel.compatibility(X, described) + 20 * means.compatibility(X, described)
    assert_close(taught.compatibility(X, described), expected, SUMS.double)


def test_each_round_of_adaptation_asks_the_whole_committee(model):
    """The twin: q = softmax of the committee's logits, a tenth of them the first, 0.7 those of the three nearest rows.

    Then u = unit(15 m̂ + Σ q x̂).
    """
    means = model.members_[0]
    names = [label for label in model.candidates_ if label not in set(model.seen_classes_)]
    scaled = means._scale_rows(UNLABELLED)
    unit_rows = means._row_directions(scaled)
    described = means._described_directions(means._question(scaled, means.signature_table_.select(names)))
    kernel = model.members_[1].compatibility(UNLABELLED, candidates=names)

    def crowding(directions):
        close = np.sort(means.kept_rows_.astype(np.float32) @ directions.T, axis=0)
        return means.crowding * close[-max(1, int(means.crowding_share * len(close))) :].mean(axis=0)

    u = described
    cosines = unit_rows @ unit_rows.T
    np.fill_diagonal(cosines, -2)
    near = np.argsort(-cosines, axis=1)[:, :3]
    crowded = crowding(u)
    first = 20 * (unit_rows @ u.T - crowded) + 3.5 * kernel
    for _ in range(8):
        newest = 20 * (unit_rows @ u.T - crowded) + 3.5 * kernel
        logits = 0.1 * first + 0.9 * newest
        q = np.exp(0.3 * logits + 0.7 * logits[near].mean(axis=1))
        q /= q.sum(axis=1, keepdims=True)
        new = 15 * described + q.T @ unit_rows
        new /= np.linalg.norm(new, axis=1, keepdims=True)
        turned = (1 - (new * u).sum(axis=1)).max()
        u = new
        if turned < 1e-3:
            break
    adapted = model.adapt(UNLABELLED, force=True)
    expected = 20 * (unit_rows @ u.T - crowding(u)) + 3.5 * kernel
    assert_close(adapted.compatibility(UNLABELLED, candidates=names), expected, SUMS.single)
    alone = means.adapt(UNLABELLED, force=True)  # the planted fault: class means without the others
    found = 20 * alone.compatibility(UNLABELLED, candidates=names) + 3.5 * kernel
    with pytest.raises(AssertionError):
        assert_close(found, expected, SUMS.single)
    assert adapted.adaptation_["candidates"] == "unseen"
    assert model.adaptation_ is None
    assert protocols.zsl(adapted, DATA).accuracy >= protocols.zsl(model, DATA).accuracy


def test_as_many_rows_stay_with_unseen_classes_of_a_committee(model):
    """By scores of the committee, whose units are others than those of class means."""
    X, model = np.concatenate([UNLABELLED, DATA.samples("test_seen")[0]]), copy.deepcopy(model)
    model.calibration_, model.temperatures_ = 0.1, {"seen": 1.0, "unseen": 1.0, "mixed": 1.0}
    tried = {**asdict(AdaptationSettings()), "per_class": 4.0, "gain": 0.05, "spread": 0.01, "least": 0.03}
    tried |= {"calibration": 0.4, "temperatures": model.temperatures_}
    model.members_[0].practice_ = {"unlabelled": {"all": [tried]}}
    adapted = model.adapt(X, "all", force=True)
    before, after = (np.isin(one.predict(X), DATA.unseen_classes).sum() for one in (model, adapted))
    assert 0 < before < len(X)
    assert after == before
    assert np.isin(adapted.adapt(X, "all", force=True).predict(X), DATA.unseen_classes).sum() == before
    assert adapted.calibration_ != model.calibration_


def test_temperatures_sharpen_adaptation(model):
    sharp = copy.copy(model)
    sharp.temperatures_ = {"seen": 1.0, "unseen": 0.5, "mixed": 1.0}
    others = (model._other_models(0), sharp._other_models(0))
    assert [one.kappa for one in others] == [20.0, 40.0]
    table = model.signature_table_
    halves = [one.for_kappa(one.kappa, UNLABELLED, table) for one in others]
    assert_close(halves[1], 2 * halves[0], SUMS.double)


def test_teaching_refusals(model, toy):
    with pytest.raises(NoClearGain, match="nobody has tried any on validation classes"):
        model.adapt(UNLABELLED)
    other = Committee([("eszsl", baselines.ESZSL())]).fit(toy.X, toy.y, toy.table)
    for call in (lambda: other.add_examples(toy.X, toy.y), lambda: other.adapt(toy.X), lambda: other.remove_examples()):
        with pytest.raises(ValueError, match=r"no member of this committee can be taught \(eszsl\)"):
            call()
