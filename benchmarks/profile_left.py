"""Where the time still goes: shares of processor time by part, for five things that users wait for.

Run: python benchmarks/profile_left.py [--keep]

Each runs in a process of its own under Python's profiler, which counts processor time. What a compiled function takes
is counted for the Python function that calls it. The profiler itself makes small functions dearer than they are. So
that imports are counted where they belong, functions here import what they need.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

STANDARD = f"python{sys.version_info.major}.{sys.version_info.minor}"
SHOWN = 4  # largest parts
IMPORTING = "importing and compiling"
SERVICE = "request of one row"


def part_of(place: str, function: str) -> str:
    """A module of zskl, a package of a library, or a module of Python itself."""
    if place.startswith("<frozen importlib") or function == "<module>":
        return IMPORTING
    pieces = Path(place).with_suffix("").parts
    for folder, whose, depth in (("site-packages", "", 2), ("zskl", "zskl.", 3), (STANDARD, "Python's ", 1)):
        if folder in pieces:
            below = pieces[len(pieces) - pieces[::-1].index(folder) :]
            return whose + ".".join(piece.lstrip("_") for piece in below[:depth] if piece != "__init__")
    return "Python"


def shares(stats: pstats.Stats) -> dict[str, float]:
    """Part → its share; a builtin counts for its callers."""
    found: Counter[str] = Counter()
    for (place, _, function), (_, _, own, _, callers) in stats.stats.items():  # type: ignore[attr-defined]
        if place != "~":
            found[part_of(place, function)] += own
        for (caller, _, name), (_, _, theirs, _) in callers.items() if place == "~" else ():
            found[part_of(caller, name)] += theirs
    whole = sum(found.values())
    return {part: seconds / whole for part, seconds in found.most_common()}


def class_means_search() -> None:
    import waits
    from zskl import methods, selection

    grid = {"shrinkage": (0.1, 0.2, 0.45, 0.75), "crowding": (0.0, 0.1, 0.2), "bandwidth": (1.0, 4.0)}
    X, y, signatures = waits.labelled(4000, 1024, 100, 128)
    selection.search(methods.build("class-means", {"random_state": 0}), X, y, signatures, grid, 3)


def gaussian_search() -> None:
    import waits
    from zskl import methods, selection

    X, y, signatures = waits.labelled(1500, 1024, 100, 128)
    model = methods.build("gaussian-ort", {"random_state": 0, "epochs": 3})
    selection.search(model, X, y, signatures, {"sigma": (0.5, 1.0, 2.0)}, 3)


def command(*arguments: str) -> None:
    """`zskl` with these arguments, from its first import on."""
    sys.argv = ["zskl", *arguments]
    try:
        from zskl.cli import main

        main()
    except SystemExit as end:
        if end.code:
            raise


def model_and_rows(folder: Path, features: int, rows: int) -> tuple[Path, Path]:
    import numpy as np

    import waits
    from zskl import methods

    X, y, signatures = waits.labelled(600, features, 200, 64)
    methods.build("gaussian-ort", {"random_state": 0, "epochs": 1}).fit(X, y, signatures).save(folder / "model.zskl")
    np.save(folder / "rows.npy", np.tile(X, (rows // 600 + 1, 1))[:rows])
    return folder / "model.zskl", folder / "rows.npy"


RUNS: dict[str, Callable[[Path], None]] = {
    "search of class-means": lambda folder: class_means_search(),
    "search of gaussian-ort": lambda folder: gaussian_search(),
    "zskl predict": lambda folder: command(
        *("predict", str(folder / "model.zskl"), str(folder / "rows.npy"), "--out", str(folder / "out.csv"))
    ),
    "zskl --help": lambda folder: command("--help"),
    SERVICE: lambda folder: command("serve", str(folder / "model.zskl"), "--port", "0"),
}
WARM = ("search of class-means", "search of gaussian-ort")  # run twice, so that nothing is imported or compiled


def profiled(name: str, folder: Path) -> None:
    """In a process of its own; the profile goes to a file. Of a service it is that of the thread that answers."""
    warnings.simplefilter("ignore")
    profile = cProfile.Profile(time.thread_time)
    if name in WARM:
        RUNS[name](folder)
    if name == SERVICE:
        threading.setprofile(lambda *_: threading.current_thread().name.startswith("server") and profile.enable())
    else:
        profile.enable()
    try:
        RUNS[name](folder)
    finally:
        profile.disable()
        profile.dump_stats(folder / "profile")


def measured(name: str, folder: Path) -> dict[str, float]:
    line = [sys.executable, __file__, "--one", name, str(folder)]
    if name == SERVICE:
        import waits

        waits.asked(line, folder)
    else:
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return shares(pstats.Stats(str(folder / "profile")))


def measure(kept: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from machine import keep

    found: dict[str, Any] = {}
    table = Table("", "shares of processor time")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model_and_rows(folder, 512, 50_000)
        for run in RUNS:
            found[run] = measured(run, folder)
            largest = list(found[run].items())[: 2 * SHOWN]
            table.add_row(run, ", ".join(f"{part} {100 * share:.0f} %" for part, share in largest))
    Console(width=140).print(table)
    if kept:
        print(f"wrote {keep('profile_left', {'runs': found})}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/profile_left.json")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        profiled(chosen.one[0], Path(chosen.one[1]))
        return
    measure(chosen.keep)


if __name__ == "__main__":
    main()
