"""PyTorch tensors in, PyTorch tensors out: the same numbers as NumPy, computed where the tensors lie."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import zskl
from tolerances import AFTER_FIT, FIT, SUMS, assert_close
from zskl.kernels import Gaussian

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'zskl[torch]'")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
VARIANTS = {
    "gaussian": {},
    "cauchy, no incoherence": {"kernel": "cauchy", "incoherence": False},
    "polynomial": {"kernel": "polynomial", "loss": "linear"},
    "softmax, uniform start": {"loss": "softmax", "init": "uniform"},
    "per sample, orthogonal start": {"second_moment": "per_sample", "init": "orthogonal", "schedule": "exponential"},
    "other scaling": {"feature_scaling": "sqrt-center-l2", "signature_scaling": "l2", "balance": "sizes"},
}


@pytest.fixture(params=DEVICES)
def tensor(request):
    """Arrays as tensors on each device there is."""
    return lambda array, dtype=None: torch.tensor(array, device=request.param, dtype=dtype)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training_agrees_with_numpy(toy, tensor, variant, dtype):
    X = toy.X.astype(dtype)
    expected = toy.model(**VARIANTS[variant]).fit(X, toy.y, toy.table)
    model = toy.model(**VARIANTS[variant]).fit(tensor(X), toy.y, toy.table)
    assert isinstance(model.projection_, np.ndarray)
    assert model.projection_.dtype == np.float32
    assert_close(model.projection_, expected.projection_, FIT.single)
    assert_close(model.history_.objective, expected.history_.objective, AFTER_FIT.single)
    scores = model.compatibility(tensor(X))
    assert isinstance(scores, torch.Tensor)
    assert scores.dtype == getattr(torch, dtype)
    assert scores.device == tensor(X).device
    assert_close(scores.cpu().numpy(), expected.compatibility(X), AFTER_FIT.single)
    other = toy.model(**{**VARIANTS[variant], "random_state": 1}).fit(X, toy.y, toy.table)
    with pytest.raises(AssertionError):  # another order of batches would be noticed
        assert_close(model.projection_, other.projection_, FIT.single)


def test_several_descriptions_agree_with_numpy(toy, tensor):
    table = pd.concat([toy.table, toy.table.iloc[::2] + 0.5])
    expected = toy.model().fit(toy.X, toy.y, table)
    model = toy.model().fit(tensor(toy.X), toy.y, table)
    assert_close(model.projection_, expected.projection_, FIT.single)
    assert_close(
        model.compatibility(tensor(toy.X_new)).cpu().numpy(), expected.compatibility(toy.X_new), AFTER_FIT.single
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_model_scores_either_library(toy, tensor, dtype):
    X = toy.X_new.astype(dtype)
    for model in (toy.fitted(), toy.model().fit(tensor(toy.X), toy.y, toy.table)):
        plain, there = model.compatibility(X), model.compatibility(tensor(X))
        assert isinstance(plain, np.ndarray)
        assert isinstance(there, torch.Tensor)
        assert_close(there.cpu().numpy(), plain, SUMS.of(dtype))
        decided = model.decision_function(tensor(X))
        assert decided.device == there.device
        assert_close(decided.cpu().numpy(), model.decision_function(X), SUMS.of(dtype))


def test_labels_come_back_as_numpy(toy, tensor):
    model = toy.fitted()
    X = tensor(toy.X_new)
    assert isinstance(model.predict(X), np.ndarray)
    assert model.predict(X).tolist() == model.predict(toy.X_new).tolist()
    assert (
        model.predict(X, toy.table.loc[["emu", "bee"]]).tolist()
        == model.predict(toy.X_new, candidates=["emu", "bee"]).tolist()
    )
    labels, scores = model.top_k(X, 3, return_scores=True)
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == model.top_k(toy.X_new, 3).tolist()
    assert_close(scores, model.top_k(toy.X_new, 3, return_scores=True)[1], SUMS.double)
    assert model.score(X, toy.y_new) == model.score(toy.X_new, toy.y_new)


def test_calibration(toy, tensor):
    model = toy.fitted()
    model.calibration_ = 10.0
    assert set(model.predict(tensor(toy.X))) <= {"emu", "bee"}
    assert model.predict(tensor(toy.X), calibrated=False).tolist() == model.predict(toy.X, calibrated=False).tolist()


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "float32"])
def test_labels_as_a_tensor(toy, tensor, dtype):
    y = np.searchsorted(np.unique(toy.y), toy.y).clip(max=1 if dtype == "bool" else None).astype(dtype)
    expected = toy.model().fit(tensor(toy.X), y)
    for X in (toy.X, tensor(toy.X)):
        model = toy.model().fit(X, tensor(y))
        assert model.seen_classes_.tolist() == expected.seen_classes_.tolist()
        assert model.seen_classes_.dtype == expected.seen_classes_.dtype
        assert_close(model.projection_, expected.projection_, FIT.single)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64])
def test_signatures_as_a_tensor(toy, tensor, dtype):
    rows = (4 * toy.table.loc[["ant", "cat", "dog"]]).round()
    expected = toy.model().fit(toy.X, toy.y, rows.to_numpy())
    given = tensor(rows.to_numpy(), dtype)
    model = toy.model().fit(toy.X, toy.y, given)
    np.testing.assert_array_equal(model.projection_, expected.projection_)
    mapped = toy.model().fit(toy.X, toy.y, dict(zip(rows.index, given, strict=True)))
    np.testing.assert_array_equal(mapped.projection_, expected.projection_)
    np.testing.assert_array_equal(
        model.compatibility(toy.X, given, candidates=["a", "b", "c"]), expected.compatibility(toy.X)
    )


def test_candidates_as_a_tensor(toy):
    model = toy.model().fit(toy.X, np.searchsorted(np.unique(toy.y), toy.y))
    np.testing.assert_array_equal(
        model.compatibility(toy.X, candidates=torch.tensor([2, 0])), model.compatibility(toy.X, candidates=[2, 0])
    )


def test_gradients_are_left_alone(toy, tensor):
    X = tensor(toy.X).requires_grad_()
    rows = tensor(toy.table.loc[["ant", "cat", "dog"]].to_numpy()).requires_grad_()
    model = toy.model().fit(X, toy.y, rows)
    scores = model.compatibility(X)
    assert not scores.requires_grad
    assert X.requires_grad
    assert X.grad is None
    assert_close(model.projection_, toy.model().fit(tensor(toy.X), toy.y, rows).projection_, FIT.single)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.uint8])
def test_other_precisions_are_computed_in_float32(toy, tensor, dtype):
    X = (10 * tensor(toy.X).abs()).to(dtype)
    model = toy.model().fit(X, toy.y, toy.table)
    scores = model.compatibility(X)
    assert scores.dtype == torch.float32
    expected = toy.model().fit(X.to(torch.float32), toy.y, toy.table).compatibility(X.to(torch.float32))
    assert_close(scores.cpu(), expected.cpu(), FIT.single)
    with pytest.raises(AssertionError):
        assert_close(scores.to(torch.bfloat16).cpu().float(), expected.cpu(), FIT.single)


@pytest.mark.parametrize(
    "view", [lambda X: X.T.contiguous().T, lambda X: X.repeat(2, 1)[: len(X)], lambda X: X.flip(0).flip(0)]
)
def test_layout_in_memory_does_not_matter(toy, tensor, view):
    X = tensor(toy.X)
    expected = toy.model().fit(X, toy.y, toy.table)
    model = toy.model().fit(view(X), toy.y, toy.table)
    assert_close(model.projection_, expected.projection_, FIT.single)
    assert_close(model.compatibility(view(X)).cpu(), expected.compatibility(X).cpu(), AFTER_FIT.single)


def test_inputs_are_left_alone(toy, tensor):
    X, before = tensor(toy.X), tensor(toy.X)
    toy.model(feature_scaling="sqrt-center-l2").fit(X, toy.y, toy.table).top_k(X)
    assert torch.equal(X, before)


@pytest.mark.parametrize("layout", [lambda X: X, np.asfortranarray, lambda X: X[::-1], lambda X: X[:, ::-1]])
@pytest.mark.parametrize("writeable", [True, False])
def test_a_named_device_takes_numpy_arrays_of_any_layout(toy, layout, writeable):
    """ "cpu:0" goes the way of "cuda": NumPy in, computed by PyTorch, NumPy out."""
    X = layout(toy.X)
    X.flags.writeable = writeable
    expected = toy.model().fit(X, toy.y, toy.table)
    model = toy.model(device="cpu:0").fit(X, toy.y, toy.table)
    assert_close(model.projection_, expected.projection_, FIT.single)
    scores = model.compatibility(X)
    assert isinstance(scores, np.ndarray)
    assert_close(scores, expected.compatibility(X), AFTER_FIT.single)


def test_saving_keeps_the_scores_of_tensors(toy, tensor, tmp_path):
    model = toy.model(Gaussian(0.5)).fit(tensor(toy.X), tensor(np.searchsorted(np.unique(toy.y), toy.y)))
    model.save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    assert_close(loaded.compatibility(tensor(toy.X)).cpu(), model.compatibility(tensor(toy.X)).cpu(), SUMS.double)
    np.testing.assert_array_equal(loaded.compatibility(toy.X), model.compatibility(toy.X))


def test_a_device_object_is_a_device(toy, tmp_path):
    model = toy.fitted(device=torch.device("cpu"))
    model.save(tmp_path / "a.zskl")
    np.testing.assert_array_equal(
        zskl.load(tmp_path / "a.zskl", device=torch.device("cpu")).compatibility(toy.X), model.compatibility(toy.X)
    )


def put(X, row, column, value):
    X = X.clone()
    X[row, column] = value
    return X


BAD = {
    "NaN": (lambda m, t, X: m.fit(put(X, 3, 1, torch.nan), t.y, t.table), ["NaN", "column 1", "row 3"]),
    "infinity": (lambda m, t, X: m.predict(put(X, 2, 5, torch.inf)), ["infinity", "column 5", "row 2"]),
    "both infinities": (
        lambda m, t, X: m.predict(put(put(X, 2, 5, torch.inf), 4, 5, -torch.inf)),
        ["infinity", "column 5", "row 2", "2 such"],
    ),
    "NaN in half precision": (lambda m, t, X: m.predict(put(X, 2, 5, torch.nan).half()), ["NaN", "column 5"]),
    "1-D": (lambda m, t, X: m.fit(X[0], t.y, t.table), ["(6,)", "2-D"]),
    "3-D": (lambda m, t, X: m.predict(X[None]), ["(1, 36, 6)", "2-D"]),
    "no rows": (lambda m, t, X: m.fit(X[:0], t.y[:0], t.table), ["(0, 6)"]),
    "no rows at predict": (lambda m, t, X: m.predict(X[:0]), ["(0, 6)"]),
    "no columns": (lambda m, t, X: m.fit(X[:, :0], t.y, t.table), ["(36, 0)"]),
    "fewer features": (lambda m, t, X: m.predict(X[:, :4]), ["4 features", "6 features"]),
    "labels of another length": (lambda m, t, X: m.fit(X, t.y[:-1], t.table), ["36 rows", "35 labels"]),
    "mixed labels": (lambda m, t, X: m.fit(X, [1, *t.y[1:]], t.table), ["y mixes", "integer 1", "string"]),
    "NaN labels": (lambda m, t, X: m.fit(X, put(X, 0, 0, torch.nan)[:, 0], t.table), ["y contains NaN"]),
    "measured labels": (lambda m, t, X: m.fit(X, X[:, 0]), ["continuous"]),
    "labels in 2-D": (lambda m, t, X: m.fit(X, X.to(torch.int64), t.table), ["y should be a 1d array", "(36, 6)"]),
    "no labels": (lambda m, t, X: m.fit(X, None, t.table), ["y", "None"]),
    "one class": (lambda m, t, X: m.fit(X, torch.zeros(36, dtype=torch.int64)), ["1 class", "(0)"]),
    "a label without signature": (lambda m, t, X: m.fit(X, t.y, t.table.drop(index="cat")), ["no signature", "'cat'"]),
    "sparse": (lambda m, t, X: m.fit(X.to_sparse(), t.y, t.table), ["parse", "dense"]),
    "complex": (lambda m, t, X: m.fit(X.to(torch.complex64), t.y, t.table), ["complex"]),
    "NaN signature": (
        lambda m, t, X: m.predict(X, torch.tensor([[1.0, torch.nan, 2.0, 3.0]]), candidates=["wasp"]),
        ["NaN", "'wasp'", "attribute 1"],
    ),
    "zero signature": (
        lambda m, t, X: t.fitted(signature_scaling="none").predict(X, torch.zeros(1, 4), candidates=["wasp"]),
        ["all-zero", "'wasp'"],
    ),
    "signatures of other width": (
        lambda m, t, X: m.predict(X, torch.ones(1, 3), candidates=["wasp"]),
        ["3 attributes", "fitted with 4"],
    ),
    "signatures in 1-D": (lambda m, t, X: m.predict(X, torch.ones(4), candidates=["wasp"]), ["(4,)", "2-D"]),
    "no signatures": (lambda m, t, X: m.predict(X, torch.ones(0, 4), candidates=["wasp"]), ["0 rows", "1 class"]),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_tensors_get_one_clear_sentence_and_nothing_is_lost(toy, tensor, what):
    call, words = BAD[what]
    model = toy.fitted()
    before = model.compatibility(toy.X)
    with pytest.raises((ValueError, TypeError)) as caught:
        call(model, toy, tensor(toy.X))
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    assert [word for word in words if word not in message] == [], message
    np.testing.assert_array_equal(model.compatibility(toy.X), before)


def test_tensors_beside_sparse_signatures_get_one_clear_sentence(toy, tensor):
    model = zskl.baselines.ESZSL().fit(toy.X, toy.y, {name: csr_array([row]) for name, row in toy.table.T.items()})
    with pytest.raises(ValueError, match=r"X is a tensor, and rows or signatures of this model are sparse"):
        model.predict(tensor(toy.X))


def test_a_name_of_columns_is_forgotten_by_a_fit_on_tensors(toy, tensor):
    model = toy.model().fit(pd.DataFrame(toy.X, columns=list("uvwxyz")), toy.y, toy.table)
    model.fit(tensor(toy.X), toy.y, toy.table)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 6
