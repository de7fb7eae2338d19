"""`classes_[predict_proba(X).argmax(1)] == predict(X)`, for every method, in every situation, unseen classes too."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

import zskl
from tolerances import SUMS, assert_close
from toy import SEEN, make_toy
from zskl import ClassMeansClassifier, datasets, methods
from zskl.estimators import _candidates
from zskl.estimators._candidates import softmax, to_probabilities
from zskl.methods import METHODS

pytestmark = [
    pytest.mark.filterwarnings("ignore::zskl.estimators.base.UncalibratedWarning"),
    pytest.mark.filterwarnings("ignore::zskl.signatures.table.SignatureWarning"),
]
TEMPERATURES = {"seen": 0.4, "unseen": 0.5, "mixed": 0.6}
FLAT = dict.fromkeys(TEMPERATURES, 1e30)  # all probabilities are equal but for what rounding leaves
TEACHABLE = ["class-means", "means-softmax"]


def problem():
    """As many features as attributes, because the cosine needs that; "cat" and "cow" have the same description."""
    toy = make_toy()
    table = toy.table.copy()
    table.loc["cow"] = table.loc["cat"]
    rows = np.concatenate([toy.X, toy.X_new])[:, :4]
    return toy.X[:, :4], toy.y, table, rows


@pytest.fixture(scope="module", params=list(METHODS))
def fitted(request):
    X, y, table, rows = problem()
    return request.param, methods.build(request.param, {"random_state": 0}).fit(X, y, table), rows


def check(model, rows, seen=SEEN):
    """Everything that `classes_` promises; returns the answers."""
    classes, answers = model.classes_, model.predict(rows)
    assert classes.tolist() == sorted(set(classes.tolist())) == model.candidates_.tolist()
    assert model.seen_classes_.tolist() == list(seen)
    likely, scores = (np.asarray(one) for one in (model.predict_proba(rows), model.compatibility(rows)))
    assert likely.shape == scores.shape == (len(answers), len(classes))
    assert_close(likely.sum(axis=1), np.ones(len(likely)), SUMS.single)
    np.testing.assert_array_equal(classes[likely.argmax(axis=1)], answers)
    np.testing.assert_array_equal(classes[np.asarray(model.decision_function(rows)).argmax(axis=1)], answers)
    np.testing.assert_array_equal(model.top_k(rows, 1)[:, 0], answers)
    backwards = model.predict_proba(rows, candidates=classes[::-1])
    assert_close(np.asarray(backwards)[:, ::-1], likely, SUMS.single)
    plain = np.asarray(model.predict_proba(rows, calibrated=False)).argmax(axis=1)
    np.testing.assert_array_equal(classes[plain], model.predict(rows, calibrated=False))
    return answers


@pytest.mark.parametrize("constant", [0.0, 0.3, 1e3, -1e3])
@pytest.mark.parametrize("temperatures", [None, TEMPERATURES, FLAT], ids=["none", "fitted", "flat"])
def test_the_largest_probability_is_that_of_the_answer(fitted, constant, temperatures):
    _, model, rows = fitted
    model.calibration_, model.temperatures_ = constant, temperatures
    answers = check(model, rows)
    if abs(constant) > 1:  # more than most differences of scores
        assert np.isin(answers, SEEN).mean() == pytest.approx(float(constant < 0), abs=0.5)


@pytest.mark.parametrize("form", [np.float16, np.float64, list, pd.DataFrame, "tensor"])
def test_the_largest_probability_is_that_of_the_answer_for_rows_in_every_form(fitted, form):
    _, model, rows = fitted
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    if form == "tensor":
        torch = pytest.importorskip("torch")
        given = torch.tensor(rows, dtype=torch.float32)
    else:
        given = rows.tolist() if form is list else form(rows) if form is pd.DataFrame else rows.astype(form)
    check(model, given)


def test_the_largest_probability_is_that_of_the_answer_in_blocks(fitted, monkeypatch):
    _, model, rows = fitted
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    monkeypatch.setattr(_candidates, "BLOCK_BYTES", (256, 256))
    check(model, rows)


def test_a_loaded_model_has_the_same_classes(fitted, tmp_path):
    _, model, rows = fitted
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    model.save(tmp_path / "model.zskl")
    loaded = zskl.load(tmp_path / "model.zskl")
    assert check(loaded, rows).tolist() == model.predict(rows).tolist()
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("name", METHODS)
def test_integers_are_sorted_as_numbers(name):
    X, y, table, rows = problem()
    codes = {"ant": 100, "bee": 20, "cat": 3, "cow": -7, "dog": 10, "emu": 9}
    table = table.set_axis([codes[label] for label in table.index])
    model = methods.build(name, {"random_state": 0}).fit(X, [codes[label] for label in y], table)
    check(model, rows, seen=[3, 10, 100])
    assert model.classes_.tolist() == [-7, 3, 9, 10, 20, 100]


@pytest.mark.parametrize("name", METHODS)
def test_without_a_table_classes_are_those_of_y(name):
    X, y, table, rows = problem()
    if name == "cosine":  # which needs one
        check(methods.build(name).fit(X, y, table.loc[SEEN]), rows)
        return
    check(methods.build(name, {"random_state": 0}).fit(X, y), rows)


@pytest.mark.parametrize("name", TEACHABLE)
def test_classes_that_a_model_is_taught_are_sorted_in(name, tmp_path):
    X, y, table, rows = problem()
    model = methods.build(name, {"random_state": 0}).fit(X, y, table)
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    new = {"bat": rows[-1:] * 3, "aardvark": rows[:2] - 4}
    taught = model
    for label, examples in new.items():
        taught = taught.add_examples(examples, [label] * len(examples))
    taught = taught.add_examples(rows[-1:], ["elk"], {"elk": table.loc["emu"].to_numpy() + 0.1})
    assert taught.classes_.tolist() == ["aardvark", "ant", "bat", "bee", "cat", "cow", "dog", "elk", "emu"]
    assert {"aardvark", "bat"} <= set(check(taught, np.concatenate([rows, *new.values()])))
    adapted = taught.adapt(rows[-10:], force=True)
    check(adapted, rows)
    for one in (taught, adapted):
        one.save(tmp_path / "model.zskl")
        loaded = zskl.load(tmp_path / "model.zskl")
        assert check(loaded, rows).tolist() == one.predict(rows).tolist()
    less = taught.remove_examples(y=["bat"])
    assert less.classes_.tolist() == ["aardvark", "ant", "bee", "cat", "cow", "dog", "elk", "emu"]
    check(less, rows)
    assert check(model, rows).tolist() == model.predict(rows).tolist()  # which nobody has changed
    assert len(model.classes_) == 6


def test_sparse_rows_and_a_model_of_descriptions_alone():
    X, y, table, rows = problem()
    model = ClassMeansClassifier().fit(csr_array(X), y, table)
    check(model, csr_array(rows))
    begin = ClassMeansClassifier().fit([], [], table)  # the table is not sorted
    assert table.index.tolist() != sorted(table.index)
    check(begin, rows, seen=[])
    check(begin.add_examples(rows[:1], ["bat"]), rows, seen=[])
    pieces = ClassMeansClassifier().partial_fit(X[::2], y[::2], table).partial_fit(X[1::2], y[1::2])
    check(pieces, rows)


def test_a_pipeline_keeps_the_promise(tmp_path):
    X, y, table, rows = problem()
    model = zskl.make_pipeline(StandardScaler(), ClassMeansClassifier()).fit(X, y, signatures=table)
    model[-1].calibration_, model[-1].temperatures_ = 0.3, TEMPERATURES
    taught = model.add_examples(rows[-2:], ["bat", "bat"])
    taught.save(tmp_path / "model.zskl")
    for one in (model, taught, zskl.load(tmp_path / "model.zskl")):
        assert one.seen_classes_.tolist() == SEEN
        np.testing.assert_array_equal(one.classes_[one.predict_proba(rows).argmax(axis=1)], one.predict(rows))
    assert taught.classes_.tolist() == ["ant", "bat", *table.drop(index="ant").sort_index().index]


def test_rows_of_unseen_classes_get_their_probability():
    """0.2 left the classes without rows out: their rows were never right."""
    data = datasets.make_synthetic(n_seen=30, noise=0.2)
    X, labels = data.samples("test_unseen")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    model.calibration_ = 1e3
    assert np.mean(model.classes_[model.predict_proba(X).argmax(axis=1)] == labels) > 0.5
    known = model.predict_proba(X, candidates=model.seen_classes_)  # as 0.2 did
    assert not np.isin(model.seen_classes_[known.argmax(axis=1)], labels).any()


# Scores → probabilities

SCORES = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.one_of(st.integers(-2, 2), st.floats(-1e3, 1e3, width=32)),
    fill=st.nothing(),
)


@settings(max_examples=200, deadline=None)
@given(SCORES, st.sampled_from([1e-6, 1e-3, 0.05, 1.0, 1e6, 1e30]))
def test_probabilities_are_largest_where_scores_are(scores, temperature):
    found = to_probabilities(scores, np.full(scores.shape[1], temperature))
    assert found.dtype == scores.dtype
    assert found.argmax(axis=1).tolist() == scores.argmax(axis=1).tolist()
    assert_close(found, softmax(scores / temperature), SUMS.single)


def test_a_plain_softmax_would_not_keep_the_promise():
    """The planted fault: differences below what exp can tell are lost."""
    scores = np.array([[0.01, np.nextafter(0.01, 1.0)], [0.5, 0.5]])
    assert scores.argmax(axis=1).tolist() == [1, 0]
    assert softmax(scores / 1.0).argmax(axis=1).tolist() == [0, 0]
    assert to_probabilities(scores, np.ones(2)).argmax(axis=1).tolist() == [1, 0]
