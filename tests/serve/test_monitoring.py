"""What operators see: counts for Prometheus, a line for each request, ids of requests, logs of JSON."""

import io
import json
import logging
import re

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from services import refusal, strings
from zskl.serve import app, monitoring
from zskl.serve.app import GuardMiddleware
from zskl.serve.limits import Limits
from zskl.serve.service import Service

BODY = {"attributes": {"size": 1.0}}


def watched(token=None, **options):
    """A client of a service that counts."""
    metrics, service = monitoring.Metrics(), Service(strings()[0], "m", Limits())
    guarded = GuardMiddleware(
        app.build_app(service, metrics), token, {"localhost"}, Limits(), metrics=metrics, **options
    )
    return TestClient(guarded, base_url="http://localhost", raise_server_exceptions=False)


def counts(client, **options):
    """What /metrics says: name and labels → value."""
    answer = client.get("/v1/metrics", **options)
    assert answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    return {(one.name, *sorted(one.labels.values())): one.value for family in families for one in family.samples}


def test_requests_rows_batches_and_classes_are_counted():
    client, X = watched(), strings()[1]
    for path in ("/v1/predict", "/predict", "/v1/predict?top=2"):
        client.post(path, json={"rows": X[:1].tolist()})
    client.post("/v1/predict", json={"rows": X[:5].tolist()})
    client.put("/v1/classes/a%2Fb", json=BODY)
    client.put("/classes/other", json=BODY)
    client.get("/v1/classes/other/examples")
    client.get("/nowhere")
    client.get("/classes/none")
    found = counts(client)
    assert found["zskl_requests_total", "/predict", "200", "POST"] == 4
    assert found["zskl_requests_total", "/classes/{name}", "201", "PUT"] == 2
    assert found["zskl_requests_total", "/classes/{name}", "404", "GET"] == 1
    assert found["zskl_requests_total", "/classes/{name}/examples", "200", "GET"] == 1
    assert found["zskl_requests_total", "404", "GET", "other"] == 1
    assert found["zskl_request_seconds_count", "/predict", "POST"] == 4
    assert found["zskl_request_seconds_sum", "/predict", "POST"] > 0
    assert (found["zskl_rows_total",], found["zskl_batch_rows_count",], found["zskl_batch_rows_sum",]) == (8, 3, 3)
    assert [found["zskl_classes", kind] for kind in ("seen", "unseen", "added")] == [3, 2, 2]
    assert (found["zskl_examples",], found["zskl_changes",]) == (0, 2)
    assert found["zskl_memory_bytes",] > 1e6 or not monitoring.STATM.exists()


def test_many_addresses_make_few_counts():
    """Whatever strangers ask: else the counts could fill the memory."""
    client = watched(token="s3cret")
    for k in range(50):
        client.get(f"/v1/{k}")
        client.get(f"/v1/classes/{k}", headers={"authorization": "Bearer s3cret"})
    found = counts(client, headers={"authorization": "Bearer s3cret"})
    assert sum(key[0] == "zskl_requests_total" for key in found) == 2
    refusal(client.get("/metrics"), 401)


def test_service_without_counts_says_so(plain):
    assert "counts nothing" in refusal(plain[2].get("/metrics"), 409)


@pytest.mark.parametrize("given", ["a-1.b", "x" * 128, "a b", "", "x" * 129, "é", None])
def test_request_ids_are_taken_or_made(plain, given):
    headers = {} if given is None else {"x-request-id": given.encode()}
    ids = [plain[2].get(path, headers=headers).headers["x-request-id"] for path in ("/model", "/nowhere")]
    if given in ("a-1.b", "x" * 128):
        assert ids == [given, given]
    else:
        assert all(re.fullmatch("[0-9a-f]{16}", one) for one in ids)
        assert ids[0] != ids[1]


@pytest.fixture
def logged():
    """What a handler of the service writes, as text and as JSON."""
    streams = io.StringIO(), io.StringIO()
    handlers = [logging.StreamHandler(one) for one in streams]
    for handler, as_json in zip(handlers, (False, True), strict=True):
        handler.setFormatter(monitoring.LogFormatter(as_json))
        logging.getLogger().addHandler(handler)
    before = monitoring.access.level
    yield lambda: [one.getvalue().splitlines() for one in streams]
    monitoring.access.setLevel(before)
    for handler in handlers:
        logging.getLogger().removeHandler(handler)


def test_each_request_is_a_line(logged):
    client = watched()
    monitoring.access.setLevel(logging.INFO)
    client.get("/v1/classes/a%0Ab?secret=1", headers={"x-request-id": "mine"})
    client.head("/v1/health")
    lines, fields = logged()
    assert re.search(r"""INFO 'testclient' GET '/v1/classes/a%0Ab' 404 \d+ bytes \d+\.\d ms \[mine\]$""", lines[0])
    assert len(lines) == 2
    first, second = map(json.loads, fields)
    assert {name: first[name] for name in ("client", "method", "path", "status", "request_id", "level")} == {
        "client": "testclient", "method": "GET", "path": "/v1/classes/a%0Ab", "status": 404, "request_id": "mine",
        "level": "info",
    }  # fmt: skip
    assert first["ms"] > 0
    assert (second["status"], second["bytes"]) == (200, 0)
    monitoring.access.setLevel(logging.WARNING)
    client.get("/v1/health")
    assert len(logged()[0]) == 2


def test_failures_are_logged_with_their_request(logged, monkeypatch):
    monkeypatch.setattr(Service, "list_classes", lambda _: 1 / 0)
    watched().get("/classes", headers={"x-request-id": "mine"})
    lines, fields = logged()
    assert any(line.endswith("[mine]") for line in lines)
    found = json.loads(fields[0])
    assert (found["request_id"], found["logger"], found["message"]) == ("mine", "zskl.serve", "a request failed")
    assert "ZeroDivisionError" in found["traceback"]
    assert len(fields) == 1  # also a traceback is one line


def test_line_of_a_stranger_stays_one_line(logged):
    monitoring.access.setLevel(logging.INFO)
    monitoring.log_request({"client": ("a\nb", 1), "method": "GET", "raw_path": b"/\xff\n"}, 200, 0, 0.0)
    assert len(logged()[0]) == 1


def test_logs_are_configured(monkeypatch):
    made = []
    monkeypatch.setattr(logging, "basicConfig", lambda handlers: made.extend(handlers))
    before = monitoring.access.level
    try:
        monitoring.configure_logs(as_json=True, every_request=True)
        assert monitoring.access.isEnabledFor(logging.INFO)
        record = logging.LogRecord("zskl.serve", logging.WARNING, "", 0, "said %s", (np.float64(1.5),), None)
        assert json.loads(made[0].format(record))["message"] == "said 1.5"
    finally:
        monitoring.access.setLevel(before)
