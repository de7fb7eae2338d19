"""Class means of a folder of shards are those of all rows at once, and shards that do not fit are named."""

import numpy as np
import pandas as pd
import pytest

from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, fit_shards
from zskl.batch import fit as fit_folder
from zskl.cli.learning import fit_folder as command

TENTH = 1e-10  # of float64 sums: far above their rounding, far below any change of the rows
NAMES = ["x", "y", "z", "w"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(8, 12, 90)  # "10" sorts before "8" as text, and after it as a number
    X = (rng.normal(size=(4, 4))[y - 8] + 0.5 * rng.normal(size=(90, 4))).astype(np.float16)
    return X, y, pd.DataFrame(rng.normal(size=(5, 3)), index=pd.Index(range(8, 13), name="class")).add_prefix("a")


@pytest.fixture
def folder(data, tmp_path):
    X, y, table = data
    table.to_csv(tmp_path / "classes.csv")
    for part, rows in (("rows", X), ("labels", y)):
        (tmp_path / part).mkdir()
        for k in range(3):
            np.save(tmp_path / part / f"part-{k}.npy", rows[k::3])
    return tmp_path


def slow_sums(X, y):
    """Row by row in float64, of rows that were scaled in float32."""
    classes = sorted(set(y.tolist()))
    rows, totals = dict.fromkeys(classes, 0), {name: np.zeros(X.shape[1]) for name in classes}
    products = np.zeros((X.shape[1], X.shape[1]))
    for row, label in zip(X.astype(np.float32), y.tolist(), strict=True):
        root = row / np.abs(row).max()
        scaled = (root / np.sqrt((root * root).sum())).astype(np.float64)
        rows[label] += 1
        totals[label] += scaled
        products += np.outer(scaled, scaled)
    return np.array(list(rows.values())), np.array(list(totals.values())), products


def assert_same(model, X, y, table):
    whole = ClassMeansClassifier().fit(X, y, table)
    rows, totals, products = slow_sums(X, y)
    for name, slow in (("rows", rows), ("totals", totals), ("products", products)):
        found = getattr(model._sums, name)
        np.testing.assert_allclose(found, getattr(whole._sums, name), rtol=TENTH, atol=TENTH)
        np.testing.assert_allclose(found, slow, rtol=1e-6, atol=1e-6)  # the scaling is in float32
    assert np.array_equal(model._sums.kept.hashes, whole._sums.kept.hashes)
    assert model.candidates_.tolist() == whole.candidates_.tolist()
    assert np.array_equal(model.predict(X), whole.predict(X))


def test_npy_shards_with_files_of_labels(folder, data, monkeypatch):
    monkeypatch.setattr("zskl.datasets.tables.features.BLOCK_VALUES", 20)  # several blocks, several at a time
    monkeypatch.setattr(fit_folder, "TOGETHER", 2)
    told = []
    model = fit_shards(
        folder / "rows", folder / "labels", folder / "classes.csv", report=lambda *some: told.append(some)
    )
    assert_same(model, *data)
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_shards_of_several_blocks(folder, data):
    X, y, table = data
    estimator = ClassMeansClassifier(blocks=[3, 1], block_weights=[1, 2])
    model = fit_shards(folder / "rows", folder / "labels", folder / "classes.csv", estimator)
    whole = ClassMeansClassifier(blocks=[3, 1], block_weights=[1, 2]).fit(X, y, table)
    np.testing.assert_allclose(model._sums.products, whole._sums.products, rtol=TENTH, atol=TENTH)
    np.testing.assert_allclose(model.compatibility(X), whole.compatibility(X), rtol=1e-4, atol=1e-5)
    plain = ClassMeansClassifier().fit(X, y, table).compatibility(X)
    assert np.abs(whole.compatibility(X) - plain).max() > 0.01


def test_parquet_shards_with_a_column_of_labels_in_any_order(data, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    X, y, table = data
    for k in range(2):
        frame = pd.DataFrame(X[k::2].astype(np.float32), columns=NAMES).assign(species=y[k::2])
        frame[frame.columns[:: 1 - 2 * k]].to_parquet(tmp_path / f"{k}.parquet")
    model = fit_shards(tmp_path, "species", table)
    assert model.feature_names_in_.tolist() == NAMES
    del model.feature_names_in_  # rows without names are compared
    assert_same(model, *data)
    with pytest.raises(ValueError, match="has no column 'specie'"):
        fit_shards(tmp_path, "specie", table)


def test_sums_are_merged_in_the_order_of_shards(folder, data, monkeypatch):
    def backwards(function, tasks, shared, engine):
        for position in reversed(range(len(tasks))):
            yield position, function(shared, tasks[position])

    expected = fit_shards(folder / "rows", folder / "labels", data[2])
    monkeypatch.setattr("zskl.engines.each", backwards)
    assert np.array_equal(
        fit_shards(folder / "rows", folder / "labels", data[2])._sums.products, expected._sums.products
    )


def spoil(folder, what):
    if what == "width":
        np.save(folder / "rows" / "part-1.npy", np.ones((30, 3)))
    elif what == "label file":
        (folder / "labels" / "part-2.npy").unlink()
    elif what == "label":
        np.save(folder / "labels" / "part-2.npy", np.full(29, 8))
    elif what == "two":
        np.savetxt(folder / "labels" / "part-2.txt", np.full(30, 8), fmt="%d")
    elif what == "number":
        np.save(folder / "rows" / "part-1.npy", np.full((30, 4), np.nan))
    elif what == "file":
        (folder / "rows" / "part-1.npy").write_bytes(b"no array")
    elif what == "class":
        np.save(folder / "labels" / "part-2.npy", np.full(30, 99))


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("width", r"part-1.npy has 3 feature columns, and the shards before it have 4"),
        ("label file", r"labels has no labels for 'part-2.npy': expected a file for each shard"),
        ("label", r"part-2.npy has 30 rows and .*part-2.npy 29 labels"),
        ("two", r"several files of labels called 'part-2'"),
        ("number", r"part-1.npy, row 0 \(counted from 0\), column 0: found nan"),
        ("file", r"part-1.npy is not a NumPy file that can be read"),
        ("class", r"no signature for class 99"),
    ],
)
def test_a_shard_that_does_not_fit_is_named(folder, what, sentence):
    spoil(folder, what)
    with pytest.raises(ValueError, match=sentence):
        fit_shards(folder / "rows", folder / "labels", folder / "classes.csv")


