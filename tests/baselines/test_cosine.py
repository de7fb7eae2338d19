"""Plain cosine in a shared space: its formula, files and exports, class means without signatures, refusals."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import zskl
from tolerances import FORMULA, SUMS, assert_close
from zskl import selection
from zskl.baselines import Cosine

CLASSES = [*"abcdefgh"]


@pytest.fixture(scope="module")
def shared():
    """X (60, 5) of six classes, y, and a table (8, 5) in the same space."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(8, 5)) + 0.5, index=CLASSES)
    y = np.repeat(CLASSES[:6], 10)
    return table.loc[y].to_numpy() * rng.uniform(0.5, 3, (60, 1)) + 0.3 * rng.normal(size=(60, 5)), y, table


def slow_cosines(X, Y):
    return [[sum(x * y) / (np.sqrt(sum(x * x)) * np.sqrt(sum(y * y))) for y in Y] for x in X]


def test_scores_are_cosines_of_what_you_gave(shared):
    X, y, table = shared
    model = Cosine().fit(X[:40], y[:40], table)
    found, order = model.compatibility(X), table.loc[model.candidates_].to_numpy()
    assert_close(found, slow_cosines(X, order), FORMULA.double)
    with pytest.raises(AssertionError):  # no lengths
        assert_close(found, X @ order.T, FORMULA.double)
    assert (model.predict(X[40:]) == y[40:]).mean() > 0.8  # of which two classes have no training rows
    assert_close(model.compatibility(X.astype(np.float32)), found, SUMS.single)
    centred = Cosine(feature_scaling="center", signature_scaling="center").fit(X, y, table)
    about = X - X.mean(axis=0), order - table.iloc[:6].mean().to_numpy()
    assert_close(centred.compatibility(X), slow_cosines(*about), SUMS.double)


def test_without_signatures_a_class_is_the_mean_of_its_rows(shared):
    X, y, _ = shared
    for scaling in ("none", "l2-center-l2"):
        model = Cosine(feature_scaling=scaling, signature_scaling="center-l2").fit(X, y)
        scaled = model.feature_scaling_.apply(X)
        means = [scaled[y == label].mean(axis=0) for label in model.seen_classes_]
        assert_close(model.compatibility(X), slow_cosines(scaled, means), SUMS.single)
        assert model.score(X, y) > 0.8


def test_a_file_and_an_export_score_alike(shared, tmp_path):
    X, y, table = shared
    for number, signatures in enumerate((table, None)):
        model = Cosine(feature_scaling="center-l2").fit(X, y, signatures)
        model.save(tmp_path / f"{number}.zskl")
        loaded = zskl.load(tmp_path / f"{number}.zskl")
        np.testing.assert_array_equal(loaded.compatibility(X), model.compatibility(X))
    exported_models = pytest.importorskip("exported_models", reason="onnx is not installed: exported models")
    model = Cosine(feature_scaling="center-l2", signature_scaling="center").fit(X, y, table)
    for fixed in (True, False):
        session = exported_models.exported(model, tmp_path, signatures=fixed)
        assert exported_models.both_precisions(model, session, X) < exported_models.TOLERANCE


def test_memory_mapped_rows_are_not_copied(tmp_path):
    rng, y = np.random.default_rng(0), np.repeat(CLASSES, 700)
    np.save(tmp_path / "rows.npy", rng.normal(size=(len(y), 500)).astype(np.float32))  # 11 MB
    rows, table = np.load(tmp_path / "rows.npy", mmap_mode="r"), pd.DataFrame(rng.normal(size=(8, 500)), index=CLASSES)
    tracemalloc.start()
    model = Cosine(feature_scaling="center").fit(rows, y, table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes / 4
    about = rows[:9] - rows.mean(axis=0, dtype=np.float64)
    assert_close(model.compatibility(rows[:9]), slow_cosines(about, table.to_numpy()), SUMS.single)


def test_an_explanation_adds_up_column_by_column(shared):
    X, y, table = shared
    model = Cosine().fit(X, y, table)
    scores, names = model.compatibility(X), model.candidates_.tolist()
    for row, one in zip(scores, model.explain(X), strict=True):
        expected = row[names.index(one.label)] - row[names.index(one.against)]
        assert one.contributions.sum() == pytest.approx(expected, abs=1e-9)


def test_tensors_and_tuning(shared):
    X, y, table = shared
    tuned = selection.tune(Cosine(), X, y, table, Cosine.GRID, folds=3, engine=None)
    assert tuned.best.keys() == Cosine.GRID.keys()
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: tensors")
    tensor, expected = torch.from_numpy(X), Cosine().fit(X, y, table).compatibility(X)
    assert_close(Cosine().fit(tensor, y, table).compatibility(tensor).numpy(), expected, SUMS.double)


def test_another_number_of_columns_is_refused_and_the_model_stays(shared):
    X, y, table = shared
    model = Cosine().fit(X, y, table)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"X has 4 columns and signatures have 5: expected the same number.* eszsl"):
        model.fit(X[:, :4], y, table)
    assert vars(model) == before
    with pytest.raises(ValueError, match=r"no setting of the grid applies to 4 features and 5 attributes: Cosine with"):
        selection.tune(Cosine(), X[:, :4], y, table, Cosine.GRID, folds=3, engine=None)
    for setting in Cosine.GRID:
        with pytest.raises(ValueError, match=rf"{setting} is 'nonsense': expected"):
            Cosine(**{setting: "nonsense"}).fit(X, y, table)
