"""Pairs of classes that are taken for each other, by hand; and how they differ."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from zskl.serve import mistaken_pairs


class Words:
    """Three attributes: one in thousands, one below 1, one that is the same for all classes."""

    names = ("speed", "load", "made")
    low, high = np.array([0.0, 0.0, 1.0]), np.array([4000.0, 1.0, 1.0])


class Table:
    labels = np.array(["fan", "saw", "fan", "mill"], dtype=object)  # the fan has two descriptions
    matrix = np.array([[1000.0, 0.2, 1.0], [2000.0, 0.9, 1.0], [3000.0, 0.4, 1.0], [2000.0, 0.3, 1.0]])


@pytest.fixture
def differences():
    return mistaken_pairs.Differences(Words(), Table())


def test_attributes_that_differ_are_told_by_their_range(differences):
    (first,) = differences.between("saw", "mill")  # not those that are the same
    assert first == {"attribute": "load", "values": [0.9, 0.3]}
    (only,) = differences.between("fan", "saw")  # the mean of both descriptions: 2000, as the saw has
    assert only["attribute"] == "load"
    assert only["values"] == pytest.approx([0.3, 0.9])
    assert [one["attribute"] for one in differences.between("mill", "fan")] == []


def test_attributes_that_are_all_shares_are_told_by_their_size():
    words, table = Words(), Table()
    words.low, words.high = np.array([0.0, 0.0, 1.0]), np.array([0.01, 1.0, 1.0])
    table.matrix = table.matrix / [400_000, 1, 1]  # a rare one: it hardly differs, whatever its range
    first = mistaken_pairs.Differences(words, table).between("fan", "mill")
    assert [one["attribute"] for one in first] == []
    first = mistaken_pairs.Differences(words, table).between("saw", "mill")
    assert [one["attribute"] for one in first] == ["load"]


def test_pairs_are_counted_in_both_directions(differences):
    true = np.array(["fan"] * 4 + ["saw"] * 2 + ["mill"] * 4, dtype=object)
    answers = np.array(["fan", "saw", "mill", "mill", "fan", "saw", "mill", "mill", "mill", "mill"], dtype=object)
    first, second = mistaken_pairs.largest(true, answers, differences)
    assert first["classes"] == ["fan", "saw"]
    assert (first["rows"], first["mistaken"], first["share"]) == ([4, 2], [1, 1], 2 / 6)
    assert second["classes"] == ["fan", "mill"]
    assert (second["rows"], second["mistaken"], second["share"]) == ([4, 4], [2, 0], 2 / 8)
    assert mistaken_pairs.largest(true, true, differences) == []


def test_the_service_lists_them(digits):
    found = digits[2].get("/confusion").json()
    shares = [one["share"] for one in found["pairs"]]
    assert shares == sorted(shares, reverse=True)
    by_name = {one["class"]: one for one in found["classes"]}
    for pair in found["pairs"]:
        one, other = pair["classes"]
        assert pair["rows"] == [by_name[one]["rows"], by_name[other]["rows"]]
        told = {wrong["class"]: wrong for wrong in by_name[one]["wrong"]}
        if other in told:
            assert pair["mistaken"][0] == pytest.approx(told[other]["share"] * pair["rows"][0])
            assert pair["differ"] == told[other]["differ"]


def test_a_class_is_listed_with_a_row_that_has_a_picture(digits):
    _, data, client = digits
    for one in client.get("/classes").json()["classes"]:
        assert one["picture"] == int(np.flatnonzero(data.y == int(one["name"]))[0])
