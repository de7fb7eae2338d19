"""Reading and rewriting model files in tests."""

import json

from safetensors import safe_open
from safetensors.numpy import load_file


def parts(path):
    """Header and arrays of a model file, by safetensors alone."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["zskl"])
    return header, load_file(path)
