"""Rows in a memory-mapped file: ranking and training allocate the same, however many there are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zskl
from block_memory import CLASSES, ROWS, TRAINING, WIDTH

INPUT, SCORES, MATRIX = 4 * ROWS * WIDTH, 4 * ROWS * CLASSES, 4 * TRAINING * WIDTH  # 102, 400 and 307 MB


@pytest.fixture(scope="module")
def beyond(tmp_path_factory):
    """call → bytes, and the folder with the scores."""
    place = tmp_path_factory.mktemp("mapped")
    environment = {**os.environ, "PYTHONPATH": str(Path(zskl.__file__).parents[1])}
    script = Path(__file__).with_name("block_memory.py")
    done = subprocess.run(
        [sys.executable, script], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), place


@pytest.mark.parametrize("call", ["predict", "top_k", "filling", "iterating", "file"])
def test_ranking_allocates_an_eighth_of_the_scores(beyond, call):
    assert beyond[0][call] < SCORES / 8


def test_training_allocates_less_than_half_the_matrix(beyond):
    assert beyond[0]["streamed_fit"] < MATRIX / 2


def test_the_measurement_sees_what_is_held_whole(beyond):
    found, _ = beyond
    assert found["whole_scores"] > SCORES
    assert found["whole_input"] > INPUT
    assert found["whole_fit"] > MATRIX


def test_all_scores_are_there(beyond):
    scores = np.load(beyond[1] / "scores.npy", mmap_mode="r")
    assert scores.shape == (ROWS, CLASSES)
    assert (scores[::1000] > 0).all()
