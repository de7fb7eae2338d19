"""Models to serve, a client around a service in this process, and services in processes of their own."""

import os
import queue
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
import uvicorn
from starlette.testclient import TestClient
from typer.testing import CliRunner

import described
import zskl
from zskl import ZeroShotKernelClassifier, cli, datasets, methods
from zskl.cli import serve
from zskl.serve import app, row_pictures, server
from zskl.serve.guard import Guard
from zskl.serve.limits import Limits
from zskl.serve.rows import LoadedRows
from zskl.serve.served_model import by_text
from zskl.serve.service import Service

SEEN, UNSEEN = ["ant", "cat", "dog"], ["emu", "bee"]
ATTRIBUTES = ["size", "legs", "wings", "fur"]
TEMPERATURES = {"seen": 0.2, "unseen": 0.4, "mixed": 0.3}
LIMIT = 300  # seconds that only a hang takes
ODD = ["a/b", "/", "a//b/", "é ü 漢字 🦉", "it's \"quoted\"", "100%", "%2F", "%", "a?b#c&d=e", "<b>bold</b>", "x" * 200,
       "...", "a..b", "../../etc/passwd", "C:\\x", "null", "0", "a+b c", "{name}", ";", "openapi.json"]  # fmt: skip
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "ZSKL_TOKEN"},
    "PYTHONPATH": str(Path(zskl.__file__).parents[1]),
    "OMP_NUM_THREADS": "1",
}


def toy(seed=7, width=6, each=12):
    """Rows (n, width) of three classes, their labels, and a table that describes two more."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(5, 4)), index=[*SEEN, *UNSEEN], columns=ATTRIBUTES)
    y = np.repeat(SEEN, each)
    X = table.loc[y].to_numpy() @ rng.normal(size=(4, width)) + 0.3 * rng.normal(size=(len(y), width))
    return X.astype(np.float32), y, table


def kernel(*arguments, **parameters):
    return ZeroShotKernelClassifier(*arguments, **{"epochs": 2, "random_state": 0, **parameters})


def calibrated(model, constant=0.05):
    model.calibration_, model.temperatures_ = constant, dict(TEMPERATURES)
    return model


@cache
def digits():
    """A model of the digits, calibrated by hand, and the digits; nobody changes them."""
    data = datasets.load("digits")
    model = methods.build("gaussian-ort", {"random_state": 0}).fit(*data.samples("trainval"), data.signatures)
    return calibrated(model, 0.4), data


@cache
def small():
    """Twelve rows, and a model that knows all their classes."""
    X, _, table = toy(each=4)
    y = np.array(["ant", "cat", "dog"] * 2 + ["ant", "cat"] + ["emu", "bee"] * 2)
    parts = {"trainval": np.arange(6), "test_seen": np.arange(6, 8), "test_unseen": np.arange(8, 12)}
    return calibrated(kernel().fit(X[:6], y[:6], table)), datasets.Dataset("small", X, y, table, parts)


def with_data(model, data, folder=None, names=None):
    """A service of a model with rows to look at."""
    rows = LoadedRows(data, by_text(model), row_pictures.of(data, folder, names), names)
    return Service(model, "digits.zskl", Limits(), None, rows)


@cache
def description():
    """What `/openapi.json` says, which is the same for all services."""
    return app.build(Service(small()[0], "small", Limits())).openapi()


def client(service, token=None, limits=None, **options):
    """A client whose requests pass the guard, as those over a socket do. Each answer has a status that the description
    lists."""
    guarded = Guard(app.build(service), token, {"localhost"}, limits or service.limits)
    found = TestClient(guarded, base_url="http://localhost", raise_server_exceptions=False, **options)
    found.event_hooks = {"response": [lambda answer: described.check(description(), answer)]}
    return found


def client_of(model):
    """A client of a service of a model, without data."""
    return client(Service(model, "model.zskl", Limits()))


def command(*arguments, patient=False):
    """`zskl serve`; a patient one waits for requests under way as long as a test may take."""
    if not patient:
        return [sys.executable, "-m", "zskl", "serve", *map(str, arguments)]
    heed = "import signal; hasattr(signal, 'SIGHUP') and signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    start = f"{heed}; from zskl.serve import server; server.WAIT = {LIMIT}; from zskl.cli import main; main()"
    return [sys.executable, "-c", start, "serve", *map(str, arguments)]


def not_started(*arguments):
    """The sentence with which a service does not start, in this process."""
    run = CliRunner().invoke(cli.app, ["serve", *map(str, arguments)])
    assert isinstance(run.exception, ValueError | OSError), (run.exception, run.stdout)
    return str(run.exception)


class Running:
    """A service in a process of its own: its address, what it says, and how much memory it ever took."""

    def __init__(self, *arguments, patient=False, **environment):
        self.process = subprocess.Popen(
            command(*arguments, "--port", 0, patient=patient),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=ENVIRONMENT | environment,
        )
        self.said = self.process.stdout.readline()
        found = re.search(r"^zskl serves (.+) at (http://127\.0\.0\.1:(\d+))$", self.said)
        assert found, f"the service did not start: {self.said!r}, exit code {self.process.wait(LIMIT)}"
        self.name, self.address, self.port = found[1], found[2], int(found[3])

    def client(self, **options):
        return httpx.Client(base_url=self.address, timeout=LIMIT, trust_env=False, **options)

    def connected(self):
        """A connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)

    def wait_until_closed(self):
        """Until it takes no more connections."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                self.connected().close()
            except ConnectionRefusedError:
                return
            except ConnectionResetError:  # it was about to close
                continue
        raise AssertionError("the service still takes connections")

    def peak(self):
        """Megabytes; 0 where the system does not tell."""
        place = Path(f"/proc/{self.process.pid}/status")
        if not place.exists():
            return 0
        status = place.read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def end(self):
        """Stop it and wait."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.stdout.close()


@contextmanager
def running(*arguments, **options):
    """What a test starts and does not end is ended by SIGTERM, which it takes well."""
    service = Running(*arguments, **options)
    try:
        yield service
    except BaseException:
        service.process.kill()
        raise
    finally:
        alive = service.process.poll() is None
        code = service.end()
    assert code == 0 or not alive or os.name != "posix"  # Windows ends a process at once


@contextmanager
def in_thread(model=None, **options):
    """The address of a service in a thread of this process, for what its process does not matter to: to start one
    takes seconds. And a function that stops it."""
    servers, said = [], queue.Queue()

    class Noted(uvicorn.Server):
        def __init__(self, config):
            super().__init__(config)
            servers.append(self)

    def stop():
        servers[0].should_exit = True
        running.result(LIMIT)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(server, "WAIT", LIMIT)
        with pytest.MonkeyPatch.context() as starting:
            starting.setattr(uvicorn, "Server", Noted)
            starting.setattr(serve, "say", said.put)
            running = pool.submit(serve.serve, model, port=0, **options)
            running.add_done_callback(said.put)
            first = said.get(timeout=LIMIT)
            while isinstance(first, str) and not first.startswith("zskl serves"):  # what it says of the data before
                first = said.get(timeout=LIMIT)
            address = running.result() if first is running else first.rpartition(" ")[2]
        try:
            yield address, stop
        finally:
            stop()
