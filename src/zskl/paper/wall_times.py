"""How long the table took: by kind of work, and on the clock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zskl import files as storage

TIMES = "times.json"
EXTRAPOLATED = "two_cores.json"  # written by benchmarks/two_cores.py


def read(*folders: Path) -> list[dict[str, Any]]:
    """What stages took, in the order in which they ended; each once."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        file = folder / TIMES
        try:
            entries = json.loads(file.read_text("utf-8")) if file.is_file() else []
        except ValueError:
            raise ValueError(
                f"{file} cannot be read: expected the wall times that zskl paper wrote; remove it"
            ) from None
        for entry in entries:
            found[json.dumps(entry, sort_keys=True)] = entry
    return sorted(found.values(), key=lambda entry: str(entry["finished"]))


def write(folder: Path, times: Sequence[Mapping[str, Any]]) -> None:
    """The file that `read` reads."""
    storage.write_atomically(folder / TIMES, (json.dumps(list(times), indent=1) + "\n").encode())


def clock(times: Sequence[Mapping[str, Any]]) -> float:
    """Seconds during which at least one of the stages ran: they may run beside each other, or on different days."""
    spans = sorted((_ended(one) - float(one["seconds"]), _ended(one)) for one in times)
    spent, last = 0.0, float("-inf")
    for start, end in spans:
        spent += max(0.0, end - max(start, last))
        last = max(last, end)
    return spent


def _ended(one: Mapping[str, Any]) -> float:
    return datetime.strptime(one["finished"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def extrapolated(folder: Path) -> list[str]:
    """What `benchmarks/two_cores.py` found, if it was run, as a part of the page."""
    file = folder / EXTRAPOLATED
    if not file.is_file():
        return []
    found = json.loads(file.read_text("utf-8"))
    rows, missing = found["rows"], found.get("missing")
    if not rows:
        return []
    what = f"all but {', '.join(missing)}" if missing else "all of it"
    hours = sum(row["hours on two cores"] for row in rows)
    lines = [" | ".join(map(str, row)) for row in (rows[0], ["---"] * len(rows[0]), *(row.values() for row in rows))]
    said = (
        f"On two cores ({found['processor']}) {what} would take {hours:.1f} hours: extrapolated from one method "
        f"of each family, run on {found['dataset']}.\n"
    )
    return [said, "".join(f"| {line} |\n" for line in lines)]


def section(times: Sequence[Mapping[str, Any]]) -> list[str]:
    """A part of the page."""
    if not times:
        return []
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in times:
        kinds.setdefault((one["stage"], one.get("machine") or one["device"]), []).append(one)
    lines = ["| stage | on | units | commands | seconds of all commands |", "| --- | --- | ---: | ---: | ---: |"]
    for (stage, machine), mine in kinds.items():
        units, seconds = sum(one["units"] for one in mine), sum(one["seconds"] for one in mine)
        lines.append(f"| {stage} | {machine} | {units} | {len(mine)} | {seconds:.0f} |")
    machines: dict[str, list[Mapping[str, Any]]] = {}
    for (_, machine), mine in kinds.items():
        machines.setdefault(machine, []).extend(mine)
    spent = ", ".join(f"{clock(mine) / 60:.0f} minutes on {machine}" for machine, mine in machines.items())
    said = f"Commands ran beside each other. On the clock all of it took {spent}.\n"
    return ["## Times\n", said, "\n".join(lines) + "\n"]
