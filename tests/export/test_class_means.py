"""Class means as ONNX files: fixed classes of any model, and signatures as an input of one that was not taught."""

import numpy as np
import pandas as pd
import pytest

from exported_models import TOLERANCE, apart, both_precisions, exported, scored
from means_models import SORTS, fitted
from zskl import ClassMeansClassifier, SignatureWarning, export
from zskl.estimators.class_means import nameless_classes

TAUGHT = [sort for sort in SORTS if "taught" in sort or "adapted" in sort]


@pytest.mark.parametrize("sort", SORTS)
def test_fixed_classes(toy, tmp_path, sort):
    model = SORTS[sort](toy)
    X = np.concatenate([toy.X, toy.X_new, np.zeros((1, 6))])
    assert both_precisions(model, exported(model, tmp_path, signatures=False), X) < TOLERANCE


@pytest.mark.parametrize("sort", [sort for sort in SORTS if sort not in TAUGHT])
def test_seen_classes_are_told_by_their_signatures(toy, tmp_path, sort):
    model = SORTS[sort](toy)
    X, session = np.concatenate([toy.X, toy.X_new]), exported(model, tmp_path)
    table = model.signature_table_
    found = scored(session, X)
    best = np.column_stack([found[:, table.labels == label].max(axis=1) for label in model.candidates_])
    assert apart(best, model.compatibility(X)) < TOLERANCE
    new = pd.DataFrame(table.matrix[[-1, 0]] * 0.7 + 0.2, index=["cow", "yak"], columns=table.names)
    assert both_precisions(model, session, X, new) < TOLERANCE
    seen = table.select(["cat"])
    some = np.concatenate([new.to_numpy(), seen.matrix, seen.matrix * (1 + 1e-7)])  # the same but for rounding
    of_seen = scored(session, X, some)[:, 2:]
    assert (
        apart(of_seen[:, : len(seen.matrix)].max(axis=1), model.compatibility(X, candidates=["cat"])[:, 0]) < TOLERANCE
    )
    assert apart(of_seen[:, len(seen.matrix) :], of_seen[:, : len(seen.matrix)]) < TOLERANCE


def test_a_seen_class_that_is_not_told_is_caught(toy, tmp_path, monkeypatch):
    """The planted fault: no signature is that of a seen class."""
    model = fitted(toy)
    monkeypatch.setattr(nameless_classes, "SAME", -1.0)
    assert apart(scored(exported(model, tmp_path), toy.X), model.compatibility(toy.X)) > 0.01


def test_what_needs_names_is_refused(toy, tmp_path):
    for sort in TAUGHT:
        with pytest.raises(ValueError, match=r"taught by examples or adapted .*fixed classes only.*--fixed"):
            exported(SORTS[sort](toy), tmp_path)
    table = toy.table.copy()
    table.loc["emu"] = table.loc["cat"]
    with pytest.warns(SignatureWarning, match="nothing tells them apart"):
        same = ClassMeansClassifier().fit(toy.X, toy.y, table)
    with pytest.raises(ValueError, match="the classes 'cat', 'emu' have the same signature, so the model cannot be"):
        export.to_onnx(same, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
    assert both_precisions(same, exported(same, tmp_path, signatures=False), toy.X) < TOLERANCE


def test_any_number_of_rows_and_classes(toy, tmp_path):
    model = fitted(toy)
    session, rng = exported(model, tmp_path), np.random.default_rng(0)
    for rows, classes in ((0, 3), (1, 1), (300, 40)):
        X, Y = rng.normal(size=(rows, 6)), pd.DataFrame(rng.normal(size=(classes, 4)), columns=toy.table.columns)
        found = scored(session, X, Y)
        assert found.shape == (rows, classes)
        if rows:
            Y.index = [f"class {k}" for k in range(classes)]
            assert apart(found, model.compatibility(X, Y)) < TOLERANCE
