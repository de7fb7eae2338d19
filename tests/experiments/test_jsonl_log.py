"""Records: one JSON line each, whole files, no silent loss."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from zskl.experiments import jsonl_log


def test_round_trip_with_numpy_values(tmp_path):
    file = tmp_path / "a" / "b.jsonl"
    jsonl_log.write(file, [{"x": np.float32(0.5), "y": np.arange(3), "name": "é"}, {"x": 2}])
    assert jsonl_log.read(file) == [{"x": 0.5, "y": [0, 1, 2], "name": "é"}, {"x": 2}]


def test_nan_is_refused_and_the_old_file_stays(tmp_path):
    file = tmp_path / "r.jsonl"
    jsonl_log.write(file, [{"x": 1}])
    with pytest.raises(ValueError, match="JSON"):
        jsonl_log.write(file, [{"x": float("nan")}])
    assert jsonl_log.read(file) == [{"x": 1}]


def test_a_torn_line_is_named(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"x": 1}\n{"x": \n')
    with pytest.raises(ValueError, match="line 2"):
        jsonl_log.read(file)


def test_a_record_cannot_hold_just_anything(tmp_path):
    with pytest.raises(TypeError, match="cannot hold a set"):
        jsonl_log.to_line({"x": {1}})


def test_versions_name_what_figures_depend_on():
    assert {"zskl", "python", "numpy", "scikit-learn"} <= set(jsonl_log.versions())


# Run folders ---------------------------------------------------------------------------------------------------------


def test_a_folder_keeps_what_is_appended(tmp_path):
    with jsonl_log.opened(tmp_path / "new" / "runs") as folder:
        folder.append({"key": "a", "x": 1})
        folder.append({"key": "b", "x": np.float32(0.5)})
    with jsonl_log.opened(tmp_path / "new" / "runs") as folder:
        assert folder.done == {"a": {"key": "a", "x": 1}, "b": {"key": "b", "x": 0.5}}


@pytest.mark.parametrize(
    ("tail", "kept"),
    [(b'{"key": "c", "x', 2), (b'{"key": "c"}', 3), ('{"key": "é'.encode()[:-1], 2), (b"", 2)],
    ids=["torn", "only its end is missing", "torn in a letter", "nothing"],
)
def test_an_unfinished_last_line_is_cut_off(tmp_path, tail, kept):
    file = tmp_path / "records.jsonl"
    file.write_bytes(b'{"key": "a"}\n{"key": "b"}\n' + tail)
    assert len(jsonl_log.read(file)) == kept  # also while a run writes
    with jsonl_log.opened(tmp_path) as folder:
        assert len(folder.done) == kept
        folder.append({"key": "z"})
    assert len(jsonl_log.read(file)) == kept + 1


def test_a_torn_line_in_the_middle_is_not_passed_over(tmp_path):
    (tmp_path / "records.jsonl").write_text('{"key": "a"}\n{"key": \n{"key": "b"}\n')
    with pytest.raises(ValueError, match="line 2"), jsonl_log.opened(tmp_path):
        pass


@pytest.mark.parametrize("how", ["part of the line", "nothing"])
def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch, how):
    write = os.write

    def full(handle, line):
        if how == "nothing":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[: len(line) // 2])

    with jsonl_log.opened(tmp_path) as folder:
        folder.append({"key": "a"})
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match=r"No space left on device.*the same command continues"):
                folder.append({"key": "b"})
        assert set(folder.done) == {"a"}
        folder.append({"key": "c"})  # there is room again
    assert [one["key"] for one in jsonl_log.read(tmp_path / "records.jsonl")] == ["a", "c"]


def test_keys_do_not_depend_on_order_and_do_on_values():
    assert jsonl_log.key_of({"a": 1, "b": [1, 2]}) == jsonl_log.key_of({"b": (1, 2), "a": np.int64(1)})
    assert jsonl_log.key_of({"a": 1}) != jsonl_log.key_of({"a": 2})


@pytest.mark.skipif(os.name == "nt", reason="Windows replaces no open file")
def test_a_file_that_somebody_puts_there_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    """Lines are written again because the file was removed; before they have its name, another file has it."""
    with jsonl_log.opened(tmp_path) as folder:
        folder.append({"key": "a"})
        folder.path.unlink()
        sync = os.fsync

        def late(handle):
            folder.path.write_text("a file of somebody else")
            sync(handle)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", late)
            with pytest.raises(jsonl_log.Busy, match="another program has replaced"):
                folder.rewrite([{"key": "a"}])
        assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [
            (folder.path.name, "a file of somebody else")
        ]
        folder.path.unlink()
        folder.rewrite([{"key": "a"}])
        folder.append({"key": "b"})
        assert [line["key"] for line in jsonl_log.read(folder.path)] == ["a", "b"]
