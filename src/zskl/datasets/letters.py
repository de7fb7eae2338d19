"""Accented letters, drawn from fonts and described by Unicode, which takes an é apart as an e with an acute. Always
available. The classes are Latin letters with at most one mark."""

import string
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._arrays import make_generator
from zskl._files import cache_folder, replace_file
from zskl._validation import suggest
from zskl.datasets import split
from zskl.datasets.dataset import Dataset

__all__ = ["LANGUAGES", "LETTERS", "MARKS", "SEED", "SOURCE", "describe", "load", "pictures"]

SOURCE = "drawn from matplotlib's fonts"
SEED = 1  # of the 50 unseen letters of load("letters"): the median of 20 seeds, see docs/letters.md
BASES = string.ascii_uppercase + string.ascii_lowercase
PLAIN = "none"  # in place of a mark
BEYOND = "ƠơƯưẀẁẂẃẄẅỲỳ"  # of the later blocks: what every face has


def decompose(letter: str) -> tuple[str, str]:
    """The base letter and the name of the mark: ('o', 'double acute') for ő; "none" for a plain letter."""
    whole = unicodedata.normalize("NFD", letter)
    return whole[0], _mark_name(whole[1]) if whole[1:] else PLAIN


def _mark_name(mark: str) -> str:
    return unicodedata.name(mark).removeprefix("COMBINING ").removesuffix(" ACCENT").lower()


def _is_known_letter(letter: str) -> bool:
    whole = unicodedata.normalize("NFD", letter)
    return whole[0] in BASES and len(whole) <= 2


# Basic Latin, Latin-1 and Latin Extended-A, then the others
LETTERS = (*filter(_is_known_letter, map(chr, range(0x41, 0x180))), *BEYOND)
COMBINING = {_mark_name(mark): mark for letter in LETTERS for mark in unicodedata.normalize("NFD", letter)[1:]}
MARKS = (PLAIN, *COMBINING)
COLUMNS = (*(f"letter: {base}" for base in BASES), "case: upper", *(f"mark: {mark}" for mark in MARKS))


def describe(letter: str, mark: str = PLAIN) -> pd.Series:
    """Describe a letter with a mark, whether or not anybody writes it.

    Parameters
    ----------
    letter : str
        The base letter: a to z or A to Z.
    mark : str, default="none"
        The name of the mark, one of `MARKS`, such as "acute".

    Returns
    -------
    Series
        The signature: 1 for each attribute that applies, else 0. Its name is the letter with its mark.

    Examples
    --------
    >>> from zskl.datasets import letters
    >>> row = letters.describe("Q", "ring above")
    >>> row.name, row[row > 0].index.tolist()
    ('Q̊', ['letter: Q', 'case: upper', 'mark: ring above'])
    """
    if len(letter) != 1 or letter not in BASES:
        raise ValueError(f"letter is {letter!r}: expected one of a to z or A to Z; name its mark apart from it")
    if mark not in MARKS:
        raise ValueError(f"mark is {mark!r}{suggest(mark, MARKS)}: expected one of {', '.join(MARKS)}")
    true = {f"letter: {letter}", f"mark: {mark}"} | ({"case: upper"} if letter.isupper() else set())
    name = unicodedata.normalize("NFC", letter + COMBINING.get(mark, ""))
    return pd.Series([float(column in true) for column in COLUMNS], index=COLUMNS, dtype=np.float32, name=name)


def signature_table() -> pd.DataFrame:
    return pd.DataFrame([describe(*decompose(letter)) for letter in LETTERS]).rename_axis("letter")


# Letters with a mark by language, without those that Unicode does not take apart, such as ł and ø
SMALL = {
    "czech": "áčďéěíňóřšťúůýž",
    "dutch": "éëïóöü",
    "esperanto": "ĉĝĥĵŝŭ",
    "estonian": "äõöšüž",
    "finnish": "äåö",
    "french": "àâçèéêëîïôùûüÿ",
    "german": "äöü",
    "hungarian": "áéíóöőúüű",
    "icelandic": "áéíóöúý",
    "italian": "àèéìòù",
    "latvian": "āčēģīķļņšūž",
    "lithuanian": "ąčėęįšųūž",
    "polish": "ąćęńóśźż",
    "portuguese": "àáâãçéêíóôõú",
    "slovak": "áäčďéíĺľňóôŕšťúýž",
    "spanish": "áéíñóúü",
    "swedish": "äåö",
    "turkish": "çğöşü",
    "welsh": "âêîôûŵŷ",
}
ALONE = {"turkish": "İ"}  # capitals whose small letter has no mark
LANGUAGES = tuple(SMALL)


