"""Sparse rows and signatures in the three methods that take them: the same answers as for dense ones, and files."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import estimator_checks

import zskl
from texts import CLASSES, UNSEEN, dense, texts
from tolerances import SOLUTION, SUMS, assert_close, decided
from zskl import ClassMeansClassifier, UncalibratedWarning, scaling, selection
from zskl.baselines import ESZSL, Cosine
from zskl.sparse_rows import SparseRows

MODELS = {  # with shrinkage 1 the whole scatter says as much as its diagonal
    "cosine": (Cosine, SUMS.double),
    "eszsl": (ESZSL, SOLUTION.single),
    "eszsl signs": (lambda **settings: ESZSL(3.0, 0.3, "signs", **settings), SOLUTION.single),
    "class-means": (lambda **settings: ClassMeansClassifier(shrinkage=1.0, **settings), SOLUTION.single),
    "class-means identity": (
        lambda **settings: ClassMeansClassifier("linear", shrinkage=1.0, prior="identity", **settings),
        SOLUTION.single,
    ),
    "class-means cosine": (lambda **settings: ClassMeansClassifier(prior="cosine", **settings), SOLUTION.single),
}
SCALINGS = [
    *((one, one) for one in scaling.SCALINGS),
    ("sqrt-l2", "center-l2"),
    ("l2-center-l2", "l2"),
]


def both(model, feature_scaling="l2-center-l2", signature_scaling="center-l2"):
    """The model of sparse rows and signatures, and that of the same as dense arrays."""
    some, make = texts(), MODELS[model][0]
    settings = {"feature_scaling": feature_scaling, "signature_scaling": signature_scaling}
    return make(**settings).fit(some.X, some.y, some.table), make(**settings).fit(
        dense(some.X), some.y, some.dense_table
    )


@pytest.mark.parametrize(
    ("model", "scalings"), [(model, one) for model in MODELS for one in (SCALINGS[-1:] if " " in model else SCALINGS)]
)
def test_every_scaling_scores_as_dense_rows_do(model, scalings):
    found, expected = both(model, *scalings)
    some, tolerance = texts(), MODELS[model][1]
    wanted = expected.compatibility(dense(some.X_new))
    assert found.candidates_.tolist() == expected.candidates_.tolist() == CLASSES
    assert_close(found.compatibility(some.X_new), wanted, tolerance)
    assert_close(found.compatibility(dense(some.X_new)), wanted, tolerance)  # dense rows for the sparse model
    assert_close(expected.compatibility(some.X_new), wanted, tolerance)  # and the other way round
    with pytest.raises(AssertionError):
        assert_close(found.compatibility(some.X_new[::-1]), wanted, tolerance)


@pytest.mark.parametrize("model", ["cosine", "eszsl", "class-means identity"])
def test_every_answer_is_that_of_dense_rows(model, tmp_path):
    found, expected = both(model)
    some, tolerance = texts(), MODELS[model][1]
    table = {label: some.table[label] for label in ("x", "b")}
    array = {"signatures": some.signatures[[8, 1]], "candidates": ["x", "b"]}
    found.save(tmp_path / "model.zskl")
    loaded = zskl.load(tmp_path / "model.zskl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedWarning)
        calls = {
            "proba": lambda m, X: m.predict_proba(X),
            "decision": lambda m, X: m.decision_function(X),
            "top_k": lambda m, X: m.top_k(X, 3, return_scores=True)[1],
            "unseen": lambda m, X: m.compatibility(X, candidates=UNSEEN),
            "table": lambda m, X: m.compatibility(X, table),
            "dense table": lambda m, X: m.compatibility(X, {one: dense(row) for one, row in table.items()}),
            "array": lambda m, X: m.compatibility(X, **array),
            "blocks": lambda m, X: np.concatenate([one for _, one in m.iter_compatibility(X, block_rows=4)]),
            "out": lambda m, X: m.compatibility(X, out=np.empty((X.shape[0], len(CLASSES)))),
            "nearest": lambda m, X: m.nearest_classes(2)["similarity"].to_numpy(),
        }
        for call in calls.values():
            wanted = call(expected, dense(some.X_new))
            assert_close(call(found, some.X_new), wanted, tolerance)
            np.testing.assert_array_equal(call(loaded, some.X_new), call(found, some.X_new))
    clear = decided(expected.compatibility(dense(some.X_new)), tolerance)
    assert clear.mean() > 0.9
    for X in (some.X_new, sparse.csr_matrix(some.X_new), some.X_new.tocsc(), some.X_new.tocoo()):
        assert (found.predict(X) == expected.predict(dense(some.X_new)))[clear].all()
    assert found.score(some.X_new, some.y_new, candidates=UNSEEN) > 0.6
    single = some.X_new.astype(np.float32)
    assert found.compatibility(single).dtype == np.float32
    assert_close(found.compatibility(single), wanted_of(expected, single), SOLUTION.single)


def wanted_of(model, rows):
    return model.compatibility(dense(rows).astype(np.float64))


def test_scikit_learn_s_checks_of_sparse_rows():
    """All checks of cosine and ESZSL, these among them, are in tests/baselines/test_registry.py."""
    assert all(make().__sklearn_tags__().input_tags.sparse for make in (Cosine, ESZSL, ClassMeansClassifier))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedWarning)
        for check in ("sparse_tag", "sparse_array", "sparse_matrix"):
            getattr(estimator_checks, f"check_estimator_{check}")("ClassMeansClassifier", ClassMeansClassifier())


@pytest.mark.parametrize("model", ["cosine", "eszsl", "class-means"])
def test_sparse_rows_with_dense_signatures_and_the_other_way_round(model):
    some, (make, tolerance) = texts(), MODELS[model]
    wanted = make().fit(dense(some.X), some.y, some.dense_table).compatibility(dense(some.X_new))
    for X, X_new, table in (
        (some.X, some.X_new, some.dense_table),
        (dense(some.X), dense(some.X_new), some.table),
        (some.X, some.X_new, None),
    ):
        found = make().fit(X, some.y, table).compatibility(X_new)
        if table is None:
            wanted = make().fit(dense(some.X), some.y).compatibility(dense(some.X_new))
        assert_close(found, wanted, max(tolerance, SUMS.single) if table is None else tolerance)


def test_several_signatures_of_a_class_and_a_frame_of_sparse_columns():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: sparse frames")
    some = texts()
    rows = sparse.csr_array(sparse.vstack([some.signatures, some.signatures[[0, 1]] * 0.5 + some.signatures[[4, 5]]]))
    names = [*CLASSES, "a", "b"]
    frame = pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(rows), index=names).rename(columns=str)
    for model, (make, tolerance) in MODELS.items():
        if " " in model:
            continue
        found = make().fit(some.X, some.y, frame)
        wanted = make().fit(dense(some.X), some.y, frame.sparse.to_dense())
        assert isinstance(found.signature_table_.matrix, SparseRows)
        assert_close(found.compatibility(some.X_new), wanted.compatibility(dense(some.X_new)), tolerance)
        turned = frame[frame.columns[::-1]]
        np.testing.assert_array_equal(found.compatibility(some.X_new, turned), found.compatibility(some.X_new, frame))


@pytest.mark.parametrize("model", ["cosine", "eszsl", "class-means"])
def test_tuning_and_calibration_are_those_of_dense_rows(model):
    some, make = texts(), MODELS[model][0]
    grid = {"feature_scaling": ["l2", "center-l2"], **({"gamma": [0.5, 2.0], "lam": [0.3]} if model == "eszsl" else {})}
    grid |= {"crowding": [0.0, 0.2]} if model == "class-means" else {}
    X = some.X.tocoo() if model == "cosine" else some.X  # whose rows cannot be taken
    found = selection.tune(make(), X, some.y, some.table, grid, folds=2, engine=None)
    wanted = selection.tune(make(), dense(some.X), some.y, some.dense_table, grid, folds=2, engine=None)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=0.05)  # one row of a small class may change
    assert found.settings == wanted.settings
    assert found.best == wanted.best
    one, two = found.model, wanted.model
    assert one.calibration_ == pytest.approx(two.calibration_, abs=1e-3)
    for name, value in two.temperatures_.items():
        assert one.temperatures_[name] == pytest.approx(value, rel=1e-2)
    assert_close(one.predict_proba(some.X_new), two.predict_proba(dense(some.X_new)), 0.02)


def test_memory_depends_on_the_values_that_are_there_not_on_the_columns():
    """A dense copy of the rows would take 64 MB, a square of the columns 13 GB."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 40_000), density=5e-4, rng=rng, format="csr")
    y = np.repeat([*"abcdefghij"], 20)
    table = {label: sparse.random_array((1, 40_000), density=1e-3, rng=rng, format="csr") for label in "abcdefghijkl"}
    for make in (Cosine, ESZSL, ClassMeansClassifier):
        tracemalloc.start()
        model = make(feature_scaling="l2-center-l2").fit(X, y, table)
        assert model.predict(X).shape == (200,)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 * 8 * 12 * 40_000  # sixteen arrays of the size of columns × classes
