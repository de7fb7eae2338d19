"""Records of several folders, and which of them count."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paper_runs import paper, runs, table, units
from zskl.experiments import run_folder
from zskl.experiments.record import VERSION, Record, Tuning
from zskl.paper import results
from zskl.paper.results import ConvergenceRecord, SensitivityRecord, problem_of


@pytest.mark.usefixtures("undrawn")
def test_folders_merge_and_the_device_does_not_matter(whole, root, tmp_path):
    halves = {"one": results.ALL_BASELINES, "two": (*results.PRINTED, *results.KERNELS, *results.OURS)}
    for name, mine in halves.items():
        found = [record for record in runs(whole[0]) if record["method"] in mine]
        for record in found:
            record["config"]["device"] = "cuda"
        run_folder.write_lines(tmp_path / name / "records.jsonl", found)
    shutil.copytree(whole[0] / "curves", tmp_path / "two" / "curves")
    both = ("--merge", tmp_path / "one", "--merge", tmp_path / "two", "--compact")
    done = paper("all", tmp_path / "out", "--root", root, "--dataset", "CUB", *both)
    assert "0 units run" in done.stderr
    assert f"{units()} records merged" in done.stderr
    for name in ("zsl-cub", "gzsl-cub", "incoherence", "sensitivity-gaussian-ort-cub"):
        assert table(tmp_path / "out", name) == table(whole[0], name)
    before = (tmp_path / "out" / "records.jsonl").read_bytes()
    assert b'"per_class": {"' not in before
    assert b'"gram"' in before
    done = paper("zsl", tmp_path / "out", "--offline", "--dataset", "CUB", *both)
    assert "0 records merged" in done.stderr
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == before
    done = paper("all", tmp_path / "out", "--merge", tmp_path / "nothing")
    assert done.returncode == 2
    assert "no records at" in done.stderr


def test_runs_of_another_kind_are_left_out(whole):
    found = [Record.from_json(line) for line in runs(whole[0])]
    problem = problem_of(found[0])
    untuned = [replace(record, tune=Tuning()) for record in found]
    fixed = [replace(record, settings={"sigma": 1.0}) for record in found]
    assert results.select_records([problem], results.ALL, 2, [*untuned, *fixed], []).runs == {}
    other = replace(found[0], tune=replace(found[0].tune, grid={"sigma": (9.0,)}))
    mixed = results.select_records([problem], results.ALL, 2, [other, *found[1:]], []).runs[problem, found[0].method]
    assert [record.seed for record in mixed] == [1]
    assert len(results.select_records([problem], results.ALL, 1, found, []).runs[problem, "sae"]) == 1


# Records of sensitivity and convergence: those of zskl 0.1 are read, and what is not one is refused.

OLD = Path(__file__).parents[2] / "benchmarks" / "results" / "paper" / "curves" / "records.jsonl"
LEAST = {"key": "k", "dataset": "CUB", "method": "cauchy", "seed": 0, "setting": {"sigma": 1}, "part": "sensitivity"}


def test_lines_of_0_1_are_read_and_nothing_is_lost():
    kinds = set()
    for line in run_folder.read_log(OLD):
        record = results.curve_record_from_json(line)
        kinds.add(type(record))
        assert json.loads(run_folder.to_line(record.to_json())) == {**line, "version": VERSION}
    assert kinds == {SensitivityRecord, ConvergenceRecord}


def test_the_chosen_value_is_a_number():
    assert results.curve_record_from_json({**LEAST, "curves": {}}).chosen("sigma") == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"part": "gram"}, "`part` is 'gram': expected sensitivity or convergence"),
        ({}, "`curves` is missing"),
        ({"curves": {"sigma": {"values": [1], "validation": [None], "test": []}}}, "1 values, 1 validation and 0 test"),
        ({"version": 9}, "`version` is 9"),
    ],
)
def test_invalid_curve_records_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        results.curve_record_from_json({**LEAST, **change})


# Methods of the evaluation by name, group and family.


def test_methods_are_chosen_by_name_or_group():
    assert set(results.BASELINES) <= set(results.choose_methods(["Baselines"]))
    assert results.choose_methods(["kernels", "sae"])[0] == "sae"
    assert results.choose_methods(["ours"]) == ("gaussian-softmax", "cauchy-softmax", "class-means", "means-softmax")
    assert results.choose_methods(None) == results.ALL
    with pytest.raises(ValueError, match="unknown method 'gausian'"):
        results.choose_methods(["gausian"])
    with pytest.raises(ValueError, match=r"'cosine' is not part of the paper's evaluation: expected .*; zskl"):
        results.choose_methods(["cosine"])


def test_each_method_has_one_family_and_a_place_in_the_order_of_runs():
    assert [name for mine in results.FAMILIES.values() for name in mine] == list(results.ALL)
    assert all(name in results.FAMILIES[results.family_of(name)] for name in results.ALL)
    queue = results.sort_slowest_first(results.ALL)
    assert sorted(queue) == sorted(results.ALL)
    assert queue.index("cmt") < queue.index("ale") < queue.index("eszsl")
