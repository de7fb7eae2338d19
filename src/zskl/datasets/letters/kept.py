"""Pictures and features of all rows: made once, then kept in the user's cache. Without a cache they are made again."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.letters import edges, faces
from zskl.datasets.letters.alphabet import LETTERS
from zskl.files import cache_folder, replacing

VERSION = 2  # raise it when other pictures or other features are made
ROWS = len(LETTERS) * len(faces.FACES) * faces.TIMES
WIDTH = edges.DIRECTIONS * edges.ROWS * edges.COLUMNS
KINDS: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
    "pictures": ((ROWS, faces.SIDE, faces.SIDE), np.uint8),
    "features": ((ROWS, WIDTH), np.float32),
}


def read(kind: str) -> NDArray[Any]:
    """The "pictures" or the "features" of all rows."""
    found = _kept(kind)
    if found is not None:
        return found
    pictures = drawn()
    features = edges.features(pictures)
    with suppress(OSError):  # no folder, no permission, a full disk
        target = file()
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as stream:
            np.savez(stream, pictures=pictures, features=features)
    return pictures if kind == "pictures" else features


def file() -> Path:
    """Where they are kept: a file for each version of this code and of matplotlib, whose fonts it draws."""
    return cache_folder() / "letters" / f"letters-{VERSION}-matplotlib-{version('matplotlib')}.npz"


def drawn() -> NDArray[np.uint8]:
    """(n, side, side) the pictures of all rows: letter by letter, face by face."""
    made = np.stack([faces.drawn(face) for face in range(len(faces.FACES))], axis=1)
    return made.reshape(KINDS["pictures"][0])


def _kept(kind: str) -> NDArray[Any] | None:
    """What the cache has, None if there is nothing or it is damaged: the file has a checksum of each array."""
    shape, number = KINDS[kind]
    try:
        with file().open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            found: NDArray[Any] = arrays[kind]
    except Exception:  # a damaged archive fails in many ways, and all mean: draw again
        return None
    return found if found.shape == shape and found.dtype == number else None
