"""A tiny benchmark and the whole evaluation of it, made once for all tests of a process."""

import pytest

from benchmark_files import tiny, write_package
from paper_runs import paper, shortened
from zskl import datasets
from zskl.plots import _style


@pytest.fixture(scope="module", autouse=True)
def quick(tmp_path_factory):
    with shortened(tmp_path_factory.mktemp("cache")):
        yield


@pytest.fixture
def undrawn(monkeypatch):
    """Empty figures, for tests of what stands around them: to draw one takes a fifth of a second."""
    monkeypatch.setattr(_style, "to_svg", lambda figure, title, description, inline=False: "<svg></svg>\n")


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """CUB whole, with the published features; AWA1 with others; SUN with its splits alone."""
    folder = tmp_path_factory.mktemp("root")
    write_package(folder / "CUB", *tiny())
    write_package(folder / "AWA1", *tiny(), file="other")
    write_package(folder / "SUN", *tiny())
    (folder / "SUN" / "res101.mat").unlink()
    return folder


@pytest.fixture(scope="session")
def whole(root, tmp_path_factory):
    """Everything on CUB, and what was said."""
    out = tmp_path_factory.mktemp("paper") / "out"
    with shortened(tmp_path_factory.mktemp("cache")):
        done = paper("all", out, "--root", root, "--dataset", "CUB", "--dataset", "sun")
    assert done.returncode == 0, done.stderr
    return out, done


@pytest.fixture(scope="module")
def data(root):
    return datasets.load("CUB", root)
