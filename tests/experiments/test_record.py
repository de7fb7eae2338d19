"""The typed record: what is written is read back, lines of zskl 0.1 too, and anything else is refused by name."""

from __future__ import annotations

import copy
import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from zskl.experiments import jsonl_log
from zskl.experiments.record import VERSION, Record
from zskl.experiments.record_parts import Course, Generalised, Seconds, SeenUnseenCurve, Tried, Tuning, ZeroShot

OLD = Path(__file__).parent / "records_of_0_1.jsonl"  # written by `zskl run` of version 0.1
LEAST = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {}}


@pytest.fixture
def lines():
    return jsonl_log.read(OLD)


def test_lines_of_version_0_1_are_read(lines):
    plain, tuned = map(Record.from_json, lines)
    assert "version" not in lines[0]
    assert (plain.method, plain.seed, plain.settings) == ("gaussian-ort", 0, {"epochs": 1, "batch_size": 100})
    assert plain.zsl.accuracy == lines[0]["zsl"]["accuracy"]
    assert plain.gzsl.curve.seen == tuple(lines[0]["gzsl"]["curve"]["seen"])
    assert (plain.tune, plain.gzsl_calibrated) == (Tuning(), None)
    assert tuned.tune.scoring == "both"
    assert tuned.tune.choices.gzsl.setting == lines[1]["tune"]["choices"]["gzsl"]["setting"]
    assert tuned.probabilities.gzsl.ece == lines[1]["probabilities"]["gzsl"]["ece"]
    assert tuned.gzsl_calibrated.calibration == tuned.calibration == lines[1]["calibration"]


def test_nothing_of_a_0_1_line_is_lost_and_only_the_version_is_added(lines):
    for line in lines:
        assert json.loads(jsonl_log.to_line(Record.from_json(line).to_json())) == {**line, "version": VERSION}


def test_what_is_written_is_read_back(lines):
    for line in lines:
        record = Record.from_json(line)
        assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_record_is_frozen(lines):
    record = Record.from_json(lines[0])
    with pytest.raises(FrozenInstanceError):
        record.seed = 1
    assert replace(record, seed=1).seed == 1


def test_what_was_not_measured_has_no_entry():
    record = Record.from_json(LEAST)
    assert (record.gzsl.harmonic, record.gram, record.seconds.training) == (None, None, None)
    assert not {"tune", "probabilities", "gzsl_calibrated", "gram", "seconds"} & set(record.to_json())
    assert {"dataset", "method", "seed", "settings", "zsl", "gzsl"} <= set(Record(**parts()).to_json())


def parts(**more):
    return {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": ZeroShot(), "gzsl": Generalised(), **more}


def test_an_unknown_field_is_ignored():
    record = Record.from_json({**LEAST, "mood": "good", "zsl": {"accuracy": 0.5, "weather": [1]}})
    assert record == Record.from_json(LEAST)


def test_null_is_the_same_as_missing_except_as_the_value_of_a_setting():
    null = {"gram": None, "versions": {"numpy": None}, "tune": None, "convergence": {"step": [1], "objective": None}}
    assert Record.from_json({**LEAST, **null}) == Record.from_json(LEAST)
    assert Record.from_json({**LEAST, "settings": {"device": None}}).settings == {"device": None}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": None}, "`dataset` is missing: expected a text"),
        ({"zsl": None}, "`zsl` is missing: expected an object with named fields"),
        ({"seed": "0"}, "`seed` is '0': expected a whole number"),
        ({"seed": True}, "`seed` is True: expected a whole number"),
        ({"zsl": [1]}, r"`zsl` is \[1\]: expected an object with named fields"),
        ({"zsl": {"accuracy": "high"}}, "`zsl.accuracy` is 'high': expected a number"),
        ({"gzsl": {"per_class": {"ant": "x"}}}, "`gzsl.per_class.ant` is 'x': expected a number"),
        ({"gram": [[1.0, None]]}, r"`gram\[0\]\[1\]` is None: expected a number"),
        ({"gram": "aaaa" * 50}, r"`gram` is 'aaaa.*\.\.\.: expected a list"),
        ({"probabilities": {"zsl": {"coverage": [[0.1, 1.0]]}}}, r"coverage\[0\]` is .*: expected a list of 3 values"),
        ({"tune": {"diverged": [{"step": 3}]}}, r"`tune.diverged\[0\].setting` is missing"),
        ({"gzsl": {"curve": {"calibration": [1], "seen": [], "unseen": [1]}}}, "1 calibration, 0 seen, 1 unseen"),
        ({"version": 5}, "`version` is 5: expected a number from 1 to 4; read it with a newer zskl"),
        ({"version": "two"}, "`version` is 'two'"),
    ],
)
def test_a_damaged_or_newer_line_is_refused_with_its_place(change, words):
    with pytest.raises(ValueError, match=words):
        Record.from_json({**copy.deepcopy(LEAST), **change})


@pytest.mark.parametrize("line", [[], "text", 3, None])
def test_what_is_not_an_object_is_refused(line):
    with pytest.raises(ValueError, match="expected an object with named fields, as zskl run writes"):
        Record.from_json(line)


def test_parts_check_themselves():
    with pytest.raises(ValueError, match="2 step, 1 objective: expected lists of one length"):
        Course((1, 2), (0.5,))
    with pytest.raises(ValueError, match=r"a row of `tune.table` has 2 values: expected 1 settings and 2 scores"):
        Tried(("sigma",), ((0.5, 0.6),))
    assert SeenUnseenCurve((0.0,), (0.5,), (0.6,)).seen == (0.5,)


def test_training_time_is_that_of_choosing_and_fitting():
    assert Seconds(search=2.0, fit=1.0, evaluate=9.0).training == 3.0
    assert Seconds().training is None
