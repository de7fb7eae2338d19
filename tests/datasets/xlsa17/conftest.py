"""What the tests of the xlsa17 package share: a server with the package, and a folder to fetch it into."""

import numpy as np
import pytest

from benchmark_files import Server, serving, tiny, write_package, zipped
from zskl.datasets import fetch


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Small blocks, a cache of the test's own."""
    monkeypatch.setattr(fetch, "BLOCK", 1000)
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("ZSKL_DATA", raising=False)


@pytest.fixture
def root(quick, tmp_path):
    return tmp_path / "root"


@pytest.fixture
def content(tmp_path):
    """A zip file of about 30 kB, as the authors': a folder xlsa17 with data inside."""
    folder = write_package(tmp_path / "made" / "CUB", *tiny())
    files = {f"xlsa17/data/CUB/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    files["xlsa17/code/noise.bin"] = np.random.default_rng(0).bytes(20_000)
    return zipped({"xlsa17/": b"", **files})


@pytest.fixture
def server(quick, content):
    made = Server(content)
    with serving(made) as url:
        made.url = url
        yield made
