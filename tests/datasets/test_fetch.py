"""Fetching the package from a real server on this machine: once, checked, from one address after the other.

Servers err, connections break, and zip files are damaged or reach outside their folder.
"""

import errno
import io
import socket
import stat
import threading
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmark_files import CLEAN, DONE, Server, names, refused, serving, tiny, write_package, zipped
from zskl import datasets
from zskl.cli import app
from zskl.datasets import fetch as fetching
from zskl.datasets.fetch import fetch


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Small blocks, a cache of the test's own."""
    monkeypatch.setattr(fetching, "BLOCK", 1000)
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


def test_fetch_and_load(server, root):
    told = []
    folder = fetch("xlsa17", urls=[server.url], root=root, progress=lambda done, total: told.append((done, total)))
    assert folder == root / "xlsa17"
    assert names(root) == DONE
    assert names(folder) == ["code", "data"]
    assert datasets.load("CUB", root=root).name == "CUB"
    size = len(server.content)
    assert told[0] == (1000, size)
    assert told[-1] == (size, size)
    assert len(told) > 10
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_the_default_root_is_where_load_looks(server, tmp_path):
    assert fetch(urls=[server.url]) == tmp_path / "cache" / "xlsa17"
    assert datasets.load("CUB").features == "res101"


def test_the_second_time_checks_and_does_not_download(server, root):
    folder = fetch(urls=[server.url], root=root)
    assert fetch(urls=[server.url], root=root) == folder
    assert server.asked == 1
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
    assert server.asked == 1


def test_mirrors_in_order(server, root, content):
    broken, page = Server(content), Server(b"<!DOCTYPE html><p>This link has expired" * 50)
    broken.status = 404
    with serving(broken) as first, serving(page) as second:
        assert fetch(urls=[first, second, server.url], root=root)
        assert names(root) == DONE
        assert broken.asked == page.asked == server.asked == 1
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


def test_a_download_that_broke_off_starts_again(server, root):
    server.drops = 1
    sentence = refused(server, root, ConnectionError)
    assert "the connection broke off before the file was complete; try again" in sentence
    assert names(root) == CLEAN
    fetch(urls=[server.url], root=root)
    assert names(root) == DONE
    assert server.asked == 2


def test_an_interrupted_download_leaves_nothing(server, root):
    def give_up(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(urls=[server.url], root=root, progress=give_up)
    assert names(root) == CLEAN


def test_a_server_that_does_not_say_the_length():
    told = []
    bar = fetching._Bar(lambda *state: told.append(state))
    bar.update(1000)
    bar.update(1000)
    assert told == [(1000, None), (2000, None)]


def test_a_full_disk(server, root, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "extractall", full)
    with pytest.raises(OSError, match=r"cannot write \S*xlsa17: the disk is full; make room there"):
        fetch(urls=[server.url], root=root)
    assert names(root) == CLEAN


def test_a_length_too_long(server, root):
    server.announced = len(server.content) + 500
    assert "the connection broke off" in refused(server, root, ConnectionError)
    assert names(root) == CLEAN


def test_a_length_too_short(server, root):
    server.announced = len(server.content) - 500
    assert "this is not a whole zip file" in refused(server, root, ValueError)
    assert names(root) == CLEAN


@pytest.mark.parametrize("status", [403, 404, 410, 503])
def test_what_the_server_answers_is_told(server, root, status):
    server.status = status
    sentence = refused(server, root, ConnectionError)
    assert f"could not fetch xlsa17: {server.url}: the server answered {status}" in sentence
    assert "--url" in sentence
    assert server.asked == 1
    assert names(root) == CLEAN


def test_an_address_where_nobody_listens(root):
    with socket.socket() as taken:  # and not listened to, so that nobody else can answer there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/xlsa17.zip"
        sentence = refused(None, root, ConnectionError, [url])
    assert f"{url}: the connection failed (" in sentence
    assert "urllib3" not in sentence
    assert "object at" not in sentence


def test_a_server_that_stops_answering(server, root, monkeypatch):
    monkeypatch.setattr(fetching, "SILENCE", 0.05)
    server.silent = threading.Event()
    try:
        assert "the connection failed (Read timed out" in refused(server, root, ConnectionError)
    finally:
        server.silent.set()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x.zip", "data:,x", "xlsa17.zip", "http://"])
def test_other_schemes(url, root):
    with pytest.raises(ValueError, match="is not an http or https address"):
        fetch(urls=[url], root=root)
    assert not root.exists()


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1:1/x.zip"])
def test_redirections_to_other_schemes(server, root, location):
    server.location = location
    refused(server, root, ConnectionError)
    assert names(root) == CLEAN


def test_a_redirection(server, root, content):
    first = Server(content)
    first.location = server.url
    with serving(first) as url:
        assert fetch(urls=[url], root=root)


def test_a_flat_zip(server, root):
    server.content = zipped({"CUB/att_splits.mat": b"1", "__MACOSX/CUB/x": b"2"})
    assert names(fetch(urls=[server.url], root=root)) == ["CUB"]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_zip(server, root, share):
    server.content = server.content[: int(share * len(server.content))] or b" "
    assert "this is not a whole zip file" in refused(server, root, ValueError)
    assert names(root) == CLEAN


def test_a_damaged_zip(server, root):
    place = server.content.index(b"xlsa17/code/noise.bin") + 500
    server.content = server.content[:place] + b"damage" + server.content[place + 6 :]
    assert "Bad CRC-32" in refused(server, root, ValueError)
    assert names(root) == CLEAN


OUTSIDE = [
    "../evil.txt",
    "xlsa17/../../evil.txt",
    "/evil.txt",
    "..\\evil.txt",
    "C:\\evil.txt",
    "c:evil.txt",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_is_unpacked_outside_the_folder(server, root, path):
    server.content = zipped({"xlsa17/data/CUB/att_splits.mat": b"1", path: b"evil"})
    folder = fetch(urls=[server.url], root=root)
    assert names(root) == DONE
    assert all(found.is_relative_to(folder) for found in root.parent.rglob("*evil*"))


def test_links_become_plain_files(server, root):
    link = zipfile.ZipInfo("xlsa17/data/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO(zipped({"xlsa17/data/CUB/att_splits.mat": b"1"}))
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr(link, "/etc/passwd")
    server.content = buffer.getvalue()
    found = fetch(urls=[server.url], root=root) / "data" / "link"
    assert not found.is_symlink()
    assert found.read_text() == "/etc/passwd"


def test_a_zip_of_something_else_is_refused(server, root):
    server.content = zipped({"birds.csv": b"1"})
    assert "the zip file contains no att_splits.mat, so it is not this package" in refused(server, root, ValueError)
    assert names(root) == CLEAN
