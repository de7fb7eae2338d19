"""The sections of docs/performance.md on what users wait for: before and after, and what is left; see performance.py."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_tables import section, table

SHOWN = 5  # largest parts
WHY = {  # why it stays as it is
    "search of class-means": "Eigenvectors of each fold's scatter, and products with them. They are exact, computed once for a fold, and serve every setting.",
    "search of gaussian-ort": "The large products of a step and its pass over W: the floor above. Fewer steps, not quicker ones, would save more: batches of 32, halving.",
    "zskl predict": "Libraries that are imported, once for a command; then lines of text. Scores themselves are a small part, and of millions of rows the larger.",
    "zskl --help": "Typer makes commands of type hints, and Rich draws them; nothing else is imported.",
    "request of one row": "FastAPI checks and routes, uvicorn reads and writes. One row costs less than its request: send many in one, or let the service gather them.",
}


def waiting(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    before = any("before" in one for one in f["waits"].values())
    said = (
        "`make bench` (or `python benchmarks/before_after.py`): what users wait for, by version 0.2 "
        f"(commit {f['commit']}, the last before 0.3) and by this one, in one run. The versions take turns, each figure in a fresh process, with the same "
        f"interpreter and packages; medians of {f['rounds']}. Rows are made up, so anyone can run it. What is imported is not counted, except under *start*. "
        "Processor seconds are the steadier figure on a machine with other work; of the service they are its own for each request. Memory is the most that "
        "the operating system saw of a fit of 40,000 × 512 float64 rows, over the size of the matrix, which is 1.0 of it.\n"
    )
    if not before:
        said += "\nThere was no history of the repository, so version 0.2 was not measured.\n"
    head = "", "0.2, s", "now, s", "0.2 / now", "0.2, processor s", "now, processor s", "0.2 / now"
    return section(
        "Before and after", said, table(head, [_line(name, one) for name, one in f["waits"].items()]), record
    )


def _line(name: str, one: dict[str, Any]) -> list[str]:
    now, first = one["now"], one.get("before")
    memory = "memory" in name
    cells: list[str] = []
    for kind in ("seconds", "processor_seconds"):
        if memory and kind == "processor_seconds":
            cells += ["", "", ""]
            continue
        old = number(first[kind], memory) if first else "not there" if "before" in one else ""
        ratio = f"{first[kind] / now[kind]:.2f}" if first and now[kind] else ""
        cells += [old, number(now[kind], memory), ratio]
    return [name, *cells]


def number(value: float, times: bool) -> str:
    """Seconds with three digits; or how many times the matrix."""
    return f"{value:.2f} ×" if times else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def left(record: dict[str, Any]) -> Iterator[str]:
    said = (
        "`python benchmarks/profile_left.py --keep`: shares of processor time by part, under Python's profiler, on made-up rows. What compiled code takes "
        "counts for the function that calls it. The profiler makes small functions dearer than they are. *Ours* is all of zskl together.\n"
    )
    rows = []
    for name, parts in record["figures"]["runs"].items():
        largest = ", ".join(f"{part} {100 * share:.0f} %" for part, share in list(parts.items())[:SHOWN])
        ours = sum(share for part, share in parts.items() if part.startswith("zskl."))
        rows.append([name, largest, f"{100 * ours:.0f} %", WHY[name]])
    return section("What is left", said, table(("", "largest parts", "ours", "why it stays"), rows), record)
