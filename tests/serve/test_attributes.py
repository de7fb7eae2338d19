"""Groups of attributes of which every class has at most one."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served

NAMES = ["colour: red", "colour: blue", "has_leg::two", "has_leg::four", "size"]
TABLE = [[1, 0, 1, 1, 0.5], [0, 1, 0, 1, 2.0], [0, 0, 1, 0, 1.0]]  # colours exclude each other, legs do not


def model_of(values, names=NAMES):
    table = pd.DataFrame(values, index=["ant", "bee", "cat"], columns=names)
    X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    return served.kernel().fit(X, ["ant", "bee"] * 3, table)


def exclusive(values):
    client = served.client_of(model_of(values))
    return [one["name"] for one in client.get("/model").json()["attributes"] if one["exclusive"]]


def test_exclusive_groups_are_found_in_the_table_of_classes():
    assert exclusive(TABLE) == NAMES[:2]
    assert exclusive([[1, 1, *TABLE[0][2:]], *TABLE[1:]]) == []  # a class is red and blue
    assert exclusive([[0.5, 0, *TABLE[0][2:]], *TABLE[1:]]) == []  # a class is somewhat red


def test_one_of_an_exclusive_group_says_that_the_others_do_not_apply():
    client = served.client_of(model_of(TABLE))

    def saved(**attributes):
        given = {f"colour: {name}": value for name, value in attributes.items()}
        answer = client.put("/classes/new", json={"attributes": given}).json()
        return client.get("/classes/new").json()["attributes"]["colour: blue"], "colour: blue" in answer["defaulted"]

    assert saved(red=1) == (0.0, False)
    assert saved(red=1, blue=0.25) == (0.25, False)  # what is given stays
    assert saved(red=0.5) == (0.5, True)  # the mean of the seen classes
