"""Files in the layout of the xlsa17 package, made for tests: MATLAB v5 and v7.3, whole, small and to be damaged."""

import io
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import h5py
import numpy as np
import pytest
import scipy.io

from zskl.datasets.fetch import fetch

# Package files

CLASSES = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]
UNSEEN = ["cat", "fox"]
EACH = 6  # rows of a class
FEATURES = 5
ATTRIBUTES = 3


def cells(texts):
    column = np.empty((len(texts), 1), dtype=object)
    column[:, 0] = texts
    return column


def write_v5(path, variables, compress=True):
    ready = {name: cells(value) if isinstance(value, list) else value for name, value in variables.items()}
    scipy.io.savemat(path, ready, do_compression=compress, oned_as="column")


def write_v73(path, variables):
    """As MATLAB's -v7.3: HDF5 after a block of 512 bytes, matrices by columns, cells as references to characters."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if isinstance(value, list):
                references = np.empty((1, len(value)), dtype=h5py.ref_dtype)
                for k, text in enumerate(value):
                    target = _characters(file, f"#refs#/{name}{k}", [text])
                    references[0, k] = target.ref
                item = file.create_dataset(name, data=references)
                item.attrs["MATLAB_class"] = np.bytes_("cell")
            elif np.asarray(value).dtype.kind == "U":
                _characters(file, name, np.atleast_1d(value).tolist())
            else:
                value = np.atleast_2d(value)
                item = file.create_dataset(name, data=value.T if value.size else np.array(value.shape, dtype=np.uint64))
                if not value.size:
                    item.attrs["MATLAB_empty"] = np.uint8(1)
                item.attrs["MATLAB_class"] = np.bytes_("double")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def _characters(file, name, texts):
    width = max(map(len, texts))
    if width == 0:
        item = file.create_dataset(name, data=np.array([0, 0], dtype=np.uint64))
        item.attrs["MATLAB_empty"] = np.uint8(1)
    else:
        rows = [np.frombuffer(text.ljust(width).encode("utf-16-le"), dtype="<u2") for text in texts]
        item = file.create_dataset(name, data=np.array(rows).T)
    item.attrs["MATLAB_class"] = np.bytes_("char")
    return item


WRITERS = {"v5": write_v5, "v7.3": write_v73}


def tiny():
    """(variables of att_splits.mat, variables of res101.mat), consistent; counted from 1; rows in random order."""
    draw = np.random.default_rng(7)
    labels = draw.permutation(np.repeat(np.arange(1, len(CLASSES) + 1), EACH))
    unseen = np.isin(labels, [CLASSES.index(name) + 1 for name in UNSEEN])
    seen_rows = np.flatnonzero(~unseen) + 1
    first = np.array([np.sum(labels[:row] == labels[row]) < 2 for row in range(len(labels))])
    splits = {
        "allclasses_names": list(CLASSES),
        "att": draw.random((ATTRIBUTES, len(CLASSES))),
        "original_att": draw.random((ATTRIBUTES, len(CLASSES))) * 100,
        "trainval_loc": draw.permutation(np.flatnonzero(~unseen & ~first) + 1)[:, None],
        "test_seen_loc": np.intersect1d(seen_rows, np.flatnonzero(first) + 1)[:, None],
        "test_unseen_loc": np.flatnonzero(unseen)[:, None] + 1,
    }
    files = [f"/data/tiny/images/{CLASSES[label - 1]}/{row}.jpg" for row, label in enumerate(labels)]
    features = {
        "features": draw.standard_normal((FEATURES, len(labels))).astype(np.float32),
        "labels": labels[:, None].astype(np.float64),
        "image_files": files,
    }
    return splits, features


def write_package(folder, splits, features, writer=write_v5, file="res101"):
    folder.mkdir(parents=True, exist_ok=True)
    writer(folder / "att_splits.mat", splits)
    writer(folder / f"{file}.mat", features)
    return folder


def labels_for(splits, seen, unseen):
    """Labels counted from 1 that fit the real `splits`: rows of seen parts among the first classes, in turn."""
    labels = np.zeros(splits.rows, dtype=np.float64)
    for rows in (splits.trainval, splits.test_seen):
        labels[rows] = 1 + np.arange(len(rows)) % seen
    labels[splits.test_unseen] = 1 + seen + np.arange(len(splits.test_unseen)) % unseen
    return labels


def with_fold(tmp_path, planted=0, val=("gnu", "hen")):
    """A package with train_loc and val_loc; `planted` rows of test_seen are in train_loc, one less in val_loc."""
    splits, features = tiny()
    trainval, test = splits["trainval_loc"].ravel(), splits["test_seen_loc"].ravel()
    held = np.isin(features["labels"].ravel()[trainval - 1], [CLASSES.index(name) + 1 for name in val])
    train_loc = np.concatenate([trainval[~held], test[:planted]])
    val_loc = np.concatenate([trainval[held], test[planted : 2 * planted - 1] if planted else test[:0]])
    write_package(tmp_path / "CUB", splits | {"train_loc": train_loc, "val_loc": val_loc}, features)
    return trainval[~held] - 1, trainval[held] - 1


# A server on this machine that gives a zip file, well, badly, and worse; and what a fetch leaves behind.

CLEAN = [".xlsa17.lock"]


DONE = [".xlsa17.lock", "xlsa17", "xlsa17.sha256"]


def zipped(files, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return buffer.getvalue()


class Server:
    """What it serves can be set; it counts requests."""

    def __init__(self, content):
        self.content = content
        self.drops = 0  # how many answers break off midway
        self.status = 200
        self.announced = None  # a wrong Content-Length
        self.location = None
        self.silent = None  # an event until which nothing is answered
        self.asked = 0

    def answer(self, handler):
        self.asked += 1
        if self.silent:
            self.silent.wait()
            return
        if self.location or self.status >= 400:
            handler.send_response(302 if self.location else self.status)
            if self.location:
                handler.send_header("Location", self.location)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        body = self.content
        handler.send_response(200)
        handler.send_header("Content-Length", str(self.announced or len(body)))
        handler.end_headers()
        if self.drops > 0:
            self.drops -= 1
            body = body[: len(body) // 2]
        handler.wfile.write(body)
        handler.close_connection = True


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.answer(self)

        def log_message(self, *_):
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/xlsa17.zip"
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def refused(server, root, kind=(ValueError, ConnectionError), urls=None):
    with pytest.raises(kind) as caught:
        fetch(urls=urls or [server.url], root=root)
    assert not (root / "xlsa17").exists()
    assert not (root / "xlsa17.sha256").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)
