"""Descriptions in words, with attributes of birds and of mammals."""

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from zskl.serve.attributes import _divided
from zskl.serve.phrases import Phrases

COLOURS = ("black", "white", "yellow", "red", "blue", "grey", "brown", "buff", "rufous", "iridescent")
COLOURED = (
    "primary",
    "crown",
    "forehead",
    "nape",
    "throat",
    "breast",
    "belly",
    "wing",
    "bill",
    "leg",
    "eye",
    "upper_tail",
)
BIRDS = [
    *(f"has_{part}_color::{colour}" for part in COLOURED for colour in COLOURS),
    *(f"has_{part}_pattern::{kind}" for part in ("wing", "tail", "breast") for kind in ("solid", "spotted", "striped")),
    *(f"has_head_pattern::{kind}" for kind in ("crested", "masked", "plain", "eyering")),
    *(f"has_tail_shape::{kind}_tail" for kind in ("forked", "rounded", "pointed")),
    *(f"has_wing_shape::{kind}-wings" for kind in ("rounded", "pointed", "long")),
    *(f"has_bill_length::{kind}" for kind in ("shorter_than_head", "longer_than_head")),
    *("has_bill_shape::hooked", "has_bill_shape::cone", "has_bill_shape::curved_(up_or_down)"),
    *("has_size::small_(5_-_9_in)", "has_size::very_small_(3_-_5_in)", "has_size::large_(16_-_32_in)"),
]


def understood(names, text):
    """Attributes as part=value, with a minus if they are denied; unknown words after them."""
    read = Phrases([_divided(name) for name in names]).read(text)
    told = [("-" if one.denied else "") + names[one.place].removeprefix("has_") for one in read.found]
    return [one.replace("_color::", "=").replace("::", "=") for one in told], read.unknown


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        (
            "small black bird with a yellow head",
            ["size=small_(5_-_9_in)", "primary=black", "crown=yellow", "forehead=yellow", "nape=yellow"],
            ["bird"],
        ),
        ("a tiny bird with gray beak", ["size=very_small_(3_-_5_in)", "bill=grey"], ["bird"]),
        ("black and white wings, red chest", ["wing=black", "wing=white", "breast=red"], []),
        ("Its belly is yellowish; the eyes are red.", ["belly=yellow", "eye=red"], []),
        ("yellow throat and breast", ["throat=yellow", "breast=yellow"], []),
        ("white belly and black wings", ["belly=white", "wing=black"], []),
        (
            "forked tail, crest, hooked beak",
            ["tail_shape=forked_tail", "head_pattern=crested", "bill_shape=hooked"],
            [],
        ),
        ("the tail is forked", ["tail_shape=forked_tail"], []),
        ("long wings and streaked breast", ["wing_shape=long-wings", "breast_pattern=striped"], []),
        ("a bill longer than head", ["bill_length=longer_than_head"], []),
        ("no crest, without red legs", ["-head_pattern=crested", "-leg=red"], []),
        ("yellow-headed, small wings", ["crown=yellow", "forehead=yellow", "nape=yellow"], []),
        ("rusty cap", ["crown=rufous"], []),
        ("BLACK!", ["primary=black"], []),
        ("spotted", [], []),
        ("an éclair, 漢字", [], ["éclair", "漢字"]),
        ("", [], []),
        ("   ,;", [], []),
    ],
)
def test_birds(text, expected, unknown):
    found, rest = understood(BIRDS, text)
    assert sorted(found) == sorted(expected)
    assert [word for word in rest if word != "spotted"] == unknown


def test_attributes_without_groups():
    names = ["black", "white", "stripes", "water", "longneck", "big", "small", "fast_runner"]
    assert understood(names, "a big black and white animal with stripes, not in water") == (
        ["big", "black", "white", "stripes", "-water"],
        ["animal"],
    )
    assert understood(names, "fast runner")[0] == ["fast_runner"]


def test_over_http(fresh):
    _, _, client = fresh
    answer = client.post("/words", json={"text": "big size, no wings, fast"}).json()
    assert [one["attribute"] for one in answer["attributes"]] == ["size", "wings"]
    about = {one["name"]: one for one in client.get("/model").json()["attributes"]}
    assert [one["value"] for one in answer["attributes"]] == [about["size"]["high"], about["wings"]["low"]]
    assert answer["unknown"] == ["big", "fast"]
    assert client.post("/words", json={"text": ""}).status_code == 422
    assert client.post("/words", json={"text": "x" * 2001}).status_code == 422
    assert client.post("/classes", json={"name": "named", "attributes": {
        one["attribute"]: one["value"] for one in answer["attributes"]}}).status_code == 201  # fmt: skip
