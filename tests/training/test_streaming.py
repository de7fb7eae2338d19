"""Training rows that stay in their file: what is read and when, which rows a batch holds, the model that results."""

import numpy as np
import pandas as pd
import pytest

from tolerances import FIT, FORMULA, SUMS, assert_close
from zskl import ZeroShotKernelClassifier
from zskl import scaling as scalings
from zskl.metrics import mean_per_class_accuracy
from zskl.training import initialisation, scaled_rows, streaming
from zskl.training.streaming import StreamedRows

ROWS, WIDTH = 1003, 12


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
    monkeypatch.setattr(streaming, "CHUNK_BYTES", 16 * 4 * WIDTH)
    monkeypatch.setattr(streaming, "BUFFER_BYTES", 160 * 4 * WIDTH)
    monkeypatch.setattr(scaled_rows, "BLOCK_BYTES", 100 * 4 * WIDTH)


@pytest.fixture(scope="module")
def problem():
    """Rows sorted by class, as files often are: 20 classes, 15 of them with rows to train on, the others to test."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(20, 5)), index=[f"class {k:02}" for k in range(20)])
    mixing = rng.normal(size=(5, WIDTH))

    def rows(classes, n):
        y = np.sort(rng.choice(table.index[classes], size=n))
        return (table.loc[y].to_numpy() @ mixing + 0.7 * rng.normal(size=(n, WIDTH))).astype(np.float32), y

    return *rows(range(15), ROWS), *rows(range(15, 20), 400), table


def streamed(X, scaling="center-l2"):
    rows = StreamedRows(X, None)
    rows.fit_scaling(scaling)
    return rows


@pytest.mark.parametrize("batch_size", [1, 7, 10, 16, 160, 500, ROWS, 5000])
def test_every_row_once_an_epoch_but_for_the_short_last_batch(small, problem, batch_size):
    rows = streamed(problem[0])
    scaled = rows._scaling.apply(problem[0])
    size = min(batch_size, ROWS)
    for epoch in range(3):
        seen = []
        for batch in rows.batches(batch_size, 5, epoch):
            assert len(batch) == size
            assert_close(rows[batch], scaled[batch], FORMULA.single)
            seen += batch.tolist()
        assert len(seen) == len(set(seen)) == ROWS // size * size


def test_reads_are_contiguous_chunks_each_once_an_epoch(small, problem):
    array = Recorded(problem[0])
    rows = streamed(array)
    assert [read.stop - read.start for read in array.reads] == [*[100] * 10, 3]  # one pass for the mean
    array.reads.clear()
    for batch in rows.batches(10, 5, 0):
        rows[batch]  # from the buffer: Recorded refuses anything but slices
    starts = [read.start for read in array.reads]
    assert sorted(starts) == list(range(0, ROWS, 16))
    assert {read.stop - read.start for read in array.reads} == {16, ROWS % 16}
    assert starts != sorted(starts)
    for first in range(0, len(starts), 10):
        assert starts[first : first + 10] == sorted(starts[first : first + 10])  # each buffer front to back


def test_rows_read_one_by_one_would_be_seen(small, problem):
    with pytest.raises(AssertionError, match="one by one"):
        streamed(Recorded(problem[0]))[np.array([3, 900])]


def test_the_order_depends_on_seed_and_epoch_alone(small, problem):
    def order(epoch, seed=5):
        rows = streamed(problem[0])
        for _ in rows.batches(10, 0, 9):  # what was in the buffer before plays no part
            pass
        return np.concatenate(list(rows.batches(10, seed, epoch)))

    np.testing.assert_array_equal(order(1), order(1))
    assert (order(1) != order(2)).any()
    assert (order(1) != order(1, seed=6)).any()


def test_a_batch_mixes_rows_from_far_apart(small, problem):
    """160 rows of ten chunks out of 63: a batch of 16 that came from one chunk would span 16 rows."""
    spans = [np.ptp(batch) for batch in streamed(problem[0]).batches(16, 5, 0)]
    assert np.median(spans) > ROWS / 2


@pytest.mark.parametrize("scaling", [*scalings.SCALINGS, "standardize", "sqrt-standardize-l2"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_scaling_fitted_in_blocks_is_that_fitted_at_once(small, problem, scaling, library):
    X = problem[0] * np.linspace(1, 9, WIDTH, dtype=np.float32)
    X[:, 3] = 5  # constant
    if library == "torch":
        X = pytest.importorskip("torch", reason="PyTorch is not installed: scaling of tensors").from_numpy(X)
    at_once, in_blocks = scalings.fit(scaling, X, "x"), streamed(X, scaling)._scaling
    assert at_once.steps == in_blocks.steps
    for name in ("mean", "deviation"):
        one, other = getattr(at_once, name), getattr(in_blocks, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert_close(other, one, SUMS.double)
            assert other.dtype == np.float64


def test_the_closed_form_in_blocks_is_that_at_once(small, problem):
    X, y, _, _, table = problem
    rows = streamed(X)
    targets = table.loc[y].to_numpy(dtype=np.float32)
    codes = np.arange(ROWS)
    found = streaming.projection("polarised", rows, lambda some: targets[some], codes, 0)
    expected = initialisation.polarised(rows._scaling.apply(X), targets, 0)
    assert found.dtype == np.float32
    assert_close(found, expected, SUMS.single)
    for init in ("uniform", "orthogonal"):
        expected = initialisation.INITIALISATIONS[init](X, targets, 7)
        found = streaming.projection(init, rows, lambda some: targets[some], codes, 7)
        np.testing.assert_array_equal(found, expected)


# the model -----------------------------------------------------------------------------------------------------------


def model(**settings):
    return ZeroShotKernelClassifier(**{"random_state": 0, "epochs": 2, "streaming": True, **settings})


def mapped(tmp_path, X):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_a_streamed_model_is_as_good(small, problem, tmp_path):
    X, y, X_new, y_new, table = problem
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


def test_in_memory_nothing_changes(small, problem):
    X, y, *_, table = problem
    as_before = model(streaming="auto").fit(X, y, table)
    np.testing.assert_array_equal(model(streaming=False).fit(X, y, table).projection_, as_before.projection_)
    assert (model().fit(X, y, table).projection_ != as_before.projection_).any()


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_a_prefix_is_a_shorter_run_and_a_warm_start_goes_on(small, problem, kernel):
    X, y, *_, table = problem
    whole = model(kernel=kernel).fit(X, y, table)
    part = model(kernel=kernel, epochs=1, warm_start=True).fit(X, y, table)
    np.testing.assert_array_equal(part.history_.objective, whole.history_.objective[: ROWS // 10])
    part.set_params(epochs=1).fit(X, y, table)
    np.testing.assert_array_equal(part.projection_, whole.projection_)


@pytest.mark.parametrize("kind", ["float64", "float16", "int16"])
def test_numbers_of_other_kinds(small, problem, tmp_path, kind):
    X, y, *_, table = problem
    X = (100 * X).astype(kind)
    found = model().fit(mapped(tmp_path, X), y, table)
    assert_close(found.projection_, model().fit(X.astype(np.float64), y, table).projection_, FIT.single)
    assert found.n_features_in_ == WIDTH


def test_several_signatures_and_tensors(small, problem):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: streamed tensors")
    X, y, *_, table = problem
    twice = pd.concat([table, table + 0.1])
    found = model().fit(torch.from_numpy(X), y, twice)
    assert_close(found.projection_, model().fit(X, y, twice).projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(found.projection_, model(random_state=1).fit(X, y, twice).projection_, FIT.single)


def test_a_monitor_and_a_stack_see_the_same(small, problem):
    from zskl.estimators.stacked_fits import fit_stack

    X, y, X_new, y_new, table = problem
    lone = model(sigma=0.8).fit(X, y, table, monitor=(X_new, y_new))
    assert len(lone.history_.accuracy["monitor"][0])
    member, other = fit_stack(model(), [{"sigma": 0.8}, {"sigma": 1.2}], X, y, table)
    assert_close(member.projection_, lone.projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(other.projection_, lone.projection_, FIT.single)


def test_bad_values_and_labels_are_refused(small, problem, tmp_path):
    X, y, *_, table = problem
    X = X.copy()
    X[700, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in column 2, first at row 700"):
        model().fit(mapped(tmp_path, X), y, table)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model().fit(mapped(tmp_path, (9 * problem[0]).astype(np.int8)), y[:-1], table)
    with pytest.raises(ValueError, match="streaming is 'always'"):
        model(streaming="always").fit(X, y, table)


def test_automatic_for_large_mapped_arrays_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "HELD", 400)
    X = np.zeros((40, 5), dtype=np.float32)
    on_disk = mapped(tmp_path, X)
    assert streaming.wanted("auto", on_disk)
    assert streaming.wanted("auto", np.asarray(on_disk)[5:, 1:])  # a view of one
    assert not streaming.wanted("auto", on_disk[:20])
    assert not streaming.wanted("auto", X)
    assert not streaming.wanted("auto", on_disk[np.arange(40)])  # a copy
    assert not streaming.wanted("auto", on_disk + 1)
    assert not streaming.wanted("auto", X.tolist())
    assert not streaming.wanted(False, on_disk)
    assert streaming.wanted(True, X[:2])
