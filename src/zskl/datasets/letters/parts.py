"""Which letters are unseen, which faces are for tests, and which letters each validation fold holds out.

A plain letter is always trained on, so every base letter is known. Of every mark at least two letters are trained on,
and one in each fold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.datasets.letters.alphabet import LETTERS, MARKS, PLAIN, parted
from zskl.datasets.letters.faces import FACES, STYLES, TIMES

UNSEEN = 50  # letters
LEAST = 2  # letters with each mark that stay in training
FOLDS = 3
_UNSEEN, _FACES, _FOLDS = range(3)  # streams of the seed


def letter_of_row() -> NDArray[np.int64]:
    """(n,) the letter of each row, as a position in LETTERS: all rows of a letter are together."""
    return np.repeat(np.arange(len(LETTERS)), len(FACES) * TIMES)


def face_of_row() -> NDArray[np.int64]:
    """(n,) the face of each row, as a position in FACES."""
    return np.tile(np.repeat(np.arange(len(FACES)), TIMES), len(LETTERS))


def drawn_unseen(seed: int) -> list[str]:
    """UNSEEN letters with a mark, by seed."""
    left = Counter(parted(letter)[1] for letter in LETTERS)
    marked = [letter for letter in LETTERS if parted(letter)[1] != PLAIN]
    found: list[str] = []
    for letter in generator(seed, _UNSEEN).permutation(marked).tolist():
        mark = parted(letter)[1]
        if len(found) < UNSEEN and left[mark] > LEAST:
            found.append(letter)
            left[mark] -= 1
    return found


def drawn_faces(seed: int) -> list[int]:
    """A face of each family, by seed, in four different styles: for tests of seen letters."""
    styles = generator(seed, _FACES).permutation(STYLES).tolist()
    return [STYLES * family + style for family, style in enumerate(styles)]


def divided(unseen: Collection[str], seed: int) -> dict[str, NDArray[np.int64]]:
    """Row numbers of trainval, test_seen, test_unseen and of three folds."""
    letter, face = letter_of_row(), face_of_row()
    new = np.isin(letter, [LETTERS.index(name) for name in unseen])
    later = np.isin(face, drawn_faces(seed))
    trainval = np.flatnonzero(~new & ~later)
    parts = {"trainval": trainval, "test_seen": np.flatnonzero(~new & later), "test_unseen": np.flatnonzero(new)}
    held = _held_out(unseen, seed)
    for k in range(FOLDS):
        away = np.isin(letter[trainval], held[k::FOLDS])
        parts |= {f"fold{k + 1}_train": trainval[~away], f"fold{k + 1}_val": trainval[away]}
    return parts


def _held_out(unseen: Collection[str], seed: int) -> list[int]:
    """The seen letters with a mark, by mark and shuffled within it: every third belongs to the same fold."""
    random, order = generator(seed, _FOLDS), []
    for mark in MARKS[1:]:
        seen = [code for code, name in enumerate(LETTERS) if name not in unseen and parted(name)[1] == mark]
        order += random.permutation(seen).tolist()
    return order
