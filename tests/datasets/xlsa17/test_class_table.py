"""Signatures of a benchmark: att, original_att, another .mat, a table."""

import numpy as np
import pandas as pd
import pytest

from package_files import ATTRIBUTES, CLASSES, WRITERS, tiny, write_package, write_v5
from zskl.datasets import xlsa17

pytestmark = pytest.mark.usefixtures("own_cache")


def test_original_att_and_attribute_names(package):
    splits, _ = tiny()
    (package / "CUB" / "attribute_names.txt").write_text("1 has fur\n2. has::legs\n  3\tbite\n")
    data = xlsa17.load("CUB", package, signatures="original_att")
    np.testing.assert_array_equal(data.signatures.to_numpy(), splits["original_att"].T)
    assert data.attribute_names == ["has fur", "has::legs", "bite"]
    (package / "CUB" / "attribute_names.txt").write_text("4 legs\n2 legs\n0 legs\n")  # numbers that belong to the names
    assert xlsa17.load("CUB", package).attribute_names == ["4 legs", "2 legs", "0 legs"]
    (package / "CUB" / "attribute_names.txt").write_text("fur\nlegs\n")
    with pytest.raises(ValueError, match=r"attribute_names\.txt names 2 attributes, \S*att_splits\.mat has 3"):
        xlsa17.load("CUB", package)


def test_a_file_without_original_att(tmp_path):
    splits, features = tiny()
    del splits["original_att"]
    write_package(tmp_path / "CUB", splits, features)
    assert xlsa17.load("CUB", tmp_path).signatures.shape == (len(CLASSES), ATTRIBUTES)
    with pytest.raises(ValueError, match="has no original_att"):
        xlsa17.load("CUB", tmp_path, signatures="original_att")


@pytest.mark.parametrize("kind", WRITERS)
def test_signatures_of_another_mat(kind, package, monkeypatch):
    embeddings = np.random.default_rng(3).random((11, len(CLASSES)))
    path = package / "sentences.mat"
    WRITERS[kind](path, {"att": embeddings, "short": embeddings[:4].T})
    data = xlsa17.load("CUB", package, signatures=path)
    np.testing.assert_array_equal(data.signatures.to_numpy(), embeddings.T)
    assert data.attribute_names[:2] == ["att 1", "att 2"]
    data = xlsa17.load("CUB", package, signatures=f"{path}:short")
    np.testing.assert_array_equal(data.signatures.to_numpy(), embeddings[:4].T)
    with pytest.raises(ValueError, match=r"sentences\.mat has no variable 'long': it has 'att', 'short'"):
        xlsa17.load("CUB", package, signatures=f"{path}:long")
    path.rename(package / "CUB" / path.name)  # beside the splits the name is enough
    assert xlsa17.load("CUB", package, signatures="sentences.mat:short").signatures.shape == (len(CLASSES), 4)


def test_signatures_of_another_mat_with_its_own_order(package):
    embeddings = np.random.default_rng(3).random((11, len(CLASSES) + 1))
    names = ["yak", *reversed(CLASSES)]
    write_v5(package / "s.mat", {"att": embeddings, "allclasses_names": names})
    data = xlsa17.load("CUB", package, signatures=package / "s.mat")
    assert data.class_names.tolist() == CLASSES
    np.testing.assert_array_equal(data.signatures.to_numpy(), embeddings[:, :0:-1].T)
    write_v5(package / "s.mat", {"att": embeddings, "allclasses_names": ["yak", "emu", *CLASSES[1:]]})
    with pytest.raises(ValueError, match=r"s\.mat: allclasses_names lacks 'ant'"):
        xlsa17.load("CUB", package, signatures=package / "s.mat")
    write_v5(package / "s.mat", {"att": embeddings})
    with pytest.raises(ValueError, match=r"s\.mat: att is float64 of shape \(11, 9\): .* each of the 8 classes"):
        xlsa17.load("CUB", package, signatures=package / "s.mat")


def test_signatures_of_a_table(package):
    table = pd.DataFrame({"class": [*reversed(CLASSES), "yak", "ant"], "legs": range(1, 11), "fur": 1.0})
    table.to_csv(package / "table.csv", index=False)
    data = xlsa17.load("CUB", package, signatures=str(package / "table.csv"))
    assert data.class_names.tolist() == CLASSES
    assert data.attribute_names == ["legs", "fur"]
    assert data.signatures.loc["ant", "legs"].tolist() == [8, 10]  # two descriptions
    assert data.signatures.loc["hen", "legs"] == 1
    table[2:].to_csv(package / "table.csv", index=False)
    with pytest.raises(ValueError, match=r"table\.csv has no row for classes 'gnu', 'hen'"):
        xlsa17.load("CUB", package, signatures=package / "table.csv")
    (package / "table.csv").write_text("class,legs\nant,\nbee,6\n")
    with pytest.raises(ValueError, match=r"table\.csv: signatures contains NaN at class 'ant'"):
        xlsa17.load("CUB", package, signatures=package / "table.csv")


@pytest.mark.parametrize("wish", ["attributes", "none.mat", "none.mat:att", "none.csv"])
def test_unknown_signatures(package, wish):
    with pytest.raises(ValueError, match=r"signatures names .* expected 'att', 'original_att', FILE\.mat"):
        xlsa17.load("CUB", package, signatures=wish)
    (package / "CUB" / "table.txt").write_text("")
    with pytest.raises(ValueError, match=r"signatures is 'table\.txt': expected 'att'"):
        xlsa17.load("CUB", package, signatures="table.txt")
