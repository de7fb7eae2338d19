"""Where the cache folder is, on each operating system."""

from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from zskl import files


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
