"""What users wait for, by version 0.2 and by this one, in one run: python benchmarks/before_after.py [--rounds 3]

The versions take turns, each figure in a fresh process (`waits.py`) with the same interpreter and packages; medians.
Version 0.2 is the last commit before the first of 0.3, unpacked from the repository's history into a temporary folder.
Without that history (a download) its column stays empty. About five minutes on two cores.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from machine import keep
from startup import ZSKL, once
from waits import WAITS

ROOT = Path(__file__).parents[1]
BEFORE = "613857c9e2269052fc3c841c93d5402b40149e5d"  # the last commit of 0.2
STARTS = {
    "start: zskl --help": [ZSKL, "--help"],
    "start: from zskl import ZeroShotKernelClassifier": ["from zskl import ZeroShotKernelClassifier"],
}


def unpacked(folder: Path) -> Path | None:
    """src of version 0.2; None where its commit is not to be had."""
    asked = ["git", "-C", str(ROOT), "archive", "--format=tar", BEFORE, "src"]
    try:
        packed = subprocess.run(asked, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def measured(name: str, source: Path) -> dict[str, Any]:
    """One figure by the zskl in `source`."""
    place = {**os.environ, "PYTHONPATH": str(source)}
    if name in STARTS:
        seconds, processor = once(*STARTS[name], place=place)
        return {"seconds": seconds, "processor_seconds": processor}
    answer = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("waits.py")), name],
        **{"check": True, "stdout": subprocess.PIPE, "text": True, "env": place},
    )
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    assert Path(found.pop("from")).parent == source, f"{name}: another zskl than that in {source} was imported"
    return found


def median(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    if any("missing" in run for run in runs):
        return None
    return {kind: statistics.median(run[kind] for run in runs) for kind in ("seconds", "processor_seconds")}


def compared(versions: Mapping[str, Path], rounds: int, console: Console) -> dict[str, Any]:
    """name → version → medians, or None where that version has no such thing."""
    found: dict[str, Any] = {}
    for name in (*STARTS, *WAITS):
        runs: dict[str, list[dict[str, Any]]] = {version: [] for version in versions}
        for number in range(rounds + (name in STARTS)):
            for version, source in versions.items():
                run = measured(name, source)
                if number or name not in STARTS:  # the first start fills the caches
                    runs[version].append(run)
        found[name] = {version: median(seen) for version, seen in runs.items()}
        console.print(f"{name}: {found[name]}", highlight=False)
    return found


def main(rounds: int = 3) -> None:
    console = Console(width=max(140, Console().width))
    with tempfile.TemporaryDirectory() as folder:
        before = unpacked(Path(folder).resolve())
        versions = {"now": ROOT / "src"} if before is None else {"before": before, "now": ROOT / "src"}
        if before is None:
            console.print(f"no commit {BEFORE[:7]} here (not a clone?): the column of version 0.2 is left out")
        found = compared(versions, rounds, console)
    keep("before_after", {"commit": BEFORE[:7], "rounds": rounds, "waits": found})
    table = Table("", "0.2", "now", "0.2 / now", title="Before and after, seconds (memory: times the matrix)")
    for name, one in found.items():
        first, now = (one.get(version) for version in ("before", "now"))
        assert now is not None
        ratio = f"{first['seconds'] / now['seconds']:.2f}" if first else ""
        shown = "not there" if "before" in one and not first else f"{first['seconds']:.4f}" if first else ""
        table.add_row(name, shown, f"{now['seconds']:.4f}", ratio)
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    main(parser.parse_args().rounds)
