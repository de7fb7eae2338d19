"""Files in the layout of the xlsa17 package, made for tests: MATLAB v5 and v7.3, whole, small and to be damaged."""

import h5py
import numpy as np
import scipy.io

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
