"""How much one request may ask for. Every limit has a sentence that names it."""

from __future__ import annotations

from dataclasses import dataclass

QUICK = 20_000_000  # multiplications done on the spot; longer work goes to a thread, so that others are answered


@dataclass(frozen=True)
class Limits:
    """The limits of a service.

    `body_bytes` of a body, `rows` of a prediction, `explained_rows` with an explanation, `name_length` letters of a
    class name, `classes` that may be added, `examples` that may be given. Also of a prediction: `values`, rows times
    features; `json_values`, the same in JSON, which takes many times the memory; and `answers`, rows times the classes
    listed for each.
    A body of at most `small` bytes is read and answered at once. Larger ones take turns, so that few of them are in
    memory. `seconds` is how long a client may take to send its body; a large one gets another second per megabyte.
    """

    body_bytes: int = 256 << 20
    rows: int = 100_000
    explained_rows: int = 1000
    name_length: int = 200
    classes: int = 10_000
    examples: int = 2000
    values: int = 1 << 26
    json_values: int = 5_000_000
    answers: int = 1_000_000
    small: int = 1 << 20
    seconds: float = 60.0
