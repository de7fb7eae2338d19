"""Signatures from word-vector files, and files of class names."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from zskl.cli import app
from zskl.signatures import table as tables
from zskl.signatures.words import read_names, word_vectors

WORDS = {
    "black": (1, 0, 0),
    "footed": (0, 1, 0),
    "albatross": (0, 0, 1),
    "polar": (2, 2, 0),
    "bear": (0, 2, 2),
    "Bear": (9, 9, 9),
    "747": (7, 4, 7),
}
GLOVE = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in WORDS.items())


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE)
    return path


def written(tmp_path, text, name="vectors.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_name_is_the_mean_of_its_words(glove):
    table = word_vectors(["001.Black_footed_Albatross", "polar bear"], glove)
    assert table.index.tolist() == ["001.Black_footed_Albatross", "polar bear"]
    assert table.columns.tolist() == ["w0", "w1", "w2"]
    np.testing.assert_allclose(table.to_numpy(), [[1 / 3, 1 / 3, 1 / 3], [1, 2, 1]], rtol=1e-12)
    assert tables.read_table(table).classes.tolist() == table.index.tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("polar-bear", (1, 2, 1)),
        ("polar+bear", (1, 2, 1)),
        ("polar (bear)", (1, 2, 1)),
        ("PolarBear", (1, 2, 1)),  # neither whole nor by exact parts, but by parts in lower case
        ("12. polar bear", (1, 2, 1)),
        ("012_polar_bear", (1, 2, 1)),
        ("BLACK", (1, 0, 0)),
        ("Bear", (9, 9, 9)),  # as it stands before lower case
        ("747", (7, 4, 7)),  # a number that is the name stays
        ("747 bear", (3.5, 3, 4.5)),  # and one that is not a numbering, too
    ],
)
def test_how_a_name_is_split_into_words(glove, name, expected):
    np.testing.assert_allclose(word_vectors([name], glove).to_numpy()[0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    "layout", ["glove", "word2vec", "gzip", "windows", "tabs", "trailing spaces", "no last newline"]
)
def test_every_layout_of_the_file_gives_the_same(tmp_path, glove, layout):
    text = {
        "word2vec": f"{len(WORDS)} 3\n{GLOVE}",
        "windows": GLOVE.replace("\n", "\r\n"),
        "tabs": GLOVE.replace(" ", "\t"),
        "trailing spaces": GLOVE.replace("\n", " \n"),
        "no last newline": GLOVE.rstrip(),
    }.get(layout, GLOVE)
    path = written(tmp_path, gzip.compress(text.encode()) if layout == "gzip" else text, "other")
    names = ["polar bear", "black albatross"]
    pd.testing.assert_frame_equal(word_vectors(names, path), word_vectors(names, glove))


def test_words_with_spaces_are_read(tmp_path):
    path = written(tmp_path, f"{GLOVE}. . . 1 2 3\nat name@domain.com 1 2 3\nlast 5 5 5\n")
    assert word_vectors(["last"], path).loc["last"].tolist() == [5, 5, 5]


def test_the_first_line_of_a_word_counts(tmp_path):
    assert word_vectors(["a"], written(tmp_path, "a 1 2\na 3 4\n")).loc["a"].tolist() == [1, 2]


def test_bytes_that_are_not_utf8_matter_only_in_wanted_words(tmp_path):
    path = written(tmp_path, b"\xff\xfe 1 2\ncaf\xc3\xa9 3 4\n")
    assert word_vectors(["Cafe\u0301"], path).iloc[0].tolist() == [3, 4]  # the name in decomposed Unicode


def test_only_wanted_rows_are_kept(tmp_path):
    import tracemalloc

    rows = "".join(f"word{number} " + " ".join(["0.125"] * 100) + "\n" for number in range(5_000))
    path = written(tmp_path, rows + "bear " + " ".join(["1"] * 100) + "\n")
    word_vectors(["bear"], path)
    tracemalloc.start()
    word_vectors(["bear"], path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400_000 < 5_000 * 100 * 8  # the whole matrix would be 4 MB


def test_missing_words_are_all_named_by_class(glove):
    with pytest.raises(ValueError) as caught:
        word_vectors(["polar fox", "black okapi zebu", "bear", "quagga"], glove)
    assert "3 of 4 classes: 'polar fox' lacks 'fox'; 'black okapi zebu' lacks 'okapi', 'zebu'; 'quagga' lacks" in str(
        caught.value
    )
    assert str(caught.value).endswith("with missing='skip' (--missing skip)")


def test_skip_averages_the_known_words_and_needs_one(glove):
    assert word_vectors(["polar fox"], glove, missing="skip").iloc[0].tolist() == [2, 2, 0]
    with pytest.raises(ValueError, match=r"1 of 2 classes: 'quagga' lacks 'quagga'; rename .* or use .* more words$"):
        word_vectors(["polar fox", "quagga"], glove, missing="skip")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a 1 2 3\nb 1 2\n", r"vectors.txt, line 2: found 2 values, expected 3"),
        ("a 1 2\nb 1 2 3\n", r"line 2: found 3 values, expected 2"),
        ("a 1 2\nb\n", r"line 2: found 0 values, expected 2"),
        ("a 1 2\nbear 1 x\n", r"line 2: found 'x', expected a finite number"),
        ("a 1 2\nbear 1 nan\n", r"line 2: found 'nan', expected a finite number"),
        ("2 3\na 1 2 3\nbear 1 2\n", r"line 3: found 2 values, expected 3"),
        ("3 2\na 1 2\nbear 1 2\n", r"holds 2 words, its first line promises 3"),
        ("hello\n", r"line 1: found 'hello', expected a word and its values"),
        ("", r"holds no word vectors"),
        ("5 3\n", r"holds no word vectors"),
        (b"2 3\nbear \x00\x00\x80?\x00\x00\x80?\x00", r"line 2: found bytes that are not text.*binary word2vec"),
        (gzip.compress(GLOVE.encode(), mtime=0)[:-12], r"cannot be unpacked"),
        (gzip.compress(GLOVE.encode() * 100, mtime=0)[:60], r"cannot be unpacked"),
    ],
)
def test_damaged_files_are_refused_with_the_line(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        word_vectors(["bear"], written(tmp_path, text))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file of word vectors at"):
        word_vectors(["bear"], tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([], "there are no class names"),
        ("bear", "names is the text 'bear'"),
        (["bear", ""], "must be texts that are not empty, but found ''"),
        (["bear", 3], "but found 3"),
        (["bear", "bear"], "more than once: 'bear'"),
        (["___"], "'___' contains no word"),
    ],
)
def test_wrong_names_are_refused(glove, names, sentence):
    with pytest.raises(ValueError, match=sentence):
        word_vectors(names, glove)


def test_wrong_choice_for_missing_words(glove):
    with pytest.raises(ValueError, match="missing is 'ignore': expected one of error, skip"):
        word_vectors(["bear"], glove, missing="ignore")


def test_names_from_files(tmp_path):
    assert read_names(written(tmp_path, "bear\n\n  polar bear \n", "n.txt")) == ["bear", "polar bear"]
    assert read_names(written(tmp_path, "\ufeffclass\nbear\nfox\n", "n.csv")) == ["bear", "fox"]
    described = read_names(written(tmp_path, 'class,description\nbear,"big, brown"\nbear,furry\n', "d.csv"))
    assert described.index.tolist() == ["bear", "bear"]
    assert described.tolist() == ["big, brown", "furry"]
    for heading in ("class;description", "Name;Text", '"species";"description"', "class; description"):
        described = read_names(written(tmp_path, f"{heading}\nbear;big, brown\nfox;red\n", "d.csv"))
        assert described.to_dict() == {"bear": "big, brown", "fox": "red"}, heading
    assert read_names(written(tmp_path, "name,text\nbear,brown\n", "d.csv")).to_dict() == {"bear": "brown"}
    assert read_names(written(tmp_path, "label\ttext\nbear\tbrown\n", "d.csv")).to_dict() == {"bear": "brown"}
    with pytest.raises(ValueError, match="no description for 'fox': describe all classes, or none"):
        read_names(written(tmp_path, "bear,brown\nfox,\n", "d.csv"))
    with pytest.raises(ValueError, match="is not UTF-8 text"):
        read_names(written(tmp_path, b"caf\xe9\n", "latin.txt"))
    with pytest.raises(FileNotFoundError, match="no file of class names"):
        read_names(tmp_path / "none.txt")


@pytest.mark.parametrize("heading", ["class;description", "name,text", "Label\tDescription", "class,notes", "name", ""])
def test_a_heading_is_not_a_class(tmp_path, heading):
    separator = next((one for one in ";\t" if one in heading), ",")
    second = "" if heading == "name" else f"{separator}a bird, at night" if separator != "," else ',"a bird, at night"'
    found = read_names(written(tmp_path, f"{heading}\nowl{second}\nwren{second}\n", "n.csv"))
    assert (found if isinstance(found, list) else found.index.tolist()) == ["owl", "wren"]
    if second:
        assert found.tolist() == ["a bird, at night"] * 2
    assert read_names(written(tmp_path, "owl;a bird, at night\n", "n.csv")).to_dict() == {"owl": "a bird, at night"}
    assert read_names(written(tmp_path, "name,a word for a thing\nowl,a bird\n", "n.csv")).index[0] == "name"


def test_command_line_from_word_vectors(tmp_path, glove):
    names, out = written(tmp_path, "polar_bear\nblack\n", "n.txt"), tmp_path / "s.csv"
    result = CliRunner().invoke(app, ["data", "words", str(names), "-o", str(out), "--vectors", str(glove)])
    assert result.exit_code == 0, result.output
    table = tables.read_table(pd.read_csv(out))
    assert table.classes.tolist() == ["polar_bear", "black"]
    np.testing.assert_allclose(table.matrix, [[1, 2, 1], [1, 0, 0]], rtol=1e-12)


@pytest.mark.parametrize("wrong", [[], ["--vectors", "a", "--encoder", "b"], ["--vectors", "a", "--template", "{}"]])
def test_the_command_line_needs_exactly_one_source(tmp_path, wrong):
    names = written(tmp_path, "bear\n", "n.txt")
    result = CliRunner().invoke(app, ["data", "words", str(names), "-o", str(tmp_path / "s.csv"), *wrong])
    assert "give either --vectors FILE or --encoder NAME" in str(result.exception)
