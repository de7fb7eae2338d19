"""`zskl.compare` and `zskl.report.write`: paths, records, or both."""

from __future__ import annotations

from pathlib import Path

import pytest

import zskl
from zskl.experiments import compare, run_folder
from zskl.experiments.record import Record

OLD = Path(__file__).parent / "records_of_0_1.jsonl"


@pytest.fixture
def records():
    return run_folder.read(OLD, Record.from_json)


def test_both_are_public_names():
    assert {"compare", "report"} <= set(zskl.__all__)
    assert zskl.compare is compare.compare
    assert set(zskl.report.__all__) == {"page", "write"}


def test_paths_and_records_are_compared_alike(records):
    table = zskl.compare(records)
    assert zskl.compare(OLD) == zskl.compare([str(OLD)]) == table
    assert len(zskl.compare(records[0]).rows) == 1
    assert zskl.compare([OLD, OLD]) == table  # of a doubled key the last counts
    assert zskl.compare([OLD, records[0]]).rows[0].seeds == 1


def test_a_comparison_is_written_as_text(records):
    table = zskl.compare(records, sort="H")
    assert table.to_text().startswith("| dataset | method |")
    assert table.to_text("csv").startswith("dataset,method")
    assert table.to_text("latex").startswith("\\begin{tabular}")
    with pytest.raises(ValueError, match="did you mean 'latex'"):
        table.to_text("latx")


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="no record: no unit has finished yet"):
        zskl.compare([])


def test_a_report_is_written_from_paths_and_from_records(records, tmp_path):
    assert zskl.report.write(OLD, tmp_path / "a.html", title="Ours") == 2
    assert "<title>Ours</title>" in (tmp_path / "a.html").read_text("utf-8")
    assert f"zskl compare {OLD}" in (tmp_path / "a.html").read_text("utf-8")
    assert zskl.report.write(records[0], tmp_path / "b.html") == 1
    with pytest.raises(FileNotFoundError, match="no records at"):
        zskl.report.write(tmp_path / "none", tmp_path / "c.html")
    assert not (tmp_path / "c.html").exists()
