"""CUB with more evidence: one network or two, attributes, sentences or both, by several methods.

Run: python benchmarks/more_evidence.py measure OUT --root FOLDER … [--cores 2] [--limit SECONDS] [--done FILE …]
     python benchmarks/more_evidence.py measure OUT --packed FOLDER [--device cuda] [--lanes 6] [--cores 10] …
     python benchmarks/more_evidence.py show OUT …

`measure` needs the data; --packed takes a folder made by `paper_device.py pack`. A cell is `zskl run CUB --tune
--calibrate` of one method on one set of features and class tables, in processes of its own; everything is chosen on
validation classes. Its seconds are processor time for all of it, start and loading included, with one thread in each
process; a long search has up to six processes, whose times are added. With --device, what is trained on sentences runs
on a GPU in --lanes processes, and has no seconds; so does what the cores have not begun by then. Each cell is a line in
OUT/cells.jsonl when it ends; after an interruption, or when the limit has passed, the same command goes on. --done
names further files of cells that need not run again; --rest adds all other methods but adapters, on one network and
attributes.

`show` keeps the lines in results/more_evidence.jsonl and writes tables and figure into docs/more-evidence.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import machine
from zskl import datasets, methods
from zskl.adapters import ADAPTERS
from zskl.engines import Engine
from zskl.experiments import run_folder
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit
from zskl.plots import _style

NETWORKS = ("efficientnet_lite2", "resnet50", "efficientnet_lite2+resnet50")
TABLES = ("att", "sent", "att+sent")
# Seconds of one processor for both networks and attributes, how they grow with columns of features, and of a table.
COSTS = {
    "class-means": (35, 1.2, 0.15),
    "means-softmax": (450, 1.1, 0.8),
    "gaussian-softmax": (400, 1.1, 1.0),
    "gaussian-ort": (380, 1.1, 1.0),
    "cauchy-ort": (380, 1.1, 1.0),
    "cnzsl": (1600, 0.5, 0.1),
    "exem": (280, 1.5, 0.05),
    "eszsl": (260, 1.7, 0.3),
}
OTHERS = {  # the same of other methods on one network and attributes, about; the rest is quick
    **{"latem": 900, "conse": 450, "ale": 600, "devise": 600, "cmt-star": 450, "sse": 250, "cmt": 250},
    **{"polynomial-2": 200, "polynomial-4": 200, "polynomial-6": 200, "cauchy": 120, "cauchy-softmax": 150},
    **{"gaussian-ort-eq8": 150, "sync": 150, "sae": 150, "eszsl-signs": 100, "dap": 100, "sje": 100, "iap": 60},
}
QUICK = 40
TRAINED = ("means-softmax", "gaussian-softmax", "gaussian-ort", "cauchy-ort", "cnzsl")  # what a GPU is for
BY_BLOCKS = "softmax-blocks"  # not a method: see softmax_blocks.py
WIDTHS = {"efficientnet_lite2": 1280, "resnet50": 2048, "att": 312, "sent": 1024}
WORDS = {"att": "attributes", "sent": "sentences", "att+sent": "both tables"}
SHORT = {"efficientnet_lite2+resnet50": "both networks"}
HEIGHT = 560
LINE = 9  # points from a name in the figure to the next above it
TICKS = (10, 30, 100, 300, 1000)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LONG = 150  # seconds for each process that a search gets
SHORTEST = 40  # seconds on a GPU below which nothing would end
HOPELESS = 3  # failures without a success after which the rest is left
MARGIN = 1.5  # a cell is begun where so many times what it should take is left
PLACE = ("method", "features", "signatures")
DOCS = Path(__file__).parents[1] / "docs"
PAGE, FIGURE = DOCS / "more-evidence.md", DOCS / "figures" / "more-evidence.svg"
RESULTS = Path(__file__).parent / "results"
KEPT, RECORDS = RESULTS / "more_evidence.jsonl", RESULTS / "paper" / "records.jsonl"
REST = NETWORKS[0], TABLES[0]  # what other methods are measured on, for the figure


@dataclass(frozen=True)
class Cell:
    method: str
    features: str
    signatures: str
    device: str | None = None

    @property
    def place(self) -> tuple[str, str, str]:
        return self.method, self.features, self.signatures

    @property
    def seconds(self) -> float:
        """About what it takes one processor."""
        if self.method not in COSTS:
            return OTHERS.get(self.method, QUICK)
        base, by_features, by_table = COSTS[self.method]
        d, p = (sum(WIDTHS[name] for name in names.split("+")) for names in (self.features, self.signatures))
        return base * float(d / 3328) ** by_features * float(p / 312) ** by_table

    @property
    def workers(self) -> int:
        return 1 if self.device else int(min(6, max(1, self.seconds // LONG)))


def plan(names: Sequence[str], features: Sequence[str], tables: Sequence[str], device: str | None) -> list[Cell]:
    """What says most first, and of that the longest: attributes, then cheap methods, then what a GPU trains."""
    cells = [
        Cell(method, network, table, device if method in TRAINED and table != "att" else None)
        for method, network, table in itertools.product(names, features, tables)
    ]

    def weight(cell: Cell) -> tuple[object, ...]:
        late = cell.signatures != "att" and cell.method in TRAINED
        return (late, cell.method == "cnzsl", cell.signatures != "att", -cell.seconds)

    return sorted(cells, key=weight)


def read_lines(files: Sequence[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files if file.exists() for line in file.read_text("utf-8").splitlines()]


def measure(chosen: argparse.Namespace) -> None:
    """Start cells in processes of their own wherever cores or a lane of the GPU are free."""
    began = time.monotonic()
    os.environ.setdefault("ZSKL_CACHE", tempfile.mkdtemp())  # where a folder for caches cannot be looked up
    chosen.out.mkdir(parents=True, exist_ok=True)
    roots = chosen.root
    if chosen.packed:
        import paper_device

        if chosen.device:
            print("processes share the GPU by MPS:", paper_device.share_gpu(), file=sys.stderr)
        paper_device.unpack(chosen.packed, chosen.packed / "unpacked")
        roots = [chosen.packed / "unpacked" / features for features in paper_device.FEATURES]
    out = chosen.out / "cells.jsonl"
    lines = read_lines([out, *chosen.done])
    done = {(*(line[name] for name in PLACE), line["seconds"] is not None) for line in lines}
    names = chosen.method or list(COSTS)
    left = plan(names, chosen.features, chosen.signatures, chosen.device)
    if chosen.device:
        left = [Cell(BY_BLOCKS, NETWORKS[-1], table, chosen.device) for table in chosen.signatures] + left
    if chosen.rest:
        # Without examples or rows adapters answer as class means do; cosine needs a shared space.
        apart = {*COSTS, *ADAPTERS, "cosine", *(name for name in methods.METHODS if "-printed" in name)}
        others = [Cell(name, *REST) for name in methods.METHODS if name not in apart]
        left += sorted(others, key=lambda cell: -cell.seconds)
    left = [cell for cell in left if (*cell.place, True) not in done and (*cell.place, not cell.device) not in done]
    print(f"{time.monotonic() - began:.0f} s: {len(left)} cells are left to do", file=sys.stderr, flush=True)
    every = sorted(os.sched_getaffinity(0))
    free, lanes = every[: chosen.cores], every[chosen.cores :] or every
    places = chosen.lanes if chosen.device else 0
    failed = ended = 0
    running: dict[subprocess.Popen[bytes], tuple[Cell, list[int]]] = {}

    def start(cell: Cell, cpus: list[int], device: str | None = None) -> None:
        left.remove(cell)
        cell = replace(cell, device=device)
        command = [sys.executable, __file__, "cell", str(out), *(f"--root={root}" for root in roots)]
        command += [f"--cell={json.dumps(asdict(cell))}", f"--cpus={json.dumps(cpus)}"]
        process = subprocess.Popen(command, env={**os.environ, **dict.fromkeys(THREADS, "1")})
        running[process] = cell, cpus

    while (left or running) and (rest := chosen.limit - (time.monotonic() - began)) > 0:
        on_device = [one for one in left if one.device]
        if not on_device:  # then what the cores would begin last
            on_device = [one for one in left[::-1] if one.method in TRAINED and (*one.place, False) not in done]
        for cell in on_device[: places if rest > SHORTEST else 0]:
            start(cell, lanes, chosen.device)
            places -= 1
        for cell in [one for one in left if not one.device]:
            wanted = min(cell.workers, chosen.cores)
            if cell.seconds / wanted * MARGIN > rest:
                continue  # it would not end
            if wanted > len(free):
                break  # what says most must not wait for ever for several cores
            start(cell, free[:wanted])
            free = free[wanted:]
        if not running:
            break
        if failed >= HOPELESS and not ended:  # something is missing on this machine
            break
        time.sleep(0.2)
        for process in [one for one in running if one.poll() is not None]:
            cell, cpus = running.pop(process)
            if cell.device:
                places += 1
            else:
                free = sorted([*free, *cpus])
            failed, ended = failed + bool(process.returncode), ended + (not process.returncode)
            words = "ended" if process.returncode == 0 else f"FAILED ({process.returncode})"
            print(f"{time.monotonic() - began:.0f} s: {cell} {words}", file=sys.stderr, flush=True)
    for process in running:
        process.terminate()
    print(f"{time.monotonic() - began:.0f} s: {len(left) + len(running)} cells are left", file=sys.stderr)


def run_cell(chosen: argparse.Namespace) -> None:
    """Measure one cell in this process and append its line."""
    cell, cpus = Cell(**json.loads(chosen.cell)), json.loads(chosen.cpus)
    os.sched_setaffinity(0, cpus)
    several = cell.device is None and len(cpus) > 1
    if cell.device:
        import torch

        from paper_seeds import keep_constant
        from zskl.selection import tuning

        torch.set_float32_matmul_precision("high")
        tuning.calibrate = keep_constant  # without temperatures, which take two fits in three and no table shows
    began = time.monotonic()
    data = datasets.load("CUB", chosen.root, cell.features, signatures=cell.signatures)
    if cell.method == BY_BLOCKS:
        import softmax_blocks

        append(chosen.out, {**asdict(cell), "seconds": None, "found": softmax_blocks.measure(data, cell.device)})
        return
    unit = Unit(cell.method, 0, device=cell.device, tune=True, calibrate=True)
    record = unit.run(data, engine=Engine(workers=len(cpus)) if several else None)
    if several:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)  # the times of processes count once they have ended
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    assert record.gzsl_calibrated is not None
    line = {
        **asdict(cell),
        "zsl": record.zsl.accuracy,
        "harmonic": record.gzsl_calibrated.harmonic,
        "seconds": None if cell.device else round(sum(one.ru_utime + one.ru_stime for one in used), 1),
        "wall": round(time.monotonic() - began, 1),
        "processes": len(cpus) if several else 1,
        "processor": machine.processor(),
        "chosen": {by: choice.setting for by, choice in record.tune.choices.items()},
        "finished": record.finished,
    }
    append(chosen.out, line)


def append(out: Path, line: Mapping[str, Any]) -> None:
    with out.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def show(chosen: argparse.Namespace) -> None:
    """Keep the lines, and write tables and figure into the page."""
    lines = read_lines([KEPT, chosen.out / "cells.jsonl", *chosen.done])
    kept = list(dict.fromkeys(json.dumps(line, ensure_ascii=False) for line in lines))
    KEPT.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    cells = [line for line in lines if line["method"] != BY_BLOCKS]
    home = Counter(one["processor"] for one in cells if one["seconds"] is not None).most_common(1)[0][0]
    page = PAGE.read_text("utf-8")
    text = {"cells": table(choose_cells([*published_cells(), *cells], home), home)}
    text["by blocks"] = blocks_table([line for line in lines if line["method"] == BY_BLOCKS])
    for name, shown in text.items():
        before, _, rest = page.partition(f"<!-- {name} -->")
        page = f"{before}<!-- {name} -->\n{shown}\n<!-- end of {name} -->{rest.partition(f'<!-- end of {name} -->')[2]}"
    PAGE.write_text(page, encoding="utf-8")
    timed = [one for one in cells if one["seconds"] is not None]
    FIGURE.write_text(figure(choose_cells(timed, home), home), encoding="utf-8")
    print(*text.values(), sep="\n\n")


def published_cells() -> list[dict[str, Any]]:
    """Means over seeds of what docs/results.md shows: one network and attributes, by the searches of its records."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for record in run_folder.read_records(RECORDS, Record.from_json):
        if record.dataset == "CUB" and record.gzsl_calibrated is not None:
            pair = record.zsl.accuracy, record.gzsl_calibrated.harmonic
            found.setdefault((record.method, record.features, TABLES[0]), []).append(pair)
    rows = ((place, *np.mean(pairs, axis=0)) for place, pairs in found.items() if place[0] in COSTS)
    return [
        {**dict(zip(PLACE, place, strict=True)), "zsl": zsl, "harmonic": harmonic, "seconds": None, "page": True}
        for place, zsl, harmonic in rows
    ]


