"""Class means on PyTorch tensors: the same as on NumPy arrays, computed where the tensors lie."""

import numpy as np
import pytest

from taught_models import SORTS, fitted, taught
from tolerances import SOLUTION, SUMS, assert_close
from zskl import ClassMeansClassifier
from zskl.estimators import _class_means_fit

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'zskl[torch]'")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def tensor(request):
    """Arrays as tensors on each device there is."""
    return lambda array: torch.tensor(array, device=request.param)


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_of_tensors_are_those_of_arrays(toy, tensor, sort, dtype):
    model, X = SORTS[sort](toy), np.concatenate([toy.X, toy.X_new]).astype(dtype)
    expected, found = model.compatibility(X), model.compatibility(tensor(X))
    assert isinstance(found, torch.Tensor)
    assert (found.dtype, found.device) == (tensor(X).dtype, tensor(X).device)
    assert_close(found.cpu().numpy(), expected, SUMS.of(dtype))
    kept = model.gallery(tensor(X)).scores()
    assert (kept.dtype, kept.device) == (found.dtype, found.device)
    assert_close(kept.cpu().numpy(), expected, SUMS.of(dtype))
    mine, theirs = model.explain(X[:3]), model.explain(tensor(X[:3]))
    for one, other in zip(mine, theirs, strict=True):
        assert (one.label, one.against) == (other.label, other.against)
        assert abs(other.contributions.sum() + other.offset - other.difference) <= 1e-9
        assert other.difference == pytest.approx(one.difference, abs=SUMS.of(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sort", ["gaussian", "linear", "gaussian identity"])
def test_a_fit_on_tensors_equals_one_on_arrays(toy, tensor, sort, dtype):
    toy_there = type(toy)(tensor(toy.X.astype(dtype)), toy.y, tensor(toy.X_new), toy.y_new, toy.table)
    here = type(toy)(toy.X.astype(dtype), toy.y, toy.X_new, toy.y_new, toy.table)
    expected, found = SORTS[sort](here), SORTS[sort](toy_there)
    assert isinstance(found.whitening_, np.ndarray)
    assert_close(found.center_, expected.center_, SUMS.of(dtype))
    assert_close(found.class_sums_.astype(float) ** 2, expected.class_sums_.astype(float) ** 2, SOLUTION.single)
    assert_close(found.compatibility(here.X_new), expected.compatibility(here.X_new), SOLUTION.single)


def test_sums_of_tensors(toy, tensor):
    model = ClassMeansClassifier()
    expected, both = model.sums(toy.X, toy.y), model.sums(tensor(toy.X[:20]), toy.y[:20])
    both = both + model.sums(tensor(toy.X[20:]), toy.y[20:])
    assert isinstance(both.totals, np.ndarray)
    for name in ("rows", "totals", "products"):
        assert_close(getattr(both, name), getattr(expected, name), SUMS.double)
    np.testing.assert_array_equal(both.kept.hashes, expected.kept.hashes)
    pieces = ClassMeansClassifier().partial_fit(tensor(toy.X[:20]), toy.y[:20], toy.table)
    pieces.partial_fit(tensor(toy.X[20:]), toy.y[20:])
    expected = ClassMeansClassifier().fit(toy.X, toy.y, toy.table).compatibility(toy.X_new)
    assert_close(pieces.compatibility(toy.X_new), expected, SOLUTION.single)


def test_examples_and_unlabelled_rows_may_be_tensors(toy, tensor):
    model = fitted(toy)
    there = type(toy)(tensor(toy.X), toy.y, tensor(toy.X_new), toy.y_new, toy.table)
    expected = model.add_examples(toy.X_new[:2], ["emu", "emu"]).adapt(toy.X_new, force=True)
    found = model.add_examples(there.X_new[:2], ["emu", "emu"]).adapt(there.X_new, force=True)
    assert_close(found.adapted_sums_, expected.adapted_sums_, SUMS.single)
    assert_close(found.compatibility(toy.X_new), expected.compatibility(toy.X_new), SUMS.single)
    assert taught(model, toy).remove_examples(there.X_new[:1], ["emu"]).example_classes_.count("emu") == 3


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_move_to_the_named_device(toy, device):
    expected = fitted(toy)
    found = fitted(toy, device=device)
    assert isinstance(found.compatibility(toy.X_new), np.ndarray)
    assert_close(found.compatibility(toy.X_new), expected.compatibility(toy.X_new), SOLUTION.single)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cpu_tensors_are_summed_by_numpy(toy, monkeypatch, dtype):
    kinds, squares = [], _class_means_fit._add_products

    def watched(products, rows):
        kinds.append(type(rows))
        return squares(products, rows)

    monkeypatch.setattr(_class_means_fit, "_add_products", watched)
    X = torch.from_numpy(toy.X).to(dtype)
    found = ClassMeansClassifier().fit(X, toy.y, toy.table)
    expected = ClassMeansClassifier().fit(X.float().numpy(), toy.y, toy.table)
    assert set(kinds) == {np.ndarray}
    np.testing.assert_array_equal(found.class_means_, expected.class_means_)
