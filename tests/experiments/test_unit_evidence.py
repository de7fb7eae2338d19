"""Shots and unlabelled rows in units, records and comparisons, with a method registered for all tests of this file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from command import zskl
from small_search import timeless
from taught_models import Teachable, registered
from zskl import datasets, methods, protocols
from zskl.experiments import compare, run_folder
from zskl.experiments import unit as units
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit
from zskl.report import sections

BOTH = {"shots": (1, 5), "unlabelled": ("unseen", "all")}
DATA = datasets.make_synthetic(12, 4, 10, 12, 6, noise=0.8)


@pytest.fixture(autouse=True)
def _teachable(monkeypatch):
    registered(monkeypatch)


@pytest.fixture(scope="module")
def record():
    with pytest.MonkeyPatch.context() as patch:
        registered(patch)
        return Unit("teachable", 3, tune=True, calibrate=True, **BOTH).run(DATA)


def test_unit_without_evidence_keeps_its_key_and_record(record):
    plain = Unit("teachable", 3, tune=True, calibrate=True)
    assert plain.key(DATA) == run_folder.unit_key(
        {
            **units.data_identity(DATA),
            **{"method": "teachable", "seed": 3, "settings": {}, "tune": True, "calibrate": True, "scoring": "both"},
            "grid": plain.grids[0],
            "default": "compared",
        }
    )
    keys = [replace(plain, **{name: value}).key(DATA) for name, value in BOTH.items()]
    assert len({plain.key(DATA), *keys, replace(plain, shots=(1,)).key(DATA), record.key}) == 5
    assert record.key == replace(plain, shots=[5, 1, 1], unlabelled=["all", "unseen"]).key(DATA)
    alone, other = timeless(plain.run(DATA)), timeless(record)
    assert not {"taught", "adapted"} & set(alone)
    assert {**other, "key": alone["key"]} == {**alone, "taught": other["taught"], "adapted": other["adapted"]}


def test_a_record_has_the_figures_of_the_protocols(record):
    plain = methods.build("teachable", record.config).fit(*DATA.samples("trainval"), DATA.signatures)
    assert [one.shots for one in record.taught] == [1, 5]
    for one in record.taught:
        assert one.zsl.accuracy == protocols.zsl(plain, DATA, shots=one.shots, seed=3).accuracy
        assert one.gzsl.harmonic == protocols.gzsl(plain, DATA, shots=one.shots, seed=3).harmonic
        assert one.gzsl_calibrated.calibration == 0.25  # that of the taught model
    unseen, both = record.adapted
    assert (unseen.unlabelled, unseen.gzsl, unseen.gzsl_calibrated) == ("unseen", None, None)
    assert unseen.zsl.accuracy == protocols.zsl(plain, DATA, unlabelled="unseen").accuracy
    assert both.gzsl.harmonic == protocols.gzsl(plain, DATA, unlabelled="all").harmonic
    assert both.gzsl_calibrated.calibration == 0.5
    assert both.zsl.adaptation == {"candidates": "all", "rows": 64}
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize("method", ["teachable", "class-means"])
def test_test_rows_never_change_what_is_chosen(method):
    """Every test row another one: the search, its choices and the constant are the same, to the last bit."""
    X = np.array(DATA.X)
    rows = np.concatenate([DATA.parts["test_seen"], DATA.parts["test_unseen"]])
    X[rows] = np.random.default_rng(0).normal(size=(len(rows), X.shape[1]))
    unit = Unit(method, 3, tune=True, calibrate=True, **BOTH)
    one, other = (unit.run(data) for data in (DATA, replace(DATA, X=X)))
    assert (other.tune, other.calibration, other.config) == (one.tune, one.calibration, one.config)
    assert other.taught != one.taught
    assert other.adapted != one.adapted


def test_comparison_has_columns_for_examples_and_unlabelled_rows(record):
    table = compare.compare([record, replace(record, method="other", taught=None, adapted=None)])
    names = ["zero-shot", "H", "calibrated H"]
    assert list(table.given) == [
        *(f"{name}, {words}" for words in ("1 shot", "5 shots") for name in names),
        "zero-shot, unlabelled unseen",
        *(f"{name}, unlabelled all" for name in names),
    ]
    plain, given = table.split()
    assert plain.figures == ("zero-shot", "unseen", "seen", "H", "calibrated H", "area", "seconds")
    assert ([row.labels["method"] for row in given.rows], len(plain.rows)) == (["teachable"], 2)
    first = table.rows[0].figures
    assert first["zero-shot"].mean == pytest.approx(100 * record.zsl.accuracy, rel=1e-12)
    assert first["H, 5 shots"].mean == pytest.approx(100 * record.taught[1].gzsl.harmonic, rel=1e-12)
    assert compare.compare([replace(record, taught=None, adapted=None)]).split()[1] is None
    assert "zero-shot, 1 shot mean" in table.to_text("csv").splitlines()[0].replace('"', "").replace("mean,", "mean\n")


def test_plain_record_of_the_same_seed_does_not_hide_evidence(record):
    plain = replace(record, key="plain", taught=None, adapted=None)
    (row,) = compare.compare([plain, record]).rows
    assert (row.seeds, "H, 1 shot" in row.figures) == (1, True)
    table = compare.compare([record, replace(plain, seed=4)])
    assert table.given == ()
    assert "synthetic, teachable: 'H, 1 shot' is left out, since 1 of 2 seeds have it" in table.notes


def test_model_that_declines_to_adapt_is_marked(monkeypatch):
    monkeypatch.setattr(Teachable, "gain", False)
    record = Unit("teachable", 0, calibrate=True, **BOTH).run(DATA)
    assert record.adapted[0].zsl.accuracy == record.zsl.accuracy
    assert record.adapted[1].gzsl_calibrated.harmonic == record.gzsl_calibrated.harmonic
    assert record.adapted[1].gzsl_calibrated.declined.startswith("no clear gain")
    table = compare.compare([record])
    assert table.rows[0].figures["zero-shot, unlabelled unseen"].mark == "†"
    assert table.rows[0].figures["zero-shot, 1 shot"].mark == ""
    note, _ = table.notes  # the other is on the few classes
    assert note.startswith("† synthetic, teachable: the model did not adapt and was scored as it was; no clear gain")


def test_report_has_a_table_and_commands_for_evidence(record):
    *_, given = sections.protocol_tables(compare.compare([record]))
    assert (given.name, *given.columns[-4:]) == ("given", "learned from", "zero-shot (%)", "H (%)", "calibrated H (%)")
    assert [row[-4].text for row in given.rows] == [
        *("the description alone", "1 example of each class", "5 examples of each class"),
        *("unlabelled rows of unseen classes", "unlabelled rows of all classes"),
    ]
    assert given.rows[1][-3].value == pytest.approx(100 * record.taught[0].zsl.accuracy, rel=1e-12)
    assert "calibrated H, unlabelled all mean" in given.csv.splitlines()[0]
    (command,) = sections.run_commands([record])
    assert command.endswith("--shots 1 --shots 5 --unlabelled unseen --unlabelled all --seeds 4")
    plain = compare.compare([replace(record, taught=None, adapted=None)])
    assert [table.name for table in sections.protocol_tables(plain)] == ["zero-shot", "generalised"]


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ({"method": "eszsl", "shots": (1,)}, "method 'eszsl' cannot learn from examples: expected one of .*teachable"),
        ({"method": "eszsl", "unlabelled": ("all",)}, "method 'eszsl' cannot adapt to unlabelled rows: expected one"),
        ({"method": "teachable", "shots": (0,)}, "shots is 0: expected an integer ≥ 1"),
        ({"method": "teachable", "unlabelled": ("al",)}, r"unlabelled is 'al': expected one of unseen, all \(did you"),
    ],
)
def test_wrong_numbers_and_abilities_are_refused(unit, words):
    with pytest.raises(ValueError, match=words):
        Unit(seed=0, **unit)


def test_run_command_writes_results_after_examples(tmp_path):
    options = ("--method", "teachable", "--shots", "1", "--unlabelled", "unseen", "--unlabelled", "all")
    done = zskl("run", "digits", *options, "--json", str(tmp_path / "a.jsonl"))
    assert done.returncode == 0, done.stderr
    lines = [line.split()[:3] for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines].count(["teachable", "default"]) == 1
    assert lines.count(["+", "1", "example"]) == 1
    assert [line[2] for line in lines if line[:2] == ["+", "unlabelled"]] == ["unseen", "all"]
    (line,) = run_folder.read_log(tmp_path / "a.jsonl")
    assert (line["version"], line["taught"][0]["shots"], len(line["adapted"])) == (4, 1, 2)
    assert "unlabelled" in zskl("compare", str(tmp_path / "a.jsonl")).stdout
    for more, words in (
        (("--method", "eszsl", "--shots", "1"), "method 'eszsl' cannot learn from examples: expected one of"),
        (("--method", "teachable", "--unlabelled", "none"), "unlabelled is 'none': expected one of unseen, all"),
    ):
        done = zskl("run", "digits", *more)
        assert done.returncode == 2
        assert words in done.stderr
