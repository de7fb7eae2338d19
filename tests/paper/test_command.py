"""`zskl paper`, end to end on a tiny benchmark."""

from __future__ import annotations

import json
import shutil
from xml.etree import ElementTree

import pytest

from benchmark_files import tiny, write_package
from paper_runs import PARTS, PNG, paper, table, units
from zskl.experiments import unit


def test_all_writes_every_format_of_every_part(whole):
    out, done = whole
    names = {file.stem for file in (out / "tables").glob("*.csv")} - {"claims", "statements"}
    for name in names:
        assert (out / "tables" / f"{name}.md").read_text("utf-8").startswith("| ")
        assert (out / "tables" / f"{name}.tex").read_text("utf-8").startswith("\\begin{tabular}")
    assert {part for part in PARTS if any(name.startswith(part) for name in names)} == set(PARTS)
    assert f"{units()} units run" in done.stderr
    assert "sae: run once" in done.stderr or ", sae, " in done.stderr
    assert "claims of the paper" in done.stdout
    text = (out / "results.md").read_text("utf-8")
    for figure in (out / "figures").glob("*.svg"):
        assert f"(figures/{figure.name})" in text
        ElementTree.parse(figure)
        assert figure.with_suffix(".png").read_bytes() == PNG
    assert len(list((out / "figures").glob("*.svg"))) == 10
    page = (out / "paper-tables.html").read_text("utf-8")
    assert page.count("<path") > 10
    assert "src=" not in page
    assert page.count("href=") == page.count('href="#')  # within a figure
    stages = [entry["stage"] for entry in json.loads((out / "times.json").read_text("utf-8"))]
    assert stages == ["methods", "sensitivity", "convergence"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("part", ["zsl", "gram", "convergence"])
def test_each_part_resumes_and_writes_its_own_tables(part, whole, root, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(whole[0], out)
    shutil.rmtree(out / "tables")
    before = (out / "records.jsonl").read_bytes()
    done = paper(part, out, "--root", root, "--dataset", "CUB")
    assert (done.returncode, "0 units run" in done.stderr) == (0, True), done.stderr
    stems = {file.stem.partition("-")[0] for file in (out / "tables").glob("*.csv")}
    further = {"differences", "choices", "edges", "seconds", "table"} if part == "zsl" else set()
    assert stems == {part, "claims", "statements"} | further
    assert (out / "records.jsonl").read_bytes() == before


@pytest.mark.usefixtures("undrawn")
def test_a_part_runs_only_what_it_needs(root, tmp_path):
    done = paper("gram", tmp_path / "out", "--root", root, "--dataset", "CUB", seeds="1")
    assert "8 units run" in done.stderr
    done = paper("convergence", tmp_path / "out", "--root", root, "--dataset", "CUB", seeds="1")
    assert "1 unit run" in done.stderr  # the setting was chosen before
    done = paper("sensitivity", tmp_path / "out", "--root", root, "--dataset", "CUB", "--method", "dap", seeds="1")
    assert done.returncode == 2
    assert "sensitivity is about none of the methods dap: expected some of gaussian-ort" in done.stderr


def test_pages_are_made_from_records_without_data(whole, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(whole[0], out)
    kept = {file: file.read_bytes() for folder in ("tables", "figures", ".") for file in (out / folder).glob("*.*")}
    for file in kept:
        if file.suffix not in (".jsonl", ".json"):
            file.unlink()
    done = paper("all", out, "--dataset", "CUB", "--dataset", "SUN", "--offline")
    assert (done.returncode, "0 units run" in done.stderr) == (0, True), done.stderr
    assert {file: file.read_bytes() for file in kept} == kept
    (out / "tables" / "zsl-cub.csv").unlink()
    done = paper("zsl", out, "--dataset", "CUB", "--dataset", "SUN", "--root", tmp_path / "nowhere")
    assert (done.returncode, "0 units run" in done.stderr) == (0, True), done.stderr
    assert (out / "tables" / "zsl-cub.csv").read_bytes() == kept[out / "tables" / "zsl-cub.csv"]
    assert "CUB cannot be read and is shown as far as it is recorded" in done.stderr
    done = paper("all", tmp_path / "empty", "--offline")
    assert done.returncode == 2
    assert "nothing to show" in done.stderr


def test_a_dataset_without_features_is_skipped_and_the_page_says_so(whole):
    out, done = whole
    assert "SUN cannot be read and is skipped" in done.stderr
    assert "has no feature file" in done.stderr
    text = (out / "results.md").read_text("utf-8")
    assert "SUN: not measured" in text
    assert str(out) not in text
    assert "res101.mat" not in text


@pytest.mark.usefixtures("undrawn")
def test_a_dataset_is_measured_with_the_features_of_every_root(root, tmp_path):
    """And published figures stand beside ours only where the network is like theirs."""
    write_package(tmp_path / "CUB", *tiny(), file="resnet50")
    write_package(tmp_path / "AWA1", *tiny(), file="resnet50")
    roots = ("--root", root, "--root", tmp_path, "--dataset", "CUB", "--dataset", "AWA1", "--features", "AWA1=other")
    done = paper("zsl", tmp_path / "out", *roots, "--method", "sae", "--method", "eszsl", seeds="1")
    assert done.returncode == 0, done.stderr
    assert "6 units run" in done.stderr
    names = {file.stem for file in (tmp_path / "out" / "tables").glob("zsl-*.csv")}
    assert names == {"zsl-cub", "zsl-cub-resnet50", "zsl-awa1-other"}
    row = table(tmp_path / "out", "zsl-cub-resnet50")[1]
    assert (row["method"], row["published (res101) zero-shot mean"]) == ("sae", "33.3000")
    assert not any("published" in name for name in table(tmp_path / "out", "zsl-awa1-other")[0])
    text = (tmp_path / "out" / "results.md").read_text("utf-8")
    assert text.count("for orientation only") == 1


def test_features_that_no_root_has_are_named(root, tmp_path):
    done = paper("zsl", tmp_path / "none", "--root", root, "--dataset", "AWA1", "--features", "AWA1=res101")
    assert "AWA1 cannot be read and is skipped" in done.stderr
    assert done.returncode == 2


@pytest.mark.usefixtures("undrawn")
def test_a_failing_unit_does_not_lose_others(root, tmp_path, monkeypatch):
    run = unit.Unit.run

    def faulty(unit, *rest):
        if (unit.method, unit.seed) == ("sje", 1):
            raise ArithmeticError("planted")
        return run(unit, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(unit.Unit, "run", faulty)
        arguments = ("--root", root, "--dataset", "CUB", "--method", "sje", "--method", "eszsl")
        done = paper("zsl", tmp_path / "out", *arguments)
    assert done.returncode == 2
    assert "1 unit failed: CUB sje seed 1: planted" in done.stderr
    assert [row["method"] for row in table(tmp_path / "out", "zsl-cub")] == ["sje", "eszsl"]
    assert table(tmp_path / "out", "zsl-cub")[0]["seeds"] == "1"
    done = paper("zsl", tmp_path / "out", *arguments)
    assert "1 unit run" in done.stderr
    assert done.returncode == 0
