"""One JSON line per finished unit of work: what was run, on what, and what came out."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from zskl import persistence
from zskl.persistence import write_atomically
from zskl.version import __version__

PACKAGES = ("numpy", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """The versions that a figure depends on; of a package that is not installed, none."""
    found = {"zskl": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def to_line(record: Mapping[str, Any]) -> str:
    """The record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain)


def write(path: str | os.PathLike[str], records: Iterable[Mapping[str, Any]]) -> None:
    """All records to one file, a line each, whole or not at all; missing folders are made."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(to_line(record) + "\n" for record in records).encode())


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work is done, a path that `write` could not write to; missing folders are made."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    persistence.check_target(path)


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The records of a file; a line that is not JSON is refused by its number."""
    records = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number} is not a record ({error}): restore or remove that line") from None
    return records


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a record cannot hold a {type(value).__name__}")
