"""The same numbers on a GPU: NumPy against CUDA, and fast steps against plain ones, from the same seed and batches.

These tests import only pytest, NumPy, PyTorch, zskl and tests/support: a machine with a GPU may have little more.
"""

import numpy as np
import pytest

import zskl
from cuda_fits import DEVICE, NEW, NEW_Y, TABLE, X, estimator, make_problem, on_gpu, y
from tolerances import AFTER_FIT, FIT, FORMULA, SUMS, assert_close
from zskl import DivergenceError, kernels, selection
from zskl.estimators import kernel_classifier
from zskl.estimators.kernel_classifier import STACKABLE, fit_stack
from zskl.methods import build
from zskl.training import _cuda, solver
from zskl.training.objective import BALANCES, LOSSES, Objective
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


# Fast paths: replayed and fused steps, stacks that fit into memory


@pytest.mark.parametrize("schedule", list(SCHEDULES))
@pytest.mark.parametrize("second_moment", SECOND_MOMENTS)
def test_a_replayed_step_is_the_step(monkeypatch, schedule, second_moment):
    """The captured graph against the same steps launched one by one, across epochs and schedules."""
    settings = [{"sigma": s, "learning_rate": b} for s in (0.7, 1.1) for b in (3e-4, 1e-3)]
    model = estimator(device=DEVICE, schedule=schedule, second_moment=second_moment, batch_size=7, epochs=6)
    replayed = fit_stack(model, settings, X, y, TABLE)
    with pytest.raises(AssertionError):
        assert_close(replayed[0].projection_, replayed[1].projection_, AFTER_FIT.single)
    monkeypatch.setattr(solver, "can_capture", lambda W: False)
    for one, other in zip(replayed, fit_stack(model, settings, X, y, TABLE), strict=True):
        assert_close(one.projection_, other.projection_, AFTER_FIT.single)
        assert_close(one.history_.objective, other.history_.objective, AFTER_FIT.single)


@pytest.mark.parametrize("method", ["gaussian-ort", "cauchy-softmax", "polynomial-4"])
def test_a_search_by_stacks_finds_what_processes_find(method):
    rows, labels, table, _, _ = make_problem(n=600, seen=12, unseen=3)
    grid = {"learning_rate": [3e-4, 1e-3], "feature_scaling": ["center-l2", "l2-center-l2"], "epochs": [1, 2, 4]}
    folds = selection.folds(labels)
    found = {
        device: selection.search(build(method, {"random_state": 0, "device": device}), rows, labels, table, grid, folds)
        for device in (None, DEVICE)
    }
    np.testing.assert_allclose(found[DEVICE].zsl, found[None].zsl, atol=0.02)  # a row may change sides by rounding
    np.testing.assert_allclose(found[DEVICE].gzsl, found[None].gzsl, atol=0.02)
    tuned = selection.tune(
        build(method, {"random_state": 0, "device": DEVICE}), rows, labels, table, grid, folds, "gzsl"
    )
    assert isinstance(tuned.model.projection_, np.ndarray)
    assert tuned.model.temperatures_ is not None


@pytest.mark.parametrize("name", ["eszsl", "sae", "dap", "sync", "ale", "latem", "cmt-star", "sse"])
def test_a_baseline_on_the_gpu_ranks_as_on_the_cpu(name):
    here, there = (build(name, {"random_state": 0, "device": device}).fit(X, y, TABLE) for device in (None, DEVICE))
    agreement = np.mean(here.predict(NEW) == there.predict(NEW))
    assert agreement > 0.95


@pytest.fixture
def spied(monkeypatch):
    """How often a fused step was taken (in a capture, not in a replay), with no fit too short for it."""
    calls = []
    whole = _cuda.FusedStep.__call__

    def call(self, *settings):
        calls.append(1)
        whole(self, *settings)

    monkeypatch.setattr(_cuda.FusedStep, "__call__", call)
    monkeypatch.setattr(solver, "LEAST_FUSED", 0)
    monkeypatch.setattr(solver, "LEAST_REPLAYED", 0)
    return calls


