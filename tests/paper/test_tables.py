"""Tables hold what the records say."""

from __future__ import annotations

import json
import statistics

import numpy as np
import pytest

from paper_runs import HERE, VALUES, evaluation, near, runs, table
from zskl import adapters, baselines, methods
from zskl.paper import pages, results, tables
from zskl.paper.results import Results


def test_tables_hold_what_the_records_say(whole):
    out = whole[0]
    by_method = {}
    for record in runs(out):
        by_method.setdefault(record["method"], []).append(record)

    def same(row, column, values):
        assert near(row[f"{column} mean"], statistics.mean(values))
        deviation = row[f"{column} std"]
        assert near(deviation, statistics.stdev(values)) if len(values) > 1 else deviation == ""

    names = [name for name in results.ALL if name in by_method]
    for row, method in zip(table(out, "zsl-cub"), names, strict=True):
        assert row["method"] == method
        if method != "cmt-star":
            same(row, "zero-shot", [100 * record["zsl"]["accuracy"] for record in by_method[method]])
        same(row, "calibrated H", [100 * record["gzsl_calibrated"]["harmonic"] for record in by_method[method]])
        theirs = tables.published_figure("zsl", method, "CUB")
        assert row["published (res101) zero-shot mean"] == ("" if theirs is None else f"{theirs:.4f}")
    for row in table(out, "gzsl-cub"):
        mine = by_method[row["method"]]
        for column, (part, name) in {
            "unseen": ("gzsl_own", "unseen"),
            "seen": ("gzsl_own", "seen"),
            "H": ("gzsl_own", "harmonic"),
            "H, zero-shot setting": ("gzsl", "harmonic"),
            "area": ("gzsl_own", "ausuc"),
        }.items():
            same(row, column, [100 * record[part][name] for record in mine])
    for row in table(out, "incoherence"):
        same(row, "CUB (res101)", [record["incoherence"] for record in by_method[row["method"]]])
    for kernel in ("gaussian", "cauchy"):
        rows_of = table(out, f"gram-{kernel}-cub")
        for name in (kernel, f"{kernel}-ort"):
            cells = [[float(row[f"{k} mean"]) for k in (1, 2, 3)] for row in rows_of if row["method"] == name]
            np.testing.assert_allclose(cells, by_method[name][0]["gram"], atol=6e-5, rtol=0)


def test_curves_hold_what_the_records_say(whole):
    found = runs(whole[0], "curves")
    for method in results.PARTS["sensitivity"]:
        mine = [record for record in found if (record["part"], record["method"]) == ("sensitivity", method)]
        lines = iter(table(whole[0], f"sensitivity-{method}-cub"))
        for setting in VALUES[method]:
            for place, value in enumerate(mine[0]["curves"][setting]["values"]):
                row = next(lines)
                assert (row["setting"], float(row["value"])) == (setting, value)
                tested = [100 * record["curves"][setting]["test"][place] for record in mine]
                assert near(row["test mean"], statistics.mean(tested))
                assert near(row["test std"], statistics.stdev(tested))
                folds = np.array([record["curves"][setting]["validation"][place] for record in mine])
                assert near(row["validation mean"], 100 * folds.mean())
                assert near(row["validation std"], 100 * folds.mean(axis=0).std(ddof=1))
    mine = [record for record in found if record["part"] == "convergence"]
    lines = table(whole[0], "convergence-gaussian-ort-cub")
    steps = mine[0]["phases"]["validation"]["step"]
    assert [int(row["iteration"]) for row in lines[: len(steps)]] == steps
    last = [100 * record["phases"]["test"]["accuracy"]["held out"][-1] for record in mine]
    assert near(lines[-1]["accuracy, held out mean"], statistics.mean(last))
    first = [record["phases"]["validation"]["objective"]["training"][0] for record in mine]
    assert near(lines[0]["objective, training mean"], statistics.mean(first))


def test_every_choice_at_an_edge_has_a_note(whole):
    found = {
        (record["method"], f"{edge['name']} {edge['value']:g}")
        for record in runs(whole[0])
        for choice in record["tune"]["choices"].values()
        for edge in choice.get("edges", ())
    }
    assert {(row["method"], row["setting"]) for row in table(whole[0], "edges")} == found != set()


def test_methods_below_their_published_figure_are_named(whole):
    text = (whole[0] / "tables" / "zsl-cub.md").read_text("utf-8")
    low = [line for line in text.splitlines() if "↓" in line]
    mine = {row["method"]: row for row in table(whole[0], "zsl-cub")}
    below = [
        name
        for name, row in mine.items()
        if name != "cmt-star"
        and (theirs := tables.published_figure("zsl", name, "CUB"))
        and float(row["zero-shot mean"]) < theirs
    ]
    assert len(low) == len(below) > 0
    assert f"below the published figure: {', '.join(below)}." in (whole[0] / "results.md").read_text("utf-8")