def letters_of_language(language: str) -> list[str]:
    """Its letters with a mark; the last base letter of a mark that no other has (ű) stays, or nobody could know it."""
    key = language.lower()
    if key not in SMALL:
        known = ", ".join(SMALL)
        raise ValueError(f"language is {language!r}{suggest(key, SMALL)}: expected one of {known}; or name none")
    own = {*SMALL[key], *SMALL[key].upper(), *ALONE.get(key, "")}
    bearers: dict[str, list[str]] = defaultdict(list)
    for letter in LETTERS:
        bearers[decompose(letter)[1]].append(letter)
    for letters in bearers.values():
        if own.issuperset(letters):
            last = max(decompose(letter)[0].lower() for letter in letters)
            own -= {letter for letter in letters if decompose(letter)[0].lower() == last}
    return [letter for letter in LETTERS if letter in own]


# Pictures: letters drawn from the fonts that come with matplotlib, in every face and twice, with small seeded changes
FAMILIES = {  # → upright, bold, slanted, bold and slanted
    "DejaVuSans": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "DejaVuSansMono": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "DejaVuSerif": ("", "-Bold", "-Italic", "-BoldItalic"),
    "STIXGeneral": ("", "Bol", "Italic", "BolIta"),
}
STYLES = 4
FACES = tuple(family + style for family, styles in FAMILIES.items() for style in styles)
TIMES = 2  # each letter is drawn in each face
SIDE = 32  # pixels
CAPITAL = 13.5  # pixels from the baseline to the top of an H
BASELINE = 9.2  # pixels above the lower edge
SIZE, SLANT, SHIFT = 0.08, 0.15, 1.0  # largest changes: of the size, of x per y, and in pixels
NOISE = 32  # largest change of a pixel, of 255
NOISE_SEED = 18


