"""Records of several folders, and which of them count."""

from __future__ import annotations

import shutil

from evaluated import paper, runs, table
from zskl.experiments import jsonl_log
from zskl.paper import collect, published
from zskl.paper import methods as paper_methods


def test_folders_merge_and_the_device_does_not_matter(whole, root, tmp_path):
    halves = {"one": published.BASELINES, "two": (*published.KERNELS, *paper_methods.OURS)}
    for name, mine in halves.items():
        found = [record for record in runs(whole[0]) if record["method"] in mine]
        for record in found:
            record["config"]["device"] = "cuda"
        jsonl_log.write(tmp_path / name / "records.jsonl", found)
    shutil.copytree(whole[0] / "curves", tmp_path / "two" / "curves")
    both = ("--merge", tmp_path / "one", "--merge", tmp_path / "two", "--compact")
    done = paper("all", tmp_path / "out", "--root", root, "--dataset", "CUB", *both)
    assert "0 unit(s) run" in done.stdout
    assert "52 record(s) merged" in done.stderr
    for name in ("zsl", "gzsl-cub", "incoherence", "sensitivity-gaussian-ort-cub"):
        assert table(tmp_path / "out", name)[0].keys() <= table(whole[0], name)[0].keys()
    assert [row["CUB (res101) mean"] for row in table(tmp_path / "out", "zsl")] == [
        row["CUB (res101) mean"] for row in table(whole[0], "zsl")
    ]
    before = (tmp_path / "out" / "records.jsonl").read_bytes()
    assert b"per_class" not in before
    assert b'"gram"' in before
    done = paper("all", tmp_path / "out", "--offline", "--dataset", "CUB", *both)
    assert "0 record(s) merged" in done.stderr
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == before
    done = paper("all", tmp_path / "out", "--merge", tmp_path / "nothing")
    assert done.returncode == 2
    assert "no records at" in done.stderr


def test_runs_of_another_kind_are_left_out(whole):
    found = runs(whole[0])
    problem = collect.problem_of(found[0])
    untuned = [{key: value for key, value in record.items() if key != "tune"} for record in found]
    fixed = [{**record, "settings": {"sigma": 1.0}} for record in found]
    assert collect.select([problem], paper_methods.ALL, 2, [*untuned, *fixed], []).runs == {}
    other = {**found[0], "tune": {**found[0]["tune"], "grid": {"sigma": [9.0]}}}
    mixed = collect.select([problem], paper_methods.ALL, 2, [other, *found[1:]], []).runs[problem, found[0]["method"]]
    assert [record["seed"] for record in mixed] == [1]
    assert len(collect.select([problem], paper_methods.ALL, 1, found, []).runs[problem, "sae"]) == 1
