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
from functools import cache, cached_property
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
import uvicorn
from starlette.testclient import TestClient
from typer.testing import CliRunner

import zskl
from tolerances import FORMULA, SUMS, assert_close
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, cli, datasets, methods
from zskl.baselines import BASELINES
from zskl.cli import inference
from zskl.serve import app, gallery, server
from zskl.serve.app import GuardMiddleware, SyncMiddleware
from zskl.serve.classes import name_classes_by_text
from zskl.serve.gallery import LoadedRows
from zskl.serve.limits import Limits
from zskl.serve.service import Service
from zskl.serve.store import ClassStore

# Described ------------------------------------------------------------------------------------------------------------
# Which statuses the OpenAPI description lists for a request.


def statuses(description, method, path):
    """The statuses of the operation that answers a request; None if the description lists no such operation."""
    method = "get" if method == "HEAD" else method.lower()
    for template, operations in description["paths"].items():
        template = template if path.startswith("/v1/") else template.removeprefix("/v1")
        if re.fullmatch(re.sub(r"\{\w+\}", ".*", template), path, re.DOTALL):
            return {int(status) for status in operations[method]["responses"]} if method in operations else None
    return None


def check(description, answer):
    """An answer has one of these statuses."""
    request = answer.request
    known = statuses(description, request.method, request.url.path)
    assert known is None or answer.status_code in known, (request.method, request.url.path, answer.status_code)


# Served ---------------------------------------------------------------------------------------------------------------

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
    rows = LoadedRows(data, name_classes_by_text(model), gallery.load_pictures(data, folder, names), names)
    return Service(model, "digits.zskl", Limits(), None, rows)


@cache
def description():
    """What `/openapi.json` says, which is the same for all services."""
    return app.build_app(Service(small()[0], "small", Limits())).openapi()


def client(service, token=None, limits=None, **options):
    """A client whose requests pass the guard, as those over a socket do. Each answer has a status that the description
    lists."""
    guarded = GuardMiddleware(app.build_app(service), token, {"localhost"}, limits or service.limits)
    found = TestClient(guarded, base_url="http://localhost", raise_server_exceptions=False, **options)
    found.event_hooks = {"response": [lambda answer: check(description(), answer)]}
    return found


def client_of(model):
    """A client of a service of a model, without data."""
    return client(Service(model, "model.zskl", Limits()))


def command(*arguments, patient=False):
    """`zskl serve`; a patient one waits for requests under way as long as a test may take."""
    if not patient:
        return [sys.executable, "-m", "zskl", "serve", *map(str, arguments)]
    heed = "import signal; hasattr(signal, 'SIGHUP') and signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    patience = f"from zskl.serve import server; server.SHUTDOWN_SECONDS = {LIMIT}"
    start = f"{heed}; {patience}; from zskl.cli import main; main()"
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
        patch.setattr(server, "SHUTDOWN_SECONDS", LIMIT)
        with pytest.MonkeyPatch.context() as starting:
            starting.setattr(uvicorn, "Server", Noted)
            starting.setattr(inference, "say", said.put)
            running = pool.submit(inference.serve, model, port=0, **options)
            running.add_done_callback(said.put)
            first = said.get(timeout=LIMIT)
            while isinstance(first, str) and not first.startswith("zskl serves"):  # what it says of the data before
                first = said.get(timeout=LIMIT)
            address = running.result() if first is running else first.rpartition(" ")[2]
        try:
            yield address, stop
        finally:
            stop()


# Served models --------------------------------------------------------------------------------------------------------
# Small models of every sort that a service may meet, each with rows as the library takes them.


def integers():
    model, data = digits()
    return model, np.asarray(data.X[::150], np.float32)


@cache
def strings():
    X, y, table = toy()
    return calibrated(kernel().fit(X, y, table)), X


def several_signatures():
    X, y, table = toy()
    more = pd.concat([table, table.loc[["dog", "emu"]] + 0.5])
    return calibrated(kernel().fit(X, y, more)), X


def unnamed_attributes():
    X, y, table = toy()
    seen = {name: table.loc[name].to_numpy() for name in table.index}
    return calibrated(kernel().fit(X, y, seen)), X


def named_columns():
    X, y, table = toy()
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    return calibrated(kernel().fit(frame, y, table)), frame


def uncalibrated():
    X, y, table = toy()
    return kernel().fit(X, y, table), X


def not_explained():
    X, y, table = toy()
    return calibrated(BASELINES["conse"]().fit(X, y, table), 0.01), X


def bilinear():
    X, y, table = toy()
    return calibrated(BASELINES["eszsl"]().fit(X, y, table), 0.01), X


def class_means():
    """Integers as names, and a class that is known by its examples alone."""
    _, data = digits()
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    sixes = data.X[data.y == 6][:3]
    taught = model.add_examples(sixes, [6, 6, 6]).add_examples(sixes[:, ::-1], [66, 66, 66])
    return calibrated(taught, 0.02), np.asarray(data.X[::150], np.float32)


def of_kernel(name, **parameters):
    def built():
        X, y, table = toy()
        return calibrated(kernel(name, **parameters).fit(X, y, table)), X

    built.__name__ = name
    return built


