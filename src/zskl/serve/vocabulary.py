"""The attributes of a model as people say them: names, groups and ranges, and descriptions in words → vectors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zskl._validation import list_values, suggest
from zskl.datasets import Dataset, folder
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve.errors import Refusal, quote
from zskl.serve.schemas import Attribute, NamedAttribute, UnderstoodWords
from zskl.signatures import sentences
from zskl.signatures.sentences import Encoder, encode_class_texts, make_texts

# what tables of attributes say: what people say for it; words on the left, between commas, are all meant
_SYNONYMS = """
bill: beak billed beaked
breast: chest breasted
crown: cap crowned
forehead: face
head, crown, forehead, nape: head headed
nape, throat: neck
throat: chin throated
belly: stomach tummy abdomen bellied
underparts, belly: underside underneath
leg: feet foot legged
eye: iris eyed
wing: winged
tail: tailed
grey: gray silver ash
yellow: golden gold lemon
red: scarlet crimson
red, iridescent: ruby
rufous: chestnut rust rusty ginger
buff: tan beige cream sandy
purple: violet lilac mauve
blue: turquoise azure navy
blue, green: teal
green: emerald
black: ebony jet
grey, black: charcoal
white: ivory snowy
red, brown: maroon
orange, yellow: amber
pink: rose
iridescent: shiny metallic
multi colored: colourful colorful multicolored multicoloured
striped: stripe streaked streak barred
spotted: spot speckled dotted
crested: crest tuft
masked: mask
plain, solid: plain
solid: uniform
cone: conical thick
pointed: pointy sharp
squared: square
rounded: round
small: little
very small: tiny
large: big
very large: huge giant
"""
SYNONYMS: dict[str, tuple[str, ...]] = {
    word: tuple(meaning.split(", "))
    for meaning, words in (line.split(":") for line in _SYNONYMS.strip().splitlines())
    for word in words.split()
}


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


GENERIC = _word_set("color colour shape pattern length size primary main overall has type")  # name no part
CONNECTORS = _word_set("and or bright dark pale light deep mostly partly very")  # between a value and its part
COPULAS = _word_set("is are was were that which looks look seems in of being quite very rather mostly all")
NEGATIONS = _word_set("no not without never lacks lacking")
STOP_WORDS = _word_set(
    "with a an the its it he she they has have had having this these there on at to by from as"
).union(CONNECTORS, COPULAS, NEGATIONS)
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[,;.:!?]")
PUNCTUATION = frozenset(",;.:!?")
MAX_GAP = 3  # words between a value and its part, or a negation and what it denies
MIN_SIMILARITY = 0.75  # cosine of words that count as the same: "brow" is an eyebrow, a "songbird" not a hummingbird
SEPARATORS = ("=", "::", ":", "/")  # between the group and the rest of an attribute's name, tried in this order
MAX_RATIO = 1000.0  # to the largest value of the model's table: beyond that a description is a mistake, or an attack
TOLERANCE = 1e-6  # two tables are the same if their values differ by less


class Mention(NamedTuple):
    """An attribute that words name: its place, whether they deny it, the words, and whether one of these is a guess."""

    place: int
    denied: bool
    words: str
    guessed: bool = False


class _Meaning(NamedTuple):
    """An attribute as words: its value, and the parts that its group names; none is the whole."""

    value: tuple[str, ...]
    parts: frozenset[str]


class Phrases:
    """Finds the attributes of a model in a text: "small black bird with a yellow head".

    An attribute of a group is a value of a part: "yellow" of "crown color". A value that somebody names belongs to the
    part after it ("yellow head", "black and white wings") or before it ("its head is yellow"). Without a part it
    belongs to the whole ("primary color", "size"), or to the only part that can have it ("forked", of tails).
    """

    def __init__(self, labels: Sequence[tuple[str | None, str]]) -> None:
        self._meanings = [_attribute_meaning(group, label) for group, label in labels]
        self._parts = {part for one in self._meanings for part in one.parts}
        self._by_value: dict[tuple[str, ...], list[int]] = {}
        for place, one in enumerate(self._meanings):
            self._by_value.setdefault(one.value, []).append(place)
        self._longest = max((len(value) for value in self._by_value), default=0)

    @property
    def known(self) -> list[str]:
        return sorted({" ".join(value) for value in self._by_value} | self._parts)

    def read(self, text: str, similar: Mapping[str, str] | None = None) -> tuple[list[Mention], list[str]]:
        """The attributes that a text names, each once, in its order; and the words that name none."""
        tokens, also = [word.lower() for word in WORD.findall(text)], similar or {}
        senses = [(*_word_senses(word), *((also[word],) if word in also else ())) for word in tokens]
        mentions = list(self._find_mentions(senses))
        valued = {at for start, end, _ in mentions for at in range(start, end)}
        used = set(valued)
        found: dict[int, Mention] = {}
        for start, end, values in mentions:
            parts, named_at = self._find_parts(senses, tokens, start, end, valued)
            for place in self._match_places(values, parts):
                denied = any(word in NEGATIONS for word in tokens[max(0, start - MAX_GAP) : start])
                words = " ".join([*tokens[start:end], *(tokens[at] for at in named_at if not start <= at < end)])
                guessed = any(tokens[at] in also for at in (*range(start, end), *named_at))
                found.setdefault(place, Mention(place, denied, words, guessed))
                used.update(named_at)
        rest = [at for at in range(len(tokens)) if at not in used and not self._parts.intersection(senses[at])]
        unknown = [tokens[at] for at in rest if tokens[at] not in STOP_WORDS | PUNCTUATION]
        return list(found.values()), list(dict.fromkeys(unknown))

    def _find_mentions(self, senses: list[tuple[str, ...]]) -> Iterator[tuple[int, int, list[tuple[str, ...]]]]:
        """(first word, after the last, values) of the values that are named; of two, the longer."""
        at = 0
        while at < len(senses):
            for length in range(min(self._longest, len(senses) - at), 0, -1):
                values = [value for value in _word_readings(senses[at : at + length]) if value in self._by_value]
                if values:
                    yield at, at + length, values
                    at += length
                    break
            else:
                at += 1

    def _find_parts(
        self, senses: list[tuple[str, ...]], tokens: list[str], start: int, end: int, valued: set[int]
    ) -> tuple[frozenset[str], list[int]]:
        """The parts that a value belongs to, and where they are named: after it, or before it and a copula."""
        at, named_at, parts = end, [], set[str]()
        while at < len(senses):
            named = self._parts.intersection(senses[at])
            if named and at not in valued:
                parts |= named
                named_at.append(at)
            elif at in valued:
                if parts:  # the next value has parts of its own
                    break
            elif tokens[at] not in CONNECTORS:
                break
            at += 1
        if parts:
            return frozenset(parts), named_at
        back = start - 1
        while back >= 0 and start - back <= MAX_GAP and tokens[back] in COPULAS | NEGATIONS:
            back -= 1
        if 0 <= back < start - 1 and self._parts.intersection(senses[back]):
            return frozenset(self._parts.intersection(senses[back])), [back]
        return frozenset(), []

    def _match_places(self, values: list[tuple[str, ...]], parts: frozenset[str]) -> list[int]:
        places = [place for value in values for place in self._by_value[value]]
        if parts:
            return [place for place in places if self._meanings[place].parts & parts]
        whole = [place for place in places if not self._meanings[place].parts]
        return whole or (places if len({self._meanings[place].parts for place in places}) == 1 else [])


def _attribute_meaning(group: str | None, label: str) -> _Meaning:
    words = tuple(
        _make_word_singular(word)
        for word in WORD.findall(re.sub(r"\(.*?\)", " ", label).lower())
        if word not in PUNCTUATION
    )
    if group is None:
        return _Meaning(words, frozenset())
    parts = frozenset(_make_word_singular(word) for word in WORD.findall(group.lower())) - GENERIC
    rest = tuple(word for word in words if word not in parts)
    return _Meaning(rest or words, parts)


def _word_senses(word: str) -> tuple[str, ...]:
    plain = _make_word_singular(word)
    found = SYNONYMS.get(word) or SYNONYMS.get(plain) or ()
    if not found and plain.endswith("ish") and len(plain) > 5:
        stem = plain[:-3]
        found = (stem, stem[:-1] if stem[-1:] == stem[-2:-1] else stem + "e")  # reddish, bluish → blue
    return tuple(dict.fromkeys((plain, *found)))


def _word_readings(senses: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    return (tuple(map(_make_word_singular, " ".join(words).split())) for words in itertools.product(*senses))


def _make_word_singular(word: str) -> str:
    """A noun in its singular: wings → wing. Words that end in ss stay."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


