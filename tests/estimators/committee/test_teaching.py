"""Examples and unlabelled rows reach the members that can be taught; the committee itself stays as it was."""

import copy

import numpy as np
import pytest

from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines, datasets, protocols
from zskl.estimators.class_means.adaptation import NoClearGain

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


def test_a_member_that_cannot_be_taught_takes_an_undescribed_class_for_any_seen_one(model):
    X = UNLABELLED[:6]
    taught = model.add_examples(X[:2], ["zebra", "zebra"])
    assert taught.candidates_[-1] == "zebra"
    assert model.candidates_[-1] != "zebra"
    means, kernel = taught.members_
    column = 20 * means.compatibility(X, candidates=["zebra"])[:, 0]
    column += np.log(np.mean(np.exp(3.5 * kernel.compatibility(X, candidates=kernel.classes_)), axis=1))
    assert_close(taught.compatibility(X)[:, -1], column, SUMS.double)
    assert_close(taught.compatibility(X, candidates=["zebra"])[:, 0], column, SUMS.double)
    assert taught.predict(X[:2]).tolist() == ["zebra", "zebra"]
    described = {"zebra": DATA.signatures.iloc[0].to_numpy()}  # a description makes it a class as others
    expected = 3.5 * kernel.compatibility(X, described) + 20 * means.compatibility(X, described)
    assert_close(taught.compatibility(X, described), expected, SUMS.double)


def test_one_round_of_adaptation_asks_the_whole_committee(model):
    """The twin: q = softmax of the committee's logits, without crowding and at n₀ = 5, then u = unit(5 m̂ + Σ q x̂)."""
    means = model.members_[0]
    names = [label for label in model.candidates_ if label not in set(model.classes_)]
    scaled = means._scaled(UNLABELLED)
    hat = means._hat(scaled)
    described = means._described(means._question(scaled, means.signature_table_.select(names)))
    kernel = model.members_[1].compatibility(UNLABELLED, candidates=names)
    u = described
    for _ in range(5):
        e = np.exp(20 * hat @ u.T + 3.5 * kernel)
        q = e / e.sum(axis=1, keepdims=True)
        new = 5 * described + q.T @ hat
        new /= np.linalg.norm(new, axis=1, keepdims=True)
        turned = (1 - (new * u).sum(axis=1)).max()
        u = new
        if turned < 1e-3:
            break
    adapted = model.adapt(UNLABELLED, force=True)
    expected = 20 * hat @ u.T + 3.5 * kernel
    assert_close(adapted.compatibility(UNLABELLED, candidates=names), expected, SUMS.single)
    alone = means.adapt(UNLABELLED, force=True)  # the planted fault: class means without the others
    found = 20 * alone.compatibility(UNLABELLED, candidates=names) + 3.5 * kernel
    with pytest.raises(AssertionError):
        assert_close(found, expected, SUMS.single)
    assert adapted.adaptation_["candidates"] == "unseen"
    assert model.adaptation_ is None
    assert protocols.zsl(adapted, DATA).accuracy >= protocols.zsl(model, DATA).accuracy


def test_temperatures_sharpen_what_the_committee_believes(model):
    sharp = copy.copy(model)
    sharp.temperatures_ = {"seen": 1.0, "unseen": 0.5, "mixed": 1.0}
    others = (model._others(0), sharp._others(0))
    assert [one.kappa for one in others] == [20.0, 40.0]
    table = model.signature_table_
    halves = [one.for_kappa(one.kappa, UNLABELLED, table) for one in others]
    assert_close(halves[1], 2 * halves[0], SUMS.double)


def test_refusals(model, toy):
    with pytest.raises(NoClearGain, match="nobody has tried any on validation classes"):
        model.adapt(UNLABELLED)
    with pytest.raises(ValueError, match=r"X has 2 row\(s\) for 4 candidate classes"):
        model.adapt(UNLABELLED[:2], force=True)
    other = Committee([("eszsl", baselines.ESZSL())]).fit(toy.X, toy.y, toy.table)
    for call in (lambda: other.add_examples(toy.X, toy.y), lambda: other.adapt(toy.X), lambda: other.remove_examples()):
        with pytest.raises(ValueError, match=r"no member of this committee can be taught \(eszsl\)"):
            call()
