"""A CSV file of 200 000 rows × 64 features goes through make, fit and predict without being held twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zskl
from peak_memory import ROWS, WIDTH
from zskl import preprocessing

MATRIX = ROWS * WIDTH * 4  # bytes as float32


@pytest.fixture(scope="module")
def growth(tmp_path_factory):
    """step → bytes; the files it leaves are in the folder that comes with it."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the peak is measured through Linux's /proc")
    place = tmp_path_factory.mktemp("large")
    environment = {**os.environ, "PYTHONPATH": str(Path(zskl.__file__).parents[1])}
    script = Path(__file__).with_name("peak_memory.py")
    done = subprocess.run(
        [sys.executable, script], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), place


@pytest.mark.parametrize("step", ["make", "fit", "predict"])
def test_a_step_holds_less_than_the_file_twice(growth, step):
    found, place = growth
    assert found[step] < 2 * (place / "large.csv").stat().st_size


@pytest.mark.parametrize("step", ["make", "predict"])
def test_reading_holds_less_than_the_matrix_twice(growth, step):
    assert growth[0][step] < 2 * MATRIX


def test_the_measurement_sees_a_reader_that_holds_it_twice(growth):
    assert growth[0]["planted"] > 1.9 * MATRIX


def test_every_row_is_predicted(growth):
    with (growth[1] / "large-predictions.csv").open() as file:
        lines = sum(1 for _ in file)
    assert lines == ROWS + 1


@pytest.mark.parametrize("scaling", ["center-l2", "sqrt-center-l2", "none"])
def test_rows_scaled_in_blocks_are_rows_scaled_at_once(monkeypatch, scaling):
    X = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    fitted = preprocessing.fit(scaling, X)
    at_once = fitted.apply(X)
    monkeypatch.setattr(preprocessing, "BLOCK_VALUES", 6)
    np.testing.assert_array_equal(fitted.apply(X), at_once)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: scaling of tensors in blocks")
    np.testing.assert_allclose(fitted.apply(torch.from_numpy(X)).numpy(), at_once, rtol=1e-6, atol=1e-6)
