"""Maps for dot-product search: exact where every point is a landmark, better with more components, honest of recall."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import zskl
from textbook import distance, image, inner, project
from tolerances import AFTER_FIT, FORMULA, GRAM, assert_close
from zskl import ZeroShotKernelClassifier
from zskl.estimators import search_vectors

KERNELS = [
    {"kernel": "gaussian", "sigma": 0.8},
    {"kernel": "gaussian", "sigma": 0.8, "incoherence": False},
    {"kernel": "cauchy", "sigma": 0.7},
    {"kernel": "cauchy", "sigma": 0.7, "incoherence": False},
    {"kernel": "polynomial", "degree": 2},
    {"kernel": "polynomial", "degree": 3, "bias": 0.5},
]
NAMES = [f"{k['kernel']}{k.get('degree', '')}{'' if k.get('incoherence', True) else '-plain'}" for k in KERNELS]
every_kernel = pytest.mark.parametrize("parameters", KERNELS, ids=NAMES)


def many(toy, count=400, seed=3):
    """New classes: mixtures of those of the table, each with some noise."""
    rng = np.random.default_rng(seed)
    mixed = rng.dirichlet(np.ones(len(toy.table)), count) @ toy.table.to_numpy()
    mixed += 0.5 * rng.normal(size=mixed.shape)
    return pd.DataFrame(mixed, index=[f"class {i}" for i in range(count)], columns=toy.table.columns)


def twin(model, X, table):
    """The same map by its definition: all points listed, one kernel value at a time, K_zz inverted."""
    value, W = model.kernel_.value, model.projection_.astype(float).tolist()

    def points(rows, other):
        return [(other(W, row), row) for row in rows]

    x = points(model.feature_scaling_.apply(X).tolist(), project)
    y = [(row, point) for point, row in points(model.signature_scaling_.apply(table.to_numpy()).tolist(), image)]

    def k(a, b):
        if not model.kernel_.radial:
            return float(value(np.float64(inner(a[0], b[0]))))
        first = float(value(np.float64(distance(a[0], b[0]))))
        return first + float(value(np.float64(distance(a[1], b[1])))) if model.incoherence_ else first

    def matrix(left, right):
        return np.array([[k(a, b) for b in right] for a in left])

    return lambda z: matrix(x, z(x, y)) @ np.linalg.pinv(matrix(z(x, y), z(x, y)), 1e-12) @ matrix(z(x, y), y)


@every_kernel
def test_with_every_class_a_landmark_inner_products_are_the_scores(toy, parameters):
    model = toy.fitted(**parameters)
    X = np.concatenate([toy.X, toy.X_new])
    for m, chosen, rows in ((50, {}, None), (50, {"candidates": ["bee", "cat", "emu"]}, None), (5, {}, toy.X)):
        mapping = model.feature_map(m, X=rows, **chosen)
        assert mapping.n_components <= len(mapping.classes(**chosen))
        found = mapping.samples(X) @ mapping.classes(**chosen, dtype="float64").T
        assert_close(found, model.compatibility(X, **chosen), GRAM.double)
        assert mapping.quality(X, **chosen, k=2).error < 1e-8
        assert mapping.quality(X, **chosen, k=2).recall == 1


@every_kernel
def test_few_landmarks_equal_the_slow_twin(toy, parameters):
    """Fewer landmarks than classes, so that the approximation itself is compared, from classes and from samples."""
    model, table = toy.fitted(**parameters), many(toy, 30)
    X = toy.X[:6]
    slow = twin(model, X, table)
    first = model.feature_map(8, signatures=table.iloc[:8], landmarks=8)
    fast = first.samples(X) @ first.classes(table, dtype="float64").T
    assert_close(fast, slow(lambda x, y: y[:8]), GRAM.double)
    both = model.feature_map(10, X=X[:5], signatures=table.iloc[:5], landmarks=10)
    fast = both.samples(X) @ both.classes(table, dtype="float64").T
    assert_close(fast, slow(lambda x, y: y[:5] + x[:5]), GRAM.double)
    wrong = slow(lambda x, y: y[:4] + x[:5])
    assert np.abs(fast - wrong).max() > 1e-4  # the comparison can fail


@pytest.mark.parametrize("parameters", [KERNELS[0], KERNELS[1], KERNELS[2]], ids=[NAMES[0], NAMES[1], NAMES[2]])
def test_error_falls_with_components_for_classes_never_seen(toy, parameters):
    model, table = toy.fitted(**parameters), many(toy)
    found = [model.feature_map(m, X=toy.X, signatures=table).quality(toy.X_new, table) for m in (2, 8, 32, 128)]
    errors = [one.error for one in found]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02 < errors[0]
    assert found[-1].recall > found[0].recall


def test_quality_is_the_naive_recall(toy):
    model, table = toy.fitted(sigma=0.8), many(toy, 60)
    mapping = model.feature_map(4, signatures=table)
    exact = model.compatibility(toy.X_new, table)
    near = mapping.samples(toy.X_new) @ mapping.classes(table, dtype="float64").T
    for k, shortlist in ((1, None), (5, None), (5, 20)):
        shares = []
        for row, other in zip(exact.tolist(), near.tolist(), strict=True):
            best = sorted(range(60), key=lambda j: -row[j])[:k]
            taken = sorted(range(60), key=lambda j: -other[j])[: shortlist or k]
            shares.append(len(set(best) & set(taken)) / k)
        found = mapping.quality(toy.X_new, table, k=k, shortlist=shortlist)
        assert found.recall == pytest.approx(np.mean(shares), rel=1e-12)
        assert found.error == pytest.approx(np.linalg.norm(near - exact) / np.linalg.norm(exact), rel=1e-9)
    assert (
        0 < mapping.quality(toy.X_new, table, k=5).recall < mapping.quality(toy.X_new, table, k=5, shortlist=40).recall
    )


def test_blocks_change_nothing(toy, monkeypatch):
    model, table = toy.fitted(), many(toy, 50)
    mapping = model.feature_map(16, signatures=table)
    whole = mapping.samples(toy.X), mapping.classes(table), mapping.quality(toy.X, table)
    monkeypatch.setattr(search_vectors, "BLOCK_VALUES", 200)
    assert_close(mapping.samples(toy.X), whole[0], GRAM.double)
    assert_close(mapping.classes(table), whole[1], FORMULA.single)
    assert mapping.quality(toy.X, table) == pytest.approx(whole[2], rel=1e-9)


def test_a_class_with_several_signatures_has_a_row_for_each(toy):
    table = pd.concat([toy.table, toy.table.loc[["ant", "bee"]] * 0.7])
    model = toy.model().fit(toy.X, toy.y, table)
    mapping = model.feature_map(20)
    labels, scores = mapping.labels(), mapping.samples(toy.X) @ mapping.classes(dtype="float64").T
    assert labels.tolist() == ["ant", "ant", "bee", "bee", "cat", "dog", "emu"]
    best = np.stack([scores[:, labels == label].max(axis=1) for label in model.candidates_], axis=1)
    assert_close(best, model.compatibility(toy.X), GRAM.double)
    assert mapping.quality(toy.X, k=1).error < 1e-8


@pytest.mark.parametrize("parameters", [KERNELS[1], KERNELS[3], KERNELS[5]], ids=[NAMES[1], NAMES[3], NAMES[5]])
def test_the_order_of_one_term_is_an_inner_product(toy, parameters):
    model, table = toy.fitted(**parameters, signature_scaling="none"), many(toy, 60)  # signatures of any length
    mapping = model.ranking_map()
    assert mapping.n_components == 5
    near = mapping.samples(toy.X_new) @ mapping.classes(table, dtype="float64").T
    exact = model.compatibility(toy.X_new, table)
    np.testing.assert_array_equal(np.argsort(-near, axis=1)[:, :10], np.argsort(-exact, axis=1)[:, :10])
    assert mapping.quality(toy.X_new, table).recall == 1
    wrong = near + (model.signature_scaling_.apply(table.to_numpy()) ** 2).sum(axis=1)  # without −‖y‖²
    assert (np.argsort(-wrong, axis=1)[:, :10] != np.argsort(-exact, axis=1)[:, :10]).any()


@pytest.mark.parametrize("parameters", [KERNELS[1], KERNELS[3], KERNELS[5]], ids=[NAMES[1], NAMES[3], NAMES[5]])
def test_with_rows_the_order_of_rows_is_an_inner_product_too(toy, parameters):
    model, table = toy.fitted(**parameters, feature_scaling="none"), many(toy, 30)  # rows of any length
    mapping = model.ranking_map(rows=True)
    assert mapping.n_components == 6
    near = mapping.samples(toy.X) @ mapping.classes(table, dtype="float64").T
    exact = model.compatibility(toy.X, table)
    for axis in (0, 1):
        np.testing.assert_array_equal(np.argsort(-near, axis=axis), np.argsort(-exact, axis=axis))
    if model.kernel_.radial:
        plain = model.ranking_map()  # without −‖Wᵀx‖² classes are in order, and rows are not
        wrong = plain.samples(toy.X) @ plain.classes(table, dtype="float64").T
        assert (np.argsort(-wrong, axis=0) != np.argsort(-exact, axis=0)).any()


def test_the_order_of_two_terms_is_one_to_first_order(toy):
    model, table = toy.fitted(sigma=2.0), many(toy, 60)  # a wide kernel is nearly linear
    assert model.ranking_map().quality(toy.X_new, table, k=5).recall > 0.8
    both = model.ranking_map(rows=True)
    near = both.samples(toy.X) @ both.classes(table, dtype="float64").T
    exact = model.compatibility(toy.X, table)
    best, taken = (np.argsort(-scores, axis=0)[:5].T.tolist() for scores in (exact, near))  # rows of each class
    assert np.mean([len({*a} & {*b}) / 5 for a, b in zip(best, taken, strict=True)]) > 0.8


def test_precision_and_seed(toy):
    model, table = toy.fitted(), many(toy, 100)
    mapping = model.feature_map(8, signatures=table, landmarks=20)
    single = mapping.samples(toy.X.astype(np.float32))
    assert single.dtype == np.float32
    assert mapping.classes(table).dtype == np.float32
    assert_close(single, mapping.samples(toy.X), AFTER_FIT.single)
    again = model.feature_map(8, signatures=table, landmarks=20)
    np.testing.assert_array_equal(again.root, mapping.root)
    other = model.feature_map(8, signatures=table, landmarks=20, random_state=1)
    assert not np.array_equal(other.u, mapping.u)


def test_tensors_stay_tensors(toy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = toy.fitted()
    for mapping in (model.feature_map(4), model.ranking_map()):
        found = mapping.samples(torch.as_tensor(toy.X))
        assert isinstance(found, torch.Tensor)
        assert_close(found.numpy(), mapping.samples(toy.X), GRAM.double)


def test_a_map_outlives_another_fit_and_follows_a_saved_model(toy, tmp_path):
    model = toy.fitted()
    mapping = model.feature_map(10)
    before = mapping.samples(toy.X)
    model.save(tmp_path / "toy.zskl")
    model.set_params(sigma=3.0, kernel="cauchy").fit(toy.X[:, ::-1], toy.y, toy.table)
    np.testing.assert_array_equal(mapping.samples(toy.X), before)
    loaded = zskl.load(tmp_path / "toy.zskl").feature_map(10)
    assert_close(loaded.samples(toy.X), before, GRAM.double)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_components": 0}, "n_components is 0: expected an integer ≥ 1"),
        ({"n_components": 9, "landmarks": 4}, "landmarks is 4, less than n_components, 9"),
        ({"random_state": -1}, "random_state is -1: expected an integer ≥ 0"),
        ({"X": np.ones((3, 2))}, "X has 2 features"),
        ({"candidates": ["yak"]}, "candidate 'yak' is not in the fitted table"),
    ],
)
def test_bad_arguments_of_maps_are_refused(toy, arguments, words):
    with pytest.raises(ValueError, match=words):
        toy.fitted().feature_map(**arguments)


def test_bad_arguments_of_quality_are_refused(toy):
    mapping = toy.fitted().feature_map(4)
    with pytest.raises(ValueError, match=r"k is 6: expected an integer from 1 to 5, the number of candidates"):
        mapping.quality(toy.X, k=6)
    with pytest.raises(ValueError, match=r"shortlist is 2: expected an integer from 3 to 5"):
        mapping.quality(toy.X, k=3, shortlist=2)
    with pytest.raises(ValueError, match="not fitted"):
        ZeroShotKernelClassifier().feature_map(4)
