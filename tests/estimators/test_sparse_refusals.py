"""Sparse rows where they cannot be taken: one sentence that says what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import zskl
from refusals import assert_one_sentence
from texts import CLASSES, dense, texts
from zskl import ClassMeansClassifier, Committee, export, methods, selection
from zskl.baselines import ESZSL, Cosine
from zskl.estimators import model_file, sparse_inputs

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
        sparse_inputs.check_rows(Cosine(device="cuda"), some.X)
    with pytest.raises(ValueError, match=r"expected 'sqrt' first"):
        Cosine(feature_scaling="center-sqrt").fit(some.X, some.y, table)


def test_a_model_file_with_faulty_sparse_parts_is_refused(fitted, tmp_path):
    path = tmp_path / "model.zskl"
    fitted["ClassMeansClassifier"].save(path)
    header, arrays = model_file.read(path)
    assert header["sparse"].keys() == {"signatures", "learned.kept_rows_"}
    faults = {
        r"whose parts do not fit": (header, {**arrays, "signatures.columns": arrays["signatures.columns"] + 99}),
        r"is not whole": (header, {name: one for name, one in arrays.items() if name != "signatures.starts"}),
        r"sparse array learned.center_ is": ({**header, "sparse": {"learned.center_": [1, 50]}}, arrays),
    }
    for words, (head, body) in faults.items():
        model_file.write(path, {key: value for key, value in head.items() if key not in ("format", "version")}, body)
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
