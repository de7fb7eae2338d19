"""How a service starts and ends."""

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import uvicorn

import services
from command import zskl
from services import ODD, not_started, refusal, strings
from zskl.serve import app as apps
from zskl.serve import server
from zskl.serve.app import GuardMiddleware
from zskl.serve.limits import Limits, Refusal
from zskl.serve.server import ConnectionCounts, SharedServer
from zskl.serve.service import Service
from zskl.serve.store import ClassStore

NOT_ON_WINDOWS = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no workers")
ON_POSIX = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP, no Ctrl-C for one process")


@pytest.mark.parametrize(
    ("host", "token", "sentence"),
    [
        ("0.0.0.0", None, "can be reached from other machines"),
        ("::", None, "can be reached"),
        ("192.168.1.2", None, "can be reached"),
        ("example.org", None, "can be reached"),
        ("127.0.0.1", "", "the token is empty"),
        ("127.0.0.1", "two words", "blanks"),
        ("127.0.0.1", "é", "ASCII"),
        ("0.0.0.0", "", "the token is empty"),
    ],
)
def test_bad_addresses_and_tokens_are_refused(host, token, sentence):
    with pytest.raises(ValueError, match=sentence):
        server.Address(host, token=token)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost"])
def test_loopback_needs_no_token(host):
    assert server.Address(host).token is None


