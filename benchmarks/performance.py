"""docs/performance.md from the records in benchmarks/results/: python benchmarks/performance.py. Measures nothing."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import million_parts
import search_parts
from growth import EXPECTED, figure
from machine import RESULTS
from zskl.files import write_atomically

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
GROWTH = PAGE.parent / "figures" / "growth.svg"
TARGETS = {"AWA1": 3, "CUB": 1.4, "SUN": 8}  # times faster than automatic differentiation, asked for before measuring


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


def on_cpu(record: dict[str, Any]) -> Iterator[str]:
    yield "## A training step on the CPU\n"
    yield (
        "Gaussian-Ort, squared loss, float32, d = 2048, batches of 10, at the shapes of three benchmarks. The **floor** is what no "
        "version can leave out, measured in the same process: the matrix products of the cheaper algebraic form, into buffers "
        "that are there, and one compiled pass over W for the update. Ours is the solver's own loop: it also gathers rows, "
        "computes distances, kernels, losses and slopes, draws batches and watches for divergence. **Autograd** is "
        "`benchmarks/autograd.py`: PyTorch's automatic differentiation, `cdist` and `torch.optim.RMSprop`, on as many threads. "
        "**Plain** is the readable formula of `zskl.training.objective` with the same update. Medians; the versions take turns.\n"
    )
    rows = []
    for one in record["figures"]:
        s = one["seconds"]
        ratio, target = s["autograd"] / s["ours"], TARGETS[one["shape"]]
        met = "" if ratio >= target else f" (target {target}: **missed**)"
        rows.append(
            [
                f"{one['shape']} (C {one['C']}, p {one['p']})",
                *(str(one["threads"]), f"{1e3 * s['ours']:.2f}", f"{1e3 * s['floor']:.2f}"),
                *(f"{s['ours'] / s['floor']:.2f}", f"{1e3 * s['autograd']:.2f}", f"{ratio:.1f}{met}"),
                f"{s['plain'] / s['ours']:.2f}",
            ]
        )
    yield table(
        (
            "shape",
            "threads",
            "ours, ms",
            "floor, ms",
            "ours / floor",
            "autograd, ms",
            "autograd / ours",
            "plain / ours",
        ),
        rows,
    )
    rows = [
        [one["shape"], f"{s['mlp'] / s['ours']:.1f}", f"{s['kernel_ridge'] / s['ours']:.1f}"]
        for one in record["figures"]
        if "mlp" in (s := one["seconds"])
    ]
    yield (
        "For orientation, scikit-learn on the same 2000 rows, all cores: one epoch of `MLPClassifier` with p hidden units and "
        "batches of 10, and a whole fit of `KernelRidge` (Gaussian kernel, signatures as targets), each over one epoch of ours.\n"
    )
    yield table(("shape", "MLPClassifier epoch / ours", "KernelRidge fit / our epoch"), rows)
    yield measured_on(record)


def on_gpu(record: dict[str, Any]) -> Iterator[str]:
    yield "## A training step on a GPU\n"
    yield (
        "The same step, captured once as a CUDA graph and replayed; for radial kernels all that lies between the large matrix "
        "products is five Triton kernels (`zskl.training.fused`), else PyTorch's own (**plain kernels**). A stack "
        'trains that many settings of a search at once. **TF32**: the same after `torch.set_float32_matmul_precision("high")`, '
        "which is yours to say; what it costs in accuracy stands below. Autograd is the eager version, one setting.\n"
    )
    rows = []
    for one in record["figures"]:
        s = {name: 1e6 * value for name, value in one["seconds"].items()}
        for K in ("1", "64"):
            rows.append(
                [
                    f"{one['shape']} (C {one['C']}, p {one['p']})",
                    *(K, f"{s[K]:.0f}", f"{s[K] / int(K):.1f}", f"{s[f'{K} plain']:.0f}", f"{s[f'{K} TF32']:.0f}"),
                    *(f"{s['autograd']:.0f}", f"{int(K) * s['autograd'] / s[K]:.0f}"),
                ]
            )
    head = "shape", "settings", "µs a step", "µs a setting", "plain kernels, µs", "TF32, µs", "autograd, µs"
    yield table((*head, "autograd / ours, a setting"), rows)
    yield measured_on(record)


def searching(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    yield "## A whole search\n"
    yield (
        f"`python benchmarks/search.py --device cuda`: {f['settings']} settings × {f['folds']} folds × {f['epochs']} epochs on "
        f"{f['dataset']} (`{f['features']}`, {f['method']}), every epoch scored on validation rows, data transfer and scoring "
        f"included, PyTorch loaded before: **{f['seconds']:.1f} s**, and {f['high']:.1f} s with TF32 (the goal is 8 s). What is scored "
        "stays on the device: all settings in one pass at the end of each epoch, and only the margins of the rows are fetched.\n"
    )
    yield measured_on(record)


def accuracy(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    yield "## What the fast paths cost in accuracy\n"
    seeds = len(f["paths"][0]["zsl"])
    yield (
        f"{f['dataset']} (`{f['features']}`), {f['method']} at its default settings, {seeds} seeds: the same fits by the plain step "
        "and by each faster one. On a fit's thousands of steps, differences of rounding move single test rows.\n"
    )
    rows = []
    for one in f["paths"]:
        mean = sum(one["zsl"]) / seeds
        spread = (sum((x - mean) ** 2 for x in one["zsl"]) / max(1, seeds - 1)) ** 0.5
        rows.append(
            [
                one["path"],
                *(f"{mean:.2f} ± {spread:.2f}", f"{sum(one['harmonic']) / seeds:.2f}"),
                *(f"{one['largest_change']:.2f}", f"{one['largest_apart']:.1e}"),
            ]
        )
    head = (
        "path",
        "zero-shot, %",
        "H, %",
        "largest change of a seed's zero-shot, points",
        "largest \\|ΔW\\| / max \\|W\\|",
    )
    yield table(head, rows)
    yield measured_on(record)


def growing(record: dict[str, Any]) -> Iterator[str]:
    yield "## How cost grows\n"
    yield (
        "One size is varied, the others stay at d = 512, p = 64, C = 50, batch 10; one thread. Exponents are fitted over the upper "
        "half of each curve. Prediction is per row, d = 512, p = 64, against the number of candidate classes.\n"
    )
    rows = []
    for name, curve in record["figures"].items():
        ends = [f"{1e6 * curve['seconds'][k]:.1f}" for k in (0, -1)]
        sizes = f"{curve['sizes'][0]} … {curve['sizes'][-1]}"
        rows.append([name, sizes, " … ".join(ends), f"{curve['exponent']:.2f}", EXPECTED[name]])
    yield table(("time against", "sizes", "µs", "fitted exponent", "of the products"), rows)
    yield "![Time against size, logarithmic](figures/growth.svg)\n"
    yield measured_on(record)


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


def serving(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    first, batch = f["load"][0], f["batch"]
    yield "## The service\n"
    yield (
        f"`python benchmarks/serve_load.py --keep`: [`zskl serve`](service.md) with a model of {f['features']} features and "
        f"{f['attributes']} attributes and {f['classes']} classes; {first['clients']} clients in one process on the same machine "
        f"send one row each, again and again, for {first['seconds']:.0f} s. Cores are the shares that the service and the clients "
        "took; memory is the service's in the first and the last third of the run. Asked for: 300 requests a second, p99 below "
        "50 ms, no error.\n"
    )
    rows = [
        [
            f"{one['kind']}, {one['body_bytes']:,} bytes",
            *(f"{one['per_second']:.0f}", f"{one['p50_ms']:.1f}", f"{one['p99_ms']:.1f}", f"{one['worst_ms']:.0f}"),
            *(f"{one['errors']} of {one['requests']:,}", f"{one['service_cores']:.2f}", f"{one['client_cores']:.2f}"),
            " → ".join(f"{mb:.0f}" for mb in one["memory_mb"]),
        ]
        for one in f["load"]
    ]
    head = "body", "requests a second", "p50, ms", "p99, ms", "worst, ms", "errors", "cores: service", "clients"
    yield table((*head, "memory, MB"), rows)
    yield (
        f"{batch['rows']:,} rows in one request of {batch['body_mb']:.0f} MB (`.npy`): {batch['seconds']:.2f} s; memory "
        f"afterwards {batch['memory_mb']:.0f} MB.\n"
    )
    yield measured_on(record)


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


PARTS = {
    "cpu": on_cpu,
    "gpu": on_gpu,
    "search": searching,
    "halved_search": lambda record: search_parts.searching(record, table, measured_on),
    "halving_replay": lambda record: search_parts.replaying(record, table, measured_on),
    "fast_paths": accuracy,
    "growth": growing,
    "memory": memory,
    "fit_memory": lambda record: million_parts.fit_memory(record, load("fit_memory_before"), table, measured_on),
    "million_fit": lambda record: million_parts.fitting(record, table, measured_on),
    "million_predict": lambda record: million_parts.predicting(record, table, measured_on),
    "nystrom": maps,
    "million_classes": lambda record: million_parts.searching_classes(record, table, measured_on),
    "serve": serving,
    "startup": starting,
}
HEAD = """# Performance

Made by `python benchmarks/performance.py` from the records of `make bench`, `benchmarks/search.py`,
`benchmarks/fast_paths.py`, `benchmarks/serve_load.py` and `benchmarks/startup.py` in `benchmarks/results/`; not edited by hand. Ratios were measured in one run each: machines differ, and
are seldom quiet. More than memory holds: [large data](large.md); many classes: the maps in [math](math.md); many cores:
[scaling](scaling.md).
"""


def page(folder: Path = RESULTS) -> str:
    """The whole page; a part without a record says how to make one."""
    blocks = [HEAD]
    for name, part in PARTS.items():
        record = load(name, folder)
        blocks += part(record) if record else [f"## {name}\n", f"Not measured: no `benchmarks/results/{name}.json`.\n"]
    return "\n".join(blocks)


def main() -> None:
    write_atomically(PAGE, page().encode())
    record = load("growth")
    if record:
        write_atomically(GROWTH, figure(record["figures"]).encode())


if __name__ == "__main__":
    main()
