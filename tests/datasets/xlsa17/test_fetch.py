"""Fetching the package: once, checked, from one address after the other."""

import threading

import pytest
from typer.testing import CliRunner

from package_server import DONE, Server, names, refused, serving
from zskl import datasets
from zskl.cli import app
from zskl.datasets.xlsa17.fetch import fetch


def test_fetch_and_load(server, root):
    told = []
    folder = fetch("xlsa17", urls=[server.url], root=root, progress=lambda done, total: told.append((done, total)))
    assert folder == root / "xlsa17"
    assert names(root) == DONE
    assert names(folder) == ["code", "data"]
    assert datasets.load("CUB", root=root).name == "CUB"
    size = len(server.content)
    assert told[0] == (0, size)
    assert told[-1] == (size, size)
    assert len(told) > 10
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_the_default_root_is_where_load_looks(server, tmp_path):
    assert fetch(urls=[server.url]) == tmp_path / "cache" / "xlsa17"
    assert datasets.load("CUB").features == "res101"


def test_the_second_time_checks_and_does_not_download(server, root):
    folder = fetch(urls=[server.url], root=root)
    assert fetch(urls=[server.url], root=root) == folder
    assert len(server.asked) == 1
    text = (root / "xlsa17.sha256").read_text()
    assert text.startswith(f"# {server.url}\n")
    assert text.count("\n") == 4
    path = folder / "data" / "CUB" / "res101.mat"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match=r"not as it was fetched: .xlsa17/data/CUB/res101\.mat. changed or disap"):
        fetch(urls=[server.url], root=root)
    path.unlink()
    with pytest.raises(ValueError, match=r"delete the folder to fetch it again, or delete \S*xlsa17\.sha256"):
        fetch(urls=[server.url], root=root)
    (root / "xlsa17.sha256").unlink()  # changed on purpose
    assert fetch(urls=[server.url], root=root) == folder


def test_leftovers_of_a_killed_process_are_removed(server, root):
    (root / ".xlsa17.dead.part" / "CUB").mkdir(parents=True)
    fetch(urls=[server.url], root=root)
    assert names(root) == DONE


def test_two_at_once(server, root):
    threads = [threading.Thread(target=fetch, kwargs={"urls": [server.url], "root": root}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(root) == DONE
    assert len(server.asked) == 1


def test_mirrors_in_order(server, root, content):
    broken, page = Server(content), Server(b"<!DOCTYPE html><p>This link has expired" * 50)
    broken.status = 404
    with serving(broken) as first, serving(page) as second:
        assert fetch(urls=[first, second, server.url], root=root)
        assert names(root) == DONE
        assert len(broken.asked) == len(page.asked) == len(server.asked) == 1
        assert f"# {server.url}" in (root / "xlsa17.sha256").read_text()
        sentence = refused(server, root.parent / "other", ValueError, [first, second])
        assert f"{first}: the server answered 404" in sentence
        assert f"{second}: this is not a whole zip file" in sentence


def test_unknown_packages_and_no_addresses(root):
    with pytest.raises(ValueError, match="no package is called 'flo': expected one of xlsa17"):
        fetch("flo", root=root)
    with pytest.raises(ValueError, match="urls is empty"):
        fetch(urls=[], root=root)


def test_the_command(server, root):
    done = CliRunner().invoke(app, ["data", "fetch", "xlsa17", "--url", server.url, "--root", str(root)])
    assert done.exit_code == 0, done.output
    assert f"xlsa17 is in {root / 'xlsa17'}" in done.output
    server.status = 404
    done = CliRunner().invoke(app, ["data", "fetch", "xlsa17", "--url", server.url, "--root", str(root.parent / "b")])
    assert isinstance(done.exception, ConnectionError)


def test_splits_that_changed_since_are_not_loaded(server, root):
    """Another version of the splits under the same name is the worst mistake of all: it is looked for at each load."""
    path = fetch(urls=[server.url], root=root) / "data" / "CUB" / "att_splits.mat"
    datasets.load("CUB", root=root)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ValueError, match=r"att_splits\.mat is not as it was fetched: its checksum differs"):
        datasets.load("CUB", root=root)
    (root / "xlsa17.sha256").unlink()  # changed on purpose
    path.write_bytes(path.read_bytes()[:-1])
    datasets.load("CUB", root=root)
