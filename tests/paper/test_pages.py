"""What changed, times and the tables of the README, from records made up for them."""

from __future__ import annotations

import json

import pytest

from evaluated import HERE, evaluation
from zskl.paper import changes, readme, results_page, wall_times
from zskl.paper import methods as paper_methods
from zskl.paper.results import Results

RUNS = {
    (HERE, "sje"): [evaluation(0, 0.55, 0.2, 0.45)],
    (HERE, "eszsl"): [evaluation(0, 0.5, 0.2, 0.48)],
    (HERE, "dap"): [evaluation(0, 0.4, 0.1, 0.2)],
    (HERE, "class-means"): [evaluation(0, 0.6, 0.4, 0.5)],
}
RESULTS = Results((HERE,), paper_methods.ALL, RUNS)


def test_what_changed_stands_beside_the_reason(tmp_path):
    assert changes.compared(RESULTS, tmp_path) == []
    lines = [
        "dataset,features,method,zero-shot,H,calibrated H",
        "CUB,res101,eszsl,40.1,,",
        "CUB,res101,sje,1.0,2.0,3.0",
    ]
    (tmp_path / "before.csv").write_text("\n".join([*lines, "CUB,res101,sae,9.0,,"]), "utf-8")
    (tmp_path / "why.csv").write_text('method,why\neszsl,"targets of 0 and 1, or signs"\n', "utf-8")
    found = {one.method: (one.figures, one.why) for one in changes.compared(RESULTS, tmp_path)}
    assert found["eszsl"][0] == {"zero-shot": "40.1 → 50.0", "H": "– → 48.0", "calibrated H": "– → 48.0"}
    assert found["eszsl"][1] == "targets of 0 and 1, or signs"
    assert found["sje"][0]["H"] == "2.0 → 45.0"
    assert found["sae"][0] == {"zero-shot": "9.0 → –"}
    assert found["class-means"][1] == "new"
    text = results_page.page(RESULTS, [], [], changes.compared(RESULTS, tmp_path))
    assert "| eszsl | 40.1 → 50.0 | – → 48.0 | – → 48.0 | targets of 0 and 1, or signs |" in text


def test_the_readme_gets_the_leading_methods_of_each_family(tmp_path):
    file = tmp_path / "README.md"
    file.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n", "utf-8")
    readme.write(RESULTS, file)
    text = file.read_text("utf-8")
    assert text.startswith(f"before\n{readme.BEGIN}\n\n**CUB (res101)**\n")
    assert text.endswith(f"\n{readme.END}\nafter\n")
    shown = [name for name in ("sje", "eszsl", "dap", "class-means") if f"| {name} |" in text]
    assert shown == ["sje", "eszsl", "class-means"]  # best by zero-shot accuracy, and by calibrated H
    assert text.count("the paper's baselines") == 1
    readme.write(RESULTS, file)
    assert file.read_text("utf-8") == text
    file.write_text("nothing", "utf-8")
    with pytest.raises(ValueError, match="has no place for results: expected a line <!-- begin"):
        readme.write(RESULTS, file)


def test_the_clock_counts_stages_that_run_beside_each_other_once():
    def stage(finished, seconds, units=1):
        return {"stage": "methods", "device": "cpu", "units": units, "seconds": seconds, "finished": finished}

    times = [
        stage("2026-11-15T10:10:00Z", 600.0, 3),
        stage("2026-11-15T10:15:00Z", 360.0),  # begins a minute before the first ends
        stage("2026-11-15T10:12:00Z", 60.0),  # within it
        stage("2026-11-16T10:01:00Z", 60.0),  # another day
    ]
    assert wall_times.clock(times) == 600 + 300 + 60
    text = "\n".join(wall_times.section(times))
    assert "took 16 minutes" in text
    assert "| methods | cpu | 6 | 4 | 1080 |" in text


def test_an_extrapolation_says_what_it_leaves_out(tmp_path):
    file = tmp_path / wall_times.EXTRAPOLATED
    found = {"processor": "a chip", "dataset": "AWA1", "rows": [{"family": "ours", "hours on two cores": 1.5}]}
    for missing, words in (([], "all of it"), (["later baselines on cuda"], "all but later baselines on cuda")):
        file.write_text(json.dumps(found | {"missing": missing}), "utf-8")
        said, table = wall_times.extrapolated(tmp_path)
        assert f"(a chip) {words} would take 1.5 hours" in said
        assert table.endswith("| ours | 1.5 |\n")
    file.write_text(json.dumps(found | {"rows": []}), "utf-8")
    assert wall_times.extrapolated(tmp_path) == []
