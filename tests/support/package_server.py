"""A server on this machine that gives a zip file, well, badly, and worse; and what a fetch leaves behind."""

import io
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from zskl.datasets.xlsa17 import download
from zskl.datasets.xlsa17.fetch import fetch

CLEAN = [".xlsa17.lock"]


DONE = [".xlsa17.lock", "xlsa17", "xlsa17.sha256"]


def zipped(files, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return buffer.getvalue()


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


def pausing(monkeypatch, call):
    """`call` takes the place of each pause between two connections; clocks of other threads go on."""
    monkeypatch.setattr(download, "time", SimpleNamespace(sleep=call))


def give_up(seconds):
    raise KeyboardInterrupt


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def refused(server, root, kind=(ValueError, ConnectionError), urls=None):
    with pytest.raises(kind) as caught:
        fetch(urls=urls or [server.url], root=root)
    assert not (root / "xlsa17").exists()
    assert not (root / "xlsa17.sha256").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)
