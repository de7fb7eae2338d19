"""Training rows that are scaled when they are read: the same numbers as those of a copy, and when a copy is made."""

import numpy as np
import pandas as pd
import pytest

from tolerances import FIT, FORMULA, SUMS, assert_close
from zskl import ZeroShotKernelClassifier, baselines
from zskl import scaling as scalings
from zskl.metrics import mean_per_class_accuracy
from zskl.training import rows as rowss
from zskl.training import solver
from zskl.training.rows import RowFactors, RowsReadOnce, ScaledRows, StreamedRows

# Scaled rows

ROWS, WIDTH = 203, 12


@pytest.fixture
def no_copies(monkeypatch):
    monkeypatch.setattr(rowss, "COPY_BYTES", 0)
    monkeypatch.setattr(rowss, "BLOCK_BYTES", 50 * 4 * WIDTH)


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
    copy, some = rows.read_all(), np.array([7, 202, 9, 0, 11, 9])
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
    monkeypatch.setattr(rowss, "COPY_BYTES", X.nbytes - 1)
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


@pytest.mark.parametrize(
    "name", ["ESZSL", "SAE", "EXEM", "GFZSL", "ConSE", "DAP", "IAP", "SynC", "ALE", "SJE", "LatEm", "CMT"]
)
def test_a_published_method_is_that_of_a_copy(monkeypatch, problem, name):
    X, y, table = problem
    model = getattr(baselines, name)(random_state=0)
    if hasattr(model, "epochs"):
        model.set_params(epochs=2)

    def learned():
        return {key: value for key, value in vars(model.fit(X, y, table)).items() if key in model.LEARNED}

    copied = learned()
    monkeypatch.setattr(rowss, "COPY_BYTES", 0)
    monkeypatch.setattr(ScaledRows, "read_all", lambda self: pytest.fail("a copy of all rows was made"))
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

    monkeypatch.setattr(ScaledRows, "read_all", lambda self: pytest.fail("a copy of all rows was made"))
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
    monkeypatch.setattr(rowss, "RowFactors", lambda *given: measured.append(1) or RowFactors(*given))
    for _ in range(2):
        assert sum(len(block) for _, block in rows.blocks()) == ROWS
    assert len(measured) == 1
    assert len(rows[:0]) == 0


# Streaming
# Training rows that stay in their file: what is read and when, which rows a batch holds, the model that results.

STREAMING_ROWS, STREAMING_WIDTH = 1003, 12


class Recorded:
    """An array that keeps the slices it was read by, and refuses rows picked one by one."""

    def __init__(self, array):
        self.array, self.shape, self.reads = array, array.shape, []

    def __getitem__(self, rows):
        assert isinstance(rows, slice), "rows were read one by one"
        self.reads.append(rows)
        return self.array[rows]


@pytest.fixture
def small(monkeypatch):
    """Chunks of 16 rows, buffers of 160, blocks of 100."""
    monkeypatch.setattr(rowss, "CHUNK_BYTES", 16 * 4 * STREAMING_WIDTH)
    monkeypatch.setattr(rowss, "BUFFER_BYTES", 160 * 4 * STREAMING_WIDTH)
    monkeypatch.setattr(rowss, "BLOCK_BYTES", 100 * 4 * STREAMING_WIDTH)


