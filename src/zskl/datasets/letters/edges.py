"""Features of pictures: how much edge there is in each of 8 × 8 cells, in each of 4 directions (a HOG descriptor).

All is counted in whole numbers, which every processor adds to the same sum. Only the last step, to unit length, rounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIRECTIONS = 4  # of 180°: an edge from dark to light is the same as one from light to dark
ROWS, COLUMNS = 8, 8  # cells
FINE = 8  # steps of a grey value
BLOCK = 512  # pictures at a time


def features(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(n, 256) float32 of unit length, for pictures (n, side, side): the strength of edges by direction and cell.

    An edge counts for the two nearest directions and the four nearest cells, the more the nearer.
    """
    n, side, _ = pictures.shape
    table = strengths()
    down, across = cell_weights(side, ROWS), cell_weights(side, COLUMNS)
    sums = np.empty((n, DIRECTIONS, ROWS, COLUMNS), dtype=np.float32)
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


def strengths() -> NDArray[np.float32]:
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
