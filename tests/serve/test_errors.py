"""Values in the sentences of refusals."""

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from zskl.serve.errors import Refusal, quote


def test_quoted_values_are_short():
    assert quote("a" * 10**6) == "'" + "a" * 59 + "…"
    assert quote(0xF << 10**5) == "a number too long to be shown"
    assert len(quote([["x" * 100] * 100] * 100)) <= 61
    assert quote("a\nb") == r"'a\nb'"
    assert Refusal(422, "x").status == 422
