"""A model that was fitted without signatures says so, and warns once where only a description could help."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import zskl
from zskl import ClassMeansClassifier, Committee, NoSignaturesWarning, baselines

NEW = {"emu": [1.0, 1.0, 0.0]}  # as many attributes as there are one-hot columns


def fitted(toy, model=None):
    return (model or baselines.ESZSL()).fit(toy.X, toy.y)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, toy: model.predict(toy.X, NEW),
        lambda model, toy: model.decision_function(toy.X, NEW),
        lambda model, toy: list(model.iter_compatibility(toy.X, NEW)),
        lambda model, toy: model.score(toy.X, toy.y, signatures=NEW),
        lambda model, toy: model.score(toy.X_new, toy.y_new),  # labels that the model cannot answer
    ],
)
def test_a_class_that_only_a_description_could_give_is_warned_of_once(toy, ask):
    model = fitted(toy)
    with pytest.warns(NoSignaturesWarning, match=r"ESZSL was fitted without signatures.*'emu'.*model__signatures"):
        ask(model, toy)
    ask(model, toy)  # said already: a second warning would be an error here
    with pytest.warns(NoSignaturesWarning):
        ask(fitted(toy, model), toy)  # fitted again


def test_the_warning_points_at_the_line_that_asked(toy):
    with pytest.warns(NoSignaturesWarning) as caught:
        fitted(toy).predict(toy.X, NEW)
    assert [one.filename for one in caught] == [__file__]


def test_a_forgotten_table_in_a_pipeline(toy):
    """As it happened: nothing was said, and unseen rows were all wrong."""
    pipeline = make_pipeline(StandardScaler(), baselines.ESZSL()).fit(toy.X, toy.y)
    with pytest.warns(NoSignaturesWarning, match="'bee', 'emu'"):
        assert pipeline.score(toy.X_new, toy.y_new) == 0
    for arguments in ({"signatures": toy.table}, {"candidates": ["emu"]}):
        with pytest.raises(ValueError, match=r"fitted without signatures: pass signatures to fit \(model__signatures"):
            pipeline.predict(toy.X_new, **arguments)


def test_the_classes_of_the_rows_need_no_description(toy):
    model = fitted(toy)
    assert model.score(toy.X, toy.y) > 0.5
    model.predict(toy.X, candidates=["dog", "ant"])
    model.decision_function(toy.X, dict(zip(["ant", "cat", "dog"], np.eye(3), strict=True)))
    described = baselines.ESZSL().fit(toy.X, toy.y, toy.table)
    described.predict(toy.X, toy.table.loc[["emu"]])
    described.score(toy.X, ["wolf"] * len(toy.X))  # not there, whatever a description says
    taught = fitted(toy, ClassMeansClassifier()).add_examples(toy.X[:2], ["cow", "cow"])
    taught.score(toy.X_new, ["cow"] * len(toy.X_new))  # known by examples


@pytest.mark.parametrize("model", [ClassMeansClassifier(), Committee([("means", ClassMeansClassifier())])])
def test_examples_with_a_description(toy, model):
    with pytest.warns(NoSignaturesWarning, match="'emu'"):
        fitted(toy, model).add_examples(toy.X[:2], ["emu", "emu"], NEW)


def test_it_is_written_where_the_model_is_printed(toy, tmp_path):
    words = "  # fitted without signatures: knows only the classes in y"
    model = fitted(toy, baselines.ESZSL(gamma=3.0))
    assert repr(model) == f"ESZSL(gamma=3.0){words}"
    assert repr(eval(repr(model), vars(baselines))) == repr(clone(model)) == "ESZSL(gamma=3.0)"
    assert "fitted without signatures" in model._repr_html_()
    assert "eszsl" in make_pipeline(model)._repr_html_().lower()
    model.save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    assert repr(loaded) == repr(model)
    assert loaded.get_params() == model.get_params()
    assert not loaded.described_
    described = model.fit(toy.X, toy.y, toy.table)
    assert repr(described) == "ESZSL(gamma=3.0)"
    assert described.described_


def test_long_settings_are_broken_into_lines_as_scikit_learn_does():
    long = baselines.ESZSL(3.0, 2.0, "signs", feature_scaling="standardize-l2", signature_scaling="standardize-l2")
    for shown in (repr(long), repr(make_pipeline(long))):
        assert max(map(len, shown.splitlines())) <= 80


def test_a_cosine_describes_classes_by_their_rows(toy):
    model = baselines.Cosine().fit(toy.X, toy.y)
    assert repr(model) == "Cosine()"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(toy.X, {"emu": toy.X_new[0]})
