"""Bodies that no request should have, by kind: (what it is, path, content type, body)."""

import gzip
import io
import json
import pickle
import struct
import zipfile
from itertools import product

import numpy as np

JSON, NPY, PARQUET = "application/json", "application/x-npy", "application/vnd.apache.parquet"
WIDTH = 64  # features of the model these are sent to
ROW = [float(k % 17) for k in range(WIDTH)]
GOOD = {
    "/predict": {"rows": [ROW]},
    "/classes": {"name": "new", "attributes": {"top": 1.0}},
    "/classes/new": {"attributes": {"top": 1.0}},
    "/rank": {"attributes": {"top": 1.0}},
}
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


def everything():
    return [*json_rubbish(), *json_numbers(), *json_values(), *npy_files(), *parquet_files(), *other_types()]


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


def npy(header, content=b"", version=(1, 0)):
    """A .npy file of any header."""
    header = header if isinstance(header, bytes) else header.encode("latin-1")
    length = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + bytes(version) + length + header + content


def described(kind="'<f4'", order="False", shape=f"(1, {WIDTH})"):
    return f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def saved(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


class Payload:
    """What a pickle would run."""

    def __reduce__(self):
        return exec, ("raise SystemExit('it ran')",)


def npy_files():
    content, good = b"\0" * 4 * WIDTH, saved(np.zeros((1, WIDTH), np.float32))
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
        "(True, 64)",
        "None",
        f"(0x{'f' * 700}, {WIDTH})",
        f"(1, 0x{'f' * 700})",
        "(" * 400,
        "(1, " * 60,
        "-" * 800 + "1",
        "(64, 1)",
        f"({WIDTH}, {WIDTH})",
        f"(1000000, {WIDTH})",
        "(1, 64L)",
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
        **{f"shape {shape[:30]}": npy(described(shape=shape), content) for shape in shapes},
        **{f"type {kind}": npy(described(kind), content) for kind in kinds},
        **{f"header {header[:30]!r}": npy(header, content) for header in headers},
        **{f"cut at {cut}": good[:cut] for cut in (0, 1, 5, 6, 7, 8, 9, 10, 11, 60, 127, 128, 129, len(good) - 1)},
        **{
            f"version {version}": npy(described(), content, version) for version in ((0, 0), (3, 0), (255, 255), (1, 1))
        },
        "more than announced": good + b"\0",
        "header beyond the end": b"\x93NUMPY\x01\x00\xff\xff" + b" " * 20,
        "header of 4 GB": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + described().encode(),
        "objects": saved(np.array([Payload()], dtype=object), allow_pickle=True),
        "a pickle": pickle.dumps(Payload()),
        "NaN": saved(np.full((2, WIDTH), np.nan)),
        "infinity": saved(np.full((2, WIDTH), np.inf, np.float32)),
        "too large for single precision": saved(np.full((1, WIDTH), 1e39)),
        "no rows": saved(np.zeros((0, WIDTH))),
        "a number": saved(np.float32(1)),
        "rows of another width": saved(np.zeros((3, WIDTH + 1))),
        "three axes": saved(np.zeros((1, WIDTH, 1))),
        "text": saved(np.array([["x"] * WIDTH])),
        "npz": _zipped(10),
        "zip bomb": _zipped(50_000_000),
        "gzip bomb": gzip.compress(b"\0" * 50_000_000),
        "zeros": b"\0" * 10_000,
        "too many rows": saved(np.zeros((100_001, WIDTH), np.int8)),
    }
    yield from ((f".npy, {kind}", "/predict", NPY, body) for kind, body in files.items())


def _zipped(size):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * size)
    return file.getvalue()


