"""How long the command line and the package take to start: python benchmarks/startup.py [--keep]

Every line is a fresh process, and the lines take turns. Wall time is what a user waits; on a machine with other work,
processor time (user and system) is the steadier figure.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from machine import keep
from zskl.cli import COMMANDS, DATA_COMMANDS


def typed(command: Callable[..., None]) -> str:
    """What you type for a command."""
    return command.__name__.replace("_", "-")


ZSKL = "from zskl.cli import main; main()"  # as the installed script does
NAMES = [[name] for name in map(typed, COMMANDS)] + [["data"]] + [["data", name] for name in map(typed, DATA_COMMANDS)]
LINES = {
    "python -c pass": ["pass"],
    "import numpy": ["import numpy"],
    "import sklearn.base": ["import sklearn.base"],
    "import zskl": ["import zskl"],
    "from zskl import ZeroShotKernelClassifier": ["from zskl import ZeroShotKernelClassifier"],
    "zskl --version": [ZSKL, "--version"],
    "zskl --help": [ZSKL, "--help"],
    **{f"zskl {' '.join(name)} --help": [ZSKL, *name, "--help"] for name in NAMES},
}


def once(code: str, *arguments: str, place: dict[str, str] | None = None) -> tuple[float, float]:
    """(wall seconds, processor seconds) of one process, with other variables where `place` is given."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, check=True, env=place)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(rounds: int) -> list[dict[str, str | float]]:
    """Medians; a first round that nobody counts fills the caches."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in LINES}
    for number in range(rounds + 1):
        for name, line in LINES.items():
            times = once(*line)
            if number:
                taken[name].append(times)
    figures: list[dict[str, str | float]] = []
    for name, times in taken.items():
        wall, processor = (statistics.median(column) for column in zip(*times, strict=True))
        figures.append({"line": name, "seconds": wall, "processor_seconds": processor})
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/startup.json")
    options = parser.parse_args()
    figures = measure(options.rounds)
    for one in figures:
        print(f"{one['seconds']:.3f} s, processor {one['processor_seconds']:.3f} s: {one['line']}")
    if options.keep:
        print(f"wrote {keep('startup', figures)}")


if __name__ == "__main__":
    main()
