"""The names of rows: ids of one's own files, image files of a benchmark, none where there are none."""

import numpy as np
import pandas as pd

from package_files import cells, tiny, write_package
from zskl import datasets


def test_ids_of_own_data(tmp_path):
    data = datasets.load("digits")
    few = np.concatenate([np.flatnonzero(data.y == digit)[:3] for digit in range(10)])
    table = pd.DataFrame(data.X[few], index=[f"scan/{row}.png" for row in few]).assign(label=data.y[few])
    table.to_csv(tmp_path / "samples.csv", index_label="id")
    data.signatures.to_csv(tmp_path / "classes.csv", index_label="class")
    datasets.make(tmp_path / "mine", tmp_path / "samples.csv", "label", tmp_path / "classes.csv", unseen=["3", "4"])
    assert datasets.row_names(tmp_path / "mine") == [f"scan/{row}.png" for row in few]


def test_image_files_of_a_benchmark(tmp_path):
    splits, features = tiny()
    n = np.asarray(features["labels"]).size
    names = [f"C:\\images\\kind\\{row}.jpg" for row in range(n)]
    write_package(tmp_path / "CUB", splits, {**features, "image_files": cells(names)})
    assert datasets.row_names("cub", tmp_path) == [f"C:/images/kind/{row}.jpg" for row in range(n)]
    assert datasets.row_names(tmp_path / "CUB") == datasets.row_names("cub", tmp_path)
    write_package(tmp_path / "SUN", splits, {name: features[name] for name in ("features", "labels")})
    assert datasets.row_names("SUN", tmp_path) is None


def test_the_rows_of_digits_have_no_names():
    assert datasets.row_names("digits") is None
