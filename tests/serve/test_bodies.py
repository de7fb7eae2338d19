"""Bodies of all types: what they may hold, and how much."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal, same, sends
from good_bodies import NPY, npy_bytes
from served_models import named_columns, strings, values
from zskl.serve.limits import Limits
from zskl.serve.service import Service


def test_every_kind_of_body_says_the_same(case):
    _, X, client = case
    expected = client.post("/predict", json={"rows": values(X).tolist(), "top": 3}).json()
    for array in (values(X), np.asfortranarray(values(X)), values(X).astype(np.float64), values(X).astype(">f4")):
        assert sends(client, npy_bytes(array), NPY, top=3).json() == expected
    assert sends(client, npy_bytes(values(X)), "application/octet-stream", top=3).json() == expected
    one = sends(client, npy_bytes(values(X)[0]), NPY, top=3).json()["predictions"]
    assert one == client.post("/predict", json={"rows": values(X)[:1].tolist(), "top": 3}).json()["predictions"]


@pytest.mark.parametrize("kind", ["i1", "u2", "<i8", ">i4", "?", "f2"])
def test_numbers_of_any_type(plain, kind):
    model, _, client = plain
    whole = np.arange(12).reshape(2, 6) % 2
    same(sends(client, npy_bytes(whole.astype(kind)), NPY), model, whole.astype(np.float32), 5)


def test_json_columns_are_taken_by_name():
    model, frame = named_columns()
    client = served.client_of(model)
    mixed = frame[frame.columns[::-1]].assign(more=0.0)
    body = {"rows": mixed.to_numpy().tolist(), "columns": list(mixed.columns)}
    same(client.post("/predict", json=body), model, frame, 5)
    for columns, sentence in [
        (["f0", "f0"], "twice"),
        (["F0", *body["columns"][:5]], "lacks the feature 'f0' (did you mean 'F0'?)"),
        (body["columns"][:-1], "columns names 6"),
    ]:
        assert sentence in refusal(client.post("/predict", json={**body, "columns": columns}), 422)


def test_a_table_as_text():
    model, frame = named_columns()
    client, few = served.client_of(model), frame.head(3)
    mixed = few[few.columns[::-1]].assign(name=["a", "b,c", "é"])
    for body in (
        few.to_csv(index=False), mixed.to_csv(), few.to_csv(index=False, header=False), mixed.to_csv(sep=";"),
        "\ufeff" + mixed.to_csv(sep="\t").replace("\n", "\r\n") + "\r\n",
    ):  # fmt: skip
        same(sends(client, body.encode(), "text/csv; charset=utf-8"), model, few, 5)
    for body, sentence in [
        (b"", "is empty"),
        (b"f0,f1\n", "no rows"),
        (few.to_csv(index=False).replace("f3", "F3").encode(), "lacks the feature 'f3' (did you mean 'F3'?)"),
        (b"1,2,3,4,5,6\n1,2\n", "line 2 has 2 values: the first line has 6"),
        (b"f0,f1,f2,f3,f4,f5\n1,2,3,x,5,6\n", "line 2, column 'f3' is 'x': expected a number"),
        (b"1,2,3,4,5,6\n1,2,3,,5,6\n", "line 2, column 4 is '': expected a number"),
        (b"1,2,3,4,5,6\n1,2,3,nan,5,6\n", "expected a finite number"),
        (b"1,2,3\n", "the model takes rows of 6 numbers"),
        (b"\xff\xfe1,2", "not text in UTF-8"),
        (b'"' + b"x" * 200_000, "cannot be read as CSV"),
        (b"1," * 5_000_001, "more than 5000000 values"),
    ]:
        answer = sends(client, body, "text/csv")
        assert sentence in refusal(answer, 413 if b"1,1,1" in body else 422)
    nameless, _ = strings()
    same(sends(served.client_of(nameless), few.to_csv(index=False).encode(), "text/csv"), nameless, few.to_numpy(), 5)


def test_a_body_of_another_type(plain):
    client = plain[2]
    for kind in (
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "",
        "application",
        "application/vnd.apache.parquet",
    ):
        assert "Content-Type" in refusal(client.post("/predict", content=b"x", headers={"content-type": kind}), 415)
        assert "Content-Type" in refusal(client.post("/classes", content=b"x", headers={"content-type": kind}), 415)
    refusal(client.post("/classes", content=npy_bytes(np.zeros(3)), headers={"content-type": NPY}), 415)
    kind = "Application/JSON; charset=utf-8"
    assert (
        client.post("/predict", content=b'{"rows": [[0,0,0,0,0,1]]}', headers={"content-type": kind}).status_code == 200
    )


def tight(**limits):
    model, X = strings()
    service = Service(model, "m", Limits(**limits))
    return X, served.client(service)


def test_a_body_that_is_too_large():
    X, client = tight(body_bytes=2000, small=500)
    assert "2000 bytes" in refusal(sends(client, npy_bytes(np.tile(X, (20, 1))), NPY), 413)
    assert "2000 bytes" in refusal(sends(client, (part for part in [b"x" * 1500] * 2), NPY), 413)  # chunked
    large = {"name": "n", "attributes": {"size": 1.0, "x" * 600: 1.0}}
    assert "500 bytes" in refusal(client.post("/classes", json=large), 413)
    assert "500 bytes" in refusal(client.put("/classes/n", json={"attributes": large["attributes"]}), 413)


def test_too_many_rows():
    X, client = tight(rows=10, explained_rows=2, values=30, answers=12, json_values=100)
    assert "expected 1 to 10" in refusal(client.post("/predict", json={"rows": X[:11].tolist()}), 413)
    assert "expected 1 to 10" in refusal(sends(client, npy_bytes(X[:11]), NPY), 413)
    assert "more than 30 numbers" in refusal(sends(client, npy_bytes(X[:6]), NPY), 413)
    assert "lower top" in refusal(sends(client, npy_bytes(X[:3]), NPY, top=5), 413)
    assert sends(client, npy_bytes(X[:3]), NPY, top=4).status_code == 200
    assert "at most 2" in refusal(sends(client, npy_bytes(X[:3]), NPY, top=1, explain=True), 413)
    assert "100 values" in refusal(client.post("/predict", json={"rows": [[0] * 200]}), 413)
