"""Datasets by name."""

import numpy as np
import pandas as pd
import pytest

from benchmark_files import cells, tiny, write_package
from zskl import datasets
from zskl.datasets import make_synthetic, toy, xlsa17

# Names


def test_load_by_name():
    assert datasets.load("Digits").fingerprint == toy.load_digits().fingerprint
    assert datasets.load("SYNTHETIC").fingerprint == make_synthetic().fingerprint
    assert [name for name, _ in datasets.names()] == [*datasets.BUNDLED, *xlsa17.BENCHMARKS]
    assert all(description and "\n" not in description for _, description in datasets.names())


@pytest.mark.parametrize("name", datasets.BUNDLED)
def test_bundled_datasets_load(name):
    assert datasets.load(name).name == name


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"'digts' \(did you mean 'digits'\?\).*letters, digits, "):
        datasets.load("digts")


@pytest.mark.parametrize("name", datasets.BUNDLED)
@pytest.mark.parametrize("argument", ["root", "features", "signatures", "folds"])
def test_bundled_datasets_take_no_files(name, argument):
    with pytest.raises(ValueError, match=f"{argument} is 'somewhere', but the bundled dataset '{name}' takes none"):
        datasets.load(name, **{argument: "somewhere"})


# The names of rows: ids of one's own files, image files of a benchmark, none where there are none.


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
