"""The benchmark of shared spaces, with an encoder of a few lines."""

import zlib

import numpy as np

import shared_space

TEXTS = {
    "animals": ["a cat sleeps all day", "the dog barks at a cat", "birds sing in the tree", "a horse and a dog"],
    "numbers": ["add two numbers", "divide a number by two", "the root of a number", "round numbers to digits"],
}


def words(texts):
    """A vector of each text: its words, hashed."""
    found = np.zeros((len(texts), 16))
    for row, text in enumerate(texts):
        for word in text.split():
            found[row, zlib.crc32(word.encode()) % 16] += 1
    return found


def test_texts_are_first_paragraphs_of_the_standard_library():
    rows, described = shared_space.texts()
    assert rows.keys() == described.keys()
    assert len(rows) >= 20
    assert all(shared_space.LEAST <= len(mine) <= shared_space.MOST for mine in rows.values())
    every = [text for mine in rows.values() for text in mine]
    assert len(set(every)) == len(every)
    assert described["calendar"] == "calendar: Calendar printing functions"
    assert "Return a matrix representing a month's calendar." not in rows["math"]


def test_both_methods_are_measured_on_a_split(monkeypatch):
    monkeypatch.setattr(shared_space, "Engine", lambda: None)  # no processes for so little
    rows = {f"{kind} {k}": [f"{text} {k}" for text in TEXTS[kind]] for kind in TEXTS for k in range(5)}
    X, table, labels = shared_space.vectors(rows, {name: f"{name} {name}" for name in rows}, words)
    assert X.shape == (40, 16)
    data = shared_space.split(X, labels, table, seed=1)
    assert len(data.unseen_classes) == 3
    grid = {"prior": ("zero", "identity", "cosine"), "noise": (0.1, 1.0)}
    found = shared_space.measure(data, grid)
    assert all(0 <= found[f"{method} {figure}"] <= 1 for method in ("cosine", "class-means") for figure in ("zsl", "H"))
    assert found["zsl chose"]["prior"] in grid["prior"]
    assert shared_space.spread([0.5, 0.7]) == "60.0 ± 14.1"


def test_a_paragraph_of_enough_words():
    assert shared_space.first_paragraph("ast\n~~~\n\n  Helps to\nprocess trees.", 3) == "Helps to process trees."
    assert shared_space.first_paragraph("short\n\nalso", 3) == "short"
    assert shared_space.first_paragraph(None) == ""
