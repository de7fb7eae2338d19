"""Records of sensitivity and convergence: those of zskl 0.1 are read, and what is not one is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zskl.experiments import jsonl_log
from zskl.experiments.record import VERSION
from zskl.paper import curve_records
from zskl.paper.curve_records import ConvergenceRecord, SensitivityRecord

OLD = Path(__file__).parents[2] / "benchmarks" / "results" / "paper" / "curves" / "records.jsonl"
LEAST = {"key": "k", "dataset": "CUB", "method": "cauchy", "seed": 0, "setting": {"sigma": 1}, "part": "sensitivity"}


def test_lines_of_0_1_are_read_and_nothing_is_lost():
    kinds = set()
    for line in jsonl_log.read(OLD):
        record = curve_records.from_json(line)
        kinds.add(type(record))
        assert json.loads(jsonl_log.to_line(record.to_json())) == {**line, "version": VERSION}
    assert kinds == {SensitivityRecord, ConvergenceRecord}


def test_the_chosen_value_is_a_number():
    assert curve_records.from_json({**LEAST, "curves": {}}).chosen("sigma") == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"part": "gram"}, "`part` is 'gram': expected sensitivity or convergence"),
        ({}, "`curves` is missing"),
        ({"curves": {"sigma": {"values": [1], "validation": [None], "test": []}}}, "1 values, 1 validation and 0 test"),
        ({"version": 9}, "`version` is 9"),
    ],
)
def test_what_is_not_a_curve_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        curve_records.from_json({**LEAST, **change})
