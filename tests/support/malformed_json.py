"""JSON that no request should have, by kind: (what it is, path, content type, body)."""

import gzip
import json
import pickle
from itertools import product

import numpy as np

from good_bodies import GOOD, JSON, ROW, WIDTH

NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "1" + "0" * 400,
    '"1"',
    '"NaN"',
    "true",
    "null",
    "[]",
    "{}",
    "0x10",
    "01",
    ".5",
    "1.",
    "+1",
    "--1",
    "1e39",
    "1,,2",
    "1 2",
    "'1'",
    "undefined",
]


def json_rubbish():
    """What is no JSON, or not of that form, to every path that takes JSON."""
    noise = np.random.default_rng(0)
    for path, good in GOOD.items():
        text = json.dumps(good).encode()
        bodies = {
            "empty": b"",
            "blank": b" \n\t",
            "null": b"null",
            "true": b"true",
            "a number": b"1",
            "a string": b'"x"',
            "a list": b"[]",
            "in a list": b"[" + text + b"]",
            "twice": text + text,
            "empty object": b"{}",
            "trailing comma": text[:-1] + b",}",
            "quotes": text.replace(b'"', b"'"),
            "comment": text + b" // x",
            "byte order mark": b"\xef\xbb\xbf" + text,
            "utf-16": text.decode().encode("utf-16"),
            "utf-32": text.decode().encode("utf-32"),
            "NUL inside": text[:5] + b"\0" + text[5:],
            "NUL after": text + b"\0",
            "bytes that are no UTF-8": text[:3] + b"\xff\xfe" + text[3:],
            "overlong UTF-8": text[:3] + b"\xc0\xaf" + text[3:],
            "lone surrogate": b'{"\\ud800": 1, ' + text[1:],
            "encoded surrogate": b'{"\xed\xa0\x80": 1, ' + text[1:],
            "line break in a string": b'{"a\nb": 1, ' + text[1:],
            "another field": b'{"__proto__": {}, ' + text[1:],
            "a huge key": b'{"' + b"k" * 900_000 + b'": 1, ' + text[1:],
            "a huge value": b'{"x": "' + b"v" * 900_000 + b'", ' + text[1:],
            "many keys": _many(20_000),
            "brackets": b"[" * 100_000,
            "braces": b'{"a":' * 100_000,
            "closed brackets": b"[" * 9999 + b"]" * 9999,
            "deep in a field": b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b", " + text[1:],
            "gzip": gzip.compress(text),
            "pickle": pickle.dumps(good),
            "XML": b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>",
            "YAML": b"name: new\nattributes: {top: 1}\n",
            "form": b"name=new&top=1",
            "HTML": b"<script>alert(1)</script>",
        }
        for cut in range(1, len(text), max(1, len(text) // 8)):
            bodies[f"cut at {cut}"] = text[:cut]
        for k in range(5):
            bodies[f"noise {k}"] = noise.bytes(10 ** (k + 1))
        yield from ((f"JSON, {kind}", path, JSON, body) for kind, body in bodies.items())


def _many(count):
    return json.dumps({f"key {k}": k for k in range(count)}).encode()


def json_numbers():
    """What is no number where one belongs."""
    for path, number in product(GOOD, NUMBERS):
        if number == "true" and path != "/predict":
            continue  # an attribute that is there
        good = json.dumps(GOOD[path]).replace(f"[{ROW[0]}", "[HERE", 1).replace(": 1.0", ": HERE", 1)
        yield f"number {number[:20]}", path, JSON, good.replace("HERE", number).encode()


def json_values():
    """JSON of other shapes and types than described."""
    rows = [
        [],
        [[]],
        [[1.0]],
        [ROW, ROW[:-1]],
        [[*ROW, 1.0]],
        [[ROW]],
        ROW,
        "x",
        {},
        1,
        True,
        [None],
        ["x" * WIDTH],
        [{}],
        [ROW, None],
        [[str(value) for value in ROW]],
        [[[value] for value in ROW]],
        [[True] * WIDTH],
        [[None] * WIDTH],
        {"0": ROW},
        [{str(k): value for k, value in enumerate(ROW)}],
    ]
    yield from (("rows", "/predict", JSON, json.dumps({"rows": value}).encode()) for value in rows)
    numbers = [[], [1.5], ["1"], [True], [-1], [10**30], [2**53 + 1], [[1]], "1", 1, {}, [None], [1797]]
    yield from (("data_rows", "/predict", JSON, json.dumps({"data_rows": value}).encode()) for value in numbers)
    options = {
        "top": [0, -1, 1.5, "5", 10**30, None, True, [], 1001],
        "candidates": [[], [1], "3", [["3"]], {"3": 1}, ["nope"], ["3", "3"], [None], True, ["3"] * 100],
        "explain": ["true", 1, None, []],
        "against": [3, ["3"], True],
        "calibrated": ["yes", 0, None],
        "calibration": ["x", True, [], 1e300, -1e300],
        "attributes": [0, -1, "5", 1.5, 1001, None],
        "rows ": [[ROW]],
        "Rows": [[ROW]],
        "data_rows": [[0]],
    }
    for name, values in options.items():
        for value in values:
            yield f"option {name}", "/predict", JSON, json.dumps({**GOOD["/predict"], name: value}).encode()
    for explained in ({"against": "nope"}, {"candidates": ["3"]}, {"candidates": ["3", "4"], "against": "8"}):
        yield "explanation", "/predict", JSON, json.dumps({**GOOD["/predict"], "explain": True, **explained}).encode()
    names = ["", " ", " a", "a\n", ".", "..", "\0", "x" * 201, "x" * 10**5, None, 5, [], {}, True, "3", "8", "\u202e"]
    for name in names:
        yield "name", "/classes", JSON, json.dumps({**GOOD["/classes"], "name": name}).encode()
    described = [
        None,
        [],
        "x",
        1,
        {"nope": 1.0},
        {"top": 1e300},
        {"": 1.0},
        {"top": {"x": 1}},
        [["top", 1.0]],
        {"TOP": 1.0},
        {f"a{k}": 1.0 for k in range(5000)},
        {"t" * 10**5: 1.0},
        {"top": "high"},
        dict.fromkeys(["top", "upper right", "lower right", "bottom", "lower left", "upper left", "middle"], 0.0),
    ]
    for path, value in product(["/classes", "/classes/new", "/rank"], described):
        yield "attributes", path, JSON, json.dumps({**GOOD[path], "attributes": value}).encode()
    for option in ({"top": 0}, {"top": "x"}, {"part": "nope"}, {"part": 1}, {"pictures": "x"}, {"rows": [ROW]}):
        yield "ranking", "/rank", JSON, json.dumps({**GOOD["/rank"], **option}).encode()
