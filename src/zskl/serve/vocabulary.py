"""Words that people use, and the words that tables of attributes use for the same. A table of plain words, no code.

The words on the left are what somebody types; several words on the right are all meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._validation import list_values, suggest
from zskl.datasets import Dataset, folder
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve.limits import Refusal, quote_value
from zskl.serve.schemas import Attribute, UnderstoodWords
from zskl.signatures import sentences
from zskl.signatures.sentences import Encoder, encode_class_texts, make_texts

# Synonyms -------------------------------------------------------------------------------------------------------------

SYNONYMS: dict[str, tuple[str, ...]] = {
    # parts of an animal
    "beak": ("bill",),
    "chest": ("breast",),
    "cap": ("crown",),
    "face": ("forehead",),
    "head": ("head", "crown", "forehead", "nape"),
    "neck": ("nape", "throat"),
    "chin": ("throat",),
    "stomach": ("belly",),
    "tummy": ("belly",),
    "abdomen": ("belly",),
    "underside": ("underparts", "belly"),
    "underneath": ("underparts", "belly"),
    "feet": ("leg",),
    "foot": ("leg",),
    "iris": ("eye",),
    "headed": ("head", "crown", "forehead", "nape"),
    "crowned": ("crown",),
    "throated": ("throat",),
    "breasted": ("breast",),
    "bellied": ("belly",),
    "winged": ("wing",),
    "tailed": ("tail",),
    "billed": ("bill",),
    "beaked": ("bill",),
    "legged": ("leg",),
    "eyed": ("eye",),
    # colours
    "gray": ("grey",),
    "silver": ("grey",),
    "ash": ("grey",),
    "golden": ("yellow",),
    "gold": ("yellow",),
    "lemon": ("yellow",),
    "scarlet": ("red",),
    "crimson": ("red",),
    "ruby": ("red", "iridescent"),
    "chestnut": ("rufous",),
    "rust": ("rufous",),
    "rusty": ("rufous",),
    "ginger": ("rufous",),
    "tan": ("buff",),
    "beige": ("buff",),
    "cream": ("buff",),
    "violet": ("purple",),
    "turquoise": ("blue",),
    "teal": ("blue", "green"),
    "azure": ("blue",),
    "navy": ("blue",),
    "emerald": ("green",),
    "ebony": ("black",),
    "jet": ("black",),
    "charcoal": ("grey", "black"),
    "ivory": ("white",),
    "snowy": ("white",),
    "maroon": ("red", "brown"),
    "amber": ("orange", "yellow"),
    "lilac": ("purple",),
    "mauve": ("purple",),
    "rose": ("pink",),
    "sandy": ("buff",),
    "shiny": ("iridescent",),
    "metallic": ("iridescent",),
    "colourful": ("multi colored",),
    "colorful": ("multi colored",),
    "multicolored": ("multi colored",),
    "multicoloured": ("multi colored",),
    # patterns and shapes
    "stripe": ("striped",),
    "streaked": ("striped",),
    "streak": ("striped",),
    "barred": ("striped",),
    "spot": ("spotted",),
    "speckled": ("spotted",),
    "dotted": ("spotted",),
    "crest": ("crested",),
    "tuft": ("crested",),
    "mask": ("masked",),
    "plain": ("plain", "solid"),
    "uniform": ("solid",),
    "curved": ("curved",),
    "conical": ("cone",),
    "thick": ("cone",),
    "pointy": ("pointed",),
    "sharp": ("pointed",),
    "square": ("squared",),
    "round": ("rounded",),
    # sizes
    "little": ("small",),
    "tiny": ("very small",),
    "big": ("large",),
    "huge": ("very large",),
    "giant": ("very large",),
}


# Phrases --------------------------------------------------------------------------------------------------------------
# A description in words → attributes: "small black bird with a yellow head".
#
# An attribute of a group is a value of a part: "yellow" of "crown color". A value that somebody names belongs to the
# part after it ("yellow head", "black and white wings") or before it ("its head is yellow"). Without a part it belongs
# to the whole ("primary color", "size"), or to the only part that can have it ("forked", of tails). Words that mean
# the same are in `synonyms`.

GENERIC = frozenset(
    ["color", "colour", "shape", "pattern", "length", "size", "primary", "main", "overall", "has", "type"]
)  # say no part
JOINED = frozenset(
    ["and", "or", "bright", "dark", "pale", "light", "deep", "mostly", "partly", "very"]
)  # between a value and its part
COPULAS = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "that",
        "which",
        "looks",
        "look",
        "seems",
        "in",
        "of",
        "being",
        "quite",
        "very",
        "rather",
        "mostly",
        "all",
    ]
)
NEGATIONS = frozenset(["no", "not", "without", "never", "lacks", "lacking"])
SMALL = (
    JOINED
    | COPULAS
    | NEGATIONS
    | frozenset(
        [
            "with",
            "a",
            "an",
            "the",
            "its",
            "it",
            "he",
            "she",
            "they",
            "has",
            "have",
            "had",
            "having",
            "this",
            "these",
            "there",
            "on",
            "at",
            "to",
            "by",
            "from",
            "as",
        ]
    )
)
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[,;.:!?]")
STOPS = frozenset(",;.:!?")
NEAR = 3  # words between a value and its part, or a negation and what it denies


@dataclass(frozen=True)
class Found:
    """An attribute that the words name: its place, whether they deny it, and the words. `guessed`: a word of them is
    only nearly one that is known."""

    place: int
    denied: bool
    words: str
    guessed: bool = False


@dataclass(frozen=True)
class Understood:
    """What the words of a description say, and those of them that say nothing about an attribute."""

    found: list[Found] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Meaning:
    """An attribute as words: its value, and the parts that its group names; none is the whole."""

    value: tuple[str, ...]
    parts: frozenset[str]


class Phrases:
    """The attributes of a model, to be found in text. `parts` are (group or None, label) as people read them."""

    def __init__(self, parts: Sequence[tuple[str | None, str]]) -> None:
        self._meanings = [_attribute_meaning(group, label) for group, label in parts]
        self._parts = {part for one in self._meanings for part in one.parts}
        self._by_value: dict[tuple[str, ...], list[int]] = {}
        for place, one in enumerate(self._meanings):
            self._by_value.setdefault(one.value, []).append(place)
        self._longest = max((len(value) for value in self._by_value), default=0)

    @property
    def known(self) -> list[str]:
        """All values and parts, as words."""
        return sorted({" ".join(value) for value in self._by_value} | self._parts)

    def read(self, text: str, similar: Mapping[str, str] | None = None) -> Understood:
        """What a text says, each attribute once, in its order. `similar` are words that stand for others."""
        spoken, also = [word.lower() for word in WORD.findall(text)], similar or {}
        heard = [(*_word_senses(word), *((also[word],) if word in also else ())) for word in spoken]
        mentions = list(self._mentions(heard))
        valued = {at for start, end, _ in mentions for at in range(start, end)}
        used = set(valued)
        found: dict[int, Found] = {}
        for start, end, values in mentions:
            parts, told = self._part(heard, spoken, start, end, valued)
            for place in self._meant(values, parts):
                denied = any(word in NEGATIONS for word in spoken[max(0, start - NEAR) : start])
                words = " ".join([*spoken[start:end], *(spoken[at] for at in told if not start <= at < end)])
                guessed = any(spoken[at] in also for at in (*range(start, end), *told))
                found.setdefault(place, Found(place, denied, words, guessed))
                used.update(told)
        unknown = [
            word
            for at, word in enumerate(spoken)
            if at not in used and word not in SMALL and word not in STOPS and not set(heard[at]) & self._parts
        ]
        return Understood(list(found.values()), list(dict.fromkeys(unknown)))

    def _mentions(self, heard: list[tuple[str, ...]]) -> Iterator[tuple[int, int, list[tuple[str, ...]]]]:
        """(first word, after the last, values) of the values that are named; of two, the longer."""
        at = 0
        while at < len(heard):
            for length in range(min(self._longest, len(heard) - at), 0, -1):
                values = [value for value in _word_readings(heard[at : at + length]) if value in self._by_value]
                if values:
                    yield at, at + length, values
                    at += length
                    break
            else:
                at += 1

    def _part(
        self, heard: list[tuple[str, ...]], spoken: list[str], start: int, end: int, valued: set[int]
    ) -> tuple[frozenset[str], list[int]]:
        """The parts that a value belongs to, and where they are named: after it, or before it and a copula."""
        at, told, parts = end, [], set[str]()
        while at < len(heard):
            named = self._parts.intersection(heard[at])
            if named and at not in valued:
                parts |= named
                told.append(at)
            elif at in valued:
                if parts:  # the next value has parts of its own
                    break
            elif spoken[at] not in JOINED:
                break
            at += 1
        if parts:
            return frozenset(parts), told
        back = start - 1
        while back >= 0 and start - back <= NEAR and spoken[back] in COPULAS | NEGATIONS:
            back -= 1
        if 0 <= back < start - 1 and self._parts.intersection(heard[back]):
            return frozenset(self._parts.intersection(heard[back])), [back]
        return frozenset(), []

    def _meant(self, values: list[tuple[str, ...]], parts: frozenset[str]) -> list[int]:
        places = [place for value in values for place in self._by_value[value]]
        if parts:
            return [place for place in places if self._meanings[place].parts & parts]
        whole = [place for place in places if not self._meanings[place].parts]
        if whole:
            return whole
        return places if len({self._meanings[place].parts for place in places}) == 1 else []


def _attribute_meaning(group: str | None, label: str) -> _Meaning:
    words = tuple(_singular(word) for word in WORD.findall(re.sub(r"\(.*?\)", " ", label).lower()) if word not in STOPS)
    if group is None:
        return _Meaning(words, frozenset())
    parts = frozenset(_singular(word) for word in WORD.findall(group.lower())) - GENERIC
    rest = tuple(word for word in words if word not in parts)
    return _Meaning(rest or words, parts)


def _word_senses(word: str) -> tuple[str, ...]:
    """What a word may stand for: itself, or its synonyms."""
    plain = _singular(word)
    found = SYNONYMS.get(word) or SYNONYMS.get(plain) or ()
    if not found and plain.endswith("ish") and len(plain) > 5:
        stem = plain[:-3]
        found = (stem, stem[:-1] if stem[-1:] == stem[-2:-1] else stem + "e")  # reddish, bluish → blue
    return tuple(dict.fromkeys((plain, *found)))


def _word_readings(heard: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """All ways to read some words, each word as one of those that it may stand for."""
    if not heard:
        yield ()
        return
    for first in heard[0]:
        for rest in _word_readings(heard[1:]):
            yield (*map(_singular, first.split()), *rest)


def _singular(word: str) -> str:
    """A noun in its singular: wings → wing. Words that end in ss stay."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


