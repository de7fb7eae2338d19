"""The dataset of letters: what is seen, unseen, tested and held out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zskl import datasets, methods, protocols, selection
from zskl.datasets import letters
from zskl.datasets.letters import languages, parts
from zskl.datasets.letters.alphabet import parted
from zskl.datasets.letters.faces import FACES


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
    found = parts.divided(unseen, seed)
    names, face = np.array(letters.LETTERS)[parts.letter_of_row()], parts.face_of_row()
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
        bases, marks = map(set, zip(*map(parted, known), strict=True))
        for letter in new:
            base, mark = parted(letter)
            assert mark != "none"
            assert base in bases, letter
            assert mark in marks, letter
    assert sorted(held) == sorted(name for name in set(names[trainval]) if parted(name)[1] != "none")


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_parts_of_unseen_letters_are_trained_on_for_every_seed(seed):
    unseen = parts.drawn_unseen(seed)
    assert len(set(unseen)) == 50
    check_parts(unseen, seed)


@pytest.mark.parametrize("language", letters.LANGUAGES)
def test_parts_of_the_letters_of_a_language_are_trained_on(language):
    check_parts(languages.of_language(language), 0)


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
