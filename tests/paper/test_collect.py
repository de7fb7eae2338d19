"""Records of several folders, and which of them count."""

from __future__ import annotations

import shutil
from dataclasses import replace

from evaluated import paper, runs, table
from zskl.experiments import jsonl_log
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Tuning
from zskl.paper import collect, published
from zskl.paper import methods as paper_methods
from zskl.paper.results import problem_of


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
    assert f"{len(runs(whole[0])) + 8} record(s) merged" in done.stderr
    for name in ("zsl", "gzsl-cub", "incoherence", "sensitivity-gaussian-ort-cub"):
        assert table(tmp_path / "out", name)[0].keys() <= table(whole[0], name)[0].keys()
    assert [row["CUB (res101) mean"] for row in table(tmp_path / "out", "zsl")] == [
        row["CUB (res101) mean"] for row in table(whole[0], "zsl")
    ]
    before = (tmp_path / "out" / "records.jsonl").read_bytes()
    assert b'"per_class": {"' not in before
    assert b'"gram"' in before
    done = paper("zsl", tmp_path / "out", "--offline", "--dataset", "CUB", *both)
    assert "0 record(s) merged" in done.stderr
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == before
    done = paper("all", tmp_path / "out", "--merge", tmp_path / "nothing")
    assert done.returncode == 2
    assert "no records at" in done.stderr


def test_runs_of_another_kind_are_left_out(whole):
    found = [Record.from_json(line) for line in runs(whole[0])]
    problem = problem_of(found[0])
    untuned = [replace(record, tune=Tuning()) for record in found]
    fixed = [replace(record, settings={"sigma": 1.0}) for record in found]
    assert collect.select([problem], paper_methods.ALL, 2, [*untuned, *fixed], []).runs == {}
    other = replace(found[0], tune=replace(found[0].tune, grid={"sigma": (9.0,)}))
    mixed = collect.select([problem], paper_methods.ALL, 2, [other, *found[1:]], []).runs[problem, found[0].method]
    assert [record.seed for record in mixed] == [1]
    assert len(collect.select([problem], paper_methods.ALL, 1, found, []).runs[problem, "sae"]) == 1
