"""Answers of rows in records: what was packed is read back, and the figures follow from it."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest

from tolerances import SUMS, assert_close
from zskl import metrics, protocols
from zskl.datasets import make_synthetic
from zskl.experiments.answers import LEVELS, levels, pack, unpack
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit
from zskl.metrics import bootstrap
from zskl.paper.collect import slim


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_seen=8, n_unseen=4)


@pytest.fixture(scope="module")
def record(data):
    return Unit("class-means", 0, calibrate=True, shots=(2,)).run(data)


@pytest.mark.parametrize("numbers", [[], [0], [0, 1, 1], [1] * 17, [0, 200, 3], [700, 0, 65535], [70_000, 0]])
def test_what_is_packed_is_read_back(numbers):
    text = pack(np.array(numbers, np.int64))
    assert unpack(text, len(numbers)).tolist() == numbers


def test_text_that_is_no_answers_is_refused_with_a_sentence():
    for text in ("", "?", "AAAA", base64.b64encode(zlib.compress(b"")).decode()):
        with pytest.raises(ValueError, match="cannot be read"):
            unpack(text)
    with pytest.raises(ValueError, match="answers of 3 rows for classes of 4"):
        unpack(pack(np.zeros(3)), 4)


def _accuracy(codes, counts):
    rows = unpack(counts)
    right = np.split(unpack(codes, rows.sum()) == 0, np.cumsum(rows)[:-1])
    return np.mean([one.mean() for one in right])


def test_every_accuracy_follows_from_the_answers_also_of_a_compact_record(record):
    for one in (record, slim(record), Record.from_json(record.to_json())):
        rows = one.class_rows
        assert_close(_accuracy(one.zsl.answers.unseen, rows.unseen), one.zsl.accuracy, SUMS.double)
        for part in (one.gzsl, one.gzsl_calibrated):
            assert_close(_accuracy(part.answers.unseen, rows.unseen), part.unseen, SUMS.double)
            assert_close(_accuracy(part.answers.seen, rows.seen), part.seen, SUMS.double)


def test_a_wrong_answer_is_named(record, data):
    codes = unpack(record.gzsl.answers.unseen)
    names = [*record.gzsl.per_class, *record.gzsl.left_out]
    model = Unit("class-means", 0).run(data)
    assert unpack(model.zsl.answers.unseen).tolist() == unpack(record.zsl.answers.unseen).tolist()
    rows = data.parts["test_unseen"]
    true = np.sort(data.codes[rows])
    wrong = [(str(data.class_names[t]), names[code - 1]) for t, code in zip(true, codes, strict=True) if code]
    assert wrong
    assert all(first != second for first, second in wrong)
    zsl = unpack(record.zsl.answers.unseen)
    named = [*record.zsl.per_class, *record.zsl.left_out]
    for label, mistaken in record.zsl.mistaken.items():
        of_label = data.class_names[true].astype(str) == label
        mine = [named[code - 1] for code in zsl[of_label] if code]
        assert not mistaken or mine.count(mistaken[0][0]) == max(map(mine.count, mine))


def test_examples_are_not_scored(record, data):
    taught = record.taught[0]
    examples = unpack(taught.zsl.answers.examples)
    rows = unpack(record.class_rows.unseen)
    assert examples.sum() == 2 * len(data.unseen_classes)
    right = (unpack(taught.zsl.answers.unseen) == 0)[examples == 0]
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
    gap, _, right = metrics.row_gaps.gaps(scores, y, is_seen)
    found = levels(gap, right)
    assert found.max() == LEVELS
    share = 1 / np.where(is_seen[y], 12 * 150, 59 * 50)
    parts = [np.bincount(found[side], share[side], LEVELS + 1)[1:] for side in (is_seen[y], ~is_seen[y])]
    assert 0.25 < curve.area < 0.6
    assert abs(bootstrap.area(*parts) - curve.area) < 0.001


def test_levels_rise_with_the_gap_and_equal_gaps_are_one_level():
    gap, right = np.array([0.3, -1.0, 0.3, 5.0, 0.0]), np.array([True, True, True, True, False])
    found = levels(gap, right)
    assert found[4] == 0
    assert found[0] == found[2]
    assert 1 == found[1] < found[0] < found[3] <= LEVELS
    assert levels(gap, np.zeros(5, bool)).tolist() == [0] * 5


def test_a_protocol_tells_the_answer_of_each_row(data):
    class Ranker:
        def compatibility(self, X, signatures):
            return np.tile(np.arange(len(signatures), dtype=float), (len(X), 1))

    found = protocols.zsl(Ranker(), data)
    assert found.scored.rows.tolist() == data.parts["test_unseen"].tolist()
    assert set(found.scored.answers.tolist()) == {data.unseen_classes[-1]}
