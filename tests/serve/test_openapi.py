"""The OpenAPI description: it lists everything, and answers are as it says."""

import json

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from good_bodies import NPY, npy_bytes
from zskl.serve import app, openapi
from zskl.serve.guard import Guard

OPERATIONS = {
    ("get", "/health"), ("get", "/model"), ("get", "/classes"), ("post", "/classes"), ("get", "/classes/{name}"),
    ("put", "/classes/{name}"), ("delete", "/classes/{name}"), ("post", "/predict"), ("post", "/rank"),
    ("get", "/rows"), ("get", "/rows/{row}/picture"), ("get", "/balance"), ("get", "/confusion"),
    ("post", "/words"), ("post", "/fits"), ("get", "/classes/{name}/examples"), ("post", "/classes/{name}/examples"),
    ("delete", "/classes/{name}/examples"), ("get", "/adapt"), ("post", "/adapt"), ("delete", "/adapt"),
    ("get", "/label-next"), ("get", "/map"),
}  # fmt: skip


def test_the_description_lists_everything(plain):
    found = plain[2].get("/openapi.json").json()
    operations = {(method, path) for path, one in found["paths"].items() for method in one}
    assert operations == OPERATIONS
    predict = found["paths"]["/predict"]["post"]
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
        "raw",
        "attributes",
        "reject",
        "nearest",
        "features",
    } == {one["name"] for one in predict["parameters"]}
    assert "ValidationError" not in json.dumps(found)
    known = set(found["components"]["schemas"])
    for reference in set(json.dumps(found).split('"#/components/schemas/')[1:]):
        assert reference.partition('"')[0] in known
    assert openapi.WHY.keys() >= {404, 409, 413, 415, 422}


EXAMPLES = 20  # of each request: enough to find planted faults of queries, names and JSON bodies


@pytest.fixture
def description():
    """Of a service of a small model and its rows. What this and the test need is imported here, since every process of
    pytest-xdist would take seconds over it."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    from hypothesis import strategies as st

    import served

    bodies = [npy_bytes(np.ones(shape, np.float32)) for shape in ((1, 6), (6,), (3, 3), (0, 6))]
    for kind in (NPY, "application/octet-stream"):
        schemathesis.openapi.media_type(kind, st.one_of(st.binary(max_size=300), st.sampled_from(bodies)))
    service = served.with_data(*served.small())
    guarded = Guard(app.build(service), None, {"testserver"}, service.limits)
    return schemathesis.openapi.from_asgi("/openapi.json", guarded)


def test_answers_are_as_described(request, description):
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