class Thrift:
    """A struct in the compact protocol, to write what no library writes."""

    def __init__(self):
        self._parts, self._last = [], 0

    def _field(self, number, kind, content):
        self._parts.append(bytes([(number - self._last) << 4 | kind]) + content)
        self._last = number
        return self

    def integer(self, number, value, kind=6):
        return self._field(number, kind, varint(value << 1 ^ value >> 63))

    def int32(self, number, value):
        return self.integer(number, value, 5)

    def text(self, number, value):
        return self._field(number, 8, varint(len(value)) + value)

    def struct(self, number, value):
        return self._field(number, 12, value.end())

    def items(self, number, kind, values, announced=None):
        count = len(values) if announced is None else announced
        return self._field(number, 9, bytes([0xF0 | kind]) + varint(count) + b"".join(values))

    def end(self):
        return b"".join(self._parts) + b"\0"


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def crafted(
    page,
    size,
    rows=10,
    columns=WIDTH,
    announced=80,
    codec=6,
    groups=1,
    values=None,
    packed=None,
    offset=None,
    path=None,
):
    """A Parquet file of columns that all are this page: `size` bytes unpacked, of which the footer says `announced`."""
    counts = Thrift().int32(1, rows if values is None else values).int32(2, 0).int32(3, 3).int32(4, 3)
    head = Thrift().int32(1, 0).int32(2, size).int32(3, len(page) if packed is None else packed).struct(5, counts).end()
    at = 4 if offset is None else offset
    names = [b"f%d" % k for k in range(columns)]
    chunks = []
    for name in names:
        about = Thrift().int32(1, 5).items(2, 5, [varint(0)])
        about = about.items(3, 8, [varint(len(path or name)) + (path or name)]).int32(4, codec).integer(5, rows)
        about = about.integer(6, announced).integer(7, len(head) + len(page)).integer(9, at)
        chunks.append(Thrift().integer(2, at).struct(3, about).end())
    root = Thrift().text(4, b"schema").int32(5, columns).end()
    schema = [root, *(Thrift().int32(1, 5).int32(3, 0).text(4, name).end() for name in names)]
    group = Thrift().items(1, 12, chunks).integer(2, announced).integer(3, rows).end()
    footer = Thrift().int32(1, 1).items(2, 12, schema).integer(3, rows * groups).items(4, 12, [group] * groups).end()
    return b"PAR1" + head + page + footer + struct.pack("<I", len(footer)) + b"PAR1"


def table(rows=3, **options):
    import pyarrow
    from pyarrow import parquet

    file = io.BytesIO()
    columns = {f"f{k}": np.full(rows, 0.5, np.float32) for k in range(WIDTH)}
    parquet.write_table(pyarrow.table({**columns, **options.pop("columns", {})}), file, **options)
    return file.getvalue()