def test_contradicting_options_are_refused(toy_file, tmp_path, monkeypatch):
    monkeypatch.delenv("ZSKL_TOKEN", raising=False)
    bad = tmp_path / "bad.zskl"
    bad.write_text("no model")
    assert "a model file, or --demo" in not_started()
    assert "not both" in not_started(toy_file, "--demo")
    assert "without --data" in not_started(toy_file, "--images", tmp_path)
    assert "leave out --data" in not_started("--demo", "--data", "digits")
    done = zskl("serve", str(toy_file), "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "give a token" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert "bad.zskl" in not_started(bad)
    assert "none.zskl" in not_started(tmp_path / "none.zskl")
    assert "64 features" in not_started(toy_file, "--data", "digits")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"port {port}" in not_started(toy_file, "--port", port, "--classes", tmp_path / "c.jsonl")


def test_port_in_use_is_refused(monkeypatch):
    """Windows' own SO_REUSEADDR would let them."""
    monkeypatch.setattr(server, "os", SimpleNamespace(name="nt"))
    with server.bind_socket(server.Address(port=0)) as first:
        assert first.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
        with pytest.raises(OSError, match="choose another by --host and --port"):
            server.bind_socket(server.Address(port=first.getsockname()[1]))


def ended_by(number, service, headers=()):
    """Send a signal in the middle of a request: the request is answered, then the process ends by itself."""
    X = strings()[1]
    body = json.dumps({"rows": X.tolist()}).encode()
    lines = [
        "POST /predict HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Expect: 100-continue",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    with service.connected() as connection:
        connection.sendall("\r\n".join([*lines, "\r\n"]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the service waits for the body
        connection.sendall(body[:100])
        service.process.send_signal(number)
        service.wait_until_closed()  # it has the signal
        connection.sendall(body[100:])
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200")
    assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["predictions"]) == len(X)
    assert service.process.wait(services.LIMIT) == 0
    return service.process.stdout.read().splitlines()


@ON_POSIX
def test_classes_survive_every_kind_of_stop(tmp_path, toy_file):
    """Services one after another, ended by SIGHUP, Ctrl-C and from within; the first has a token. All others that
    tests start are ended by SIGTERM."""
    model = tmp_path / toy_file.name
    model.write_bytes(toy_file.read_bytes())
    kept = tmp_path / f"{toy_file.name}.classes.db"
    token = {"authorization": "Bearer t0ken"}
    with services.running(model, patient=True, ZSKL_TOKEN="t0ken") as service, service.client(headers=token) as client:
        assert service.name == "toy.zskl"
        assert "t0ken" not in service.said
        with service.client() as nobody:
            refusal(nobody.get("/model"), 401)
            assert nobody.get("/health").json()["status"] == "ok"
        for name in ODD:
            assert client.post("/classes", json={"name": name, "attributes": {"size": 0.1}}).status_code == 201
        client.put("/classes/100%25", json={"attributes": {"legs": 1 / 3, "fur": -1e-300}})
        client.delete("/classes/null")
        before, about = client.get("/classes").json(), client.get("/classes/100%25").json()
        said = ended_by(signal.SIGHUP, service, ["Authorization: Bearer t0ken"])
        assert said[-1] == f"added classes are kept in {kept}; there now: 0"
    with ClassStore(kept) as store:
        assert len(store.lines()) == len(ODD)  # one was deleted; a line for the versions of examples
    with services.running(model, patient=True) as service, service.client() as client:
        assert client.get("/classes").json() == before  # the version, too: what somebody saw before counts on
        assert client.get("/classes/100%25").json() == about
        assert ended_by(signal.SIGINT, service)[-1].startswith("added classes are kept in")
    other = tmp_path / "other.db"
    with services.in_thread(model, classes=other) as (address, _):
        assert len(httpx.get(f"{address}/classes", trust_env=False).json()["classes"]) == 5
    assert other.exists()


@ON_POSIX
@pytest.mark.parametrize("ignored", [True, False])
def test_ignored_hangup_does_not_stop_the_service(ignored):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    running = uvicorn.Server(uvicorn.Config("none"))
    try:
        with server.stop_on_signals(running):
            signal.raise_signal(signal.SIGHUP)
            assert running.should_exit == (not ignored)
        assert signal.getsignal(signal.SIGHUP) is (signal.SIG_IGN if ignored else signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_second_ctrl_c_stops_at_once():
    running = uvicorn.Server(uvicorn.Config("none"))
    before = signal.getsignal(signal.SIGINT)
    with server.stop_on_signals(running):
        for number, forced in ((signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGINT, True)):
            signal.raise_signal(number)
            assert (running.should_exit, running.force_exit) == (True, forced)
    assert signal.getsignal(signal.SIGINT) is before


class Endless(uvicorn.Server):
    """A server whose requests compute until `let_go`, whatever it is told."""

    def __init__(self):
        super().__init__(uvicorn.Config("none"))
        self.let_go = threading.Event()

    def run(self, sockets=None):
        self.started = True
        self.let_go.wait(services.LIMIT)


def test_running_computation_does_not_block_shutdown(monkeypatch):
    running, ended = Endless(), []

    def end(code):
        ended.append((code, running.should_exit))
        running.let_go.set()

    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", -2)  # its time is over at once
    monkeypatch.setattr(server.os, "_exit", end)
    server.serve_until_stopped(running, None, ready=lambda: setattr(running, "should_exit", True))
    assert ended == [(0, True)]


def test_server_failure_is_raised():
    class Failing(uvicorn.Server):
        def run(self, sockets=None):
            raise OSError("no more files")

    with pytest.raises(OSError, match="no more files"):
        server.serve_until_stopped(Failing(uvicorn.Config("none")), None, ready=lambda: pytest.fail("it is not ready"))


def test_long_request_head_is_refused(over_a_socket):
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    for endless in (b"GET /" + b"a" * (1 << 16), start + b"x: y\r\n" * 9999, start + b"x: " + b"y" * (1 << 16)):
        cut_off(over_a_socket, endless)
    client = over_a_socket.asking
    assert client.get("/health").status_code == 200
    assert client.get("/health", headers={"x": "y" * 30000}).status_code == 200
    assert over_a_socket.peak() < 1000


class Transport(asyncio.Transport):
    """A connection of a client that reads nothing. It notes what is written, and when it ends."""

    def __init__(self):
        super().__init__()
        self.ended, self.written = asyncio.Event(), []

    def write(self, data):
        self.written.append(data)

    def abort(self):
        self.ended.set()

    close = abort

    def pause_reading(self):
        """It has all it will get."""

    resume_reading = pause_reading

    def is_closing(self):
        return self.ended.is_set()


@asynccontextmanager
async def unread(application=None):
    """A connection of the service."""
    config = server.configure_server(application or app)
    connection = config.http_protocol_class(config, uvicorn.Server(config).server_state, {})
    connection.connection_made(transport := Transport())
    try:
        yield connection, transport
    finally:
        connection.connection_lost(None)


def test_unread_answer_closes_the_connection(monkeypatch):
    """Only while something was sent and not read the clock runs."""
    monkeypatch.setattr(server, "READ_SECONDS", 0.05)

    async def ask():
        async with unread() as (connection, transport):
            connection.pause_writing()
            connection.resume_writing()
            assert not transport.ended.is_set()
            connection.pause_writing()
            await asyncio.wait_for(transport.ended.wait(), services.LIMIT)

    asyncio.run(ask())


def cut_off(service, endless):
    """The service ends a connection rather than read on."""
    with service.connected() as connection:
        connection.sendall(endless)
        with pytest.raises(ConnectionError):
            connection.sendall(b"y" * (100 << 20))


def test_long_chunk_headers_are_refused(over_a_socket):
    lines = [
        "POST /predict HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ]
    chunked = "\r\n".join([*lines, "\r\n"]).encode()
    for endless in (b"0\r\nx: " + b"y" * (1 << 16), b"0\r\n" + b"x: y\r\n" * 99_999, b"1;" + b"x" * (1 << 16)):
        cut_off(over_a_socket, chunked + endless)
    with over_a_socket.connected() as connection:
        parts = b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"rows": [[0, 0, 0, 0, 0, 1]]' + b" " * 50_000 + b"}")
        connection.sendall(chunked + parts + b"0\r\nx: y\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert over_a_socket.peak() < 1000


def test_slow_request_head_closes_the_connection(monkeypatch):
    model, _ = strings()
    service = Service(model, "m", Limits())
    listening = server.bind_socket(server.Address(port=0))
    listening.listen()
    guarded = GuardMiddleware(apps.build_app(service), None, {"localhost"}, service.limits)
    config = server.configure_server(guarded, keep_alive=services.LIMIT)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([listening],))
    thread.start()

    def connected():
        return socket.create_connection(listening.getsockname(), timeout=services.LIMIT)

    def ended(connection, start):
        """Nothing comes back but the end, also where that comes before all is sent."""
        with suppress(ConnectionError):
            connection.sendall(start)
            assert connection.recv(4096) == b""
        return True

    try:
        with connected() as connection:  # which had a whole request before
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):  # its head and its body may come apart
                part = connection.recv(4096)
                assert part
                answer += part
            assert answer.startswith(b"HTTP/1.1 200")
            monkeypatch.setattr(server, "HEAD_SECONDS", 0.05)
            assert ended(connection, b"GET /hea")
        for start in (b"", b"GET /hea"):
            with connected() as connection:
                assert ended(connection, start)
    finally:
        running.should_exit = True
        thread.join(services.LIMIT)
        listening.close()


async def app(scope, receive, send):
    """Nobody asks it anything."""


@asynccontextmanager
async def sharing(counts, place, listening):
    config = server.configure_server(app)
    found = SharedServer(config, counts, place)
    found.lifespan = config.lifespan_class(config)
    with listening.dup() as own:  # as after a fork
        await found.startup([own])
        try:
            yield found
        finally:
            await found.shutdown([own])


async def count_connections(workers, connections, counts):
    """How many connections each worker has, of those that came before any of them could look."""
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(server.bind_socket(server.Address(port=0)))
        crew = [await stack.enter_async_context(sharing(counts, place, listening)) for place in range(workers)]
        for _ in range(connections):
            stack.enter_context(socket.create_connection(listening.getsockname(), services.LIMIT))
        while sum(len(one.server_state.connections) for one in crew) < connections:
            await asyncio.sleep(0)
        return [len(one.server_state.connections) for one in crew]


@NOT_ON_WINDOWS
def test_workers_share_simultaneous_connections():
    assert max(asyncio.run(count_connections(2, 8, ConnectionCounts(2)))) <= 6  # uvicorn's own server would take all


@NOT_ON_WINDOWS
def test_worker_yields_connections_only_briefly():
    counts = ConnectionCounts(2)  # the second one never looks
    assert [counts.has_more(0, 1), counts.has_more(0, 0)] == [True, False]
    assert asyncio.run(count_connections(1, 8, counts)) == [8]
    assert not counts.has_more(1, 7)
    assert counts.has_more(1, 8)


@NOT_ON_WINDOWS
def test_too_many_open_files_are_survived(monkeypatch, caplog):
    accept, failed = socket.socket.accept, []

    def failing(own):
        if failed:
            return accept(own)
        failed.append(True)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(socket.socket, "accept", failing)
    monkeypatch.setattr(server, "RETRY_SECONDS", 0)
    assert asyncio.run(count_connections(1, 1, ConnectionCounts(1))) == [1]
    assert "Too many open files" in caplog.text


def test_slow_reader_is_disconnected(monkeypatch):
    monkeypatch.setattr(server, "READ_SECONDS", 0.05)
    monkeypatch.setattr(server, "READ_SECONDS_PER_CHUNK", 0.0)

    async def ask():
        async with unread() as (connection, transport):
            while not transport.ended.is_set():
                connection.pause_writing()
                await asyncio.sleep(0.001)
                connection.resume_writing()

    asyncio.run(asyncio.wait_for(ask(), services.LIMIT))


# What clients send by themselves with every request, because they would rather speak HTTP/2 or a websocket

H2C = [
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAA",
]
WEBSOCKET = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13"]
CLIENTS = {
    "curl --http2": ["User-Agent: curl/7.88.1", "Accept: */*", *H2C],
    "Java": [*H2C, "User-Agent: Java-http-client/17.0.15"],
    "Go": ["User-Agent: Go-http-client/1.1", "Accept-Encoding: gzip"],
    "Go, upgrading": ["User-Agent: Go-http-client/1.1", "Connection: upgrade", "UPGRADE: h2c, foo/2"],
    "Node, fetch": ["connection: keep-alive", "accept: */*", "accept-language: *", "sec-fetch-mode: cors"],
    "Node, websocket": ["Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits", *WEBSOCKET],
    "a browser's websocket": ["Pragma: no-cache", "Origin: http://localhost", *WEBSOCKET],
    "HTTP/1.1 in TLS": ["Connection: Upgrade", "Upgrade: TLS/1.3"],
}


def request_bytes(first, lines, body=b"", version="1.1"):
    sent = [f"Content-Length: {len(body)}", "Content-Type: application/json"] if body else []
    return "\r\n".join([f"{first} HTTP/{version}", "Host: localhost", *lines, *sent, "", ""]).encode() + body


def replies(service, *sent):
    """The answers on one connection to so many requests: status and body of each."""
    found = []
    with service.connected() as connection, connection.makefile("rb") as file:
        for one in sent:
            connection.sendall(one)
        for _ in sent:
            status = int(file.readline().split()[1])
            headers = dict(line.strip().lower().split(b": ", 1) for line in iter(file.readline, b"\r\n"))
            found.append((status, file.read(int(headers[b"content-length"]))))
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_offers_of_other_protocols_are_passed_over(over_a_socket, client):
    """Clients get the answer of HTTP/1.1, also to a body, and go on with the same connection."""
    lines = CLIENTS[client]
    body = json.dumps({"rows": strings()[1][:2].tolist()}).encode()
    get, post = request_bytes("GET /classes", lines), request_bytes("POST /predict", lines, body)
    expected = over_a_socket.asking.post("/predict", content=body, headers={"content-type": "application/json"})
    listed = over_a_socket.asking.get("/classes")
    assert replies(over_a_socket, get, post, post, get) == [
        (200, listed.content), (200, expected.content), (200, expected.content), (200, listed.content)
    ]  # fmt: skip
    ((status, text),) = replies(over_a_socket, request_bytes("GET /nowhere", lines))
    assert (status, list(json.loads(text))) == (404, ["error"])


def feed(pieces):
    """What the service writes when these bytes arrive one after another, from an application that repeats bodies."""

    async def repeat(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        assert b"upgrade" not in dict(scope["headers"])
        said = f"<{scope['method']} {scope['path']} {scope['http_version']} {body.decode()}>".encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(said))]})
        await send({"type": "http.response.body", "body": said})

    async def ask():
        async with unread(repeat) as (connection, transport):
            for piece in pieces:
                connection.data_received(piece)
            while connection.tasks:
                await asyncio.sleep(0)
            return b"".join(transport.written), transport.is_closing()

    return asyncio.run(ask())


def test_offer_may_come_in_any_pieces_and_at_any_place(caplog):
    offered = request_bytes("POST /a?b=c", H2C, b"body of a")
    chunked = [*H2C, "Transfer-Encoding: chunked"]
    pipelined = (
        offered + request_bytes("GET /b", []) + offered + request_bytes("POST /c", chunked) + b"1\r\nx\r\n0\r\n\r\n"
    )
    whole, closing = feed([pipelined])
    for said in (b"<POST /a 1.1 body of a>", b"<GET /b 1.1 >", b"<POST /c 1.1 x>"):
        assert whole.count(said) == pipelined.count(said[1:8])
    assert not closing
    byte_by_byte, _ = feed([bytes([one]) for one in offered])
    assert byte_by_byte.count(b"HTTP/1.1 200") == byte_by_byte.count(b"<POST /a 1.1 body of a>") == 1
    told, closing = feed([request_bytes("GET /old", H2C, version="1.0")])
    assert b"<GET /old 1.0 >" in told
    assert closing
    told, closing = feed([request_bytes("GET /last", ["Connection: close, Upgrade", "Upgrade: h2c"])])
    assert b"<GET /last 1.1 >" in told
    assert closing
    assert caplog.text == ""  # no traceback, and no warning either: it is nobody's fault


def test_many_offers_at_once_are_answered_one_by_one():
    offers = 3000
    told, _ = feed([request_bytes("GET /a", H2C) * offers])
    assert told.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("first", ["CONNECT example.org:443", "CONNECT /health", "PRI *"])
def test_connect_and_http2_are_refused(over_a_socket, first):
    ((status, text),) = replies(over_a_socket, request_bytes(first, []) + b"SM\r\n\r\n")
    assert status == 400
    assert b"HTTP" in text or b"not a proxy" in text
    assert over_a_socket.asking.get("/health").status_code == 200


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_with_http2_is_answered(over_a_socket):
    body = json.dumps({"rows": strings()[1][:2].tolist()})
    command = ["curl", "-sS", "--http2", "--max-time", str(services.LIMIT), f"{over_a_socket.address}/predict"]
    command += ["-H", "Content-Type: application/json", "-d", body]
    done = subprocess.run(command, capture_output=True, text=True, timeout=services.LIMIT)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["predictions"]) == 2


