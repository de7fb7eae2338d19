"""Files and folders appear whole or not at all, for one process at a time."""

import errno
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from zskl import _files as files

# Files


def give_up(written):
    raise KeyboardInterrupt


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with files.replace_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.replace_file(path) as file:
        give_up(file.write(b"half"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_replaced_whole_and_a_failure_leaves_the_old_one(tmp_path):
    path = tmp_path / "deep" / "a"
    with files.replace_folder(path) as folder:
        (folder / "one").write_text("1")
        assert not path.exists()
    with pytest.raises(KeyboardInterrupt), files.replace_folder(path) as folder:
        give_up((folder / "two").write_text("2"))
    assert [file.name for file in path.iterdir()] == ["one"]
    with files.replace_folder(path) as folder:
        (folder / "three").write_text("3")
    assert [file.name for file in path.iterdir()] == ["three"]
    assert list(path.parent.iterdir()) == [path]


def test_what_another_program_holds_open_is_a_sentence(tmp_path, monkeypatch):
    """As on Windows, where a spreadsheet keeps others from replacing the file it shows."""
    table, folder = tmp_path / "a.csv", tmp_path / "b"
    table.write_text("old")
    folder.mkdir()

    def held(old, new):
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(files.os, "replace", held)
    for path, replacing in ((table, files.replace_file), (folder, files.replace_folder)):
        named = re.escape(f"cannot write {path} (Access is denied): if a program has it open, close it there")
        with pytest.raises(PermissionError, match=named), replacing(path):
            pass
    assert table.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [table, folder]


def test_what_a_killed_process_left_is_found_by_the_name_of_its_target(tmp_path):
    with files.replace_file(tmp_path / "a.csv"), files.replace_folder(tmp_path / "b"):
        found = files.find_leftovers(tmp_path)
        assert len(found) == 2
        assert [path.name.split(".")[1] for path in files.find_leftovers(tmp_path, "*.csv")] == ["a"]
        assert files.find_leftovers(tmp_path, "b") == [path for path in found if path.is_dir()]
        assert files.find_leftovers(tmp_path, "c") == []
    assert files.find_leftovers(tmp_path) == []


def test_a_target_that_is_also_an_input_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.touch()
    files.check_target(path, tmp_path / "b.csv", None)
    with pytest.raises(ValueError, match=r"a\.csv: it is also what is read; name another file"):
        files.check_target(path, path)
    with pytest.raises(IsADirectoryError, match="name a file"):
        files.check_target(tmp_path)
    with pytest.raises(FileNotFoundError, match="create it first"):
        files.check_target(tmp_path / "none" / "a.csv")


def opened(path):
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)


class Windows:
    """What msvcrt does: it locks bytes from where the file stands, for one handle, until that is closed."""

    LK_NBLCK = 2

    def __init__(self):
        self.holder = None

    def locking(self, handle, mode, length):
        assert (mode, length, os.lseek(handle, 0, os.SEEK_CUR)) == (self.LK_NBLCK, 1, files.LOCKED)
        if self.holder not in (None, handle):
            raise PermissionError(13, "Permission denied")
        self.holder = handle


@pytest.mark.parametrize("system", ["this", "Windows"])
def test_a_second_handle_waits_until_the_first_is_closed(tmp_path, monkeypatch, system):
    windows = Windows()
    if system == "Windows":
        monkeypatch.setitem(sys.modules, "msvcrt", windows)
        monkeypatch.setattr(files, "sys", SimpleNamespace(platform="win32"))
    first, second = opened(tmp_path / "lock"), opened(tmp_path / "lock")
    os.write(first, b"a line")
    assert files.lock_file(first)
    assert not files.lock_file(second)

    def closed(seconds):
        os.close(first)
        windows.holder = None

    monkeypatch.setattr(files, "time", SimpleNamespace(sleep=closed))
    files.wait_for_lock(second)
    assert os.read(second, 10) == b"a line"  # it still stands where it stood
    os.close(second)


def test_a_file_system_without_locks_lets_everybody_in(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files, "_lock_on_windows" if sys.platform == "win32" else "_lock_on_posix", none)
    with (tmp_path / "lock").open("wb") as file:
        assert files.lock_file(file.fileno())


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.csv"
    path.write_text("old")
    for target, replacing in ((path, files.replace_file), (tmp_path / "b", files.replace_folder)):
        with pytest.raises(OSError, match=re.escape(f"cannot write {target}: the disk is full")), replacing(target):
            full()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    """So does a device. A test must not try that with /dev/null: code that renames over it would do so, as root."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_atomically(pipe, b"rows")
    assert os.read(reader, 10) == b"rows"
    os.close(reader)
    assert files.is_special(pipe)
    assert list(tmp_path.iterdir()) == [pipe]
    assert not files.is_special(tmp_path)
    assert not files.is_special(tmp_path / "none")


def test_of_two_who_write_a_new_folder_one_wins(tmp_path):
    path = tmp_path / "a"

    def written(name, meanwhile=lambda: None):
        with files.replace_folder(path, new=True) as folder:
            (folder / name).touch()
            meanwhile()

    with pytest.raises(FileExistsError, match="somebody else wrote it"):
        written("mine", lambda: written("theirs"))
    assert [file.name for file in path.iterdir()] == ["theirs"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_comes_between_two_steps_of_an_exchange_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.mkdir()
    rename = files._rename_file

    def raced(old, new, target):
        rename(old, new, target)
        (path / "theirs").mkdir(parents=True)

    monkeypatch.setattr(files, "_rename_file", raced)
    with pytest.raises(FileExistsError, match="somebody else"), files.replace_folder(path):
        pass
    assert [file.name for file in path.iterdir()] == ["theirs"]
    assert list(tmp_path.iterdir()) == [path]


# Cache folder
# Where the cache folder is, on each operating system.


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A home folder of the test's own, without settings."""
    for name in ("ZSKL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def on(system, monkeypatch):
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name, appauthor: system(name, appauthor).user_cache_path)


def test_the_environment_decides_first(home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "elsewhere"))
    monkeypatch.setenv("ZSKL_CACHE", "~/here")
    assert files.cache_folder() == home / "here"


def test_linux_has_the_same_folder_as_version_0_1(home, monkeypatch):
    on(Unix, monkeypatch)
    assert files.cache_folder() == home / ".cache" / "zskl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "elsewhere"))
    assert files.cache_folder() == home / "elsewhere" / "zskl"


def test_macos_has_its_own_folder(home, monkeypatch):
    on(MacOS, monkeypatch)
    assert files.cache_folder() == home / "Library" / "Caches" / "zskl"


def test_a_cache_that_version_0_1_wrote_is_still_found(home, monkeypatch):
    on(MacOS, monkeypatch)
    (home / ".cache" / "zskl").mkdir(parents=True)
    assert files.cache_folder() == home / ".cache" / "zskl"
    (home / "Library" / "Caches" / "zskl").mkdir(parents=True)
    assert files.cache_folder() == home / "Library" / "Caches" / "zskl"
    assert isinstance(files.cache_folder(), Path)
