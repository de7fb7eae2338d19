"""Model files: one safetensors file, named arrays and a JSON header. Never pickle. Knows no estimator."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

FORMAT = "zskl-model"
VERSION = 1
_KEY = "zskl"


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write the file whole or not at all: a failure leaves what was there."""
    header = {"format": FORMAT, "version": VERSION, **header}
    packed = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={_KEY: json.dumps(header, ensure_ascii=False, allow_nan=False)},
    )
    write_atomically(path, packed)


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the file at `path` by `content` in one step, through a temporary file beside it."""
    with replacing(path) as file:
        file.write(content)


def check_target(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """Refuse a path that cannot be written, or that is one of the `inputs` of what is to be written there."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise PermissionError(f"cannot write {path}: no permission; choose another place, or change its permissions")
    for given in inputs:
        if given is not None and path.exists() and Path(given).exists() and path.samefile(given):
            raise ValueError(f"cannot write {path}: it is also what is read; name another file, nothing was changed")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A temporary file beside `path`, which takes its place when the block ends well and vanishes otherwise."""
    path = Path(path)
    check_target(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Header and arrays; a file that is truncated, foreign or of a newer format is refused with a sentence."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}: check the path, or save a model there first")
    damaged = "it may be truncated or of another kind; copy it again, or save the model anew"
    try:
        file: Any = safe_open(path, framework="numpy")
    except SafetensorError as error:
        raise ValueError(f"{path} is not a readable zskl model file ({error}): {damaged}") from None
    with file:
        header = _header(path, (file.metadata() or {}).get(_KEY))
        try:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        except (SafetensorError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path} holds an array that no zskl model has ({error}): {damaged}") from None
    return header, arrays


def _header(path: Path, text: str | None) -> dict[str, Any]:
    try:
        header = json.loads(text) if text is not None else None
    except ValueError as error:
        raise ValueError(f"{path} has a header that is not JSON ({error}): save the model anew") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file, but not one that zskl wrote: expected a {FORMAT} header")
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise ValueError(
            f"{path} has model format version {header.get('version')!r}, this zskl reads up to {VERSION}: upgrade zskl"
        )
    return header