CASES = [
    integers, strings, several_signatures, unnamed_attributes, named_columns, uncalibrated, not_explained, bilinear,
    class_means,
    of_kernel("cauchy"), of_kernel("polynomial", degree=3),
]  # fmt: skip


def values(X):
    """Rows as numbers alone."""
    return np.asarray(X, np.float32)


# Sharing --------------------------------------------------------------------------------------------------------------
# A worker of a service in this process, beside others that share its database.


class Worker:
    """A service with a database, as a process of its own would have it, and a client of it."""

    def __init__(self, model, path):
        self.service = Service(model, "m", Limits(), ClassStore(path))
        self.store = self.service.classes.store

    @cached_property
    def client(self):
        found = client(self.service)
        found.app._app = SyncMiddleware(found.app._app, self.service.classes)  # within the guard, as in a service
        return found

    def put(self, name, size=1.0):
        """The version that a change makes."""
        return self.service.classes.put(name, {"size": size}, True)[0].version

    def known(self):
        """What a request would see: name → size and version."""
        if self.service.classes.is_stale:
            self.service.classes.sync()
        snapshot = self.service.snapshot
        return snapshot.version, {name: (one.attributes["size"], one.version) for name, one in snapshot.added.items()}


# Answers --------------------------------------------------------------------------------------------------------------
# What answers of the service must say, and how to send bodies to it.


def sends(client, body, kind, **options):
    return client.post("/predict", content=body, headers={"content-type": kind}, params=options)


def refusal(answer, status):
    """The sentence of a refusal."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert 10 < len(answer.json()["error"]) < 500
    return answer.json()["error"]


def same(answer, model, X, k, kinds=("seen", "unseen"), candidates=None, calibrated=True):
    """An answer says what `top_k` and `predict_proba` say."""
    assert answer.status_code == 200, answer.text
    every = len(model.candidates_ if candidates is None else candidates)
    labels, scores = model.top_k(X, every, candidates=candidates, calibrated=calibrated, return_scores=True)
    found = answer.json()["predictions"]
    assert len(found) == len(labels)
    told = [[one["score"] for one in row["top"]] for row in found]
    assert_close(told, scores[:, :k], SUMS.single)  # the best scores, best first
    own = [dict(zip(map(str, names), mine, strict=True)) for names, mine in zip(labels, scores, strict=True)]
    assert_close(
        told, [[mine[one["class"]] for one in row["top"]] for row, mine in zip(found, own, strict=True)], SUMS.single
    )
    assert {len({one["class"] for one in row["top"]}) for row in found} == {k}
    assert [row["class"] for row in found] == [row["top"][0]["class"] for row in found]
    assert {one["kind"] for row in found for one in row["top"]} <= set(kinds)
    if model.temperatures_ is None:
        assert {one["probability"] for row in found for one in row["top"]} == {None}
        return
    chosen = model.candidates_ if candidates is None else candidates
    likely = -np.sort(-model.predict_proba(X, candidates=chosen, calibrated=calibrated), axis=1)[:, :k]
    assert_close([[one["probability"] for one in row["top"]] for row in found], likely, SUMS.single)


def explained(answer, expected, top, rows=None):
    assert answer.status_code == 200, answer.text
    found = answer.json()["predictions"]
    found = found if rows is None else [found[row] for row in rows]
    for row, one in zip(found, expected, strict=True):
        assert len(row["top"]) == top
        mine = row["explanation"]
        assert (mine["class"], mine["against"]) == (str(one.label), str(one.against))
        size = np.abs(
            [*one.contributions, *one.terms.values()]
        ).max()  # a difference carries the rounding of what it is a sum of
        assert abs(mine["difference"] - one.difference) <= SUMS.single * size
        assert mine["calibration"] == pytest.approx(one.calibration, rel=FORMULA.single)
        assert [part["attribute"] for part in mine["attributes"]] == [name for name, _ in one.top]
        for part, m in zip(mine["attributes"], one.order, strict=True):
            assert abs(part["contribution"] - one.contributions[m]) <= SUMS.single * size
            values = [None if np.isnan(each[m]) else each[m] for each in (one.values, one.values_against)]
            assert [part["value"], part["value_against"]] == values
            assert part["like"] == (None if one.likeness is None else bool(one.likeness[m] > 0))
        assert mine["by"] == ("attributes" if one.likeness is None else "classes")
        assert (list(mine["terms"]), mine["others"]) == (list(one.terms), len(one.contributions) - len(one.top))
        for name, value in one.terms.items():
            assert abs(mine["terms"][name] - value) <= SUMS.single * size
        assert [(part["class"], part["source"], part["rows"]) for part in mine["evidence"]] == [
            (str(part.label), part.source, part.rows) for part in one.evidence
        ]
        assert list(mine["blocks"]) == list(one.blocks)
        assert mine["text"].startswith(f"{one.label} rather than {one.against}: ")
        total = sum(part["contribution"] for part in mine["attributes"]) + mine["rest"] + sum(mine["terms"].values())
        assert abs(total - mine["difference"]) <= FORMULA.single * size
