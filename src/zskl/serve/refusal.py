"""What a request gets that cannot be answered: a status and a sentence, never a stack trace."""

from __future__ import annotations

import reprlib


class Refusal(Exception):
    """A 4xx answer: the value found, what was expected, what to do."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def shown(value: object, longest: int = 60) -> str:
    """A value as part of a sentence: one line of printable text, cut where it is long. What is cut is not looked at."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()  # as JSON has them
    whole = not isinstance(value, str) or len(value) <= longest
    try:
        written = repr(value[:longest]) if isinstance(value, str) else reprlib.repr(value)
    except ValueError:  # of a number with thousands of digits
        written = "a number too long to be shown"
    return written if whole and len(written) <= longest else written[:longest] + "…"
