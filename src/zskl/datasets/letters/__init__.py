"""Accented letters, drawn from fonts and described by Unicode: an é is an e with an acute. Always available."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.dataset import Dataset
from zskl.datasets.letters import kept, parts
from zskl.datasets.letters.alphabet import LETTERS, MARKS, describe, table
from zskl.datasets.letters.languages import SMALL, of_language

__all__ = ["LANGUAGES", "LETTERS", "MARKS", "SEED", "SOURCE", "describe", "load", "pictures"]

LANGUAGES = tuple(SMALL)
SOURCE = "drawn from matplotlib's fonts"
SEED = 1  # of the 50 unseen letters of load("letters"): the median of 20 seeds, see docs/letters.md


def load(language: str | None = None, seed: int = SEED) -> Dataset:
    """Draw 225 letters, with and without a mark, in 16 faces, as a zero-shot dataset.

    The signature of a letter is what Unicode says about it: the base letter, whether it is upper case, and the mark.
    X holds the edges of each picture, by place and direction. Of the unseen letters every base letter and every mark is
    trained on elsewhere. Rows of seen letters in four faces are test_seen; nothing is trained on these faces.

    Parameters
    ----------
    language : str, default=None
        Hold out the letters with a mark of this language, one of `LANGUAGES`, such as "polish". None holds out 50
        letters with a mark, drawn with `seed`.
    seed : int, default=1
        Seed of the unseen letters, if no language is named, of the faces for tests and of the folds. The pictures are
        the same for every seed.

    Returns
    -------
    Dataset
        7200 rows of 256 features, with three validation folds.

    Raises
    ------
    ValueError
        If there is no such language, or the seed is not a whole number of at least 0.

    Examples
    --------
    >>> from zskl.datasets import letters
    >>> letters.load("polish").unseen_classes.tolist()
    ['Ó', 'ó', 'Ą', 'ą', 'Ć', 'ć', 'Ę', 'ę', 'Ń', 'ń', 'Ś', 'ś', 'Ź', 'ź', 'Ż', 'ż']
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed is {seed!r}: expected a whole number of at least 0")
    unseen = parts.drawn_unseen(int(seed)) if language is None else of_language(language)
    return Dataset(
        name="letters" if language is None else f"letters:{language.lower()}",
        X=kept.read("features"),
        y=np.array(LETTERS)[parts.letter_of_row()],
        signatures=table(),
        parts=parts.divided(unseen, int(seed)),
        source=SOURCE,
    )


def pictures() -> NDArray[Any]:
    """Give the pictures of all rows, in the order of `load().X`.

    Returns
    -------
    array of shape (7200, 32, 32)
        Whole numbers from 0, paper, to 255, ink.

    Examples
    --------
    >>> from zskl.datasets import letters
    >>> letters.pictures().shape
    (7200, 32, 32)
    """
    return kept.read("pictures")
