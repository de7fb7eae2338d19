"""A single unseen class has no zero-shot figure, in Python, in records, in tables, on the page and in the terminal."""

import json

import numpy as np
import pytest

from zskl import baselines, compare, plots, protocols, selection
from zskl.cli import sweeping
from zskl.datasets import Dataset, make_synthetic
from zskl.experiments import expectation, meaning, run_table
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit
from zskl.report import classes, groups, summary, tables

NONE = "no zero-shot figure, because class 6 is the only unseen class and every answer would be right"


@pytest.fixture(scope="module")
def data():
    found = make_synthetic(n_seen=6, n_unseen=1, samples_per_class=8, n_features=8, n_attributes=5)
    assert found.unseen_classes.tolist() == ["class 6"]
    return found


@pytest.fixture(scope="module")
def record(data):
    return Unit("class-means", 0, calibrate=True, shots=(1,), unlabelled=("unseen",)).run(data)


def test_the_protocol_says_so(data):
    model = baselines.ESZSL().fit(*data.samples("trainval"), data.signatures)
    result = protocols.zsl(model, data)
    assert result.accuracy is None
    assert (result.per_class, result.mistaken, result.left_out, result.alone) == ({}, {}, ("class 6",), "class 6")
    assert repr(result) == f"Result('zsl', {NONE})"
    assert NONE in str(result)
    assert "%" not in str(result)
    assert result.as_dict()["accuracy"] is None
    general = protocols.gzsl(model, data)
    assert general.alone is None
    assert 0 <= general.unseen <= 1  # among all classes there is a choice
    with pytest.raises(ValueError, match=f"{NONE}: use 'gzsl'"):
        protocols.confidence(model, data, "zsl")
    for display in (plots.ClassAccuracyDisplay, plots.ConfusionDisplay):
        with pytest.raises(ValueError, match=f"{NONE}: expected two unseen classes or more"):
            display.from_estimator(model, data)


def test_records_and_what_reads_them(record):
    assert record.zsl.accuracy is None
    assert record.zsl.alone == "class 6"
    assert record.probabilities.zsl is None
    assert record.probabilities.gzsl is not None
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert "zero-shot" not in str(record)
    table = compare([record])
    assert not [name for name in table.figures if name.startswith("zero-shot")]
    assert "H" in table.figures
    assert f"synthetic: {NONE}" in table.notes
    assert compare([record], differences=True).rows
    said = meaning.sentences([record])
    assert said[0] == f"There is {NONE}; hold out two classes or more to get one."
    assert "zero-shot" not in run_table.of_run([record]).figures
    (problem,) = groups.problems([record], table)
    assert NONE in " ".join(summary.sentences([problem], table))
    assert next(one.name for one in tables.protocols(table)) == "generalised"
    (case,) = problem.cases
    assert classes.accuracies(problem, case) == []
    assert [one.name for one in classes.confusions(problem, case)] == ["confusion-all-p1"]
    with pytest.raises(ValueError, match="with two unseen classes or more"):
        plots.ClassAccuracyDisplay.from_records([record])


def test_the_terminal(record, capsys):
    sweeping._show([record])
    shown = " ".join(capsys.readouterr().out.split())
    assert NONE in shown
    assert "no test rows" not in shown
    assert "choosing among" not in shown.split("unseen, seen")[0]


def test_folds_that_hold_out_one_class(data):
    """A search goes on, since that fold says the same of every setting; what to expect cannot be said."""
    seen = data.seen_classes
    parts = dict(data.parts)
    for k in (0, 1):
        away = np.isin(data.y[parts["trainval"]], seen[k : k + 1 + k])  # one class, then two
        parts |= {f"fold{k + 1}_train": parts["trainval"][~away], f"fold{k + 1}_val": parts["trainval"][away]}
    folded = Dataset(data.name, data.X, data.y, data.signatures, parts)
    X, y = folded.samples("trainval")
    search = selection.search(baselines.ESZSL(), X, y, data.signatures, {"gamma": [0.1, 1e4]}, folds=folded)
    assert set(search.zsl[:, 0]) == {1.0}
    assert np.isfinite(search.pick("zsl").score)
    with pytest.raises(ValueError, match="fold 1 of synthetic holds out a single class"):
        expectation.expect(folded)


def test_a_record_of_an_earlier_version_said_100(record):
    """One candidate and 100 %: the figure is not read, and another dataset beside it keeps its own."""
    line = record.to_json()
    line["zsl"] = {"protocol": "zsl", "accuracy": 1.0, "per_class": {"class 6": 1.0}, "mistaken": {"class 6": []}}
    old = Record.from_json(line)
    assert old.zsl.accuracy is None
    two = make_synthetic(n_seen=6, n_unseen=2, samples_per_class=8, n_features=8, n_attributes=5)
    table = compare([old, Unit("eszsl", 0).run(two)])
    have = [row.labels["method"] for row in table.rows if "zero-shot" in row.figures]
    assert have == ["eszsl"]