@pytest.fixture(scope="module")
def problem_streaming():
    """Rows sorted by class, as files often are: 20 classes, 15 of them with rows to train on, the others to test."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(20, 5)), index=[f"class {k:02}" for k in range(20)])
    mixing = rng.normal(size=(5, STREAMING_WIDTH))

    def rows(classes, n):
        y = np.sort(rng.choice(table.index[classes], size=n))
        return (table.loc[y].to_numpy() @ mixing + 0.7 * rng.normal(size=(n, STREAMING_WIDTH))).astype(np.float32), y

    return *rows(range(15), STREAMING_ROWS), *rows(range(15, 20), 400), table


def streamed(X, scaling="center-l2"):
    rows = StreamedRows(X, None)
    rows.fit_scaling(scaling)
    return rows


@pytest.mark.parametrize("batch_size", [1, 7, 10, 16, 160, 500, STREAMING_ROWS, 5000])
def test_every_row_once_an_epoch_but_for_the_short_last_batch(small, problem_streaming, batch_size):
    rows = streamed(problem_streaming[0])
    scaled = rows._scaling.apply(problem_streaming[0])
    size = min(batch_size, STREAMING_ROWS)
    for epoch in range(3):
        seen = []
        for batch in rows.batches(batch_size, 5, epoch):
            assert len(batch) == size
            assert_close(rows[batch], scaled[batch], FORMULA.single)
            seen += batch.tolist()
        assert len(seen) == len(set(seen)) == STREAMING_ROWS // size * size


def test_reads_are_contiguous_chunks_each_once_an_epoch(small, problem_streaming):
    array = Recorded(problem_streaming[0])
    rows = streamed(array)
    assert [read.stop - read.start for read in array.reads] == [*[100] * 10, 3]  # one pass for the mean
    array.reads.clear()
    for batch in rows.batches(10, 5, 0):
        rows[batch]  # from the buffer: Recorded refuses anything but slices
    starts = [read.start for read in array.reads]
    assert sorted(starts) == list(range(0, STREAMING_ROWS, 16))
    assert {read.stop - read.start for read in array.reads} == {16, STREAMING_ROWS % 16}
    assert starts != sorted(starts)
    for first in range(0, len(starts), 10):
        assert starts[first : first + 10] == sorted(starts[first : first + 10])  # each buffer front to back


def test_rows_read_one_by_one_would_be_seen(small, problem_streaming):
    with pytest.raises(AssertionError, match="one by one"):
        streamed(Recorded(problem_streaming[0]))[np.array([3, 900])]


def test_the_order_depends_on_seed_and_epoch_alone(small, problem_streaming):
    def order(epoch, seed=5):
        rows = streamed(problem_streaming[0])
        for _ in rows.batches(10, 0, 9):  # what was in the buffer before plays no part
            pass
        return np.concatenate(list(rows.batches(10, seed, epoch)))

    np.testing.assert_array_equal(order(1), order(1))
    assert (order(1) != order(2)).any()
    assert (order(1) != order(1, seed=6)).any()


def test_a_batch_mixes_rows_from_far_apart(small, problem_streaming):
    """160 rows of ten chunks out of 63: a batch of 16 that came from one chunk would span 16 rows."""
    spans = [np.ptp(batch) for batch in streamed(problem_streaming[0]).batches(16, 5, 0)]
    assert np.median(spans) > STREAMING_ROWS / 2


@pytest.mark.parametrize("scaling", [*scalings.SCALINGS, "standardize", "sqrt-standardize-l2"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_scaling_fitted_in_blocks_is_that_fitted_at_once(small, problem_streaming, scaling, library):
    X = problem_streaming[0] * np.linspace(1, 9, STREAMING_WIDTH, dtype=np.float32)
    X[:, 3] = 5  # constant
    if library == "torch":
        X = pytest.importorskip("torch", reason="PyTorch is not installed: scaling of tensors").from_numpy(X)
    at_once, in_blocks = scalings.fit_scaling(scaling, X, "x"), streamed(X, scaling)._scaling
    assert at_once.steps == in_blocks.steps
    for name in ("mean", "deviation"):
        one, other = getattr(at_once, name), getattr(in_blocks, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert_close(other, one, SUMS.double)
            assert other.dtype == np.float64


def test_the_closed_form_in_blocks_is_that_at_once(small, problem_streaming):
    X, y, _, _, table = problem_streaming
    rows = streamed(X)
    targets = table.loc[y].to_numpy(dtype=np.float32)
    codes = np.arange(STREAMING_ROWS)
    found = rowss.initial_projection("polarised", rows, lambda some: targets[some], codes, 0)
    expected = solver.polarise(rows._scaling.apply(X), targets, 0)
    assert found.dtype == np.float32
    assert_close(found, expected, SUMS.single)
    for init in ("uniform", "orthogonal"):
        expected = solver.INITIALISATIONS[init](X, targets, 7)
        found = rowss.initial_projection(init, rows, lambda some: targets[some], codes, 7)
        np.testing.assert_array_equal(found, expected)


# The model


def model(**settings):
    return ZeroShotKernelClassifier(**{"random_state": 0, "epochs": 2, "streaming": True, **settings})


def mapped(tmp_path, X):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_a_streamed_model_is_as_good(small, problem_streaming, tmp_path):
    X, y, X_new, y_new, table = problem_streaming
    on_disk = mapped(tmp_path, X)

    def accuracies(**settings):
        return np.array(
            [
                mean_per_class_accuracy(
                    y_new,
                    model(random_state=seed, init="uniform", epochs=4, **settings)
                    .fit(on_disk, y, table)
                    .predict(X_new, candidates=np.unique(y_new)),
                )
                for seed in range(3)
            ]
        )

    held, from_disk = accuracies(streaming=False), accuracies()
    assert held.mean() > 0.4  # chance is 0.2
    assert abs(held.mean() - from_disk.mean()) < 0.05


def test_in_memory_nothing_changes(small, problem_streaming):
    X, y, *_, table = problem_streaming
    as_before = model(streaming="auto").fit(X, y, table)
    np.testing.assert_array_equal(model(streaming=False).fit(X, y, table).projection_, as_before.projection_)
    assert (model().fit(X, y, table).projection_ != as_before.projection_).any()


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_a_prefix_is_a_shorter_run_and_a_warm_start_goes_on(small, problem_streaming, kernel):
    X, y, *_, table = problem_streaming
    whole = model(kernel=kernel).fit(X, y, table)
    part = model(kernel=kernel, epochs=1, warm_start=True).fit(X, y, table)
    np.testing.assert_array_equal(part.history_.objective, whole.history_.objective[: STREAMING_ROWS // 10])
    part.set_params(epochs=1).fit(X, y, table)
    np.testing.assert_array_equal(part.projection_, whole.projection_)


@pytest.mark.parametrize("kind", ["float64", "float16", "int16"])
def test_numbers_of_other_kinds(small, problem_streaming, tmp_path, kind):
    X, y, *_, table = problem_streaming
    X = (100 * X).astype(kind)
    found = model().fit(mapped(tmp_path, X), y, table)
    assert_close(found.projection_, model().fit(X.astype(np.float64), y, table).projection_, FIT.single)
    assert found.n_features_in_ == STREAMING_WIDTH


def test_several_signatures_and_tensors(small, problem_streaming):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: streamed tensors")
    X, y, *_, table = problem_streaming
    twice = pd.concat([table, table + 0.1])
    found = model().fit(torch.from_numpy(X), y, twice)
    assert_close(found.projection_, model().fit(X, y, twice).projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(found.projection_, model(random_state=1).fit(X, y, twice).projection_, FIT.single)


def test_a_monitor_and_a_stack_see_the_same(small, problem_streaming):
    from zskl.estimators.kernel_classifier import fit_stack

    X, y, X_new, y_new, table = problem_streaming
    lone = model(sigma=0.8).fit(X, y, table, monitor=(X_new, y_new))
    assert len(lone.history_.accuracy["monitor"][0])
    member, other = fit_stack(model(), [{"sigma": 0.8}, {"sigma": 1.2}], X, y, table)
    assert_close(member.projection_, lone.projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(other.projection_, lone.projection_, FIT.single)


def test_bad_values_and_labels_are_refused(small, problem_streaming, tmp_path):
    X, y, *_, table = problem_streaming
    X = X.copy()
    X[700, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in column 2, first at row 700"):
        model().fit(mapped(tmp_path, X), y, table)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model().fit(mapped(tmp_path, (9 * problem_streaming[0]).astype(np.int8)), y[:-1], table)
    with pytest.raises(ValueError, match="streaming is 'always'"):
        model(streaming="always").fit(X, y, table)


def test_automatic_for_large_mapped_arrays_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(rowss, "HELD_BYTES", 400)
    X = np.zeros((40, 5), dtype=np.float32)
    on_disk = mapped(tmp_path, X)
    assert rowss.should_stream("auto", on_disk)
    assert rowss.should_stream("auto", np.asarray(on_disk)[5:, 1:])  # a view of one
    assert not rowss.should_stream("auto", on_disk[:20])
    assert not rowss.should_stream("auto", X)
    assert not rowss.should_stream("auto", on_disk[np.arange(40)])  # a copy
    assert not rowss.should_stream("auto", on_disk + 1)
    assert not rowss.should_stream("auto", X.tolist())
    assert not rowss.should_stream(False, on_disk)
    assert rowss.should_stream(True, X[:2])