def test_wrong_arguments_are_refused_by_fit_shards(folder, data):
    rows, table = folder / "rows", data[2]
    with pytest.raises(ValueError, match=r"labels is 'species', and 'part-0.npy'.* has no columns"):
        fit_shards(rows, "species", table)
    with pytest.raises(ValueError, match="model is a ZeroShotKernelClassifier: expected a ClassMeansClassifier"):
        fit_shards(rows, folder / "labels", table, ZeroShotKernelClassifier())
    with pytest.raises(ValueError, match="signatures is a ndarray: expected a file"):
        fit_shards(rows, folder / "labels", table.to_numpy())
    with pytest.raises(ValueError, match="expected a folder of"):
        fit_shards(folder / "classes.csv", folder / "labels", table)


def test_the_command_writes_the_model(folder, data):
    import zskl

    rows, labels, table = (str(folder / name) for name in ("rows", "labels", "classes.csv"))
    command(rows, labels, table, folder / "m.zskl", "class-means", {"shrinkage": 0.4}, False, None)
    model = zskl.load(folder / "m.zskl")
    whole = ClassMeansClassifier(shrinkage=0.4).fit(*data)
    assert np.array_equal(model.predict(data[0]), whole.predict(data[0]))
    for method, chosen, given, sentence in (
        ("eszsl", False, table, "expected class-means"),
        ("class-means", True, table, "need validation rows in memory"),
        ("class-means", False, None, "without --signatures"),
    ):
        with pytest.raises(ValueError, match=sentence):
            command(rows, labels, given, folder / "n.zskl", method, {}, chosen, None)