# Meanings -------------------------------------------------------------------------------------------------------------
# Words that no table knows → known words that mean nearly the same, by sentence vectors if the encoder is here.

ALIKE = 0.75  # cosine from which two words count as the same: "brow" is an eyebrow, a "songbird" not a hummingbird


class Meanings:
    """Known words, to which others are compared. Nothing is loaded before the first word, and nothing is fetched."""

    def __init__(self, known: Sequence[str], encoder: str = sentences.BUNDLED) -> None:
        self._known, self._name = list(known), encoder

    def nearest(self, words: Sequence[str]) -> dict[str, str]:
        """Word → the known word that is most like it, for words that have one."""
        if not words or not self._known or not sentences.is_present(self._name):
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
    def _encoder(self) -> sentences.Encoder:
        return sentences.load_encoder(self._name)

    def _vectors(self, words: Sequence[str]) -> NDArray[np.float64]:
        """(n, p) at unit length."""
        identity = sentences.encoder_identity(self._name) or self._name
        found = sentences.cached_vectors(identity, words, lambda new: sentences.encode_texts(self._encoder, new))
        long = found.astype(np.float64)
        return np.asarray(long / np.maximum(np.linalg.norm(long, axis=1, keepdims=True), 1e-12))


# Attributes -----------------------------------------------------------------------------------------------------------
# The attributes of a model as a person sees them: names, groups, ranges; and descriptions by name → vectors.
#
# A group is exclusive if every class has at most one of its attributes, as every letter has one base letter: then to
# say that one applies is to say that the others do not.

