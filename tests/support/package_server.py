"""A server on this machine that gives a zip file, well, badly, and worse; and what a fetch leaves behind."""

import io
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

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
    """What it serves can be set; it counts requests."""

    def __init__(self, content):
        self.content = content
        self.drops = 0  # how many answers break off midway
        self.status = 200
        self.announced = None  # a wrong Content-Length
        self.location = None
        self.silent = None  # an event until which nothing is answered
        self.asked = 0

    def answer(self, handler):
        self.asked += 1
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
        body = self.content
        handler.send_response(200)
        handler.send_header("Content-Length", str(self.announced or len(body)))
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


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def refused(server, root, kind=(ValueError, ConnectionError), urls=None):
    with pytest.raises(kind) as caught:
        fetch(urls=urls or [server.url], root=root)
    assert not (root / "xlsa17").exists()
    assert not (root / "xlsa17.sha256").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)
