"""The OpenAPI description: it lists everything, and answers are as it says."""

import ast
import json
import sqlite3
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from request_bodies import NPY, npy_bytes
from services import refusal
from zskl.serve import app, responses
from zskl.serve.app import GuardMiddleware, SyncMiddleware
from zskl.serve.limits import Limits
from zskl.serve.service import Service

OPERATIONS = {
    ("get", "/v1/health"), ("get", "/v1/model"), ("get", "/v1/classes"), ("post", "/v1/classes"),
    ("get", "/v1/classes/{name}"),
    ("put", "/v1/classes/{name}"), ("delete", "/v1/classes/{name}"), ("post", "/v1/predict"), ("post", "/v1/rank"),
    ("get", "/v1/rows"), ("get", "/v1/rows/{row}/picture"), ("get", "/v1/balance"), ("get", "/v1/confusion"),
    ("post", "/v1/words"), ("post", "/v1/fits"), ("get", "/v1/classes/{name}/examples"),
    ("post", "/v1/classes/{name}/examples"),
    ("delete", "/v1/classes/{name}/examples"), ("get", "/v1/adapt"), ("post", "/v1/adapt"), ("delete", "/v1/adapt"),
    ("get", "/v1/label-next"), ("get", "/v1/map"), ("get", "/v1/ready"),
    ("get", "/v1/export"), ("post", "/v1/undo"), ("get", "/v1/metrics"), ("post", "/v1/reload"),
}  # fmt: skip


def test_openapi_lists_every_operation(plain):
    found = plain[2].get("/openapi.json").json()
    operations = {(method, path) for path, one in found["paths"].items() for method in one}
    assert operations == OPERATIONS
    predict = found["paths"]["/v1/predict"]["post"]
    assert set(predict["requestBody"]["content"]) == {
        *("application/json", NPY, "application/octet-stream", "text/csv"),
        *("image/jpeg", "image/png", "image/webp"),
    }
    assert {
        "top",
        "candidates",
        "calibrated",
        "calibration",
        "explain",
        "against",
        "by",
        "raw",
        "attributes",
        "coverage",
        "reject",
        "risk",
        "min_probability",
        "nearest",
        "features",
    } == {one["name"] for one in predict["parameters"]}
    assert "ValidationError" not in json.dumps(found)
    known = set(found["components"]["schemas"])
    for reference in set(json.dumps(found).split('"#/components/schemas/')[1:]):
        assert reference.partition('"')[0] in known


def refused_in_code():
    """All statuses with which the code refuses a request."""
    found = set()
    for path in Path(responses.__file__).parent.rglob("*.py"):
        calls = [one for one in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(one, ast.Call) and one.args]
        given = [
            value for one in calls if getattr(one.func, "id", "") in ("Refusal", "StoreError") for value in one.args
        ]
        found |= {one.value for one in given if isinstance(one, ast.Constant) and type(one.value) is int}
    return found


def test_every_status_is_described():
    operations = [one for path in services.description()["paths"].values() for one in path.values()]
    described = {int(status) for one in operations for status in one["responses"]}
    assert refused_in_code() >= {401, 404, 408, 503, 507}  # those are found
    assert refused_in_code() <= set(responses.STATUS_DESCRIPTIONS) <= described
    for one in operations:
        assert {"500", "503"} <= set(one["responses"])
        assert ("408" in one["responses"]) == ("requestBody" in one)


@pytest.mark.parametrize(("method", "path"), sorted(OPERATIONS))
def test_refusals_before_routing_are_described(method, path):
    """Every operation is asked in ways that nobody lets through."""
    client = stale_client()
    own = {"authorization": "Bearer secret"}
    ways = {
        401: {},
        403: {**own, "origin": "http://elsewhere"},
        413: {**own, "content-length": str(1 << 40)},
        503: own,  # what another worker has changed cannot be read
    }
    if path.removeprefix("/v1") in responses.PROBE_PATHS:
        assert client.get("/health").status_code == 200  # whatever is wrong
        del ways[401]
    if path == "/v1/health":
        del ways[503]
    found = {status: client.request(method.upper(), path, headers=headers) for status, headers in ways.items()}
    found[421] = elsewhere().request(method.upper(), path, headers={"host": "elsewhere"})
    described = services.description()["paths"][path][method]["responses"]
    assert ("401" in described) == (401 in found)
    for status, answer in found.items():
        assert refusal(answer, status)
        assert list(described[str(status)]["content"]) == ["application/json"]


@cache
def small_service():
    return Service(services.small()[0], "small", Limits())


@cache
def elsewhere():
    return services.client(small_service())


@cache
def stale_client():
    """Of a service with a token whose classes another worker has changed, in a database that cannot be read."""
    service = small_service()

    def unread():
        raise sqlite3.OperationalError("disk I/O error")

    changed = SimpleNamespace(is_stale=True, sync=unread)
    client = services.client(service, "secret")
    client.app._app, client.service = SyncMiddleware(client.app._app, changed), service
    return client


def test_internal_error_is_described(monkeypatch):
    monkeypatch.setattr(Service, "list_classes", lambda _: 1 / 0)
    client = services.client(small_service())
    assert "its log says why" in refusal(client.get("/classes"), 500)


EXAMPLES = 20  # of each request: enough to find planted faults of queries, names and JSON bodies


@pytest.fixture
def description():
    """Of a service of a small model and its rows. What this and the test need is imported here, since every process of
    pytest-xdist would take seconds over it."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    from hypothesis import strategies as st

    bodies = [npy_bytes(np.ones(shape, np.float32)) for shape in ((1, 6), (6,), (3, 3), (0, 6))]
    for kind in (NPY, "application/octet-stream"):
        schemathesis.openapi.media_type(kind, st.one_of(st.binary(max_size=300), st.sampled_from(bodies)))
    service = services.with_data(*services.small())
    guarded = GuardMiddleware(app.build_app(service), None, {"testserver"}, service.limits)
    return schemathesis.openapi.from_asgi("/openapi.json", guarded)


def test_answers_match_the_openapi_description(request, description):
    """Each operation with all checks but one: that a request of the described form is accepted. Which attributes, rows
    and classes there are depends on the model, and no description says it."""
    from hypothesis import HealthCheck, settings
    from schemathesis.pytest import from_fixture
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    asked = set()

    @from_fixture("description").parametrize()
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    def answered(case):
        asked.add((case.operation.method.lower(), case.operation.path))
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    answered(request=request)
    assert asked == OPERATIONS
