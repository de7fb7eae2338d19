"""Downloads from a real server on this machine: connections that break, and servers that err."""

import socket
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from package_server import CLEAN, DONE, Server, give_up, names, pausing, refused, serving, zipped
from zskl.datasets.xlsa17 import download, unpack
from zskl.datasets.xlsa17.fetch import fetch


def test_resumes_within_a_call(server, root):
    server.drops = 6  # more than TRIES: each connection brings something new
    fetch(urls=[server.url], root=root)
    assert names(root) == DONE
    starts = [int((asked or "bytes=0-")[6:-1]) for asked in server.asked]
    assert starts == sorted(set(starts))
    assert len(starts) == 7
    assert starts[1] == len(server.content) // 2


def test_resumes_in_the_next_call(server, root, monkeypatch):
    server.drops = 1
    pausing(monkeypatch, give_up)
    with pytest.raises(KeyboardInterrupt):  # the user gives up while it waits
        fetch(urls=[server.url], root=root)
    assert (root / "xlsa17.zip.part").stat().st_size == len(server.content) // 2
    fetch(urls=[server.url], root=root)
    assert server.asked == [None, f"bytes={len(server.content) // 2}-"]
    assert names(root) == DONE


def test_a_server_that_ignores_range(server, root):
    server.drops, server.ranges = 1, False
    fetch(urls=[server.url], root=root)
    assert len(server.asked) == 2
    assert names(root) == DONE


def test_parts_of_two_versions_of_a_file_are_never_joined(server, root, monkeypatch):
    server.drops, old = 1, server.content
    new = b"n" * (len(old) - len(zipped({"CUB/att_splits.mat": b""})))  # a zip file of the same length

    def change(seconds):
        server.content, server.etag = zipped({"CUB/att_splits.mat": new}), '"two"'
        assert len(server.content) == len(old)

    pausing(monkeypatch, change)
    folder = fetch(urls=[server.url], root=root)
    assert server.asked[1] == f"bytes={len(old) // 2}-"
    assert (folder / "CUB" / "att_splits.mat").read_bytes() == new


def test_a_file_of_another_length_without_an_etag_is_downloaded_again(server, root, monkeypatch):
    server.drops, server.etag = 1, None

    def change(seconds):
        server.content = zipped({"CUB/att_splits.mat": np.random.default_rng(1).bytes(40_000)})

    pausing(monkeypatch, change)
    fetch(urls=[server.url], root=root)
    assert len(server.asked) == 3
    assert server.asked[2] is None


def test_a_complete_download_is_not_repeated(server, root, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(unpack.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
        with pytest.raises(OSError, match=r"the zip file unpacks to 0\.0 GB, and \S* has 0\.0 GB left; make room"):
            fetch(urls=[server.url], root=root)
    assert not (root / "xlsa17").exists()
    fetch(urls=[server.url], root=root)
    assert server.asked == [None, f"bytes={len(server.content)}-"]  # answered by 416: there is no more


def test_a_wrong_length(server, root):
    server.announced, server.ranges = len(server.content) + 500, False
    size = len(server.content)
    assert f"it sent {size} of the {size + 500} bytes it announced, 5 times in a row" in refused(server, root)
    assert len(server.asked) == 6


def test_a_length_too_short(server, root):
    server.announced = len(server.content) - 500
    assert "this is not a whole zip file" in refused(server, root)
    assert names(root) == CLEAN


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_missing_file_is_not_asked_for_twice(server, root, status):
    server.status = status
    sentence = refused(server, root, ConnectionError)
    assert f"could not fetch xlsa17: {server.url}: the server answered {status}" in sentence
    assert "--url" in sentence
    assert len(server.asked) == 1  # asking again would not help
    assert names(root) == CLEAN


def test_a_server_in_trouble_is_asked_again(server, root):
    server.status = 503
    assert "the server answered 503 Service Unavailable, 5 times in a row" in refused(server, root)
    assert len(server.asked) == 5


def test_an_address_where_nobody_listens(root):
    with socket.socket() as taken:  # and not listened to, so that nobody else can answer there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/xlsa17.zip"
        assert "the connection failed" in refused(None, root, ConnectionError, [url])


def test_a_server_that_stops_answering(server, root, monkeypatch):
    monkeypatch.setattr(download, "SILENCE", 0.05)
    server.silent = threading.Event()
    try:
        assert "the connection failed (timed out), 5 times in a row" in refused(server, root, ConnectionError)
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
