"""The same numbers on a GPU: NumPy against CUDA, from the same seed and the same batches.

These tests import only pytest, NumPy, PyTorch, zskl and tests/support: a machine with a GPU may have little more.
"""

import numpy as np
import pytest

import zskl
from cuda_fits import DEVICE, NEW, NEW_Y, TABLE, X, estimator, make_problem, on_gpu, y
from tolerances import AFTER_FIT, FIT, FORMULA, SUMS, assert_close
from zskl import DivergenceError, kernels
from zskl.estimators.kernel_classifier import STACKABLE, fit_stack
from zskl.training.objective import LOSSES, Objective
from zskl.training.solver import SCHEDULES, SECOND_MOMENTS

torch = pytest.importorskip("torch", reason="PyTorch is not installed: tests on a GPU")
pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA GPU here (torch.cuda.is_available() is False)"
)
WILD = {"kernel": "polynomial", "degree": 6, "loss": "linear"}


def test_matrix_products_keep_single_precision():
    """TF32 would keep ten bits of each factor, and nothing below would agree."""
    assert torch.get_float32_matmul_precision() == "highest"
    A = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    exact = A.astype(np.float64) @ A.astype(np.float64)
    found = (on_gpu(A) @ on_gpu(A)).cpu().numpy()
    assert_close(found, exact, FORMULA.single)


@pytest.mark.parametrize(("C", "p"), [(4, 7), (9, 5)])
@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", kernels.names())
def test_objective_and_scores(name, loss, incoherence, C, p):
    rng = np.random.default_rng(1)
    W, rows, Y = (rng.standard_normal(shape) / 2 for shape in ((3, 6, p), (8, 6), (C, p)))
    codes, sizes = np.arange(8) % C, np.arange(1.0, C + 1)
    objective = Objective(kernels.get(name)(), loss, "printed", incoherence, temperature=0.5)
    expected = objective.evaluate(W, rows, Y, codes, sizes, per_sample=True)
    found = objective.evaluate(*(on_gpu(array) for array in (W, rows, Y, codes, sizes)), per_sample=True)
    for one, other in zip(found, expected, strict=True):
        assert one.device.type == torch.device(DEVICE).type
        assert_close(one.cpu().numpy(), other, SUMS.double)
    scores = objective.scores(*(on_gpu(array) for array in (W, rows, Y)))
    assert_close(scores.cpu().numpy(), objective.scores(W, rows, Y), SUMS.double)


