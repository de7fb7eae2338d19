"""Two spellings of one name are one class, and a missing label is called missing."""

import numpy as np
import pandas as pd
import pytest

from zskl import ClassMeansClassifier, Dataset, baselines, selection
from zskl.signatures.labels import all_composed, composed, one_spelling
from zskl.signatures.table import as_labels

WHOLE, APART = "caf\u00e9", "cafe\u0301"  # é as one sign, and as e with an accent
X = np.array([[0.0, 1.0, 0.3], [0.1, 1.2, 0.2], [2.0, 0.1, 0.4], [2.2, 0.0, 0.5]])
TABLE = pd.DataFrame({"a": [1.0, 0.0, 1.0], "b": [0.0, 2.0, 1.0]}, index=[WHOLE, "tea", f"{WHOLE}s"])


@pytest.mark.parametrize("kind", [object, np.str_])
def test_each_name_gets_one_spelling(kind):
    labels = np.array([APART, "tea", WHOLE, APART], dtype=kind)
    assert one_spelling(labels).tolist() == [WHOLE, "tea", WHOLE, WHOLE]
    assert one_spelling(labels[:2]).tolist() == [APART, "tea"]  # one spelling: it stays
    assert one_spelling(labels, [APART]).tolist() == [APART, "tea", APART, APART]
    assert all_composed(labels[:2]).tolist() == [WHOLE, "tea"]
    assert one_spelling(labels).dtype.kind == labels.dtype.kind


def test_numbers_and_plain_names_are_left_alone():
    for labels in (np.arange(3), np.array(["a", "b"]), np.array([1.5])):
        assert one_spelling(labels, ["x"]) is labels
        assert all_composed(labels) is labels
    assert composed("tea") == "tea"


@pytest.mark.parametrize("model", [baselines.ESZSL(), ClassMeansClassifier()], ids=lambda model: model.kind)
def test_a_model_keeps_the_spelling_of_its_labels_and_finds_the_other(model):
    y = np.array([APART, APART, "tea", "tea"])
    model = model.fit(X, y, TABLE)
    np.testing.assert_array_equal(model.classes_, np.unique(y))  # as scikit-learn expects
    assert model.candidates_.tolist() == [APART, "tea", f"{WHOLE}s"]
    assert set(model.predict(X, candidates=[WHOLE, "tea"])) == {APART, "tea"}
    other = [WHOLE, WHOLE, "tea", "tea"]
    assert model.score(X, other, candidates=other[1:3]) == model.score(X, y, candidates=y[1:3])
    assert model.predict(X[:1], TABLE, [f"{APART}s"]).tolist() == [f"{WHOLE}s"]
    assert model.fit(X, [APART, WHOLE, "tea", "tea"], TABLE).classes_.tolist() == [WHOLE, "tea"]


def test_later_pieces_and_examples_are_of_the_classes_that_are_there():
    model = ClassMeansClassifier().partial_fit(X[::2], [APART, "tea"], TABLE)
    model = model.partial_fit(X[1::2], [WHOLE, "tea"])
    assert model.classes_.tolist() == [APART, "tea"]
    taught = model.add_examples(X[:1], [f"{APART}s"])
    assert taught.candidates_.tolist() == model.candidates_.tolist()
    assert taught.remove_examples(y=[f"{APART}s"]).example_classes_ == []
    with pytest.raises(ValueError, match="names a class twice"):
        model.predict(X, candidates=[WHOLE, APART])


def test_explanations_and_searches_too():
    names = [WHOLE, "tea", "milk", "juice"]
    rows, y = np.random.default_rng(0).normal(size=(16, 3)), np.repeat(names, 4)
    table = pd.DataFrame(np.eye(4) + 0.1, index=[APART, *names[1:]])
    tuned = selection.tune(baselines.ESZSL(), rows, y, table, {"gamma": [1.0]}, engine=None)
    assert WHOLE in tuned.model.classes_
    (found,) = tuned.model.explain(rows[:1], label=APART)
    assert found.label == WHOLE


def test_a_dataset_keeps_names_in_form_nfc():
    parts = {"trainval": [0, 2], "test_seen": [1], "test_unseen": [3]}
    data = Dataset("drinks", X, [APART, WHOLE, "tea", f"{APART}s"], TABLE, parts)
    assert data.y.tolist() == [WHOLE, WHOLE, "tea", f"{WHOLE}s"]
    assert data.unseen_classes.tolist() == [f"{WHOLE}s"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_label_is_not_called_a_mixture(missing):
    for y in (["tea", missing, "tea", "cup"], np.array(["tea", missing, "tea", "cup"], dtype=object)):
        with pytest.raises(ValueError, match=r"y has no label in row 1, counted from 0 \(1 such row"):
            baselines.ESZSL().fit(X, y)
    with pytest.raises(ValueError, match="candidates has no label in row 0"):
        as_labels([missing, "tea"], "candidates")
