"""Comparisons: means and deviations over seeds, the best marked, in four formats."""

from __future__ import annotations

import csv
import io
import re
import statistics

import pytest

from command import zskl
from records import answered, rights
from zskl.experiments import compare, run_folder
from zskl.experiments import record as records
from zskl.experiments.compare import compare as compare_compare
from zskl.experiments.record import Choice, Edge, Record
from zskl.experiments.run_folder import collect

# Compare


def record(*given, **more):
    return Record.from_json(line(*given, **more))


def line(method="gaussian", seed=0, accuracy=0.5, dataset="CUB", **more):
    return {
        "key": f"{dataset}/{method}/{seed}/{more}",
        "dataset": dataset,
        "features": "res101",
        "method": method,
        "seed": seed,
        "settings": {},
        "zsl": {"accuracy": accuracy, "left_out": []},
        "gzsl": {"unseen": 0.2, "seen": 0.6, "harmonic": accuracy / 2, "ausuc": 0.4, "left_out": []},
        "seconds": {"fit": 2.0, "search": 10.0, "evaluate": 99.0},
        "fingerprint": "ab" * 32,
        **more,
    }


TWO = [
    *(record("gaussian", seed, accuracy) for seed, accuracy in enumerate((0.5, 0.52, 0.57))),
    *(record("eszsl_x%", seed, accuracy) for seed, accuracy in enumerate((0.4, 0.41, 0.45))),
]


@pytest.fixture
def runs(tmp_path):
    run_folder.write_lines(tmp_path / "runs" / "records.jsonl", [one.to_json() for one in TWO])
    return tmp_path / "runs"


def test_means_deviations_and_the_best():
    table = compare.compare(TWO)
    assert table.labels == ("dataset", "method")
    assert table.figures == ("zero-shot", "unseen", "seen", "H", "area", "seconds")
    first, second = table.rows
    figure = first.figures["zero-shot"]
    assert figure.mean == pytest.approx(53.0, rel=1e-12)
    assert figure.deviation == pytest.approx(statistics.stdev([50, 52, 57]), rel=1e-9)
    assert not any(figure.best for row in (first, second) for figure in row.figures.values())
    assert "CUB: the records of gaussian, eszsl_x% keep no answers of rows" in table.notes[-1]
    assert first.figures["seconds"].mean == 12.0
    assert first.seeds == 3


def test_only_what_is_clearly_not_beaten_is_best():
    good, bad = (answered(name, unseen=rights(share)) for name, share in (("good", 0.9), ("bad", 0.1)))
    table = compare.compare([good, bad])
    assert [row.figures["zero-shot"].best for row in table.rows] == [True, False]
    _, note = table.notes  # the first is on the few classes
    assert note.startswith("birds: no method is clearly the best in seen, since the paired interval")
    assert not any(row.figures["seconds"].best for row in table.rows)


def test_a_method_without_randomness_counts_as_one_run():
    rows = compare.compare([answered(name, seed) for name in ("eszsl", "gaussian") for seed in range(2)]).rows
    assert [row.seeds for row in rows] == [None, 2]
    assert rows[0].figures["H"].deviation is None
    assert rows[1].figures["H"].deviation > 0
    assert compare.format_seeds(rows[0]) == ""


def test_one_row_is_no_contest_and_one_seed_has_no_deviation():
    (row,) = compare.compare([record()]).rows
    assert not any(figure.best for figure in row.figures.values())
    assert row.figures["H"].deviation is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"features_digest": "aa" * 32}, {"features_digest": "bb" * 32}),
        ({"tune": {"scoring": "zsl"}}, {"tune": {"scoring": "zsl"}, "gzsl_calibrated": {"harmonic": 0.3}}),
        ({"tune": {"scoring": "zsl", "grid": {"a": [1]}}}, {"tune": {"scoring": "zsl", "grid": {"a": [1, 2]}}}),
    ],
    ids=["features made again", "calibrated or not", "another grid"],
)
def test_different_experiments_are_never_averaged(one, other):
    assert [row.seeds for row in compare.compare([record(**one), record(**other)]).rows] == [1, 1]


