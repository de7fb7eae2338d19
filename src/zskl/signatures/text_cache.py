"""Vectors of texts that an encoder has seen before, in the user's cache: a file for each encoder, newest texts last.

A file has two arrays: `texts`, the SHA-256 of each text, and `vectors`. You may delete the folder at any time. If it
cannot be written, or a file is damaged, texts are encoded again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.files import cache_folder, replacing, wait_for_lock

FORMAT = 1
MOST = 20_000  # texts in a file, 31 MB of MiniLM; the oldest give way
BYTES = hashlib.sha256().digest_size


def vectors(
    identity: str, texts: Sequence[str], encode: Callable[[list[str]], NDArray[np.generic]]
) -> NDArray[np.generic]:
    """(n, p) a vector for each text. `encode` gets only what is not in the file of this encoder, each text once."""
    target = file(identity)
    known = _kept(target)
    keys = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    if new:
        found = dict(zip(new, encode(list(new.values())), strict=True))
        known |= found
        with suppress(OSError):  # no folder, no permission, a full disk
            _keep(target, found)
    return np.stack([known[key] for key in keys])


def file(identity: str) -> Path:
    """Where the vectors of an encoder are kept. It need not exist."""
    name = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:16]
    return cache_folder() / "texts" / f"{name}.{FORMAT}.npz"


def _keep(target: Path, found: dict[bytes, NDArray[Any]]) -> None:
    """Add to the file, one process at a time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("wb") as lock:
        wait_for_lock(lock.fileno())
        kept = list((_kept(target) | found).items())[-MOST:]
        texts = np.frombuffer(b"".join(key for key, _ in kept), dtype=np.uint8).reshape(-1, BYTES)
        with replacing(target) as stream:
            np.savez(stream, texts=texts, vectors=np.stack([vector for _, vector in kept]))


def _kept(target: Path) -> dict[bytes, NDArray[Any]]:
    """SHA-256 of a text → its vector; nothing if there is no file or it is damaged: it has checksums."""
    try:
        with target.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            texts, found = arrays["texts"], arrays["vectors"]
            return {key.tobytes(): vector for key, vector in zip(texts, found, strict=True)}
    except Exception:  # a damaged archive fails in many ways, and all mean: encode again
        return {}
