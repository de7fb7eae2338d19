"""Rows ranked block by block: the answers of one block, ties as a stable sort breaks them, `out` filled in place."""

import numpy as np
import pandas as pd
import pytest

from baseline_problems import TRAINED
from tolerances import FORMULA, SUMS, assert_close
from zskl import ZeroShotKernelClassifier, baselines
from zskl.estimators import _candidates
from zskl.estimators._candidates import UncalibratedWarning, top_columns
from zskl.training.objective import Objective

CALLS = {
    "compatibility": lambda model, X: model.compatibility(X),
    "predict": lambda model, X: model.predict(X),
    "reject": lambda model, X: model.predict(X, reject=0.3),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "top_k": lambda model, X: model.top_k(X, 3),
    "scores of top_k": lambda model, X: model.top_k(X, 3, return_scores=True)[1],
    "decision_function": lambda model, X: model.decision_function(X),
}
METHODS = ["kernel", *TRAINED]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_candidates, "BLOCK_BYTES", (300, 300))


def in_blocks(monkeypatch, call, *arguments):
    with monkeypatch.context() as patch:
        patch.setattr(_candidates, "BLOCK_BYTES", (300, 300))
        return call(*arguments)


def make(name):
    if name == "kernel":
        return ZeroShotKernelClassifier(epochs=2, random_state=0)
    return baselines.BASELINES[name](random_state=0)


