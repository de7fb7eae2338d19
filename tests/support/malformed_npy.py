""".npy files that no request should have: (what it is, path, content type, body)."""

import gzip
import io
import pickle
import zipfile

import numpy as np

from good_bodies import NPY, WIDTH, npy_bytes


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
