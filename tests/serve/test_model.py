"""GET /model and GET /health, and sentences of refusals."""

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown


def test_the_model_is_described(digits):
    _, data, client = digits
    about = client.get("/model").json()
    assert (about["file"], about["estimator"], about["features"]) == ("digits.zskl", "kernel", 64)
    assert (about["seen"], about["unseen"], about["added"]) == (7, 3, 0)
    assert about["data"]["rows"] == 1797
    assert about["data"]["parts"] == {name: len(rows) for name, rows in data.parts.items()}
    assert about["parameters"]["kernel"] == "gaussian"
    limits = Limits()
    assert about["limits"]["rows"] == limits.rows
    assert about["limits"]["body_bytes"] == limits.body_bytes


def test_values_in_a_sentence_are_short():
    assert shown("a" * 10**6) == "'" + "a" * 59 + "…"
    assert shown(0xF << 10**5) == "a number too long to be shown"
    assert len(shown([["x" * 100] * 100] * 100)) <= 61
    assert shown("a\nb") == r"'a\nb'"
    assert Refusal(422, "x").status == 422