class WordMeanings:
    """Finds known words that mean nearly the same as others, by sentence vectors if the encoder is here."""

    def __init__(self, known: Sequence[str], encoder: str = sentences.BUNDLED) -> None:
        self._known, self._name = list(known), encoder

    def nearest(self, words: Sequence[str]) -> dict[str, str]:
        if not words or not self._known or not sentences.is_encoder_present(self._name):
            return {}
        alike = self._vectors(words) @ self._matrix.T
        best = alike.argmax(axis=1)
        return {
            word: self._known[best[k]]
            for k, word in enumerate(words)
            if alike[k, best[k]] >= MIN_SIMILARITY and len(word) > 2
        }

    @cached_property
    def _matrix(self) -> NDArray[np.float64]:
        return self._vectors(self._known)

    @cached_property
    def _encoder(self) -> sentences.Encoder:
        return sentences.load_encoder(self._name)

    def _vectors(self, words: Sequence[str]) -> NDArray[np.float64]:
        """(n, p) at unit length."""
        identity = sentences.encoder_identity(self._name) or self._name
        found = sentences.cached_vectors(identity, words, lambda new: sentences.encode_texts(self._encoder, new))
        long = found.astype(np.float64)
        return np.asarray(long / np.maximum(np.linalg.norm(long, axis=1, keepdims=True), 1e-12))


