"""Training rows that are scaled when they are read: the same numbers as those of a copy, and when a copy is made."""

import numpy as np
import pandas as pd
import pytest

from tolerances import FIT, assert_close
from zskl import ZeroShotKernelClassifier, baselines
from zskl import scaling as scalings
from zskl.training import scaled_rows
from zskl.training.row_factors import RowFactors
from zskl.training.scaled_rows import RowsReadOnce, ScaledRows
from zskl.training.streaming import StreamedRows

ROWS, WIDTH = 203, 12


@pytest.fixture
def no_copies(monkeypatch):
    monkeypatch.setattr(scaled_rows, "SMALL", 0)
    monkeypatch.setattr(scaled_rows, "BLOCK_BYTES", 50 * 4 * WIDTH)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(10, 5)), index=[f"class {k}" for k in range(10)])
    y = rng.choice(table.index, size=ROWS)
    X = table.loc[y].to_numpy() @ rng.normal(size=(5, WIDTH)) + 0.5 * rng.normal(size=(ROWS, WIDTH))
    return X.astype(np.float32), y, table


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "int16", "columns"])
@pytest.mark.parametrize("scaling", [*scalings.SCALINGS, "sqrt-standardize-l2", "sqrt-l2"])
def test_rows_picked_by_number_are_those_of_the_copy_bit_for_bit(no_copies, problem, scaling, kind):
    X = problem[0] * 10
    X[7], X[9], X[11] = 0, X.mean(axis=0), 1e30
    X = np.asfortranarray(X) if kind == "columns" else np.nan_to_num(np.clip(X, -3e4, 3e4)).astype(kind)
    rows = ScaledRows(X, None)
    rows.fit_scaling(scaling)
    assert not rows.copied
    copy, some = rows.whole(), np.array([7, 202, 9, 0, 11, 9])
    np.testing.assert_array_equal(rows[some], copy[some])
    np.testing.assert_array_equal(rows[10:60], copy[10:60])
    assert copy.dtype == rows[some].dtype == np.float32


def test_a_row_that_equals_the_mean_becomes_zero(no_copies):
    X = np.array([[1, 2], [3, 4], [2, 3]] * 20, dtype=np.float32)
    rows = ScaledRows(X, None)
    rows.fit_scaling("center-l2")
    np.testing.assert_array_equal(rows[np.array([2, 0, 5])] == 0, [[True] * 2, [False] * 2, [True] * 2])


def test_small_rows_rows_in_files_and_sparse_rows_are_copied(tmp_path, monkeypatch, problem):
    X = problem[0]
    assert ScaledRows(X, None).copied
    monkeypatch.setattr(scaled_rows, "SMALL", X.nbytes - 1)
    assert not ScaledRows(X, None).copied
    assert ScaledRows(X[1:], None).copied
    np.save(tmp_path / "X.npy", X)
    assert ScaledRows(np.load(tmp_path / "X.npy", mmap_mode="r"), None).copied


@pytest.mark.parametrize("kind", ["float32", "float64", "tensor"])
def test_a_kernel_model_is_that_of_a_copy(no_copies, monkeypatch, problem, kind):
    X, y, table = problem
    if kind == "tensor":
        X = pytest.importorskip("torch", reason="PyTorch is not installed: tensors").from_numpy(X)
    else:
        X = X.astype(kind)
    reads, read = [], ScaledRows.__getitem__ if kind == "tensor" else ScaledRows.take

    def watched(self, rows, *rest, **named):
        reads.append(0 if isinstance(rows, slice) else len(rows))
        return read(self, rows, *rest, **named)

    model = ZeroShotKernelClassifier(random_state=0, epochs=2, init="uniform")
    held = model.set_params(streaming=False).fit(X, y, table).projection_
    monkeypatch.setattr(ScaledRows, read.__name__, watched)
    gathered = model.set_params(streaming="auto").fit(X, y, table).projection_
    assert reads.count(model.batch_size) >= 2 * (ROWS // model.batch_size)
    np.testing.assert_array_equal(gathered, held)
    model.set_params(init="polarised")  # its sums are in float64 in blocks
    polarised = model.fit(X, y, table).projection_
    assert_close(polarised, model.set_params(streaming=False).fit(X, y, table).projection_, FIT.single)
    assert (polarised != gathered).any()


@pytest.mark.parametrize("name", ["ESZSL", "SAE", "EXEM", "ConSE", "DAP", "IAP", "SynC", "ALE", "SJE", "LatEm", "CMT"])
def test_a_published_method_is_that_of_a_copy(monkeypatch, problem, name):
    X, y, table = problem
    model = getattr(baselines, name)(random_state=0)
    if hasattr(model, "epochs"):
        model.set_params(epochs=2)

    def learned():
        return {key: value for key, value in vars(model.fit(X, y, table)).items() if key in model.LEARNED}

    copied = learned()
    monkeypatch.setattr(scaled_rows, "SMALL", 0)
    monkeypatch.setattr(ScaledRows, "whole", lambda self: pytest.fail("a copy of all rows was made"))
    for key, value in learned().items():
        if isinstance(value, np.ndarray):
            assert_close(value, copied[key], FIT.single)


def test_streamed_rows_are_never_copied(problem):
    assert isinstance(ZeroShotKernelClassifier(streaming=True)._prepare(*problem, StreamedRows).X, StreamedRows)


@pytest.mark.parametrize("name", ["ESZSL", "SAE"])
def test_a_method_that_reads_rows_once_makes_no_copy_of_small_ones(monkeypatch, problem, name):
    X, y, table = problem
    read, seen = RowsReadOnce._read, []

    def watched(self, rows):
        seen.extend(range(*rows.indices(len(X))))
        return read(self, rows)

    monkeypatch.setattr(ScaledRows, "whole", lambda self: pytest.fail("a copy of all rows was made"))
    monkeypatch.setattr(RowsReadOnce, "_read", watched)
    getattr(baselines, name)(random_state=0).fit(X, y, table)
    assert seen == list(range(len(X)))


def test_fewer_rows_than_features_are_copied_even_if_read_once(problem):
    X = problem[0]
    assert RowsReadOnce(X[: X.shape[1] - 1], None).copied
    assert not RowsReadOnce(X[: X.shape[1]], None).copied


def test_slices_measure_the_rows_only_once(no_copies, monkeypatch, problem):
    rows, measured = ScaledRows(problem[0], None), []
    rows.fit_scaling("center-l2")
    monkeypatch.setattr(scaled_rows, "RowFactors", lambda *given: measured.append(1) or RowFactors(*given))
    for _ in range(2):
        assert sum(len(block) for _, block in rows.blocks()) == ROWS
    assert len(measured) == 1
    assert len(rows[:0]) == 0
