"""Validation folds: seeded, of class lists, of the file; planted test rows."""

import numpy as np
import pytest

from package_files import tiny, with_fold, write_package
from zskl.datasets import xlsa17

pytestmark = pytest.mark.usefixtures("own_cache")


def test_seeded_folds(package):
    data = xlsa17.load("CUB", package)
    folds = [name for name in data.parts if name.startswith("fold")]
    assert folds == [f"fold{k}_{kind}" for k in (1, 2, 3) for kind in ("train", "val")]
    for k in (1, 2, 3):
        train, val = data.parts[f"fold{k}_train"], data.parts[f"fold{k}_val"]
        assert len(set(data.y[val])) == 2
        assert not set(data.y[train]) & set(data.y[val])
        np.testing.assert_array_equal(np.sort(np.concatenate([train, val])), np.sort(data.parts["trainval"]))
    assert xlsa17.load("CUB", package).fingerprint == data.fingerprint


def lists(folder, number, train, val):
    (folder / f"trainclasses{number}.txt").write_text("\n".join(train) + "\n")
    (folder / f"valclasses{number}.txt").write_text("\r\n".join(val))


def test_folds_of_class_lists(package):
    lists(package / "CUB", 1, ["ant", "bee", "dog"], ["eel"])
    lists(package / "CUB", 2, ["ant"], ["gnu", "hen"])
    data = xlsa17.load("CUB", package, folds="file")  # which the file does not have: without complaint
    found = {part: sorted(set(data.y[rows])) for part, rows in data.parts.items() if part.startswith("fold")}
    assert found == {
        "fold1_train": ["ant", "bee", "dog"],
        "fold1_val": ["eel"],
        "fold2_train": ["ant"],
        "fold2_val": ["gnu", "hen"],
    }
    assert not set(data.parts["fold1_val"]) & set(data.parts["test_seen"])


@pytest.mark.parametrize(
    ("train", "val", "sentence"),
    [
        (["ant", "dog"], ["fox"], r"valclasses1\.txt lists classes without rows in trainval: 'fox'"),
        (["ant", "dog"], ["dog"], r"valclasses1\.txt share classes 'dog'"),
        (["ant", "dog"], [], r"valclasses1\.txt lists no class"),
    ],
)
def test_damaged_class_lists(package, train, val, sentence):
    lists(package / "CUB", 1, train, val)
    with pytest.raises(ValueError, match=sentence):
        xlsa17.load("CUB", package)


def test_class_lists_with_other_names(package):
    plain = xlsa17.load("CUB", package).fingerprint
    lists(package / "CUB", 1, ["ant", "the yak"], ["bee"])
    with pytest.warns(UserWarning, match=r"trainclasses1\.txt lists classes that .* does not know: 'the yak'; seeded"):
        assert xlsa17.load("CUB", package).fingerprint == plain


def test_a_fold_with_one_of_its_two_lists_is_refused(package):
    lists(package / "CUB", 1, ["ant"], ["bee"])
    (package / "CUB" / "valclasses1.txt").unlink()
    with pytest.raises(ValueError, match=r"trainclasses1\.txt has no valclasses1\.txt beside it"):
        xlsa17.load("CUB", package)


def test_fold_of_the_file_only_on_request(tmp_path):
    train, val = with_fold(tmp_path)
    data = xlsa17.load("CUB", tmp_path, folds="file")
    assert [part for part in data.parts if part.startswith("fold")] == ["fold1_train", "fold1_val"]
    np.testing.assert_array_equal(np.sort(data.parts["fold1_train"]), np.sort(train))
    np.testing.assert_array_equal(np.sort(data.parts["fold1_val"]), np.sort(val))
    assert "fold3_val" in xlsa17.load("CUB", tmp_path).parts


def test_planted_test_rows_are_dropped_and_reported(tmp_path):
    train, val = with_fold(tmp_path, planted=4)
    told = (
        rf"att_splits\.mat: dropped 4 of the {len(train) + 4} rows of train_loc \(4 of them in test_seen_loc\) and 3 "
        rf"of the {len(val) + 3} rows of val_loc \(3 of them in test_seen_loc\)"
    )
    with pytest.warns(UserWarning, match=told):
        data = xlsa17.load("CUB", tmp_path, folds="file")
    np.testing.assert_array_equal(np.sort(data.parts["fold1_train"]), np.sort(train))
    np.testing.assert_array_equal(np.sort(data.parts["fold1_val"]), np.sort(val))
    xlsa17.load("CUB", tmp_path)  # not asked for, not a word


def test_a_fold_that_shares_classes_is_reported(tmp_path):
    splits, features = tiny()
    rows = splits["trainval_loc"].ravel()
    write_package(tmp_path / "CUB", splits | {"train_loc": rows[::2], "val_loc": rows[1::2]}, features)
    with pytest.warns(UserWarning, match="train_loc and val_loc share classes"):
        xlsa17.load("CUB", tmp_path, folds="file")
    write_package(tmp_path / "CUB", splits | {"train_loc": rows, "val_loc": rows[:2]}, features)
    with pytest.raises(ValueError, match="train_loc and val_loc share rows"):
        xlsa17.load("CUB", tmp_path, folds="file")
    write_package(tmp_path / "CUB", splits | {"train_loc": rows, "val_loc": splits["test_seen_loc"]}, features)
    with pytest.raises(ValueError, match=r"val_loc has no row of trainval_loc; leave out folds='file'"):
        xlsa17.load("CUB", tmp_path, folds="file")
    with pytest.raises(ValueError, match="folds is 'lists': expected None"):
        xlsa17.load("CUB", tmp_path, folds="lists")