def test_every_method_has_a_grid_of_its_own():
    """So a grid is a column only where one method was searched over several."""
    mine, yours = ({"scoring": "zsl", "grid": {name: [1, 2]}} for name in ("sigma", "gamma"))
    assert "grid" not in compare.compare([record("one", tune=mine), record("other", tune=yours)]).labels
    assert "grid" in compare.compare([record("one", tune=mine), record("one", tune=yours)]).labels


def test_what_differs_becomes_a_column():
    calibrated = {"gzsl_calibrated": {"harmonic": 0.3}}
    mixed = [
        record(),
        record(tune={"scoring": "both"}, **calibrated),
        record(settings={"sigma": 2}),
        record(**calibrated),
        record(features="vgg"),
        record(fingerprint="cd" * 32),
    ]
    table = compare.compare(mixed)
    assert table.labels == ("dataset", "features", "data", "method", "chosen by", "settings")
    assert len(table.rows) == len(mixed)
    assert {row.labels["chosen by"] for row in table.rows} == {
        "defaults",
        "folds, zsl and gzsl",
        "folds, constant only",
    }
    assert "calibrated H" in table.figures
    assert "calibrated H" not in table.rows[0].figures
    assert any("2 different versions of the data" in note for note in table.notes)


def test_datasets_do_not_compete_and_stay_together():
    good, bad = answered("good", unseen=rights(0.9)), answered("bad", unseen=rights(0.1))
    rows = compare.compare([good, answered("good", dataset="fish"), bad]).rows
    assert [row.labels["dataset"] for row in rows] == ["birds", "birds", "fish"]
    assert [row.figures["zero-shot"].best for row in rows] == [True, False, False]


@pytest.mark.parametrize(
    ("column", "first"),
    [("zero-shot", "gaussian"), ("ZERO-SHOT", "gaussian"), ("method", "eszsl_x%"), ("seconds", "gaussian")],
)
def test_sorting(column, first):
    assert compare.compare(TWO, column).rows[0].labels["method"] == first


def test_last_record_of_a_repeated_key_counts(tmp_path, runs):
    run_folder.write_lines(tmp_path / "later.jsonl", [line("gaussian", 0, 0.9)])
    found = collect([runs, tmp_path / "later.jsonl"])
    assert len(found) == 6
    assert [one.zsl.accuracy for one in found if one.method == "gaussian"] == [0.52, 0.57, 0.9]


def test_markdown():
    text = compare.to_markdown(compare.compare(TWO))
    assert "| dataset | method | seeds | zero-shot |" in text
    assert "| CUB | gaussian | 3 | 53.0 ± 3.6 |" in text
    good, bad = answered("good", unseen=rights(0.9)), answered("bad", unseen=rights(0.1))
    line = compare.to_markdown(compare.compare([good, bad])).splitlines()[2]
    assert re.match(r"\| birds \| good \| 1 \| \*\*\d+\.\d \[\d+\.\d, \d+\.\d\]\*\* \|", line), line


def test_csv_has_plain_numbers():
    rows = list(csv.DictReader(io.StringIO(compare.to_csv(compare.compare([*TWO, record("one")])))))
    assert float(rows[0]["zero-shot mean"]) == 53.0
    assert float(rows[0]["zero-shot std"]) == pytest.approx(3.6056, rel=1e-4)
    assert (rows[2]["method"], rows[2]["seeds"], rows[2]["zero-shot std"]) == ("one", "1", "")
    assert (rows[0]["zero-shot low"], rows[0]["zero-shot high"]) == ("", "")
    (row,) = csv.DictReader(io.StringIO(compare.compare([answered()]).to_text("csv")))
    assert float(row["H low"]) < float(row["H mean"]) < float(row["H high"])


def test_latex_escapes():
    text = compare.to_latex(compare.compare(TWO))
    assert r"CUB & gaussian & 3 & 53.0 $\pm$ 3.6 &" in text
    assert r"eszsl\_x\%" in text
    assert text.count(r"\\") == 3


