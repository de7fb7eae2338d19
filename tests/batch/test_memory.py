"""Files larger than a block go through make, fit, predict and ranking block by block: never held whole where they need
not be.

Allocations are traced, so mapped files do not count and every machine finds the same figures. Blocks are far
smaller than usual, so that small files are made of many.
"""

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tolerances import FORMULA, assert_close
from zskl import ZeroShotKernelClassifier, methods
from zskl import scaling as scalings
from zskl.baselines import _linear_models
from zskl.batch import predict as predicts
from zskl.cli import app
from zskl.datasets import dataset, health, tables
from zskl.datasets.tables import features
from zskl.estimators import _candidates, _class_means_fit, _inputs
from zskl.training import rows

ROWS, WIDTH, CLASSES, ATTRIBUTES = 6_000, 128, 400, 32
INPUT, SCORES = 4 * ROWS * WIDTH, 4 * ROWS * CLASSES  # 3 and 10 MB
SEEN = 20
LINES, COLUMNS, SPECIES = 2_000, 256, 20
MATRIX = 4 * LINES * COLUMNS  # 2 MB


BLOCKS = [
    (_candidates, "BLOCK_BYTES", (INPUT // 24, INPUT // 24)),
    (rows, "CHUNK_BYTES", INPUT // 400),
    (rows, "BUFFER_BYTES", INPUT // 4),
    (rows, "BLOCK_BYTES", INPUT // 24),
    (_inputs, "VALUES_AT_ONCE", INPUT // 48),
    (scalings, "BLOCK_VALUES", INPUT // 96),
    (dataset, "BLOCK_VALUES", MATRIX // 48),
    (health, "BLOCK_VALUES", MATRIX // 400),
    (features, "BLOCK_VALUES", MATRIX // 48),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for module, name, size in BLOCKS:
        monkeypatch.setattr(module, name, size)


def peak(call, *arguments):
    """Bytes that the call holds at most beside what it returns."""
    gc.collect()
    tracemalloc.start()
    try:
        returned = call(*arguments)
        return tracemalloc.get_traced_memory()[1] - sum(array.nbytes for array in returned)
    finally:
        tracemalloc.stop()


# Rows in a memory-mapped file


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "X.npy"
    np.save(path, np.random.default_rng(0).standard_normal((ROWS, WIDTH), dtype=np.float32))
    return np.load(path, mmap_mode="r")


@pytest.fixture(scope="module")
def model():
    draw = np.random.default_rng(1)
    y = np.repeat(np.arange(CLASSES), 2)
    made = ZeroShotKernelClassifier(epochs=1, batch_size=100, random_state=0)
    return made.fit(draw.standard_normal((len(y), WIDTH)), y, draw.standard_normal((CLASSES, ATTRIBUTES)))


def filling(model, X):
    shape = len(X), CLASSES
    out = np.lib.format.open_memmap("scores.npy", mode="w+", dtype=np.float32, shape=shape)
    assert (model.compatibility(X, out=out)[::100] > 0).all()
    return []


def iterating(model, X):
    assert sum(len(scores) for _, scores in model.iter_compatibility(X)) == len(X)
    return []


def file(model, X):
    """From one .npy file to another of text."""
    assert predicts.write_predictions("predictions.csv", predicts.Predictor(model, top=1).lines(X.filename)) == ROWS
    return []


RANKINGS = {
    "predict": lambda model, X: [model.predict(X)],
    "top_k": lambda model, X: model.top_k(X, 5, return_scores=True),
    "filling": filling,
    "iterating": iterating,
    "file": file,
}
HELD_WHOLE = {
    "scores": (lambda model, X: [model.compatibility(X).argmax(axis=1)], SCORES),
    "input": (lambda model, X: [model.predict(np.array(X))], INPUT),
}


@pytest.mark.parametrize("call", RANKINGS)
def test_ranking_holds_some_blocks_only(model, mapped, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    model.predict(mapped[:CLASSES])  # what is loaded late is there now
    assert peak(RANKINGS[call], model, mapped) < INPUT / 2


@pytest.mark.parametrize("fault", HELD_WHOLE)
def test_a_planted_copy_of_all_rows_is_seen(model, mapped, fault):
    call, size = HELD_WHOLE[fault]
    assert peak(call, model, mapped) > size


def fit(X, **settings):
    y = np.arange(len(X)) * SEEN // len(X)  # sorted by class
    ZeroShotKernelClassifier(epochs=1, batch_size=200, random_state=0, **settings).fit(X, y, np.eye(SEEN))
    return []


def test_training_from_a_file_holds_its_buffer_only(mapped):
    fit(np.array(mapped[:200]))
    assert peak(lambda: fit(mapped, streaming=True)) < 0.75 * INPUT  # a third of that is the buffer
    assert peak(lambda: fit(mapped)) > INPUT  # the planted fault


IN_MEMORY = [("gaussian-ort", "float16"), ("class-means", "float32"), ("eszsl", "float64"), ("ale", "float32")]


@pytest.mark.parametrize(("method", "kind"), IN_MEMORY)
def test_training_in_memory_holds_little_beside_the_rows(mapped, monkeypatch, method, kind):
    for module, name in ((_linear_models, "BLOCK_VALUES"), (_class_means_fit, "BLOCK_VALUES"), (rows, "BLOCK_BYTES")):
        monkeypatch.setattr(module, name, INPUT // 192)
    for module, name in ((_linear_models, "BLOCK_ROWS"), (_class_means_fit, "BLOCK_ROWS"), (_class_means_fit, "KEPT")):
        monkeypatch.setattr(module, name, 50)
    X, y = mapped.astype(kind), np.arange(ROWS) % SEEN
    setting = {"epochs": 1, "batch_size": 200} if method in ("gaussian-ort", "ale") else {}
    model = methods.build(method, {"random_state": 0, **setting})

    def fit_all():
        model.fit(X, y, np.eye(SEEN))
        return []

    small = 8 * 8 * WIDTH**2 + 8 * 10 * ROWS  # matrices (d, d) in float64, and some numbers for each row
    monkeypatch.setattr(rows, "COPY_BYTES", 0)
    model.fit(X[:200], y[:200], np.eye(SEEN))
    assert peak(fit_all) < 0.3 * X.nbytes + small
    if method in ("gaussian-ort", "ale"):
        monkeypatch.setattr(rows, "COPY_BYTES", INPUT)
        assert peak(fit_all) > INPUT  # the planted fault


# A CSV file


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    """A folder with features and a label in large.csv, its first lines in small.csv, and a table of classes."""
    place = tmp_path_factory.mktemp("csv")
    draw = np.random.default_rng(0)
    header = ",".join([*(f"f{k}" for k in range(COLUMNS)), "label"]) + "\n"
    values, labels = draw.standard_normal((200, COLUMNS)).tolist(), np.arange(200) % SPECIES
    lines = "".join(
        ",".join([*map("{:.4g}".format, row), f"class {label:03}"]) + "\n"
        for row, label in zip(values, labels, strict=True)
    )
    (place / "small.csv").write_text(header + lines)
    (place / "large.csv").write_text(header + lines * (LINES // 200))
    names = ",".join(["class", *(f"t{k}" for k in range(ATTRIBUTES))])
    table = (f"class {k:03}," + ",".join(map(str, draw.random(ATTRIBUTES).tolist())) for k in range(SPECIES))
    (place / "traits.csv").write_text("\n".join([names, *table]) + "\n")
    return place


def command(*words):
    app([str(word) for word in words], standalone_mode=False)
    return []


def make(size):
    files = ["--features", f"{size}.csv", "--labels", "label", "--signatures", "traits.csv"]
    return command("data", "make", f"{size}-data", *files)


def train(size):
    return command(
        *("fit", f"{size}-data", "-o", f"{size}.zskl", "--method", "gaussian-ort"),
        *("--set", "batch_size=100", "--set", "epochs=1"),
    )


def predict(size):
    return command("predict", f"{size}.zskl", f"{size}.csv", "-o", f"{size}-predictions.csv", "--top", "2")


def planted(size):
    """All blocks kept, then joined."""
    np.concatenate([block.X for block in tables.open_features(f"{size}.csv", "label").blocks()])
    return []


def test_a_csv_file_goes_through_all_steps_in_blocks(csv, monkeypatch, capsys):
    monkeypatch.chdir(csv)
    for step in (make, train, predict):
        step("small")  # what is loaded late is there now
    found = {step.__name__: peak(step, "large") / MATRIX for step in (make, train, predict, planted)}
    assert found["planted"] > 1.9
    assert found["make"] < 1.5
    assert found["predict"] < 1.6
    assert found["train"] < 2.4  # 0.6 of the rows are for training: three times these, not four
    assert len(Path("large-predictions.csv").read_text(encoding="utf-8").splitlines()) == LINES + 1


# Scaling


@pytest.mark.parametrize("scaling", ["center-l2", "sqrt-center-l2", "none"])
def test_rows_scaled_in_blocks_are_rows_scaled_at_once(monkeypatch, scaling):
    X = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    fitted = scalings.fit_scaling(scaling, X)
    at_once = fitted.apply(X)
    monkeypatch.setattr(scalings, "BLOCK_VALUES", 6)
    assert_close(fitted.apply(X), at_once, FORMULA.single)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: scaling of tensors in blocks")
    assert_close(fitted.apply(torch.from_numpy(X)).numpy(), at_once, FORMULA.single)
