"""Training rows in pieces give the model of one fit, wherever and in whatever order they were added up."""

import numpy as np
import pandas as pd
import pytest

import zskl
from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier
from zskl.engines import Engine, each
from zskl.signatures import table as signature_table

TENTH = 1e-10  # of float64 sums: far above their rounding, far below any change of the rows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    names = np.array([f"c{number}" for number in range(8)])
    y = rng.permutation(np.repeat(names[:6], 20))
    means = {name: rng.normal(size=10) for name in names}
    X = np.array([means[c] for c in y]) + 0.5 * rng.normal(size=(120, 10))
    return X, y, {name: means[name][:4] for name in names}


def assert_same(one, other, rows):
    for name in ("rows", "totals", "products"):
        np.testing.assert_allclose(getattr(one._sums, name), getattr(other._sums, name), rtol=TENTH, atol=TENTH)
    assert np.array_equal(one._sums.kept.hashes, other._sums.kept.hashes)
    assert one.candidates_.tolist() == other.candidates_.tolist()
    assert_close(one.compatibility(rows), other.compatibility(rows), SOLUTION.single)


def test_pieces_in_any_order_are_one_fit(data, monkeypatch):
    monkeypatch.setattr("zskl.estimators.class_means.kept_rows.KEPT", 30)  # so that most rows are not kept
    X, y, table = data
    whole = ClassMeansClassifier().fit(X, y, table)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cuts = np.split(rng.permutation(len(y)), np.sort(rng.integers(1, len(y), 7)))
        pieces = ClassMeansClassifier()
        for number, rows in enumerate(piece for piece in cuts if len(piece)):
            pieces.partial_fit(X[rows], y[rows], table if number == 0 else None)
        assert_same(pieces, whole, X)


def test_a_fit_goes_on_with_further_pieces(data):
    X, y, table = data
    whole = ClassMeansClassifier().fit(X, y, table)
    assert_same(ClassMeansClassifier().fit(X[:50], y[:50], table).partial_fit(X[50:], y[50:]), whole, X)


def sums_of(model, rows):
    return model[0].sums(model[1][rows], model[2][rows])


@pytest.mark.parametrize("engine", [None, pytest.param("dask", marks=pytest.mark.xdist_group("dask"))])
def test_sums_of_workers_are_merged(data, engine):
    if engine == "dask":
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    X, y, table = data
    model, parts = ClassMeansClassifier(), np.array_split(np.random.default_rng(0).permutation(len(y)), 4)
    found = [one for _, one in each(sums_of, parts, (model, X, y), engine and Engine(engine, workers=2))]
    assert_same(model.fit_sums(sum(found[1:], found[0]), table), ClassMeansClassifier().fit(X, y, table), X)


def test_memory_mapped_rows_are_read_once_and_not_held(data, tmp_path, monkeypatch):
    monkeypatch.setattr("zskl.estimators.class_means.sums.BLOCK_VALUES", 300)
    monkeypatch.setattr("zskl.estimators.class_means.sums.BLOCK_ROWS", 1)
    X, y, table = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    read = []
    original = zskl.estimators.inputs.taken
    monkeypatch.setattr(
        "zskl.estimators.inputs.taken", lambda model, X, rows: read.append(rows) or original(model, X, rows)
    )
    model = ClassMeansClassifier().fit(mapped, y, table)
    assert [row for rows in read for row in range(rows.start, rows.stop)] == list(range(len(y)))
    assert len(read) == 4
    assert_same(model, ClassMeansClassifier().fit(X, y, table), X)


def test_a_bad_number_anywhere_is_found_and_the_model_stays(data):
    X, y, table = data
    model = ClassMeansClassifier().fit(X, y, table)
    before = model.compatibility(X)
    bad = X.copy()
    bad[77, 3] = np.nan
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="NaN in column 3, first at row 77"):
            learn(bad, y, table)
        assert np.array_equal(model.compatibility(X), before)


def test_what_pieces_cannot_do_is_refused(data, tmp_path):
    X, y, table = data
    with pytest.raises(ValueError, match="its step 'center' needs all training rows at once"):
        ClassMeansClassifier(feature_scaling="center-l2").partial_fit(X, y, table)
    model = ClassMeansClassifier().partial_fit(X[:40], y[:40], table)
    with pytest.raises(ValueError, match="X has 4 features, but ClassMeansClassifier is expecting 10"):
        model.partial_fit(X[:, :4], y)
    with pytest.raises(ValueError, match="this piece names classes by integers"):
        model.partial_fit(X[:2], [1, 2])
    with pytest.raises(ValueError, match=r"y holds .*, which `classes` does not name"):
        model.partial_fit(X[40:], y[40:], classes=["c0", "c1"])
    model.save(tmp_path / "m.zskl")
    with pytest.raises(ValueError, match="was loaded from a file, which does not hold the sums"):
        zskl.load(tmp_path / "m.zskl").partial_fit(X, y)


def test_a_model_of_one_class_so_far_is_not_fitted_yet(data):
    X, y, table = data
    model = ClassMeansClassifier().partial_fit(X[y == "c0"], y[y == "c0"], table)
    with pytest.raises(ValueError, match=r"not fitted yet, since all pieces so far hold 1 class only \('c0'\)"):
        model.predict(X)
    rest = y != "c0"
    assert_same(model.partial_fit(X[rest], y[rest]), ClassMeansClassifier().fit(X, y, table), X)


def test_a_scaling_with_a_fitted_step_is_fine_in_one_fit():
    data = zskl.datasets.make_synthetic()
    X, y = data.samples("trainval")
    assert np.isfinite(
        ClassMeansClassifier(feature_scaling="center-l2").fit(X, y, data.signatures).compatibility(X)
    ).all()


def test_descriptions_are_read_with_the_first_piece_alone(data, monkeypatch):
    X, y, table = data
    frame, pieces, reads = pd.DataFrame(table).T, ClassMeansClassifier(), []
    read = signature_table._from_frame
    monkeypatch.setattr(signature_table, "_from_frame", lambda given: reads.append(1) or read(given))
    for row in range(12):
        pieces.partial_fit(X[row : row + 1], y[row : row + 1], frame if row == 0 else None)
    assert len(reads) == 1
    frame.iloc[:] = np.nan  # what you do with the table later plays no part
    assert_same(pieces.partial_fit(X[12:], y[12:]), ClassMeansClassifier().fit(X, y, table), X)


def test_sums_that_do_not_go_together_are_refused(data):
    X, y, table = data
    model, other = ClassMeansClassifier(), ClassMeansClassifier(feature_scaling="l2")
    sums = model.sums(X, y)
    for more, sentence in (
        (model.sums(X[:, :3], y), "features 10 and of rows with features 3"),
        (other.sums(X, y), "feature_scaling 'sqrt-l2' and of rows with feature_scaling 'l2'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            sums + more
    for given, sentence in ((sums, "of rows scaled by 'sqrt-l2'"), (3, "sums is 3")):
        with pytest.raises(ValueError, match=f"{sentence}: expected what `sums` of a model with feature_scaling='l2'"):
            other.fit_sums(given, table)
    with pytest.raises(TypeError, match="unsupported operand"):
        sums + 1


def test_the_built_in_sum_adds_sums(data):
    X, y, table = data
    model = ClassMeansClassifier()
    both = sum([model.sums(X[:50], y[:50]), model.sums(X[50:], y[50:])])
    assert_same(model.fit_sums(both, table), ClassMeansClassifier().fit(X, y, table), X)