class Vocabulary:
    """The p attributes of a fitted model: `names`, and (p,) their `mean`, `low`, `high`, `spread` and kind."""

    def __init__(self, model: ZeroShotClassifier) -> None:
        matrix = model.signature_table_.matrix
        self.names = model.attribute_names_ or tuple(f"attribute {m}" for m in range(matrix.shape[1]))
        # of seen classes: it stands for whatever a description leaves out
        self.mean = model.signature_table_.select(model.seen_classes_).matrix.mean(axis=0)
        self.low, self.high = matrix.min(axis=0), matrix.max(axis=0)
        self.spread = np.where(self.high > self.low, self.high - self.low, 1.0)
        self.binary = ((matrix == 0) | (matrix == 1)).all(axis=0)
        parts = [_split_attribute_name(name) for name in self.names]
        self._groups: dict[str | None, list[int]] = {}
        for place, (group, _) in enumerate(parts):
            self._groups.setdefault(group, []).append(place)
        self._groups = {group: found for group, found in self._groups.items() if group is not None and len(found) > 1}
        # (group, label) of each attribute; an attribute alone in its group has none
        self._labels = [
            part if part[0] in self._groups else (None, _add_spaces(name))
            for part, name in zip(parts, self.names, strict=True)
        ]
        # in an exclusive group, such as base letters, to say that one applies is to say that the others do not
        self.exclusive = np.zeros(len(self.names), dtype=bool)
        for places in self._groups.values():
            self.exclusive[places] = self.binary[places].all() and (matrix[:, places].sum(axis=1) <= 1).all()
        self._place = {name: m for m, name in enumerate(self.names)}
        self._phrases = Phrases(self._labels)
        self._meanings = WordMeanings(self._phrases.known)
        self._furthest = MAX_RATIO * max(float(np.abs(matrix).max()), 1.0)

    def make_vector(self, given: Mapping[str, float]) -> tuple[NDArray[np.float64], list[str]]:
        """A description (p,), and the names of the attributes that it leaves to the mean of the seen classes."""
        unknown = [name for name in given if name not in self._place]
        if unknown:
            near = suggest(unknown[0], self.names)
            raise Refusal(
                422,
                f"the model has no attribute {quote(unknown[0])}{near}"
                f"{f' and {len(unknown) - 1} more' if len(unknown) > 1 else ''}: it has "
                f"{list_values(self.names)}, see GET /model",
            )
        values, left = self.mean.copy(), dict.fromkeys(self.names)
        for name, value in given.items():
            if not abs(value) <= self._furthest:
                raise Refusal(
                    422,
                    f"attribute {quote(name)} is {value:g}: expected a number between {-self._furthest:g} and "
                    f"{self._furthest:g}; in the model it goes from {self.low[self._place[name]]:g} to "
                    f"{self.high[self._place[name]]:g}",
                )
            values[self._place[name]] = value
            del left[name]
        ones = [self._place[name] for name, value in given.items() if value == 1]
        for group in {self._labels[place][0] for place in ones if self.exclusive[place]}:
            for other in self._groups[group]:
                if self.names[other] in left:
                    values[other] = 0
                    del left[self.names[other]]
        if not values.any():
            raise Refusal(422, "every attribute of this description is 0: give at least one that is not")
        return values, list(left)

    def drop_implied(self, values: NDArray[np.float64], given: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(p,) what is given of a description (p,), without what follows: beside the 1 of an exclusive group its 0s."""
        found = given.copy()
        for places in self._groups.values():
            if self.exclusive[places].all() and (values[places] == 1).any():
                found[places] &= values[places] == 1
        return found

    def understand(self, text: str) -> UnderstoodWords:
        """The attributes that a description in words names: as high as any class has them, or as low if denied."""
        found, unknown = self._phrases.read(text)
        similar = self._meanings.nearest(unknown)
        if similar:
            found, unknown = self._phrases.read(text, similar)
        named: list[NamedAttribute] = []
        for one in found:
            value = float((self.low if one.denied else self.high)[one.place])
            name = self.names[one.place]
            named.append({"attribute": name, "value": value, "words": one.words, "guessed": one.guessed})
        return {"attributes": named, "unknown": unknown}

    def find_named(self, text: str) -> list[int]:
        return [one.place for one in self._phrases.read(text)[0]]

    def phrase_for(self, place: int) -> str:
        """An attribute as people say it: "yellow crown" of has_crown_color::yellow."""
        group, label = self._labels[place]
        if group is None:
            return label
        part = " ".join(word for word in group.split() if word not in GENERIC)
        return f"{label.partition('(')[0].strip()} {part}".strip()

    def to_json(self) -> list[Attribute]:
        return [
            {
                "name": name,
                "label": label,
                "group": group,
                "low": float(self.low[m]),
                "high": float(self.high[m]),
                "mean": float(self.mean[m]),
                "binary": bool(self.binary[m]),
                "exclusive": bool(self.exclusive[m]),
            }
            for m, (name, (group, label)) in enumerate(zip(self.names, self._labels, strict=True))
        ]


def _split_attribute_name(name: str) -> tuple[str | None, str]:
    """
    >>> _split_name("has_bill_shape::curved_(up_or_down)")
    ('bill shape', 'curved (up or down)')
    """
    for separator in SEPARATORS:
        group, found, rest = name.partition(separator)
        if found and group.strip() and rest.strip():
            return _add_spaces(group.removeprefix("has_")), _add_spaces(rest)
    return None, _add_spaces(name)


def _add_spaces(name: str) -> str:
    return name.replace("_", " ").strip() or name


class SentenceEncoder:
    """Sentences → signatures, where the model's own signatures are sentence vectors."""

    def __init__(self, recorded: str, templates: Sequence[str], width: int, example: str = "") -> None:
        self.recorded, self.example = recorded, example
        self._templates, self._width = list(templates), width

    @cached_property
    def missing(self) -> str | None:
        """Why no sentence can be read; None if it can."""
        name = _encoder_name(self.recorded)
        if name is not None and sentences.is_encoder_present(name):
            return None
        return (
            f"the class table was made by the encoder {self.recorded}, which is not on this machine: for "
            f"{sentences.BUNDLED}, pip install 'zskl[text]' and {sentences.INSTALL}; to fetch another, "
            "run zskl data words once"
        )

    def make_vector(self, sentence: str) -> NDArray[np.float64]:
        """(p,) the signature of a sentence."""
        if self.missing is not None:
            raise Refusal(409, self.missing)
        found = encode_class_texts(make_texts({"described": sentence}, self._templates), self._encoder)
        values = found.to_numpy(np.float64)[0]
        if len(values) != self._width:
            why = f"the encoder {self.recorded} makes {len(values)} numbers, the model takes {self._width}"
            raise Refusal(409, why)
        return np.asarray(values)

    @cached_property
    def _encoder(self) -> Encoder:
        try:
            return sentences.load_encoder(_encoder_name(self.recorded) or self.recorded)
        except (ValueError, OSError) as error:
            raise Refusal(409, f"no sentence can be read: {error}") from None


def load_sentences(data: Dataset | None, model: ZeroShotClassifier) -> SentenceEncoder | None:
    """How the class table of a model was made from sentences, if its file, or data with the same table, say so."""
    encoder = getattr(model, "encoder_", None) or {}
    if encoder.get("kind") == "texts" and encoder["encoder"] is not None:
        templates, known = encoder["template"] or "{}", encoder["identity"] or encoder["encoder"]
        templates = [templates] if isinstance(templates, str) else templates
        return SentenceEncoder(str(known), templates, model.signature_table_.matrix.shape[1])
    if data is None or not folder.is_dataset(data.source):
        return None
    record: dict[str, Any] | None = folder.read_manifest(Path(data.source))["made"].get("texts")
    table = model.signature_table_
    names, values = _sort_described_classes(data.signatures.index.to_numpy(), data.signatures.to_numpy(np.float64))
    known, matrix = _sort_described_classes(table.labels, table.matrix)
    same = names == known and values.shape == matrix.shape
    if record is None or not same or not np.allclose(values, matrix, rtol=TOLERANCE, atol=TOLERANCE):
        return None
    texts = [text for given in record["texts"].values() for text in given]
    return SentenceEncoder(record["encoder"], record["templates"], values.shape[1], texts[0] if texts else "")


def _sort_described_classes(labels: NDArray[Any], values: NDArray[Any]) -> tuple[list[str], NDArray[Any]]:
    """A class table by the names of its classes: zskl fit writes another order than the folder has."""
    names = np.array([str(one) for one in labels.tolist()])
    order = np.argsort(names, kind="stable")
    return names[order].tolist(), values[order]


def _encoder_name(recorded: str) -> str | None:
    """The name of a recorded encoder, which is followed by its version; None if another version is here."""
    names = (recorded.rsplit(" ", 1)[0], recorded)
    return next((name for name in names if sentences.encoder_identity(name) == recorded), None)