# Times and the tables of the README, from records made up for them.

RUNS = {
    (HERE, "sje"): [evaluation(0, 0.55, 0.2, 0.45)],
    (HERE, "eszsl"): [evaluation(0, 0.5, 0.2, 0.48)],
    (HERE, "dap"): [evaluation(0, 0.4, 0.1, 0.2)],
    (HERE, "class-means"): [evaluation(0, 0.6, 0.4, 0.5)],
}
RESULTS = Results((HERE,), results.ALL, RUNS)


def test_the_readme_gets_the_leading_methods_of_each_family(tmp_path):
    file = tmp_path / "README.md"
    file.write_text(f"before\n{pages.BEGIN}\nold\n{pages.END}\nafter\n", "utf-8")
    pages.write_readme(RESULTS, file)
    text = file.read_text("utf-8")
    assert text.startswith(f"before\n{pages.BEGIN}\n\n**CUB (res101)**\n")
    assert text.endswith(f"\n{pages.END}\nafter\n")
    shown = [name for name in ("sje", "eszsl", "dap", "class-means") if f"| {name} |" in text]
    assert shown == ["sje", "eszsl", "class-means"]  # best by zero-shot accuracy, and by calibrated H
    assert text.count("the paper's baselines") == 1
    pages.write_readme(RESULTS, file)
    assert file.read_text("utf-8") == text
    file.write_text("nothing", "utf-8")
    with pytest.raises(ValueError, match="has no place for results: expected a line <!-- begin"):
        pages.write_readme(RESULTS, file)


def test_overlapping_stages_count_once():
    def stage(finished, seconds, units=1):
        return {"stage": "methods", "device": "cpu", "units": units, "seconds": seconds, "finished": finished}

    times = [
        stage("2026-11-15T10:10:00Z", 600.0, 3),
        stage("2026-11-15T10:15:00Z", 360.0),  # begins a minute before the first ends
        stage("2026-11-15T10:12:00Z", 60.0),  # within it
        stage("2026-11-16T10:01:00Z", 60.0),  # another day
    ]
    assert pages.elapsed_seconds(times) == 600 + 300 + 60
    text = "\n".join(pages._times_section(times))
    assert "took 16 minutes" in text
    assert "| methods | cpu | 6 | 4 | 1080 |" in text


def test_an_extrapolation_says_what_it_leaves_out(tmp_path):
    file = tmp_path / pages.EXTRAPOLATED
    found = {"processor": "a chip", "dataset": "AWA1", "rows": [{"family": "ours", "hours on two cores": 1.5}]}
    for missing, words in (([], "all of it"), (["later baselines on cuda"], "all but later baselines on cuda")):
        file.write_text(json.dumps(found | {"missing": missing}), "utf-8")
        said, table = pages._extrapolation_section(tmp_path)
        assert f"(a chip) {words} would take 1.5 hours" in said
        assert table.endswith("| ours | 1.5 |\n")
    file.write_text(json.dumps(found | {"rows": []}), "utf-8")
    assert pages._extrapolation_section(tmp_path) == []


def test_published_tables_are_whole():
    for method in (*results.BASELINES, *results.KERNELS):
        for dataset in results.DATASETS:
            assert tables.published_generalised(method, dataset) is not None
            assert (tables.published_figure("zsl", method, dataset) is None) == (method == "cmt-star")
    for method in results.PARTS["incoherence"]:
        assert all(tables.published_figure("incoherence", method, dataset) > 0 for dataset in results.DATASETS)
    assert tables.published_figure("zsl", "gaussian-ort", "APY") == 45.3
    assert tables.published_figure("zsl", "gaussian-softmax", "APY") is None
    assert "ResNet-101" in tables.read_published()["source"]
    assert set(results.ALL) <= set(methods.METHODS)
    others = {*baselines.BASELINES, *adapters.ADAPTERS}  # adapters need examples or unlabelled rows
    assert {name for name in methods.METHODS if name not in others} <= set(results.ALL)
    assert tables.published_figure("zsl", "eszsl-signs", "CUB") == tables.published_figure("zsl", "eszsl", "CUB")
    assert tables.published_figure("zsl", "exem", "CUB") is None


def test_exactly_two_printed_harmonic_means_are_misprints():
    assert list(tables.find_misprints()) == [("dap", "APY"), ("cmt", "CUB")]
    found = tables.published_generalised("cmt", "CUB")
    assert (found.printed, round(found.harmonic, 1)) == (8.7, 12.9)
    assert tables.printed_harmonic("cmt", "CUB").mark == "†"
    assert tables.printed_harmonic("cmt-star", "CUB").mark == ""
    assert tables.PublishedAccuracies(20.0, 60.0, 30.0).misprint is False  # and a planted one is found
    assert tables.PublishedAccuracies(20.0, 60.0, 31.0).misprint is True
