"""Fetching the package from a real server on this machine, which behaves well, badly, and worse."""

import io
import socket
import stat
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from package_files import tiny, write_package
from zskl import datasets
from zskl.cli import app
from zskl.datasets.xlsa17 import download, unpack
from zskl.datasets.xlsa17.fetch import fetch


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(download, "PAUSE", 0.001)
    monkeypatch.setattr(download, "BLOCK", 1000)
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("ZSKL_DATA", raising=False)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


def zipped(files, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def content(tmp_path):
    """A zip file of about 30 kB, as the authors': a folder xlsa17 with data inside."""
    folder = write_package(tmp_path / "made" / "CUB", *tiny())
    files = {f"xlsa17/data/CUB/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    files["xlsa17/code/noise.bin"] = np.random.default_rng(0).bytes(20_000)
    return zipped({"xlsa17/": b"", **files})


class Server:
    """What it serves can be set; it counts requests and remembers the ranges asked for."""

    def __init__(self, content):
        self.content, self.etag = content, '"one"'
        self.drops = 0  # how many answers break off midway
        self.ranges = True  # whether Range is obeyed
        self.status = 200
        self.announced = None  # a wrong Content-Length
        self.location = None
        self.silent = None  # an event until which nothing is answered
        self.asked = []

    def answer(self, handler):
        asked = handler.headers.get("Range")
        self.asked.append(asked)
        if self.silent:
            self.silent.wait()
            return
        if self.location or self.status >= 400:
            handler.send_response(302 if self.location else self.status)
            if self.location:
                handler.send_header("Location", self.location)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        start = 0
        if asked and self.ranges and handler.headers.get("If-Range") in (None, self.etag):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(self.content):
            handler.send_error(416)
            return
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        handler.send_header("Content-Length", str(self.announced or len(body)))
        if self.etag:
            handler.send_header("ETag", self.etag)
        handler.end_headers()
        if self.drops > 0:
            self.drops -= 1
            body = body[: len(body) // 2]
        handler.wfile.write(body)
        handler.close_connection = True


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.answer(self)

        def log_message(self, *_):
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/xlsa17.zip"
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


@pytest.fixture
def server(content):
    made = Server(content)
    with serving(made) as url:
        made.url = url
        yield made


def pausing(monkeypatch, call):
    """`call` takes the place of each pause between two connections; clocks of other threads go on."""
    monkeypatch.setattr(download, "time", SimpleNamespace(sleep=call))


def give_up(seconds):
    raise KeyboardInterrupt


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


CLEAN = [".xlsa17.lock"]
DONE = [".xlsa17.lock", "xlsa17", "xlsa17.sha256"]


# all goes well


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
    with pytest.raises(ValueError, match=r"not as it was fetched: 'xlsa17/data/CUB/res101\.mat' changed or vanished"):
        fetch(urls=[server.url], root=root)
    path.unlink()
    with pytest.raises(ValueError, match=r"delete the folder to fetch it again, or delete \S*xlsa17\.sha256"):
        fetch(urls=[server.url], root=root)
    (root / "xlsa17.sha256").unlink()  # changed on purpose
    assert fetch(urls=[server.url], root=root) == folder


def test_a_flat_zip(server, root):
    server.content = zipped({"CUB/att_splits.mat": b"1", "__MACOSX/CUB/x": b"2"})
    assert names(fetch(urls=[server.url], root=root)) == ["CUB"]


def test_remains_of_a_killed_process_are_removed(server, root):
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


# the connection breaks


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


def test_a_file_that_changed_meanwhile_is_not_patched_together(server, root, monkeypatch):
    server.drops, old = 1, server.content
    new = b"n" * (len(old) - len(zipped({"CUB/att_splits.mat": b""})))  # a zip file of the same length

    def change(seconds):
        server.content, server.etag = zipped({"CUB/att_splits.mat": new}), '"two"'
        assert len(server.content) == len(old)

    pausing(monkeypatch, change)
    folder = fetch(urls=[server.url], root=root)
    assert server.asked[1] == f"bytes={len(old) // 2}-"
    assert (folder / "CUB" / "att_splits.mat").read_bytes() == new


def test_another_length_without_a_mark_starts_anew(server, root, monkeypatch):
    server.drops, server.etag = 1, None

    def change(seconds):
        server.content = zipped({"CUB/att_splits.mat": np.random.default_rng(1).bytes(40_000)})

    pausing(monkeypatch, change)
    fetch(urls=[server.url], root=root)
    assert len(server.asked) == 3
    assert server.asked[2] is None


def test_a_download_that_was_complete_is_taken(server, root, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(unpack.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
        with pytest.raises(OSError, match=r"the zip file unpacks to 0\.0 GB, and \S* has 0\.0 GB left; make room"):
            fetch(urls=[server.url], root=root)
    assert not (root / "xlsa17").exists()
    fetch(urls=[server.url], root=root)
    assert server.asked == [None, f"bytes={len(server.content)}-"]  # answered by 416: there is no more


# refusals


def refused(server, root, kind=(ValueError, ConnectionError), urls=None):
    with pytest.raises(kind) as caught:
        fetch(urls=urls or [server.url], root=root)
    assert not (root / "xlsa17").exists()
    assert not (root / "xlsa17.sha256").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
def test_not_there(server, root, status):
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


def test_nobody_there(root):
    with socket.socket() as taken:  # and not listened to, so that nobody else can answer there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/xlsa17.zip"
        assert "the connection failed" in refused(None, root, ConnectionError, [url])


def test_a_server_that_falls_silent(server, root, monkeypatch):
    monkeypatch.setattr(download, "SILENCE", 0.05)
    server.silent = threading.Event()
    try:
        assert "the connection failed (timed out), 5 times in a row" in refused(server, root, ConnectionError)
    finally:
        server.silent.set()


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
    "xlsa17/..",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_outside_the_folder(server, root, path):
    server.content = zipped({"xlsa17/data/CUB/att_splits.mat": b"1", path: b"evil"})
    assert "a path outside its folder; nothing was unpacked" in refused(server, root, ValueError)
    assert names(root) == CLEAN
    assert not list(root.parent.rglob("*evil*"))


def test_links(server, root):
    link = zipfile.ZipInfo("xlsa17/data/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO(zipped({"xlsa17/data/CUB/att_splits.mat": b"1"}))
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr(link, "/etc/passwd")
    server.content = buffer.getvalue()
    assert "'xlsa17/data/link', a link or a device" in refused(server, root, ValueError)
    assert names(root) == CLEAN


def test_the_same_file_twice(server, root):
    server.content = zipped({"xlsa17/CUB/att_splits.mat": b"1", "CUB/./att_splits.mat": b"2"})
    assert "without a name or twice" in refused(server, root, ValueError)


def test_another_zip(server, root):
    server.content = zipped({"birds.csv": b"1"})
    assert "the zip file holds no att_splits.mat, so it is not this package" in refused(server, root, ValueError)
    assert names(root) == CLEAN


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


def test_unknown_packages_and_no_addresses(root):
    with pytest.raises(ValueError, match="no package is called 'flo'; the known ones are: xlsa17"):
        fetch("flo", root=root)
    with pytest.raises(ValueError, match="urls is empty"):
        fetch(urls=[], root=root)


# the command line


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