def choose_cells(lines: Sequence[dict[str, Any]], home: str) -> list[dict[str, Any]]:
    """One line for each place: timed on the processor that most were timed on, else timed, else measured here."""

    def worth(line: dict[str, Any]) -> tuple[bool, ...]:
        return "page" not in line, line["seconds"] is not None, line.get("processor") == home

    best: dict[tuple[str, ...], dict[str, Any]] = {}
    for line in sorted(lines, key=worth):
        best[tuple(line[name] for name in PLACE)] = line
    order = list(methods.METHODS)
    return sorted(best.values(), key=lambda one: order.index(one["method"]))


def table(found: Sequence[dict[str, Any]], home: str) -> str:
    """Zero-shot accuracy / calibrated H in per cent, a row for each method and class table."""
    lines = ["| method | description | " + " | ".join(SHORT.get(name, name) for name in NETWORKS) + " |"]
    lines.append("|---|---|" + "---:|" * len(NETWORKS))
    for method in dict.fromkeys(one["method"] for one in found):
        for signatures in TABLES:
            mine = {one["features"]: one for one in found if (one["method"], one["signatures"]) == (method, signatures)}
            if mine:
                cells = [write_cell(mine.get(name), home) for name in NETWORKS]
                lines.append(f"| {method} | {WORDS[signatures]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_cell(one: dict[str, Any] | None, home: str) -> str:
    if one is None:
        return "–"
    figures = f"{100 * one['zsl']:.1f} / {100 * one['harmonic']:.1f}"
    if one["seconds"] is None:
        return figures + ("‡" if "page" in one else "")
    return f"{figures} ({one['seconds']:.0f} s{'' if one['processor'] == home else '†'})"


def blocks_table(found: Sequence[dict[str, Any]]) -> str:
    """Means over folds, and test figures, of each mixture of class means and the softmax kernel."""
    by_table = {line["signatures"]: line["found"] for line in found}
    there = [name for name in TABLES if name in by_table]
    lines = ["| on both networks | " + " | ".join(f"{WORDS[name]}: folds | test" for name in there) + " |"]
    lines.append("|---|" + "---:|---:|" * len(there))

    def pair(part: dict[str, Any], what: str) -> str:
        return " / ".join(f"{100 * float(np.mean(part[by][what])):.1f}" for by in ("zsl", "gzsl"))

    for title in [title for title in by_table[there[0]] if "zsl" in by_table[there[0]][title]]:
        cells = [pair(by_table[name][title], what) for name in there for what in ("folds", "test")]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def figure(found: Sequence[dict[str, Any]], home: str) -> str:
    """Zero-shot accuracy against processor time as SVG: a point for each method, its networks joined; hollow where
    another processor than `home` was timed."""
    said = []
    with _style.open_panels(2, HEIGHT) as panels:
        for ax, signatures in zip(panels, TABLES, strict=False):
            cells = [one for one in found if one["signatures"] == signatures]
            ends: list[tuple[str, float, float]] = []
            for method in dict.fromkeys(one["method"] for one in cells):
                mine = sorted(
                    (one for one in cells if one["method"] == method), key=lambda one: NETWORKS.index(one["features"])
                )
                seconds, accuracies = [one["seconds"] for one in mine], [100 * one["zsl"] for one in mine]
                colour = _style.COLOURS[0 if method == "class-means" else 1]
                ax.plot(seconds, accuracies, color=colour, linewidth=0.8)
                for one, *point in zip(mine, seconds, accuracies, strict=True):
                    inside = colour if one["processor"] == home else _style.PAPER
                    ax.plot(*point, marker="o", color=colour, markerfacecolor=inside, markersize=4)
                ends.append((method, seconds[-1], accuracies[-1]))
                told = ", ".join(
                    f"{accuracy:.1f} % in {time:.0f} s" for accuracy, time in zip(accuracies, seconds, strict=True)
                )
                said.append(f"{method} on {WORDS[signatures]}: {told}")
            ax.set_xscale("log")
            ax.set_xlim(6, 6000)
            ax.minorticks_off()
            _style.set_tick_names(ax.xaxis, TICKS, [str(seconds) for seconds in TICKS])
            ax.set_title(f"CUB with {WORDS[signatures]}")
            ax.set_xlabel("seconds of processor time")
            label_ends(ax, ends)
        panels[0].set_ylabel("zero-shot accuracy, %")
    return _style.to_svg(panels[0].figure, "Accuracy against processor time", "; ".join(said))


def label_ends(ax: Any, ends: Sequence[tuple[str, float, float]]) -> None:
    """Names beside points, from below; one that would lie on another's goes up, with a line to its point."""
    ax.figure.draw_without_rendering()  # only now is it known where a point is
    scale = 72 / ax.figure.dpi
    placed: list[tuple[float, float, float]] = []
    for method, x, y in sorted(ends, key=lambda end: end[2]):
        left, at = ax.transData.transform((x, y)) * scale
        left, width, level = left + 5, 4.6 * len(method), at - 3
        while hit := [
            top for start, end, top in placed if start < left + width and left < end and abs(top - level) < 9
        ]:
            level = max(hit) + 9
        placed.append((left, left + width, level))
        line = {"arrowstyle": "-", "linewidth": 0.5, "color": _style.QUIET} if level > at else None
        ax.annotate(method, (x, y), xytext=(5, level - at), textcoords="offset points", fontsize=8, arrowprops=line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["measure", "cell", "show"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--root", type=Path, action="append", default=[], help="a folder of benchmarks; repeatable")
    parser.add_argument("--packed", type=Path)
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--features", nargs="+", default=list(NETWORKS))
    parser.add_argument("--signatures", nargs="+", default=list(TABLES))
    parser.add_argument("--rest", action="store_true", help="all other methods too, on one network and attributes")
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device")
    parser.add_argument("--lanes", type=int, default=6)
    parser.add_argument("--done", type=Path, action="append", default=[])
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    parser.add_argument("--cpus", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    {"measure": measure, "cell": run_cell, "show": show}[chosen.action](chosen)


if __name__ == "__main__":
    main()
