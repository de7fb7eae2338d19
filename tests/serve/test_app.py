"""The application as a whole: all its paths, its headers, and how large requests take turns."""

import asyncio
import json
import re
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

import services
from services import refusal, strings
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier
from zskl.serve import app, limits, predictions, requests, server
from zskl.serve.app import GuardMiddleware
from zskl.serve.limits import Limits
from zskl.serve.service import Service

# App ------------------------------------------------------------------------------------------------------------------

pytest.importorskip("fastapi", reason="the extra serve is not installed")

HEADERS = {"content-security-policy", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy"}


def test_every_answer_says_how_it_may_be_used(plain):
    client = plain[2]
    for answer in (
        client.get("/health"), client.get("/nowhere"), client.post("/health"), client.get("/classes/none"),
        client.get("/health", headers={"host": "evil.example"}), client.post("/predict", content=b"x"),
    ):  # fmt: skip
        assert set(answer.headers) >= HEADERS
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_what_is_not_there(plain):
    client = plain[2]
    assert "/openapi.json" in refusal(client.get("/nowhere"), 404)
    answer = client.delete("/health")
    assert "DELETE" in refusal(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD"
    for path, status in (
        ("/", 200),
        ("/health", 200),
        ("/classes/ant", 200),
        ("/openapi.json", 200),
        ("/nowhere", 404),
    ):
        head, whole = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (status, b"")
        assert {**head.headers, "content-length": ""} == {**whole.headers, "content-length": ""}
    for path in ("/docs", "/redoc", "/page/..%2f..%2fapp.py", "/page/%2e%2e/app.py", "/page//etc/passwd"):
        assert client.get(path).status_code == 404


def test_a_fault_of_the_service_tells_nothing(fresh, monkeypatch):
    _, X, client = fresh
    monkeypatch.setattr("zskl.serve.predictions.predict_rows", lambda *_: {}["secret"])
    answer = client.post("/predict", json={"rows": X[:1].tolist()})
    assert refusal(answer, 500) == "the service failed on this request; its log says why"
    assert set(answer.headers) >= HEADERS


class Turns(asyncio.Semaphore):
    """A semaphore that knows how many are past it, and how many ever were."""

    inside = ever = 0

    def __init__(self, most):
        super().__init__(most)
        self.most = most

    async def acquire(self):
        await super().acquire()
        self.inside += 1
        self.ever += 1
        return True

    def release(self):
        self.inside -= 1
        super().release()


@pytest.mark.parametrize(
    ("asked", "large"), [({"data_rows": [0] * 3000}, True), ({"data_rows": [0], "explain": True}, False)]
)
def test_small_requests_for_much_work_take_turns(asked, large, monkeypatch):
    """Each computation has passed the first semaphore, which lets as many in at once as there are cores; each large
    answer has its place until it is sent."""
    service = services.with_data(*services.digits())
    made, at_once, lock, predict = [], 0, threading.Lock(), predictions.predict_rows
    outside = []

    def semaphore(most):
        made.append(Turns(most))
        return made[-1]

    def counted(*arguments):
        nonlocal at_once
        with lock:
            at_once += 1
            if at_once > made[0].inside:
                outside.append(at_once)
        try:
            return predict(*arguments)
        finally:
            with lock:
                at_once -= 1

    with monkeypatch.context() as patch:
        patch.setattr(limits.asyncio, "Semaphore", semaphore)
        application = app.build_app(service)
    monkeypatch.setattr(predictions, "predict_rows", counted)

    async def ask():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.post("/predict", json=asked) for _ in range(2 * limits.MAX_WORK)))

    assert {answer.status_code for answer in asyncio.run(ask())} == {200}
    assert outside == []
    work, bodies, answers, _ = made
    assert (work.most, work.ever, work.inside) == (limits.MAX_WORK, 2 * limits.MAX_WORK, 0)
    assert (bodies.ever, answers.ever, answers.inside) == (0, 2 * limits.MAX_WORK if large else 0, 0)


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/predict", "application/json", limits.MAX_LARGE_BODIES),
        ("/predict", "image/jpeg", limits.MAX_PHOTOS),
        ("/classes/3/examples", "image/png", limits.MAX_PHOTOS),
    ],
)
def test_a_body_that_arrives_slowly_keeps_nobody_waiting(path, kind, most):
    """Large bodies that never end, more than there are cores: an explanation is still answered."""
    model, data = services.digits()
    if "examples" in path:
        model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    service = services.with_data(model, data)
    service._photos = requests.PhotoEncoder("ours", None)
    application = app.build_app(service)
    begun, end = [], asyncio.Event

    async def ask():
        over = end()

        async def endless():
            yield b" " * (service.limits.small + 1)
            begun.append(True)
            await over.wait()

        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            slow = [
                asyncio.create_task(client.post(path, content=endless(), headers={"content-type": kind}))
                for _ in range(limits.MAX_WORK + most)
            ]
            while len(begun) < most:
                await asyncio.sleep(0)
            answer = await client.post("/predict", json={"data_rows": [0], "explain": True})
            over.set()
            return answer, await asyncio.gather(*slow)

    answer, refused = asyncio.run(ask())
    assert answer.status_code == 200
    assert {one.status_code for one in refused} == {422}


