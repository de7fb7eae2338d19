"""The typed record: what is written is read back, lines of zskl 0.1 too, and anything else is refused by name."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

from tolerances import SUMS, assert_close
from zskl import metrics, protocols
from zskl.datasets import make_synthetic
from zskl.experiments import run_folder, uncertainty
from zskl.experiments.record import (
    LEVELS,
    VERSION,
    Generalised,
    ObjectiveCurve,
    Record,
    Seconds,
    SeenUnseenCurve,
    TriedSettings,
    Tuning,
    ZeroShot,
    gap_levels,
    pack_answers,
    unpack_answers,
)
from zskl.experiments.unit import Unit
from zskl.paper.results import slim_record

# Record

OLD = Path(__file__).parent / "records_of_0_1.jsonl"  # written by `zskl run` of version 0.1
LEAST = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {}}


@pytest.fixture
def lines():
    return run_folder.read_log(OLD)


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
        assert json.loads(run_folder.to_line(Record.from_json(line).to_json())) == {**line, "version": VERSION}


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
        ObjectiveCurve((1, 2), (0.5,))
    with pytest.raises(ValueError, match=r"a row of `tune.table` has 2 values: expected 1 settings and 2 scores"):
        TriedSettings(("sigma",), ((0.5, 0.6),))
    assert SeenUnseenCurve((0.0,), (0.5,), (0.6,)).seen == (0.5,)


def test_training_time_is_that_of_choosing_and_fitting():
    assert Seconds(search=2.0, fit=1.0, evaluate=9.0).training == 3.0
    assert Seconds().training is None


# Answers
# Answers of rows in records: what was packed is read back, and the figures follow from it.


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_seen=8, n_unseen=4)


@pytest.fixture(scope="module")
def record(data):
    return Unit("class-means", 0, calibrate=True, shots=(2,)).run(data)


@pytest.mark.parametrize("numbers", [[], [0], [0, 1, 1], [1] * 17, [0, 200, 3], [700, 0, 65535], [70_000, 0]])
def test_what_is_packed_is_read_back(numbers):
    text = pack_answers(np.array(numbers, np.int64))
    assert unpack_answers(text, len(numbers)).tolist() == numbers


def test_text_that_is_no_answers_is_refused_with_a_sentence():
    for text in ("", "?", "AAAA", base64.b64encode(zlib.compress(b"")).decode()):
        with pytest.raises(ValueError, match="cannot be read"):
            unpack_answers(text)
    with pytest.raises(ValueError, match="answers of 3 rows for classes of 4"):
        unpack_answers(pack_answers(np.zeros(3)), 4)


def _accuracy(codes, counts):
    rows = unpack_answers(counts)
    right = np.split(unpack_answers(codes, rows.sum()) == 0, np.cumsum(rows)[:-1])
    return np.mean([one.mean() for one in right])


def test_every_accuracy_follows_from_the_answers_also_of_a_compact_record(record):
    for one in (record, slim_record(record), Record.from_json(record.to_json())):
        rows = one.class_rows
        assert_close(_accuracy(one.zsl.answers.unseen, rows.unseen), one.zsl.accuracy, SUMS.double)
        for part in (one.gzsl, one.gzsl_calibrated):
            assert_close(_accuracy(part.answers.unseen, rows.unseen), part.unseen, SUMS.double)
            assert_close(_accuracy(part.answers.seen, rows.seen), part.seen, SUMS.double)


def test_a_wrong_answer_is_named(record, data):
    codes = unpack_answers(record.gzsl.answers.unseen)
    names = [*record.gzsl.per_class, *record.gzsl.left_out]
    model = Unit("class-means", 0).run(data)
    assert unpack_answers(model.zsl.answers.unseen).tolist() == unpack_answers(record.zsl.answers.unseen).tolist()
    rows = data.parts["test_unseen"]
    true = np.sort(data.codes[rows])
    wrong = [(str(data.class_names[t]), names[code - 1]) for t, code in zip(true, codes, strict=True) if code]
    assert wrong
    assert all(first != second for first, second in wrong)
    zsl = unpack_answers(record.zsl.answers.unseen)
    named = [*record.zsl.per_class, *record.zsl.left_out]
    for label, mistaken in record.zsl.mistaken.items():
        of_label = data.class_names[true].astype(str) == label
        mine = [named[code - 1] for code in zsl[of_label] if code]
        assert not mistaken or mine.count(mistaken[0][0]) == max(map(mine.count, mine))


def test_examples_are_not_scored(record, data):
    taught = record.taught[0]
    examples = unpack_answers(taught.zsl.answers.examples)
    rows = unpack_answers(record.class_rows.unseen)
    assert examples.sum() == 2 * len(data.unseen_classes)
    right = (unpack_answers(taught.zsl.answers.unseen) == 0)[examples == 0]
    parts = np.split(right, np.cumsum(rows - 2)[:-1])
    assert_close(np.mean([part.mean() for part in parts]), taught.zsl.accuracy, SUMS.double)
    assert taught.gzsl.answers.unseen_levels is None
    assert record.gzsl.answers.unseen_levels is not None


def test_the_area_from_levels_is_within_a_tenth_of_a_point():
    """As many classes and rows as CUB has, and scores with as many right."""
    rng = np.random.default_rng(0)
    is_seen = np.arange(200) < 150
    y = np.concatenate([np.repeat(np.arange(150), 12), np.repeat(np.arange(150, 200), 59)])
    scores = rng.normal(size=(len(y), 200)) + 0.5 * is_seen
    scores[np.arange(len(y)), y] += 2.6
    curve = metrics.seen_unseen_curve(scores, y, np.arange(200), is_seen)
    gap, _, right = metrics.row_gaps(scores, y, is_seen)
    found = gap_levels(gap, right)
    assert found.max() == LEVELS
    share = 1 / np.where(is_seen[y], 12 * 150, 59 * 50)
    parts = [np.bincount(found[side], share[side], LEVELS + 1)[1:] for side in (is_seen[y], ~is_seen[y])]
    assert 0.25 < curve.area < 0.6
    assert abs(uncertainty.area_from_levels(*parts) - curve.area) < 0.001


def test_levels_rise_with_the_gap_and_equal_gaps_are_one_level():
    gap, right = np.array([0.3, -1.0, 0.3, 5.0, 0.0]), np.array([True, True, True, True, False])
    found = gap_levels(gap, right)
    assert found[4] == 0
    assert found[0] == found[2]
    assert 1 == found[1] < found[0] < found[3] <= LEVELS
    assert gap_levels(gap, np.zeros(5, bool)).tolist() == [0] * 5


def test_a_protocol_tells_the_answer_of_each_row(data):
    class Ranker:
        def compatibility(self, X, signatures):
            return np.tile(np.arange(len(signatures), dtype=float), (len(X), 1))

    found = protocols.zsl(Ranker(), data)
    assert found.scored.rows.tolist() == data.parts["test_unseen"].tolist()
    assert set(found.scored.answers.tolist()) == {data.unseen_classes[-1]}
