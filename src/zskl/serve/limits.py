"""How much one request may ask for; every limit has a sentence that names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Of a service: bytes of a body, rows of a prediction, rows with an explanation, letters of a name, added classes.

    `small` is the body that is read and answered at once; larger ones take turns, so that few of them are in memory.
    `seconds` is how long a client may take to send its body.
    """

    body_bytes: int = 256 << 20
    rows: int = 100_000
    explained_rows: int = 1000
    name_length: int = 200
    classes: int = 10_000
    small: int = 1 << 20
    seconds: float = 60.0
