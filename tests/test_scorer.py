"""A scorer answers as the model does: bit for bit in float32, from any kind of batch, without scikit-learn."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import zskl
from tolerances import SUMS, assert_close
from toy import make_toy
from zskl import ClassMeansClassifier, Scorer
from zskl.decisions import Curve, Decisions
from zskl.estimators import _class_means_scores, model_file

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
TOY = make_toy()
ROWS = np.concatenate([TOY.X, TOY.X_new])
TEMPERATURES = {"seen": 0.2, "unseen": 0.3, "mixed": 0.25, "mixed_seen": 0.2, "mixed_unseen": 0.4}


def calibrated(model):
    model.calibration_, model.temperatures_ = 0.15, TEMPERATURES
    return model


def fitted(table=TOY.table, **settings):
    return calibrated(ClassMeansClassifier(**settings).fit(TOY.X, TOY.y, table))


def several_descriptions():
    again = pd.concat([TOY.table, 0.9 * TOY.table.loc[["emu", "cat"]] + 0.1])
    return fitted(again)


def taught():
    return fitted().add_examples(TOY.X_new[:3], ["emu", "emu", "bee"])


MODELS = {
    "plain": fitted,
    "crowding": lambda: fitted(crowding=0.3),
    "blocks": lambda: fitted(blocks=[4, 2], block_weights=[1.0, 3.0], signature_blocks=[1, 3]),
    "several descriptions": several_descriptions,
    "examples": taught,
    "unlabelled rows": lambda: fitted().adapt(ROWS, force=True),
    "logarithms": lambda: fitted(feature_scaling="log-unit-center-l2"),
    "standardized": lambda: fitted(feature_scaling="standardize-l2"),
    "roots": lambda: fitted(feature_scaling="sqrt-l2"),
    "raw": lambda: fitted(feature_scaling="none"),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Name → the fitted model and its file."""
    folder, found = tmp_path_factory.mktemp("models"), {}

    def get(name):
        if name not in found:
            model, path = MODELS[name](), folder / f"{name}.zskl"
            model.save(path)
            found[name] = model, path
        return found[name]

    return get


@pytest.fixture(params=MODELS)
def pair(request, models):
    return models(request.param)


def test_float32_has_the_bits_of_the_model_and_float64_its_precision(pair):
    model, path = pair
    for dtype in ("float32", "float16", "float64"):
        X = ROWS.astype(dtype)
        found, score = Scorer(path)(X), model.top_k(X, 1, return_scores=True)[1]
        likely = model.predict_proba(X).max(axis=1)
        assert found["class"].tolist() == model.predict(X).tolist() == Scorer(path)(X)["class"].tolist()
        if dtype == "float64":
            assert_close(found["score"], score[:, 0], SUMS.double)
            assert_close(found["probability"], likely, SUMS.double)
        else:
            assert found["score"].tolist() == score[:, 0].tolist()
            assert found["probability"].tolist() == likely.tolist()


def test_scores_are_those_of_plain_loops(models):
    """The formula in the docstring, row by row and class by class, with what is learned from the model's attributes."""
    model, path = models("blocks")
    labels, vectors = Scorer(path).class_vectors()
    expected = []
    for x in ROWS:
        parts = []
        for block, at in zip(model.feature_scaling_.parts, model.blocks_.columns, strict=True):
            x_b = block.apply(x[None, at])[0] - model.center_[at]
            size = at.stop - at.start
            white = [sum(x_b[i] * model.whitening_[at.start + i, j] for i in range(size)) for j in range(size)]
            length = math.sqrt(sum(one * one for one in white))
            parts += [one / length * math.sqrt((1.0 if at.start == 0 else 3.0) / 4.0) for one in white]
        expected.append([sum(a * b for a, b in zip([*parts, 1.0], u, strict=True)) for u in vectors.tolist()])
    raw = model.compatibility(ROWS) - model.calibration_ * np.isin(labels, model.seen_classes_)
    assert_close(np.array(expected), raw, SUMS.single)
    assert_close(Scorer(path).vectors(ROWS) @ vectors.T, raw.astype(np.float32), SUMS.single)
    assert labels.tolist() == model.classes_.tolist()


