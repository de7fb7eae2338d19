"""CUB with more evidence: one network or two, attributes, sentences or both, by several methods.

Run: python benchmarks/more_evidence.py --root FOLDER FOLDER [--method NAME …] [--features NAMES …]
     [--signatures NAMES …] [--out runs/more-evidence] [--rest] [--figure docs/figures/more-evidence.svg]

It needs the data. Each cell is one `zskl run CUB … --tune --calibrate` in a process of its own, with one thread, whose
processor time is measured. Everything is chosen on validation classes. Cells that are there already are not run again.
--rest runs every other method on one network and attributes, for the figure. Writes the cells to
benchmarks/results/more_evidence.json and prints the table.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from machine import keep
from zskl import methods
from zskl.plots import _style

NETWORKS = ("efficientnet_lite2", "resnet50", "efficientnet_lite2+resnet50")
TABLES = ("att", "sent", "att+sent")
NAMES = ("class-means", "means-softmax", "exem", "eszsl", "gaussian-ort", "gaussian-softmax", "cnzsl")
WORDS = {"att": "attributes", "sent": "sentences", "att+sent": "both tables"}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SHORT = {"efficientnet_lite2+resnet50": "both networks"}
HEIGHT = 360
TICKS = (10, 30, 100, 300, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", nargs="+", required=True, help="folders of the benchmarks, with both features")
    parser.add_argument("--method", nargs="+", default=list(NAMES))
    parser.add_argument("--features", nargs="+", default=list(NETWORKS))
    parser.add_argument("--signatures", nargs="+", default=list(TABLES))
    parser.add_argument("--out", type=Path, default=Path("runs/more-evidence"))
    parser.add_argument("--rest", action="store_true", help="all other methods, on one network and attributes")
    parser.add_argument("--figure", type=Path, help="where to draw accuracy against processor time")
    chosen = parser.parse_args()
    cells = [(m, f, s) for m in chosen.method for s in chosen.signatures for f in chosen.features]
    if chosen.rest:
        cells = [(name, NETWORKS[1], TABLES[0]) for name in methods.METHODS if name not in NAMES]
    for method, features, signatures in cells:
        measure(chosen.out, chosen.root, method, features, signatures)
    found = sorted(read_cells(chosen.out), key=lambda one: list(methods.METHODS).index(one["method"]))
    keep("more_evidence", {"data": "CUB", "cells": found})
    print(table(found))
    if chosen.figure:
        chosen.figure.write_text(figure([one for one in found if one["signatures"] == "att"]), encoding="utf-8")


def measure(out: Path, roots: Sequence[str], method: str, features: str, signatures: str) -> None:
    """One cell, unless its record is there. Its processor time lies beside it."""
    place = out / f"{features}-{signatures}" / method
    if (place / "seconds.json").exists():
        return
    command = [sys.executable, "-m", "zskl", "run", "CUB", "--features", features, "--signatures", signatures]
    command += [part for root in roots for part in ("--root", root)]
    command += ["--method", method, "--tune", "--calibrate", "--workers", "1", "--out", str(place)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(
        command, env={**os.environ, **dict.fromkeys(THREADS, "1")}, text=True, capture_output=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if said.returncode:
        print(f"{method} on {features}, {signatures}: {said.stderr[-500:]}", file=sys.stderr)
        return
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (place / "seconds.json").write_text(json.dumps({"processor": round(seconds, 1)}), encoding="utf-8")
    print(f"{method} on {features}, {signatures}: {seconds:.0f} s of processor time", file=sys.stderr, flush=True)


def read_cells(out: Path) -> Iterator[dict[str, Any]]:
    for timed in sorted(out.glob("*/*/seconds.json")):
        record = json.loads((timed.parent / "records.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        features, _, signatures = timed.parent.parent.name.rpartition("-")
        yield {
            "method": record["method"],
            "features": features,
            "signatures": signatures,
            "zsl": record["zsl"]["accuracy"],
            "harmonic": record["gzsl_calibrated"]["harmonic"],
            "seconds": json.loads(timed.read_text(encoding="utf-8"))["processor"],
        }


def table(found: Sequence[dict[str, Any]]) -> str:
    """Zero-shot accuracy / calibrated H in per cent, a row for each method and class table."""
    networks = [name for name in NETWORKS if any(one["features"] == name for one in found)]
    lines = ["| method | description | " + " | ".join(SHORT.get(name, name) for name in networks) + " |"]
    lines.append("|---|---|" + "---:|" * len(networks))
    for method in dict.fromkeys(one["method"] for one in found):
        for signatures in TABLES:
            mine = {one["features"]: one for one in found if (one["method"], one["signatures"]) == (method, signatures)}
            if mine:
                cells = [cell(mine.get(name)) for name in networks]
                lines.append(f"| {method} | {WORDS[signatures]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(one: dict[str, Any] | None) -> str:
    return "–" if one is None else f"{100 * one['zsl']:.1f} / {100 * one['harmonic']:.1f} ({one['seconds']:.0f} s)"


def figure(found: Sequence[dict[str, Any]]) -> str:
    """Zero-shot accuracy against processor time: a point for each method, the networks joined, as SVG."""
    said = []
    with _style.open_panels(1, HEIGHT) as (ax,):
        for method in dict.fromkeys(one["method"] for one in found):
            mine = sorted(
                (one for one in found if one["method"] == method), key=lambda one: NETWORKS.index(one["features"])
            )
            seconds, accuracies = [one["seconds"] for one in mine], [100 * one["zsl"] for one in mine]
            colour = _style.COLOURS[0 if method == "class-means" else 1]
            ax.plot(seconds, accuracies, marker="o", color=colour, linewidth=0.8, markersize=4)
            ax.annotate(method, (seconds[-1], accuracies[-1]), xytext=(4, 3), textcoords="offset points", fontsize=8)
            pairs = zip(accuracies, seconds, strict=True)
            said.append(f"{method}: {', '.join(f'{accuracy:.1f} % in {time:.0f} s' for accuracy, time in pairs)}")
        ax.set_xscale("log")
        ax.set_xlim(6, 1500)
        ax.minorticks_off()
        _style.set_tick_names(ax.xaxis, TICKS, [str(seconds) for seconds in TICKS])
        ax.set_title("CUB with attributes, one network or two")
        ax.set_xlabel("seconds of processor time, search included")
        ax.set_ylabel("zero-shot accuracy, %")
    return _style.to_svg(ax.figure, "Accuracy against processor time", "; ".join(said))


if __name__ == "__main__":
    main()
