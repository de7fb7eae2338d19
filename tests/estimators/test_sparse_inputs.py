"""Sparse rows and signatures in the three methods that take them: the same answers as for dense ones, and files."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils import estimator_checks

import zskl
from sparse_texts import CLASSES, UNSEEN, dense, texts
from tolerances import SOLUTION, SUMS, assert_close, decided
from toy import assert_one_sentence
from zskl import ClassMeansClassifier, Committee, UncalibratedWarning, export, methods, scaling, selection
from zskl._arrays import SparseRows
from zskl.baselines import ESZSL, Cosine
from zskl.estimators import _inputs, model_file

# Sparse models --------------------------------------------------------------------------------------------------------

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


# Sparse refusals ------------------------------------------------------------------------------------------------------
# Sparse rows where they cannot be taken: one sentence that says what to do.

OTHERS = [name for name, method in methods.METHODS.items() if not method.estimator.SPARSE]


@pytest.mark.parametrize("name", OTHERS)
def test_other_methods_name_truncated_svd(name):
    some, model = texts(), methods.build(name)
    with pytest.raises(TypeError) as caught:
        model.fit(some.X, some.y, some.dense_table)
    assert_one_sentence(caught.value, ["X is a sparse csr_array", "make_pipeline(TruncatedSVD(300), model)", "eszsl"])
    with pytest.raises(ValueError) as caught:
        model.fit(dense(some.X), some.y, some.table)
    assert_one_sentence(caught.value, ["signatures are sparse", "TruncatedSVD(300).fit_transform(signatures)"])


def test_a_fitted_model_of_another_method_refuses_them_too():
    some = texts()
    model = methods.build("sae").fit(dense(some.X), some.y, some.dense_table)
    with pytest.raises(TypeError, match=r"X is a sparse coo_array, and SAE needs dense rows"):
        model.predict(some.X_new.tocoo())
    with pytest.raises(ValueError, match=r"signatures are sparse, and SAE needs dense ones"):
        model.predict(dense(some.X_new), some.table)
    with pytest.raises(TypeError, match=r"Committee needs dense rows: put a step before it"):
        Committee().fit(some.X, some.y, some.dense_table)
    with pytest.raises(TypeError, match=r"TruncatedSVD"):
        selection.tune(methods.build("sae"), some.X, some.y, some.dense_table, {"lam": [1.0]}, engine=None)


@pytest.fixture(scope="module")
def fitted():
    some = texts()
    return {make.__name__: make().fit(some.X, some.y, some.table) for make in (Cosine, ESZSL, ClassMeansClassifier)} | {
        "dense table": ESZSL().fit(some.X, some.y, some.dense_table)
    }


def test_what_needs_dense_rows_says_so(fitted):
    some, means, eszsl = texts(), fitted["ClassMeansClassifier"], fitted["dense table"]
    calls = {
        "an explanation": lambda: eszsl.explain(some.X_new),
        "attribute_space": lambda: eszsl.attribute_space(some.X_new),
        "a gallery": lambda: means.gallery(some.X_new),
        "a map of rows": lambda: means.ranking_map().samples(some.X_new),
        "add_examples": lambda: means.add_examples(some.X_new, some.y_new),
        "remove_examples": lambda: means.remove_examples(some.X_new, some.y_new),
        "adapt": lambda: means.adapt(some.X_new),
    }
    for what, call in calls.items():
        with pytest.raises(TypeError) as caught:
            call()
        assert_one_sentence(caught.value, [f"X is sparse, and {what} needs dense rows", "toarray()"])
    assert len(eszsl.explain(dense(some.X_new[:2]))) == 2


def test_what_needs_dense_signatures_says_so(fitted, tmp_path):
    rows = dense(texts().X_new)
    for name in ("Cosine", "ESZSL", "ClassMeansClassifier"):
        calls = [lambda name=name: fitted[name].explain(rows)]
        if name != "ClassMeansClassifier":
            calls.append(lambda name=name: fitted[name].attribute_space(rows))
        for call in calls:
            with pytest.raises(ValueError) as caught:
                call()
            assert_one_sentence(caught.value, ["the signatures are sparse", "TruncatedSVD(300)"])
        np.testing.assert_allclose(fitted[name].gallery(rows).scores(), fitted[name].compatibility(rows), atol=1e-6)
    with pytest.raises(ValueError, match=r"the signatures are sparse, and an explanation needs dense ones"):
        fitted["dense table"].explain(rows, signatures=texts().table)
    with pytest.raises(ValueError, match=r"the signatures are sparse, and an ONNX file needs dense ones"):
        export.to_onnx(fitted["ESZSL"], tmp_path / "model.onnx")
    serve = pytest.importorskip("zskl.serve.service", reason="zskl[serve] is not installed: the service")
    from zskl.serve.limits import Limits

    with pytest.raises(ValueError, match=r"the signatures are sparse, and the service needs dense ones"):
        serve.Service(fitted["ESZSL"], "texts", Limits())


BAD = {
    "not a number": (lambda X: put(X, np.nan), r"Input X contains NaN in column 3, first at row 2 \(1 such"),
    "infinity": (lambda X: put(X, np.inf), r"Input X contains infinity \(inf\) in column 3, first at row 2"),
    "too few columns": (lambda X: X[:, :40], r"X has 40 features, but ESZSL is expecting 50"),
}


def put(X, value):
    X = X.tolil()
    X[2, 3] = value
    return X.tocsr()


@pytest.mark.parametrize("fault", BAD)
def test_wrong_values_are_named(fitted, fault):
    change, words = BAD[fault]
    with pytest.raises(ValueError, match=words):
        fitted["ESZSL"].predict(change(texts().X_new))


def test_wrong_signatures_are_named():
    some = texts()
    table = dict(some.table)
    with pytest.raises(ValueError, match=r"signatures contains NaN at class 'c', attribute 3 \(1 such"):
        ESZSL().fit(some.X, some.y, {**table, "c": put(sparse.csr_array(np.ones((3, 50))), np.nan)})
    with pytest.raises(ValueError, match=r"signatures has 10 rows for 8 classes"):
        ESZSL().fit(some.X, some.y, some.signatures[:10])
    with pytest.raises(ValueError, match=r"the signature of class 'd' has 40 values, that of class 'a' 50"):
        ESZSL().fit(some.X, some.y, {**table, "d": some.signatures[[3]][:, :40]})
    with pytest.raises(ValueError, match=r"without class names: pass candidates"):
        ESZSL().fit(some.X, some.y, table).predict(some.X_new, some.signatures)
    with pytest.raises(ValueError, match=r"device is 'cuda' and X is sparse: expected device=None"):
        _inputs.check_sparse_rows(Cosine(device="cuda"), some.X)
    with pytest.raises(ValueError, match=r"expected 'sqrt' first"):
        Cosine(feature_scaling="center-sqrt").fit(some.X, some.y, table)


def test_a_model_file_with_faulty_sparse_parts_is_refused(fitted, tmp_path):
    path = tmp_path / "model.zskl"
    fitted["ClassMeansClassifier"].save(path)
    header, arrays = model_file.read_model(path)
    assert header["sparse"].keys() == {"signatures", "learned.kept_rows_"}
    faults = {
        r"whose parts do not fit": (header, {**arrays, "signatures.columns": arrays["signatures.columns"] + 99}),
        r"is not whole": (header, {name: one for name, one in arrays.items() if name != "signatures.starts"}),
        r"sparse array learned.center_ is": ({**header, "sparse": {"learned.center_": [1, 50]}}, arrays),
    }
    for words, (head, body) in faults.items():
        model_file.write_model(
            path, {key: value for key, value in head.items() if key not in ("format", "version")}, body
        )
        with pytest.raises(ValueError, match=rf"is damaged: .*{words}"):
            zskl.load(path)
    assert len(CLASSES) == len(fitted["ESZSL"].candidates_)


def test_rows_to_label_next_must_be_dense():
    some = texts()
    model = ESZSL().fit(some.X, some.y, some.table)
    with pytest.raises(TypeError, match=r"X is sparse, and label_next needs dense rows"):
        model.label_next(some.X_new, 2)


def test_columns_of_a_sparse_frame_are_found_by_name():
    some = texts()
    frame = pd.DataFrame.sparse.from_spmatrix(some.X, columns=[f"w{k}" for k in range(some.X.shape[1])])
    model = ESZSL().fit(frame, some.y, some.table)
    np.testing.assert_array_equal(model.compatibility(frame[frame.columns[::-1]]), model.compatibility(frame))
