"""What a request gets that cannot be answered: a status and a sentence, never a stack trace."""

from __future__ import annotations


class Refusal(Exception):
    """A 4xx answer: the value found, what was expected, what to do."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def shown(text: object, longest: int = 60) -> str:
    """A value as part of a sentence: one line of printable text, cut where it is long."""
    written = repr(text)
    return written if len(written) <= longest else written[:longest] + "…"
