"""The layout that other projects read: as they read it, and as we do."""

import numpy as np
import pandas as pd
import pytest
import scipy.io

from user_files import make
from zskl import datasets
from zskl.datasets import Dataset, folder, make_synthetic, xlsa17


def as_others_read_it(place):
    """The lines that published code uses, with scipy alone."""
    content, splits = scipy.io.loadmat(place / "res101.mat"), scipy.io.loadmat(place / "att_splits.mat")
    names = [entry[0][0] for entry in splits["allclasses_names"]]
    return {
        "X": content["features"].T,
        "y": [names[int(k) - 1] for k in content["labels"].squeeze()],
        "files": [entry[0][0] for entry in content["image_files"]],
        "att": splits["att"].T,
        "names": names,
        **{key: splits[key].squeeze().astype(int) - 1 for key in splits if key.endswith("_loc")},
    }


def test_xlsa17_round_trip_as_others_read_it(here):
    data = make()
    xlsa17.write_benchmark(data, here, folder.read_row_names(here / "birds"))
    back = as_others_read_it(here)
    np.testing.assert_array_equal(back["X"], data.X)
    np.testing.assert_array_equal(back["att"], data.signatures.to_numpy())
    assert back["X"].dtype == np.float32
    assert back["y"] == data.y.tolist()
    assert back["names"] == data.class_names.tolist()
    assert back["files"] == [f"r{k}" for k in range(120)]
    for field, part in (
        ("trainval", "trainval"),
        ("test_seen", "test_seen"),
        ("test_unseen", "test_unseen"),
        ("train", "fold1_train"),
        ("val", "fold1_val"),
    ):
        assert back[f"{field}_loc"].tolist() == data.parts[part].tolist()
    assert (here / "trainvalclasses.txt").read_text().split() == data.seen_classes.tolist()
    assert (here / "testclasses.txt").read_text().split() == data.unseen_classes.tolist()


@pytest.mark.parametrize("folds", [None, "file"])
def test_xlsa17_round_trip_as_we_read_it(here, folds, monkeypatch):
    monkeypatch.setenv("ZSKL_CACHE", str(here / "cache"))
    data = make()
    (here / "other").mkdir()
    xlsa17.write_benchmark(data, here / "other")
    back = datasets.load("other", folds=folds)
    assert (back.name, back.features) == ("other", "res101")
    np.testing.assert_array_equal(back.X, data.X)
    np.testing.assert_array_equal(back.y, data.y)
    pd.testing.assert_frame_equal(back.signatures, data.signatures, check_names=False)
    wanted = [part for part in data.parts if folds is None or not part.startswith(("fold2", "fold3"))]
    assert list(back.parts) == wanted
    for part in wanted:
        np.testing.assert_array_equal(back.parts[part], data.parts[part], err_msg=part)
    if folds is None:
        assert back.fingerprint == data.fingerprint


def test_xlsa17_holds_one_signature_per_class_and_names_on_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"several signatures for class 'class 0'.*average"):
        xlsa17.write_benchmark(make_synthetic(descriptions=2), tmp_path)
    data = make_synthetic()
    broken = Dataset(data.name, data.X, data.y, data.signatures.rename(columns={"attribute 0": "a\nb"}), data.parts)
    with pytest.raises(ValueError, match="line break"):
        xlsa17.write_benchmark(broken, tmp_path)
    described = pd.concat([data.signatures, data.signatures[:1].set_axis(["yak"])])
    with pytest.raises(ValueError, match="no rows of class 'yak'"):
        xlsa17.write_benchmark(Dataset(data.name, data.X, data.y, described, data.parts), tmp_path)
    untested = {**data.parts, "test_seen": []}
    with pytest.raises(ValueError, match="no rows in 'test_seen'"):
        xlsa17.write_benchmark(Dataset(data.name, data.X, data.y, data.signatures, untested), tmp_path)
    assert not list(tmp_path.iterdir())
