"""Classes and descriptions of letters, against Unicode's own names and the fonts."""

import string
import unicodedata
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.ft2font import FT2Font

from zskl.datasets import letters
from zskl.datasets.letters import alphabet, faces, languages


def test_descriptions_say_what_unicode_calls_a_letter():
    table = alphabet.table()
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
    drawable = set.intersection(*(set(FT2Font(str(folder / f"{face}.ttf")).get_charmap()) for face in faces.FACES))
    parts = {chr(code): unicodedata.normalize("NFD", chr(code)) for code in drawable if code < 0x2000}
    wanted = {letter for letter, whole in parts.items() if whole[0] in string.ascii_letters and len(whole) <= 2}
    assert len(faces.FACES) == 16
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
    assert "".join(languages.of_language("Polish")) == "ÓóĄąĆćĘęŃńŚśŹźŻż"
    assert "".join(languages.of_language("turkish")) == "ÇÖÜçöüĞğİŞş"
    assert "".join(languages.of_language("hungarian")) == "ÁÉÍÓÖÚÜáéíóöúüŐő", "Ű and ű stay, to learn the mark from"
    wanted = {"polish", "turkish", "czech", "hungarian", "lithuanian", "french", "german", "spanish"}
    assert wanted <= set(letters.LANGUAGES)
    for language in letters.LANGUAGES:
        own = {*languages.SMALL[language], *languages.SMALL[language].upper(), *languages.ALONE.get(language, "")}
        held = languages.of_language(language)
        assert own <= set(letters.LETTERS), language
        assert set(held) <= own, language
        trained = {alphabet.parted(letter)[1] for letter in letters.LETTERS if letter not in held}
        assert trained == set(letters.MARKS), language
        assert own - set(held) <= set("ŰűŲų"), language


@pytest.mark.parametrize("language", ["polsh", "", "klingon"])
def test_unknown_languages_are_refused_with_the_known_ones(language):
    with pytest.raises(ValueError, match=f"language is '{language}'.*expected one of czech, .*polish.*turkish"):
        letters.load(language)