def test_a_planted_fault_is_found(models):
    """A vector that is off by more than rounding changes scores."""
    model, path = models("plain")
    scorer = Scorer(path)
    scorer._arrays = {**scorer._arrays, model_file.VECTORS: scorer._arrays[model_file.VECTORS] * np.float32(1.001)}
    with pytest.raises(AssertionError):
        assert_close(scorer(ROWS)["score"], model.top_k(ROWS, 1, return_scores=True)[1][:, 0], SUMS.single)


def test_candidates_decide_on_calibration_and_temperature(models):
    model, path = models("plain")
    for some in (["emu", "bee"], ["dog", "cat"], ["bee", "ant"]):
        found = Scorer(path, candidates=some)(ROWS)
        assert found["class"].tolist() == model.predict(ROWS, candidates=some).tolist()
        assert_close(found["probability"], model.predict_proba(ROWS, candidates=some).max(axis=1), SUMS.double)
    with pytest.raises(ValueError, match="candidates has 'yak': expected some of"):
        Scorer(path, candidates=["yak"])


def test_other_classes_go_into_a_file_of_their_own(models, tmp_path):
    model, path = models("crowding")
    new = pd.DataFrame(TOY.table.to_numpy()[:3] + 0.2, index=["owl", "cat", "kiwi"], columns=TOY.table.columns)
    Scorer(path, signatures=new).save(tmp_path / "birds.zskl")
    scorer = Scorer(tmp_path / "birds.zskl")
    assert scorer.classes_.tolist() == ["owl", "cat", "kiwi"]
    assert scorer(ROWS)["class"].tolist() == model.predict(ROWS, new).tolist()
    with pytest.raises(ValueError, match="expected the file of its model"):
        Scorer(tmp_path / "birds.zskl", signatures=new)


def test_its_own_file_is_small_and_says_what_it_is(pair, tmp_path):
    model, path = pair
    scorer = Scorer(model)
    scorer.save(tmp_path / "small.zskl")
    again = Scorer(tmp_path / "small.zskl")
    for one in (scorer, again, Scorer(again), pickle.loads(pickle.dumps(again))):
        assert {name: found.tolist() for name, found in one(ROWS).items()} == {
            name: found.tolist() for name, found in Scorer(path)(ROWS).items()
        }
    assert (tmp_path / "small.zskl").stat().st_size < path.stat().st_size
    with pytest.raises(ValueError, match=r"is a scorer.s file: read it by zskl\.Scorer"):
        zskl.load(tmp_path / "small.zskl")


def test_a_file_without_class_vectors_is_completed(models, tmp_path, monkeypatch):
    """One of an earlier version, or of more classes than fit."""
    model, _ = models("plain")
    monkeypatch.setattr(_class_means_scores, "KEPT_VALUES", 0)
    model.save(tmp_path / "model.zskl")
    assert model_file.VECTORS not in model_file.read_model(tmp_path / "model.zskl")[1]
    assert Scorer(tmp_path / "model.zskl")(ROWS)["class"].tolist() == model.predict(ROWS).tolist()


def test_min_probability_says_unknown_as_the_model_does(models):
    model, path = models("plain")
    found = Scorer(path, min_probability=0.6)(ROWS)
    assert found["unknown"].tolist() == (model.predict(ROWS, min_probability=0.6) == "unknown").tolist()
    assert 0 < found["unknown"].sum() < len(ROWS)
    bare = copy.copy(model)
    bare.temperatures_ = None
    found = Scorer(bare)(ROWS)
    assert np.isnan(found["probability"]).all()
    assert not found["unknown"].any()
    with pytest.raises(ValueError, match="no probabilities: calibrate it"):
        Scorer(bare, min_probability=0.5)
    with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
        Scorer(path, min_probability=2)