# Guard ----------------------------------------------------------------------------------------------------------------
# Who may ask: tokens, names of machines, pages of other origins, slow clients.

pytest.importorskip("fastapi", reason="the extra serve is not installed")


def test_a_token_opens_everything_but_the_page(plain):
    client = services.client(Service(plain[0], "m", Limits()), token="s3cret")
    wrong = ["Bearer wrong", "s3cret", "Basic s3cret", "Bearer s3cretx", "Bearer ", b"Bearer \xff"]
    for header in ({}, *({"authorization": value} for value in wrong)):
        for path in ("/health", "/model", "/classes", "/openapi.json", "/nowhere", "/page"):
            answer = client.get(path, headers=header)
            assert "token" in refusal(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"
        refusal(client.post("/predict", headers=header, content=b"{"), 401)
    for header in ("Bearer s3cret", "bearer s3cret", "BEARER  s3cret "):
        assert client.get("/health", headers={"authorization": header}).status_code == 200
    assert client.get("/").status_code != 401
    assert client.get("/page/none.js").status_code == 404
    elsewhere = client.get("/health", headers={"host": "models.example", "authorization": "Bearer s3cret"})
    assert elsewhere.status_code == 200  # the token stands for the name


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost:80:80", "", "127.0.0.2"])
def test_a_name_of_another_machine_is_not_answered(plain, host):
    assert "answers to" in refusal(plain[2].get("/health", headers={"host": host}), 421)


def test_names_of_this_machine_are_answered(plain):
    for host in ("localhost", "LOCALHOST:8000", "localhost:1"):
        assert plain[2].get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://localhost.evil", "x"])
def test_a_page_of_another_origin_may_not_ask(plain, origin):
    client = plain[2]
    assert "origin" in refusal(client.get("/health", headers={"origin": origin}), 403)
    refusal(client.post("/classes", headers={"origin": origin}, json={"name": "x", "attributes": {"size": 1.0}}), 403)


def test_the_page_of_the_service_may_ask(plain):
    assert plain[2].get("/health", headers={"origin": "http://localhost"}).status_code == 200


def test_behind_a_proxy_the_page_has_another_address(plain):
    """Whether the proxy hands the name on or not."""
    service = Service(plain[0], "m", Limits())
    guarded = GuardMiddleware(
        app.build_app(service), None, {"localhost"}, service.limits, "https://Birds.example:443/zskl/"
    )
    client = TestClient(guarded, base_url="http://localhost")
    for host in ("localhost:8000", "birds.example"):
        assert client.get("/health", headers={"host": host, "origin": "https://birds.example"}).status_code == 200
        for origin in ("http://birds.example", "https://evil.example", "https://birds.example.evil", "null"):
            if f"://{host}" not in origin or origin.endswith("evil"):
                said = refusal(client.get("/health", headers={"host": host, "origin": origin}), 403)
                assert "--public-url" in said
    for wrong in ("birds.example", "ftp://birds.example", "https://", "https://a:b@birds.example", "https://x:y/"):
        with pytest.raises(ValueError, match="the address that people type"):
            GuardMiddleware(app.build_app(service), None, set(), service.limits, wrong)


class Slow:
    """A client that sends some messages and then nothing."""

    def __init__(self, messages):
        self.messages, self.sent = messages, []

    async def receive(self):
        if not self.messages:
            await asyncio.Event().wait()
        return self.messages.pop(0)

    async def send(self, message):
        self.sent.append(message)


def test_a_slow_body_and_a_client_that_goes_away():
    """Neither is a fault of the service."""
    model, _ = strings()
    limits = Limits(seconds=0.05)
    service = Service(model, "m", limits)

    guarded = GuardMiddleware(app.build_app(service), None, {"localhost"}, limits)
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/predict",
        "query_string": b"", "raw_path": b"/predict", "root_path": "", "server": ("localhost", 80),
        "client": ("127.0.0.1", 1), "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip
    for messages, status in (
        ([{"type": "http.request", "body": b"{", "more_body": True}], 408),
        ([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}], 400),
    ):
        slow = Slow(messages)
        asyncio.run(guarded(dict(scope), slow.receive, slow.send))
        assert slow.sent[0]["status"] == status
        if status == 408:
            assert "did not arrive" in json.loads(slow.sent[1]["body"])["error"]


# Proxy ----------------------------------------------------------------------------------------------------------------
# Behind nginx, with the configuration of docs/service.md.

pytest.importorskip("fastapi", reason="the extra serve is not installed")

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
SERVICE = Path(__file__).parents[2] / "docs" / "service.md"
DOCUMENTED = re.search(r"```nginx\n(.*?)```", SERVICE.read_text("utf-8"), re.DOTALL)[1]
AROUND = """
daemon off; pid {folder}/pid; error_log {folder}/log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
{server}}}
"""


