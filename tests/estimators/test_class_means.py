"""Class means against the textbook: every kernel, prior and scaling, pieces, examples, sparse rows, galleries."""

import itertools
import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import zskl
from sparse_texts import UNSEEN, dense, texts
from textbook import SlowClassMeans
from tolerances import SOLUTION, SUMS, assert_close
from toy import make_toy
from zskl import ClassMeansClassifier, Committee, datasets, selection
from zskl._arrays import SparseRows
from zskl.estimators._class_means_adapt import nearest_example_entry
from zskl.estimators._class_means_fit import hash_rows
from zskl.signatures import table as tables

# Scores

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
def test_scores_match_the_textbook(problem, settings):
    X, y, table, new = problem
    model = ClassMeansClassifier(**settings).fit(X, y, table)
    slow = SlowClassMeans(model, X, y, table, range(len(X)))
    assert len(model.kept_rows_) == (len(X) if model.crowding else 0)
    rows = np.concatenate([X[:6], new])
    assert_close(model.compatibility(rows), slow_scores(slow, table, rows, model.candidates_.tolist()), SOLUTION.single)


@pytest.mark.parametrize("free", [{"prior": "zero"}, {"prior": "identity"}, {"prior": "cosine"}], ids=str)
def test_search_scores_equal_single_fits(problem, free):
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
    rows = estimator.fit(X, y, table)._scale_rows(new)

    def visit(place, model):
        table_of = model.signature_table_
        found[place] = model._candidate_scorer(asked.setdefault("question", model._question(rows, table_of)))(rows)

    asked = {}
    clone(estimator)._fit_together(settings, X, y, table, visit)
    for place, setting in enumerate(settings):
        alone = clone(estimator).set_params(**setting).fit(X, y, table)
        assert_close(found[place], alone.compatibility(new), SOLUTION.single)


def test_classes_of_equal_rows_are_not_whitened():
    X = np.repeat(np.eye(3), 4, axis=0)
    model = ClassMeansClassifier().fit(X, np.repeat(["a", "b", "c"], 4), {"a": [1, 0], "b": [0, 1], "c": [1, 1]})
    assert model.predict(np.eye(3), candidates=["a", "b", "c"]).tolist() == ["a", "b", "c"]


def test_all_rows_equal_give_equal_scores():
    model = ClassMeansClassifier().fit(np.ones((6, 3)), list("aabbcc"), {"a": [1, 0], "b": [0, 1], "c": [1, 1]})
    assert np.ptp(model.compatibility(np.ones((1, 3)))) == 0


def test_shrinkage_handles_few_rows_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(8, 40)), np.ones((8, 2))], axis=1)
    X[4:, :5] += 3
    model = ClassMeansClassifier().fit(X, list("aaaabbbb"), {"a": [1.0, 0], "b": [0, 1.0], "c": [1, 1]})
    assert np.isfinite(model.compatibility(X)).all()
    assert model.predict(X, candidates=["a", "b"]).tolist() == list("aaaabbbb")


def test_shared_space_priors_need_equal_columns(problem):
    X, y, table, _ = problem
    short = {name: rows[:, :4] for name, rows in table.items()}
    for prior in ("identity", "cosine"):
        with pytest.raises(ValueError, match=r"signatures have 4 columns and features 6: .* use prior='zero'"):
            ClassMeansClassifier(prior=prior).fit(X, y, short)


@pytest.mark.parametrize(
    "bad", [{"shrinkage": 0.0}, {"shrinkage": 1.5}, {"noise": 0.0}, {"kernel": "cubic"}, {"prior": "one"}], ids=str
)
def test_bad_settings_are_refused(problem, bad):
    X, y, table, _ = problem
    with pytest.raises(ValueError, match=next(iter(bad))):
        ClassMeansClassifier(**bad).fit(X, y, table)


# Pieces
# Training rows in pieces give the model of one fit, wherever and in whatever order they were added up.

TENTH = 1e-10  # of float64 sums: far above their rounding, far below any change of the rows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    names = np.array([f"c{number}" for number in range(8)])
    y = rng.permutation(np.repeat(names[:6], 20))
    means = {name: rng.normal(size=10) for name in names}
    X = np.array([means[c] for c in y]) + 0.5 * rng.normal(size=(120, 10))
    return X, y, {name: means[name][:4] for name in names}


def assert_same(one, other, rows):
    for name in ("rows", "totals", "products"):
        np.testing.assert_allclose(getattr(one._sums, name), getattr(other._sums, name), rtol=TENTH, atol=TENTH)
    assert np.array_equal(one._sums.kept.hashes, other._sums.kept.hashes)
    assert one.candidates_.tolist() == other.candidates_.tolist()
    assert_close(one.compatibility(rows), other.compatibility(rows), SOLUTION.single)


def test_pieces_in_any_order_equal_one_fit(data, monkeypatch):
    monkeypatch.setattr("zskl.estimators._class_means_fit.KEPT", 30)  # so that most rows are not kept
    X, y, table = data
    whole = ClassMeansClassifier().fit(X, y, table)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cuts = np.split(rng.permutation(len(y)), np.sort(rng.integers(1, len(y), 7)))
        pieces = ClassMeansClassifier()
        for number, rows in enumerate(piece for piece in cuts if len(piece)):
            pieces.partial_fit(X[rows], y[rows], table if number == 0 else None)
        assert_same(pieces, whole, X)