def test_reject_is_the_share_of_known_rows_as_in_the_model(tmp_path):
    model = fitted()
    curve = Curve((0.05, 0.2, 0.5), (0.1, 0.4, 0.6), (0.05, 0.3, 0.5), 4.0)
    model.decisions_ = Decisions({}, {"mixed": curve, "seen": curve}, 0.5, {})
    model.save(tmp_path / "model.zskl")
    Scorer(tmp_path / "model.zskl").save(tmp_path / "small.zskl")
    for share, some in ((0.05, None), (0.3, None), (0.45, ["ant", "cat"]), (0.01, None)):
        expected = model.predict(ROWS, candidates=some, reject=share) == "unknown"
        scorer = Scorer(tmp_path / "small.zskl", reject=share, candidates=some)
        assert scorer(ROWS)["unknown"].tolist() == expected.tolist()
        assert share in (0.01, 0.05) or 0 < expected.sum() < len(ROWS)
    with pytest.raises(ValueError, match="expected a calibrated model; calibrate it, and save it again"):
        Scorer(fitted(), reject=0.05)


def vectors(X, kind=pa.float32):
    return pa.FixedSizeListArray.from_arrays(pa.array(X.ravel(), kind()), X.shape[1])


def batches():
    """Kinds of batch, all of the same rows in float32 or float64."""
    X = ROWS.astype(np.float32)
    numbers = list(range(len(X)))
    fixed = pa.table({"id": numbers, "vector": vectors(X)})
    columns = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return {
        "list": ROWS.tolist(),
        "NumPy": X,
        "table": fixed,
        "record batch": fixed.to_batches()[0],
        "slices": pa.concat_tables([fixed.slice(0, 7), fixed.slice(7)]),
        "lists": pa.table({"id": numbers, "vector": pa.array(X.tolist(), pa.list_(pa.float32()))}),
        "large lists": pa.table({"id": numbers, "vector": pa.array(X.tolist(), pa.large_list(pa.float32()))}),
        "tensors": pa.table({"vector": pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(X))}),
        "array": vectors(X),
        "chunks": pa.chunked_array([vectors(X[:5]), vectors(X[5:])]),
        "columns": pa.table(columns),
        "pandas": columns,
        "polars": polars.from_arrow(fixed),
    }


@pytest.mark.parametrize("kind", list(batches()))
def test_every_kind_of_batch_gets_the_same_answers(models, kind):
    model, path = models("crowding")
    batch, scorer = batches()[kind], Scorer(path)
    found = scorer(batch)
    if kind in ("array", "chunks"):
        found = pa.Table.from_struct_array(found)
    read = (lambda name: found[name].tolist()) if isinstance(found, dict) else (lambda name: found[name].to_pylist())
    assert read("class") == model.predict(ROWS.astype(np.float32)).tolist()
    assert not any(read("unknown"))
    assert np.allclose(read("probability"), model.predict_proba(ROWS).max(axis=1), atol=1e-6, rtol=0)
    if "id" in getattr(batch, "column_names", []):
        assert read("id") == list(range(len(ROWS)))
        assert "vector" not in found.column_names
    if kind == "record batch":
        assert isinstance(found, pa.RecordBatch)
    mapped = scorer.vectors(batch)
    mapped = mapped if isinstance(mapped, np.ndarray) else mapped["vector"] if kind not in ("array", "chunks") else None
    if mapped is not None:
        mapped = np.array(mapped.to_pylist() if hasattr(mapped, "to_pylist") else mapped.tolist())
        assert_close(mapped, scorer.vectors(ROWS.astype(np.float32)).astype(np.float64), SUMS.single)


def test_empty_batches_have_the_same_columns(models):
    scorer = Scorer(models("plain")[1])
    table = batches()["table"]
    assert scorer(table.slice(0, 0)).schema == scorer(table).schema
    assert scorer(table.schema.empty_table()).schema == scorer(table).schema
    assert scorer([])["class"].tolist() == []


