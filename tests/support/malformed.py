"""Bodies that no request should have, by kind: (what it is, path, content type, body)."""

import json

import numpy as np

from good_bodies import GOOD, JSON, NPY, WIDTH, npy_bytes
from malformed_json import json_numbers, json_rubbish, json_values
from malformed_npy import npy_files


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
