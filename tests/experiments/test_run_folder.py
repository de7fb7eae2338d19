"""Run folders: typed records, those of zskl 0.1 too, and a sentence about every line that is not one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command import zskl
from zskl.experiments import compare, jsonl_log, run_folder
from zskl.experiments.collect import collect
from zskl.experiments.record import Record

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
    first, second = jsonl_log.read(OLD)
    assert table.rows[0].figures["zero-shot"].mean == 100 * first["zsl"]["accuracy"]
    assert table.rows[1].figures["calibrated H"].mean == 100 * second["gzsl_calibrated"]["harmonic"]


def test_records_of_0_1_are_reported(old):
    done = zskl("report", str(old), "-o", str(old / "page.html"))
    assert (done.returncode, done.stderr) == (0, "")
    text = (old / "page.html").read_text("utf-8")
    for name in ("curves", "classes", "confusion", "convergence", "confidence-gzsl", "grid-zsl", "gram"):
        assert f'id="{name}-p1' in text, name


def test_a_run_folder_of_0_1_is_continued(old):
    """The same command finds its unit done, and a new record goes behind the old ones."""
    settings = ("--method", "gaussian-ort", "--set", "epochs=1", "--set", "batch_size=100")
    arguments = ("run", "digits", *settings, "--out", str(old))
    assert "1 of 1 units were done before" in zskl(*arguments).stdout
    assert zskl(*arguments, "--seeds", "2").returncode == 0
    lines = jsonl_log.read(old / "records.jsonl")
    assert [line.get("version") for line in lines] == [None, None, 4]
    assert lines[:2] == jsonl_log.read(OLD)


def test_what_is_appended_is_done(tmp_path):
    record = Record.from_json(LINE)
    with run_folder.opened(tmp_path / "new", Record.from_json) as folder:
        folder.append(record)
        assert folder.done == {"a": record}
    with run_folder.opened(tmp_path / "new", Record.from_json) as folder:
        assert folder.done == {"a": record}


def test_a_record_without_a_key_is_not_done(tmp_path):
    jsonl_log.write(tmp_path / "records.jsonl", [{**LINE, "key": None}])
    with run_folder.opened(tmp_path, Record.from_json) as folder:
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
        done = zskl(*command)
        assert done.returncode == 2
        assert f"{file}, line 2 is not a record of a run: " in done.stderr
        assert words in done.stderr
        assert "restore or remove that line" in done.stderr


# Files that are replaced ---------------------------------------------------------------------------------------------


def test_the_first_line_replaces_a_file_and_others_follow(tmp_path):
    file = tmp_path / "new" / "r.jsonl"
    for key in ("a", "b"):
        with jsonl_log.replaced(file) as append:
            before = file.read_bytes() if file.exists() else None
            append({"key": key})
            assert file.read_bytes() != before
            inode = file.stat().st_ino
            append({"key": key * 2})
            assert file.stat().st_ino == inode  # appended, not written again
        assert [line["key"] for line in jsonl_log.read(file)] == [key, key * 2]


def test_a_file_stays_where_nothing_is_appended(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text("mine\n")
    with jsonl_log.replaced(file):
        pass
    assert file.read_text() == "mine\n"
