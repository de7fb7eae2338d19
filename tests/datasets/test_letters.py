"""The dataset of letters: what is seen, unseen, tested and held out."""

import string
import unicodedata
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.ft2font import FT2Font

from tolerances import FORMULA, assert_close
from zskl import datasets, methods, protocols, selection
from zskl.datasets import letters
from zskl.datasets.letters import FACES, decompose


@pytest.fixture(scope="module")
def data():
    return letters.load()


def test_letters(data):
    assert (data.name, data.X.shape, data.X.dtype) == ("letters", (7200, 256), np.float32)
    assert (len(data.seen_classes), len(data.unseen_classes), len(data.attribute_names)) == (175, 50, 68)
    assert letters.pictures().shape == (7200, 32, 32)
    assert letters.pictures().dtype == np.uint8
    assert {part: len(data.parts[part]) for part in ("trainval", "test_seen", "test_unseen")} == {
        "trainval": 175 * 12 * 2,
        "test_seen": 175 * 4 * 2,
        "test_unseen": 50 * 16 * 2,
    }
    assert datasets.check(data).faults == ()


def test_a_seed_draws_other_letters_from_the_same_pictures(data):
    again, other = letters.load(), letters.load(seed=letters.SEED + 1)
    assert data.fingerprint == again.fingerprint != other.fingerprint
    assert data.features_digest == again.features_digest == other.features_digest
    for seed in (-1, 1.5, True, "0"):
        with pytest.raises(ValueError, match="seed is"):
            letters.load(seed=seed)


