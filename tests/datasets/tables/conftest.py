"""What the tests of tables share."""

import pytest


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file into the working folder and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write
