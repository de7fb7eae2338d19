"""Records: one JSON line each, whole files, no silent loss."""

from __future__ import annotations

import numpy as np
import pytest

from zskl import records


def test_round_trip_with_numpy_values(tmp_path):
    file = tmp_path / "a" / "b.jsonl"
    records.write(file, [{"x": np.float32(0.5), "y": np.arange(3), "name": "é"}, {"x": 2}])
    assert records.read(file) == [{"x": 0.5, "y": [0, 1, 2], "name": "é"}, {"x": 2}]


def test_nan_is_refused_and_the_old_file_stays(tmp_path):
    file = tmp_path / "r.jsonl"
    records.write(file, [{"x": 1}])
    with pytest.raises(ValueError, match="JSON"):
        records.write(file, [{"x": float("nan")}])
    assert records.read(file) == [{"x": 1}]


def test_a_torn_line_is_named(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"x": 1}\n{"x": \n')
    with pytest.raises(ValueError, match="line 2"):
        records.read(file)


def test_a_record_cannot_hold_just_anything(tmp_path):
    with pytest.raises(TypeError, match="cannot hold a set"):
        records.to_line({"x": {1}})


def test_versions_name_what_figures_depend_on():
    assert {"zskl", "python", "numpy", "scikit-learn"} <= set(records.versions())