# Options from the environment


def test_every_option_can_be_set_in_the_environment(toy_file, tmp_path, monkeypatch):
    given = {}

    def run_service(model, path, kept, data, names, images, backbone, address, say, count, device, **more):
        given.update(vars(address) | more, path=path, kept=kept, count=count, device=device, images=images, data=data)
        given["backbone"] = backbone

    monkeypatch.setattr(server, "run_service", run_service)
    wanted = {
        "HOST": "0.0.0.0", "PORT": "81", "TOKEN": "edits", "READ_TOKEN": "reads", "PUBLIC_URL": "https://birds.example",
        "RATE_LIMIT": "600", "WORKERS": "3", "CLASSES": "kept.db", "ACCESS_LOG": "1", "JSON_LOGS": "true",
        "MODEL": str(toy_file), "DATASET": "digits", "IMAGES": "pictures", "BACKBONE": "x", "DEVICE": "cpu",
        "DATA": str(tmp_path),
    }  # fmt: skip
    for name, value in wanted.items():
        monkeypatch.setenv(f"ZSKL_{name}", value)
    done = zskl("serve")
    assert done.returncode == 0, done.stderr
    assert {name: str(value) for name, value in given.items() if name != "data"} == {
        "host": "0.0.0.0", "port": "81", "token": "edits", "read_token": "reads", "public": "https://birds.example",
        "rate": "600", "count": "3", "kept": "kept.db", "access_log": "True", "json_logs": "True",
        "path": str(toy_file), "images": "pictures", "backbone": "x", "device": "cpu",
    }  # fmt: skip
    assert given["data"].name == "digits"
    assert zskl("serve", "--port", "82").returncode == 0
    assert given["port"] == 82  # what is typed counts
    monkeypatch.setenv("ZSKL_PORT", "many")
    assert zskl("serve").returncode == 2
    for name in wanted:
        monkeypatch.delenv(f"ZSKL_{name}")
    monkeypatch.setenv("ZSKL_DEMO", "1")
    monkeypatch.setenv("ZSKL_EXPORT_CLASSES", str(tmp_path / "out.jsonl"))
    assert "without a model or --classes" in not_started()


