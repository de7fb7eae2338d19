"""How a service starts and ends."""

import json
import signal
import socket
import threading
from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import uvicorn

import served
from answers import refusal
from command import zskl
from served import ODD, not_started
from served_models import strings
from zskl.serve import server

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
def test_addresses_and_tokens_that_are_refused(host, token, sentence):
    with pytest.raises(ValueError, match=sentence):
        server.Address(host, token=token)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost"])
def test_addresses_of_this_machine_need_no_token(host):
    assert server.Address(host).token is None


def test_options_that_make_no_sense_together(toy_file, tmp_path, monkeypatch):
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


def test_two_services_never_have_one_port(monkeypatch):
    """Windows' own SO_REUSEADDR would let them."""
    monkeypatch.setattr(server, "os", SimpleNamespace(name="nt"))
    with server.bound(server.Address(port=0)) as first:
        assert first.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
        with pytest.raises(OSError, match="choose another by --host and --port"):
            server.bound(server.Address(port=first.getsockname()[1]))


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
    assert service.process.wait(served.LIMIT) == 0
    return service.process.stdout.read().splitlines()


@ON_POSIX
def test_classes_are_there_after_a_restart_however_it_was_ended(tmp_path, toy_file):
    """Services one after another, ended by SIGHUP, Ctrl-C and from within; the first has a token. All others that
    tests start are ended by SIGTERM."""
    model = tmp_path / toy_file.name
    model.write_bytes(toy_file.read_bytes())
    kept = tmp_path / f"{toy_file.name}.classes.jsonl"
    token = {"authorization": "Bearer t0ken"}
    with served.running(model, patient=True, ZSKL_TOKEN="t0ken") as service, service.client(headers=token) as client:
        assert service.name == "toy.zskl"
        assert "t0ken" not in service.said
        with service.client() as nobody:
            refusal(nobody.get("/health"), 401)
        for name in ODD:
            assert client.post("/classes", json={"name": name, "attributes": {"size": 0.1}}).status_code == 201
        client.put("/classes/100%25", json={"attributes": {"legs": 1 / 3, "fur": -1e-300}})
        client.delete("/classes/null")
        before, about = client.get("/classes").json(), client.get("/classes/100%25").json()
        assert "another service keeps its classes" in not_started(model, "--port", 0)
        said = ended_by(signal.SIGHUP, service, ["Authorization: Bearer t0ken"])
        assert said[-2:] == [f"added classes are kept in {kept}; there now: 0", "stopped"]
    assert len(kept.read_text().splitlines()) == len(ODD) + 2
    with served.running(model, patient=True) as service, service.client() as client:
        assert client.get("/classes").json() == before  # the version, too: what somebody saw before counts on
        assert client.get("/classes/100%25").json() == about
        assert ended_by(signal.SIGINT, service)[-1] == "stopped"
    other = tmp_path / "other.jsonl"
    with served.in_thread(model, classes=other) as (address, _):
        assert len(httpx.get(f"{address}/classes", trust_env=False).json()["classes"]) == 5
    assert other.exists()


@ON_POSIX
@pytest.mark.parametrize("ignored", [True, False])
def test_under_nohup_a_terminal_that_closes_ends_nothing(ignored):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    running = uvicorn.Server(uvicorn.Config("none"))
    try:
        with server.stopped_by_signals(running):
            signal.raise_signal(signal.SIGHUP)
            assert running.should_exit == (not ignored)
        assert signal.getsignal(signal.SIGHUP) is (signal.SIG_IGN if ignored else signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_only_a_second_ctrl_c_ends_running_requests():
    running = uvicorn.Server(uvicorn.Config("none"))
    before = signal.getsignal(signal.SIGINT)
    with server.stopped_by_signals(running):
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
        self.let_go.wait(served.LIMIT)


def test_a_computation_cannot_keep_the_process_from_ending(monkeypatch):
    running, ended = Endless(), []

    def end(code):
        ended.append((code, running.should_exit))
        running.let_go.set()

    monkeypatch.setattr(server, "WAIT", -2)  # its time is over at once
    monkeypatch.setattr(server.os, "_exit", end)
    server.serve(running, None, ready=lambda: setattr(running, "should_exit", True))
    assert ended == [(0, True)]


def test_a_server_that_fails_says_so():
    class Failing(uvicorn.Server):
        def run(self, sockets=None):
            raise OSError("no more files")

    with pytest.raises(OSError, match="no more files"):
        server.serve(Failing(uvicorn.Config("none")), None, ready=lambda: pytest.fail("it is not ready"))