@pytest.fixture(scope="module")
def fitted():
    """name → a fitted model with two unseen classes, calibrated by hand, one seen class with two signatures."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(8, 4)), index=[*"abcdef", "y", "z"])
    y = np.repeat([*"abcdef"], 12)
    X = table.loc[y].to_numpy() @ rng.normal(size=(4, 6)) + 0.3 * rng.normal(size=(len(y), 6))
    table = pd.concat([table, table.loc[["b"]] + 0.1])
    known = {}

    def of(name):
        if name not in known:
            known[name] = make(name).fit(X, y, table)
            known[name].calibration_ = 0.05
            known[name].temperatures_ = {"seen": 0.5, "unseen": 0.6, "mixed": 0.7}
        return known[name], X

    return of


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("call", CALLS)
def test_blocks_give_what_one_block_gives(fitted, monkeypatch, name, call):
    model, X = fitted(name)
    whole = CALLS[call](model, X)
    parts = in_blocks(monkeypatch, CALLS[call], model, X)
    assert parts.dtype == whole.dtype
    check(model, X, parts, whole)
    if name == "kernel":
        with pytest.raises(AssertionError):  # blocks in another order
            check(model, X, np.roll(parts, 10, axis=0), whole)


def check(model, X, parts, whole):
    """The same numbers; or labels that score the same, for where classes tie, rounding may choose between them."""
    if whole.dtype.kind == "f":
        assert_close(parts, whole, SUMS.double)
        return
    ranked = np.column_stack([model.compatibility(X), np.zeros(len(X))])  # the last for rows without an answer
    place = {label: k for k, label in enumerate(model.candidates_.tolist())}
    found, expected = (
        np.array([place.get(label, len(place)) for label in labels.ravel().tolist()]).reshape(len(X), -1)
        for labels in (parts, whole)
    )
    np.testing.assert_array_equal(found == len(place), expected == len(place))
    found, expected = (np.take_along_axis(ranked, labels, axis=1) for labels in (found, expected))
    assert_close(found, expected, SUMS.double)


@pytest.mark.parametrize("call", CALLS)
def test_tensors_in_blocks(fitted, monkeypatch, call):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: blocks of tensors")
    model, X = fitted("kernel")
    tensor = torch.from_numpy(X)
    whole, parts = CALLS[call](model, tensor), in_blocks(monkeypatch, CALLS[call], model, tensor)
    assert type(whole) is type(parts)
    assert whole.dtype == parts.dtype
    check(model, X, np.asarray(parts), np.asarray(whole))


def test_what_candidates_alone_decide_is_worked_out_once(fitted, monkeypatch, small_blocks):
    model, X = fitted("kernel")
    counted = {"scorer": 0, "blocks": 0}
    usual = Objective.scorer

    def scorer(self, W, Y):
        counted["scorer"] += 1
        scores = usual(self, W, Y)

        def of_block(X):
            counted["blocks"] += 1
            return scores(X)

        return of_block

    monkeypatch.setattr(Objective, "scorer", scorer)
    model.predict(X)
    assert counted["scorer"] == 1
    assert counted["blocks"] > 10


def test_a_warning_of_uncalibrated_probabilities_comes_once(fitted, small_blocks):
    model, X = fitted("eszsl")
    known, model.temperatures_ = model.temperatures_, None
    try:
        with pytest.warns(UncalibratedWarning) as caught:
            model.predict_proba(X)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    finally:
        model.temperatures_ = known


@pytest.mark.parametrize("kind", ["uint8", "int64", "float16", "float32", "float64", ">f4"])
def test_numbers_of_any_kind_are_read_from_a_file_by_blocks(fitted, monkeypatch, tmp_path, kind):
    model, X = fitted("kernel")
    array = (20 * np.abs(X)).astype(kind)
    np.save(tmp_path / "X.npy", array)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = model.compatibility(array)
    found = in_blocks(monkeypatch, model.compatibility, mapped)
    assert found.dtype == expected.dtype == (np.float32 if kind in ("float16", "float32") else np.float64)
    assert_close(found, expected, SUMS.of(expected.dtype))


def test_data_frames_keep_their_names(fitted, small_blocks):
    _, X = fitted("kernel")
    frame = pd.DataFrame(X, columns=[*"uvwxyz"])
    y = np.repeat([*"abcdef"], 12)
    model = make("kernel").fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame), make("kernel").fit(X, y).predict(X))
    np.testing.assert_array_equal(model.predict(frame[[*"zyxwvu"]]), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.set_axis([*"zyxwvt"], axis=1))


def test_bad_values_in_a_later_block_are_told_by_their_row(fitted, small_blocks):
    model, X = fitted("kernel")
    X = X.copy()
    X[40, 2], X[50, 1], X[60, 2] = np.nan, np.inf, np.nan
    for call in CALLS.values():
        with pytest.raises(ValueError, match=r"infinity \(inf\) in column 1, 2, first at row 50 \(3 such value"):
            call(model, X)


# out and iter_compatibility ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_out_takes_the_scores(fitted, small_blocks, tmp_path, kind):
    model, X = fitted("kernel")
    expected = model.compatibility(X, candidates=["a", "z"])
    out = np.lib.format.open_memmap(tmp_path / "scores.npy", mode="w+", dtype=kind, shape=(len(X), 2))
    assert model.compatibility(X, candidates=["a", "z"], out=out) is out
    out.flush()
    assert_close(np.load(tmp_path / "scores.npy"), expected, FORMULA.single)
    whole = np.empty((len(X), 2))
    _candidates.BLOCK_BYTES = (1 << 30, 1 << 30)  # a single block goes there too
    model.compatibility(X, candidates=["a", "z"], out=whole)
    assert_close(whole, expected, SUMS.double)


def test_out_between_libraries(fitted, small_blocks):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: out as a tensor")
    model, X = fitted("kernel")
    expected = model.compatibility(X)
    tensor, array = torch.empty(expected.shape), np.empty(expected.shape)
    assert model.compatibility(X, out=tensor) is tensor
    assert model.compatibility(torch.from_numpy(X), out=array) is array
    assert_close(tensor.numpy(), expected, FORMULA.single)
    assert_close(array, expected, SUMS.double)
    with pytest.raises(ValueError, match=r"out holds torch\.int64"):
        model.compatibility(X, out=torch.empty(expected.shape, dtype=torch.int64))


def read_only(shape):
    array = np.empty(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (lambda n, c: np.empty((n, c + 1)), r"out has shape \(72, 9\): expected \(72, 8\)"),
        (lambda n, c: np.empty(n), r"out has shape \(72,\)"),
        (lambda n, c: np.empty((n, c), dtype=int), "out holds int64: expected floating-point"),
        (lambda n, c: read_only((n, c)), "out is read-only: expected a writable one; open a memory-mapped file with"),
        (lambda n, c: [[0.0] * c] * n, "out is a list: expected a NumPy array"),
    ],
)
def test_an_out_that_cannot_take_the_scores_is_refused(fitted, out, words):
    model, X = fitted("kernel")
    with pytest.raises(ValueError, match=words):
        model.compatibility(X, out=out(72, 8))


def test_an_out_that_overlaps_the_input_is_refused(fitted):
    model, _ = fitted("kernel")
    both = np.zeros((72, 14))
    with pytest.raises(ValueError, match="out shares memory with X"):
        model.compatibility(both[:, :6], out=both[:, 5:13])
    model.compatibility(both[:, :6], out=both[:, 6:])  # beside each other, not over


def test_a_tensor_that_overlaps_the_input_is_refused(fitted):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: tensors")
    model, _ = fitted("kernel")
    both = torch.zeros((72, 14))
    with pytest.raises(ValueError, match="out shares memory with X"):
        model.compatibility(both[:, :6], out=both[:, 5:13])


@pytest.mark.parametrize("block_rows", [None, 1, 7, 1000])
def test_blocks_of_scores_cover_all_rows_in_order(fitted, block_rows):
    model, X = fitted("kernel")
    blocks = list(model.iter_compatibility(X, candidates=["z", "a"], block_rows=block_rows))
    assert [row for rows, _ in blocks for row in range(len(X))[rows]] == list(range(len(X)))
    if block_rows:
        assert {len(scores) for _, scores in blocks[:-1]} <= {block_rows}
    joined = np.concatenate([scores for _, scores in blocks])
    assert_close(joined, model.compatibility(X, candidates=["z", "a"]), SUMS.double)


def test_blocks_of_scores_refuse_before_the_first(fitted):
    model, X = fitted("kernel")
    with pytest.raises(ValueError, match="block_rows"):
        model.iter_compatibility(X, block_rows=0)
    with pytest.raises(ValueError, match="candidate 'nobody' is not in the fitted table"):
        model.iter_compatibility(X, candidates=["nobody"])


# the k best ----------------------------------------------------------------------------------------------------------


def by_a_whole_sort(scores, k):
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


@pytest.mark.parametrize("k", [1, 2, 5, 13, 40])
@pytest.mark.parametrize("levels", [2, 5, 30, 10**6])
@pytest.mark.parametrize("missing", [0, 0.02, 0.97])
def test_the_k_best_are_those_of_a_whole_stable_sort(k, levels, missing):
    rng = np.random.default_rng(k)
    scores = (rng.integers(levels, size=(300, 40)) / levels).astype(np.float32)
    scores[rng.random(scores.shape) < missing] = np.nan
    scores[::7] = 0.25  # all equal
    scores[1::7, 3] = -np.inf
    for found, expected in zip(top_columns(scores, k), by_a_whole_sort(scores, k), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_partition_alone_would_break_ties_otherwise():
    """The planted fault: without the look at equal scores the test above would fail."""
    scores = (np.random.default_rng(0).integers(5, size=(300, 40)) / 5).astype(np.float32)
    some = np.sort(np.argpartition(-scores, 4, axis=1)[:, :5], axis=1)
    values = np.take_along_axis(-scores, some, axis=1)
    order = np.take_along_axis(some, np.argsort(values, axis=1, kind="stable"), axis=1)
    assert (order != by_a_whole_sort(scores, 5)[0]).any()
