"""The texts behind a table of sentence vectors: written beside it, and kept with a dataset."""

import json

import pytest

from command import invoke, zskl
from own_files import SPECIES, write
from zskl.signatures import encoders, texts

ENCODED = ["--encoder", "parrot", "-o", "signatures.csv"]


@pytest.fixture
def here(tmp_path, monkeypatch, own_cache):
    """A folder with features.csv and class names, and an encoder called parrot."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    (tmp_path / "classes.txt").write_text("\n".join(SPECIES) + "\n")
    monkeypatch.setattr(encoders, "identity", lambda name: f"{name} 7")
    monkeypatch.setattr(
        encoders, "load_encoder", lambda name, device=None: lambda given: [[len(one), ord(one[-1])] for one in given]
    )
    return tmp_path


def test_texts_by_class():
    one = texts.texts_of({"bear": "brown"}, ["a {} animal", "it is {}"])
    assert one.by_class() == {"bear": ["a brown animal", "it is brown"]}
    assert texts.texts_of(["001.Polar_bear"]).by_class() == {"001.Polar_bear": ["Polar bear"]}


def test_the_command_writes_them_and_make_keeps_them(here):
    templates = ["--template", "a photo of a {}", "--template", "a drawing of a {}"]
    code, said = invoke("data", "words", "classes.txt", *ENCODED, *templates)
    assert (code, said.strip()) == (0, "10 classes, 2 values each: signatures.csv")
    record = json.loads((here / "signatures.texts.json").read_text("utf-8"))
    assert record["encoder"] == "parrot 7"
    assert record["templates"] == ["a photo of a {}", "a drawing of a {}"]
    assert record["texts"]["fox"] == ["a photo of a fox", "a drawing of a fox"]
    assert list(record["texts"]) == list(SPECIES)
    files = ("--features", "features.csv", "--labels", "label", "--signatures", "signatures.csv")
    invoke("data", "make", "birds", *files)
    made = json.loads((here / "birds" / "manifest.json").read_text("utf-8"))["made"]
    assert made["texts"] == {key: record[key] for key in ("encoder", "templates", "texts")}
    with (here / "signatures.csv").open("a") as file:
        file.write("yak,1,2\n")
    done = zskl("data", "make", "more", *files)
    assert done.returncode == 2
    assert "says which texts signatures.csv was made from, but the table has changed since" in done.stderr
    (here / "signatures.texts.json").write_text("[]")
    assert "is not a record of texts" in zskl("data", "make", "more", *files).stderr
    (here / "signatures.texts.json").unlink()
    assert zskl("data", "make", "more", *files).returncode == 0
    assert "texts" not in json.loads((here / "more" / "manifest.json").read_text("utf-8"))["made"]


def test_texts_are_kept_in_the_cache_unless_told_otherwise(here):
    cache = here / "cache" / "texts"
    assert zskl("data", "words", "classes.txt", *ENCODED, "--no-cache").returncode == 0
    assert not cache.exists()
    assert zskl("data", "words", "classes.txt", *ENCODED).returncode == 0
    assert list(cache.glob("*.npz"))
    (here / "vectors.txt").write_text("".join(f"{name} 1 2\n" for name in SPECIES))
    assert (here / "signatures.texts.json").exists()
    assert zskl("data", "words", "classes.txt", "--vectors", "vectors.txt", "-o", "signatures.csv").returncode == 0
    assert not (here / "signatures.texts.json").exists()
