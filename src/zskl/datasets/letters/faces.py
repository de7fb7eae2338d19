"""Letters drawn from the fonts that come with matplotlib, each in every face and twice, with small seeded changes.

The baseline is at the same height in every picture, capitals of all faces are equally high, and the space that a letter
takes in a line of text is centred. So a letter is in the same place with and without its mark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.datasets.letters.alphabet import LETTERS

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
SEED = 18


def drawn(face: int) -> NDArray[np.uint8]:
    """(C, TIMES, SIDE, SIDE) the pictures of all letters in a face, 0 for paper and 255 for ink."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.path import Path as Outline
    from matplotlib.transforms import Affine2D

    outlines = _outlines(FACES[face])
    unit = CAPITAL / outlines["H"][0][:, 1].max()
    random = generator(SEED, face)
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
    pictures = np.clip(pictures + noise, 0, 255)
    return pictures.astype(np.uint8)


def _outlines(face: str) -> dict[str, tuple[NDArray[np.float64], NDArray[Any], float]]:
    """Letter → the points and codes of its outline, and the width that it takes in a line."""
    from matplotlib import ft2font, get_data_path

    file = Path(get_data_path(), "fonts", "ttf", f"{face}.ttf")
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing, which matplotlib comes with: install matplotlib again")
    font = ft2font.FT2Font(str(file))
    font.set_size(2000, 72)  # large, so that the rounding of outlines, to 1/64, makes no difference
    exact = ft2font.LoadFlags.NO_HINTING if hasattr(ft2font, "LoadFlags") else getattr(ft2font, "LOAD_NO_HINTING")  # noqa: B009
    found = {}
    for letter in LETTERS:
        glyph = font.load_char(ord(letter), flags=exact)
        points, codes = font.get_path()
        found[letter] = points.copy(), codes.copy(), glyph.linearHoriAdvance / 2**16
    return found
