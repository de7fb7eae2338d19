"""Columns that only number or name the rows are told from attributes. A fit warns of them and of equal descriptions."""

import numpy as np
import pandas as pd
import pytest

from toy import make_toy
from zskl import SignatureWarning, baselines
from zskl.signatures import identifiers

FIVE = np.array(list("abcde"))


def found(name, values, labels=FIVE):
    return identifiers.among([name], np.array(values, dtype=float)[:, None], labels) == [name]


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "Nr.", "no", "index", "code", "#", "class_id", "class code", "classId", "animal nr", "uuid", "row"],
)
def test_names_of_identifiers(name):
    assert identifiers.is_named_so(name)
    assert found(name, [7, 3, 9, 1, 4])
    assert not found(name, [7, 3, 9, 1, 3]), "two classes share it"
    assert not found(name, [7, 3, 9, 1, 4.5]), "not whole"


@pytest.mark.parametrize("name", ["size", "width", "postal_code", "body_mass_index", "paid", "acid", "node", "keys"])
def test_names_of_attributes(name):
    assert not identifiers.is_named_so(name)
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
    watch = identifiers.Numbering(names)
    for start in range(0, 20, height):
        watch.see(X[start : start + height])
    assert [names[k] for k in watch.found()] == ["a", "nr", "no"]


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
    for table in (equal, {label: row.to_numpy() for label, row in equal.iterrows()}):
        with pytest.warns(SignatureWarning, match="classes 'dog', 'emu' have the same signature"):
            model.fit(toy.X, toy.y, table)
    several = pd.concat([toy.table, toy.table.loc[["dog"]]])  # one class may be described twice in the same words
    model.fit(toy.X, toy.y, several)