@pytest.mark.parametrize("format_", ["table", "markdown", "csv", "latex"])
def test_the_command_writes_every_format(runs, tmp_path, format_):
    out = tmp_path / "table.txt"
    done = zskl("compare", str(runs), "--format", format_, "--sort", "h")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("gaussian") < done.stdout.index("eszsl")
    assert zskl("compare", str(runs), "--format", format_, "--out", str(out)).returncode == 0
    assert "53.0" in out.read_text()


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_no_figure_is_cut_short_in_a_narrow_terminal(runs, monkeypatch, width):
    monkeypatch.setattr("command.COLUMNS", int(width))
    text = zskl("compare", str(runs)).stdout
    assert "…" not in text
    for word in ("zero-shot", "eszsl_x%", "seconds", "53.0", "±3.6", "12.0"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--sort", "harmonics"), "no column 'harmonics' to sort by"),
        (("--sort", "unsen"), "did you mean 'unseen'?"),
        (("--out", "/nowhere/x.csv"), "/nowhere"),
    ],
)
def test_wrong_arguments_are_refused(runs, arguments, words):
    done = zskl("compare", str(runs), *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_what_holds_no_records_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "none.jsonl").write_text("")
    (tmp_path / "other.jsonl").write_text('{"x": 1}\n')
    for path, words in (
        ("empty", "no records at"),
        ("gone", "no records at"),
        ("none.jsonl", "no unit has finished"),
        ("other.jsonl", "line 1 is not a record of a run: `dataset` is missing"),
    ):
        done = zskl("compare", str(tmp_path / path))
        assert done.returncode == 2
        assert words in done.stderr


# Choice notes
# Notes on choices: numbers at an edge, and figures that folds or seeds do not agree on.

CHOICE = {
    "setting": {"epochs": 80, "lam": 0.1},
    "score": 0.264,
    "fold_scores": [0.275, 0.272, 0.245],
    "figures": {"zsl": [0.275, 0.272, 0.245], "seen": [0.434, 0.402, 0.08], "gzsl": [0.224, 0.221, 0.221]},
    "edges": [
        {"name": "epochs", "value": 80, "side": "highest", "bound": 80},
        {"name": "lam", "value": 0.1, "side": "lowest"},
    ],
}


def record_choice_notes(seed=0, seen=0.33, method="gaussian-ort", **choice):
    line = {"dataset": "AWA1", "method": method, "seed": seed, "zsl": {"accuracy": 0.32}}
    chosen = {"zsl": {**CHOICE, **choice}}
    return Record.from_json({**line, "gzsl": {"seen": seen}, "tune": {"scoring": "zsl", "choices": chosen}})


def test_a_choice_keeps_its_edges_and_figures_in_a_record():
    found = records.from_json(Choice, CHOICE)
    assert found.edges == (Edge("epochs", 80.0, "highest", 80.0), Edge("lam", 0.1, "lowest"))
    again = records.to_json(found)
    assert records.from_json(Choice, again) == found
    assert records.to_json(Choice(edges=()))["edges"] == []  # inside, not unknown
    assert records.from_json(Choice, {"score": 0.5}).edges is None  # a line of an earlier zskl


def test_sentences_name_method_value_and_reason():
    choice = record_choice_notes().tune.choices.zsl
    assert compare.describe_edges(choice) == "epochs 80 at its bound, lam 0.1 not extended"
    assert compare.fold_spread_note([record_choice_notes()]) == (
        "differ widely between validation folds, so expect luck: gaussian-ort seen 8.0 to 43.4 %"
    )
    steady = record_choice_notes(edges=[], figures={"seen": [0.4, 0.38, 0.41]})
    assert compare.describe_edges(steady.tune.choices.zsl) == ""
    assert compare.fold_spread_note([steady]) is None
    assert compare.fold_spreads(steady.tune.choices.zsl) == "seen 1.5"


def test_seeds_that_chose_the_same_setting_and_differ_are_told():
    (note,) = compare_compare([record_choice_notes(0, 0.33), record_choice_notes(1, 0.164)]).notes
    assert note.startswith("AWA1 gaussian-ort: 2 seeds with the same settings differ widely, seen 16.4 to 33.0 %")
    assert compare_compare([record_choice_notes(0, 0.33), record_choice_notes(1, 0.31)]).notes == ()
    assert (
        compare_compare([record_choice_notes(0, 0.33), record_choice_notes(1, 0.164, setting={"epochs": 10})]).notes
        == ()
    )
    apart = compare_compare([record_choice_notes(0, 0.33), record_choice_notes(1, 0.164, method="gaussian")]).notes
    assert not any("differ widely" in note for note in apart)
