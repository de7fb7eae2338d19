"""`zskl paper`, end to end on a tiny benchmark."""

from __future__ import annotations

import json
import shutil
from xml.etree import ElementTree

import pytest

from evaluated import PARTS, PNG, near, paper, table
from zskl.experiments import unit as experiment
from zskl.paper.methods import ALL


def test_all_writes_every_format_of_every_part(whole):
    out, done = whole
    names = {file.stem for file in (out / "tables").glob("*.csv")} - {"claims"}
    for name in names:
        assert (out / "tables" / f"{name}.md").read_text("utf-8").startswith("| ")
        assert (out / "tables" / f"{name}.tex").read_text("utf-8").startswith("\\begin{tabular}")
    assert {part for part in PARTS if any(name.startswith(part) for name in names)} == set(PARTS)
    assert "44 of" not in done.stdout
    units = sum(len(experiment.useful_seeds(name, 2)) for name in ALL)
    assert f"{units + 8} unit(s) run" in done.stdout  # all methods, 3 sensitivities and 1 course, from 2 seeds each
    assert "sae: run once" in done.stderr + done.stdout
    assert "claims of the paper" in done.stdout
    text = (out / "results.md").read_text("utf-8")
    for figure in (out / "figures").glob("*.svg"):
        assert f"(figures/{figure.name})" in text
        ElementTree.parse(figure)
        assert figure.with_suffix(".png").read_bytes() == PNG
    assert len(list((out / "figures").glob("*.svg"))) == 9
    stages = [entry["stage"] for entry in json.loads((out / "times.json").read_text("utf-8"))]
    assert stages == ["kernel methods", "published methods", "sensitivity", "convergence"]


@pytest.mark.parametrize("part", PARTS)
def test_each_part_resumes_and_writes_its_own_tables(part, whole, root, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(whole[0], out)
    shutil.rmtree(out / "tables")
    before = (out / "records.jsonl").read_bytes()
    done = paper(part, out, "--root", root, "--dataset", "CUB")
    assert (done.returncode, "0 unit(s) run" in done.stdout) == (0, True), done.stderr
    stems = {file.stem.partition("-")[0] for file in (out / "tables").glob("*.csv")}
    assert stems == {part, "claims"} | ({"choices"} if part in ("zsl", "gzsl") else set())
    assert (out / "records.jsonl").read_bytes() == before


def test_a_part_runs_no_more_than_it_needs(root, tmp_path):
    done = paper("gram", tmp_path / "out", "--root", root, "--dataset", "CUB", seeds="1")
    assert "4 unit(s) run" in done.stdout
    done = paper("convergence", tmp_path / "out", "--root", root, "--dataset", "CUB", seeds="1")
    assert "1 unit(s) run" in done.stdout  # the setting was chosen before
    done = paper("sensitivity", tmp_path / "out", "--root", root, "--dataset", "CUB", "--method", "dap", seeds="1")
    assert done.returncode == 2
    assert "sensitivity is about none of the methods dap: expected some of gaussian-ort" in done.stderr


def test_records_suffice_where_the_data_are_gone(whole, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(whole[0], out)
    kept = {file: file.read_bytes() for folder in ("tables", "figures", ".") for file in (out / folder).glob("*.*")}
    for file in kept:
        if file.suffix not in (".jsonl", ".json"):
            file.unlink()
    done = paper("all", out, "--dataset", "CUB", "--dataset", "SUN", "--offline")
    assert (done.returncode, "0 unit(s) run" in done.stdout) == (0, True), done.stderr
    assert {file: file.read_bytes() for file in kept} == kept
    (out / "tables" / "zsl.csv").unlink()
    done = paper("zsl", out, "--dataset", "CUB", "--dataset", "SUN", "--root", tmp_path / "nowhere")
    assert (done.returncode, "0 unit(s) run" in done.stdout) == (0, True), done.stderr
    assert (out / "tables" / "zsl.csv").read_bytes() == kept[out / "tables" / "zsl.csv"]
    assert "CUB cannot be read" in done.stderr
    assert "its tables are made from what is recorded" in done.stderr
    done = paper("all", tmp_path / "empty", "--offline")
    assert done.returncode == 2
    assert "nothing to show" in done.stderr


def test_a_dataset_without_features_is_skipped_and_its_columns_say_so(whole):
    out, done = whole
    assert "SUN is skipped" in done.stderr
    assert "has no feature file" in done.stderr
    (row,) = [row for row in table(out, "zsl") if row["method"] == "ale"]
    assert row["SUN not measured; published (res101) mean"] == "58.1000"
    assert row["CUB published (res101) mean"] == "54.9000"
    assert not any(name.startswith("SUN (") for name in row)
    text = (out / "results.md").read_text("utf-8")
    assert "SUN: not measured" in text
    assert str(out) not in text
    assert "res101.mat" not in text


def test_other_features_are_called_not_comparable(root, tmp_path):
    done = paper("zsl", tmp_path / "out", "--root", root, "--dataset", "AWA1", "--method", "sae", seeds="1")
    assert done.returncode == 0, done.stderr
    (row,) = table(tmp_path / "out", "zsl")
    ours, theirs = row["AWA1 (other) mean"], row["AWA1 published (res101) mean"]
    assert near(row["AWA1 difference, not comparable mean"], float(ours) - float(theirs))
    assert "not those of the published figures" in (tmp_path / "out" / "results.md").read_text("utf-8")
    done = paper("zsl", tmp_path / "none", "--root", root, "--dataset", "AWA1", "--features", "AWA1=res101")
    assert "AWA1 is skipped" in done.stderr
    assert done.returncode == 2


def test_a_failing_unit_loses_nothing_else(root, tmp_path, monkeypatch):
    run = experiment.run

    def faulty(unit, *rest):
        if (unit.method, unit.seed) == ("sje", 1):
            raise ArithmeticError("planted")
        return run(unit, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(experiment, "run", faulty)
        arguments = ("--root", root, "--dataset", "CUB", "--method", "sje", "--method", "eszsl")
        done = paper("zsl", tmp_path / "out", *arguments)
    assert done.returncode == 2
    assert "1 unit(s) failed: CUB sje seed 1: planted" in done.stderr
    assert [row["method"] for row in table(tmp_path / "out", "zsl")] == ["sje", "eszsl"]
    done = paper("zsl", tmp_path / "out", *arguments)
    assert "1 unit(s) run" in done.stdout
    assert done.returncode == 0