@pytest.mark.parametrize("second_moment", SECOND_MOMENTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_fit_on_the_device_equals_one_on_numpy(kernel, loss, second_moment):
    settings = {"loss": loss, "second_moment": second_moment, "temperature": 1.0}  # at 0.05 nothing is left to learn
    expected = estimator(kernel, **settings).fit(X, y, TABLE)
    found = estimator(kernel, **settings, device=DEVICE).fit(X, y, TABLE)
    assert isinstance(found.projection_, np.ndarray)
    assert_close(found.projection_, expected.projection_, AFTER_FIT.single)
    assert_close(found.history_.objective, expected.history_.objective, AFTER_FIT.single)
    scores = found.compatibility(NEW)
    assert isinstance(scores, np.ndarray)
    assert scores.dtype == np.float32
    assert_close(scores, expected.compatibility(NEW), AFTER_FIT.single)
    other = estimator(kernel, **settings, random_state=1).fit(X, y, TABLE)
    with pytest.raises(AssertionError):  # another order of batches would be noticed
        assert_close(found.history_.objective, other.history_.objective, AFTER_FIT.single)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("init", ["polarised", "uniform", "orthogonal"])
def test_schedules_and_initialisations(init, schedule):
    settings = {"init": init, "schedule": schedule, "decay": 0.01}
    expected = estimator(**settings).fit(X, y, TABLE)
    assert_close(
        estimator(device=DEVICE, **settings).fit(X, y, TABLE).projection_, expected.projection_, AFTER_FIT.single
    )


@pytest.mark.parametrize(("seen", "p"), [(40, 85), (150, 102)])
@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_shapes_of_the_benchmarks(loss, seen, p):
    rows, labels, table, new, _ = make_problem(n=2 * seen, d=2048, seen=seen, unseen=10, p=p)
    expected = estimator(loss=loss, epochs=1).fit(rows, labels, table)
    found = estimator(loss=loss, epochs=1, device=DEVICE).fit(rows, labels, table)
    difference = np.linalg.norm(found.projection_ - expected.projection_)
    assert difference < AFTER_FIT.single * np.linalg.norm(expected.projection_)
    assert_close(found.compatibility(new), expected.compatibility(new), AFTER_FIT.single)


def test_tensors_come_back_as_tensors_where_they_were():
    expected = estimator().fit(X, y, TABLE)
    found = estimator().fit(on_gpu(X), on_gpu(y), TABLE)
    assert_close(found.projection_, expected.projection_, AFTER_FIT.single)
    for dtype in (torch.float32, torch.float64):
        rows = on_gpu(NEW).to(dtype)
        scores = found.compatibility(rows)
        assert scores.device == rows.device
        assert scores.dtype == dtype
        assert_close(scores.cpu().numpy(), expected.compatibility(NEW), AFTER_FIT.single)
    assert found.decision_function(on_gpu(NEW)).device == rows.device
    predicted = found.predict(on_gpu(NEW))
    assert isinstance(predicted, np.ndarray)
    assert np.mean(predicted == expected.predict(NEW)) > 0.95
    assert found.top_k(on_gpu(NEW), 3).shape == (50, 3)


def test_a_model_fitted_on_one_device_serves_on_the_other(tmp_path):
    model = estimator(device=DEVICE).fit(X, y, TABLE)
    model.save(tmp_path / "model.zskl")
    loaded = zskl.load(tmp_path / "model.zskl")
    on_host, on_device = loaded.compatibility(NEW), model.compatibility(NEW)
    assert_close(on_host, on_device, AFTER_FIT.single)
    scores = loaded.compatibility(on_gpu(NEW))
    assert scores.device.type == torch.device(DEVICE).type
    assert_close(scores.cpu().numpy(), on_device, AFTER_FIT.single)
    assert_close(zskl.load(tmp_path / "model.zskl", device=DEVICE).compatibility(NEW), on_device, AFTER_FIT.single)


@pytest.mark.parametrize("second_moment", SECOND_MOMENTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_stack_on_the_device_equals_one_on_numpy(kernel, loss, second_moment):
    values = (0.6, 1.5, 2.0, 0.2, 1e-3, 0.5)  # sigma, bias, repulsion, temperature, learning_rate, incoherence_weight
    settings = [{}] + [{name: value} for name, value in zip(STACKABLE, values, strict=True)]
    common = {"loss": loss, "second_moment": second_moment}
    expected = fit_stack(estimator(kernel, **common), settings, X, y, TABLE)
    found = fit_stack(estimator(kernel, device=DEVICE, **common), settings, X, y, TABLE)
    for setting, one, other in zip(settings, found, expected, strict=True):
        assert_close(one.projection_, other.projection_, AFTER_FIT.single)
        alone = estimator(kernel, device=DEVICE, **common).set_params(**setting).fit(X, y, TABLE)
        assert_close(one.projection_, alone.projection_, AFTER_FIT.single)
    with pytest.raises(AssertionError):  # a member in another's place
        assert_close(found[0].projection_, expected[1 + STACKABLE.index("learning_rate")].projection_, AFTER_FIT.single)


def test_a_diverging_member_is_marked_and_the_others_go_on():
    settings = [{"learning_rate": rate} for rate in (3e-4, 50.0, 1e-3)]
    expected = fit_stack(estimator(**WILD), settings, X, y, TABLE)
    found = fit_stack(estimator(**WILD, device=DEVICE), settings, X, y, TABLE)
    assert [member.diverged_ for member in found] == [member.diverged_ for member in expected]
    assert found[1].diverged_ is not None
    for k in (0, 2):
        assert_close(found[k].projection_, expected[k].projection_, AFTER_FIT.single)
    with pytest.raises(DivergenceError, match="learning_rate"):
        estimator(**WILD, device=DEVICE, learning_rate=50.0).fit(X, y, TABLE)


def test_several_signatures_are_drawn_alike():
    rows, labels, table, new, _ = make_problem(rows_per_class=3)
    expected = estimator().fit(rows, labels, table)
    found = estimator(device=DEVICE).fit(rows, labels, table)
    assert_close(found.projection_, expected.projection_, AFTER_FIT.single)
    assert_close(found.compatibility(new), expected.compatibility(new), AFTER_FIT.single)


def test_a_monitor_looks_on_the_device():
    watched = {"new": (NEW, NEW_Y)}
    expected = estimator().fit(X, y, TABLE, monitor=watched, monitor_every=12).history_.accuracy["new"]
    found = estimator(device=DEVICE).fit(X, y, TABLE, monitor=watched, monitor_every=12)
    iterations, accuracies = found.history_.accuracy["new"]
    np.testing.assert_array_equal(iterations, expected[0])
    np.testing.assert_allclose(accuracies, expected[1], rtol=0, atol=0.05)  # a row or two at a border may differ
    assert_close(found.projection_, estimator(device=DEVICE).fit(X, y, TABLE).projection_, FIT.single)


def test_the_same_seed_gives_the_same_projection():
    one, same = (estimator(device=DEVICE).fit(X, y, TABLE).projection_ for _ in range(2))
    assert_close(one, same, FIT.single)
    assert np.abs(one - estimator(device=DEVICE, random_state=1).fit(X, y, TABLE).projection_).max() > 1e-4


def test_a_warm_start_goes_on_on_the_device():
    whole = estimator(device=DEVICE, epochs=4).fit(X, y, TABLE)
    parts = estimator(device=DEVICE, epochs=2, warm_start=True).fit(X, y, TABLE).fit(X, y, TABLE)
    assert_close(parts.projection_, whole.projection_, FIT.single)


def test_a_device_that_is_not_here_is_refused():
    with pytest.raises(ValueError, match=r"device is 'cuda:99'.*CUDA GPU"):
        estimator(device="cuda:99").fit(X, y, TABLE)