# Loading the model again


def test_reload_without_losing_a_request(tmp_path):
    """The file has another model by then: with other scores, or none at all. Clients ask all the time."""
    X, y, table = services.toy()
    path = tmp_path / "toy.zskl"
    models = [services.kernel(sigma=sigma).fit(X, y, table) for sigma in (1.0, 3.0)]
    models[0].save(path)
    body, stop, found = {"rows": X[:1].tolist(), "candidates": list(table.index)}, threading.Event(), []
    expected = [model.top_k(X[:1], 5, return_scores=True)[1][0] for model in models]
    scores = [[pytest.approx(one, rel=1e-4) for one in row] for row in expected]

    def ask(address):
        with httpx.Client(base_url=address, trust_env=False, timeout=services.LIMIT) as client:
            while not stop.is_set():
                answer = client.post("/v1/predict", json=body)
                found.append(answer.status_code)
                assert [one["score"] for one in answer.json()["predictions"][0]["top"]] in scores

    with (
        services.in_thread(path) as (address, _),
        httpx.Client(base_url=address, trust_env=False, timeout=services.LIMIT) as client,
        ThreadPoolExecutor(3) as pool,
    ):
        said = client.post("/v1/predict", json=body).json()
        assert [one["score"] for one in said["predictions"][0]["top"]] == scores[0]
        version = client.put("/classes/own", json={"attributes": {"size": 1.0}}).json()["version"]
        client.delete("/classes/own")
        asking = [pool.submit(ask, address) for _ in range(3)]
        try:
            models[1].save(path)
            assert client.post("/v1/reload").json()["status"] == "reloaded"
            said = client.post("/v1/predict", json=body).json()
            assert [one["score"] for one in said["predictions"][0]["top"]] == scores[1]
            path.write_bytes(b"no model")
            said = refusal(client.post("/v1/reload"), 409)
            assert "the old model goes on" in said
            assert str(tmp_path) not in said
            put = client.put("/classes/own", json={"attributes": {"size": 1.0}})
            assert put.json()["version"] == version + 2
            services.kernel().fit(X, y, table.rename(columns={"size": "bulk"})).save(path)
            assert "goes on" in refusal(client.post("/v1/reload"), 409)  # `own` has a size
            assert client.get("/classes/own").json()["version"] == version + 2
        finally:
            stop.set()
        for one in asking:
            one.result(services.LIMIT)
    assert set(found) == {200}


