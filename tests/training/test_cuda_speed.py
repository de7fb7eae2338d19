"""The fast paths on a GPU: replayed and fused steps, stacks that fit into memory."""

import numpy as np
import pytest

from cuda_fits import DEVICE, NEW, TABLE, X, estimator, make_problem, on_gpu, y
from tolerances import AFTER_FIT, assert_close
from zskl import selection
from zskl.estimators import kernel_classifier
from zskl.estimators.kernel_classifier import fit_stack
from zskl.methods import build
from zskl.training import _fast_steps, solver
from zskl.training.objective import BALANCES, LOSSES
from zskl.training.solver import SCHEDULES, SECOND_MOMENTS

torch = pytest.importorskip("torch", reason="PyTorch is not installed: tests on a GPU")
pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA GPU here (torch.cuda.is_available() is False)"
)


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
    whole = _fast_steps.FusedStep.__call__

    def call(self, *settings):
        calls.append(1)
        whole(self, *settings)

    monkeypatch.setattr(_fast_steps.FusedStep, "__call__", call)
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

    monkeypatch.setattr(_fast_steps.FusedStep, "__call__", fail)
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
