"""Every damaged copy of a package is refused with a sentence that names the file, the field and the rows."""

import re

import numpy as np
import pytest

from package_files import CLASSES, EACH, UNSEEN, WRITERS, tiny, write_package
from zskl.datasets import xlsa17

pytestmark = pytest.mark.usefixtures("own_cache")


def changed(field, change):
    """Damage one variable: of the splits if they have it, else of the features."""

    def damage(splits, features):
        holder = splits if field in splits else features
        holder[field] = change(holder[field])

    return damage


def at(place, value):
    def change(array):
        array = array.astype(np.float64)
        array[place] = value
        return array

    return change


def without_files(change):
    """The same damage where no image paths could tell."""

    def damage(splits, features):
        del features["image_files"]
        change(splits, features)

    return damage


def missing_class(splits, features):
    """No row is labelled eel: its rows are of its neighbour."""
    labels = features["labels"]
    labels[labels == CLASSES.index("eel") + 1] += 2


def unseen_in_trainval(splits, features):
    moved = splits["test_unseen_loc"][:2]
    splits["test_unseen_loc"] = splits["test_unseen_loc"][2:]
    splits["trainval_loc"] = np.vstack([splits["trainval_loc"], moved])


def around_the_end(splits, features):
    features["labels"] = features["labels"] % len(CLASSES) + 1


def fewer_names(splits, features):
    splits["allclasses_names"] = CLASSES[:-1]


n = len(CLASSES) * EACH
SPLITS, RES101 = r"att_splits\.mat: ", r"res101\.mat: "
DAMAGES = {
    "labels from 0": (changed("labels", lambda y: y - 1), RES101 + r"labels holds 0 at rows .*add 1 to all"),
    "labels one too high": (changed("labels", lambda y: y + 1), RES101 + r"labels holds class numbers up to 9"),
    "labels around the end": (around_the_end, RES101 + r"labels contradicts image_files in 48 rows"),
    "one label of its neighbour": (
        changed("labels", lambda y: np.where(np.arange(n)[:, None] == 3, y % 8 + 1, y)),
        RES101 + "labels contradict",
    ),
    "labels a row too low": (
        without_files(changed("labels", lambda y: np.roll(y, 1))),
        "labels and .* contradict each other: classes",
    ),
    "missing class": (without_files(missing_class), RES101 + "labels has no row of classes 'eel'"),
    "missing name": (fewer_names, SPLITS + r"att is float64 of shape \(3, 8\): .*each of the 7 classes"),
    "fraction of a label": (changed("labels", at(5, 1.5)), RES101 + r"labels holds 1\.5 at rows 5 "),
    "NaN label": (changed("labels", at(5, np.nan)), RES101 + "labels holds nan at rows 5 "),
    "fewer labels": (
        changed("labels", lambda y: y[:-1]),
        RES101 + r"features is float32 of shape \(5, 48\) and labels has 47",
    ),
    "labels in a matrix": (changed("labels", lambda y: np.ones((5, 5))), RES101 + r"labels is .* of shape \(5, 5\)"),
    "index beyond": (
        changed("trainval_loc", at(0, n + 1)),
        SPLITS + rf"trainval_loc holds {n + 1}, but .* has {n} rows",
    ),
    "unseen index beyond": (changed("test_unseen_loc", at(3, 999)), SPLITS + "test_unseen_loc holds 999, but"),
    "index 0": (changed("test_seen_loc", at(2, 0)), SPLITS + r"test_seen_loc holds 0 at rows 2 .*count from 1"),
    "negative index": (changed("test_seen_loc", at(2, -4)), SPLITS + r"test_seen_loc holds -4 at rows 2"),
    "indices from 0": (
        lambda splits, features: splits.update({k: v - 1 for k, v in splits.items() if k.endswith("_loc")}),
        SPLITS + r"(trainval|test_seen|test_unseen)_loc holds 0 at rows",
    ),
    "repeated index": (changed("trainval_loc", lambda r: np.vstack([r, r[:1]])), SPLITS + "trainval_loc repeats rows"),
    "no index": (changed("test_unseen_loc", lambda r: r[:0]), SPLITS + "test_unseen_loc is empty"),
    "shared rows": (
        lambda splits, features: splits.update(
            trainval_loc=np.vstack([splits["trainval_loc"], splits["test_seen_loc"][:1]])
        ),
        SPLITS + "trainval_loc and test_seen_loc share rows",
    ),
    "unseen class in trainval": (
        unseen_in_trainval,
        "contradict each other: classes .* are in trainval_loc too, yet test_unseen_loc",
    ),
    "NaN feature": (
        changed("features", at((2, 7), np.nan)),
        RES101 + r"features is NaN or infinite .* rows 7 .*columns 2;",
    ),
    "infinite feature": (changed("features", at((0, 1), np.inf)), RES101 + "features is NaN or infinite .* rows 1 "),
    "NaN attribute": (
        changed("att", at((1, 3), np.nan)),
        SPLITS + "att is NaN or infinite for classes 'dog' in 1 cells",
    ),
    "names twice": (changed("allclasses_names", lambda c: [*c[:-1], "ant"]), SPLITS + "allclasses_names repeats 'ant'"),
    "empty name": (
        changed("allclasses_names", lambda c: [*c[:-1], ""]),
        SPLITS + "allclasses_names is not a list of class names",
    ),
    "names as numbers": (
        changed("allclasses_names", lambda c: np.arange(8.0)),
        SPLITS + "allclasses_names is not a list",
    ),
    "words for features": (changed("features", lambda X: ["a", "b"]), RES101 + "features is "),
}


