"""How letters are drawn, what is counted in their pictures, and where both are kept."""

import numpy as np
import pytest

from tolerances import FORMULA, assert_close
from zskl.datasets import letters
from zskl.datasets.letters import edges, faces, kept, parts

UPRIGHT, WIDEST, TALLEST = 0, 3, 15  # DejaVu Sans, its bold oblique, and that of STIX


@pytest.mark.parametrize("face", [UPRIGHT, 14])
def test_a_face_is_drawn_in_the_same_way_every_time(face):
    rows = parts.face_of_row() == face
    again = faces.drawn(face).reshape(-1, 32, 32)
    np.testing.assert_array_equal(letters.pictures()[rows], again)


@pytest.fixture
def still(monkeypatch):
    """No changes, no noise."""
    for name in ("SIZE", "SLANT", "SHIFT", "NOISE"):
        monkeypatch.setattr(faces, name, 0)


def test_a_letter_is_in_the_same_place_with_and_without_its_mark(still):
    pictures = dict(zip(letters.LETTERS, faces.drawn(UPRIGHT)[:, 0], strict=True))
    small, capital = slice(13, 32), slice(9, 32)  # below the marks
    for marked, plain, rows in (("é", "e", small), ("ů", "u", small), ("Ő", "O", capital), ("Ŵ", "W", capital)):
        np.testing.assert_array_equal(pictures[marked][rows], pictures[plain][rows])
        assert not pictures[plain][: rows.start - 1].any()
        assert pictures[marked][: rows.start].any()
    baseline = 32 - int(faces.BASELINE)
    assert pictures["H"][baseline - 2].any()
    assert not pictures["H"][baseline:].any()


def test_ink_stays_inside_the_picture(monkeypatch):
    monkeypatch.setattr(faces, "NOISE", 0)
    for face in (WIDEST, TALLEST):
        ink = faces.drawn(face)
        assert ink.any(axis=(2, 3)).all()
        assert not ink[:, :, [0, -1]].any()
        assert not ink[:, :, :, [0, -1]].any()


def slow_features(picture):
    """One picture, pixel by pixel."""
    grey = np.pad(picture.astype(float), 1, mode="edge")
    counted = np.zeros((4, 8, 8))
    for row in range(32):
        for column in range(32):
            right = grey[row + 1, column + 2] - grey[row + 1, column]
            below = grey[row + 2, column + 1] - grey[row, column + 1]
            angle = np.degrees(np.arctan2(below, right))
            near = [max(0, 1 - abs(row + 0.5 - 4 * cell - 2) / 4) for cell in range(8)]
            beside = [max(0, 1 - abs(column + 0.5 - 4 * cell - 2) / 4) for cell in range(8)]
            for direction in range(4):
                apart = abs((angle - 45 * direction + 90) % 180 - 90)
                strength = round(8 * np.hypot(right, below) * max(0.0, 1 - apart / 45))
                counted[direction] += strength * np.outer(near, beside)
    return (counted / np.linalg.norm(counted)).ravel()


def test_features_are_edges_by_direction_and_place():
    picture = letters.pictures()[letters.LETTERS.index("ő") * 32]
    assert_close(edges.features(picture[None])[0], slow_features(picture), FORMULA.single)
    assert edges.features(np.zeros((1, 32, 32), np.uint8)).tolist() == [[0.0] * 256]


def test_sums_of_edges_are_exact_in_single_precision():
    down, across = edges.cell_weights(32, edges.ROWS), edges.cell_weights(32, edges.COLUMNS)
    strengths = edges.strengths()
    assert strengths.max() * down.sum(axis=1).max() * across.sum(axis=1).max() < 2**24
    for weights in (strengths, down, across):
        np.testing.assert_array_equal(weights, np.round(weights))


@pytest.fixture
def blank(monkeypatch, own_cache):
    """An empty cache, and a few pictures that are made at once; how often they were."""
    times = []
    monkeypatch.setattr(kept, "KINDS", {"pictures": ((64, 2, 2), np.uint8), "features": ((64, 64), np.float32)})
    monkeypatch.setattr(kept, "drawn", lambda: times.append(1) or np.zeros((64, 2, 2), np.uint8))
    monkeypatch.setattr(edges, "features", lambda pictures: np.ones((64, 64), np.float32))
    return times


def test_letters_are_drawn_once(blank):
    assert kept.read("features").all()
    assert not kept.read("pictures").any()
    assert len(blank) == 1
    assert [file.name for file in kept.file().parent.iterdir()] == [kept.file().name]


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "method", "text", "other shape", "other kind", "folder"])
def test_a_damaged_cache_is_made_again(blank, damage):
    kept.read("features")
    file = kept.file()
    content = bytearray(file.read_bytes())
    file.unlink()
    if damage == "folder":
        file.mkdir()
    elif damage == "other shape":
        np.savez(file, features=np.zeros((2, 2), np.float32))
    elif damage == "other kind":
        np.savez(file, pictures=np.zeros((2, 2), np.float32))
    else:
        method = content.rindex(b"PK\x01\x02") + 10  # how the last array is packed, in the list at the end
        content[method if damage == "method" else len(content) // 2] ^= 0x40  # else inside the features
        cut = content[: len(content) // 2]
        file.write_bytes({"empty": b"", "cut": cut, "flipped": content, "method": content, "text": b"letters"}[damage])
    assert kept.read("features").all()
    assert len(blank) == 2


def test_without_a_cache_letters_are_drawn_each_time(blank, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert kept.read("features").all()
    assert not kept.read("pictures").any()
    assert len(blank) == 2


def test_a_missing_font_is_named(monkeypatch):
    monkeypatch.setattr(faces, "FACES", ("Papyrus",))
    with pytest.raises(FileNotFoundError, match=r"Papyrus\.ttf is missing.*install matplotlib again"):
        faces.drawn(0)