def test_partial_fit_continues_a_fit(data):
    X, y, table = data
    whole = ClassMeansClassifier().fit(X, y, table)
    assert_same(ClassMeansClassifier().fit(X[:50], y[:50], table).partial_fit(X[50:], y[50:]), whole, X)


def test_sums_of_pieces_are_merged(data):
    """tests/test_engines.py has those of workers."""
    X, y, table = data
    model, parts = ClassMeansClassifier(), np.array_split(np.random.default_rng(0).permutation(len(y)), 4)
    found = [model.sums(X[rows], y[rows]) for rows in parts]
    assert_same(model.fit_sums(sum(found[1:], found[0]), table), ClassMeansClassifier().fit(X, y, table), X)


def test_memory_mapped_rows_are_read_once_and_not_held(data, tmp_path, monkeypatch):
    monkeypatch.setattr("zskl.estimators._class_means_fit.BLOCK_VALUES", 300)
    monkeypatch.setattr("zskl.estimators._class_means_fit.BLOCK_ROWS", 1)
    X, y, table = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    read = []
    original = zskl.estimators._inputs.take_input_rows
    monkeypatch.setattr(
        "zskl.estimators._inputs.take_input_rows", lambda model, X, rows: read.append(rows) or original(model, X, rows)
    )
    model = ClassMeansClassifier().fit(mapped, y, table)
    assert [row for rows in read for row in range(rows.start, rows.stop)] == list(range(len(y)))
    assert len(read) == 4
    assert_same(model, ClassMeansClassifier().fit(X, y, table), X)


def test_bad_numbers_are_refused_and_the_model_stays(data):
    X, y, table = data
    model = ClassMeansClassifier().fit(X, y, table)
    before = model.compatibility(X)
    bad = X.copy()
    bad[77, 3] = np.nan
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="NaN in column 3, first at row 77"):
            learn(bad, y, table)
        assert np.array_equal(model.compatibility(X), before)


def test_unsupported_pieces_are_refused(data, tmp_path):
    X, y, table = data
    with pytest.raises(ValueError, match="its step 'center' needs all training rows at once"):
        ClassMeansClassifier(feature_scaling="center-l2").partial_fit(X, y, table)
    model = ClassMeansClassifier().partial_fit(X[:40], y[:40], table)
    with pytest.raises(ValueError, match="X has 4 features, but ClassMeansClassifier is expecting 10"):
        model.partial_fit(X[:, :4], y)
    with pytest.raises(ValueError, match="this piece names classes by integers"):
        model.partial_fit(X[:2], [1, 2])
    with pytest.raises(ValueError, match=r"y holds .*, which `classes` does not name"):
        model.partial_fit(X[40:], y[40:], classes=["c0", "c1"])
    model.save(tmp_path / "m.zskl")
    with pytest.raises(ValueError, match="was loaded from a file, which does not hold the sums"):
        zskl.load(tmp_path / "m.zskl").partial_fit(X, y)


def test_one_class_is_not_fitted_yet(data):
    X, y, table = data
    model = ClassMeansClassifier().partial_fit(X[y == "c0"], y[y == "c0"], table)
    with pytest.raises(ValueError, match=r"not fitted yet, since all pieces so far hold 1 class only \('c0'\)"):
        model.predict(X)
    rest = y != "c0"
    assert_same(model.partial_fit(X[rest], y[rest]), ClassMeansClassifier().fit(X, y, table), X)


def test_fitted_scaling_works_in_one_fit():
    data = zskl.datasets.make_synthetic()
    X, y = data.samples("trainval")
    assert np.isfinite(
        ClassMeansClassifier(feature_scaling="center-l2").fit(X, y, data.signatures).compatibility(X)
    ).all()


def test_signatures_are_read_once(data, monkeypatch):
    X, y, table = data
    frame, pieces, reads = pd.DataFrame(table).T, ClassMeansClassifier(feature_scaling="l2"), []
    read = tables._read_table_from_frame
    monkeypatch.setattr(tables, "_read_table_from_frame", lambda *given: reads.append(1) or read(*given))
    for row in range(12):
        pieces.partial_fit(X[row : row + 1], y[row : row + 1], frame if row == 0 else None)
    assert len(reads) == 1
    frame.iloc[:] = np.nan  # what you do with the table later plays no part
    assert_same(pieces.partial_fit(X[12:], y[12:]), ClassMeansClassifier(feature_scaling="l2").fit(X, y, table), X)


