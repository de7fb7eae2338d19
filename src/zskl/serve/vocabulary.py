"""The attributes of a model as people say them: names, groups and ranges, and descriptions in words → vectors."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zskl._validation import list_values, suggest
from zskl.datasets import Dataset, folder
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve.limits import Refusal, quote
from zskl.serve.schemas import Attribute, NamedAttribute, UnderstoodWords
from zskl.signatures import sentences
from zskl.signatures.sentences import Encoder, encode_class_texts, make_texts


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


GENERIC = _word_set("color colour shape pattern length size primary main overall has type")  # name no part
ARTICLES = _word_set("a an the its it his her their this these each")
COPULAS = _word_set("is are was were looks look seems being")
PREPOSITIONS = _word_set(
    "on in across around at along over through behind between under above below beneath near of to by"
)
JOINS = _word_set("and or nor ,")
NEGATIONS = _word_set("no not without never lacks lack lacking neither nor")
STOP_WORDS = _word_set(
    "with but that which who have having had has there from as be than quite very rather mostly fairly so too also he "
    "she they some other others like any bird birds animal animals creature"
).union(ARTICLES, COPULAS, PREPOSITIONS, JOINS, NEGATIONS)
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[,;.:!?]")
PUNCTUATION = frozenset(",;.:!?")
FAR = 6  # words between a mark and the part that it is on: "a patch on the side of its very small head"
SIDES = _word_set("upperpart underpart")  # "all over", beside the whole
FAINT = 2 / 3  # of the range of an attribute: "pale yellow", "yellowish"
MIN_SIMILARITY = 0.75  # cosine of words that count as the same: "brow" is an eyebrow, a "songbird" not a hummingbird
SEPARATORS = ("=", "::", ":", "/")  # between the group and the rest of an attribute's name, tried in this order
MAX_RATIO = 1000.0  # to the largest value of the model's table: beyond that a description is a mistake, or an attack
TOLERANCE = 1e-6  # two tables are the same if their values differ by less


class Mention(NamedTuple):
    """An attribute that words name: its place, whether they deny it, the words, whether that is a guess, how much."""

    place: int
    denied: bool
    words: str
    guessed: bool = False
    strength: float = 1.0


class _Meaning(NamedTuple):
    """An attribute as words: its value, and the parts that its group names; none is the whole."""

    value: tuple[str, ...]
    parts: frozenset[str]


class _Sense(NamedTuple):
    """A value that a phrase names: of this part alone, only beside a part, or a guess."""

    value: tuple[str, ...]
    part: str | None = None
    beside: bool = False
    guessed: bool = False


@dataclass
class _Entry:
    """What a phrase means: values, parts, and roles, which are headings of words.txt."""

    senses: list[_Sense] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)


class _Item(NamedTuple):
    """A phrase of a text: the places of its words, its first word, what it means, whether it is faint, or a guess."""

    at: tuple[int, ...]
    word: str
    entry: _Entry
    faint: bool = False
    guessed: bool = False


class _Pending(NamedTuple):
    """A value that was named and waits for its part: with the places of words that say how, or deny it."""

    item: _Item
    denied: bool
    faint: bool
    near: tuple[int, ...]


class Phrases:
    """Finds the attributes of a model in a text: "small black bird with a yellow head, no crest".

    An attribute of a group is a value of a part: "yellow" of "crown color". Values wait for the next part ("black and
    white wings", "a white patch on the wing"), or belong to a part before ("its head is yellow", "a bill with a red
    tip"). Without a part they belong to the whole ("primary color", "size"), or to the only part that can have them
    ("forked", of tails). What denies holds up to the part that it stands by. words.txt says what else words mean.
    """

    def __init__(self, labels: Sequence[tuple[str | None, str]]) -> None:
        self._meanings = [_attribute_meaning(group, label) for group, label in labels]
        self._parts = {part for one in self._meanings for part in one.parts}
        self._by_value: dict[tuple[str, ...], list[int]] = {}
        for place, one in enumerate(self._meanings):
            self._by_value.setdefault(one.value, []).append(place)
        self._entries: dict[tuple[str, ...], _Entry] = defaultdict(_Entry)
        for value in self._by_value:
            for name in {value, value[:-1] if value[-1:] == ("like",) else value}:  # an owl is owl-like
                self._entries[name].senses.append(_Sense(value))
        for part in self._parts:
            self._entries[part,].parts.add(part)
        self._instead: dict[str, set[str]] = {}
        self._read_lexicon()
        self._longest = max((len(phrase) for phrase in self._entries), default=0)

    def _read_lexicon(self) -> None:
        section = ""
        for line in (resources.files("zskl.serve") / "words.txt").read_text("utf-8").splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif line and not line.startswith("#"):
                meanings, _, words = line.rpartition(": ")
                found = _Entry(roles=set() if meanings else {section})
                for meaning in filter(None, meanings.split(", ")):
                    value, _, part = meaning.rstrip("?").partition("@")
                    if section in ("parts", "instead"):
                        found.parts |= {value} & self._parts
                    elif _split_phrase(value) in self._by_value and (not part or part in self._parts):
                        sense = _Sense(_split_phrase(value), part or None, section != "values", meaning.endswith("?"))
                        found.senses.append(sense)
                for phrase in map(_split_phrase, words.split(", ")):
                    if section == "instead":
                        self._instead[phrase[0]] = found.parts
                    elif found != _Entry():
                        entry = self._entries[phrase]
                        entry.parts |= found.parts
                        entry.roles |= found.roles
                        entry.senses += [one for one in found.senses if one not in entry.senses]

    @property
    def known(self) -> list[str]:
        return sorted({" ".join(value) for value in self._by_value} | self._parts)

    def read(self, text: str, similar: Mapping[str, str] | None = None) -> tuple[list[Mention], list[str]]:
        """The attributes that a text names, each once, in its order; and the words that name none."""
        tokens = [word.lower().removesuffix("'s") for word in WORD.findall(text.replace("’", "'"))]
        reading = _Reading(self, list(self._find_items(tokens, similar or {})))
        found: dict[int, Mention] = {}
        used: dict[int, set[int]] = {}  # attribute → the places of its words
        for place, denied, faint, guessed, at in reading.found:
            if place not in found or found[place].denied == denied:  # "slate gray"
                used[place] = used.get(place, set()) | at
            words = " ".join(tokens[k] for k in sorted(used[place]))
            sure = found[place].strength if place in found else 0.0
            found.setdefault(place, Mention(place, denied, words, guessed))
            found[place] = found[place]._replace(words=words, strength=max(sure, FAINT if faint else 1.0))
        every = set().union(*used.values())
        rest = [word for at, word in enumerate(tokens) if at not in every and word not in STOP_WORDS | PUNCTUATION]
        return list(found.values()), list(dict.fromkeys(rest))

    def _find_items(self, tokens: list[str], similar: Mapping[str, str]) -> Iterator[_Item]:
        """The text as phrases, the longest that mean something, and single words that mean nothing."""
        solid = [at for at, word in enumerate(tokens) if word not in ARTICLES or (word,) in self._entries]
        plain, k = [_make_word_singular(tokens[at]) for at in solid], 0
        while k < len(solid):
            word = tokens[solid[k]]
            for length in range(min(self._longest, len(solid) - k), 0, -1):
                words = tuple(plain[k : k + length])
                joined = ("".join(words),)  # eye ring: eyering
                name = words if words in self._entries else joined if length == 2 and joined in self._by_value else None
                if name is not None:
                    yield _Item(tuple(solid[k : k + length]), word, self._entries[name])
                    k += length
                    break
            else:
                stem, guess = self._find_stem(plain[k]), _split_phrase(similar.get(word, ""))
                name = stem or (guess if guess in self._entries else None)
                entry = _Entry() if name is None else self._entries[name]
                yield _Item((solid[k],), word, entry, stem is not None, stem is None)
                k += 1

    def _find_stem(self, word: str) -> tuple[str, ...] | None:
        """reddish, bluish: red, blue."""
        stem = word.removesuffix("ish")
        stems = (stem, stem[:-1], stem + "e") if len(word) > 5 and stem != word else ()
        return next(((each,) for each in stems if (each,) in self._entries), None)

    def find_places(self, item: _Item, parts: Set[str]) -> list[tuple[int, bool]]:
        """(attribute, whether that is a guess) of a phrase beside these parts, or else of the whole."""
        found: list[tuple[int, bool]] = []
        for one in item.entry.senses:
            every = self._by_value[one.value]
            of = [self._meanings[place].parts for place in every]
            near = parts if one.part is None else parts & {one.part} if one.beside else {one.part}
            chosen = [place for place, own in zip(every, of, strict=True) if (own & near if near else not own)]
            if one.beside and not near:
                continue
            if not chosen and not near and all(own == of[0] for own in of):
                chosen = every
            elif not chosen:  # stripes of the crown are those of the head
                instead = set().union(*(self._instead.get(part, ()) for part in near or {"whole"}))
                chosen = [place for place, own in zip(every, of, strict=True) if own & instead]
            found += [(place, one.guessed or item.guessed) for place in chosen]
        return found

    def is_of_whole(self, item: _Item) -> bool:
        """Whether only a whole can have what a phrase names: a size, a shape."""
        places = [place for one in item.entry.senses for place in self._by_value[one.value]]
        return bool(places) and not any(self._meanings[place].parts for place in places)


class _Reading:
    """One text, read from its first phrase to its last: `found` has (attribute, denied, faint, guessed, words)."""

    def __init__(self, phrases: Phrases, items: list[_Item]) -> None:
        self._phrases, self._items = phrases, items
        self.found: list[tuple[int, bool, bool, bool, set[int]]] = []
        self._pending: list[_Pending] = []
        self._near: tuple[int, ...] = ()  # words that say how, as "pale" and "patch"
        self._faint = self._everywhere = False
        self._denied: tuple[int, ...] = ()
        self._parts: Set[str] = frozenset()  # the last ones
        self._parts_at: tuple[int, ...] = ()
        self._subject: Set[str] = frozenset()  # before "is"
        for k, item in enumerate(items):
            if item.entry == _Entry():
                self._read_plain_word(k, item)
            else:
                self._read_phrase(k, item, item.entry)
        self._give(self._subject)

    def _read_plain_word(self, k: int, item: _Item) -> None:
        if item.word == ",":  # a size is no part's, and what is denied or stands beside a part is complete
            whole = self._phrases.is_of_whole
            settled = [one for one in self._pending if one.denied or self._is_beside(one) or whole(one.item)]
            rest = [one for one in self._pending if one not in settled]
            self._pending = settled
            self._give(self._subject)
            self._pending = rest
        elif item.word not in STOP_WORDS | PUNCTUATION and self.found and self._word(k + 1) in STOP_WORDS | PUNCTUATION:
            self._pending = []  # "red wattles", of which nobody knows what they are
        elif item.word in PUNCTUATION:
            self._give(self._subject)
            self._subject = self._parts = frozenset()
        elif item.word in NEGATIONS:
            self._denied = item.at
        elif item.word in COPULAS and self._parts and not self._pending:
            self._subject = self._parts
        elif item.word in ("with", "but", "has") and not re.search("..ed$", self._word(k - 1)):
            self._give(self._subject)

    def _read_phrase(self, k: int, item: _Item, entry: _Entry) -> None:
        if item.word in PREPOSITIONS and (not self._pending or self._next_parts(k + 1)):
            return  # "above the eye"; "gray above" is a part
        parts, at = self._join_parts(k)
        if parts and self._subject and self._pending and self._word(k + 1) in COPULAS:
            self._give(self._subject)
        if entry.roles & {"strong", "faint"} and self._says_how(k):
            self._near, self._faint = (*self._near, *item.at), "faint" in entry.roles
            return
        own = frozenset(one.part for one in entry.senses if one.part and not one.beside)
        if (parts or own) and self._pending:
            self._give(parts or own, at)
        elif parts and not entry.senses and self.found and min(at) - max(self.found[-1][-1]) == 1:
            self.found[-1][-1].update(at)  # "crested head"
        if entry.senses:
            near = self._near + self._denied
            self._pending.append(_Pending(item, bool(self._denied), item.faint or self._faint, near))
            self._near, self._faint = (), False
            if parts or own:
                self._give(frozenset())
        elif entry.roles and self.found and not self._pending and item.at[0] - max(self.found[-1][-1]) == 1:
            self.found[-1][-1].update(item.at)  # "wing patch"
        elif entry.roles:
            self._near += item.at
        if parts or own:
            self._parts, self._parts_at = parts or own, item.at
        self._everywhere |= "everywhere" in entry.roles
        if "whole" in entry.roles or any(one.value[-1:] == ("like",) for one in entry.senses):
            self._give(self._subject)
            self._subject = frozenset()
        elif "piece" in entry.roles and self._parts and not self._next_parts(k + 1, PREPOSITIONS):
            self._give(self._parts)  # a mark is on the part before it

    def _word(self, k: int) -> str:
        return self._items[k].word if 0 <= k < len(self._items) else "."

    def _is_beside(self, one: _Pending) -> bool:
        """Whether it follows a part directly: "wings black"."""
        return bool(self._parts_at) and one.item.at[0] - self._parts_at[-1] == 1

    def _next_parts(self, k: int, begin: Set[str] = frozenset()) -> bool:
        """Whether a part follows in the same clause, which has to `begin` with one of these words."""
        for one in self._items[k : k + FAR] if not begin or self._word(k) in begin else ():
            if one.word in PUNCTUATION or one.word in ("with", "and", "but"):
                return False
            if one.entry.parts:
                return True
        return False

    def _says_how(self, k: int) -> bool:
        """Whether a word such as "dark" or "thin" says how what follows is, and is no value of a part itself."""
        item = self._items[k + 1] if k + 1 < len(self._items) else None
        return item is not None and bool(item.entry.senses or item.entry.roles - {"whole"}) and not item.entry.parts

    def _join_parts(self, k: int) -> tuple[frozenset[str], tuple[int, ...]]:
        """The parts of a phrase and of those that are joined to it, and where: head, back and tail."""
        parts, at, j = set(self._items[k].entry.parts), self._items[k].at, k + 1
        while parts and self._word(j) in JOINS:
            while self._word(j) in JOINS:
                j += 1
            entry = self._items[j].entry if j < len(self._items) else _Entry()
            if not entry.parts or entry.senses:
                break
            parts, at, j = parts | entry.parts, at + self._items[j].at, j + 1
        return frozenset(parts), at if parts else ()

    def _give(self, parts: Set[str], at: tuple[int, ...] = ()) -> None:
        """Give what is pending to these parts, or to the whole."""
        if parts is self._subject and parts:
            at = self._parts_at
        for one in self._pending:
            if not parts and self._is_beside(one):
                self._add(one, self._parts, self._parts_at)
            else:
                self._add(one, parts, (*at, *self._near))
                if not parts and self._everywhere:
                    self._add(one, SIDES)
        if self._pending or not parts:
            self._pending, self._near, self._faint, self._everywhere = [], (), False, False
        self._denied = ()

    def _add(self, one: _Pending, parts: Set[str], at: tuple[int, ...] = ()) -> None:
        words = {*one.item.at, *one.near, *at}
        places = self._phrases.find_places(one.item, parts)
        self.found += [(place, one.denied, one.faint, guessed, words) for place, guessed in places]


def _attribute_meaning(group: str | None, label: str) -> _Meaning:
    words = _split_phrase(re.sub(r"\(.*?\)", " ", label))
    if group is None:
        return _Meaning(words, frozenset())
    parts = frozenset(_split_phrase(group)) - GENERIC
    rest = tuple(word for word in words if word not in parts)
    return _Meaning(rest or words, parts)


def _split_phrase(text: str) -> tuple[str, ...]:
    return tuple(_make_word_singular(word) for word in WORD.findall(text.lower()) if word not in PUNCTUATION)


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
            low, high = float(self.low[one.place]), float(self.high[one.place])
            full = one.strength == 1 or self.binary[one.place]
            value = low if one.denied else high if full else low + one.strength * (high - low)
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