def draw_face(face: int) -> NDArray[np.uint8]:
    """(C, TIMES, SIDE, SIDE) pictures, 255 is ink; a letter is in the same place with and without its mark."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.path import Path as Outline
    from matplotlib.transforms import Affine2D

    outlines = _glyph_outlines(FACES[face])
    unit = CAPITAL / outlines["H"][0][:, 1].max()
    random = make_generator(NOISE_SEED, face)
    changes = random.uniform(-1, 1, (len(LETTERS), TIMES, 4))
    noise = random.integers(-NOISE, NOISE, (len(LETTERS), TIMES, SIDE, SIDE), endpoint=True)
    renderer: Any = RendererAgg  # has no types
    paper, still = renderer(SIDE, SIDE, 72), Affine2D()
    pen = paper.new_gc()
    pen.set_linewidth(0)
    pen.set_snap(False)  # else straight lines move to the nearest pixel
    pictures: NDArray[np.int64] = np.empty(noise.shape, dtype=np.int64)
    for place in np.ndindex(pictures.shape[:2]):
        points, codes, width = outlines[LETTERS[place[0]]]
        size, slant, right, up = changes[place] * (SIZE, SLANT, SHIFT, SHIFT)
        scale = unit * (1 + size)
        x = scale * (points[:, 0] - width / 2) + slant * (scale * points[:, 1] - CAPITAL / 2) + SIDE / 2 + right
        y = scale * points[:, 1] + BASELINE + up
        paper.clear()
        paper.draw_path(pen, Outline(np.stack([x, y], axis=1), codes), still, (0.0, 0.0, 0.0))
        pictures[place] = np.asarray(paper.buffer_rgba())[:, :, 3]
    return np.asarray(np.clip(pictures + noise, 0, 255), dtype=np.uint8)


def _glyph_outlines(face: str) -> dict[str, tuple[NDArray[np.float64], NDArray[Any], float]]:
    """Letter → the points and codes of its outline, and the width that it takes in a line."""
    from matplotlib import ft2font, get_data_path

    file = Path(get_data_path(), "fonts", "ttf", f"{face}.ttf")
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing, which matplotlib comes with: install matplotlib again")
    font = ft2font.FT2Font(str(file))
    # Large, so that the rounding of outlines, to 1/64, makes no difference.
    font.set_size(2000, 72)
    exact = ft2font.LoadFlags.NO_HINTING if hasattr(ft2font, "LoadFlags") else getattr(ft2font, "LOAD_NO_HINTING")  # noqa: B009
    found = {}
    for letter in LETTERS:
        glyph = font.load_char(ord(letter), flags=exact)
        points, codes = font.get_path()
        found[letter] = points.copy(), codes.copy(), glyph.linearHoriAdvance / 2**16
    return found


# Features: how much edge there is in each of 8 × 8 cells, in each of 4 directions (a HOG descriptor)
DIRECTIONS = 4  # of 180°: an edge from dark to light is the same as one from light to dark
CELL_ROWS, CELL_COLUMNS = 8, 8  # cells
FINE = 8  # steps of a grey value
BLOCK = 512  # pictures at a time


def edge_features(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(n, 256) of unit length, for (n, side, side). Whole numbers, so that every processor adds to the same sum."""
    n, side, _ = pictures.shape
    table = edge_strengths()
    down, across = cell_weights(side, CELL_ROWS), cell_weights(side, CELL_COLUMNS)
    sums = np.empty((n, DIRECTIONS, CELL_ROWS, CELL_COLUMNS), dtype=np.float32)
    for start in range(0, n, BLOCK):
        grey = np.pad(pictures[start : start + BLOCK].astype(np.int32), ((0, 0), (1, 1), (1, 1)), mode="edge")
        right = grey[:, 1:-1, 2:] - grey[:, 1:-1, :-2]
        below = grey[:, 2:, 1:-1] - grey[:, :-2, 1:-1]
        place = (below + 255) * 511 + right + 255
        for direction in range(DIRECTIONS):
            sums[start : start + BLOCK, direction] = down @ table[direction][place] @ across.T
    flat = sums.reshape(n, -1).astype(np.float64)
    length = np.sqrt((flat * flat).sum(axis=1, keepdims=True))
    return (flat / np.where(length > 0, length, 1.0)).astype(np.float32)


def edge_strengths() -> NDArray[np.float32]:
    """(directions, 511²) whole numbers: what an edge with each pair of differences, −255 to 255, counts for."""
    below, right = np.mgrid[-255:256, -255:256].reshape(2, -1).astype(np.float64)
    turn = np.arctan2(below, right) / np.pi * DIRECTIONS
    strength = FINE * np.hypot(below, right)
    away = [np.abs((turn - d + DIRECTIONS / 2) % DIRECTIONS - DIRECTIONS / 2) for d in range(DIRECTIONS)]
    return np.stack([np.round(strength * np.maximum(1 - apart, 0)) for apart in away]).astype(np.float32)


def cell_weights(side: int, cells: int) -> NDArray[np.float32]:
    """(cells, side) whole numbers: how near each pixel is to the middle of each cell."""
    width = side // cells
    middle, pixel = 2 * width * np.arange(cells) + width, 2 * np.arange(side) + 1  # in half pixels
    near: NDArray[np.int64] = np.maximum(2 * width - np.abs(pixel - middle[:, None]), 0)
    return near.astype(np.float32)


# Pictures and features of all rows: made once, then kept in the user's cache. Without a cache they are made again.
VERSION = 2  # raise it when other pictures or other features are made
ROWS = len(LETTERS) * len(FACES) * TIMES
WIDTH = DIRECTIONS * CELL_ROWS * CELL_COLUMNS
KINDS: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
    "pictures": ((ROWS, SIDE, SIDE), np.uint8),
    "features": ((ROWS, WIDTH), np.float32),
}


