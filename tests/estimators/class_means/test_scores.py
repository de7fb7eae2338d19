"""The fit and its scores against the textbook, for every kernel, prior and scaling, and through a search."""

import numpy as np
import pytest
from sklearn.base import clone

from slow_class_means import SlowClassMeans
from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier
from zskl.estimators.class_means.kept_rows import hashes

SETTINGS = [
    {},
    {"kernel": "linear", "noise": 0.5, "shrinkage": 1.0},
    {"bandwidth": 2.0, "description_weight": 5.0, "feature_scaling": "l2", "crowding": 0.0},
    {"feature_scaling": "none", "crowding_share": 0.2},
    {"prior": "identity", "crowding": 0.1},
    {"prior": "identity", "kernel": "linear", "feature_scaling": "l2"},
    {"prior": "cosine", "crowding": 0.0, "feature_scaling": "l2"},
]


@pytest.fixture(scope="module")
def problem():
    """Twelve seen classes in six features, described in six columns; one class has two signatures."""
    rng = np.random.default_rng(3)
    names = [f"c{number:02d}" for number in range(15)]
    means = rng.normal(size=(15, 6))
    table = {name: [mean + 0.3 * rng.normal(size=6)] for name, mean in zip(names, means, strict=True)}
    table["c03"].append(means[3] + 0.3 * rng.normal(size=6))
    y = np.repeat(names[:12], 8)
    X = np.repeat(means[:12], 8, axis=0) + 0.7 * rng.normal(size=(96, 6))
    new = np.repeat(means[12:], 5, axis=0) + 0.7 * rng.normal(size=(15, 6))
    return X, y, {name: np.array(rows) for name, rows in table.items()}, new


def slow_scores(slow, table, rows, classes):
    return np.array([[max(slow.score(x, slow.direction(c, row)) for row in table[c]) for c in classes] for x in rows])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_scores_are_those_of_the_textbook(problem, settings):
    X, y, table, new = problem
    model = ClassMeansClassifier(**settings).fit(X, y, table)
    slow = SlowClassMeans(model, X, y, table, range(len(X)))
    assert len(model.kept_rows_) == (len(X) if model.crowding else 0)
    rows = np.concatenate([X[:6], new])
    assert_close(model.compatibility(rows), slow_scores(slow, table, rows, model.candidates_.tolist()), SOLUTION.single)


@pytest.mark.parametrize("free", [{"prior": "zero"}, {"prior": "identity"}, {"prior": "cosine"}], ids=str)
def test_a_search_scores_as_single_fits_do(problem, free):
    X, y, table, new = problem
    settings = [
        {"shrinkage": shrinkage, "kernel": kernel, "noise": noise, "crowding": crowding, "description_weight": weight}
        for shrinkage in (0.2, 0.9)
        for kernel in ("gaussian", "linear")
        for noise in (0.1, 0.4)
        for crowding in (0.3, 0.0)
        for weight in (1.0, 8.0)
    ]
    estimator, found = ClassMeansClassifier(**free), {}
    rows = estimator.fit(X, y, table)._scaled(new)

    def visit(place, model):
        table_of = model.signature_table_
        found[place] = model._answerer(asked.setdefault("question", model._question(rows, table_of)))(rows)

    asked = {}
    clone(estimator)._fit_together(settings, X, y, table, visit)
    for place, setting in enumerate(settings):
        alone = clone(estimator).set_params(**setting).fit(X, y, table)
        assert_close(found[place], alone.compatibility(new), SOLUTION.single)


def test_equal_rows_have_equal_hashes_whatever_their_layout_and_precision():
    rows = np.random.default_rng(0).normal(size=(50, 700)).astype(np.float32)
    assert np.array_equal(hashes(rows), hashes(np.asfortranarray(rows).astype(np.float64)))
    assert len(np.unique(hashes(rows))) == 50


def test_rows_of_a_class_that_are_all_equal_leave_nothing_to_whiten():
    X = np.repeat(np.eye(3), 4, axis=0)
    model = ClassMeansClassifier().fit(X, np.repeat(["a", "b", "c"], 4), {"a": [1, 0], "b": [0, 1], "c": [1, 1]})
    assert model.predict(np.eye(3), candidates=["a", "b", "c"]).tolist() == ["a", "b", "c"]


def test_all_rows_equal_give_equal_scores():
    model = ClassMeansClassifier().fit(np.ones((6, 3)), list("aabbcc"), {"a": [1, 0], "b": [0, 1], "c": [1, 1]})
    assert np.ptp(model.compatibility(np.ones((1, 3)))) == 0


def test_fewer_rows_than_columns_and_constant_columns_are_carried_by_shrinkage():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(8, 40)), np.ones((8, 2))], axis=1)
    X[4:, :5] += 3
    model = ClassMeansClassifier().fit(X, list("aaaabbbb"), {"a": [1.0, 0], "b": [0, 1.0], "c": [1, 1]})
    assert np.isfinite(model.compatibility(X)).all()
    assert model.predict(X, candidates=["a", "b"]).tolist() == list("aaaabbbb")


def test_another_prior_needs_the_same_columns_on_both_sides(problem):
    X, y, table, _ = problem
    short = {name: rows[:, :4] for name, rows in table.items()}
    for prior in ("identity", "cosine"):
        with pytest.raises(ValueError, match=r"signatures have 4 columns and features 6: .* use prior='zero'"):
            ClassMeansClassifier(prior=prior).fit(X, y, short)


@pytest.mark.parametrize(
    "bad", [{"shrinkage": 0.0}, {"shrinkage": 1.5}, {"noise": 0.0}, {"kernel": "cubic"}, {"prior": "one"}], ids=str
)
def test_a_bad_setting_is_refused(problem, bad):
    X, y, table, _ = problem
    with pytest.raises(ValueError, match=next(iter(bad))):
        ClassMeansClassifier(**bad).fit(X, y, table)
