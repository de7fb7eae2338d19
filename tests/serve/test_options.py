"""Options of a prediction, in the address and in the body."""

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from answers import refusal


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"candidates": ["ant", "ant"]}, "names a class twice"),
        ({"candidates": ["ant", "cat", "dog", "emu", "emu"]}, "names a class twice"),
        ({"candidates": ["elk"]}, "no class is called 'elk'"),
        ({"candidates": []}, "at least 1 item"),
        ({"top": 0}, "greater than or equal to 1"),
        ({"top": True}, "valid integer"),
        ({"calibration": 1e300}, "less than or equal"),
        ({"explain": True, "candidates": ["ant"]}, "at least two candidates"),
        ({"explain": True, "against": "elk"}, "expected one of the candidates"),
        ({"explain": True, "against": "emu", "candidates": ["ant", "cat"]}, "expected one of the candidates"),
        ({"attributes": 0}, "greater than or equal to 1"),
        ({"data_rows": [1]}, "either rows"),
        ({"colour": 1}, "colour is not a field of this request"),
        ({"candidates": ["catt"]}, "did you mean 'cat'"),
        ({"against": "cat"}, "without an explanation"),
        ({"raw": True}, "raw is set without an explanation"),
        ({"columns": ["a"]}, "has no names for its features"),
        ({"rows": [{"a": 1}]}, "a row is a list of numbers"),
        ({"rows": None, "data_rows": None}, "either rows"),
    ],
)
def test_options_that_make_no_sense(plain, options, sentence):
    _, X, client = plain
    assert sentence in refusal(client.post("/predict", json={"rows": X[:1].tolist(), **options}), 422)


def test_an_unknown_parameter_is_refused(plain):
    _, X, client = plain
    assert "did you mean 'top'" in refusal(client.post("/predict?tops=3", json={"rows": X[:1].tolist()}), 422)


def test_options_of_the_body_win_over_those_of_the_address(plain):
    _, X, client = plain
    answer = client.post("/predict", params={"top": 4}, json={"rows": X[:1].tolist(), "top": 2})
    assert len(answer.json()["predictions"][0]["top"]) == 2
    answer = client.post("/predict", params={"top": 4}, json={"rows": X[:1].tolist()})
    assert len(answer.json()["predictions"][0]["top"]) == 4
    assert "top" in refusal(client.post("/predict", params={"top": "x"}, json={"rows": X[:1].tolist()}), 422)
