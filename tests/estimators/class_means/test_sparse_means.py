"""Class means of sparse rows: the textbook with a diagonal scatter, pieces, and what such a model learns later."""

import logging

import numpy as np
import pytest

from slow_class_means import SlowClassMeans
from texts import UNSEEN, dense, texts
from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier, selection
from zskl.estimators.class_means.kept_rows import hashes
from zskl.sparse_rows import SparseRows

SETTINGS = [
    {},
    {"kernel": "linear", "shrinkage": 0.1, "crowding": 0.0},
    {"prior": "identity", "shrinkage": 0.3, "feature_scaling": "l2"},
    {"prior": "cosine"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_scores_are_those_of_the_textbook_with_a_diagonal_scatter(settings):
    some = texts()
    model = ClassMeansClassifier(crowding_share=0.1, **settings).fit(some.X, some.y, some.table)
    table = {label: [row] for label, row in some.dense_table.items()}
    slow = SlowClassMeans(model, dense(some.X), some.y, table, range(80), diagonal=True)
    directions = [slow.direction(label, table[label][0]) for label in model.candidates_]
    wanted = [[slow.score(x, u) for u in directions] for x in dense(some.X_new)]
    assert_close(model.compatibility(some.X_new), wanted, SOLUTION.single)
    assert model.whitening_.shape == (50, 1)
    if settings.get("prior") != "cosine":
        whole = ClassMeansClassifier(crowding_share=0.1, **settings).fit(dense(some.X), some.y, some.dense_table)
        with pytest.raises(AssertionError):  # with the scatter between columns
            assert_close(whole.compatibility(dense(some.X_new)), wanted, SOLUTION.single)


def test_pieces_add_up_and_are_not_mixed_with_dense_ones(caplog):
    some = texts()
    with caplog.at_level(logging.INFO, logger="zskl"):
        whole = ClassMeansClassifier().fit(some.X, some.y, some.table)
    assert "sparse rows: whitened column by column" in caplog.text
    order = np.random.default_rng(0).permutation(80)
    model = ClassMeansClassifier()
    for rows in np.array_split(order, 3):
        model.partial_fit(some.X[rows], some.y[rows], some.table)
    assert_close(model.compatibility(some.X_new), whole.compatibility(some.X_new), SOLUTION.single)
    np.testing.assert_array_equal(hashes(SparseRows.of(some.X)), hashes(dense(some.X)))
    with pytest.raises(ValueError, match=r"a scatter of dimension 1 and of rows with a scatter of dimension 2"):
        model.partial_fit(dense(some.X), some.y)


def test_it_learns_from_dense_examples_and_rows():
    some = texts()
    for table in (some.table, some.dense_table):
        model = ClassMeansClassifier(shrinkage=0.4).fit(some.X, some.y, table)
        selection.calibrate(model, some.X, some.y, table, folds=2)
        assert model.practice_ is None  # trying needs dense rows
        taught = model.add_examples(dense(some.X_new[::7]), some.y_new[::7])
        taught = taught.add_examples(dense(some.X_new[:1]), ["new"])
        assert taught.candidates_.tolist()[-1] == "new"
        assert taught.score(some.X_new, some.y_new, candidates=UNSEEN) >= 0.8
        adapted = taught.adapt(dense(some.X_new), force=True)
        assert adapted.compatibility(some.X_new).shape == (21, 12)
        before, after = model.compatibility(some.X_new), taught.remove_examples().compatibility(some.X_new)
        np.testing.assert_array_equal(after, before)


def test_another_shrinkage_weighs_columns_alone():
    some = texts()
    model = ClassMeansClassifier(shrinkage=0.4).fit(some.X, some.y, some.table)
    wanted = ClassMeansClassifier(shrinkage=0.1).fit(some.X, some.y, some.table)
    model._turn_to(0.1)
    assert_close(model.whitening_, wanted.whitening_, SOLUTION.single)
    for mine, theirs in ((model._hat, wanted._hat), (model._crowded, wanted._crowded)):
        rows = model._scaled(SparseRows.of(some.X_new))
        found = [one(rows if one in (model._hat, wanted._hat) else np.eye(50)) for one in (mine, theirs)]
        assert_close(*(one @ np.eye(50) for one in found), SOLUTION.single)


@pytest.mark.parametrize("make", [lambda rows: rows, dense], ids=["sparse", "dense"])
def test_a_search_over_priors_scores_as_single_fits_do(make):
    """Settings that differ in the prior alone once shared their scores."""
    some = texts()
    X, X_new, table = make(some.X), make(some.X_new), {label: make(row) for label, row in some.table.items()}
    settings = [{"prior": prior, "crowding": a} for prior in ("zero", "identity", "cosine") for a in (0.0, 0.2)]
    found, asked = {}, {}

    def visit(place, model):
        rows = asked.setdefault("rows", model._scaled(SparseRows.of(X_new) if make is not dense else X_new))
        question = asked.setdefault("question", model._question(rows, model.signature_table_))
        found[place] = model._answerer(question)(rows)

    ClassMeansClassifier()._fit_together(settings, X, some.y, table, visit)
    for place, setting in enumerate(settings):
        alone = ClassMeansClassifier(**setting).fit(X, some.y, table)
        assert_close(found[place], alone.compatibility(X_new), SOLUTION.single)