OF_BOTH_KINDS = ["labels from 0", "fraction of a label", "no index", "NaN feature", "words for features"]


@pytest.mark.parametrize(
    ("damage", "kind"), [*((damage, "v5") for damage in DAMAGES), *((damage, "v7.3") for damage in OF_BOTH_KINDS)]
)
def test_damaged_copies_are_refused_by_name(damage, kind, tmp_path):
    spoil, sentence = DAMAGES[damage]
    splits, features = tiny()
    spoil(splits, features)
    write_package(tmp_path / "CUB", splits, features, WRITERS[kind])
    with pytest.raises(ValueError, match=sentence):
        xlsa17.load("CUB", tmp_path)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("file", ["att_splits.mat", "res101.mat"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_copies(file, share, kind, tmp_path):
    path = write_package(tmp_path / "CUB", *tiny(), WRITERS[kind]) / file
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=rf"{file} is not a readable MATLAB file .*truncated"):
        xlsa17.load("CUB", tmp_path)


@pytest.mark.parametrize("field", ["labels", "features", "trainval_loc", "att", "allclasses_names"])
def test_a_missing_variable(field, tmp_path):
    splits, features = tiny()
    for variables in (splits, features):
        variables.pop(field, None)
    write_package(tmp_path / "CUB", splits, features)
    with pytest.raises(ValueError, match=rf"\.mat has no variable '{field}': it has "):
        xlsa17.load("CUB", tmp_path)


def test_the_lists_of_seen_and_unseen_classes(package):
    folder = package / "CUB"
    (folder / "testclasses.txt").write_text("\n".join(UNSEEN))
    (folder / "trainvalclasses.txt").write_text("\n".join(name for name in CLASSES if name not in UNSEEN))
    xlsa17.load("CUB", package)
    (folder / "testclasses.txt").write_text("a cat\na fox\n")  # other names: nothing to compare
    xlsa17.load("CUB", package)
    (folder / "testclasses.txt").write_text("fox\ndog\n")
    with pytest.raises(
        ValueError, match=r"than \S*testclasses\.txt lists: the list alone has 'dog', the labels alone 'cat'"
    ):
        xlsa17.load("CUB", package)


def test_folders_that_are_not_classes_tell_nothing(tmp_path):
    splits, features = tiny()
    features["image_files"] = [f"images\\cat\\{k}.jpg" for k in range(n)]  # one folder that happens to be called so
    assert xlsa17.load("CUB", write_package(tmp_path / "a" / "CUB", splits, features).parent)
    features["image_files"] = [f"{k}.jpg" for k in range(n)]
    assert xlsa17.load("CUB", write_package(tmp_path / "b" / "CUB", splits, features).parent)
    features["image_files"] = features["image_files"][:-1]
    assert xlsa17.load("CUB", write_package(tmp_path / "c" / "CUB", splits, features).parent)


def test_folders_in_folders(tmp_path):
    """SUN keeps church_indoor in c/church/indoor."""
    splits, features = tiny()
    splits["allclasses_names"] = [f"{name}_in.door" for name in CLASSES]
    features["image_files"] = [file.replace("/images/", "/images/c/") for file in features["image_files"]]
    features["image_files"] = [re.sub(r"/(\d+\.jpg)", r"/in-door/\1", file) for file in features["image_files"]]
    write_package(tmp_path / "CUB", splits, features)
    xlsa17.load("CUB", tmp_path)
    around_the_end(splits, features)
    write_package(tmp_path / "CUB", splits, features)
    with pytest.raises(ValueError, match="contradicts image_files in 48 rows"):
        xlsa17.load("CUB", tmp_path)


def test_rows_outside_all_parts_are_reported(tmp_path):
    splits, features = tiny()
    splits["trainval_loc"] = splits["trainval_loc"][:-2]
    write_package(tmp_path / "CUB", splits, features)
    with pytest.warns(UserWarning, match=r"att_splits\.mat: 2 of the 48 rows of .*res101\.mat are in no part"):
        xlsa17.load("CUB", tmp_path)
