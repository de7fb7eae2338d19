"""Pipelines: what a model can do on rows that transformers prepare, and files without code."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import zskl
from zskl import ClassMeansClassifier, UncalibratedWarning, baselines, selection
from zskl.estimators import model_file
from zskl.pipelines import TRANSFORMERS

SEEN, UNSEEN = ["cat", "cow", "dog", "hen"], ["owl"]
KINDS = [*SEEN, *UNSEEN]
RNG = np.random.default_rng(3)
TABLE = {kind: RNG.normal(size=3) for kind in KINDS}
MIX = RNG.normal(size=(3, 6))


def numbers(kinds, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([TABLE[kind] @ MIX for kind in kinds]) * 3 + 40 + rng.normal(size=(len(kinds), 6))


Y = np.repeat(SEEN, 12)
X, NEW = numbers(Y), numbers(np.repeat(UNSEEN, 5), seed=1)
TEXTS = [f"{['purrs', 'moos', 'barks', 'clucks'][SEEN.index(kind)]} number {k % 5} é" for k, kind in enumerate(Y)]


def pipeline(*steps, last=None):
    return zskl.make_pipeline(*(steps or (StandardScaler(),)), last or ClassMeansClassifier())


@pytest.fixture(scope="module")
def fitted():
    return pipeline().fit(X, Y, TABLE)


def test_it_is_a_pipeline_of_scikit_learn(fitted):
    assert isinstance(fitted, Pipeline)
    assert [name for name, _ in fitted.steps] == ["standardscaler", "classmeansclassifier"]
    plain = Pipeline([(name, clone(step)) for name, step in fitted.steps])
    plain.fit(X, Y, classmeansclassifier__signatures=TABLE)
    np.testing.assert_array_equal(fitted.predict(NEW), plain.predict(NEW))
    copied = clone(fitted).set_params(standardscaler__with_mean=False, classmeansclassifier__shrinkage=0.3)
    assert isinstance(copied, zskl.ZeroShotPipeline)
    assert copied.fit(X, Y, TABLE)[-1].shrinkage == 0.3
    assert type(fitted[:-1]) is Pipeline
    assert isinstance(fitted[-1:], zskl.ZeroShotPipeline)
    assert fitted["standardscaler"] is fitted[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedWarning)
        assert cross_val_score(pipeline(), X, Y, params={"signatures": TABLE}).mean() > 0.6


def test_signatures_reach_the_last_step_with_metadata_routing_too(fitted):
    with config_context(enable_metadata_routing=True):
        routed = pipeline(last=ClassMeansClassifier().set_fit_request(signatures=True)).fit(X, Y, TABLE)
        np.testing.assert_array_equal(routed.predict(NEW), fitted.predict(NEW))
    with pytest.raises(ValueError, match="signatures are given twice, also as classmeansclassifier__signatures"):
        pipeline().fit(X, Y, TABLE, classmeansclassifier__signatures=TABLE)


def test_rows_are_transformed_before_every_question(fitted):
    last, rows = fitted[-1], fitted[0].transform(NEW)
    np.testing.assert_array_equal(fitted.compatibility(NEW), last.compatibility(rows))
    np.testing.assert_array_equal(fitted.top_k(NEW, 2), last.top_k(rows, 2))
    np.testing.assert_array_equal(fitted.label_next(NEW, 2), last.label_next(rows, 2))
    assert fitted.nearest_classes(1).equals(last.nearest_classes(1))
    mine, own = fitted.explain(NEW, top=2, label="owl")[0], last.explain(rows, top=2, label="owl")[0]
    assert str(mine) == str(own)
    assert fitted.candidates_.tolist() == last.candidates_.tolist()
    assert fitted.predict(NEW, candidates=["owl", "cat"]).tolist() == ["owl"] * 5
    assert (fitted.calibration_, fitted.temperatures_) == (last.calibration_, last.temperatures_)


def test_examples_and_unlabelled_rows_give_a_new_pipeline(fitted):
    rows, before = fitted[0].transform(NEW), fitted.compatibility(NEW)
    taught = fitted.add_examples(NEW[:2], ["owl", "emu"], new_classes=True)
    wanted = fitted[-1].add_examples(rows[:2], ["owl", "emu"], new_classes=True)
    np.testing.assert_array_equal(taught.compatibility(NEW), wanted.compatibility(rows))
    adapted = fitted.adapt(NEW, ["owl"], force=True)
    np.testing.assert_array_equal(
        adapted.compatibility(NEW), fitted[-1].adapt(rows, ["owl"], force=True).compatibility(rows)
    )
    assert adapted.adaptation_["rows"] == 5
    assert taught[0] is fitted[0]
    for back in (taught.remove_examples(), taught.remove_examples(NEW[:2], ["owl", "emu"])):
        np.testing.assert_array_equal(back.compatibility(NEW), before)
    np.testing.assert_array_equal(fitted.compatibility(NEW), before)


@pytest.mark.filterwarnings("ignore::zskl.UncalibratedWarning")
@pytest.mark.parametrize("last", [ClassMeansClassifier(), baselines.ESZSL(), baselines.EXEM()], ids=repr)
def test_the_largest_probability_is_that_of_the_answer(last, tmp_path):
    model = pipeline(last=last).fit(X, Y, TABLE)
    model.save(tmp_path / "model.zskl")
    models = [model, zskl.load(tmp_path / "model.zskl"), zskl.make_pipeline(StandardScaler(), clone(last)).fit(X, Y)]
    if hasattr(model, "add_examples"):
        models += [model.add_examples(NEW[:2], ["asp", "asp"]), model.adapt(NEW, force=True)]
    rows = np.concatenate([X, NEW])
    for one in models:
        likely = one.predict_proba(rows)
        assert likely.shape == (len(rows), len(one.classes_))
        np.testing.assert_array_equal(one.classes_[likely.argmax(axis=1)], one.predict(rows))
        assert one.classes_.tolist() == one.candidates_.tolist() == sorted(one.classes_.tolist())
        assert one.seen_classes_.tolist() == SEEN


def test_a_pipeline_has_what_its_last_step_has():
    assert not hasattr(pipeline(last=baselines.ESZSL()), "add_examples")
    assert hasattr(pipeline(), "add_examples")
    with pytest.raises(ValueError, match="last step of the pipeline is a LogisticRegression: expected an estimator of"):
        zskl.make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)


def test_texts_can_be_taught_and_explained():
    """Sparse rows from a vectorizer, all the way."""
    about = {"cat": "purrs", "cow": "moos", "dog": "barks", "hen": "clucks", "owl": "hoots by night"}
    words = TfidfVectorizer().fit([*TEXTS, *about.values()])
    table = dict(zip(about, words.transform(about.values()), strict=True))
    model = pipeline(words).fit(TEXTS, Y, table)
    assert model.predict(["who hoots", "it barks"]).tolist() == ["owl", "dog"]
    explanation = model.explain(["hoots"], label="owl", against="cat")[0]
    assert explanation.difference > 0
    taught = model.add_examples(["an emu runs", "emu runs"], ["emu", "emu"])
    assert taught.predict(["emu"]).tolist() == ["emu"]


def test_tuning_gives_such_a_pipeline():
    tuned = selection.tune(pipeline(), X, Y, TABLE, {"classmeansclassifier__shrinkage": [0.3, 0.7]}, engine=None)
    assert isinstance(tuned.model, zskl.ZeroShotPipeline)
    assert len(tuned.model.explain(NEW)) == 5
    calibrated = selection.calibrate(pipeline().fit(X, Y, TABLE), X, Y, TABLE)
    assert calibrated.temperatures_ is not None


# Files

WORDS = ["a cat purrs", "the dog barks: été", "cat cat dog"] * 16
MIXED = pd.DataFrame(
    {"size": X[:, 0], "kind": np.tile(["b", "a", None], 16), "count": np.tile([1, 2, 3, 4], 12), "text": WORDS}
)
GAPS = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
COLUMNS = [
    ("numbers", Pipeline([("gaps", SimpleImputer()), ("scale", StandardScaler())]), ["size", "count"]),
    ("kinds", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["kind"]),
    ("words", TfidfVectorizer(ngram_range=(1, 2)), "text"),
]
CASES = {
    "StandardScaler": (StandardScaler(), X),
    "StandardScaler of float32": (StandardScaler(), X.astype(np.float32)),
    "StandardScaler of a frame": (
        StandardScaler().set_output(transform="pandas"),
        pd.DataFrame(X, columns=[*"abcdef"]),
    ),
    "MinMaxScaler": (MinMaxScaler(feature_range=(-1, 1)), X),
    "MaxAbsScaler": (MaxAbsScaler(), X),
    "RobustScaler": (RobustScaler(), X),
    "Normalizer": (Normalizer("l1"), X),
    "Binarizer": (Binarizer(threshold=40.0), X),
    "PowerTransformer": (PowerTransformer(), X),
    "QuantileTransformer": (QuantileTransformer(n_quantiles=9, random_state=np.random.RandomState(0)), X),
    "PCA": (PCA(3, whiten=True), X.astype(np.float32)),
    "PCA by share": (PCA(0.9), X),
    "TruncatedSVD": (TruncatedSVD(2, random_state=0), sparse.csr_array(X)),
    "VarianceThreshold": (VarianceThreshold(0.1), X),
    "SimpleImputer": (SimpleImputer(add_indicator=True), GAPS),
    "SimpleImputer of words": (SimpleImputer(strategy="most_frequent"), MIXED[["kind"]].astype(object)),
    "MissingIndicator": (MissingIndicator(), GAPS),
    "CountVectorizer": (CountVectorizer(ngram_range=(1, 2), stop_words=["the"], max_features=4), WORDS),
    "TfidfVectorizer": (TfidfVectorizer(sublinear_tf=True, dtype=np.float32), WORDS),
    "TfidfVectorizer with a vocabulary": (TfidfVectorizer(vocabulary=["cat", "dog"]), WORDS),
    "HashingVectorizer": (HashingVectorizer(n_features=32), WORDS),
    "TfidfTransformer": (TfidfTransformer(), sparse.csr_array(np.abs(X).astype(int))),
    "DictVectorizer": (DictVectorizer(), [{"size": 2.0, "kind": kind} for kind in Y]),
    "OneHotEncoder": (OneHotEncoder(drop="if_binary", min_frequency=2), MIXED[["kind", "count"]]),
    "OrdinalEncoder": (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=-1),
        MIXED[["kind"]],
    ),
    "ColumnTransformer": (ColumnTransformer(COLUMNS), MIXED),
    "ColumnTransformer by place": (
        ColumnTransformer([("one", MinMaxScaler(), slice(0, 2)), ("none", "drop", [2])], remainder="passthrough"),
        X,
    ),
    "FeatureUnion": (FeatureUnion([("scale", StandardScaler()), ("parts", PCA(2)), ("same", "passthrough")]), X),
    "Pipeline": (Pipeline([("scale", RobustScaler()), ("none", "passthrough"), ("parts", PCA(2))]), X),
    "FunctionTransformer": (FunctionTransformer(), X),
}


def as_array(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


@pytest.mark.parametrize("case", CASES)
def test_every_transformer_of_the_list_comes_back_as_it_was(case, tmp_path):
    step, rows = CASES[case]
    model = zskl.make_pipeline(clone(step).fit(rows, Y), baselines.ESZSL().fit(X, Y, TABLE))
    model.save(tmp_path / "model.zskl")
    loaded = zskl.load(tmp_path / "model.zskl")
    found, wanted = (one[:-1].transform(rows) for one in (loaded, model))
    assert type(found) is type(wanted)
    np.testing.assert_array_equal(as_array(found), as_array(wanted))
    assert as_array(found).shape[1] > 0
    assert as_array(found).dtype == as_array(wanted).dtype
    assert loaded[0].get_params().keys() == model[0].get_params().keys()
    if hasattr(model[0], "get_feature_names_out") and "Hashing" not in case:
        assert loaded[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    if type(loaded[0]) is type(step) and isinstance(rows, np.ndarray) and "Function" not in case:
        with pytest.raises(ValueError, match="features"):
            loaded[0].transform(rows[:, :-1])


def test_every_transformer_of_the_list_has_a_case():
    assert {case.split()[0] for case in CASES} == set(TRANSFORMERS)


def test_a_file_answers_learns_and_is_tuned_as_the_pipeline_did(fitted, tmp_path):
    taught = pipeline(StandardScaler(), PCA(4, random_state=0)).fit(X, Y, TABLE).add_examples(NEW[:1], ["owl"])
    taught.save(tmp_path / "model.zskl")
    loaded = zskl.load(tmp_path / "model.zskl", device="cpu")
    assert isinstance(loaded, zskl.ZeroShotPipeline)
    assert loaded[-1].device == "cpu"
    np.testing.assert_array_equal(loaded.compatibility(NEW), taught.compatibility(NEW))
    found, wanted = (one.add_examples(NEW[1:3], ["owl", "owl"]) for one in (loaded, taught))
    np.testing.assert_array_equal(found.compatibility(NEW), wanted.compatibility(NEW))
    again = clone(loaded).fit(X, Y, TABLE)
    np.testing.assert_array_equal(again.predict(NEW), clone(taught).fit(X, Y, TABLE).predict(NEW))
    named = zskl.ZeroShotPipeline([("skip", "passthrough"), ("means", fitted[-1])], verbose=True)
    named.save(tmp_path / "named.zskl")
    loaded = zskl.load(tmp_path / "named.zskl")
    assert [name for name, _ in loaded.steps] == ["skip", "means"]
    assert loaded.verbose is True


class Own(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            FunctionTransformer(np.log1p),
            "the step 'functiontransformer' is a FunctionTransformer, whose function would be",
        ),
        (KernelPCA(2), "the step 'kernelpca' is a KernelPCA"),
        (Own(), "the step 'own' is a Own"),
        (FeatureUnion([("own", Own())]), "the step 'featureunion' holds a Own"),
        (ColumnTransformer([("all", StandardScaler(), make_column_selector())]), "holds .* a make_column_selector"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_a_file_cannot_hold_is_refused_in_one_sentence(step, words, tmp_path):
    rows = pd.DataFrame(X) if isinstance(step, ColumnTransformer) else X
    model = pipeline(step).fit(rows, Y, TABLE)
    with pytest.raises(ValueError, match=words) as caught:
        model.save(tmp_path / "model.zskl")
    assert "save the model alone, by pipeline[-1].save" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model.zskl").exists()


def test_words_with_a_function_are_refused(tmp_path):
    model = pipeline(TfidfVectorizer(tokenizer=str.split, token_pattern=None)).fit(TEXTS, Y)
    with pytest.raises(ValueError, match=r"the step 'tfidfvectorizer' holds \"<method 'split'"):
        model.save(tmp_path / "model.zskl")


def change(header, *keys, value):
    at = header
    for key in keys[:-1]:
        at = at[key]
    at[keys[-1]] = value
    return header


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (("steps", 0, 1, "transformer"), "Popen", "is of the kind 'Popen', which is not one that a file can hold"),
        (("steps", 0, 1, "learned", "transform"), 1, "has learned 'transform', which is not a learned value"),
        (("steps", 0, 1, "learned", "__class__"), 1, "has learned '__class__'"),
        (("steps", 0, 1, "learned", "mean_"), {"array": "model.center_"}, "the array model.center_ is missing"),
        (("steps", 0, 1, "learned", "mean_"), {"call": []}, "a value of the kind 'call'"),
        (("steps", 0, 1), 3, "one of its steps does not transform rows"),
        (("steps", 0, 1, "parameters", "size"), 3, "unexpected keyword"),
        (("last",), None, "lacks 'last'"),
    ],
)
def test_a_faulty_file_is_refused(fitted, tmp_path, keys, value, words):
    fitted.save(tmp_path / "model.zskl")
    header, arrays = model_file.read_model(tmp_path / "model.zskl")
    header = change(json.loads(json.dumps(header)), *keys, value=value)
    if value is None:
        del header["last"]
    kept = {key: one for key, one in header.items() if key not in ("format", "version")}
    model_file.write_model(tmp_path / "model.zskl", kept, arrays)
    with pytest.raises(ValueError, match=f"is damaged: .*{words}"):
        zskl.load(tmp_path / "model.zskl")


def test_a_function_in_a_file_is_refused(fitted, tmp_path):
    pipeline(FunctionTransformer()).fit(X, Y, TABLE).save(tmp_path / "model.zskl")
    header, arrays = model_file.read_model(tmp_path / "model.zskl")
    header["steps"][0][1]["parameters"]["func"] = "os.system"
    kept = {key: one for key, one in header.items() if key not in ("format", "version")}
    model_file.write_model(tmp_path / "model.zskl", kept, arrays)
    with pytest.raises(ValueError, match="a step has a function"):
        zskl.load(tmp_path / "model.zskl")
