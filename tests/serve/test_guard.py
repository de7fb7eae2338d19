"""Who may ask: tokens, names of machines, pages of other origins, slow clients."""

import asyncio
import json

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from starlette.testclient import TestClient

import served
from answers import refusal
from served_models import strings
from zskl.serve import app
from zskl.serve.guard import Guard
from zskl.serve.limits import Limits
from zskl.serve.service import Service


def test_a_token_opens_everything_but_the_page(plain):
    client = served.client(Service(plain[0], "m", Limits()), token="s3cret")
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
    guarded = Guard(app.build(service), None, {"localhost"}, service.limits, "https://Birds.example:443/zskl/")
    client = TestClient(guarded, base_url="http://localhost")
    for host in ("localhost:8000", "birds.example"):
        assert client.get("/health", headers={"host": host, "origin": "https://birds.example"}).status_code == 200
        for origin in ("http://birds.example", "https://evil.example", "https://birds.example.evil", "null"):
            if f"://{host}" not in origin or origin.endswith("evil"):
                said = refusal(client.get("/health", headers={"host": host, "origin": origin}), 403)
                assert "--public-url" in said
    for wrong in ("birds.example", "ftp://birds.example", "https://", "https://a:b@birds.example", "https://x:y/"):
        with pytest.raises(ValueError, match="the address that people type"):
            Guard(app.build(service), None, set(), service.limits, wrong)


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

    guarded = Guard(app.build(service), None, {"localhost"}, limits)
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
