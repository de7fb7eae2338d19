"""What the tests of datasets share."""

import pytest

import own_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with features.csv and traits.csv of ten classes."""
    monkeypatch.chdir(tmp_path)
    own_files.write(tmp_path)
    return tmp_path
