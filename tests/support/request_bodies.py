"""Bodies that the service takes, for a model of the digits, and the media types of all bodies."""

import gzip
import io
import json
import pickle
import zipfile
from itertools import product

import numpy as np

# Good bodies ----------------------------------------------------------------------------------------------------------

JSON, NPY = "application/json", "application/x-npy"
WIDTH = 64  # features of the model these are sent to
ROW = [float(k % 17) for k in range(WIDTH)]
GOOD = {
    "/predict": {"rows": [ROW]},
    "/classes": {"name": "new", "attributes": {"top": 1.0}},
    "/classes/new": {"attributes": {"top": 1.0}},
    "/rank": {"attributes": {"top": 1.0}},
}


def npy_bytes(array, **options):
    """A .npy file."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


# Malformed json -------------------------------------------------------------------------------------------------------
# JSON that no request should have, by kind: (what it is, path, content type, body).

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


# Malformed npy --------------------------------------------------------------------------------------------------------
# .npy files that no request should have: (what it is, path, content type, body).


def npy_file(header, content=b"", version=(1, 0)):
    """A .npy file of any header."""
    header = header if isinstance(header, bytes) else header.encode("latin-1")
    length = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + bytes(version) + length + header + content


def described(kind="'<f4'", order="False", shape=f"(1, {WIDTH})"):
    return f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


class Payload:
    """What a pickle would run."""

    def __reduce__(self):
        return exec, ("raise SystemExit('it ran')",)


def npy_files():
    content, good = b"\0" * 4 * WIDTH, npy_bytes(np.zeros((1, WIDTH), np.float32))
    shapes = [
        "(10**15, 64)",
        f"({10**15}, {WIDTH})",
        f"({2**63}, {WIDTH})",
        f"({2**64 + 1}, {WIDTH})",
        f"(-1, {WIDTH})",
        f"(0, {WIDTH})",
        f"(1, -{WIDTH})",
        "()",
        "(64",
        "64",
        "[1, 64]",
        "(1, 64.0)",
        "('1', 64)",
        "(1, 64, 1)",
        "None",
        f"(0x{'f' * 700}, {WIDTH})",
        f"(1, 0x{'f' * 700})",
        "(" * 400,
        "(1, " * 60,
        "-" * 800 + "1",
        "(64, 1)",
        f"({WIDTH}, {WIDTH})",
        f"(1000000, {WIDTH})",
        "(1,64)+(1,)",
    ]
    kinds = [
        "'|O'",
        "'<c8'",
        "'<f16'",
        "'<U4'",
        "'|S4'",
        "'|V4'",
        "'<M8[s]'",
        "'<m8'",
        "[('a', '<f4')]",
        "('<f4', (64,))",
        "('<f4', (1000000000,))",
        "'<f4,<f4'",
        "'(1000000000,)<f4'",
        "'|V1000000000'",
        "None",
        "4",
        "''",
        "'x'",
        "'<f3'",
        "'>f1'",
        "float",
        "[]",
        "()",
        "{}",
        "[('a', [('b', '<f4')])]",
        "b'<f4'",
        "'<f4\\0'",
        "' <f4'",
    ]
    headers = [
        "",
        "{}",
        "None",
        "[]",
        "1",
        "{'descr': '<f4'}",
        "{'descr': (",
        "__import__('os').getpid()",
        "open('/etc/passwd')",
        "{**{}}",
        "lambda: 0",
        "'" * 3,
        "{'a': " * 80,
        "\0",
        "\xff" * 60,
        "#" * 100,
        described().replace("}", "'more': 1}"),
        described().replace("shape", "form"),
        described() * 2,
        described(order="0"),
        described(order="None"),
        described(order="'False'"),
        described() + " " * 5000,
        "{" * 999,
    ]
    files = {
        **{f"shape {shape[:30]}": npy_file(described(shape=shape), content) for shape in shapes},
        **{f"type {kind}": npy_file(described(kind), content) for kind in kinds},
        **{f"header {header[:30]!r}": npy_file(header, content) for header in headers},
        **{f"cut at {cut}": good[:cut] for cut in (0, 1, 5, 6, 7, 8, 9, 10, 11, 60, 127, 128, 129, len(good) - 1)},
        **{
            f"version {version}": npy_file(described(), content, version)
            for version in ((0, 0), (3, 0), (255, 255), (1, 1))
        },
        "more than announced": good + b"\0",
        "header beyond the end": b"\x93NUMPY\x01\x00\xff\xff" + b" " * 20,
        "header of 4 GB": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + described().encode(),
        "objects": npy_bytes(np.array([Payload()], dtype=object), allow_pickle=True),
        "a pickle": pickle.dumps(Payload()),
        "NaN": npy_bytes(np.full((2, WIDTH), np.nan)),
        "infinity": npy_bytes(np.full((2, WIDTH), np.inf, np.float32)),
        "too large for single precision": npy_bytes(np.full((1, WIDTH), 1e39)),
        "no rows": npy_bytes(np.zeros((0, WIDTH))),
        "a number": npy_bytes(np.float32(1)),
        "rows of another width": npy_bytes(np.zeros((3, WIDTH + 1))),
        "three axes": npy_bytes(np.zeros((1, WIDTH, 1))),
        "text": npy_bytes(np.array([["x"] * WIDTH])),
        "npz": _zipped(10),
        "zip bomb": _zipped(50_000_000),
        "gzip bomb": gzip.compress(b"\0" * 50_000_000, 1),
        "zeros": b"\0" * 10_000,
        "too many rows": npy_bytes(np.zeros((100_001, WIDTH), np.int8)),
    }
    yield from ((f".npy, {kind}", "/predict", NPY, body) for kind, body in files.items())


def _zipped(size):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("x.npy", b"\0" * size)
    return file.getvalue()


# Malformed ------------------------------------------------------------------------------------------------------------
# Bodies that no request should have, by kind: (what it is, path, content type, body).


def everything():
    return [*json_rubbish(), *json_numbers(), *json_values(), *npy_files(), *other_types()]


def other_types():
    """Good bodies under another name."""
    text, array = json.dumps(GOOD["/predict"]).encode(), npy_bytes(np.zeros((1, WIDTH)))
    for kind, body in ((JSON, array), (NPY, text)):
        yield f"sent as {kind}", "/predict", kind, body
    for kind in (
        "",
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/json2",
        "json",
        "application/x-www-form-urlencoded",
        "application/zip",
        "application/vnd.apache.parquet",
        "é",
        "*/*",
        "application/*",
        ";",
        "a" * 5000,
    ):
        yield from ((f"of type {kind[:40]!r}", path, kind, json.dumps(good).encode()) for path, good in GOOD.items())
    for path in ("/classes", "/classes/new", "/rank"):
        yield f"of type {NPY}", path, NPY, array