def constant(rows):
    """A column of very many equal numbers, which takes few bytes."""
    import pyarrow
    from pyarrow import parquet

    file, some = io.BytesIO(), pyarrow.table({"f0": np.zeros(10_000_000, np.bool_)})
    with parquet.ParquetWriter(file, some.schema, compression="zstd") as writer:
        for _ in range(rows // 10_000_000):
            writer.write_table(some)
    return file.getvalue()


def parquet_files():
    import pyarrow as pa
    from pyarrow import parquet

    def written(columns, names=None):
        file = io.BytesIO()
        parquet.write_table(pa.table(columns, names=names), file)
        return file.getvalue()

    good, zeros, numbers = table(), b"\0" * 80, [pa.array([0.5])] * WIDTH
    bomb = bytes(pa.Codec("zstd").compress(b"\0" * (1 << 27)))
    brotli = bytes(pa.Codec("brotli").compress(b"\0" * (1 << 27)))
    other = [
        pa.array(["x"]),
        pa.array([[0.5]]),
        pa.array([{"a": 0.5}]),
        pa.array([None], pa.float32()),
        pa.array([b"x"]),
        pa.array([0], pa.timestamp("s")),
        pa.array(["x"]).dictionary_encode(),
        pa.array([None], pa.null()),
        pa.array([1], pa.date32()),
        pa.array([None, 1], pa.decimal128(5, 2))[1:],
        pa.array([{"a": 1, "b": 2}]),
        pa.array([float("nan")]),
        pa.array([float("inf")]),
        pa.array([1e39]),
    ]
    names = [f"f{k}" for k in range(WIDTH)]
    footer = int.from_bytes(good[-8:-4], "little")
    files = {
        "only marks": b"PAR1PAR1",
        "marks and zeros": b"PAR1" + b"\0" * 100 + b"PAR1",
        "encrypted": b"PARE" + good[4:-4] + b"PARE",
        "noise": b"PAR1" + np.random.default_rng(1).bytes(5000) + good[-8:],
        "no rows": table(0),
        "too many rows": table(100_001),
        "10⁸ rows": constant(100_000_000),
        "10⁸ rows announced": crafted(zeros, 80, 10**8, codec=0),
        "10¹⁵ rows announced": crafted(zeros, 80, 10**15, codec=0),
        "less than no rows": crafted(zeros, 80, -1, codec=0),
        "rows of many groups": crafted(zeros, 80, groups=20_000, codec=0),
        "two columns of one name": written(numbers, ["f"] * WIDTH),
        "one column": written({"f0": [0.5]}),
        "many columns": written([pa.array([0.5])] * 3000, [f"c{k}" for k in range(3000)]),
        **{f"a column of {one.type}": written([*numbers[:-1], one], names) for one in other},
        **{
            f"cut at {cut}": good[:cut]
            for cut in (1, 4, 8, 12, len(good) // 2, len(good) - 8, len(good) - 4, len(good) - 1)
        },
        "without its first half": good[len(good) // 2 :],
        "without its footer": good[: -8 - footer] + good[-8:],
        "footer of 4 GB": good[:-8] + b"\xff\xff\xff\xff" + b"PAR1",
        "footer of 2 GB": good[:-8] + b"\0\0\0\x80" + b"PAR1",
        "footer of everything": good[:-8] + struct.pack("<I", len(good) - 8) + b"PAR1",
        "pages of 8 GB together": crafted(bomb, 1 << 27),
        "the same, announced": crafted(bomb, 1 << 27, announced=1 << 27),
        "the same under another name": crafted(bomb, 1 << 27, path=b"x"),
        "the same by brotli": crafted(brotli, 1 << 27, codec=4),
        "a page that unpacks to more than it says": crafted(bomb, 80),
        "a page of 2 GB announced": crafted(zeros, 2**31 - 1),
        "a page of less than nothing": crafted(zeros, -1, codec=0),
        "packed to less than nothing": crafted(zeros, 80, packed=-1, codec=0),
        "packed beyond the end": crafted(zeros, 80, packed=10**6, codec=0),
        "pages before the file": crafted(zeros, 80, offset=-5, codec=0),
        "pages after the file": crafted(zeros, 80, offset=10**9, codec=0),
        "pages in the footer": crafted(zeros, 80, offset=500, codec=0),
        "an unknown codec": crafted(zeros, 80, codec=99),
        "2³¹ values in a page": crafted(zeros, 80, values=2**31 - 1, rows=50, codec=0),
        "more rows than values": crafted(zeros, 80, rows=1000, codec=0),
        "a list of 2³¹ columns": _footer(Thrift().int32(1, 1).items(2, 12, [], 2**31 - 1)),
        "a list of 10⁶ groups": _footer(Thrift().int32(1, 1).items(2, 12, []).integer(3, 1).items(4, 12, [], 10**6)),
        "a name of 4 GB": _footer(Thrift().int32(1, 1)._field(2, 8, varint(2**32 - 1))),
        "structs in structs": _footer(Thrift().int32(1, 1)._field(2, 12, b"\x1c" * 100_000)),
    }
    yield from ((f"Parquet, {kind}", "/predict", PARQUET, body) for kind, body in files.items())


def _footer(struct_):
    content = struct_.end()
    return b"PAR1" + content + struct.pack("<I", len(content)) + b"PAR1"


def other_types():
    """Good bodies under another name."""
    text, array, columns = json.dumps(GOOD["/predict"]).encode(), saved(np.zeros((1, WIDTH))), table()
    for kind, body in ((JSON, array), (JSON, columns), (NPY, text), (NPY, columns), (PARQUET, text), (PARQUET, array)):
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
        "é",
        "*/*",
        "application/*",
        ";",
        "a" * 5000,
    ):
        yield from ((f"of type {kind[:40]!r}", path, kind, json.dumps(good).encode()) for path, good in GOOD.items())
    for path in ("/classes", "/classes/new", "/rank"):
        yield from ((f"of type {kind}", path, kind, body) for kind, body in ((NPY, array), (PARQUET, columns)))
