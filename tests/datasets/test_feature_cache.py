"""A large matrix is read once; a change of its file is noticed; a cache that fails does no harm."""

import errno
import json
import os
import time
from contextlib import contextmanager

import numpy as np
import pytest

from zskl.datasets import xlsa17

SHAPE = (50, 7)


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch, tmp_path):
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(xlsa17, "SMALLEST", 0)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "features.npy"
    np.save(path, np.random.default_rng(0).standard_normal(SHAPE))
    return path


class Reader:
    """Counts how often it is asked."""

    calls = 0

    def __call__(self, path):
        self.calls += 1
        return np.load(path), {"labels": [1, 2], "names": ["ä"]}


@pytest.fixture
def read():
    return Reader()


@pytest.fixture
def settled(monkeypatch):
    """The source counts as old enough for its times to be trusted."""
    monkeypatch.setattr(xlsa17, "SETTLED", -(10**18))


def rewrite(path, values, keep_time=True):
    """Other content of the same size and, as `cp -p` and unpackers do, the same time of modification."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # until the file system's clock has moved on
        np.save(path, values)
        if keep_time:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def entry(tmp_path):
    (found,) = (tmp_path / "cache" / "mapped").iterdir()
    return found


def test_read_once(source, read):
    first, second = xlsa17.load_matrix(source, read), xlsa17.load_matrix(source, read)
    assert read.calls == 1
    for found in (first, second):
        assert isinstance(found.X, np.memmap)
        assert found.X.dtype == np.float32
        assert found.notes == {"labels": [1, 2], "names": ["ä"]}
        np.testing.assert_array_equal(found.X, np.load(source).astype(np.float32))
        with pytest.raises(ValueError, match="read-only"):
            found.X[0, 0] = 1


@pytest.mark.parametrize("make", [np.asfortranarray, np.ascontiguousarray, lambda x: x.astype(np.float32)])
def test_any_layout_and_block_height(source, make, monkeypatch, tmp_path):
    monkeypatch.setattr(xlsa17, "BLOCK_VALUES", 30)
    whole = np.load(source)
    found = xlsa17.load_matrix(source, lambda path: (make(whole), {}))
    np.testing.assert_array_equal(found.X, whole.astype(np.float32))
    monkeypatch.setattr(xlsa17, "SMALLEST", 1 << 30)
    found = xlsa17.load_matrix(source, lambda path: (make(whole), {}))
    np.testing.assert_array_equal(found.X, whole.astype(np.float32))
    assert not isinstance(found.X, np.memmap)


def test_small_files_are_not_kept(source, read, monkeypatch, tmp_path):
    monkeypatch.setattr(xlsa17, "SMALLEST", 1 << 23)
    xlsa17.load_matrix(source, read)
    assert not (tmp_path / "cache").exists()


def test_an_unchanged_source_is_not_hashed_again(source, read, settled, monkeypatch):
    xlsa17.load_matrix(source, read)
    monkeypatch.setattr(xlsa17, "_describe_source", lambda *_: pytest.fail("hashed"))
    xlsa17.load_matrix(source, read)
    assert read.calls == 1


@pytest.mark.parametrize("keep_time", [True, False])
def test_other_content_of_the_same_size_is_noticed(source, read, settled, keep_time):
    xlsa17.load_matrix(source, read)
    rewrite(source, np.ones(SHAPE), keep_time)
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.ones(SHAPE))
    assert read.calls == 2


def test_other_content_within_the_clocks_resolution_is_noticed(source, read, monkeypatch):
    """Times that did not move prove nothing for a file written a moment ago."""
    fixed = time.time_ns() + 10**18  # not old enough, however slow this machine is
    monkeypatch.setattr(xlsa17, "_file_times", lambda status: [fixed, fixed])
    xlsa17.load_matrix(source, read)
    rewrite(source, np.ones(SHAPE))
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.ones(SHAPE))


def test_another_size_is_noticed(source, read, settled):
    xlsa17.load_matrix(source, read)
    rewrite(source, np.ones((3, 7)))
    assert xlsa17.load_matrix(source, read).X.shape == (3, 7)


def test_a_touched_source_is_hashed_once_and_not_read(source, read, settled, monkeypatch, tmp_path):
    xlsa17.load_matrix(source, read)
    os.utime(source)
    xlsa17.load_matrix(source, read)
    assert read.calls == 1
    monkeypatch.setattr(xlsa17, "_describe_source", lambda *_: pytest.fail("hashed"))
    xlsa17.load_matrix(source, read)


def test_a_source_that_changes_while_read_is_not_kept(source, tmp_path):
    def read(path):
        whole = np.load(path)
        rewrite(path, np.ones(SHAPE))
        return whole, {}

    assert not isinstance(xlsa17.load_matrix(source, read).X, np.memmap)
    assert not (tmp_path / "cache").exists()


def test_an_older_map_survives_the_new_one(source, read, tmp_path):
    old = xlsa17.load_matrix(source, read).X
    values = np.array(old)
    rewrite(source, np.ones(SHAPE))
    xlsa17.load_matrix(source, read)
    np.testing.assert_array_equal(old, values)
    assert len(list(entry(tmp_path).glob("*.npy"))) == 1


def test_files_of_one_name_in_two_folders(source, read, tmp_path):
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / source.name
    np.save(other, np.ones(SHAPE))
    xlsa17.load_matrix(source, read)
    np.testing.assert_array_equal(xlsa17.load_matrix(other, read).X, np.ones(SHAPE))
    assert xlsa17.load_matrix(source, read).X[0, 0] != 1


def test_a_cache_that_cannot_be_made(source, read, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "file"))
    for calls in (1, 2):
        np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.load(source).astype(np.float32))
        assert read.calls == calls


def test_a_full_disk(source, read, monkeypatch, tmp_path):
    @contextmanager
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")
        yield

    monkeypatch.setattr(xlsa17, "replace_file", full)
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.load(source).astype(np.float32))


def truncate(folder):
    for path in folder.glob("*.npy"):
        path.write_bytes(path.read_bytes()[:-10])


def empty(folder):
    for path in folder.glob("*.npy"):
        path.write_bytes(b"")


def remove(folder):
    for path in folder.glob("*.npy"):
        path.unlink()


def other_shape(folder):
    for path in folder.glob("*.npy"):
        np.save(path, np.ones((3, 3), dtype=np.float32))


def no_json(folder):
    (folder / "source.json").write_text("{")


def other_json(folder):
    (folder / "source.json").write_text("[1]")


def no_keys(folder):
    (folder / "source.json").write_text("{}")


def newer_format(folder):
    known = json.loads((folder / "source.json").read_text())
    (folder / "source.json").write_text(json.dumps(known | {"format": 99}))


DAMAGES = [truncate, empty, remove, other_shape, no_json, other_json, no_keys, newer_format]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_cache_is_made_again(damage, source, read, tmp_path):
    xlsa17.load_matrix(source, read)
    damage(entry(tmp_path))
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.load(source).astype(np.float32))
    xlsa17.load_matrix(source, read)
    assert read.calls == 2


def test_temporary_files_of_killed_processes_are_removed(source, read, tmp_path):
    xlsa17.load_matrix(source, read)
    old, new = entry(tmp_path) / ".x.npy.1.part", entry(tmp_path) / ".y.npy.2.part"
    old.write_text("")
    new.write_text("")
    os.utime(old, (0, 0))
    rewrite(source, np.ones(SHAPE))
    xlsa17.load_matrix(source, read)
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize("moment", ["while the first reads", "while the first writes"])
def test_two_at_once(source, read, moment, monkeypatch, tmp_path):
    """A second load begins and ends in the midst of the first, as another process may."""
    blocks, second = xlsa17._float_blocks, []

    def in_the_midst():
        if not second:
            second.append(None)  # the second load comes by here too
            second[0] = xlsa17.load_matrix(source, read)

    def reading(path):
        if "reads" in moment:
            in_the_midst()
        return read(path)

    def writing(*arguments):
        for block in blocks(*arguments):
            yield block
            if "writes" in moment:
                in_the_midst()

    monkeypatch.setattr(xlsa17, "_float_blocks", writing)
    monkeypatch.setattr(xlsa17, "BLOCK_VALUES", 70)
    first = xlsa17.load_matrix(source, reading)
    for found in (first, second[0], xlsa17.load_matrix(source, pytest.fail)):
        assert isinstance(found.X, np.memmap)
        np.testing.assert_array_equal(found.X, np.load(source).astype(np.float32))
    assert read.calls == 2
    assert sorted(path.suffix for path in entry(tmp_path).iterdir()) == [".json", ".npy"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_values_that_are_not_finite(value, kept, source, read, monkeypatch, tmp_path):
    monkeypatch.setattr(xlsa17, "BLOCK_VALUES", 30)
    monkeypatch.setattr(xlsa17, "SMALLEST", 0 if kept else 1 << 30)
    values = np.ones(SHAPE)
    values[41, 2] = values[41, 5] = values[42, 0] = value
    np.save(source, values)
    with pytest.raises(ValueError, match=r"features\.npy: features is NaN or infinite .* in rows 41.*in columns 2, 5;"):
        xlsa17.load_matrix(source, read)
    assert not kept or not list(entry(tmp_path).iterdir())
