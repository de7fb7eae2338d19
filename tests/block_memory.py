"""What calls on rows in a memory-mapped file allocate beside their output; run by test_block_memory.py in a process of
its own, in an empty folder. Printed as JSON: call → peak of allocated bytes, less those of what the call returns.

Allocations are traced, so mapped files do not count, and the figures are the same in every run.
"""

import gc
import json
import sys
import tracemalloc

import numpy as np

from zskl import ZeroShotKernelClassifier, predictions

ROWS, WIDTH, CLASSES, ATTRIBUTES = 200_000, 128, 500, 32
TRAINING, SEEN = 600_000, 20  # rows, 300 MB of them, and their classes


def write(path, rows, seed):
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, WIDTH))
    block = np.random.default_rng(seed).standard_normal((2000, WIDTH), dtype=np.float32)
    for start in range(0, rows, 2000):
        X[start : start + 2000] = block + start / rows
    X.flush()
    return np.load(path, mmap_mode="r")


def predict(model, X):
    return [model.predict(X)]


def top_k(model, X):
    return model.top_k(X, 5, return_scores=True)


def filling(model, X):
    shape = (len(X), CLASSES)
    model.compatibility(X, out=np.lib.format.open_memmap("scores.npy", mode="w+", dtype=np.float32, shape=shape))
    return []


def iterating(model, X):
    assert sum(len(scores) for _, scores in model.iter_compatibility(X)) == len(X)
    return []


def file(model, X):
    """From one .npy file to another of text."""
    if len(X) == ROWS:
        assert predictions.write("predictions.csv", predictions.predict_file(model, "X.npy", top=1)) == ROWS
    return []


def whole_scores(model, X):
    """What the test must catch: all scores at once, then the best."""
    return [model.compatibility(X).argmax(axis=1)]


def whole_input(model, X):
    """And this: a copy of the rows."""
    return [model.predict(np.array(X))]


def fit(model, X, **settings):
    y = np.arange(len(X)) * SEEN // len(X)  # sorted by class
    ZeroShotKernelClassifier(epochs=1, batch_size=2000, random_state=0, **settings).fit(X, y, np.eye(SEEN))
    return []


def streamed_fit(model, X):
    return fit(model, X, streaming=True)


def whole_fit(model, X):
    """The planted fault of training."""
    return fit(model, X)


def beyond(call, model, X):
    call(model, X[:CLASSES])  # what is loaded late is there now
    gc.collect()
    tracemalloc.start()
    returned = call(model, X)
    peak = tracemalloc.get_traced_memory()[1] - sum(array.nbytes for array in returned)
    tracemalloc.stop()
    return peak


if __name__ == "__main__":
    draw = np.random.default_rng(1)
    y = np.repeat(np.arange(CLASSES), 2)
    model = ZeroShotKernelClassifier(epochs=1, batch_size=100, random_state=0)
    model.fit(draw.standard_normal((len(y), WIDTH)), y, draw.standard_normal((CLASSES, ATTRIBUTES)))
    X = write("X.npy", ROWS, 0)
    found = {
        call.__name__: beyond(call, model, X)
        for call in (predict, top_k, filling, iterating, file, whole_scores, whole_input)
    }
    X = write("training.npy", TRAINING, 2)
    found |= {call.__name__: beyond(call, model, X) for call in (streamed_fit, whole_fit)}
    sys.stdout.write(json.dumps(found))
