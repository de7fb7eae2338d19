"""What the text in a cell says, and what becomes of a column of a class table."""

import pytest

from zskl.signatures.cells import Preparation, cell_text, parse_quantity

QUANTITIES = {
    "12 cm": (12.0, "cm"),
    "12cm": (12.0, "cm"),
    "-3.5e1 °C": (-35.0, "°C"),
    "45%": (45.0, "%"),
    "80 km/h": (80.0, "km/h"),
    "3 eggs": (3.0, "eggs"),
    "7": (7.0, ""),
    "True": (1.0, ""),
    "No": (0.0, "yes or no"),
    "2nd": (None, ""),
    "12 cm long": (None, ""),
    "red 2": (None, ""),
    "K-007": (None, ""),
    "1_000 m": (None, ""),
}


@pytest.mark.parametrize("text", QUANTITIES)
def test_a_number_and_its_unit(text):
    assert parse_quantity(text) == QUANTITIES[text]


def test_a_cell_may_hold_anything():
    given = [" a b ", None, float("nan"), 3.0, 0.1, True, 7]
    assert [cell_text(one) for one in given] == ["a b", "", "", "3", "0.10000000000000001", "True", "7"]
    assert float(cell_text(0.1)) == 0.1


def test_what_an_earlier_version_kept_has_no_units():
    (column,) = Preparation.from_text('[{"name": "rind", "fill": null, "categories": ["washed"]}]').columns
    assert (column.features, column.unit) == (("rind=washed",), "")
