"""A description in words → attributes: "small black bird with a yellow head".

An attribute of a group is a value of a part: "yellow" of "crown color". A value that somebody names belongs to the part
after it ("yellow head", "black and white wings") or before it ("its head is yellow"). Without a part it belongs to the
whole ("primary color", "size"), or to the only part that can have it ("forked", of tails). Words that mean the same are
in `synonyms`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from zskl.serve.synonyms import SYNONYMS

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
        self._meanings = [_meaning(group, label) for group, label in parts]
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
        heard = [(*_heard(word), *((also[word],) if word in also else ())) for word in spoken]
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
                values = [value for value in _readings(heard[at : at + length]) if value in self._by_value]
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


def _meaning(group: str | None, label: str) -> _Meaning:
    words = tuple(_single(word) for word in WORD.findall(re.sub(r"\(.*?\)", " ", label).lower()) if word not in STOPS)
    if group is None:
        return _Meaning(words, frozenset())
    parts = frozenset(_single(word) for word in WORD.findall(group.lower())) - GENERIC
    rest = tuple(word for word in words if word not in parts)
    return _Meaning(rest or words, parts)


def _heard(word: str) -> tuple[str, ...]:
    """What a word may stand for: itself, or its synonyms."""
    plain = _single(word)
    found = SYNONYMS.get(word) or SYNONYMS.get(plain) or ()
    if not found and plain.endswith("ish") and len(plain) > 5:
        stem = plain[:-3]
        found = (stem, stem[:-1] if stem[-1:] == stem[-2:-1] else stem + "e")  # reddish, bluish → blue
    return tuple(dict.fromkeys((plain, *found)))


def _readings(heard: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """All ways to read some words, each word as one of those that it may stand for."""
    if not heard:
        yield ()
        return
    for first in heard[0]:
        for rest in _readings(heard[1:]):
            yield (*map(_single, first.split()), *rest)


def _single(word: str) -> str:
    """A noun in its singular: wings → wing. Words that end in ss stay."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
