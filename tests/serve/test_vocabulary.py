"""Groups of attributes of which every class has at most one."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from services import refusal
from zskl import ClassMeansClassifier, datasets
from zskl.serve import vocabulary
from zskl.serve.classes import name_classes_by_text
from zskl.serve.gallery import LoadedRows
from zskl.serve.limits import Limits
from zskl.serve.service import Service
from zskl.serve.store import ClassStore
from zskl.serve.vocabulary import Phrases, Vocabulary, WordMeanings, _split_attribute_name
from zskl.signatures import sentences
from zskl.signatures.sentences import sentence_vectors

NAMES = ["colour: red", "colour: blue", "has_leg::two", "has_leg::four", "size"]
TABLE = [[1, 0, 1, 1, 0.5], [0, 1, 0, 1, 2.0], [0, 0, 1, 0, 1.0]]  # colours exclude each other, legs do not


def model_of(values, names=NAMES):
    table = pd.DataFrame(values, index=["ant", "bee", "cat"], columns=names)
    X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    return services.kernel().fit(X, ["ant", "bee"] * 3, table)


def exclusive(values):
    client = services.client_of(model_of(values))
    return [one["name"] for one in client.get("/model").json()["attributes"] if one["exclusive"]]


def test_exclusive_groups_are_found():
    assert exclusive(TABLE) == NAMES[:2]
    assert exclusive([[1, 1, *TABLE[0][2:]], *TABLE[1:]]) == []  # a class is red and blue
    assert exclusive([[0.5, 0, *TABLE[0][2:]], *TABLE[1:]]) == []  # a class is somewhat red


def test_a_column_of_words_is_a_choice():
    table = pd.DataFrame({"colour": ["red", "blue", "red"], "size": [0.5, 2.0, 1.0]}, index=["ant", "bee", "cat"])
    X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    found = Vocabulary(services.kernel().fit(X, ["ant", "bee"] * 3, table))
    assert [(one["group"], one["label"], one["exclusive"]) for one in found.to_json()] == [
        *(("colour", "blue", True), ("colour", "red", True), (None, "size", False))
    ]
    assert found.make_vector({"colour=red": 1, "size": 2})[0].tolist() == [0, 1, 2]


def test_one_attribute_of_an_exclusive_group_excludes_the_others():
    client = services.client_of(model_of(TABLE))

    def saved(**attributes):
        given = {f"colour: {name}": value for name, value in attributes.items()}
        answer = client.put("/classes/new", json={"attributes": given}).json()
        return client.get("/classes/new").json()["attributes"]["colour: blue"], "colour: blue" in answer["defaulted"]

    assert saved(red=1) == (0.0, False)
    assert saved(red=1, blue=0.25) == (0.25, False)  # what is given stays
    assert saved(red=0.5) == (0.5, True)  # the mean of the seen classes


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
    "back",
    "bill",
    "leg",
    "eye",
    "upper_tail",
)
BIRDS = [
    *(f"has_{part}_color::{colour}" for part in COLOURED for colour in COLOURS),
    *(f"has_{part}_pattern::{kind}" for part in ("wing", "tail", "breast") for kind in ("solid", "spotted", "striped")),
    *(f"has_head_pattern::{kind}" for kind in ("crested", "masked", "plain", "eyering")),
    *(f"has_shape::{kind}-like" for kind in ("owl", "duck", "gull")),
    *(f"has_tail_shape::{kind}_tail" for kind in ("forked", "rounded", "pointed")),
    *(f"has_wing_shape::{kind}-wings" for kind in ("rounded", "pointed", "long")),
    *(f"has_bill_length::{kind}" for kind in ("shorter_than_head", "longer_than_head")),
    *("has_bill_shape::hooked", "has_bill_shape::cone", "has_bill_shape::curved_(up_or_down)"),
    *("has_size::small_(5_-_9_in)", "has_size::very_small_(3_-_5_in)", "has_size::large_(16_-_32_in)"),
]


def understood(names, text):
    """Attributes as part=value, with a minus if they are denied; unknown words after them."""
    mentions, unknown = Phrases([_split_attribute_name(name) for name in names]).read(text)
    told = [("-" if one.denied else "") + names[one.place].removeprefix("has_") for one in mentions]
    return [one.replace("_color::", "=").replace("::", "=") for one in told], unknown


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        (
            "small black bird with a yellow head",
            ["size=small_(5_-_9_in)", "primary=black", "crown=yellow", "forehead=yellow", "nape=yellow"],
            [],
        ),
        ("a tiny bird with gray beak", ["size=very_small_(3_-_5_in)", "bill=grey"], []),
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
        ("yellow-headed, small wings", ["crown=yellow", "forehead=yellow", "nape=yellow"], ["small", "wings"]),
        ("an owl, a duck", ["shape=owl-like", "shape=duck-like"], []),
        ("gull with an eye ring", ["shape=gull-like", "head_pattern=eyering"], []),
        ("eyering", ["head_pattern=eyering"], []),
        ("short bill, white wing bars", ["bill_length=shorter_than_head", "wing=white", "wing_pattern=striped"], []),
        ("a long tail", ["tail_shape=pointed_tail"], []),
        ("no crest but yellow belly", ["-head_pattern=crested", "belly=yellow"], []),
        ("yellow belly but no wing bars, red legs", ["belly=yellow", "-wing_pattern=striped", "leg=red"], []),
        ("not yellow, white belly", ["-primary=yellow", "belly=white"], []),
        ("belly white, wings black", ["belly=white", "wing=black"], []),
        ("a white patch on the wing", ["wing=white"], []),
        ("a red bill with a black tip", ["bill=red", "bill=black"], []),
        ("dull brown above, white below", ["back=brown", "breast=white", "belly=white"], []),
        ("small, with red wattles and a hat", ["size=small_(5_-_9_in)"], ["red", "wattles", "hat"]),
        ("the bright tail", [], ["bright", "tail"]),
        ("rusty cap", ["crown=rufous"], []),
        ("BLACK!", ["primary=black"], []),
        ("spotted", ["breast_pattern=spotted"], []),
        ("an éclair, 漢字", [], ["éclair", "漢字"]),
        ("", [], []),
        ("   ,;", [], []),
    ],
)
def test_bird_descriptions_are_understood(text, expected, unknown):
    found, rest = understood(BIRDS, text)
    assert sorted(found) == sorted(expected)
    assert rest == unknown


def test_attributes_without_groups():
    names = ["black", "white", "stripes", "water", "longneck", "big", "small", "fast_runner"]
    assert understood(names, "a big black and white animal with stripes, not in water") == (
        ["big", "black", "white", "stripes", "-water"],
        [],
    )
    assert understood(names, "fast runner")[0] == ["fast_runner"]


def test_any_text_is_read():
    """Names of attributes may be anything, too: of "+" no word is left."""
    rng = np.random.default_rng(0)
    names = [*BIRDS, "+", "has_x::(y)", "like", "size"]
    phrases = Phrases([_split_attribute_name(name) for name in names])
    known = [" ".join(word) for word in sorted(phrases._entries)]
    words = known + ["is", "no", ",", ".", "with", "the", "and"] * 20
    for _ in range(40):
        text = " ".join(rng.choice(words, 30))
        mentions, unknown = phrases.read(text)
        said = set(" ".join(one.words for one in mentions).split()) | set(unknown) | vocabulary.STOP_WORDS
        assert {word.lower() for word in vocabulary.WORD.findall(text)} <= said | vocabulary.PUNCTUATION, text


def test_words_over_http(fresh):
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


LETTERS = "aeiorst"
CLASSES = {"owl": "it hunts at night", "wren": "a tiny loud singer", "swan": "a white swimmer", "emu": "it never flies"}


def encoder(given):
    """Counts of letters: one sentence is like another if it has the same ones."""
    return np.array([[1.0 + text.count(letter) for letter in LETTERS] for text in given])


@pytest.fixture
def sentence_data(tmp_path, monkeypatch):
    """A dataset folder whose table an encoder made, and a model of it; `known` says whether the encoder is here."""
    monkeypatch.setattr(sentences, "load_encoder", lambda *_: encoder)
    monkeypatch.setattr(sentences, "is_encoder_present", lambda name: name == "counts")
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: "counts 1" if name == "counts" else None)
    table = sentence_vectors(CLASSES, encoder, "a bird: {}")
    table.index.name = "class"
    path = tmp_path / "classes.csv"
    sentences.write_texts(path, table.to_csv().encode(), sentences.make_texts(CLASSES, "a bird: {}"), "counts 1")
    rng = np.random.default_rng(0)
    y = np.repeat(list(CLASSES), 8)
    X = pd.DataFrame(table.loc[y].to_numpy() + rng.normal(size=(len(y), len(LETTERS))) / 8)
    X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    data = datasets.make(tmp_path / "own", tmp_path / "rows.csv", "label", path, unseen=["emu", "swan"])
    return data, ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)


def service_of(data, model, kept=None):
    rows = LoadedRows(data, name_classes_by_text(model))
    return Service(model, "birds", Limits(), kept, rows, sentences=vocabulary.load_sentences(data, model))


def test_class_described_by_a_sentence_is_kept(sentence_data, tmp_path):
    data, model = sentence_data
    with ClassStore(tmp_path / "kept.jsonl") as kept:
        client = services.client(service_of(data, model, kept))
        about = client.get("/model").json()["sentences"]
        assert about == {"encoder": "counts 1", "missing": None, "example": "a bird: it hunts at night"}
        body = {"sentence": "a white swimmer"}
        assert client.post("/classes", json={"name": "gull", **body}).status_code == 201
        found = client.get("/classes/gull").json()
        assert list(found["attributes"].values()) == data.signatures.loc["swan"].tolist()
        assert found["sentence"] == "a white swimmer"
        assert (found["nearest"][0]["class"], found["nearest"][0]["similarity"]) == ("swan", pytest.approx(1.0))
        fits = client.post("/fits", json=body).json()
        assert {one["class"] for one in fits["classes"][:2]} == {"swan", "gull"}
        assert fits["classes"][0]["why"] == []
        scores = [one["score"] for one in client.post("/rank", json=body).json()["rows"]]
        assert len(scores) == 24
        assert scores == sorted(scores, reverse=True)
        assert "send one of them" in refusal(client.post("/rank", json={**body, "attributes": {"w0": 1.0}}), 422)
        assert "attributes is missing" in refusal(client.post("/classes", json={"name": "nothing"}), 422)
    with ClassStore(tmp_path / "kept.jsonl") as kept:
        assert services.client(service_of(data, model, kept)).get("/classes/gull").json() == found


def test_sentence_needs_its_encoder(sentence_data, monkeypatch, fresh):
    data, model = sentence_data
    monkeypatch.setattr(sentences, "is_encoder_present", lambda _: False)
    client = services.client(service_of(data, model))
    said = refusal(client.post("/classes", json={"name": "gull", "sentence": "white"}), 409)
    assert "the encoder counts 1, which is not on this machine" in said
    assert client.get("/model").json()["sentences"]["missing"] == said
    for path in ("/fits", "/rank"):
        assert refusal(client.post(path, json={"sentence": "white"}), 409) == said
    said = refusal(fresh[2].post("/classes", json={"name": "gull", "sentence": "white"}), 422)
    assert "not known to be sentence vectors" in said
    other = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures + 1)
    assert vocabulary.load_sentences(data, other) is None
    turned = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures[::-1])
    assert vocabulary.load_sentences(data, turned) is not None  # the order of the classes says nothing


def test_unknown_word_matches_one_of_similar_meaning(monkeypatch):
    known = {"eyebrow": [1, 0], "tail": [0, 1], "brow": [0.9, 0.3], "songbird": [0.7, 0.7]}
    monkeypatch.setattr(sentences, "is_encoder_present", lambda _: True)
    monkeypatch.setattr(WordMeanings, "_vectors", lambda _, words: np.array([known[one] for one in words], float))
    assert WordMeanings(["eyebrow", "tail"]).nearest(["brow", "songbird"]) == {"brow": "eyebrow"}
    model, _ = services.small()
    words = Vocabulary(name_classes_by_text(model))
    monkeypatch.setattr(words._meanings, "nearest", lambda unknown: dict.fromkeys(unknown, "fur"))
    found = words.understand("big size, no hair")["attributes"]
    assert [(one["attribute"], one["guessed"]) for one in found] == [("fur", True), ("size", False)]
    monkeypatch.setattr(sentences, "is_encoder_present", lambda _: False)
    assert WordMeanings(["eyebrow"]).nearest(["brow"]) == {}
