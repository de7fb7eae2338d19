"""Class descriptions in every form a caller may have them: all forms of one table are one table."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import zskl
from tolerances import SUMS, assert_close
from toy import make_toy
from zskl import (
    ClassMeansClassifier,
    Committee,
    Dataset,
    SignatureWarning,
    ZeroShotKernelClassifier,
    baselines,
    selection,
)
from zskl.signatures import class_table, table
from zskl.signatures.table import (
    SignatureTable,
    attribute_groups,
    normalise_name,
    normalise_names,
    read_table,
    to_labels,
    unify_spelling,
)

# Table


def as_polars(table, column):
    return pl.DataFrame({column: list(table.index), **{name: table[name].to_numpy() for name in table.columns}})


def with_column(table, column, index=None):
    frame = table.reset_index(names=column)
    return frame if index is None else frame.set_axis(index, axis=0)


NAMED = {
    "pandas, index": lambda t: t,
    "pandas, index named otherwise": lambda t: t.rename_axis("animal"),
    "pandas, object index": lambda t: t.set_axis(t.index.astype(object)),
    "pandas, categorical index": lambda t: t.set_axis(pd.CategoricalIndex(t.index)),
    "pandas, class column": lambda t: with_column(t, "class"),
    "pandas, class column before the index": lambda t: with_column(t, "class", list("vwxyz")),
    "pandas, class column last": lambda t: with_column(t, "class")[[*t.columns, "class"]],
    "pandas, categorical class column": lambda t: with_column(t, "class").astype({"class": "category"}),
    "pandas, only text column": lambda t: with_column(t, "animal"),
    "polars, class column": lambda t: as_polars(t, "class"),
    "polars, only text column": lambda t: as_polars(t, "animal"),
    "polars, categorical column": lambda t: as_polars(t, "animal").with_columns(pl.col("animal").cast(pl.Categorical)),
    "mapping to {attribute: value}": lambda t: t.to_dict(orient="index"),
    "mapping to {attribute: value} in any order": lambda t: {
        label: row[list(np.roll(t.columns, k))].to_dict() if k else row.to_dict()
        for k, (label, row) in enumerate(t.iterrows())
    },
    "mapping to Series": lambda t: dict(t.iterrows()),
}
NAMELESS = {
    "mapping to vector": lambda t: dict(zip(t.index, t.to_numpy(), strict=True)),
    "mapping to list": lambda t: dict(zip(t.index, t.to_numpy().tolist(), strict=True)),
    "mapping to one row": lambda t: {label: t.loc[[label]].to_numpy() for label in t.index},
}


@pytest.mark.parametrize("form", NAMED)
def test_named_forms_are_one_table(toy, form):
    table = read_table(NAMED[form](toy.table))
    assert table.labels.tolist() == toy.table.index.tolist()
    assert table.names == tuple(toy.table.columns)
    np.testing.assert_array_equal(table.matrix, toy.table.to_numpy())
    assert table.matrix.dtype == np.float64


@pytest.mark.parametrize("form", NAMELESS)
def test_nameless_forms_are_one_table(toy, form):
    table = read_table(NAMELESS[form](toy.table))
    assert table.labels.tolist() == toy.table.index.tolist()
    assert table.names is None
    np.testing.assert_array_equal(table.matrix, toy.table.to_numpy())


@pytest.mark.parametrize("form", [*NAMED, *NAMELESS])
def test_every_form_gives_the_same_predictions(toy, form):
    expected = toy.fitted()
    given = {**NAMED, **NAMELESS}[form](toy.table)
    model = toy.model().fit(toy.X, toy.y, given)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog", "emu"]
    np.testing.assert_array_equal(model.projection_, expected.projection_)
    np.testing.assert_array_equal(model.compatibility(toy.X_new), expected.compatibility(toy.X_new))
    np.testing.assert_array_equal(
        expected.compatibility(toy.X_new, given), expected.compatibility(toy.X_new, toy.table)
    )


def test_array_rows_are_the_sorted_classes(toy):
    array = toy.table.loc[["ant", "cat", "dog"]].to_numpy()
    expected = toy.model().fit(toy.X, toy.y, toy.table.loc[["dog", "cat", "ant"]])
    for given in (array, array.tolist(), tuple(map(tuple, array)), np.asfortranarray(array)):
        model = toy.model().fit(toy.X, toy.y, given)
        assert model.candidates_.tolist() == ["ant", "cat", "dog"]
        assert model.attribute_names_ is None
        np.testing.assert_array_equal(model.projection_, expected.projection_)
    reversed_rows = toy.model().fit(toy.X, toy.y, array[::-1])
    assert not np.array_equal(reversed_rows.projection_, expected.projection_)


def test_columns_are_reordered_by_name(toy):
    model = toy.fitted()
    expected = model.compatibility(toy.X_new, toy.table)
    shuffled = toy.table[["fur", "wings", "size", "legs"]]
    for given in (shuffled, as_polars(shuffled, "class"), shuffled.to_dict(orient="index")):
        np.testing.assert_array_equal(model.compatibility(toy.X_new, given), expected)
    nameless = model.compatibility(toy.X_new, shuffled.to_numpy(), candidates=list(shuffled.index))
    assert not np.allclose(nameless, expected, rtol=1e-3)  # an array has no names: its columns are taken as they come


def test_integer_column_names(toy):
    numbered = toy.table.set_axis(range(4), axis=1)
    model = toy.model().fit(toy.X, toy.y, numbered)
    assert model.attribute_names_ == ("0", "1", "2", "3")
    np.testing.assert_array_equal(
        model.compatibility(toy.X_new, numbered[[2, 0, 3, 1]]), model.compatibility(toy.X_new, numbered)
    )
    model.compatibility(toy.X_new, numbered.set_axis(list("0123"), axis=1))


def test_a_model_without_names_takes_named_columns_in_order(toy):
    model = toy.model().fit(toy.X, toy.y, NAMELESS["mapping to vector"](toy.table))
    np.testing.assert_array_equal(
        model.compatibility(toy.X_new, toy.table), toy.fitted().compatibility(toy.X_new, toy.table)
    )


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_numbers_of_any_type(toy, dtype):
    table = (toy.table.abs() * 3 + 1).astype(dtype)
    for given in (table, as_polars(table, "class"), table.loc[["ant", "cat", "dog"]].to_numpy()):
        read_back = read_table(given, ["ant", "cat", "dog"])
        assert read_back.matrix.dtype == np.float64
        np.testing.assert_array_equal(read_back.select(["dog"]).matrix, table.loc[["dog"]].to_numpy().astype(float))


def test_integer_classes_by_default_index_and_by_column(toy):
    y = np.searchsorted(["ant", "cat", "dog"], toy.y)
    numbered = toy.table.loc[["ant", "cat", "dog", "emu", "bee"]].reset_index(drop=True)
    by_index = toy.model().fit(toy.X, y, numbered)
    by_column = toy.model().fit(toy.X, y, as_polars(numbered, "class"))
    assert by_index.candidates_.tolist() == by_column.candidates_.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(by_index.projection_, by_column.projection_)
    assert by_index.predict(toy.X).dtype.kind == "i"


def test_further_classes_are_sorted_among_the_seen_ones(toy):
    model = toy.fitted()
    assert model.seen_classes_.tolist() == ["ant", "cat", "dog"]
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog", "emu"]
    turned = toy.model().fit(toy.X, toy.y, toy.table.iloc[::-1])
    assert turned.classes_.tolist() == turned.candidates_.tolist() == model.classes_.tolist()


def several(table):
    """Two more descriptions of `dog` and one of `bee`, none beside the first."""
    further = ["dog", "bee", "dog"]
    return pd.concat([table, table.loc[further] + np.array([[0.4], [0.8], [-1.2]])])


def test_repeated_index_is_several_descriptions_and_the_best_counts(toy):
    table = several(toy.table)
    model = toy.model().fit(toy.X, toy.y, table)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog", "emu"]
    scores = model.compatibility(toy.X_new)
    each = model.compatibility(toy.X_new, table.to_numpy(), candidates=list(range(len(table))))  # a class a row
    for column, label in enumerate(model.candidates_):
        best = each[:, table.index == label].max(axis=1)
        assert_close(scores[:, column], best, SUMS.double)
    first = each[:, [list(table.index).index(label) for label in model.candidates_]]
    assert not np.allclose(scores, first, rtol=1e-6)  # the later descriptions do count


def test_several_descriptions_in_every_form(toy):
    table = several(toy.table)
    expected = toy.model().fit(toy.X, toy.y, table)
    blocks = {label: table.loc[[label]].to_numpy() for label in toy.table.index}
    for given in (as_polars(table, "class"), with_column(table, "class"), with_column(table, "animal"), blocks):
        model = toy.model().fit(toy.X, toy.y, given)
        np.testing.assert_array_equal(model.projection_, expected.projection_)
        np.testing.assert_array_equal(model.compatibility(toy.X_new), expected.compatibility(toy.X_new))


def test_an_array_may_repeat_a_candidate(toy):
    table = several(toy.table)
    model = toy.fitted()
    assert_close(
        model.compatibility(toy.X_new, table.to_numpy(), candidates=list(table.index)),
        model.compatibility(toy.X_new, table),
        SUMS.double,
    )


def test_one_hot_is_the_default(toy):
    model = toy.model().fit(toy.X, toy.y)
    np.testing.assert_array_equal(model.signature_table_.matrix, np.eye(3))
    assert model.candidates_.tolist() == model.seen_classes_.tolist() == ["ant", "cat", "dog"]
    np.testing.assert_array_equal(model.projection_, toy.model().fit(toy.X, toy.y, np.eye(3)).projection_)


def test_a_checked_table_is_used_as_it_is(toy):
    table = read_table(toy.table)
    assert read_table(table) is table


def test_select_and_padded_rows():
    table = SignatureTable(np.array(["b", "a", "b", "c", "b"]), np.arange(10.0).reshape(5, 2), None)
    assert table.classes.tolist() == ["b", "a", "c"]
    chosen = table.select(["c", "b"])
    assert chosen.labels.tolist() == ["c", "b", "b", "b"]
    assert chosen.matrix[:, 0].tolist() == [6, 0, 4, 8]
    assert chosen.padded_rows().tolist() == [[0, 0, 0], [1, 2, 3]]


def test_errors_name_a_few_and_count_the_rest():
    assert table.list_values(["a", np.int64(2)]) == "'a', 2"
    assert table.list_values(range(8)) == "0, 1, 2, 3, 4 and 3 more"


# Data frames as features: columns by name, and an error that names the column.

NAMES = list("uvwxyz")
MODELS = {"eszsl": baselines.ESZSL(), "class-means": ClassMeansClassifier(), "committee": Committee(random_state=0)}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("name", MODELS)
def test_columns_in_another_order_are_matched_by_name(toy, name, library):
    X = toy.X[:, : len(NAMES)]
    model = MODELS[name].fit(pd.DataFrame(X, columns=NAMES), toy.y, toy.table)
    given = library(dict(zip(NAMES, X.T, strict=True)))
    turned = given[NAMES[::-1]]
    assert table.order_columns(turned, NAMES).equals(given)
    assert model.decision_function(turned).shape == model.decision_function(given).shape
    np.testing.assert_array_equal(model.predict(turned), model.predict(given))
    assert model.score(turned, toy.y) == model.score(given, toy.y)
    with pytest.raises(ValueError, match=r"Feature names unseen at fit time:\n- new"):
        model.predict(library(dict(zip(["new", *NAMES[1:]], X.T, strict=True))))


def test_later_pieces_too(toy):
    X = pd.DataFrame(toy.X, columns=NAMES)
    one, other = (ClassMeansClassifier().partial_fit(X, toy.y, toy.table) for _ in range(2))
    one, other = one.partial_fit(X, toy.y), other.partial_fit(X[NAMES[::-1]], toy.y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


WORDS = {
    "text": (
        ["red", "blue"],
        "'red' in column 'colour': expected numbers; if it holds categories, put",
    ),
    "categories": (pd.Categorical(["red", "blue"]), "'red' in column 'colour'"),
    "dates": ([datetime.datetime(2024, 5, 1)] * 2, "dates in column 'colour': expected numbers"),
}


@pytest.mark.parametrize("case", WORDS)
def test_a_column_that_is_not_of_numbers_is_named(case):
    values, sentence = WORDS[case]
    X = pd.DataFrame({"size": [1.0, 2.0], "colour": values})
    with pytest.raises(ValueError, match=f"X holds {sentence}"):
        baselines.ESZSL().fit(X, ["a", "b"])
    model = baselines.ESZSL().fit(X.assign(colour=[1, 2]), ["a", "b"])
    with pytest.raises(ValueError, match=f"X holds {sentence}"):
        model.predict(X)


def test_numbers_as_text_and_truth_values_are_numbers():
    X = pd.DataFrame({"size": ["1.5", "2"], "wild": [True, False]})
    assert baselines.ESZSL().fit(X, ["a", "b"]).predict(X).tolist() == ["a", "b"]


def test_a_lazy_frame_has_no_rows_yet():
    lazy = pl.LazyFrame({"class": ["a", "b"], "size": [1.0, 2.0]})
    for what, given in (("X", (lazy, ["a", "b"])), ("signatures", ([[1.0], [2.0]], ["a", "b"], lazy))):
        with pytest.raises(ValueError, match=rf"{what} is a LazyFrame, which holds no rows yet.*\.collect\(\)"):
            baselines.ESZSL().fit(*given)


def test_a_column_called_collect_is_a_column():
    assert table.open_frame(pd.DataFrame({"collect": [1]}), "X").columns == ["collect"]
    assert table.open_frame(np.ones((2, 2)), "X") is None


# Groups of attributes from their names.


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["has_bill::hooked", "has_bill::dagger", "has_size::small"], {"has_bill": (0, 1), "has_size": (2,)}),
        (["wing:red", "size", "wing:blue"], {"wing": (0, 2), "size": (1,)}),
        (["has_wing_red", "has_wing_blue", "has_size_small"], {"has_wing": (0, 1), "has_size": (2,)}),
        (["bill_long_curved", "bill_short", "tail_short"], {"bill": (0, 1), "tail": (2,)}),
        (["att_1", "att_2"], {"att_1": (0,), "att_2": (1,)}),  # one group of all says nothing
        (["black", "new_world"], {"black": (0,), "new_world": (1,)}),
    ],
)
def test_groups(names, groups):
    assert attribute_groups(names) == groups


# Columns that only number or name the rows are told from attributes. A fit warns of them and of equal descriptions.

FIVE = np.array(list("abcde"))


def found(name, values, labels=FIVE):
    return table.find_identifiers([name], np.array(values, dtype=float)[:, None], labels) == [name]


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "Nr.", "no", "index", "code", "#", "class_id", "class code", "classId", "animal nr", "uuid", "row"],
)
def test_names_of_identifiers(name):
    assert table.has_identifier_name(name)
    assert found(name, [7, 3, 9, 1, 4])
    assert not found(name, [7, 3, 9, 1, 3]), "two classes share it"
    assert not found(name, [7, 3, 9, 1, 4.5]), "not whole"


@pytest.mark.parametrize("name", ["size", "width", "postal_code", "body_mass_index", "paid", "acid", "node", "keys"])
def test_names_of_attributes(name):
    assert not table.has_identifier_name(name)
    assert not found(name, [7, 3, 9, 1, 4])
    assert found(name, [7, 8, 9, 10, 11]), "it counts"
    assert not found(name, [0.5, 1.5, 2.5, 3.5, 4.5])
    assert not found(name, [0, 2, 4, 6, 8])


def test_of_few_rows_whole_numbers_in_order_may_be_an_attribute():
    assert not found("size", [1, 2, 3, 4], FIVE[:4])
    assert found("id", [1, 2, 3, 4], FIVE[:4])


def test_several_descriptions_of_a_class():
    labels = np.repeat(FIVE, 2)
    assert found("nr", np.repeat([4, 2, 8, 1, 3], 2), labels), "a number for each class"
    assert found("nr", [4, 2, 8, 1, 3, 9, 7, 5, 0, 6], labels), "a number for each row"
    assert found("size", np.repeat([3, 4, 5, 6, 7], 2), labels)
    assert not found("nr", [4, 2, 8, 1, 3, 4, 2, 8, 1, 3], labels)


@pytest.mark.parametrize("height", [1, 2, 7, 20])
def test_blocks_of_rows_say_the_same_as_all_rows(height):
    draw = np.random.default_rng(0)
    counting, number = np.arange(20.0) + 3, draw.permutation(20).astype(float)
    names = ["a", "b", "c", "nr", "code", "no"]
    X = np.c_[counting, number, draw.normal(size=20), number, number % 19, 2e9 + number * 64].astype(np.float32)
    watch = table.Numbering(names)
    for start in range(0, 20, height):
        watch.update(X[start : start + height])
    assert [names[k] for k in watch.find()] == ["a", "nr", "no"]


def test_a_fit_warns_of_an_identifier_and_of_equal_descriptions():
    toy = make_toy()
    model = baselines.ESZSL()
    with pytest.warns(SignatureWarning, match="the attribute 'nr' of signatures numbers or names the classes"):
        model.fit(toy.X, toy.y, toy.table.assign(nr=[4, 2, 3, 1, 5]))
    mapping = {label: {"id": k, **row} for k, (label, row) in enumerate(toy.table.to_dict("index").items())}
    with pytest.warns(SignatureWarning, match="the attribute 'id'"):
        model.fit(toy.X, toy.y, mapping)
    equal = toy.table.copy()
    equal.loc["emu"] = equal.loc["dog"]
    for described in (equal, {label: row.to_numpy() for label, row in equal.iterrows()}):
        with pytest.warns(SignatureWarning, match="classes 'dog', 'emu' have the same signature"):
            model.fit(toy.X, toy.y, described)
    several = pd.concat([toy.table, toy.table.loc[["dog"]]])  # one class may be described twice in the same words
    model.fit(toy.X, toy.y, several)


# Two spellings of one name are one class, and a missing label is called missing.

WHOLE, APART = "caf\u00e9", "cafe\u0301"  # é as one sign, and as e with an accent
X = np.array([[0.0, 1.0, 0.3], [0.1, 1.2, 0.2], [2.0, 0.1, 0.4], [2.2, 0.0, 0.5]])
TABLE = pd.DataFrame({"a": [1.0, 0.0, 1.0], "b": [0.0, 2.0, 1.0]}, index=[WHOLE, "tea", f"{WHOLE}s"])


@pytest.mark.parametrize("kind", [object, np.str_])
def test_each_name_gets_one_spelling(kind):
    labels = np.array([APART, "tea", WHOLE, APART], dtype=kind)
    assert unify_spelling(labels).tolist() == [WHOLE, "tea", WHOLE, WHOLE]
    assert unify_spelling(labels[:2]).tolist() == [APART, "tea"]  # one spelling: it stays
    assert unify_spelling(labels, [APART]).tolist() == [APART, "tea", APART, APART]
    assert normalise_names(labels[:2]).tolist() == [WHOLE, "tea"]
    assert unify_spelling(labels).dtype.kind == labels.dtype.kind


def test_numbers_and_plain_names_are_left_alone():
    for labels in (np.arange(3), np.array(["a", "b"]), np.array([1.5])):
        assert unify_spelling(labels, ["x"]) is labels
        assert normalise_names(labels) is labels
    assert normalise_name("tea") == "tea"


@pytest.mark.parametrize("model", [baselines.ESZSL(), ClassMeansClassifier()], ids=lambda model: model.kind)
def test_a_model_keeps_the_spelling_of_its_labels_and_finds_the_other(model):
    y = np.array([APART, APART, "tea", "tea"])
    model = model.fit(X, y, TABLE)
    np.testing.assert_array_equal(model.seen_classes_, np.unique(y))
    assert model.classes_.tolist() == [APART, f"{WHOLE}s", "tea"]
    assert set(model.predict(X, candidates=[WHOLE, "tea"])) == {APART, "tea"}
    other = [WHOLE, WHOLE, "tea", "tea"]
    assert model.score(X, other, candidates=other[1:3]) == model.score(X, y, candidates=y[1:3])
    assert model.predict(X[:1], TABLE, [f"{APART}s"]).tolist() == [f"{WHOLE}s"]
    assert model.fit(X, [APART, WHOLE, "tea", "tea"], TABLE).seen_classes_.tolist() == [WHOLE, "tea"]


def test_later_pieces_and_examples_are_of_the_classes_that_are_there():
    model = ClassMeansClassifier().partial_fit(X[::2], [APART, "tea"], TABLE)
    model = model.partial_fit(X[1::2], [WHOLE, "tea"])
    assert model.seen_classes_.tolist() == [APART, "tea"]
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
    assert WHOLE in tuned.model.seen_classes_
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
        to_labels([missing, "tea"], "candidates")


# Tables as people keep them: words, gaps and units

BIRDS = pd.DataFrame(
    {
        "class": ["owl", "wren", "wren", "swan", "crow", "duck", "gull"],
        "colour": ["brown", "brown ", "Grey", "white", "black", "white", "GREY"],
        "wing": ["95 cm", "15 cm", "16", "200cm", "90 cm", "80 cm", "100 cm"],
        "nocturnal": ["yes", "no", "no", "No", "no", "no", "no"],
        "latin": ["s", "t", "t", "c", "k", "a", "l"],
        "size": [2, 1, 1, 3, 2, 2, 2],
    }
)
NEW = pd.DataFrame({"class": ["egret"], "colour": ["White"], "wing": ["150 cm"], "nocturnal": ["no"], "size": [3]})


def slow_numbers(frame, words=("Grey", "black", "brown", "white")):
    """The same cell by cell, as a reader would write it down."""
    rows = []
    for _, bird in frame.iterrows():
        colour = [float(bird["colour"].strip().lower() == word.lower()) for word in words]
        wing = float(bird["wing"].removesuffix("cm").strip())
        rows.append([*colour, wing, float(bird["nocturnal"].lower() == "yes"), float(bird["size"])])
    return np.array(rows)


def birds_and_rows(rows=8, seed=0):
    """X and y of six birds whose rows follow the numbers of their (first) description."""
    draw = np.random.default_rng(seed)
    values = slow_numbers(BIRDS.drop_duplicates("class")) / [1, 1, 1, 1, 200, 1, 3]
    X = np.repeat(values, rows, axis=0) @ draw.normal(size=(7, 9)) + 0.05 * draw.normal(size=(6 * rows, 9))
    return X, np.repeat(BIRDS["class"].unique(), rows)


@pytest.mark.parametrize("given", ["pandas", "polars", "categorical", "mapping"])
def test_words_yes_and_units_become_numbers(given):
    frame = BIRDS
    if given == "polars":
        frame = pytest.importorskip("polars").DataFrame(BIRDS.to_dict("list"))
    if given == "categorical":
        frame = BIRDS.astype({"colour": "category", "nocturnal": "category"}).set_index("class")
    if given == "mapping":
        frame = {
            name: rows.drop(columns="class").to_dict("records") for name, rows in BIRDS.groupby("class", sort=False)
        }
    found = read_table(frame)
    assert found.labels.tolist() == BIRDS["class"].tolist()  # several rows of a class stay several
    assert found.names == ("colour=Grey", "colour=black", "colour=brown", "colour=white", "wing", "nocturnal", "size")
    np.testing.assert_array_equal(found.matrix, slow_numbers(BIRDS))
    again = read_table(NEW, names=found.names, preparation=found.preparation)
    np.testing.assert_array_equal(again.matrix, slow_numbers(NEW))


@pytest.mark.parametrize(
    "kind", [ClassMeansClassifier, lambda: ZeroShotKernelClassifier(random_state=0), baselines.ESZSL]
)
def test_a_model_keeps_the_words_of_its_table(kind, tmp_path):
    X, y = birds_and_rows()
    with pytest.warns(SignatureWarning, match="column 'latin' of signatures was left out.*TextClassifier"):
        model = kind().fit(X, y, BIRDS)
    numbers = pd.DataFrame(slow_numbers(BIRDS), BIRDS["class"], list(model.attribute_names_))
    scaled = {"unit-center-l2"} & {"-".join(model.signature_scaling_.steps)}  # words beside numbers
    twin = kind().set_params(**({"signature_scaling": scaled.pop()} if scaled else {})).fit(X, y, numbers)
    new = pd.DataFrame(slow_numbers(NEW), NEW["class"], numbers.columns)
    model.save(tmp_path / "m.zskl")
    for one in (model, zskl.load(tmp_path / "m.zskl"), kind().fit(X, y, class_table(BIRDS))):
        np.testing.assert_array_equal(one.compatibility(X, NEW), twin.compatibility(X, new))
        np.testing.assert_array_equal(one.compatibility(X, new), twin.compatibility(X, new))
    with pytest.raises(ValueError, match="attribute columns must be numbers, as in the table of fit"):
        twin.predict(X, NEW)


def test_the_remark_on_an_unknown_word_shows_the_line_that_gave_it():
    X, y = birds_and_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignatureWarning)
        model = ClassMeansClassifier().fit(X, y, BIRDS.drop(columns="latin"))
    with pytest.warns(SignatureWarning, match="column 'colour' of the class table holds 'puce'") as found:
        model.predict(X[:2], BIRDS.drop(columns="latin").assign(colour="puce"))
    assert found[0].filename == __file__


def test_words_do_not_drown_beside_numbers():
    """Wings in millimetres are as large as 0 and 1, once they are scaled, whatever the unit."""
    X, y = birds_and_rows()
    scores = []
    for unit in (1, 1000):
        wings = [f"{unit * float(wing.removesuffix('cm'))} u" for wing in BIRDS["wing"]]
        table = BIRDS.drop(columns="latin").assign(wing=wings)
        model = ClassMeansClassifier().fit(X, y, table)
        assert model.signature_scaling_.steps == ("unit", "center", "l2")
        assert "words stand beside numbers" in repr(model)
        scores.append(model.compatibility(X, table))
    assert_close(scores[0], scores[1], SUMS.single)
    with pytest.warns(SignatureWarning, match="have the same signature"):
        plain = ClassMeansClassifier().fit(X, y, BIRDS[["class", "colour", "nocturnal"]])
    assert "unit" not in plain.signature_scaling_.steps


def test_an_explanation_names_words():
    X, y = birds_and_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignatureWarning)
        model = ClassMeansClassifier().fit(X, y, BIRDS)
    told = str(model.explain(X[:1], top=7, label="owl", against="swan")[0])
    assert "colour = brown +" in told
    assert "colour not white +" in told


def test_new_classes_in_words_can_be_taught(tmp_path):
    X, y = birds_and_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignatureWarning)
        model = ClassMeansClassifier().fit(X, y, BIRDS)
    taught = model.add_examples(X[:2] + 1, ["egret", "egret"], NEW)
    row = taught.signature_table_.select(["egret"]).matrix
    np.testing.assert_array_equal(row, slow_numbers(NEW))
    taught.save(tmp_path / "taught.zskl")
    with pytest.warns(SignatureWarning, match="column 'colour' of the class table holds 'pink'.*none of 'Grey'"):
        found = zskl.load(tmp_path / "taught.zskl").predict(X[:1], NEW.assign(colour="pink"))
    assert found.tolist() == ["egret"]


def test_gaps_are_filled_or_left_out_where_it_is_said():
    table = BIRDS.drop(columns="latin").replace({"200cm": "", "Grey": None})
    with pytest.raises(ValueError, match=r"'wren', column 'colour': found '', expected.*missing='mean'.*class_table"):
        class_table(table)
    with pytest.raises(ValueError, match=r"signatures contains NaN at class 'b'.*class_table\(..., missing='mean'\)"):
        zskl.ClassMeansClassifier().fit(np.eye(2), ["a", "b"], pd.DataFrame({"size": [1, np.nan]}, index=["a", "b"]))
    filled = class_table(table, missing="mean")
    assert filled.loc["swan", "wing"] == np.mean([95, 15, 16, 90, 80, 100])
    assert filled.filter(like="colour").to_numpy()[2].tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match=r"class 'swan' in the class table has an empty cell.*missing='mean'"):
        class_table(table, missing="drop")
    assert class_table(table[table["class"] != "swan"], missing="drop").index.tolist() == [
        *("owl", "wren", "crow", "duck", "gull")
    ]
    X, y = birds_and_rows()
    model = ClassMeansClassifier().fit(X, y, filled)
    gap = pd.DataFrame({"class": ["egret"], "colour": [None], "wing": [None], "nocturnal": ["no"], "size": [3]})
    read = read_table(gap, names=model.attribute_names_, preparation=model.signature_table_.preparation)
    assert read.matrix.tolist() == [[0, 0, 0, 0, filled.loc["swan", "wing"], 0, 3]]
    numbers = class_table(BIRDS[["class", "size"]].assign(size=[2, 1, 1, None, 2, 2, 2.0], legs=2.0), missing="mean")
    assert numbers.loc["swan", "size"] == np.mean([2, 1, 1, 2, 2, 2])


SENTENCES = {"owl": "a bird that hunts at night", "wren": "a small brown bird"}
REFUSED = {
    "a dict of sentences": (SENTENCES, "describes class 'owl' by 'a bird that hunts.*TextClassifier.*sentence_vectors"),
    "a series of them": (pd.Series(SENTENCES), "TextClassifier"),
    "a column of them": (
        pd.DataFrame({"class": [*SENTENCES], "about": [*SENTENCES.values()]}),
        "column 'about' of the class table holds another text.*sentence_vectors",
    ),
    "two units": (BIRDS.replace("200cm", "2 m"), "class 'swan', column 'wing': found '2 m', and 'cm' before"),
    "a word among numbers": (BIRDS.replace("200cm", "wide"), "column 'wing': found 'wide', expected a finite number"),
    "a comma": (BIRDS.replace("200cm", "2,5 cm"), "found '2,5 cm', expected a finite number, with a decimal point"),
    "dates": (BIRDS.assign(size=pd.Timestamp("2026-01-01")), "dates in column 'size'"),
    "no class": (BIRDS.rename(columns={"class": "bird"}), "name one column 'class'"),
    "words refused": (BIRDS, "column 'colour': found 'brown', expected.*categories='onehot'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_class_table_is_refused_with_advice(case):
    table, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        class_table(table, categories=None) if case == "words refused" else read_table(table)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (NEW.assign(wing="1.5 m"), "class 'egret', column 'wing': found '1.5 m', expected numbers in 'cm'"),
        (
            NEW.assign(size="big"),
            "column 'size': found 'big', expected a finite number, as in the table that the model",
        ),
        (NEW.assign(size=None), "column 'size': found '', expected a finite number, as in the table that the model"),
        (NEW.assign(size="3 kg"), "column 'size': found '3 kg', expected numbers without a unit"),
        (NEW.drop(columns="colour"), "lacks 'colour'"),
        (NEW.assign(beak="short"), "has the unknown 'beak'"),
    ],
)
def test_new_classes_are_described_as_those_of_fit(table, sentence):
    known = read_table(BIRDS)
    with pytest.raises(ValueError, match=sentence):
        read_table(table, names=known.names, preparation=known.preparation)
