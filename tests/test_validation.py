"""Names that may be slips of others are found; names that are honestly alike are not."""

import pytest

from zskl._validation import differ_in_spelling_alone, find_near_name, find_near_pairs

SLIPS = [
    ("Owl", "owl"),
    ("owl ", "owl"),
    ("owll", "owl"),
    ("snowy owl", "snowy-owl"),
    ("blackbird", "black bird"),
    ("snovy owl", "snowy owl"),
    ("Snow  Owl", "snowy owl"),
    ("panter", "panther"),
    ("pantehr", "panther"),
    ("Epoisses", "Époisses"),
]
APART = [
    ("cat", "bat"),
    ("a", "A"),
    ("type 1", "type 2"),
    ("K-001", "K-002"),
    ("type A", "type B"),
    ("grey fox", "red fox"),
    ("owl", "owlets"),
    ("1 23", "12 3"),
    ("", "owl"),
    ("owl", "owl"),
]


@pytest.mark.parametrize("pair", SLIPS)
def test_slips_are_found_in_both_directions(pair):
    one, other = pair
    assert find_near_name(one, ["yak", other, "emu"]) == other
    assert find_near_name(other, [one]) == one


@pytest.mark.parametrize("pair", APART)
def test_names_that_are_honestly_alike_are_left_alone(pair):
    one, other = pair
    assert find_near_name(one, [other]) is None
    assert find_near_name(other, [one]) is None


def test_numbers_are_no_names():
    assert find_near_name(11, [1, 111]) is None
    assert find_near_name("11", [11, "12"]) is None


def test_spelling_is_case_spaces_and_dashes():
    assert differ_in_spelling_alone("Snowy_Owl", "snowy owl")
    assert differ_in_spelling_alone("é ", "é")
    assert not differ_in_spelling_alone("é", "É")
    assert not differ_in_spelling_alone("owll", "owl")


def test_near_pairs_are_those_of_all_pairs():
    names = [*dict.fromkeys(name for pair in [*SLIPS, *APART] for name in pair), 11, "Owl "]
    slow = [(a, b) for k, b in enumerate(names) for a in names[:k] if find_near_name(b, [a]) is not None]
    assert len(slow) >= len(SLIPS)
    assert sorted(find_near_pairs(names)) == sorted(slow)
