"""A committee in a model file: whole, in plain arrays with prefixes, and refused in a sentence where damaged."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import zskl
from model_files import parts
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier
from zskl.kernels import Gaussian


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


def test_a_taught_committee_is_kept_with_its_examples(toy, saved, tmp_path):
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
    for key in ("classes", "candidates", "signature_labels"):
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
def test_damage_is_refused_in_a_sentence(saved, damage):
    path = saved[1]
    header, arrays = parts(path)
    damage(header, arrays)
    save_file(arrays, path, metadata={"zskl": json.dumps(header)})
    with pytest.raises(ValueError, match=DAMAGES[damage]) as caught:
        zskl.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
