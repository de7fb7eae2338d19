"""Tables hold what the records say."""

from __future__ import annotations

import statistics

import numpy as np

from evaluated import VALUES, near, runs, table
from zskl.paper import methods as paper_methods
from zskl.paper import published


def test_tables_hold_what_the_records_say(whole):
    out = whole[0]
    by_method = {}
    for record in runs(out):
        by_method.setdefault(record["method"], []).append(record)

    def same(row, column, values):
        assert near(row[f"{column} mean"], statistics.mean(values))
        deviation = row[f"{column} std"]
        assert near(deviation, statistics.stdev(values)) if len(values) > 1 else deviation == ""

    names = [name for name in paper_methods.ALL if name in by_method]
    for row, method in zip(table(out, "zsl-cub"), names, strict=True):
        assert row["method"] == method
        if method != "cmt-star":
            same(row, "zero-shot", [100 * record["zsl"]["accuracy"] for record in by_method[method]])
        same(row, "calibrated H", [100 * record["gzsl_calibrated"]["harmonic"] for record in by_method[method]])
        theirs = published.zero_shot(method, "CUB")
        assert row["published (res101) zero-shot mean"] == ("" if theirs is None else f"{theirs:.4f}")
    for row in table(out, "gzsl-cub"):
        mine = by_method[row["method"]]
        for column, (part, name) in {
            "unseen": ("gzsl", "unseen"),
            "seen": ("gzsl", "seen"),
            "H": ("gzsl", "harmonic"),
            "area": ("gzsl", "ausuc"),
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
    for method in paper_methods.PARTS["sensitivity"]:
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
        if name != "cmt-star" and (theirs := published.zero_shot(name, "CUB")) and float(row["zero-shot mean"]) < theirs
    ]
    assert len(low) == len(below) > 0
    assert f"below the published figure: {', '.join(below)}." in (whole[0] / "results.md").read_text("utf-8")
