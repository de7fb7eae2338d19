"""The sections of docs/performance.md on training steps and searches, from records; see performance.py."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from growth import EXPECTED, MEANS_START
from page_tables import measured_on, table

TARGETS = {
    "AWA1": 3.5,
    "CUB": 1.8,
    "SUN": 9,
}  # times faster than automatic differentiation on two threads, asked for before measuring
MOST = 1.25  # times the floor, likewise


def on_cpu(record: dict[str, Any]) -> Iterator[str]:
    yield "## A training step on the CPU\n"
    yield (
        "Gaussian-Ort, squared loss, float32, d = 2048, batches of 10, at the shapes of three benchmarks. The **floor** is what no "
        "version can leave out, measured in the same process: the matrix products of the cheaper algebraic form, into buffers "
        "that are there, and one compiled pass over W for the update, in the quicker of two layouts of W. Ours is the solver's own loop: it also gathers rows, "
        "computes distances, kernels, losses and slopes, draws batches and watches for divergence. **Autograd** is "
        "`benchmarks/autograd.py`: PyTorch's automatic differentiation, `cdist` and `torch.optim.RMSprop`, on as many threads. "
        "**Plain** is the readable formula of `zskl.training.objective` with the same update. Medians; the versions take turns.\n"
    )
    rows = []
    for one in record["figures"]:
        s = one["seconds"]
        ratio, over = s["autograd"] / s["ours"], s["ours"] / s["floor"]
        asked = one["threads"] > 1
        met = f" (target {TARGETS[one['shape']]}: **missed**)" if asked and ratio < TARGETS[one["shape"]] else ""
        within = f" (target {MOST}: **missed**)" if asked and over > MOST else ""
        rows.append(
            [
                f"{one['shape']} (C {one['C']}, p {one['p']})",
                *(str(one["threads"]), f"{1e3 * s['ours']:.2f}", f"{1e3 * s['floor']:.2f}"),
                *(f"{over:.2f}{within}", f"{1e3 * s['autograd']:.2f}", f"{ratio:.1f}{met}"),
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
        f"included, PyTorch loaded before: **{f['again']:.1f} s** (the goal is 8 s), and {f['high_again']:.1f} s with TF32. The first search of a "
        f"process waits for kernels: {f['seconds']:.1f} s where Triton had to compile them, {f['high']:.1f} s (TF32) where they lay on the disk. What is "
        "scored stays on the device: all settings in one pass at the end of each epoch, and only the margins of the rows are "
        "fetched, by a second thread.\n"
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


def growing_means(record: dict[str, Any]) -> Iterator[str]:
    yield "## How the cost of class means grows\n"
    yield (
        f"`python benchmarks/bench.py --part growth`: one size is varied, the others stay at {', '.join(f'{k} = {v}' for k, v in MEANS_START.items())} "
        "(rows n, features d, classes C, attributes p); one thread, processor seconds, medians. Exponents are fitted over the upper half of each "
        "curve, and in the same way to what arithmetic says. A fit: n·d² for Σxxᵀ, 4.5·d³ for eigenvectors, min(n, 4096)·d² to turn the rows that "
        "are kept, C·d² + C²(p + d) + C³/2 for the regression on descriptions. A predicted row: d² + C·d, whatever n and p. Small matrices "
        "run at a lower rate than large ones, and eigenvectors at a lower one than products; so a fitted exponent is seldom that of arithmetic.\n"
    )
    rows = []
    for name, curve in record["figures"].items():
        scale, unit = (1e3, "ms") if name.startswith("fit") else (1e6, "µs a row")
        ends = " … ".join(f"{scale * curve['seconds'][k]:.1f}" for k in (0, -1))
        sizes = f"{curve['sizes'][0]:,} … {curve['sizes'][-1]:,}"
        rows.append([name, sizes, f"{ends} {unit}", f"{curve['exponent']:.2f}", f"{curve['arithmetic']:.2f}"])
    yield table(("time of, against", "sizes", "time", "fitted exponent", "by arithmetic"), rows)
    yield "![Time of class means against size, logarithmic](figures/growth-means.svg)\n"
    yield measured_on(record)
