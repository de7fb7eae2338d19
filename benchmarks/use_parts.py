"""The sections of docs/performance.md on what models are used for: large inputs, many classes, the service, starting."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_tables import measured_on, table


def memory(record: dict[str, Any]) -> Iterator[str]:
    yield "## More rows than memory\n"
    yield (
        f"`python benchmarks/memory.py`: {record['rows']:,} × {record['features']} float32 rows from a memory-mapped file against "
        f"{record['classes']:,} classes; the most memory beyond input and output ([how](large.md)). {record['machine']}, "
        f"{record['threads']} thread(s), other work on the machine: rows per second of processor time are the steadier figure.\n"
    )
    rows = [
        [f"`{name}`", f"{one['beyond_mb']:.0f}", f"{one['rows_per_second']:,}", f"{one['rows_per_cpu_second']:,}"]
        for name, one in record["calls"].items()
    ]
    yield table(("call", "MB beyond input and output", "rows per second", "rows per processor second"), rows)


def maps(record: dict[str, Any]) -> Iterator[str]:
    yield f"## Searching {record['classes']:,} classes\n"
    yield (
        f"`python benchmarks/nystrom.py`: {record['data']}, classes mixed from real signatures, {record['queries']} samples of "
        "unseen classes; `model.feature_map(m)` and `model.ranking_map()` against exact scores ([equations](math.md)). Time is "
        "that of the exact scan over that of mapping a sample and scanning dot products, one thread, without an index.\n"
    )
    rows = []
    for one in record["maps"]:
        error = "" if one.get("error") is None else f"{100 * one['error']:.2f}"
        recalls = [f"{100 * one[name]:.1f}" for name in ("recall_at_10", "recall_at_10_in_100")]
        rows.append([one["map"], str(one["components"]), error, *recalls, f"{one['speed_up']:.1f}"])
    head = (
        "map",
        "columns",
        "error of scores, %",
        "recall@10, %",
        "the ten best among the first 100, %",
        "exact scan / map and scan",
    )
    yield table(head, rows)


def starting(record: dict[str, Any]) -> Iterator[str]:
    lines = {one["line"]: one for one in record["figures"]}
    helps = [one for name, one in lines.items() if name.endswith(" --help")]
    slowest = max(helps, key=lambda one: one["processor_seconds"])
    yield "## Starting\n"
    yield (
        "`python benchmarks/startup.py --keep`: medians of fresh processes that take turns. Help imports no array library, and "
        f"`import zskl` imports a name when you first use it. Of {len(helps)} pages of help, the table shows the first and the "
        "slowest. Asked for, on a quiet core: 0.4 s for `--version` and every `--help`, 1 s for `import zskl`.\n"
    )
    first = "python -c pass", "import numpy", "import sklearn.base", "import zskl"
    classifier, answers = (
        "from zskl import ZeroShotKernelClassifier",
        ("zskl --version", "zskl --help", slowest["line"]),
    )
    empty, numpy = (lines[name]["processor_seconds"] for name in first[:2])
    rows = [
        [f"`{name}`", f"{one['seconds']:.2f}", f"{s:.2f}", f"{s / empty:.1f}", f"{s / numpy:.1f}"]
        for name in dict.fromkeys((*first, classifier, *answers))
        for one in [lines[name]]
        for s in [one["processor_seconds"]]
    ]
    yield table(("line", "seconds", "processor seconds", "over an empty process", "over `import numpy`"), rows)
    yield measured_on(record)
