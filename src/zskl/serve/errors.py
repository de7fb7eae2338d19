"""Refusals: what the service answers when it cannot do what a request asks, a status and a sentence."""

import reprlib
from collections.abc import Collection, Mapping

from zskl._validation import suggest

MAX_COMPARED_NAMES, MAX_COMPARED_LETTERS = 2000, 60  # beyond these a misspelt name gets no suggestion


class Refusal(Exception):
    """An answer with an error status: the value found, what was expected, what to do."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers or {}


def unknown_class(name: str, names: Collection[str], status: int = 422) -> Refusal:
    near = suggest(name, names) if len(names) <= MAX_COMPARED_NAMES and len(name) <= MAX_COMPARED_LETTERS else ""
    return Refusal(status, f"no class is called {quote(name)}{near}: GET /classes lists all classes")


def quote(value: object, longest: int = 60) -> str:
    """A value as part of a sentence: one line of printable text, cut where it is long. What is cut is not looked at."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()  # as in JSON
    whole = not isinstance(value, str) or len(value) <= longest
    try:
        written = repr(value[:longest]) if isinstance(value, str) else reprlib.repr(value)
    except ValueError:  # a number with thousands of digits
        written = "a number too long to be shown"
    return written if whole and len(written) <= longest else written[:longest] + "…"