def check_parts(unseen, seed):
    """Everything that the split promises."""
    found = letters.divide_rows(unseen, seed)
    names, face = np.array(letters.LETTERS)[letters.row_letters()], letters.row_faces()
    trainval, seen = found["trainval"], found["test_seen"]
    assert sorted(np.concatenate([trainval, seen, found["test_unseen"]])) == list(range(7200))
    tested = set(face[seen])
    assert not tested & set(face[trainval]), "test_seen has faces of its own"
    assert sorted(one // 4 for one in tested) == sorted(one % 4 for one in tested) == [0, 1, 2, 3]
    assert set(face[found["test_unseen"]]) == set(range(len(FACES)))
    held = []
    pairs = [(trainval, found["test_unseen"])]
    for k in (1, 2, 3):
        pairs.append((found[f"fold{k}_train"], found[f"fold{k}_val"]))
        held += sorted(set(names[pairs[-1][1]]))
    for train, val in pairs:
        known, new = set(names[train]), set(names[val])
        assert not known & new
        bases, marks = map(set, zip(*map(decompose, known), strict=True))
        for letter in new:
            base, mark = decompose(letter)
            assert mark != "none"
            assert base in bases, letter
            assert mark in marks, letter
    assert sorted(held) == sorted(name for name in set(names[trainval]) if decompose(name)[1] != "none")


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_parts_of_unseen_letters_are_trained_on_for_every_seed(seed):
    unseen = letters.draw_unseen(seed)
    assert len(set(unseen)) == 50
    check_parts(unseen, seed)


@pytest.mark.parametrize("language", letters.LANGUAGES)
def test_parts_of_the_letters_of_a_language_are_trained_on(language):
    check_parts(letters.letters_of_language(language), 0)


def test_letters_of_a_language_by_name():
    polish = datasets.load("Letters:Polish")
    assert (polish.name, "".join(polish.unseen_classes)) == ("letters:polish", "ÓóĄąĆćĘęŃńŚśŹźŻż")
    with pytest.raises(ValueError, match="language is 'klingon': expected one of czech"):
        datasets.load("letters:klingon")
    with pytest.raises(ValueError, match="no dataset is called 'digits:polish'"):
        datasets.load("digits:polish")


def test_validation_folds_hold_out_letters(data):
    for fold in selection.folds(data):
        held = {data.y[data.parts["trainval"][row]] for row in fold.val_unseen}
        assert len(held) == 41


def test_most_unseen_letters_are_recognised(data):
    model = methods.build("class-means").fit(*data.samples("trainval"), data.signatures)
    assert protocols.zsl(model, data).accuracy > 0.75


# Classes and descriptions of letters, against Unicode's own names and the fonts.


def test_descriptions_say_what_unicode_calls_a_letter():
    table = letters.signature_table()
    assert table.index.tolist() == list(letters.LETTERS)
    assert table.dtypes.eq(np.float32).all()
    for name, row in table.iterrows():
        said = sorted(row[row == 1].index)
        case, letter, *mark = unicodedata.name(name).replace("LATIN ", "").replace("LETTER ", "").split(" ", 2)
        upper = case == "CAPITAL"
        mark = mark[0].removeprefix("WITH ").lower() if mark else "none"
        letter = letter if upper else letter.lower()
        assert said == sorted([f"letter: {letter}", f"mark: {mark}", *(["case: upper"] if upper else [])])
        assert row[row != 1].eq(0).all()
    assert not table.duplicated().any()
    assert (len(table), len(letters.MARKS)) == (225, 15)


def test_classes_are_the_letters_with_at_most_one_mark_that_all_faces_have():
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    drawable = set.intersection(*(set(FT2Font(str(folder / f"{face}.ttf")).get_charmap()) for face in letters.FACES))
    parts = {chr(code): unicodedata.normalize("NFD", chr(code)) for code in drawable if code < 0x2000}
    wanted = {letter for letter, whole in parts.items() if whole[0] in string.ascii_letters and len(whole) <= 2}
    assert len(letters.FACES) == 16
    assert wanted == set(letters.LETTERS)
    assert all(unicodedata.normalize("NFC", letter) == letter for letter in wanted)


def test_any_letter_can_have_any_mark():
    row = letters.describe("q", "ring above")
    assert row.name == "q\N{COMBINING RING ABOVE}"
    assert letters.describe("e", "acute").name == "é"
    assert letters.describe("e").name == "e"


@pytest.mark.parametrize(
    ("letter", "mark", "sentence"),
    [
        ("é", "acute", "letter is 'é': expected one of a to z or A to Z"),
        ("", "acute", "letter is ''"),
        ("ab", "acute", "letter is 'ab'"),
        ("e", "acut", r"mark is 'acut' \(did you mean 'acute'\?\): expected one of none, grave"),
    ],
)
def test_what_is_not_a_letter_or_a_mark_is_refused(letter, mark, sentence):
    with pytest.raises(ValueError, match=sentence):
        letters.describe(letter, mark)


def test_letters_of_languages():
    assert "".join(letters.letters_of_language("Polish")) == "ÓóĄąĆćĘęŃńŚśŹźŻż"
    assert "".join(letters.letters_of_language("turkish")) == "ÇÖÜçöüĞğİŞş"
    assert "".join(letters.letters_of_language("hungarian")) == "ÁÉÍÓÖÚÜáéíóöúüŐő", (
        "Ű and ű stay, to learn the mark from"
    )
    wanted = {"polish", "turkish", "czech", "hungarian", "lithuanian", "french", "german", "spanish"}
    assert wanted <= set(letters.LANGUAGES)
    for language in letters.LANGUAGES:
        own = {*letters.SMALL[language], *letters.SMALL[language].upper(), *letters.ALONE.get(language, "")}
        held = letters.letters_of_language(language)
        assert own <= set(letters.LETTERS), language
        assert set(held) <= own, language
        trained = {letters.decompose(letter)[1] for letter in letters.LETTERS if letter not in held}
        assert trained == set(letters.MARKS), language
        assert own - set(held) <= set("ŰűŲų"), language


@pytest.mark.parametrize("language", ["polsh", "", "klingon"])
def test_unknown_languages_are_refused_with_the_known_ones(language):
    with pytest.raises(ValueError, match=f"language is '{language}'.*expected one of czech, .*polish.*turkish"):
        letters.load(language)


# How letters are drawn, what is counted in their pictures, and where both are kept.

UPRIGHT, WIDEST, TALLEST = 0, 3, 15  # DejaVu Sans, its bold oblique, and that of STIX


@pytest.mark.parametrize("face", [UPRIGHT, 14])
def test_a_face_is_drawn_in_the_same_way_every_time(face):
    rows = letters.row_faces() == face
    again = letters.draw_face(face).reshape(-1, 32, 32)
    np.testing.assert_array_equal(letters.pictures()[rows], again)


@pytest.fixture
def still(monkeypatch):
    """No changes, no noise."""
    for name in ("SIZE", "SLANT", "SHIFT", "NOISE"):
        monkeypatch.setattr(letters, name, 0)


def test_a_letter_is_in_the_same_place_with_and_without_its_mark(still):
    pictures = dict(zip(letters.LETTERS, letters.draw_face(UPRIGHT)[:, 0], strict=True))
    small, capital = slice(13, 32), slice(9, 32)  # below the marks
    for marked, plain, rows in (("é", "e", small), ("ů", "u", small), ("Ő", "O", capital), ("Ŵ", "W", capital)):
        np.testing.assert_array_equal(pictures[marked][rows], pictures[plain][rows])
        assert not pictures[plain][: rows.start - 1].any()
        assert pictures[marked][: rows.start].any()
    baseline = 32 - int(letters.BASELINE)
    assert pictures["H"][baseline - 2].any()
    assert not pictures["H"][baseline:].any()


def test_ink_stays_inside_the_picture(monkeypatch):
    monkeypatch.setattr(letters, "NOISE", 0)
    for face in (WIDEST, TALLEST):
        ink = letters.draw_face(face)
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
    assert_close(letters.edge_features(picture[None])[0], slow_features(picture), FORMULA.single)
    assert letters.edge_features(np.zeros((1, 32, 32), np.uint8)).tolist() == [[0.0] * 256]


def test_sums_of_edges_are_exact_in_single_precision():
    down, across = letters.cell_weights(32, letters.CELL_ROWS), letters.cell_weights(32, letters.CELL_COLUMNS)
    strengths = letters.edge_strengths()
    assert strengths.max() * down.sum(axis=1).max() * across.sum(axis=1).max() < 2**24
    for weights in (strengths, down, across):
        np.testing.assert_array_equal(weights, np.round(weights))


@pytest.fixture
def blank(monkeypatch, own_cache):
    """An empty cache, and a few pictures that are made at once; how often they were."""
    times = []
    monkeypatch.setattr(letters, "KINDS", {"pictures": ((64, 2, 2), np.uint8), "features": ((64, 64), np.float32)})
    monkeypatch.setattr(letters, "draw_all", lambda: times.append(1) or np.zeros((64, 2, 2), np.uint8))
    monkeypatch.setattr(letters, "edge_features", lambda pictures: np.ones((64, 64), np.float32))
    return times


def test_letters_are_drawn_once(blank):
    assert letters.read_cached("features").all()
    assert not letters.read_cached("pictures").any()
    assert len(blank) == 1
    assert [file.name for file in letters.cache_file().parent.iterdir()] == [letters.cache_file().name]


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "method", "text", "other shape", "other kind", "folder"])
def test_a_damaged_cache_is_made_again(blank, damage):
    letters.read_cached("features")
    file = letters.cache_file()
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
    assert letters.read_cached("features").all()
    assert len(blank) == 2


def test_without_a_cache_letters_are_drawn_each_time(blank, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert letters.read_cached("features").all()
    assert not letters.read_cached("pictures").any()
    assert len(blank) == 2


def test_a_missing_font_is_named(monkeypatch):
    monkeypatch.setattr(letters, "FACES", ("Papyrus",))
    with pytest.raises(FileNotFoundError, match=r"Papyrus\.ttf is missing.*install matplotlib again"):
        letters.draw_face(0)
