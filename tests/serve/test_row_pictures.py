"""Pictures of rows: drawn, from a table of files, or found by the names of rows."""

import csv
import struct
import zlib
from pathlib import PureWindowsPath

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from zskl import datasets
from zskl.serve import row_pictures


def test_pictures_of_digits_are_what_the_rows_hold(digits):
    _, data, client = digits
    key = client.get("/model").json()["data"]["picture_key"]
    answer = client.get("/rows/17/picture")
    kept = client.get(f"/rows/17/picture?key={key}")
    assert (kept.content, answer.headers["cache-control"]) == (answer.content, "no-store")
    assert kept.headers["cache-control"] == "private, max-age=3600"
    assert "other data" in refusal(client.get("/rows/17/picture?key=0123456789ab"), 404)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    width, height, lines = decoded(answer.content)
    grey = np.frombuffer(lines, np.uint8).reshape(height, width + 1)[:, 1:]
    expected = np.round(255 * (1 - data.X[17].reshape(8, 8) / 16))
    np.testing.assert_array_equal(grey[::8, ::8], expected)
    for row in (1797, -1, 10**30):
        refusal(client.get(f"/rows/{row}/picture"), 404)
    refusal(client.get("/rows/x/picture"), 422)


def test_pictures_of_letters_are_drawn():
    drawn = row_pictures.of(datasets.load("letters:german"), None, None)
    width, height, lines = decoded(drawn.read(33)[0])
    grey = np.frombuffer(lines, np.uint8).reshape(height, width + 1)[:, 1:]
    np.testing.assert_array_equal(grey[::2, ::2], 255 - datasets.letters.pictures()[33])
    assert [drawn.has(row) for row in (-1, 0, 7199, 7200)] == [False, True, True, False]


def decoded(png):
    """Width, height and the unpacked lines of a grey PNG file; its checksums are checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + content)
        chunks[kind], at = content, at + 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 0)
    return width, height, zlib.decompress(chunks[b"IDAT"])


def test_names_of_rows_may_have_the_slashes_of_windows(tmp_path, monkeypatch):
    monkeypatch.setattr(row_pictures, "PurePath", PureWindowsPath)
    (tmp_path / "owl").mkdir()
    (tmp_path / "owl" / "a.png").touch()
    found = row_pictures.find(tmp_path, 2, ["C:\\birds\\owl\\a.png", "owl/a.png"])
    assert found.has(0)
    assert found.has(1)


def test_pictures_from_files(tmp_path):
    model, data = served.small()
    picture = row_pictures.png(np.zeros((2, 2), np.uint8))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.png").write_bytes(picture)
    (tmp_path / "b.JPG").write_bytes(b"jpeg")
    (tmp_path / "c.svg").write_text("<svg/>")
    names = [f"some/where/{name}" for name in ["deep/a.png", "b.JPG", "c.svg", *"defghijkl"]]
    by_name = served.client(served.with_data(model, data, tmp_path, names))
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["file", "row"], ["deep/a.png", 0], ["b.JPG", 1]])
    by_table = served.client(served.with_data(model, data, tmp_path))
    for client in (by_name, by_table):
        first, second = client.get("/rows/0/picture"), client.get("/rows/1/picture")
        assert (first.content, first.headers["content-type"]) == (picture, "image/png")
        assert (second.content, second.headers["content-type"]) == (b"jpeg", "image/jpeg")
        assert [row["picture"] for row in client.get("/rows").json()["rows"]] == [True, True] + [False] * 10
        refusal(client.get("/rows/2/picture"), 404)
        assert client.get("/rows", params={"pictures": True}).json()["total"] == 2
    assert by_name.get("/rows").json()["rows"][0]["id"] == "some/where/deep/a.png"
    (tmp_path / "b.JPG").unlink()
    assert "cannot be read any more" in refusal(by_table.get("/rows/1/picture"), 404)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("file,row\na.png,99\n", "below 12"),
        ("file,row\na.png,x\n", "expected a picture"),
        ("file,row\nb.png,1\n", "not a picture that a browser shows"),
        ("name\na.png\n", "expected a picture"),
    ],
)
def test_a_table_of_pictures_that_does_not_fit(tmp_path, table, sentence):
    model, data = served.small()
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "rows.csv").write_text(table)
    with pytest.raises(ValueError, match=sentence):
        served.with_data(model, data, tmp_path)
