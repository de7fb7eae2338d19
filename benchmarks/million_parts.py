"""The sections of docs/performance.md on millions of rows and classes, from records; see performance.py."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_tables import load, measured_on, section, table

KINDS = {"npy": "`.npy`, float16", "parquet": "Parquet, float32 columns"}


def fitting(record: dict[str, Any]) -> Iterator[str]:
    kinds = {kind: record["figures"][kind] for kind in KINDS if kind in record["figures"]}
    f = next(iter(kinds.values()))
    same = " and ".join(f"{max(one['same']['apart'].values()):.0e}" for one in kinds.values())
    yield "## Millions: class means of a folder of shards\n"
    yield (
        f"`python benchmarks/million_fit.py`: `fit_shards` ([how](large.md)) on rows of {f['features']} features of {f['classes']:,} classes in "
        f"{f['shards']} shards, by {f['workers']} Dask workers on one core each. Every row is read once. "
        "A worker's memory is its largest resident set, libraries included; asked for: below 1 GB. The sums of "
        f"{f['same']['rows']:,} of these rows were also made by one `fit` in memory: the largest difference, over the largest entry, is "
        f"{same} (asked for: 1e-10).\n"
    )
    yield table(
        (
            "shards",
            "rows",
            "seconds",
            "processor seconds of workers",
            "rows per processor second",
            "MB a worker",
            "MB sent per shard",
        ),
        [
            [
                *(KINDS[kind], f"{one['rows']:,.0f}", f"{one['seconds']:.0f}", f"{one['worker_seconds']:.0f}"),
                f"{one['rows'] / one['worker_seconds']:,.0f}",
                *(f"{one['worker_bytes'] / 1e6:.0f}", f"{one['sent_bytes'] / 1e6:.1f}"),
            ]
            for kind, one in kinds.items()
        ],
    )
    yield (
        f"**On paper, {f['machines']} machines of {f['cores']} cores.** A core adds up rows at the rate of the first line. A shard sends 8(d² + C·d + C) "
        "bytes of sums and 4096 kept rows to one process with a network card of 10 Gbit/s, and that adds them in "
        f"{1e3 * f['merge']:.1f} ms each (measured). Sending and merging depend on the number of shards, not of rows: one shard per core is "
        "the least, and few large shards are better than many small ones. Reading is left out: it needs a file system that keeps up.\n"
    )
    yield table(
        ("rows", "shards", "read, GB", "adding up, s", "moved, GB", "moving, s", "merging, s", "all, s"),
        [
            [
                f"{one['rows']:,.0f}",
                *(f"{one['shards']:,}", f"{one['read_bytes'] / 1e9:,.0f}", f"{one['add_seconds']:.1f}"),
                *(f"{one['moved_bytes'] / 1e9:.0f}", f"{one['move_seconds']:.0f}", f"{one['merge_seconds']:.0f}"),
                f"{one['add_seconds'] + max(one['move_seconds'], one['merge_seconds']):.0f}",
            ]
            for one in f["paper"]
        ],
    )
    yield (
        "Sums are received and merged at the same time, so the slower of the two counts. For the smaller table 100 machines are too many: "
        "one machine of 16 cores, with a shard for each, would take "
        f"{f['rows'] / f['cores'] / (f['rows'] / f['worker_seconds']):.0f} s.\n"
    )
    for kind, one in kinds.items():
        yield measured_on(one).replace("Measured", f"{KINDS[kind]}: measured", 1)


def predicting(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    said = (
        f"`python benchmarks/million_predict.py`: float16 rows of `.npy` shards among {f['classes']:,} classes, class means. The first three "
        "lines run in one process on one thread and write nothing: `predict` of the model, the same formula written by hand as a NumPy loop, "
        "and scikit-learn's `NearestCentroid` with the true means of the classes, on raw rows. Then what `zskl predict --top 1` adds for "
        f"every row, and the command itself with {f['workers']} workers, which also checks, writes and records its files. Other work ran on the "
        "machine: rows per processor second are the steadier figure.\n"
    )
    rows = [
        [
            f"`{way}`" if way != "NumPy loop" else way,
            *(f"{one['rows']:,}", f"{one['rows'] / one['seconds']:,.0f}"),
            f"{one['rows'] / one['processor_seconds']:,.0f}",
        ]
        for way, one in f["ways"].items()
    ]
    drawn = table(("", "rows", "rows per second", "rows per processor second"), rows)
    return section("Millions: predicting", said, drawn, record)


def searching_classes(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    said = (
        f"`python benchmarks/million_classes.py`: {f['classes']:,} classes mixed from signatures of {f['dataset']} (`{f['features']}`), "
        f"{f['model']}, {f['queries']} samples of unseen classes. The index is that of `zskl export --index usearch`: {f['columns']:,} columns, "
        f"{f['bytes'] / 1e6:,.0f} MB, built in {f['build_seconds']:,.0f} processor seconds. Queries are counted from raw rows, on one thread. "
        "*Expansion* is how many candidates usearch keeps while it searches (`index.expansion_search`).\n"
    )
    rows = [[way, f"{100 * one['recall']:.1f}", f"{1 / one['seconds']:,.0f}"] for way, one in f["ways"].items()]
    drawn = table(("", "recall@10, %", "queries per processor second"), rows)
    return section("Millions: the ten best of many classes in an index", said, drawn, record)


def fit_memory(record: dict[str, Any]) -> Iterator[str]:
    f, before = record["figures"], load("fit_memory_before")
    earlier = {} if before is None else before["figures"]
    methods = list(next(iter(next(iter(f["sizes"].values())).values())))
    yield "## Memory of a fit\n"
    yield (
        f"`python benchmarks/fit_memory.py`: rows of {f['features']} features, at {len(f['sizes'])} sizes. The largest resident memory that the operating "
        "system saw, beyond that of the libraries, over the size of the matrix: 1.0 is the matrix that you hand in and nothing else. The arrow leads "
        "from the version before rows were scaled in blocks. Asked for: at most 1.3; a larger figure is **bold**. *After reading* is what the process holds "
        "when the fit begins: pandas keeps twice the size of its frame, so there a fit is judged by what it adds. What is left does not grow with the matrix: class "
        "means keep up to 4096 rows in float32; blocks take a few MB; PyTorch needs some room of its own. Training rows of a dataset folder are 60 % of the matrix. [What "
        "each method holds](large.md). One run each: differences of 0.1 say nothing.\n"
    )

    def fitted(rows: str, way: str, method: str) -> str:
        one = f["sizes"][rows][way][method]
        beyond = one["fitting"] - (max(one["held"], 1.0) - 1.0 if way == "CSV, pandas" else 0.0)
        now = f"{one['fitting']:.2f}" if beyond < 1.305 else f"**{one['fitting']:.2f}**"
        known = earlier and str(earlier["rows"]) == rows and way in earlier["ways"]
        return f"{earlier['ways'][way][method]['fitting']:.2f} → {now}" if known else now

    lines = [
        [
            f"{int(rows):,} × {way}",
            *(f"{one[methods[0]][what]:.{digits}f}" for what, digits in (("mb", 0), ("reading", 2), ("held", 2))),
            *(fitted(rows, way, m) for m in methods),
        ]
        for rows, ways in f["sizes"].items()
        for way, one in ways.items()
    ]
    yield table(("rows", "matrix, MB", "reading", "after reading", *(f"fit, {m}" for m in methods)), lines)
    yield measured_on(record)