def test_incompatible_sums_are_refused(data):
    X, y, table = data
    model, other = ClassMeansClassifier(feature_scaling="sqrt-l2"), ClassMeansClassifier(feature_scaling="l2")
    sums = model.sums(X, y)
    for more, sentence in (
        (model.sums(X[:, :3], y), "features 10 and of rows with features 3"),
        (other.sums(X, y), "feature_scaling 'sqrt-l2' and of rows with feature_scaling 'l2'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            sums + more
    for given, sentence in ((sums, "of rows scaled by 'sqrt-l2'"), (3, "sums is 3")):
        with pytest.raises(ValueError, match=f"{sentence}: expected what `sums` of a model with feature_scaling='l2'"):
            other.fit_sums(given, table)
    with pytest.raises(TypeError, match="unsupported operand"):
        sums + 1


def test_builtin_sum_adds_sums(data):
    X, y, table = data
    model = ClassMeansClassifier()
    both = sum([model.sums(X[:50], y[:50]), model.sums(X[50:], y[50:])])
    assert_same(model.fit_sums(both, table), ClassMeansClassifier().fit(X, y, table), X)


# Teaching
# Examples: the direction with them, what a model keeps of them, and what is refused.


@pytest.fixture(scope="module")
def toy():
    return make_toy()


@pytest.fixture(scope="module")
def model(toy):
    return ClassMeansClassifier(crowding_share=0.2).fit(toy.X, toy.y, toy.table)


@pytest.fixture(scope="module")
def slow(toy, model):
    table = {name: [row] for name, row in zip(toy.table.index, toy.table.to_numpy(), strict=True)}
    return SlowClassMeans(model, toy.X, toy.y, table, range(len(toy.X)))


def slow_direction_scores(slow, rows, directions):
    return np.array([[slow.score(x, u) for u in directions] for x in rows])


def test_direction_with_examples_matches_the_textbook(toy, model, slow):
    emus = toy.X_new[toy.y_new == "emu"][:3]
    rows = np.concatenate([emus, toy.X[:1]])
    taught = model.add_examples(rows, ["emu"] * 3 + ["cat"])
    signature = dict(zip(toy.table.index, toy.table.to_numpy(), strict=True))
    weight = slow.worth() * slow.certainty(signature["emu"])
    directions = [
        slow.direction("emu", signature["emu"], weight, [slow.unit_row(x) for x in emus]),
        slow.direction("cat", signature["cat"], rows=[slow.unit_row(toy.X[0])]),
        slow.direction("bee", signature["bee"]),
    ]
    found = taught.compatibility(toy.X_new, candidates=["emu", "cat", "bee"])
    assert_close(found, slow_direction_scores(slow, toy.X_new, directions), SOLUTION.single)


WORTH_SETTINGS = [
    {},
    {"kernel": "linear", "shrinkage": 0.1},
    {"prior": "identity", "feature_scaling": "l2"},
    {"prior": "cosine", "feature_scaling": "l2"},
]


def make_described(telling=True, signatures=1, draw=5):
    """Rows of eight classes of various sizes, and a table that tells their means, or that of other classes."""
    rng = np.random.default_rng(draw)
    table = pd.DataFrame(rng.normal(size=(8, 6)), index=list("abcdefgh"))
    y = np.repeat(table.index.to_numpy(), [2, 3, 4, 5, 6, 7, 8, 9])
    X = table.loc[y].to_numpy() @ (np.eye(6) + 0.2 * rng.normal(size=(6, 6))) + 0.8 * rng.normal(size=(len(y), 6))
    if not telling:
        table = pd.DataFrame(rng.normal(size=table.shape), index=table.index)
    more = [table + 0.3 * rng.normal(size=table.shape) for _ in range(signatures - 1)]
    return X, y, pd.concat([table, *more])


@pytest.mark.parametrize("signatures", [1, 2])
@pytest.mark.parametrize("settings", WORTH_SETTINGS, ids=str)
def test_worth_of_a_description_matches_the_textbook(settings, signatures):
    X, y, table = make_described(signatures=signatures)
    model = ClassMeansClassifier(**settings).fit(X, y, table)
    rows = {name: list(table.loc[[name]].to_numpy()) for name in table.index.unique()}
    expected = SlowClassMeans(model, X, y, rows).worth()
    assert expected > 0.05
    found = model._left_out_classes().description_worth(model.shrinkage)
    assert found == pytest.approx(expected, rel=1e-3)  # the model stores float32


def test_a_description_that_says_nothing_is_worth_nothing():
    worth = {True: [], False: []}
    for telling, draw in itertools.product(worth, range(10)):
        X, y, table = make_described(telling, draw=draw)
        model = ClassMeansClassifier().fit(X, y, table)
        worth[telling].append(model._left_out_classes().description_worth(model.shrinkage_))
    assert np.median(worth[True]) > 0.3
    assert np.median(worth[False]) < 0.05


def test_worth_follows_the_shrinkage_in_use(toy, model):
    taught = model.add_examples(toy.X_new[:1], toy.y_new[:1])
    expected = model._left_out_classes().description_worth(0.2)
    taught._set_shrinkage(0.2)
    vars(taught).pop("_left_out", None)
    assert taught._left_out_classes().description_worth(0.2) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_one_row_of_each_class_does_not_tell_what_a_description_is_worth():
    X, _, table = make_described()
    model = ClassMeansClassifier().fit(X[:8], table.index, table)
    assert model._left_out_classes().description_worth(model.shrinkage_) == 2.0


def test_examples_are_told_apart_whatever_is_asked(toy, model):
    mixed = toy.X_new[[0, 9, 1, 8, 2, 7]]  # classes that overlap
    taught = model.add_examples(mixed, ["emu", "emu", "emu", "bee", "bee", "bee"])
    both = taught.compatibility(toy.X_new, candidates=["emu", "bee"])
    assert_close(taught.compatibility(toy.X_new, candidates=["bee"]), both[:, 1:], SOLUTION.single)
    extra = taught._refined_examples()
    assert sorted(extra) == ["bee", "emu"]
    assert max(np.linalg.norm(one) for one in extra.values()) > 0.01
    assert model.add_examples(toy.X_new[:3], ["emu", "bee", "cat"])._refined_examples() == {}  # lone examples
    assert taught.remove_examples(y=["bee"])._refined_examples() == {}  # nothing to tell from


def test_examples_are_summed_up_alone_where_validation_says_so(toy, model):
    """What validation chose for the number of examples that is nearest to that of each class."""
    entry = {"factor": 1.0, "shrinkage": model.shrinkage_, "crowding": 0.0, "calibration": 0.0, "temperatures": None}
    counts = {"1": {**entry, "refined": False}, "5": {**entry, "refined": True}}
    mixed = toy.X_new[[0, 9, 1, 8, 2, 7]]

    def teach(examples, labels):
        tried = model._copy_for_teaching()
        tried.practice_ = {"examples": examples, "wrong_weight": 0.35, "unlabelled": {}}
        return tried.add_examples(mixed[: len(labels)], labels)._refined_examples()

    assert teach(counts, ["emu", "bee", "emu", "bee"]) == {}
    assert sorted(teach({"1": counts["5"]}, ["emu", "bee", "emu", "bee"])) == ["bee", "emu"]
    assert sorted(teach(counts, ["emu", "emu", "emu", "bee", "emu", "bee"])) == ["emu"]


def test_validation_of_earlier_versions_keeps_its_weight(toy, model):
    """It chose the weight itself, for examples that were summed up alone."""
    entry = {"weight": 8.0, "shrinkage": 0.5, "crowding": 0.25, "calibration": 0.0, "temperatures": None}
    older = model._copy_for_teaching()
    older.practice_ = {"examples": {"1": entry}, "wrong_weight": 0.35, "unlabelled": {}}
    taught = older.add_examples(toy.X_new, toy.y_new)
    assert taught._description_worth(1) == 8.0
    assert taught._refined_examples() == {}
    question = taught._question(toy.X_new, taught.signature_table_.select(["emu"]))
    sums = taught.examples_[toy.y_new == "emu"].astype(float).sum(axis=0)
    assert_close(taught._evidence(question).sums[0], sums, SOLUTION.single)


def test_wrong_rows_count_against_a_class_together(toy, model, slow):
    rows = toy.X_new[:2]
    taught = model.add_examples(rows, ["bee", "bee"], wrong=True)
    signature = dict(zip(toy.table.index, toy.table.to_numpy(), strict=True))["bee"]
    against = -0.35 * np.mean([slow.unit_row(x) for x in rows], axis=0)
    expected = slow_direction_scores(slow, toy.X_new, [slow.direction("bee", signature, rows=[against])])
    assert_close(taught.compatibility(toy.X_new, candidates=["bee"]), expected, SOLUTION.single)
    assert (taught.compatibility(rows, candidates=["bee"]) < model.compatibility(rows, candidates=["bee"])).all()


def test_teaching_does_not_change_the_model(toy, model):
    before, candidates = model.compatibility(toy.X), model.candidates_.tolist()
    taught = model.add_examples(toy.X_new, toy.y_new)
    assert np.array_equal(model.compatibility(toy.X), before)
    assert taught.seen_classes_.tolist() == model.seen_classes_.tolist() == ["ant", "cat", "dog"]
    assert taught.candidates_.tolist() == candidates
    assert not clone(taught).__sklearn_is_fitted__()
    assert clone(taught).fit(toy.X, toy.y, toy.table).example_classes_ == []


def test_undescribed_class_is_known_by_its_examples(toy, model):
    cows = np.array([[5.0, 0, 0, 0, 0, 9], [4, 0, 0, 0, 0, 8]])
    taught = model.add_examples(cows, ["cow", "cow"])
    assert taught.classes_.tolist() == taught.candidates_.tolist() == sorted([*model.classes_.tolist(), "cow"])
    assert taught.predict(cows + 0.1).tolist() == ["cow", "cow"]
    own = taught._row_directions(taught._scale_rows(cows)).sum(axis=0)
    found = taught._directions(taught._question(cows, taught.signature_table_.select(["cow"])))[0]
    assert_close(found, own / np.linalg.norm(own), SOLUTION.single)
    described = {"cow": toy.table.loc["dog"].to_numpy()}  # a description that comes later joins the examples
    assert taught.compatibility(cows, described)[0, 0] != taught.compatibility(cows, candidates=["cow"])[0, 0]
    assert taught.remove_examples(y=["cow"]).candidates_.tolist() == model.candidates_.tolist()


def test_new_class_is_described_with_its_examples(toy, model):
    taught = model.add_examples(toy.X_new[:1], ["owl"], {"owl": toy.table.loc["emu"].to_numpy()})
    assert taught.classes_.tolist() == [*model.classes_.tolist(), "owl"]
    assert taught.undescribed_ == []
    with pytest.raises(ValueError, match="signatures describes 'cat', which the model knows already"):
        model.add_examples(toy.X_new[:1], ["cat"], {"cat": toy.table.loc["emu"].to_numpy()})


@pytest.mark.parametrize("kind", [ClassMeansClassifier, Committee])
def test_a_name_much_like_a_known_one_is_asked_about(kind):
    table = {"ant": [6, 0], "bee": [6, 2], "owl": [2, 2], "3": [0, 0]}
    members = {"members": [("means", ClassMeansClassifier())]} if kind is Committee else {}
    model = kind(**members).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
    X = [[5, 0], [4, 0], [5, 1]]
    with pytest.raises(ValueError, match=r"'owl '.*did you mean 'owl'.*'owll'.*new_classes=True") as error:
        model.add_examples(X, ["Owl", "owl ", "owll"])
    assert str(error.value).count("did you mean 'owl'") == 3
    taught = model.add_examples(X, ["Owl", "owl ", "owll"], new_classes=True)
    assert {"Owl", "owl ", "owll"} <= set(taught.candidates_.tolist())
    with pytest.raises(ValueError, match=r"'heron' .did you mean 'herron'"):  # also of each other
        model.add_examples(X, ["herron", "heron", "swan"])
    described = model.add_examples(X, ["owls"] * 3, {"owls": [2, 1]})  # whoever describes it, means it
    assert "owls" in described.candidates_
    with pytest.raises(ValueError, match="new_classes is 1: expected True or False"):
        model.add_examples(X, ["cow"] * 3, new_classes=1)


def test_removed_examples_leave_no_trace(toy, model):
    taught = model.add_examples(toy.X_new, toy.y_new)
    for back in (
        taught.remove_examples(),
        taught.remove_examples(toy.X_new[::-1], toy.y_new[::-1]),
        taught.remove_examples(y=["emu"]).remove_examples(y=["bee"]),
    ):
        assert np.array_equal(back.compatibility(toy.X_new), model.compatibility(toy.X_new))
    with pytest.raises(ValueError, match="row 0 of X is not among the examples of 'emu'"):
        taught.remove_examples(toy.X[:1], ["emu"])
    with pytest.raises(ValueError, match="no examples of 'cat' to remove: the model has examples of 'emu', 'bee'"):
        taught.remove_examples(y=["cat"])
    with pytest.raises(ValueError, match="there are no examples of any class to remove"):
        model.remove_examples()


def test_a_second_fit_forgets_the_kernel_of_the_first(toy):
    model = ClassMeansClassifier(noise=0.01).fit(toy.X, toy.y, toy.table)
    model.temperatures_ = dict.fromkeys(("seen", "unseen", "mixed"), 1.0)
    again = clone(model).set_params(noise=10.0).fit(toy.X, toy.y, toy.table)
    again.temperatures_ = model.temperatures_
    model.label_next(toy.X_new, n=3, strategy="change")
    model.set_params(noise=10.0).fit(toy.X, toy.y, toy.table).temperatures_ = again.temperatures_
    found, expected = (one.label_next(toy.X_new, 3, "change", return_scores=True) for one in (model, again))
    assert np.array_equal(found, expected)


def test_model_file_keeps_what_was_taught(toy, model, tmp_path):
    rows = np.concatenate([toy.X_new[:4], toy.X[:1] + 5])
    taught = model.add_examples(rows, [*toy.y_new[:4], "cow"], wrong=[False, True, False, False, False])
    taught = taught.adapt(toy.X_new, force=True)
    taught.practice_ = {"examples": {}, "wrong_weight": 0.2, "unlabelled": {}}
    taught.save(tmp_path / "m.zskl")
    loaded = zskl.load(tmp_path / "m.zskl")
    assert np.array_equal(loaded.compatibility(toy.X), taught.compatibility(toy.X))
    assert loaded.adaptation_ == taught.adaptation_
    assert np.array_equal(
        loaded.remove_examples(y=["cow"]).compatibility(toy.X), taught.remove_examples(y=["cow"]).compatibility(toy.X)
    )


def test_validation_of_the_nearest_example_count_is_used(toy):
    model = ClassMeansClassifier(shrinkage=0.4).fit(toy.X, toy.y, toy.table)
    model.calibration_, model.temperatures_ = 0.1, {"seen": 1.0, "unseen": 1.0, "mixed": 1.0}
    said = {"crowding": 0.0, "calibration": 0.3, "temperatures": {"seen": 4.0, "unseen": 4.0, "mixed": 4.0}, "zsl": 0.5}
    tried = {"1": {**said, "factor": 8.0, "shrinkage": 0.1}, "10": {**said, "factor": 1.0, "shrinkage": 0.2}}
    model.practice_ = {"examples": tried, "wrong_weight": 0.2, "unlabelled": {}}
    half = model.add_examples(toy.X_new[:2], ["emu", "emu"])  # one of the two unseen classes
    assert [nearest_example_entry(model.practice_, count)["factor"] for count in (2, 9)] == [8.0, 1.0]
    worth = model._left_out_classes().description_worth(half.shrinkage_)
    assert half._description_worth(2) == pytest.approx(8 * worth, rel=1e-3)
    assert half.calibration_ == pytest.approx(0.2)
    assert half.temperatures_["unseen"] == pytest.approx(2.0)
    assert half.shrinkage_ == pytest.approx(0.25)
    whole = half.add_examples(toy.X_new[-2:], ["bee", "bee"])
    assert (whole.calibration_, whole.shrinkage_, whole.crowding_) == pytest.approx((0.3, 0.1, 0.0))
    fresh = ClassMeansClassifier(shrinkage=0.1, crowding=0.0).fit(toy.X, toy.y, toy.table)
    assert_close(
        whole._row_directions(whole._scale_rows(toy.X)),
        fresh._row_directions(fresh._scale_rows(toy.X)),
        SOLUTION.single,
    )
    assert_close(whole.class_sums_, fresh.class_sums_, SOLUTION.single)
    back = whole.remove_examples()
    assert (back.calibration_, back.shrinkage_) == pytest.approx((0.1, 0.4))


def test_bad_examples_are_refused_and_the_model_stays(toy, model):
    before = model.compatibility(toy.X)
    for X, y, options, sentence in (
        (toy.X_new, None, {}, "y is None: expected a class name for each row of X"),
        (toy.X_new, ["emu"], {}, "X has 10 rows but y has 1 labels"),
        (toy.X_new[:1], [3], {}, "y names classes by integers .* the model by strings"),
        (toy.X_new[:, :2], toy.y_new, {}, "X has 2 features"),
        (np.full((1, 6), np.nan), ["emu"], {}, "contains NaN"),
        (toy.X_new[:1], ["emu"], {"wrong": "yes"}, "wrong is yes: expected True, False"),
        (toy.X_new[:1], ["yak"], {"wrong": True}, "class 'yak' has no description, no training rows and only examples"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.add_examples(X, y, **options)
    assert np.array_equal(model.compatibility(toy.X), before)


def test_wrong_rows_do_not_count_for_calibration(toy, model):
    entry = {"weight": 4.0, "shrinkage": 0.5, "crowding": 0.0, "calibration": 0.3, "temperatures": None}
    practised = model._copy_for_teaching()
    practised.practice_ = {"examples": {"1": entry}, "wrong_weight": 0.35, "unlabelled": {}}
    marked = practised.add_examples(toy.X_new[:2], ["emu", "emu"], wrong=True)
    assert (marked.calibration_, marked.crowding_) == (practised.calibration_, practised.crowding_)
    assert marked.add_examples(toy.X_new[2:3], ["emu"]).calibration_ > 0


def test_a_lone_class_name_is_refused(toy, model):
    """Its letters are not class names."""
    for call in (lambda: model.add_examples(toy.X_new[:1], "emu"), lambda: model.remove_examples(y="emu")):
        with pytest.raises(ValueError, match=r"y is 'emu': expected a list of class names; write \['emu'\]"):
            call()


# Sparse rows
# Class means of sparse rows: the textbook with a diagonal scatter, pieces, and what such a model learns later.

SPARSE_SETTINGS = [
    {"prior": "zero"},
    {"prior": "zero", "kernel": "linear", "shrinkage": 0.1, "crowding": 0.0},
    {"prior": "identity", "shrinkage": 0.3, "feature_scaling": "l2"},
    {"prior": "cosine"},
]


@pytest.mark.parametrize("settings", SPARSE_SETTINGS, ids=str)
def test_sparse_scores_match_the_textbook_with_a_diagonal_scatter(settings):
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


def test_sparse_pieces_add_up_and_do_not_mix_with_dense_ones(caplog):
    some = texts()
    with caplog.at_level(logging.INFO, logger="zskl"):
        whole = ClassMeansClassifier().fit(some.X, some.y, some.table)
    assert "sparse rows: whitened column by column" in caplog.text
    order = np.random.default_rng(0).permutation(80)
    model = ClassMeansClassifier()
    for rows in np.array_split(order, 3):
        model.partial_fit(some.X[rows], some.y[rows], some.table)
    assert_close(model.compatibility(some.X_new), whole.compatibility(some.X_new), SOLUTION.single)
    np.testing.assert_array_equal(hash_rows(SparseRows.from_scipy(some.X)), hash_rows(dense(some.X)))
    with pytest.raises(ValueError, match=r"a scatter of dimension 1 and of rows with a scatter of dimension 2"):
        model.partial_fit(dense(some.X), some.y)


def test_sparse_model_learns_from_dense_examples_and_rows():
    some = texts()
    for table in (some.table, some.dense_table):
        model = ClassMeansClassifier(shrinkage=0.4).fit(some.X, some.y, table)
        selection.calibrate(model, some.X, some.y, table, folds=2)
        assert model.practice_ is None  # trying needs dense rows
        taught = model.add_examples(dense(some.X_new[::7]), some.y_new[::7])
        taught = taught.add_examples(dense(some.X_new[:1]), ["new"])
        assert taught.classes_.tolist() == sorted([*model.classes_.tolist(), "new"])
        assert taught.score(some.X_new, some.y_new, candidates=UNSEEN) >= 0.8
        adapted = taught.adapt(dense(some.X_new), force=True)
        assert adapted.compatibility(some.X_new).shape == (21, 12)
        before, after = model.compatibility(some.X_new), taught.remove_examples().compatibility(some.X_new)
        np.testing.assert_array_equal(after, before)


def test_sparse_shrinkage_only_weighs_columns():
    some = texts()
    model = ClassMeansClassifier(shrinkage=0.4).fit(some.X, some.y, some.table)
    wanted = ClassMeansClassifier(shrinkage=0.1).fit(some.X, some.y, some.table)
    model._set_shrinkage(0.1)
    assert_close(model.whitening_, wanted.whitening_, SOLUTION.single)
    for mine, theirs in ((model._row_directions, wanted._row_directions), (model._crowding_of, wanted._crowding_of)):
        rows = model._scale_rows(SparseRows.from_scipy(some.X_new))
        found = [
            one(rows if one in (model._row_directions, wanted._row_directions) else np.eye(50))
            for one in (mine, theirs)
        ]
        assert_close(*(one @ np.eye(50) for one in found), SOLUTION.single)


@pytest.mark.parametrize("make", [lambda rows: rows, dense], ids=["sparse", "dense"])
def test_search_over_priors_equals_single_fits(make):
    """Settings that differ in the prior alone once shared their scores."""
    some = texts()
    X, X_new, table = make(some.X), make(some.X_new), {label: make(row) for label, row in some.table.items()}
    settings = [{"prior": prior, "crowding": a} for prior in ("zero", "identity", "cosine") for a in (0.0, 0.2)]
    found, asked = {}, {}

    def visit(place, model):
        rows = asked.setdefault("rows", model._scale_rows(SparseRows.from_scipy(X_new) if make is not dense else X_new))
        question = asked.setdefault("question", model._question(rows, model.signature_table_))
        found[place] = model._candidate_scorer(question)(rows)

    ClassMeansClassifier()._fit_together(settings, X, some.y, table, visit)
    for place, setting in enumerate(settings):
        alone = ClassMeansClassifier(**setting).fit(X, some.y, table)
        assert_close(found[place], alone.compatibility(X_new), SOLUTION.single)


# Taught models in a gallery
# A gallery of rows serves the models that were made of its own, and what unlabelled rows taught can be handed on.

NONE = {"calibration": 0.0, "temperatures": None, "crowding": 0.1, "weight": 3.0}


@pytest.fixture(scope="module")
def case():
    """A model whose shrinkage examples change, and rows."""
    data = datasets.load("digits")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    model.practice_ = {"examples": {"1": {**NONE, "shrinkage": 0.9}}}
    return model, data.X, data.X[data.y == 3][:2]


def test_gallery_serves_a_taught_model(case, monkeypatch):
    model, X, threes = case
    taught = model.add_examples(threes, [3, 3])
    assert taught.shrinkage_ != model.shrinkage_
    monkeypatch.setattr("zskl.estimators.search_vectors.BLOCK_BYTES", (100_000, 100_000))  # several blocks
    gallery = model.gallery(X)
    assert_close(gallery.with_model(taught).scores(), taught.compatibility(X), SUMS.single)
    assert_close(gallery.scores(), model.compatibility(X), SUMS.single)  # itself, it stays as it was
    removed = taught.remove_examples()
    assert_close(gallery.with_model(removed).scores(), model.compatibility(X), SUMS.single)


def test_adaptation_is_handed_to_another_model(case):
    model, X, threes = case
    adapted = model.adapt(X[::3], force=True)
    kept = adapted._kept_adaptation()
    assert_close(model._with_adaptation(kept).compatibility(X), adapted.compatibility(X), SUMS.single)
    both = model.add_examples(threes, [3, 3])._with_adaptation(kept)
    assert_close(both.compatibility(X), adapted.add_examples(threes, [3, 3]).compatibility(X), SUMS.single)
    without = kept[0].without(3)
    assert 3 not in without.classes
    assert len(without.sums) == len(without.classes) == len(kept[0].classes) - 1
    assert model._kept_adaptation() == []
    assert np.array_equal(kept[0].sums, adapted.adapted_sums_)


# "auto" in pieces


def test_pieces_decide_by_signs_and_later_ones_follow(data, caplog):
    X, y, table = data
    pieces = ClassMeansClassifier().partial_fit(X[:40], y[:40], table)
    assert pieces.partial_fit(X[40:], y[40:])._sums.scaling == "l2"
    assert_same(pieces, ClassMeansClassifier().fit(X, y, table), X)
    positive = ClassMeansClassifier().partial_fit(np.abs(X[:40]), y[:40], table)
    with caplog.at_level("WARNING", logger="zskl"):
        assert positive.partial_fit(X[40:], y[40:])._sums.scaling == "sqrt-l2"
    assert "this piece alone would take 'l2', those before 'sqrt-l2'" in caplog.text
    with pytest.raises(
        ValueError, match=r"feature_scaling 'sqrt-l2' and of rows with feature_scaling 'l2': .* you name"
    ):
        ClassMeansClassifier().sums(np.abs(X), y) + ClassMeansClassifier().sums(X, y)


def test_pieces_with_columns_in_different_units_are_refused(data):
    X, y, table = data
    uneven = X * 10.0 ** np.arange(X.shape[1])
    with pytest.raises(
        ValueError, match=r"in this piece columns differ in spread by a factor of .*; call fit, or divide"
    ):
        ClassMeansClassifier().sums(uneven, y)
    model = ClassMeansClassifier().fit(uneven, y, table)
    with pytest.raises(ValueError, match=r"'unit-center-l2'|in this piece"):
        model.partial_fit(uneven, y)
    assert "auto (unit-center-l2, because columns differ in spread by a factor of" in repr(model)


def test_a_model_file_holds_what_auto_chose(data, tmp_path):
    X, y, table = data
    uneven = X * 10.0 ** np.arange(X.shape[1])
    model = ClassMeansClassifier().fit(uneven, y, table)
    model.save(tmp_path / "model.zskl")
    loaded = zskl.load(tmp_path / "model.zskl")
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.compatibility(uneven), model.compatibility(uneven))


# Descriptions alone


def unit_rows(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def captions():
    """Descriptions of 6 classes, and rows of them in the same space."""
    draw = np.random.default_rng(0)
    S = draw.standard_normal((6, 10)) + 1
    y = np.repeat(list("abcdef"), 5)
    return np.repeat(S, 5, axis=0) + 0.5 * draw.standard_normal((30, 10)), y, dict(zip("abcdef", S, strict=True))


@pytest.mark.parametrize("X", [[], np.empty((0, 10))], ids=["list", "array"])
def test_descriptions_alone_are_plain_cosine(captions, caplog, X):
    rows, _, table = captions
    with caplog.at_level(logging.INFO, logger="zskl"):
        model = ClassMeansClassifier().fit(X, [], table)
    assert "no rows of any class: plain cosine between rows and the signatures of 6 classes" in caplog.text
    assert model.seen_classes_.tolist() == []
    assert model.classes_.tolist() == model.candidates_.tolist() == list("abcdef")
    cosines = unit_rows(rows) @ unit_rows(np.array(list(table.values()))).T
    np.testing.assert_allclose(model.compatibility(rows), cosines, atol=1e-6)
    assert (model.predict(rows) == np.array(list("abcdef"))[cosines.argmax(axis=1)]).all()
    assert model.top_k(rows, 2).shape == (30, 2)
    with pytest.warns(zskl.UncalibratedWarning):
        found = model.predict_proba(rows)
    raised = np.exp((cosines - cosines.max(axis=1, keepdims=True)) / 0.05)
    np.testing.assert_allclose(found, raised / raised.sum(axis=1, keepdims=True), atol=1e-4)
    assert model.explain(rows[:1])[0].label == model.predict(rows[:1])[0]


def test_a_model_of_descriptions_alone_can_be_taught_and_kept(captions, tmp_path):
    rows, y, table = captions
    model = ClassMeansClassifier().fit([], [], table)
    slow = unit_rows(2.0 * unit_rows(table["a"][None]) + unit_rows(rows[:1]))
    taught = model.add_examples(rows[:1], ["a"])
    np.testing.assert_allclose(taught.compatibility(rows, candidates=["a"]), unit_rows(rows) @ slow.T, atol=1e-5)
    assert model.add_examples(rows[:2], ["new", "new"]).candidates_.tolist()[-1] == "new"
    for one in (model, taught, model.add_examples(rows[:2], ["new", "new"])):
        one.save(tmp_path / "model.zskl")
        loaded = zskl.load(tmp_path / "model.zskl")
        assert loaded.seen_classes_.tolist() == []
        assert np.array_equal(loaded.compatibility(rows), one.compatibility(rows))
    assert model.adapt(rows, force=True).score(rows, y) >= model.score(rows, y) - 0.1
    assert ClassMeansClassifier().fit([], [], table).partial_fit(rows, y, table).classes_.tolist() == list("abcdef")
    assert model.fit(rows, y, table).classes_.tolist() == list("abcdef")


@pytest.mark.parametrize(
    ("settings", "X", "described", "sentence"),
    [
        ({}, np.empty((0, 9)), True, "X has no rows, 9 features, and signatures have 10 columns: expected as many"),
        ({}, [], False, "X has no rows and there are no signatures: expected rows, descriptions or both"),
        ({"prior": "zero"}, [], True, "prior is 'zero' and X has no rows: expected rows to learn from; use prior"),
        ({"feature_scaling": "center-l2"}, [], True, "feature_scaling is 'center-l2' and X has no rows: .* use 'l2'"),
    ],
)
def test_descriptions_alone_that_cannot_work_are_refused(captions, settings, X, described, sentence):
    with pytest.raises(ValueError, match=sentence):
        ClassMeansClassifier(**settings).fit(X, [], captions[2] if described else None)


def test_rows_of_another_space_are_refused_by_a_model_of_descriptions_alone(captions):
    model = ClassMeansClassifier().fit([], [], captions[2])
    with pytest.raises(ValueError, match="X has 8 features, but ClassMeansClassifier is expecting 10"):
        model.predict(captions[0][:, :8])