def read_cached(kind: str) -> NDArray[Any]:
    shape, number = KINDS[kind]
    # A damaged archive, which has a checksum of each array, fails in many ways, and all mean: draw again.
    with suppress(Exception), cache_file().open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        found: NDArray[Any] = arrays[kind]
        if found.shape == shape and found.dtype == number:
            return found
    pictures = draw_all()
    features = edge_features(pictures)
    with suppress(OSError):  # no folder, no permission, a full disk
        target = cache_file()
        target.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(target) as stream:
            np.savez(stream, pictures=pictures, features=features)
    return pictures if kind == "pictures" else features


def cache_file() -> Path:
    """Where they are kept: a file for each version of this code and of matplotlib, whose fonts it draws."""
    return cache_folder() / "letters" / f"letters-{VERSION}-matplotlib-{version('matplotlib')}.npz"


def draw_all() -> NDArray[np.uint8]:
    """(n, side, side) the pictures of all rows: letter by letter, face by face."""
    made = np.stack([draw_face(face) for face in range(len(FACES))], axis=1)
    return made.reshape(KINDS["pictures"][0])


# Parts: a plain letter is always trained on, so every base letter is known. Of every mark at least two letters are
# trained on, and one in each fold.
UNSEEN = 50  # letters
LEAST = 2  # letters with each mark that stay in training
FOLDS = 3
_UNSEEN, _FACES, _FOLDS = range(3)  # streams of the seed


def row_letters() -> NDArray[np.int64]:
    """(n,) the letter of each row, as a position in LETTERS: all rows of a letter are together."""
    return np.repeat(np.arange(len(LETTERS)), len(FACES) * TIMES)


def row_faces() -> NDArray[np.int64]:
    """(n,) the face of each row, as a position in FACES."""
    return np.tile(np.repeat(np.arange(len(FACES)), TIMES), len(LETTERS))


def draw_unseen(seed: int) -> list[str]:
    left = Counter(decompose(letter)[1] for letter in LETTERS)
    marked = [letter for letter in LETTERS if decompose(letter)[1] != PLAIN]
    found: list[str] = []
    for letter in make_generator(seed, _UNSEEN).permutation(marked).tolist():
        mark = decompose(letter)[1]
        if len(found) < UNSEEN and left[mark] > LEAST:
            found.append(letter)
            left[mark] -= 1
    return found


def draw_test_faces(seed: int) -> list[int]:
    """A face of each family, by seed, in four different styles: for tests of seen letters."""
    styles = make_generator(seed, _FACES).permutation(STYLES).tolist()
    return [STYLES * family + style for family, style in enumerate(styles)]


def divide_rows(unseen: Collection[str], seed: int) -> dict[str, NDArray[np.int64]]:
    letter, face = row_letters(), row_faces()
    new = np.isin(letter, [LETTERS.index(name) for name in unseen])
    later = np.isin(face, draw_test_faces(seed))
    trainval = np.flatnonzero(~new & ~later)
    parts = {"trainval": trainval, "test_seen": np.flatnonzero(~new & later), "test_unseen": np.flatnonzero(new)}
    # The seen letters with a mark, by mark and shuffled within it: every third belongs to the same fold.
    random, held = make_generator(seed, _FOLDS), []
    for mark in MARKS[1:]:
        seen = [code for code, name in enumerate(LETTERS) if name not in unseen and decompose(name)[1] == mark]
        held += random.permutation(seen).tolist()
    for k in range(FOLDS):
        away = np.isin(letter[trainval], held[k::FOLDS])
        parts |= {f"fold{k + 1}_train": trainval[~away], f"fold{k + 1}_val": trainval[away]}
    return parts


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

    Examples
    --------
    >>> from zskl.datasets import letters
    >>> letters.load("polish").unseen_classes.tolist()
    ['Ó', 'ó', 'Ą', 'ą', 'Ć', 'ć', 'Ę', 'ę', 'Ń', 'ń', 'Ś', 'ś', 'Ź', 'ź', 'Ż', 'ż']
    """
    split.check_seed(seed)
    unseen = draw_unseen(int(seed)) if language is None else letters_of_language(language)
    return Dataset(
        name="letters" if language is None else f"letters:{language.lower()}",
        X=read_cached("features"),
        y=np.array(LETTERS)[row_letters()],
        signatures=signature_table(),
        parts=divide_rows(unseen, int(seed)),
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
    return read_cached("pictures")