@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["gaussian", "cauchy"])
def test_fused_kernels_train_what_the_cpu_trains(spied, kernel, loss, incoherence):
    compare_with_the_cpu(spied, kernel, loss=loss, incoherence=incoherence)


@pytest.mark.parametrize("balance", [balance for balance in BALANCES if balance != "mean"])
@pytest.mark.parametrize("loss", ["squared", "linear"])
def test_fused_kernels_know_every_balance(spied, loss, balance):
    compare_with_the_cpu(spied, "gaussian", repulsion=0.2, loss=loss, balance=balance)  # five other classes add up


def compare_with_the_cpu(spied, kernel, repulsion=1.0, **common):
    pytest.importorskip("triton", reason="Triton is not installed: fused kernels")
    weights = [{"repulsion": repulsion * (1 + k), "temperature": 0.1 + 0.1 * k} for k in range(3)]
    settings = [{"sigma": 0.6 + 0.2 * k, **weights[k]} for k in range(3)]
    one = estimator(kernel, **common)
    found = fit_stack(one.set_params(device=DEVICE), settings, X, y, TABLE)
    assert spied, "the fused step was not used"
    expected = fit_stack(one.set_params(device=None), settings, X, y, TABLE)
    for mine, theirs in zip(found, expected, strict=True):
        assert_close(mine.projection_, theirs.projection_, AFTER_FIT.single)
        assert_close(mine.history_.objective, theirs.history_.objective, AFTER_FIT.single)


@pytest.mark.parametrize("case", [{"kernel": "polynomial"}, {"second_moment": "per_sample"}])
def test_what_no_fused_kernel_covers_is_trained_by_plain_ones(spied, case):
    found = estimator(**case, device=DEVICE).fit(X, y, TABLE)
    assert not spied
    assert_close(found.projection_, estimator(**case).fit(X, y, TABLE).projection_, AFTER_FIT.single)


def test_a_fused_step_that_cannot_be_compiled_is_replaced(spied, monkeypatch, caplog):
    pytest.importorskip("triton", reason="Triton is not installed: fused kernels")

    def fail(self, *settings):
        raise RuntimeError("out of resource: shared memory")

    monkeypatch.setattr(_cuda.FusedStep, "__call__", fail)
    found = estimator(device=DEVICE).fit(X, y, TABLE)
    assert (
        "fused kernels cannot be used here (RuntimeError: out of resource: shared memory): using plain ones"
        in caplog.text
    )
    assert_close(found.projection_, estimator().fit(X, y, TABLE).projection_, AFTER_FIT.single)


def test_free_memory_is_known_and_bounds_a_stack(monkeypatch):
    free = kernel_classifier.free_gpu_memory(on_gpu(X))
    assert 2**28 < free <= torch.cuda.get_device_properties(0).total_memory
    assert kernel_classifier.free_gpu_memory(X) is None


@pytest.mark.parametrize(("C", "p"), [(40, 85), (150, 312)])
def test_a_stack_stays_within_the_memory_it_plans_for(C, p):
    """The peak of a stack of benchmark size, against what `together` counts for each member."""
    K, d = 16, 1024
    rng = np.random.default_rng(0)
    labels = np.arange(600) % C
    table = dict(enumerate(rng.standard_normal((C, p))))
    rows = rng.standard_normal((600, d)).astype(np.float32)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    fit_stack(estimator(device=DEVICE, epochs=1), [{"sigma": 0.5 + 0.1 * k} for k in range(K)], rows, labels, table)
    peak = torch.cuda.max_memory_allocated() - before
    assert peak < K * 4 * (kernel_classifier.MATRICES * d * p + kernel_classifier.IMAGES * d * C) + 64 * 2**20, (
        peak / 2**20
    )
