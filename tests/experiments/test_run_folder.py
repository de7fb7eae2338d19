"""Records: one JSON line each, whole files, no silent loss."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import zskl
from command import zskl as zskl_command
from zskl.experiments import compare, run_folder
from zskl.experiments.record import Record
from zskl.experiments.run_folder import collect

# Jsonl log


def test_round_trip_with_numpy_values(tmp_path):
    file = tmp_path / "a" / "b.jsonl"
    run_folder.write_lines(file, [{"x": np.float32(0.5), "y": np.arange(3), "name": "é"}, {"x": 2}])
    assert run_folder.read_log(file) == [{"x": 0.5, "y": [0, 1, 2], "name": "é"}, {"x": 2}]


def test_nan_is_refused_and_the_old_file_stays(tmp_path):
    file = tmp_path / "r.jsonl"
    run_folder.write_lines(file, [{"x": 1}])
    with pytest.raises(ValueError, match="JSON"):
        run_folder.write_lines(file, [{"x": float("nan")}])
    assert run_folder.read_log(file) == [{"x": 1}]


def test_a_torn_line_is_named(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"x": 1}\n{"x": \n')
    with pytest.raises(ValueError, match="line 2"):
        run_folder.read_log(file)


def test_a_record_cannot_hold_just_anything(tmp_path):
    with pytest.raises(TypeError, match="cannot hold a set"):
        run_folder.to_line({"x": {1}})


def test_versions_name_what_figures_depend_on():
    assert {"zskl", "python", "numpy", "scikit-learn"} <= set(run_folder.package_versions())


# Run folders


def test_a_folder_keeps_what_is_appended(tmp_path):
    with run_folder.open_log(tmp_path / "new" / "runs") as folder:
        folder.append({"key": "a", "x": 1})
        folder.append({"key": "b", "x": np.float32(0.5)})
    with run_folder.open_log(tmp_path / "new" / "runs") as folder:
        assert folder.done == {"a": {"key": "a", "x": 1}, "b": {"key": "b", "x": 0.5}}


@pytest.mark.parametrize(
    ("tail", "kept"),
    [(b'{"key": "c", "x', 2), (b'{"key": "c"}', 3), ('{"key": "é'.encode()[:-1], 2), (b"", 2)],
    ids=["torn", "only its end is missing", "torn in a letter", "nothing"],
)
def test_an_unfinished_last_line_is_cut_off(tmp_path, tail, kept):
    file = tmp_path / "records.jsonl"
    file.write_bytes(b'{"key": "a"}\n{"key": "b"}\n' + tail)
    assert len(run_folder.read_log(file)) == kept  # also while a run writes
    with run_folder.open_log(tmp_path) as folder:
        assert len(folder.done) == kept
        folder.append({"key": "z"})
    assert len(run_folder.read_log(file)) == kept + 1


def test_a_torn_line_in_the_middle_is_not_passed_over(tmp_path):
    (tmp_path / "records.jsonl").write_text('{"key": "a"}\n{"key": \n{"key": "b"}\n')
    with pytest.raises(ValueError, match="line 2"), run_folder.open_log(tmp_path):
        pass


@pytest.mark.parametrize("how", ["part of the line", "nothing"])
def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch, how):
    write = os.write

    def full(handle, line):
        if how == "nothing":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[: len(line) // 2])

    with run_folder.open_log(tmp_path) as folder:
        folder.append({"key": "a"})
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match=r"No space left on device.*the same command continues"):
                folder.append({"key": "b"})
        assert set(folder.done) == {"a"}
        folder.append({"key": "c"})  # there is room again
    assert [one["key"] for one in run_folder.read_log(tmp_path / "records.jsonl")] == ["a", "c"]


def test_keys_do_not_depend_on_order_and_do_on_values():
    assert run_folder.unit_key({"a": 1, "b": [1, 2]}) == run_folder.unit_key({"b": (1, 2), "a": np.int64(1)})
    assert run_folder.unit_key({"a": 1}) != run_folder.unit_key({"a": 2})


# Run folder
# Run folders: typed records, those of zskl 0.1 too, and a sentence about every line that is not one.

OLD = Path(__file__).parent / "records_of_0_1.jsonl"
LINE = {"key": "a", "dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {}}


@pytest.fixture
def old(tmp_path):
    """A run folder that zskl 0.1 wrote."""
    shutil.copy(OLD, tmp_path / "records.jsonl")
    return tmp_path


def test_records_of_0_1_are_compared(old):
    table = compare.compare(collect([old]))
    assert [row.labels["method"] for row in table.rows] == ["gaussian-ort", "eszsl"]
    assert [row.labels["chosen by"] for row in table.rows] == ["defaults", "folds, zsl and gzsl"]
    first, second = run_folder.read_log(OLD)
    assert table.rows[0].figures["zero-shot"].mean == 100 * first["zsl"]["accuracy"]
    assert table.rows[1].figures["calibrated H"].mean == 100 * second["gzsl_calibrated"]["harmonic"]


def test_records_of_0_1_are_reported(old):
    done = zskl_command("report", str(old), "-o", str(old / "page.html"))
    assert (done.returncode, done.stdout) == (0, "")
    text = (old / "page.html").read_text("utf-8")
    for name in ("curves", "classes", "confusion", "convergence", "confidence-gzsl", "grid-zsl", "gram"):
        assert f'id="{name}-p1' in text, name


def test_a_run_folder_of_0_1_is_continued(old):
    """The same command finds its unit done, and a new record goes behind the old ones."""
    settings = ("--method", "gaussian-ort", "--set", "epochs=1", "--set", "batch_size=100")
    arguments = ("run", "digits", *settings, "--out", str(old))
    assert "1 of 1 units were done before" in zskl_command(*arguments).stderr
    assert zskl_command(*arguments, "--seeds", "2").returncode == 0
    lines = run_folder.read_log(old / "records.jsonl")
    assert [line.get("version") for line in lines] == [None, None, 4]
    assert lines[:2] == run_folder.read_log(OLD)


def test_what_is_appended_is_done(tmp_path):
    record = Record.from_json(LINE)
    with run_folder.open_run_folder(tmp_path / "new", Record.from_json) as folder:
        folder.append(record)
        assert folder.done == {"a": record}
    with run_folder.open_run_folder(tmp_path / "new", Record.from_json) as folder:
        assert folder.done == {"a": record}


def test_a_record_without_a_key_is_not_done(tmp_path):
    run_folder.write_lines(tmp_path / "records.jsonl", [{**LINE, "key": None}])
    with run_folder.open_run_folder(tmp_path, Record.from_json) as folder:
        assert folder.done == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({**LINE, "version": 5}, "`version` is 5: expected a number from 1 to 4; read it with a newer zskl"),
        ({**LINE, "seed": "none"}, "`seed` is 'none': expected a whole number"),
        ({"x": 1}, "`dataset` is missing: expected a text"),
        ([1, 2], "found '[1, 2]': expected an object with named fields"),
        (7, "found '7': expected an object with named fields"),
    ],
    ids=["newer", "damaged", "something else", "a list", "a number"],
)
def test_a_line_that_is_not_a_record_is_refused_by_its_number(tmp_path, line, words):
    file = tmp_path / "records.jsonl"
    file.write_text(json.dumps(LINE) + "\n" + json.dumps(line) + "\n")
    for command in (("compare", str(tmp_path)), ("report", str(file)), ("run", "digits", "--out", str(tmp_path))):
        done = zskl_command(*command)
        assert done.returncode == 2
        assert f"{file}, line 2 is not a record of a run: " in done.stderr
        assert words in done.stderr
        assert "restore or remove that line" in done.stderr


# Files that are replaced


def test_the_first_line_replaces_a_file_and_others_follow(tmp_path):
    file = tmp_path / "new" / "r.jsonl"
    for key in ("a", "b"):
        with run_folder.replace_log(file) as append:
            before = file.read_bytes() if file.exists() else None
            append({"key": key})
            assert file.read_bytes() != before
            inode = file.stat().st_ino
            append({"key": key * 2})
            assert file.stat().st_ino == inode  # appended, not written again
        assert [line["key"] for line in run_folder.read_log(file)] == [key, key * 2]


def test_a_file_stays_where_nothing_is_appended(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text("mine\n")
    with run_folder.replace_log(file):
        pass
    assert file.read_text() == "mine\n"


# Public
# `zskl.compare` and `zskl.report.write`: paths, records, or both.


@pytest.fixture
def records():
    return run_folder.read_records(OLD, Record.from_json)


def test_compare_and_collect_are_public():
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
