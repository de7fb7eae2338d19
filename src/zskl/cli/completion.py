"""What the shell offers after the TAB key. It answers at once, so it imports nothing: tests compare the names."""

from __future__ import annotations

from glob import escape, glob
from pathlib import Path

METHODS = (
    *("gaussian-ort", "gaussian", "cauchy-ort", "cauchy", "polynomial-2", "polynomial-4", "polynomial-6"),
    *("gaussian-softmax", "cauchy-softmax", "class-means", "means-softmax"),
    *("dap", "iap", "conse", "cmt", "cmt-star", "sse", "latem", "ale", "devise", "sje", "eszsl", "sync", "sae", "exem"),
    *("cnzsl", "cosine", "eszsl-signs"),
)
DATASETS = ("letters", "digits", "synthetic", "AWA1", "AWA2", "SUN", "CUB", "APY")
MARKS = ("manifest.json", "att_splits.mat")  # a folder with one of these is a dataset


def methods(incomplete: str) -> list[str]:
    """The methods whose names begin so."""
    return [name for name in METHODS if name.startswith(incomplete)]


def datasets(incomplete: str) -> list[str]:
    """The datasets whose names or folders begin so."""
    named = [name for name in DATASETS if name.startswith(incomplete)]
    folders = {str(Path(file).parent) for mark in MARKS for file in glob(f"{escape(incomplete)}*/{mark}")}
    return named + sorted(folders)