SEPARATORS = ("::", ":", "/")  # between the group and the rest of an attribute's name, tried in this order
FAR = 1000.0  # times the largest value of the model's table: beyond that a description is a mistake, or an attack


class Vocabulary:
    """The p attributes of a fitted model.

    `names` (p,), "attribute 0" and so on where the model has none; `mean` (p,) over the descriptions of seen classes,
    which stands for whatever a description leaves out; `low` and `high` (p,) over all classes of the model; `exclusive`
    (p,) whether the attribute belongs to an exclusive group.
    """

    def __init__(self, model: ZeroShotClassifier) -> None:
        matrix = model.signature_table_.matrix
        self.names = model.attribute_names_ or tuple(f"attribute {m}" for m in range(matrix.shape[1]))
        self.mean = model.signature_table_.select(model.classes_).matrix.mean(axis=0)
        self.low, self.high = matrix.min(axis=0), matrix.max(axis=0)
        self.binary = ((matrix == 0) | (matrix == 1)).all(axis=0)
        self._parts = [_split_name(name) for name in self.names]
        self._groups = _group_attributes(self._parts)
        self.exclusive = np.zeros(len(self.names), dtype=bool)
        for places in self._groups.values():
            alone = self.binary[places].all() and (matrix[:, places].sum(axis=1) <= 1).all()
            self.exclusive[places] = alone
        self._place = {name: m for m, name in enumerate(self.names)}
        self._phrases = Phrases(
            [
                part if part[0] in self._groups else (None, _add_spaces(name))
                for part, name in zip(self._parts, self.names, strict=True)
            ]
        )
        self._meanings = Meanings(self._phrases.known)
        self._furthest = FAR * max(float(np.abs(matrix).max()), 1.0)

    def vector(self, given: Mapping[str, float]) -> tuple[NDArray[np.float64], list[str]]:
        """A description (p,), and the names of the attributes that it leaves to the mean of the seen classes.

        If it gives 1 to one of an exclusive group, the others of the group are 0, unless it gives these too.
        """
        unknown = [name for name in given if name not in self._place]
        if unknown:
            near = suggest(unknown[0], self.names)
            raise Refusal(
                422,
                f"the model has no attribute {quote_value(unknown[0])}{near}"
                f"{f' and {len(unknown) - 1} more' if len(unknown) > 1 else ''}: it has "
                f"{list_values(self.names)}, see GET /model",
            )
        values, left = self.mean.copy(), dict.fromkeys(self.names)
        for name, value in given.items():
            if not abs(value) <= self._furthest:
                raise Refusal(
                    422,
                    f"attribute {quote_value(name)} is {value:g}: expected a number between {-self._furthest:g} and "
                    f"{self._furthest:g}; in the model it goes from {self.low[self._place[name]]:g} to "
                    f"{self.high[self._place[name]]:g}",
                )
            values[self._place[name]] = value
            del left[name]
        ones = [self._place[name] for name, value in given.items() if value == 1]
        for group in {self._parts[place][0] for place in ones if self.exclusive[place]}:
            for other in self._groups[group]:
                if self.names[other] in left:
                    values[other] = 0
                    del left[self.names[other]]
        if not values.any():
            raise Refusal(422, "every attribute of this description is 0: give at least one that is not")
        return values, list(left)

    def telling(self, values: NDArray[np.float64], given: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(p,) what is given of a description (p,), without what follows: beside the 1 of an exclusive group its 0s."""
        found = given.copy()
        for places in self._groups.values():
            if self.exclusive[places].all() and (values[places] == 1).any():
                found[places] &= values[places] == 1
        return found

    def understood(self, text: str) -> UnderstoodWords:
        """The attributes that a description in words names: as high as any class has them, or as low if denied. Words
        that name none are compared by their meaning, where the sentence encoder is on this machine."""
        read = self._phrases.read(text)
        similar = self._meanings.nearest(read.unknown)
        if similar:
            read = self._phrases.read(text, similar)
        return {
            "attributes": [
                {
                    "attribute": self.names[one.place],
                    "value": float((self.low if one.denied else self.high)[one.place]),
                    "words": one.words,
                    "guessed": one.guessed,
                }
                for one in read.found
            ],
            "unknown": read.unknown,
        }

    def named(self, text: str) -> list[int]:
        """The places of the attributes that a text names, by names and synonyms alone."""
        return [one.place for one in self._phrases.read(text).found]

    def phrase(self, place: int) -> str:
        """An attribute as people say it: "yellow crown" of has_crown_color::yellow."""
        group, label = self._parts[place]
        if group not in self._groups:
            return _add_spaces(self.names[place])
        part = " ".join(word for word in (group or "").split() if word not in GENERIC)
        return f"{label.partition('(')[0].strip()} {part}".strip()

    def as_json(self) -> list[Attribute]:
        """Each attribute: its name, the group and the rest of the name as people read it, its range and mean."""
        return [
            {
                "name": name,
                "label": label if group in self._groups else _add_spaces(name),
                "group": group if group in self._groups else None,
                "low": float(self.low[m]),
                "high": float(self.high[m]),
                "mean": float(self.mean[m]),
                "binary": bool(self.binary[m]),
                "exclusive": bool(self.exclusive[m]),
            }
            for m, (name, (group, label)) in enumerate(zip(self.names, self._parts, strict=True))
        ]


def _group_attributes(parts: list[tuple[str | None, str]]) -> dict[str | None, list[int]]:
    """Group → places of its attributes, for groups of more than one."""
    found: dict[str | None, list[int]] = {}
    for place, (group, _) in enumerate(parts):
        found.setdefault(group, []).append(place)
    return {group: places for group, places in found.items() if group is not None and len(places) > 1}


def _split_name(name: str) -> tuple[str | None, str]:
    """
    >>> _divided("has_bill_shape::curved_(up_or_down)")
    ('bill shape', 'curved (up or down)')
    """
    for separator in SEPARATORS:
        group, found, rest = name.partition(separator)
        if found and group.strip() and rest.strip():
            return _add_spaces(group.removeprefix("has_")), _add_spaces(rest)
    return None, _add_spaces(name)


def _add_spaces(name: str) -> str:
    return name.replace("_", " ").strip() or name


# Sentences ------------------------------------------------------------------------------------------------------------
# A class described by a sentence alone, where the model's signatures are sentence vectors.
#
# The dataset folder that the model was fitted on says which encoder and templates made its class table. The same
# encoder reads the sentence. Nothing is fetched: where the encoder is not on this machine, the request is refused.

CLOSE = 1e-6  # two tables are the same if their values differ by less


class Sentences:
    """Sentences → signatures. `recorded` names the encoder and its version, `templates` stand around each sentence."""

    def __init__(self, recorded: str, templates: Sequence[str], width: int, example: str = "") -> None:
        self.recorded, self.example = recorded, example
        self._templates, self._width = list(templates), width

    @cached_property
    def missing(self) -> str | None:
        """Why no sentence can be read; None if it can."""
        name = _encoder_name(self.recorded)
        if name is not None and sentences.is_present(name):
            return None
        return (
            f"the class table was made by the encoder {self.recorded}, which is not on this machine: for "
            f"{sentences.BUNDLED}, pip install 'zskl[text]' and {sentences.INSTALL}; to fetch another, run zskl data words once"
        )

    def vector(self, sentence: str) -> NDArray[np.float64]:
        """(p,) the signature of a sentence."""
        if self.missing is not None:
            raise Refusal(409, self.missing)
        found = encode_class_texts(make_texts({"described": sentence}, self._templates), self._encoder)
        values = found.to_numpy(np.float64)[0]
        if len(values) != self._width:
            raise Refusal(
                409, f"the encoder {self.recorded} makes {len(values)} numbers, the model takes {self._width}"
            )
        return np.asarray(values)

    @cached_property
    def _encoder(self) -> Encoder:
        try:
            return sentences.load_encoder(_encoder_name(self.recorded) or self.recorded)
        except (ValueError, OSError) as error:
            raise Refusal(409, f"no sentence can be read: {error}") from None


def sentences_of(data: Dataset | None, model: ZeroShotClassifier) -> Sentences | None:
    """How the class table of a model was made from sentences, if the data say so and have the same table."""
    if data is None or not folder.is_dataset(data.source):
        return None
    record: dict[str, Any] | None = folder.read_manifest(Path(data.source))["made"].get("texts")
    table = model.signature_table_
    names, values = _sort_classes(data.signatures.index.to_numpy(), data.signatures.to_numpy(np.float64))
    known, matrix = _sort_classes(table.labels, table.matrix)
    if record is None or names != known:
        return None
    if values.shape != matrix.shape or not np.allclose(values, matrix, rtol=CLOSE, atol=CLOSE):
        return None
    texts = [text for given in record["texts"].values() for text in given]
    return Sentences(record["encoder"], record["templates"], values.shape[1], texts[0] if texts else "")


def _sort_classes(labels: NDArray[Any], values: NDArray[Any]) -> tuple[list[str], NDArray[Any]]:
    """A class table by the names of its classes: zskl fit writes another order than the folder has."""
    names = np.array([str(one) for one in labels.tolist()])
    order = np.argsort(names, kind="stable")
    return names[order].tolist(), values[order]


def refuse_sentence(sentence: str) -> Refusal:
    """For a model whose signatures are something else."""
    return Refusal(
        422,
        f"sentence is {quote_value(sentence)}: the signatures of this model are not known to be sentence vectors; give "
        "attributes, or start the service with --data and the folder that zskl data make wrote",
    )


def _encoder_name(recorded: str) -> str | None:
    """The name of a recorded encoder, which is followed by its version; None if another version is here."""
    name = recorded.rsplit(" ", 1)[0]
    for one in (name, recorded):
        if sentences.encoder_identity(one) == recorded:
            return one
    return None
