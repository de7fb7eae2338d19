"""What the sections of docs/performance.md are made with: records read, tables drawn, machines named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from machine import RESULTS


def load(name: str, folder: Path = RESULTS) -> dict[str, Any] | None:
    path = folder / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def measured_on(record: dict[str, Any]) -> str:
    m = record["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    place = f"{m['gpu']}, {m['processor']}" if m.get("gpu") else f"{m['processor']}, {m['cores']} cores"
    load = f", load of the machine {m['load']:.1f} at the end" if "load" in m else ""
    return f"Measured on {m['date']}: {place}{load}; {versions}.\n"


def section(title: str, said: str, drawn: str, record: dict[str, Any]) -> Iterator[str]:
    """A whole section: what was measured, one table, and on what."""
    yield f"## {title}\n"
    yield said
    yield drawn
    yield measured_on(record)
