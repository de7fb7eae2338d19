"""Class descriptions in every form a caller may have them: all forms of one table are one table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tolerances import SUMS, assert_close
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, read


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
    table = read(NAMED[form](toy.table))
    assert table.labels.tolist() == toy.table.index.tolist()
    assert table.names == tuple(toy.table.columns)
    np.testing.assert_array_equal(table.matrix, toy.table.to_numpy())
    assert table.matrix.dtype == np.float64


@pytest.mark.parametrize("form", NAMELESS)
def test_nameless_forms_are_one_table(toy, form):
    table = read(NAMELESS[form](toy.table))
    assert table.labels.tolist() == toy.table.index.tolist()
    assert table.names is None
    np.testing.assert_array_equal(table.matrix, toy.table.to_numpy())


@pytest.mark.parametrize("form", [*NAMED, *NAMELESS])
def test_every_form_gives_the_same_predictions(toy, form):
    expected = toy.fitted()
    given = {**NAMED, **NAMELESS}[form](toy.table)
    model = toy.model().fit(toy.X, toy.y, given)
    assert model.candidates_.tolist() == ["ant", "cat", "dog", "emu", "bee"]
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
        read_back = read(given, ["ant", "cat", "dog"])
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


def test_further_classes_become_candidates_in_table_order(toy):
    model = toy.fitted()
    assert model.classes_.tolist() == ["ant", "cat", "dog"]
    assert model.candidates_.tolist() == ["ant", "cat", "dog", "emu", "bee"]
    turned = toy.model().fit(toy.X, toy.y, toy.table.iloc[::-1])
    assert turned.candidates_.tolist() == ["ant", "cat", "dog", "bee", "emu"]


def several(table):
    """Two more descriptions of `dog` and one of `bee`, none beside the first."""
    further = ["dog", "bee", "dog"]
    return pd.concat([table, table.loc[further] + np.array([[0.4], [0.8], [-1.2]])])


def test_repeated_index_is_several_descriptions_and_the_best_counts(toy):
    table = several(toy.table)
    model = toy.model().fit(toy.X, toy.y, table)
    assert model.candidates_.tolist() == ["ant", "cat", "dog", "emu", "bee"]
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
    assert model.candidates_.tolist() == model.classes_.tolist() == ["ant", "cat", "dog"]
    np.testing.assert_array_equal(model.projection_, toy.model().fit(toy.X, toy.y, np.eye(3)).projection_)


def test_a_checked_table_is_used_as_it_is(toy):
    table = read(toy.table)
    assert read(table) is table


def test_select_and_padded_rows():
    table = SignatureTable(np.array(["b", "a", "b", "c", "b"]), np.arange(10.0).reshape(5, 2), None)
    assert table.classes.tolist() == ["b", "a", "c"]
    chosen = table.select(["c", "b"])
    assert chosen.labels.tolist() == ["c", "b", "b", "b"]
    assert chosen.matrix[:, 0].tolist() == [6, 0, 4, 8]
    assert chosen.padded_rows().tolist() == [[0, 0, 0], [1, 2, 3]]


def test_errors_name_a_few_and_count_the_rest():
    assert tables.listed(["a", np.int64(2)]) == "'a', 2"
    assert tables.listed(range(8)) == "0, 1, 2, 3, 4 and 3 more"
