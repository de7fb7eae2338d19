"""Classes described by a sentence, if the signatures of the model are sentence vectors; and words by their meaning."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from zskl import ClassMeansClassifier, datasets
from zskl.serve import class_file, sentences
from zskl.serve.attributes import Vocabulary
from zskl.serve.limits import Limits
from zskl.serve.meanings import Meanings
from zskl.serve.rows import LoadedRows
from zskl.serve.served_model import by_text
from zskl.serve.service import Service
from zskl.signatures import encoders, texts
from zskl.signatures.sentences import sentence_vectors

LETTERS = "aeiorst"
CLASSES = {"owl": "it hunts at night", "wren": "a tiny loud singer", "swan": "a white swimmer", "emu": "it never flies"}


def encoder(given):
    """Counts of letters: one sentence is like another if it has the same ones."""
    return np.array([[1.0 + text.count(letter) for letter in LETTERS] for text in given])


@pytest.fixture
def sentence_data(tmp_path, monkeypatch):
    """A dataset folder whose table an encoder made, and a model of it; `known` says whether the encoder is here."""
    monkeypatch.setattr(encoders, "load_encoder", lambda *_: encoder)
    monkeypatch.setattr(encoders, "is_present", lambda name: name == "counts")
    monkeypatch.setattr(encoders, "identity", lambda name: "counts 1" if name == "counts" else None)
    table = sentence_vectors(CLASSES, encoder, "a bird: {}")
    table.index.name = "class"
    path = tmp_path / "classes.csv"
    texts.write(path, table.to_csv().encode(), texts.texts_of(CLASSES, "a bird: {}"), "counts 1")
    rng = np.random.default_rng(0)
    y = np.repeat(list(CLASSES), 8)
    X = pd.DataFrame(table.loc[y].to_numpy() + rng.normal(size=(len(y), len(LETTERS))) / 8)
    X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    data = datasets.make(tmp_path / "own", tmp_path / "rows.csv", "label", path, unseen=["emu", "swan"])
    return data, ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)


def service_of(data, model, kept=None):
    rows = LoadedRows(data, by_text(model))
    return Service(model, "birds", Limits(), kept, rows, sentences=sentences.of(data, model))


def test_a_class_is_described_by_a_sentence_and_kept(sentence_data, tmp_path):
    data, model = sentence_data
    with class_file.opened(tmp_path / "kept.jsonl") as kept:
        client = served.client(service_of(data, model, kept))
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
    with class_file.opened(tmp_path / "kept.jsonl") as kept:
        assert served.client(service_of(data, model, kept)).get("/classes/gull").json() == found


def test_a_sentence_is_refused_where_nothing_can_read_it(sentence_data, monkeypatch, fresh):
    data, model = sentence_data
    monkeypatch.setattr(encoders, "is_present", lambda _: False)
    client = served.client(service_of(data, model))
    said = refusal(client.post("/classes", json={"name": "gull", "sentence": "white"}), 409)
    assert "the encoder counts 1, which is not on this machine" in said
    assert client.get("/model").json()["sentences"]["missing"] == said
    for path in ("/fits", "/rank"):
        assert refusal(client.post(path, json={"sentence": "white"}), 409) == said
    said = refusal(fresh[2].post("/classes", json={"name": "gull", "sentence": "white"}), 422)
    assert "not known to be sentence vectors" in said
    other = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures + 1)
    assert sentences.of(data, other) is None
    turned = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures[::-1])
    assert sentences.of(data, turned) is not None  # the order of the classes says nothing


def test_an_unknown_word_is_taken_for_one_that_means_the_same(monkeypatch):
    known = {"eyebrow": [1, 0], "tail": [0, 1], "brow": [0.9, 0.3], "songbird": [0.7, 0.7]}
    monkeypatch.setattr(encoders, "is_present", lambda _: True)
    monkeypatch.setattr(Meanings, "_vectors", lambda _, words: np.array([known[one] for one in words], float))
    assert Meanings(["eyebrow", "tail"]).nearest(["brow", "songbird"]) == {"brow": "eyebrow"}
    model, _ = served.small()
    words = Vocabulary(by_text(model))
    monkeypatch.setattr(words._meanings, "nearest", lambda unknown: dict.fromkeys(unknown, "fur"))
    found = words.understood("big size, no hair")["attributes"]
    assert [(one["attribute"], one["guessed"]) for one in found] == [("fur", True), ("size", False)]
    monkeypatch.setattr(encoders, "is_present", lambda _: False)
    assert Meanings(["eyebrow"]).nearest(["brow"]) == {}