def test_demo_has_nothing_to_reload(plain):
    assert "no model file" in refusal(plain[2].post("/v1/reload"), 409)


def test_workers_follow_a_reload():
    """Of two workers in this process; a third one takes the place of one that has died."""
    state, built = server.ReloadState(2), []

    def build(again):
        built.append(again)
        if again and "broken" in built:
            raise ValueError("broken")
        return SimpleNamespace(), None

    one, other = (server.ReloadableApp(build, state, place) for place in range(2))
    other.follow()
    assert built == [False, False]
    with ThreadPoolExecutor(1) as pool:
        reloading = pool.submit(one.reload)
        while state.numbers[0] == 0:
            time.sleep(0.001)
        assert not reloading.done()
        other.follow()
        assert reloading.result(services.LIMIT) >= 0
        assert built == [False, False, True, True]
        other.follow()
        server.ReloadableApp(build, state, 1)
        assert built[4:] == [False, True]
        reloading = pool.submit(other.reload)
        while state.numbers[0] == 1:
            time.sleep(0.001)
        built.append("broken")
        one.follow()
        with pytest.raises(Refusal, match="not all workers"):
            reloading.result(services.LIMIT)
        with pytest.raises(Refusal, match="the old model goes on"):
            other.reload()
        assert list(state.numbers) == [2, -2, 2]
