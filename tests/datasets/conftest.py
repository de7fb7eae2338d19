"""What the tests of datasets share."""

import pytest

import user_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with features.csv and traits.csv of ten classes."""
    monkeypatch.chdir(tmp_path)
    user_files.write_birds(tmp_path)
    return tmp_path