@contextmanager
def proxied(folder, service):
    """A client of nginx before a service. nginx listens at a socket file, so that it needs no port."""
    socket = folder / "socket"
    server = DOCUMENTED.replace("listen 80", f"listen unix:{socket}").replace("127.0.0.1:8000", service)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, server=server), "utf-8")
    running = subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "log"])
    try:
        while not socket.exists():
            assert running.poll() is None, (folder / "log").read_text("utf-8")
            time.sleep(0.01)
        transport = httpx.HTTPTransport(uds=str(socket))
        with httpx.Client(transport=transport, base_url="http://birds.example/zskl", timeout=services.LIMIT) as client:
            yield client
    finally:
        running.terminate()
        running.wait(services.LIMIT)


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
@pytest.mark.parametrize("public", ["http://birds.example/zskl/", None])
def test_the_page_works_behind_nginx_once_its_address_is_known(tmp_path, toy_file, public):
    new = {"name": "new", "attributes": {"size": 1.0}}
    with (
        services.in_thread(toy_file, classes=tmp_path / "c.jsonl", public_url=public) as (address, _),
        proxied(tmp_path, address.removeprefix("http://")) as client,
    ):
        assert client.get("/").text.startswith("<!")
        assert client.get("/model").status_code == 200
        answer = client.post("/classes", json=new, headers={"origin": "http://birds.example"})
        if public is None:
            assert "--public-url" in refusal(answer, 403)
        else:
            assert answer.status_code == 201
        refusal(client.post("/classes", json=new, headers={"origin": "http://evil.example"}), 403)


# Unread ---------------------------------------------------------------------------------------------------------------
# Answers that clients do not read: how many bytes of them are kept, and for how long.

pytest.importorskip("fastapi", reason="the extra serve is not installed")


def test_who_has_read_nothing_for_the_longest_time_goes_first():
    """Three answers of two pieces, where there is room for two."""
    size = app.CHUNK_BYTES + 1
    kept = app.SendQueue(2 * size)

    async def ask():
        ends, sent = [asyncio.Event() for _ in range(3)], [[], [], []]

        def client(number):
            async def send(message):
                sent[number].append(message)
                await ends[number].wait()

            return asyncio.create_task(kept.send(bytes(size), False, send))

        tasks = [client(0)]
        await asyncio.sleep(0)
        tasks += [client(1)]
        await asyncio.sleep(0)
        tasks += [client(2)]
        with pytest.raises(app.SlowClient):
            await asyncio.wait_for(tasks[0], services.LIMIT)
        for end in ends:
            end.set()
        await asyncio.wait_for(asyncio.gather(*tasks[1:]), services.LIMIT)
        assert [len(one) for one in sent] == [1, 2, 2]
        assert [one["more_body"] for one in sent[1]] == [True, False]
        assert sum(len(one["body"]) for one in sent[1]) == size
        await asyncio.wait_for(client(0), services.LIMIT)  # nothing is left of what was cut off

    asyncio.run(ask())


def test_a_client_cannot_read_slowly_for_ever(monkeypatch):
    monkeypatch.setattr(server, "READ_SECONDS", 0.05)
    monkeypatch.setattr(server, "READ_SECONDS_PER_CHUNK", 0.0)
    ended = asyncio.Event()

    class Silent(asyncio.Protocol):
        def __getattr__(self, name):
            return lambda *_: None

    class Transport:
        abort = close = staticmethod(ended.set)

    async def ask():
        connection = server.limit_protocol(Silent)()
        connection.connection_made(Transport())
        while not ended.is_set():
            connection.pause_writing()
            await asyncio.sleep(0.001)
            connection.resume_writing()
        connection.connection_lost(None)

    asyncio.run(asyncio.wait_for(ask(), services.LIMIT))


@pytest.mark.parametrize("features", [False, True])
def test_a_large_answer_is_put_together_from_parts(features, digits, monkeypatch):
    """It is what one part would be, while few classes are in memory as objects."""
    client = digits[2]
    body = {"data_rows": list(range(40)), "top": 3, "features": features, "nearest": 1}
    whole = client.post("/predict", json=body).json()
    made, predict = [], predictions.predict_rows

    def counted(snapshot, X, options):
        made.append(len(X))
        return predict(snapshot, X, options)

    monkeypatch.setattr(predictions, "QUICK_CLASSES", 60)
    monkeypatch.setattr(predictions, "predict_rows", counted)
    found = client.post("/predict", json=body).json()
    pairs = list(zip(found.pop("predictions"), whole.pop("predictions"), strict=True))
    assert found == whole
    for one, other in pairs:
        assert (one["class"], one["nearest"]) == (other["class"], other["nearest"])
        scores = [[each["score"] for each in answer["top"]] for answer in (one, other)]
        assert_close(scores[0], scores[1], SUMS.single)
    assert sum(made) == 40
    assert max(made) <= 20