def test_more_rows_than_a_block_and_labels_of_integers(monkeypatch):
    model = ClassMeansClassifier().fit(TOY.X, np.unique(TOY.y, return_inverse=True)[1])
    monkeypatch.setattr("zskl.scorer.BLOCK_BYTES", 400)
    found = Scorer(model)(pa.table({"vector": vectors(ROWS)}))
    assert found["class"].to_pylist() == model.predict(ROWS).tolist()
    assert found.schema.field("class").type == pa.int64()
    assert found["probability"].null_count == len(ROWS)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (lambda: ROWS[:, :4], r"shape \(46, 4\): expected \(rows, 6\)"),
        (lambda: ROWS[0], "expected .rows, 6."),
        (lambda: np.where(np.arange(276).reshape(46, 6) == 20, np.nan, ROWS), "row 3, column 2 of the batch is nan"),
        (lambda: "rows.csv", "the batch is a str: expected Arrow data"),
        (lambda: {"vector": ROWS}, "in Ray Data ask for batches of the format pyarrow"),
        (lambda: pa.table({"a": [1.0], "b": [2.0]}), "columns 'a', 'b': expected one of vectors, or 6 of numbers"),
        (lambda: pa.table({"a": vectors(ROWS), "b": vectors(ROWS)}), "name them by features="),
        (lambda: pa.table({"a": vectors(ROWS[:, :4])}), "a vector of 4 numbers: expected vectors of 6 numbers"),
        (lambda: pa.table({"a": pa.array([[1.0], None])}), "has 1 nulls: expected numbers"),
        (lambda: pa.table({"a": pa.array([[1.0, None, 2, 3, 4, 5]])}), "holds nulls"),
    ],
)
def test_what_does_not_fit_is_refused(models, batch, message):
    with pytest.raises(ValueError, match=message):
        Scorer(models("plain")[1])(batch())


def test_columns_are_chosen_by_name(models):
    scorer = Scorer(models("plain")[1], features="b")
    table = pa.table({"a": vectors(ROWS[::-1]), "b": vectors(ROWS)})
    found = scorer(table)
    assert found.column_names == ["a", "class", "score", "probability", "unknown"]
    assert found["class"].to_pylist() == scorer(ROWS)["class"].tolist()
    with pytest.raises(ValueError, match="features names 'b': expected columns of 'a'"):
        scorer(table.drop_columns("b"))
    frame = pd.DataFrame(TOY.X, columns=list("uvwxyz"))
    named = Scorer(ClassMeansClassifier().fit(frame, TOY.y, TOY.table))
    turned = pa.table(frame[list("zyxwvu")].assign(id=range(len(frame))))
    assert named(turned)["class"].to_pylist() == named(TOY.X)["class"].tolist()


def test_a_damaged_file_is_refused(models, tmp_path):
    header, arrays = model_file.read_model(models("plain")[1])
    for name, array in (("center_", np.zeros(5)), ("whitening_", np.full((6, 6), np.nan)), ("center_", np.zeros(()))):
        model_file.write_model(tmp_path / "model.zskl", header, arrays | {f"learned.{name}": array})
        with pytest.raises(ValueError, match="are no scorer: copy the file again"):
            Scorer(tmp_path / "model.zskl")


def test_other_models_are_refused(tmp_path):
    TOY.fitted().save(tmp_path / "kernel.zskl")
    with pytest.raises(ValueError, match="expected class means; apply it by"):
        Scorer(tmp_path / "kernel.zskl")
    with pytest.raises(ValueError, match="model is a ZeroShotKernelClassifier: expected a fitted ClassMeansClassifier"):
        Scorer(TOY.fitted())
    zskl.make_pipeline(ClassMeansClassifier()).fit(TOY.X, TOY.y, TOY.table).save(tmp_path / "pipeline.zskl")
    with pytest.raises(ValueError, match="holds a pipeline"):
        Scorer(tmp_path / "pipeline.zskl")
    with pytest.raises(FileNotFoundError):
        Scorer(tmp_path / "nothing.zskl")


def test_it_needs_numpy_alone(models):
    """In a process of its own, in which nothing heavier can be imported."""
    _, path = models("plain")
    code = (
        "import sys\n"
        "for name in ('sklearn', 'pandas', 'scipy', 'torch', 'joblib', 'narwhals', 'array_api_compat', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "import zskl\n"
        f"scorer = zskl.Scorer({str(path)!r})\n"
        f"print(*scorer({ROWS[:3].tolist()})['class'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == Scorer(path)(ROWS[:3])["class"].tolist()
