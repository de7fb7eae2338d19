"""Encoded texts in the user's cache: each is encoded once, and nothing that happens to the file does harm."""

import numpy as np
import pytest

from zskl.signatures import sentences

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
