"""Words that no table knows → known words that mean nearly the same, by sentence vectors if the encoder is here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zskl.signatures import encoders, text_cache

ALIKE = 0.75  # cosine from which two words count as the same: "brow" is an eyebrow, a "songbird" not a hummingbird


class Meanings:
    """Known words, to which others are compared. Nothing is loaded before the first word, and nothing is fetched."""

    def __init__(self, known: Sequence[str], encoder: str = encoders.BUNDLED) -> None:
        self._known, self._name = list(known), encoder

    def nearest(self, words: Sequence[str]) -> dict[str, str]:
        """Word → the known word that is most like it, for words that have one."""
        if not words or not self._known or not encoders.is_present(self._name):
            return {}
        alike = self._vectors(words) @ self._matrix.T
        best = alike.argmax(axis=1)
        return {
            word: self._known[best[k]] for k, word in enumerate(words) if alike[k, best[k]] >= ALIKE and len(word) > 2
        }

    @cached_property
    def _matrix(self) -> NDArray[np.float64]:
        return self._vectors(self._known)

    @cached_property
    def _encoder(self) -> encoders.Encoder:
        return encoders.load_encoder(self._name)

    def _vectors(self, words: Sequence[str]) -> NDArray[np.float64]:
        """(n, p) at unit length."""
        identity = encoders.identity(self._name) or self._name
        found = text_cache.vectors(identity, words, lambda new: encoders.encode(self._encoder, new))
        long = found.astype(np.float64)
        return np.asarray(long / np.maximum(np.linalg.norm(long, axis=1, keepdims=True), 1e-12))
