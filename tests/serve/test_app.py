"""The application as a whole: all its paths, its headers, and how large requests take turns."""

import asyncio
import json
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from starlette.testclient import TestClient

import services
from services import refusal, strings
from zskl.serve import app, limits
from zskl.serve.app import GuardMiddleware
from zskl.serve.limits import Limits
from zskl.serve.service import Service

HEADERS = {"content-security-policy", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy"}


def test_every_answer_has_security_headers(plain):
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


def test_unknown_paths_and_methods(plain):
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
        head, whole = (one(path, headers={"x-request-id": "same"}) for one in (client.head, client.get))
        assert (head.status_code, head.content) == (status, b"")
        assert {**head.headers, "content-length": ""} == {**whole.headers, "content-length": ""}
    for path in ("/redoc", "/page/..%2f..%2fapp.py", "/page/%2e%2e/app.py", "/page//etc/passwd"):
        assert client.get(path).status_code == 404


def test_internal_error_reveals_nothing(fresh, monkeypatch):
    _, X, client = fresh
    monkeypatch.setattr("zskl.serve.predictions.predict_rows", lambda *_: {}["secret"])
    answer = client.post("/predict", json={"rows": X[:1].tolist()})
    assert refusal(answer, 500) == "the service failed on this request; its log says why"
    assert set(answer.headers) >= HEADERS


def test_everything_but_the_page_and_probes_needs_the_token(plain, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TOKEN_WAIT", 0.0)
    client = services.client(Service(plain[0], "m", Limits()), token="s3cret")
    wrong = ["Bearer wrong", "s3cret", "Basic s3cret", "Bearer s3cretx", "Bearer ", b"Bearer \xff"]
    for header in ({}, *({"authorization": value} for value in wrong)):
        for path in ("/health", "/ready"):
            assert client.get(path, headers=header).status_code == 200
        for path in ("/model", "/classes", "/openapi.json", "/nowhere", "/page", "/health/", "/readyx"):
            answer = client.get(path, headers=header)
            assert "token" in refusal(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"
        refusal(client.post("/predict", headers=header, content=b"{"), 401)
    for header in ("Bearer s3cret", "bearer s3cret", "BEARER  s3cret "):
        assert client.get("/model", headers={"authorization": header}).status_code == 200
    assert client.get("/").status_code != 401
    assert client.get("/page/none.js").status_code == 404
    elsewhere = client.get("/model", headers={"host": "models.example", "authorization": "Bearer s3cret"})
    assert elsewhere.status_code == 200  # the token stands for the name


def test_wrong_token_waits_and_right_ones_do_not(plain, monkeypatch):
    """All come from the same address, as behind a proxy."""
    monkeypatch.setattr(limits, "FIRST_TOKEN_WAIT", 10 * services.LIMIT)
    monkeypatch.setattr(limits, "MAX_TOKEN_WAIT", 10 * services.LIMIT)
    guarded = services.client(Service(plain[0], "m", Limits()), token="s3cret").app

    async def ask():
        transport = httpx.ASGITransport(guarded)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

            def get(token):
                return client.get("/model", headers={"authorization": f"Bearer {token}"} if token else {})

            wrong = [asyncio.create_task(get("wrong")) for _ in range(20)]
            while len(guarded._wrong_tokens._counts) == 0:
                await asyncio.sleep(0)
            found = [(await get(token)).status_code for token in ("s3cret", None, "s3cret")]
            assert not any(task.done() for task in wrong)
            for task in wrong:
                task.cancel()
            await asyncio.gather(*wrong, return_exceptions=True)
            return found

    assert asyncio.run(ask()) == [200, 401, 200]


@pytest.mark.parametrize("token", [None, "s3cret"])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Host", ["localhost", "evil.example"]),
        ("Host", ["evil.example", "localhost"]),
        ("host", ["localhost", "localhost"]),
        ("Origin", ["http://evil.example", "http://localhost"]),
        ("Authorization", ["Bearer wrong", "Bearer s3cret"]),
    ],
)
def test_header_that_is_there_twice_is_refused(plain, token, name, values):
    client = services.client(Service(plain[0], "m", Limits()), token=token)
    given = [("authorization", "Bearer s3cret")] * (name != "Authorization")
    headers = [*given, *((one, value) for one, value in zip((name, name.upper()), values, strict=True))]
    for path in ("/model", "/health", "/"):
        said = refusal(client.get(path, headers=headers), 400)
        assert said == f"the header {name.title()} is there more than once: send it once"
    headers = [("authorization", "Bearer s3cret"), ("accept", "a/b"), ("Accept", "c/d")]
    assert client.get("/model", headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost:80:80", "", "127.0.0.2"])
def test_foreign_host_is_refused(plain, host):
    assert "answers to" in refusal(plain[2].get("/health", headers={"host": host}), 421)


def test_local_hosts_are_answered(plain):
    for host in ("localhost", "LOCALHOST:8000", "localhost:1"):
        assert plain[2].get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://localhost.evil", "x"])
def test_foreign_origin_is_refused(plain, origin):
    client = plain[2]
    assert "origin" in refusal(client.get("/health", headers={"origin": origin}), 403)
    refusal(client.post("/classes", headers={"origin": origin}, json={"name": "x", "attributes": {"size": 1.0}}), 403)


def test_own_origin_is_accepted(plain):
    assert plain[2].get("/health", headers={"origin": "http://localhost"}).status_code == 200


def test_public_url_is_an_accepted_origin(plain):
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


def test_slow_body_and_disconnecting_client():
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


async def stalled(messages, limits):
    """The status and the sentence for a body that begins like this and then stops."""
    service = Service(strings()[0], "m", limits)
    guarded = GuardMiddleware(app.build_app(service), None, {"localhost"}, limits)
    client = Slow([{"type": "http.request", "body": bytes(size), "more_body": True} for size in messages])
    headers = [(b"host", b"localhost"), (b"content-type", b"application/x-npy")]
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/predict",
        "query_string": b"", "raw_path": b"/predict", "root_path": "", "headers": headers,
    }  # fmt: skip
    await guarded(scope, client.receive, client.send)
    assert (b"connection", b"close") in client.sent[0]["headers"]
    return client.sent[0]["status"], json.loads(client.sent[1]["body"])["error"]


def test_large_body_that_stalls_is_cut_off_soon():
    """A small one, which keeps nobody waiting, has as long as before."""
    soon = Limits(seconds=10 * services.LIMIT, stall=0.02)
    for messages in ([soon.small + 1], [soon.small, app.STALL_BYTES], [soon.small + 1, *[100] * 50]):
        status, sentence = asyncio.run(asyncio.wait_for(stalled(messages, soon), services.LIMIT))
        assert (status, "65536 bytes in 0.02 seconds" in sentence) == (408, True)
    patient = Limits(seconds=0.05, stall=0.02)
    for messages in ([patient.small], [1] * 5):
        status, sentence = asyncio.run(stalled(messages, patient))
        assert (status, "did not arrive in 0.05 seconds" in sentence) == (408, True)


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
def test_page_works_behind_nginx_with_public_url(tmp_path, toy_file, public):
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


def test_longest_waiting_client_is_cut_off_first():
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


# Addresses, tokens that may only read, and the page of the API


def test_every_address_has_a_version(plain):
    client = plain[2]
    for path in ("/model", "/classes", "/classes/ant", "/health", "/ready", "/openapi.json", "/docs", "/"):
        old, new = client.get(path), client.get(f"/v1{path}")
        assert (old.status_code, old.content) == (new.status_code, new.content) or "uptime" in old.text
        assert old.status_code == 200
    for path in ("/v1", "/v2/model", "/v1/v1/model"):
        refusal(client.get(path), 404)


CHANGES = [
    ("POST", "/classes"), ("PUT", "/classes/x"), ("DELETE", "/classes/x"), ("POST", "/classes/x/examples"),
    ("DELETE", "/classes/x/examples"), ("POST", "/adapt"), ("DELETE", "/adapt"), ("POST", "/undo"), ("POST", "/reload"),
]  # fmt: skip


def test_read_token_may_ask_and_change_nothing(plain, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TOKEN_WAIT", 0.0)
    guarded = GuardMiddleware(
        app.build_app(Service(plain[0], "m", Limits())), "edits", {"localhost"}, Limits(), read_token="reads"
    )
    client = TestClient(guarded, base_url="http://localhost")
    reads, edits = ({"authorization": f"Bearer {token}"} for token in ("reads", "edits"))
    body = {"rows": plain[1][:1].tolist()}
    for prefix in ("", "/v1"):
        for path in ("/model", "/classes", "/export", "/adapt"):
            assert client.get(prefix + path, headers=reads).status_code in (200, 409)
            assert client.head(prefix + path, headers=reads).status_code in (200, 409)
        assert client.post(f"{prefix}/predict", json=body, headers=reads).status_code == 200
        assert client.post(f"{prefix}/words", json={"text": "big size"}, headers=reads).status_code == 200
        for method, path in CHANGES:
            said = refusal(client.request(method, prefix + path, headers=reads, json={}), 403)
            assert "may only read" in said
            assert client.request(method, prefix + path, headers=edits, json={}).status_code not in (401, 403)
    refusal(client.get("/model", headers={"authorization": "Bearer other"}), 401)
    # every operation that may change something is in the list above, and refused
    described = {(method.upper(), path) for path, one in services.description()["paths"].items() for method in one}
    asked = {(method, f"/v1{path}".replace("/x", "/{name}")) for method, path in CHANGES}
    questions = {("POST", f"/v1{path}") for path in app.QUESTIONS}
    assert {one for one in described if one[0] != "GET"} == asked | questions


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.text = set(), [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        self.links += [found[name] for name in ("href", "src") if name in found]
        assert tag != "script"

    def handle_data(self, data):
        self.text.append(data)


def test_page_of_the_api_names_everything_and_asks_nobody_else(plain):
    client = services.client(Service(plain[0], "m", Limits()), token="s3cret")
    answer = client.get("/v1/docs")
    assert answer.status_code == 200  # a browser sends no token with an address that is typed
    page = Links()
    page.feed(answer.text)
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids, link
        else:
            assert client.get(f"/v1/{link}").headers["content-type"].startswith("text/css")
    text = " ".join(page.text)
    for path, operations in services.description()["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in text
    assert "Authorization: Bearer TOKEN" in text
    for name in services.description()["components"]["schemas"]:
        assert name in page.ids
    assert "None" not in text
    assert "Undefined" not in text
