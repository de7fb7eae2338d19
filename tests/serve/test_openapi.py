"""The OpenAPI description: it lists everything, and answers are as it says."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("schemathesis", reason="schemathesis is not installed")

import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

import served
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


def description():
    """Of a service of a small model and its rows."""
    bodies = [npy_bytes(np.ones(shape, np.float32)) for shape in ((1, 6), (6,), (3, 3), (0, 6))]
    for kind in (NPY, "application/octet-stream"):
        schemathesis.openapi.media_type(kind, st.one_of(st.binary(max_size=300), st.sampled_from(bodies)))
    service = served.with_data(*served.small())
    guarded = Guard(app.build(service), None, {"testserver"}, service.limits)
    return schemathesis.openapi.from_asgi("/openapi.json", guarded)


SCHEMA = description()


def answers_are_as_described(method, path):
    """A test of one operation with all checks but one: that a request of the described form is accepted. Which
    attributes, rows and classes there are depends on the model, and no description says it."""

    @SCHEMA.include(method=method, path=path).parametrize()
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    def test(case):
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    return test


# A test function for each operation: the parametrised cases of one function would all have the same name, and
# pytest-xdist would run only one of them.
for _method, _path in sorted(OPERATIONS):
    _name = re.sub(r"\W+", "_", f"{_method}{_path}").strip("_")
    globals()[f"test_answers_are_as_described_to_{_name}"] = answers_are_as_described(_method.upper(), _path)
